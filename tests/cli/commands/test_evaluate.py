"""`partwhole evaluate` from end to end, on a small set."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from partwhole.cli.main import main
from partwhole.datasets import cut_balls, sphere
from partwhole.mesh.io import write_mesh


def test_one_row_a_model(runs: list[Path], own_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = ["--model", str(runs[0]), "-m", str(runs[1]), "-m", str(runs[0] / "validated.safetensors")]
    assert main(["evaluate", "--data", str(own_set), *models, "--distances", "dijkstra"]) == 0
    out, err = capsys.readouterr()
    assert "is not split into train/ and test/" in err
    assert "mine, 4 pairs" in out
    rows = [line.split()[0] for line in out.splitlines() if line.endswith("] ")]
    assert rows == ["one", "two", "one/validated"]
    assert "Dijkstra distances, true vertices; registration read-out, unrefined; final weights, seed 1" in out
    assert "weights validated on held-out training shapes, seed 0" in out
    assert "worst pair of two: part" in out
    assert any((tmp_path / "cache").rglob("*.npz"))


def test_everything_is_written(
    runs: list[Path], own_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "errors"
    words = ["evaluate", "--data", str(own_set), "--model", str(runs[0]), "--read-out", "both", "--no-cache"]
    assert main([*words, "-o", str(folder), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    summary = json.loads(out)
    assert [row["label"] for row in summary["rows"]] == ["one, spectral", "one, features"]
    assert (summary["set"], summary["split"], summary["pairs"], summary["published"]) == ("folder", "test", 4, {})
    for row in summary["rows"]:
        assert row["measures"]["micro"] > 0
        assert row["measures"]["worst pair"] == pytest.approx(row["worst_pair"]["mean"])
        assert row["card"]["data"]["parts"] == 3
    files = {path.name for path in folder.iterdir() if path.is_file()}
    tables = {"table.txt", "table.md", "table.tex", "pck.png", "summary.json"}
    assert files == tables | {"pairs-one-spectral.csv", "pairs-one-features.csv"}
    assert {Path(path).name for path in summary["files"].values()} == files
    with (folder / "pairs-one-features.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["pair"] for line in lines] == [f"part{k} → ball" for k in range(4)]
    mean = np.mean([float(line["mean_x100"]) for line in lines])
    assert mean == pytest.approx(summary["rows"][1]["measures"]["macro"], rel=1e-4)
    assert json.loads((folder / "summary.json").read_text())["rows"] == summary["rows"]
    assert "| one, features |" in (folder / "table.md").read_text()


def test_a_report_shows_the_worst_pairs(
    runs: list[Path],
    own_set: Path,
    tmp_path: Path,
    one_error: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "report"
    words = [
        "evaluate",
        "--data",
        str(own_set),
        "--set",
        "folder",
        "--split",
        "all",
        "--model",
        str(runs[0]),
        "--no-cache",
    ]
    assert main([*words, "--report", str(folder), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert all(Path(path).is_file() for path in summary["files"].values())
    assert sorted(path.name for path in (folder / "pictures").iterdir()) == [f"{k:02d}.png" for k in range(4)]
    assert json.loads((folder / "summary.json").read_text())["files"] == summary["files"]
    page = (folder / "report.html").read_text()
    # nothing is asked for: the pictures are inside
    assert page.count("data:image/png;base64,") == 6
    assert "http:" not in page
    assert "https:" not in page
    text = (folder / "report.md").read_text()
    order = [summary["rows"][0]["worst_pair"]["name"]]
    assert text.index(f"![{order[0]}: mean error") < text.index("## Every pair of one, the worst first")
    assert "(pictures/00.png)" in text
    assert "## Confidence" in text
    assert "(calibration.png)" in text
    assert "give one of them" in one_error(*words, "--report", folder, "--output", folder)


def test_runs_that_differ_in_their_seeds_can_be_averaged(
    runs: list[Path], own_set: Path, tmp_path: Path, one_error: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", "--data", str(own_set), "--set", "folder", "--no-cache", "--average", "-m", str(runs[0])]
    assert main([*words, "-m", str(runs[1]), "--split", "all"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "2 models" in out
    assert out.count("±") == 6
    assert "final weights, seeds 0, 1" in out
    assert "--average needs several models" in one_error(*words)
    validated = one_error(*words, "-m", runs[1] / "validated.safetensors")
    assert "one has weights='final', two/validated has weights='validated'" in validated


def test_runs_that_differ_in_their_seeds_can_match_together(
    runs: list[Path], own_set: Path, one_error: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", "--data", str(own_set), "--set", "folder", "--split", "all", "--no-cache", "-m", str(runs[0])]
    both = [*words, "-m", str(runs[1]), "--together"]
    for more in ([], ["--yaw-steps", "2"], ["--refine", "2"]):
        assert main([*both, *more, "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)["rows"]
        assert row["label"] == "2 models together"
        assert "seeds 0, 1" in row["protocol"]
    assert "--together needs several models" in one_error(*words, "--together")
    assert "leave one out" in one_error(*both, "--average")


def test_parts_that_lie_any_way_up_and_models_that_expect_it(
    runs: list[Path], own_set: Path, one_error: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", "--data", str(own_set), "--split", "all", "--no-cache", "-m", str(runs[0])]
    errors = []
    for more in ([], ["--turn-parts"], ["--turn-parts", "--with", "upright=no", "--with", "alignments=1"]):
        assert main([*words, *more, "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)["rows"]
        assert ("parts turned at random" in row["protocol"]) == bool(more)
        errors.append(row["measures"]["macro"])
    assert len(set(errors)) == 3
    assert "--with rotation is a setting of training" in one_error(*words, "--with", "rotation=3")
    assert "did you mean 'alignments'" in one_error(*words, "--with", "alignment=3")
    assert "upright is true or false" in one_error(*words, "--with", "upright=3")


@pytest.fixture(scope="session")
def contest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole of SHREC'16 and two parts of the training split, whose true places lie inside triangles."""
    folder = tmp_path_factory.mktemp("shrec16")
    for name in ("null", "cuts"):
        (folder / name).mkdir()
    whole = sphere(150)
    write_mesh(whole, folder / "null/cat.off")
    face_of = {int(vertex): (row, corner) for row, face in enumerate(whole.faces) for corner, vertex in enumerate(face)}
    for k in (10, 11):
        cut = cut_balls(whole, [k], 0.7)
        write_mesh(cut.part, folder / f"cuts/cuts_cat_shape_{k}.off")
        rows, corners = np.array([face_of[int(v)] for v in cut.vertex_map]).T
        weights = np.full((len(rows), 3), 0.2)
        weights[np.arange(len(rows)), corners] = 0.6
        table = np.column_stack([rows + 1, weights])
        np.savetxt(folder / f"cuts/cuts_cat_shape_{k}.baryc_gt", table, fmt=["%d", "%.6f", "%.6f", "%.6f"])
    return folder


def test_published_errors_stand_beside(runs: list[Path], contest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["evaluate", "--data", str(contest), "--model", str(runs[0]), "--no-cache"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert "Wormhole, unsupervised" in out
    assert "as published, by its own protocol" in out
    assert "true points in triangles" in out
    assert "not of this split of its training shapes" in err
    assert main([*words, "--no-published", "--rounded"]) == 0
    out, err = capsys.readouterr()
    assert "Wormhole" not in out
    assert "true points rounded to the nearest vertex" in out
    assert "split of its training" not in err


def test_a_model_of_shapes_that_stand_otherwise(
    runs: list[Path], contest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", "--data", str(contest), "--model", str(runs[0]), "--no-cache"]
    said = "was trained on shapes with y up, and these have z up: --with vertical=z"
    errors = []
    for more in ([], ["--with", "vertical=z"]):
        assert main([*words, *more, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert any(said in note for note in found["notes"]) == (not more)
        errors.append(found["rows"][0]["measures"]["macro"])
    # without being told, the search finds the vertical as well
    assert errors[0] == pytest.approx(errors[1], rel=0.5)


def test_refined_maps_stand_beside_refined_errors(
    runs: list[Path], contest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", "--data", str(contest), "--model", str(runs[0]), "--no-cache", "--refine", "2"]
    assert main([*words, "--read-out", "zoomout"]) == 0
    out, _ = capsys.readouterr()
    assert "zoomout read-out, refined by 2 steps; final weights, seed 0" in out
    assert "Wormhole → refined, unsupervised" in out
    assert main([*words, "--json"]) == 0
    assert "registration read-out, refined by 2 steps" in json.loads(capsys.readouterr().out)["rows"][0]["protocol"]


def test_rounding_vertices_changes_nothing(runs: list[Path], own_set: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--data", str(own_set), "--model", str(runs[0]), "--no-cache", "--rounded"]) == 0
    out, err = capsys.readouterr()
    assert "--rounded has no effect" in err
    assert "true vertices" in out


def test_models_of_several_sizes(
    runs: list[Path], own_set: Path, tmp_path: Path, small_network: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "large"
    more = ["--with", "diffusion_eigenpairs=20", "--with", "inputs=signatures", "--no-cache", "-q"]
    words = ["train", "--data", str(own_set), "--iterations", "1", *small_network, *more, "-o", str(other)]
    assert main(words) == 0
    assert main(["evaluate", "--data", str(own_set), "-m", str(runs[0]), "-m", str(other), "--json"]) == 0
    assert [row["label"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["one", "large"]


def test_mistakes_are_one_line(
    runs: list[Path],
    own_set: Path,
    tmp_path: Path,
    make_own_set: Callable[..., Path],
    one_error: Callable[..., str],
) -> None:
    from partwhole.matching.network.weights import read_tensors, write_tensors

    model = runs[0] / "model.safetensors"
    whole = model.read_bytes()
    (tmp_path / "half.safetensors").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.safetensors").write_text("weights")
    tensors, card = read_tensors(model)
    write_tensors(tmp_path / "wide.safetensors", tensors, {**card, "config": {**card["config"], "width": 9}})
    write_tensors(
        tmp_path / "sees.safetensors", tensors, {**card, "config": {**card["config"], "inputs": "signatures"}}
    )
    write_tensors(tmp_path / "none.safetensors", tensors, {"name": "no model"})
    shutil.copy(own_set / "wholes/ball.ply", tmp_path / "ball.ply")
    messages = {
        "half.safetensors": "is damaged or no safetensors file",
        "text.safetensors": "is damaged or no safetensors file",
        "wide.safetensors": "the weights don't fit the network of their card",
        "sees.safetensors": "the weights don't fit the network of their card",
        "none.safetensors": "holds no model",
        "ball.ply": "is damaged or no safetensors file",
        "nothing.safetensors": "file not found: ",
    }
    for name, message in messages.items():
        assert message in one_error("evaluate", "--data", own_set, "--model", tmp_path / name)
    assert "--model" in one_error("evaluate", "--data", own_set)
    assert "--data is missing" in one_error("evaluate", "--model", model)
    bare = make_own_set(tmp_path / "bare", 2, truths=0)
    assert "none of the 2 pairs has ground truth" in one_error("evaluate", "--data", bare, "--model", model)


def test_pairs_without_ground_truth_are_left_out(
    runs: list[Path], tmp_path: Path, make_own_set: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    some = make_own_set(tmp_path / "some", 3, truths=2)
    assert main(["evaluate", "--data", str(some), "--model", str(runs[0]), "--json", "--no-cache"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["pairs"] == 2
    assert "some: 1 of 3 pairs have no ground truth and are left out" in summary["notes"]
