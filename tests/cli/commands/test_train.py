"""`partwhole train` from end to end, on a small set."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from partwhole.cli.commands import train as command
from partwhole.cli.main import main
from partwhole.cli.shared import options
from partwhole.cli.shared.config_options import TrainRequest
from partwhole.cli.shared.console import StageProgress
from partwhole.matching.training.logs import read_losses


@pytest.fixture
def words(own_set: Path, small_network: list[str]) -> list[str]:
    return ["train", "--data", str(own_set), "--iterations", "6", *small_network]


def test_a_run_from_end_to_end(
    words: list[str], own_set: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*words, "--seed", "2", "--watch-test", "--with", "evaluate_every=3"]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        f"note: {own_set} is read as --set folder",
        f"note: {own_set} is not split into train/ and test/, so all its pairs are used",
        "note: the watched pairs are also trained on",
    ]
    assert "% above 0.15" in out
    assert [line.split()[0] for line in out.splitlines() if line.strip()[:1].isdecimal()] == ["3", "6", "6"]
    assert "6 iterations in" in out
    assert "mean loss: " in out
    run = Path("mine-seed2")
    assert f"wrote {run / 'model.safetensors'}" in out
    assert f"evaluate it with: partwhole evaluate --data {own_set} --set folder --model {run}" in out
    assert len(read_losses(run)) == 6
    assert any((tmp_path / "cache").rglob("*.npz"))

    assert main(["train", "--resume", str(run)]) == 0
    assert capsys.readouterr().out == f"the run in {run} is complete: {run / 'model.safetensors'}\n"


def test_fewer_vertices_and_the_ground_truth(
    words: list[str], tmp_path: Path, one_error: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main([*words, "--vertices", "300", "--with", "correspondence_weight=1", "-o", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["vertices"] == 300
    assert TrainRequest.read(run).vertices == 300
    assert "correspondence" in (run / "losses.csv").read_text(encoding="utf-8").splitlines()[0]
    assert "300" in one_error(*words, "--vertices", "20")


def test_the_summary_in_json(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert main([*words, "--json", "--validate", "--no-cache", "-o", str(run)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    summary = json.loads(out)
    assert summary["folder"] == str(run)
    assert (summary["set"], summary["preset"], summary["complete"]) == ("folder", None, True)
    assert (summary["iterations"], summary["config"]["network"]["width"]) == (6, 8)
    assert summary["terms"] == ["distortion", "orthogonality"]
    assert [found["data"] for found in summary["evaluations"]] == 6 * ["validation"]
    assert all(Path(file).is_file() for file in summary["files"].values())
    assert set(summary["files"]) == {"model", "validated"}


def test_a_preset_is_that_of_the_set_or_as_named(tmp_path: Path, words: list[str], own_set: Path) -> None:
    def requested(*more: str) -> TrainRequest:
        run = tmp_path / str(len(list(tmp_path.iterdir())))
        assert main([*words, "--no-cache", "-q", "-o", str(run), *more]) == 0
        return TrainRequest.read(run)

    assert requested("--preset", "shrec16-holes").config.loss.temperature == 0.07
    assert requested().preset is None


def test_a_run_begins_with_one_model_and_is_trained_with_the_maps_of_another(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert main([*words, "-q", "-o", str(first)]) == 0
    # the size of the network is that of the weights, not the preset's
    fresh = words[:5]
    again = [*fresh, "--with", "map_eigenpairs=10", "--start", str(first), "--teacher", str(first), "-o", str(second)]
    assert main([*again, "-q"]) == 0
    asked = TrainRequest.read(second)
    assert (asked.config.network.width, asked.config.loss.correspondence_weight) == (8, 3.0)
    assert asked.start == asked.teacher == str((first / "model.safetensors").resolve())
    card = json.loads((second / "run.json").read_text())
    assert card["start"] == "first"
    assert card["protocol"].startswith("trained with the maps of first")
    capsys.readouterr()
    assert main(["train", "--resume", str(second), "--start", str(first)]) == 2
    assert "--start can't be changed in a run that is resumed" in capsys.readouterr().err
    assert main([*fresh, "--start", str(first), "--with", "width=4", "-o", str(tmp_path / "third")]) == 2
    assert "--with width can't be changed with --start" in capsys.readouterr().err
    assert main([*fresh, "--start", "nobody", "-o", str(tmp_path / "third")]) == 2
    assert not (tmp_path / "third").exists()


def test_a_recipe_makes_the_pairs_and_the_run_goes_on(
    tmp_path: Path, small_network: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from partwhole.matching.training import run_folder

    run = tmp_path / "run"
    words = [
        "--recipe",
        "bodies",
        "--vertices",
        "300",
        "--blocks",
        "1",
        "--iterations",
        "5",
        "--workers",
        "1",
        "--seed",
        "7",
    ]
    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "FLUSH_SECONDS", -1.0)
        patch.setattr(StageProgress, "detail", _Ctrl_C())
        assert main(["train", *words, *small_network, "-o", str(run)]) == 130
    assert f"resume with: partwhole train --resume {run}" in capsys.readouterr().err
    assert len(list((run / "blocks").iterdir())) == 1
    asked = TrainRequest.read(run)
    assert (asked.recipe, asked.blocks, asked.vertices, asked.set, asked.preset) == ("bodies", 1, 300, None, "default")
    assert (asked.label, asked.config.network.inputs) == ("recipe-bodies", "invariants")

    assert main(["train", "--resume", str(run)]) == 0
    out = capsys.readouterr().out
    assert "5 iterations in" in out
    assert f"match with it: partwhole match PART WHOLE --model {run}" in out
    assert not (run / "blocks").exists()
    data = json.loads((run / "run.json").read_text())["data"]
    assert (data["recipe"], data["seed"], data["blocks"], data["n_vertices"]) == ("bodies", 7, 1, [120, 300])
    assert data["pairs"] > 10


def test_what_does_not_go_with_a_recipe(own_set: Path, tmp_path: Path, one_error: Callable[..., str]) -> None:
    run, recipe = tmp_path / "run", ["train", "--recipe", "default"]
    people = "bodies_cc0.npz (people from MakeHuman's assets, CC0)"
    heads = "faces_mit.npz (heads of ICT-FaceKit, MIT licence)"
    assert one_error(*recipe, "-o", run).startswith(f"--assets is missing: the folder with {people} and {heads};")
    (tmp_path / "bodies_cc0.npz").write_bytes(b"")
    missing = one_error(*recipe, "--assets", tmp_path, "-o", run)
    assert missing.startswith(f"{tmp_path} holds no {heads}; the recipe 'default' needs")
    for more in (["--data", own_set], ["--set", "bodies"], ["--validate"], ["--watch-test"], ["--teacher", "default"]):
        said = one_error(*recipe, *more)
        assert said == f"{more[0]} does not go with --recipe default, which makes its own pairs; leave one of them out"
    for option, value in (("--assets", tmp_path), ("--blocks", 3)):
        assert one_error("train", "--data", own_set, option, value).startswith(f"{option} goes with --recipe;")
    assert "--vertices does not go with --recipe default" in one_error(*recipe, "--vertices", 400)
    bodies = ["train", "--recipe", "bodies", "-o", run]
    assert one_error(*bodies, "--assets", tmp_path) == "--recipe bodies needs no --assets; leave them out"
    assert "the term 'distortion' of the loss needs distances" in one_error(*bodies, "--preset", "pfaust-h")
    assert not run.exists()


class _Ctrl_C:
    """Stands for `StageProgress.detail`, which a run calls between iterations, and is interrupted the second time."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, stage: str, text: str) -> None:
        assert stage == "training"
        assert text.startswith("loss ")
        self.calls += 1
        if self.calls == 2:
            signal.raise_signal(signal.SIGINT)


def test_an_interrupted_run_goes_on_and_ends_with_the_same_weights(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from partwhole.matching.training import run_folder

    whole, parted = tmp_path / "whole", tmp_path / "parted"
    handler = signal.getsignal(signal.SIGINT)
    words += ["--validate", "--no-cache", "--with", "evaluate_every=4"]
    assert main([*words, "-q", "-o", str(whole)]) == 0
    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "FLUSH_SECONDS", -1.0)
        patch.setattr(StageProgress, "detail", _Ctrl_C())
        assert main([*words, "-o", str(parted)]) == 130
    assert signal.getsignal(signal.SIGINT) is handler
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-3:] == [
        "stopping as soon as the run is saved; press Ctrl-C again to stop at once",
        f"note: resume with: partwhole train --resume {parted}",
        "error: interrupted; nothing half-written was left behind",
    ]
    assert len(read_losses(parted)) == 2
    assert not (parted / "model.safetensors").exists()

    assert main(["train", "--resume", str(parted), "--no-cache", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["iterations"] == 6
    assert len(read_losses(parted)) == 6
    from partwhole.matching.network.weights import read_tensors

    for name in ("model.safetensors", "validated.safetensors"):
        one, other = read_tensors(whole / name)[0], read_tensors(parted / name)[0]
        assert one.keys() == other.keys()
        assert all((one[key] == other[key]).all() for key in one)


def test_a_run_that_was_interrupted_before_it_began_begins(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(command, "read_pairs", interrupted)
        assert main([*words, "-o", str(run), "--json"]) == 130
    out, err = capsys.readouterr()
    assert json.loads(out)["resume"] == f"partwhole train --resume {run}"
    assert json.loads(out)["complete"] is False
    assert err == "error: interrupted; nothing half-written was left behind\n"
    assert main(["train", "--resume", str(run), "-q", "--no-cache"]) == 0
    assert (run / "model.safetensors").exists()


def test_data_that_moved_are_found_again_and_other_data_are_refused(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_own_set: Callable[..., Path],
    one_error: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    from partwhole.matching.training import run_folder

    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "FLUSH_SECONDS", -1.0)
        patch.setattr(StageProgress, "detail", _Ctrl_C())
        assert main([*words, "-o", str(run), "--no-cache"]) == 130
    capsys.readouterr()
    other, same = make_own_set(tmp_path / "other", 3), make_own_set(tmp_path / "same")
    assert "made with other pairs" in one_error("train", "--resume", run, "--data", other, "--no-cache")
    assert TrainRequest.read(run).data == words[2]
    assert main(["train", "--resume", str(run), "--data", str(same), "--no-cache", "-q"]) == 0
    assert TrainRequest.read(run).data == str(same)


def test_presets_and_choices_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--list-presets"]) == 0
    out = capsys.readouterr().out
    assert "shrec16-holes         temperature=0.07" in out
    assert "loss.criterion" in out
    assert main(["train", "--list-presets", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["presets"]["shrec16-holes"]["loss"]["temperature"] == 0.07


def test_mistakes_are_one_line(
    words: list[str], own_set: Path, runs: list[Path], tmp_path: Path, one_error: Callable[..., str]
) -> None:
    run = tmp_path / "run"
    assert "--data is missing" in one_error("train")
    assert "folder not found: --data nowhere" in one_error("train", "--data", "nowhere")
    assert "there is no preset 'pfaust-x'" in one_error(*words, "--preset", "pfaust-x", "-o", run)
    assert "did you mean 'rotation'?" in one_error(*words, "--with", "rotatoin=3", "-o", run)
    assert "--set" in one_error("train", "--data", own_set, "--set", "pfaust")
    assert "pfaust/PFAUST-M/off" in one_error("train", "--data", own_set, "--set", "pfaust-m", "-o", run)
    assert not run.exists()
    taken = one_error(*words, "-o", runs[0])
    assert taken == (
        f"there is a run in {runs[0]} already; resume it (partwhole train --resume {runs[0]}), or choose another --output"
    )
    assert "command.json, which" in one_error("train", "--resume", own_set)
    for more in (["--seed", "1"], ["--validate"], ["--with", "width=8"], ["-o", run], ["--set", "folder"]):
        assert "can't be changed in a run that is resumed" in one_error("train", "--resume", runs[0], *more)


def test_pairs_without_ground_truth_can_be_trained_on_and_not_watched(
    words: list[str], tmp_path: Path, make_own_set: Callable[..., Path], one_error: Callable[..., str]
) -> None:
    words[2] = str(make_own_set(tmp_path / "bare", 2, truths=0))
    assert main([*words, "-o", str(tmp_path / "run"), "-q", "--no-cache"]) == 0
    assert "none of the 2 pairs has ground truth" in one_error(*words, "-o", tmp_path / "other", "--watch-test")


def test_a_whole_with_holes_is_noted(
    words: list[str], tmp_path: Path, make_own_set: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_own_set(tmp_path / "holes", 2, truths=0)
    (folder / "parts/part0.ply").replace(folder / "wholes/ball.ply")
    words[2] = str(folder)
    assert main([*words, "-o", str(tmp_path / "run"), "--no-cache"]) == 0
    assert "have holes of their own (ball)" in capsys.readouterr().err


def test_too_many_eigenfunctions_for_a_small_mesh_are_noted(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "-o", str(tmp_path / "run"), "--no-cache", "--with", "map_eigenpairs=40"]) == 0
    said = capsys.readouterr().err
    assert re.search(r"the smallest part has 1\d\d vertices, too few for 40 .* --with map_eigenpairs=\d\d may", said)


def test_a_gpu_that_is_not_used_is_named(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(options, "has_gpu", lambda: True)
    assert main([*words, "-o", str(tmp_path / "run"), "--no-cache"]) == 0
    assert "--device cuda" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["train", "evaluate"])
def test_help_has_an_example_and_needs_no_torch(name: str) -> None:
    code = (
        f"import sys; from partwhole.cli.main import main; main(['{name}', '--help']);"
        "print([m for m in ('numba', 'matplotlib', 'torch') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert f"Example: partwhole {name}" in " ".join(done.stdout.split())


def test_the_commands_of_the_how_to_run(
    tmp_path: Path, small_network: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # after two iterations maps fit badly, and every axis would be tried for every pair; not what is tested here
    monkeypatch.setattr("partwhole.matching.search.search.LOW_AGREEMENT", -2.0)
    page = (Path(__file__).parents[3] / "docs/how-to.md").read_text()
    commands = re.findall(r"^\$ partwhole ((?:dataset|train|evaluate) .*)$", page, re.MULTILINE)
    # that of large surfaces is for the reader's own scans
    commands = [line for line in commands if "--data scans" not in line]
    assert [line.split()[0] for line in commands] == ["dataset", "dataset", "train", "evaluate", "evaluate"]
    for line in commands:
        words = shlex.split(line)
        if words[0] == "train":
            # as it is written, but for a minute less
            words[words.index("--iterations") + 1] = "2"
            words += small_network
        assert main([word if word != "exact" else "dijkstra" for word in words]) == 0
    assert Path("errors/pairs-run.csv").is_file()
    assert "hands test, " in capsys.readouterr().out
