"""The program as a whole: how it starts, how it ends, and one console for all commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from partwhole import __version__
from partwhole.cli import main as program
from partwhole.cli.main import main

COMMANDS = [
    ["mask"],
    ["demo"],
    ["match"],
    ["train"],
    ["evaluate"],
    ["dataset"],
    ["dataset", "make"],
    ["reproduce"],
    ["reproduce", "consistent-pairs"],
    ["reproduce", "pfaust"],
    ["reproduce", "shrec16"],
    ["reproduce", "ablation"],
    ["reproduce", "swiss-roll"],
    ["reproduce", "figures"],
    ["embed"],
    ["view"],
    ["models"],
    ["cache"],
]


def one_error(capsys: pytest.CaptureFixture[str]) -> str:
    """The only line on stderr, nothing being on stdout."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert err.startswith("error: ")
    return err.removeprefix("error: ").strip()


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"partwhole {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Usage: partwhole " + " ".join(command) in out
    assert "Example: partwhole " + " ".join(command) in out


@pytest.mark.parametrize("words", [[], ["--debug"], ["dataset"], ["reproduce"]])
def test_without_a_command_there_is_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert "Usage: partwhole" in out
    assert "Commands" in out
    assert err == ""


def test_options_without_a_command_are_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dataset", "--frobnicate"]) == 2
    assert "--frobnicate" in one_error(capsys)


def test_help_needs_no_heavy_library() -> None:
    code = (
        "import sys; from partwhole.cli.main import main; main(['--help']);"
        "print([m for m in ('numba', 'matplotlib', 'scipy.stats', 'torch') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["msk"], "No such command 'msk'. Did you mean 'mask'?"),
        (["reproduce", "consistent-pears"], "Did you mean 'consistent-pairs'?"),
        (["mask"], "MESH"),
        (["mask", "a.off", "--method", "magic"], "--method"),
        (["mask", "a.off", "--rows", "0"], "--rows"),
        (["demo", "--vertices", "many"], "--vertices"),
        (["demo", "--verteces", "300"], "there is no option --verteces; did you mean --vertices?"),
        (["demo", "--frobnicate"], "there is no option --frobnicate; --help lists them"),
        (["demo", "--plan", "bipedd"], "did you mean 'biped'?"),
        (["evaluate", "--data", "x", "--set", "pfaust-hh"], "did you mean 'pfaust-h'?"),
    ],
)
def test_a_mistake_in_the_arguments_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in one_error(capsys)


def test_a_file_that_was_probably_meant_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "arm.ply").touch()
    assert main(["mask", "scans/arn.ply"]) == 2
    assert one_error(capsys) == "scans/arn.ply does not exist; did you mean scans/arm.ply?"
    for other in ("scans/leg.off", "nowhere/arm.ply"):
        assert main(["mask", other]) == 2
        assert one_error(capsys) == f"{other} does not exist"
    assert main(["match", "scans/arn.ply", "scans/arm.ply"]) == 2
    said = one_error(capsys)
    assert said.startswith("file not found: scans/arn.ply; give an OFF")
    assert said.endswith("; did you mean scans/arm.ply?")


def test_a_model_that_is_not_there_is_told_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def computed(*_: object, **__: object) -> None:
        raise AssertionError("something was computed")

    monkeypatch.chdir(tmp_path)
    for place in ("datasets.shapes.bodies.make_body", "viewer.page.results.read_scene", "datasets.PFaust"):
        monkeypatch.setattr(f"partwhole.{place}", computed)
    commands = (["demo"], ["view", "scan.ply"], ["reproduce", "figures"], ["match", "scan.ply", "whole.ply"])
    for command in commands:
        for name, message in (("defalt", "did you mean 'default'?"), ("gone.safetensors", "file not found: gone.saf")):
            assert main([*command, "--model", name]) == 2
            assert message in one_error(capsys)
    assert list(tmp_path.iterdir()) == []


class _Command:
    """Stands for the commands, and ends as it is told."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def main(self, **_: object) -> int:
        raise self.error


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("bad\n  input"), 2, "bad input"),
        (PermissionError(13, "Permission denied", "/no"), 2, "/no: Permission denied"),
        (OSError(28, "No space left on device"), 2, "No space left on device"),
        (MemoryError(), 2, "not enough memory"),
        (MemoryError("Unable to allocate 9 TiB"), 2, "Unable to allocate 9 TiB"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ZeroDivisionError("oh"), 1, "internal error, ZeroDivisionError: oh"),
    ],
)
def test_errors_become_one_line_and_an_exit_code(
    error: BaseException,
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(program, "get_command", lambda app: _Command(error))
    assert main(["demo"]) == code
    assert message in one_error(capsys)


def test_debug_shows_the_traceback_wherever_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--debug", "mask", "gone.off"], ["mask", "gone.off", "--debug"]):
        assert main(arguments) == 2
        err = capsys.readouterr().err
        assert "Traceback" in err
        assert err.splitlines()[-1] == "error: gone.off does not exist"
    assert main(["mask", "gone.off"]) == 2
    assert one_error(capsys) == "gone.off does not exist"


def test_termination_removes_temporary_files_and_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as leaving, program.termination_unwinds():
        signal.raise_signal(signal.SIGTERM)
    assert leaving.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_reader_that_leaves_gets_no_traceback() -> None:
    code = "import sys; from partwhole.cli.main import main; sys.exit(main(['mask', '--help']))"
    shell = f'"{sys.executable}" -c "{code}" | head -n 1; echo ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
    assert done.stdout.split()[-1] in "01"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("partwhole ma", ["mask", "match"]),
        ("partwhole evaluate --toge", ["--together"]),
        ("partwhole evaluate --set shrec16-", ["shrec16-cuts", "shrec16-holes"]),
        ("partwhole models shrec16-", ["shrec16-cuts", "shrec16-holes"]),
    ],
)
def test_shells_complete_commands_options_and_choices(words: str, offered: list[str]) -> None:
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")), "_PARTWHOLE_COMPLETE": "complete_bash"}
    program = [sys.executable, "-c", "import sys; from partwhole.cli.main import main; sys.exit(main())"]
    done = subprocess.run(program, env={**os.environ, **asked}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == offered


# Ctrl-C comes when a module is looked for, and where the test itself runs in the background it is not ignored
INTERRUPTED_AT = """
import _signal as signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Interrupt:
    def find_spec(self, name, *_):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
sys.argv = ["partwhole", "cache"]
from partwhole.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("module", ["signal", "partwhole.cli.main", "numpy", "partwhole.cli.commands.view"])
def test_an_interruption_while_all_is_being_imported(module: str) -> None:
    words = [sys.executable, "-S", "-c", INTERRUPTED_AT.format(module=module)]
    paths = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths})
    assert (done.returncode, done.stderr, done.stdout) == (130, "error: interrupted\n", "")


def test_an_interruption_while_all_is_being_closed() -> None:
    code = INTERRUPTED_AT.format(module="").replace("sys.exit(main())", "") + (
        "import atexit; atexit.register(signal.raise_signal, signal.SIGINT); sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")
    assert "entries" in done.stdout, "what was said before is not lost"


def test_an_interruption_that_is_ignored_or_heeded_by_others_stays_so(capfd: pytest.CaptureFixture[str]) -> None:
    from partwhole import __main__ as start

    before = signal.getsignal(signal.SIGINT)
    try:
        for handler in (signal.SIG_IGN, lambda *_: None):
            signal.signal(signal.SIGINT, handler)
            assert start.leave_at_once() is False
            assert signal.getsignal(signal.SIGINT) is handler
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(start.leave_at_once).result() is False
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


# options that take a method without weights as well
METHODS_TOO = ("match a b --model", "evaluate -m")


@pytest.mark.parametrize(
    "option",
    ["match a b --model", "view --model", "evaluate -m", "train --start", "demo --model", "reproduce pfaust -m"],
)
def test_shells_complete_models_by_name_and_by_path(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from partwhole.matching.network.weights import method_names, model_names

    (tmp_path / "runs/one").mkdir(parents=True)
    for file in ("runs/one/model.safetensors", "other.safetensors", "notes.txt"):
        (tmp_path / file).touch()

    def offered(begun: str) -> list[str]:
        words = f"partwhole {option} {begun}"
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        monkeypatch.setenv("_PARTWHOLE_COMPLETE", "complete_bash")
        with pytest.raises(SystemExit):
            main([])
        return capsys.readouterr().out.split()

    monkeypatch.chdir(tmp_path)
    methods = method_names() if option in METHODS_TOO else ()
    assert offered("") == [*methods, "default", *model_names(), "other.safetensors"]
    assert offered("def") == ["default"]
    assert offered("runs/") == offered("runs/o") == ["runs/one"]
    assert offered("no/where/") == [], "then shells go on with files of their own accord"
