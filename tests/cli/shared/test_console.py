"""What commands print and write."""

from __future__ import annotations

import json
import re
import signal
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from rich.progress import Progress

from partwhole.cli.shared import console as console_module
from partwhole.cli.shared.console import Console, plain_memory_errors, stop_signal, to_json, write_arrays, write_text


def test_json_mode_prints_one_object_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(as_json=True)
    console.say("a")
    console.note("b")
    console.table([("c", "d")], head=("e", "f"))
    with console.progress("g") as progress:
        progress("h", 1, 2)
    console.finish({"notes": console.notes})
    out, err = capsys.readouterr()
    assert json.loads(out) == {"notes": ["b"]}
    assert err == ""


def test_quiet_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(quiet=True)
    console.say("a")
    console.note("b")
    console.table([("c",)], head=("e",))
    console.finish({"x": 1})
    assert capsys.readouterr() == ("", "")


def test_otherwise_results_go_to_stdout_and_notes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    console.say("result")
    console.note("beware")
    console.table([("left", "1.0 [not markup]")], head=("name", "value"))
    console.finish({"x": 1})
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "result"
    assert "1.0 [not markup]" in out
    assert err == "note: beware\n"


def test_numbers_are_aligned_to_the_right_and_words_to_the_left(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("a", "1.0", "12 %"), ("b", "10.25", "sure, and doubtful in places")]
    Console().table(rows, head=("name", "error", "said"))
    lines = capsys.readouterr().out.splitlines()
    first, second = (next(line for line in lines if line.strip().startswith(name)) for name in "ab")
    assert first.index("1.0") + len("1.0") == second.index("10.25") + len("10.25")
    assert first.index("12 %") == second.index("sure")


def test_names_that_are_not_utf_8_are_shown_in_tables(capsys: pytest.CaptureFixture[str]) -> None:
    Console().table([("sc\udcffan.ply", "1")], head=("", "b\udcfe.ply"))
    out = capsys.readouterr().out
    assert "sc\\xffan.ply" in out
    assert "b\\xfe.ply" in out


def test_progress_is_drawn_for_people_only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with Console().progress("distances") as progress:
        progress("rows", 3, 10)
        progress("rows", 10, 10)
    assert capsys.readouterr().out == ""


def test_warnings_become_notes(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    with console.warnings_as_notes():
        warnings.warn("3 polygons were triangulated", stacklevel=1)
    assert console.notes == ["3 polygons were triangulated"]
    assert "note: 3 polygons" in capsys.readouterr().err


def test_summaries_are_plain_json() -> None:
    value = {"a": np.arange(3), "b": (np.float64(0.5), np.inf), "c": Path("x/y"), 4: np.bool_(True), "d": None}
    assert json.loads(to_json(value)) == {"a": [0, 1, 2], "b": [0.5, None], "c": "x/y", "4": True, "d": None}


def test_arrays_and_texts_come_back(tmp_path: Path) -> None:
    arrays = {"a": np.arange(4.0), "b": np.array([True, False])}
    write_arrays(tmp_path / "x.npz", arrays)
    with np.load(tmp_path / "x.npz") as back:
        assert sorted(back) == ["a", "b"]
        np.testing.assert_array_equal(back["a"], arrays["a"])
    write_text(tmp_path / "t.md", "größer\n")
    assert (tmp_path / "t.md").read_text(encoding="utf-8") == "größer\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.md", "x.npz"]


def test_large_arrays_are_stored_as_they_are(tmp_path: Path) -> None:
    write_arrays(tmp_path / "x.npz", {"a": np.zeros(9 << 20)})
    assert (tmp_path / "x.npz").stat().st_size > 64 << 20


@pytest.mark.parametrize("knobs", [{"quiet": True}, {"as_json": True}, {}])
def test_where_nobody_looks_there_are_no_bars(knobs: dict[str, bool], capsys: pytest.CaptureFixture[str]) -> None:
    with Console(**knobs).stage_progress() as report:
        report("reading", 0, 3)
        report.detail("reading", "slowly")
    assert capsys.readouterr() == ("", "")


def test_a_log_has_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(console_module, "LINE_EVERY", -1.0)
    with Console().stage_progress() as report:
        report("reading", 0, 3)
        report.detail("training", "loss 0.5")
        report("training", 7, 20)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "reading: 0 of 3"
    assert re.fullmatch(r"training, loss 0\.5: 7 of 20(, .* left)?", lines[1])
    with Console(quiet=True).stage_progress() as report:
        report("reading", 0, 3)
    assert capsys.readouterr() == ("", "")


def test_each_stage_has_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    drawn: list[Progress] = []
    monkeypatch.setattr(
        "rich.progress.Progress", lambda *given, **how: drawn.append(Progress(*given, **how)) or drawn[0]
    )
    with Console().stage_progress() as report:
        report.detail("training", "too early to say")
        report("reading", 0, 0)
        report("reading", 3, 3)
        report("reading", 0, 2)
        report("training", 5, 20)
        report.detail("training", "loss 0.5")
    bars = {task.description: (task.completed, task.total) for task in drawn[0].tasks}
    assert bars == {"reading": (0, 2), "training, loss 0.5": (5, 20)}
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("said", ["CUDA out of memory. Tried", "DefaultCPUAllocator: can't allocate memory: you"])
def test_what_torch_says_is_said_plainly(said: str) -> None:
    with pytest.raises(ValueError, match="there is not enough memory; take fewer pairs"), plain_memory_errors():
        raise RuntimeError(said)


def test_other_faults_stay_as_they_are() -> None:
    with pytest.raises(RuntimeError, match="shapes"), plain_memory_errors():
        raise RuntimeError("shapes do not fit")


def test_the_second_interruption_is_obeyed_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), stop_signal() as stop:  # noqa: PT012
        stop()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            stop()
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert "press Ctrl-C again to stop at once" in capsys.readouterr().err


def test_outside_the_main_thread_no_signal_is_touched() -> None:
    seen = []

    def elsewhere() -> None:
        with stop_signal() as stop:
            stop()
            seen.append(True)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [True]
