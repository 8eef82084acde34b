"""`partwhole reproduce consistent-pairs` on a small collection laid out like PFAUST."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from partwhole.cli.main import main
from partwhole.datasets.cutting.cuts import cut_balls
from partwhole.datasets.shapes.primitives import sphere
from partwhole.experiments import consistent_pairs as study_runs
from partwhole.experiments.consistent_pairs import WRITES
from partwhole.mesh.io import write_mesh

COMMAND = ["reproduce", "consistent-pairs"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Four shapes of each set."""
    folder = tmp_path / "data"
    for name in ("faust_r", "pfaust/PFAUST-M/off", "pfaust/PFAUST-H/off", "pfaust/ground_truth"):
        (folder / name).mkdir(parents=True)
    for k in range(4):
        whole = sphere(150 + 10 * k).to_unit_area()[0]
        write_mesh(whole, folder / f"faust_r/tr_reg_{k:03d}.off")
        for level, centres in (("M", [3]), ("H", [3, 80 + k, 140])):
            cut = cut_balls(whole, centres, 0.13)
            write_mesh(cut.part, folder / f"pfaust/PFAUST-{level}/off/tr_reg_{k:03d}.off")
            np.savez(folder / f"pfaust/ground_truth/PFAUST-{level}_tr_reg_{k:03d}.npz", full_vertex=cut.vertex_map)
    return folder


def run_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    assert main([*COMMAND, *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_table_stands_beside_the_papers(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], undeclared: Callable[..., list[Path]]
) -> None:
    out = tmp_path / "out"
    assert (
        main(
            [
                *COMMAND,
                "--data",
                str(root),
                "-o",
                str(out),
                "--workers",
                "1",
                "--tolerance",
                "1e-6",
                "--method",
                "dijkstra",
            ]
        )
        == 0
    )
    text, err = capsys.readouterr()
    assert err == ""
    assert undeclared(out, WRITES) == []
    for number in ("78 ± 16", "48 ± 18", "82 ± 14", "53 ± 16", "30 ± 18", "65 ± 18"):
        assert number in text
    assert "4 shapes of PFAUST-M, 4 shapes of PFAUST-H" in text
    assert text.count("0 / 0 / 0") == 2
    assert (out / "table.md").read_text().count("| M ours | 1e-06 |") == 1
    summary = json.loads((out / "summary.json").read_text())
    row = summary["sets"]["PFAUST-H"]["rows"][0]
    assert 0 < row["consistent"]["mean"] < 1
    found = {kind: share["mean"] for kind, share in row["found"].items()}
    assert 0 < found["boundary"] <= found["wormhole"] <= found["same-loop"] <= 1
    assert row["guaranteed_not_consistent"] == {"boundary": 0, "wormhole": 0, "same-loop": 0}


def test_an_interrupted_run_goes_on(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    knobs = ["--data", root, "--set", "H", "-o", tmp_path / "out", "--workers", "1", "--tolerance", "0.01"]
    really, seen = study_runs.study, []

    def twice_then_stop(job: study_runs.Job):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(job.shape)
        return really(job)

    monkeypatch.setattr(study_runs, "study", twice_then_stop)
    assert main([*COMMAND, *map(str, knobs)]) == 130
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["shape"] for line in lines] == [0, 1]
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["results.jsonl"]
    monkeypatch.setattr(study_runs, "study", lambda job: seen.append(job.shape) or really(job))
    capsys.readouterr()
    resumed = run_json(capsys, *knobs)
    assert seen == [0, 1, 2, 3]
    assert "2 of 4 shapes were done before" in resumed["notes"][0]
    again = run_json(capsys, *knobs)
    assert seen == [0, 1, 2, 3]
    assert again["sets"] == resumed["sets"]
    fresh = run_json(capsys, *knobs[:5], tmp_path / "fresh", *knobs[6:])
    assert fresh["sets"] == resumed["sets"]


def test_other_parameters_or_other_data_are_computed_anew(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    knobs = ["--data", root, "--set", "M", "--shapes", "2", "-o", tmp_path / "out", "--workers", "1"]
    run_json(capsys, *knobs)
    assert run_json(capsys, *knobs)["notes"] != []
    assert run_json(capsys, *knobs, "--tolerance", "0.02")["notes"] == []
    assert run_json(capsys, *knobs, "--sound")["notes"] == []
    for name in ("pfaust/PFAUST-M/off/tr_reg_000.off", "pfaust/PFAUST-M/off/tr_reg_002.off"):
        (root / name).write_text((root / name).read_text() + "# touched\n")
    assert run_json(capsys, *knobs)["notes"] == []


def test_processes_give_what_one_process_gives(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    knobs = ["--data", root, "--set", "M", "--shapes", "2"]
    one = run_json(capsys, *knobs, "-o", tmp_path / "one", "--workers", "1")
    two = run_json(capsys, *knobs, "-o", tmp_path / "two", "--workers", "2")
    assert one["sets"] == two["sets"]


def test_an_error_in_a_process_is_one_line(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(root / "pfaust/ground_truth/PFAUST-M_tr_reg_000.npz", full_vertex=np.zeros(3, int))
    assert main([*COMMAND, "--data", str(root), "--set", "M", "-o", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "files of different releases" in err


def test_the_environment_can_name_the_data(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PARTWHOLE_DATA", str(root))
    summary = run_json(capsys, "--set", "M", "--shapes", 1, "-o", tmp_path / "out")
    assert summary["sets"]["PFAUST-M"]["shapes"] == 1


def test_bad_input_is_one_line(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PARTWHOLE_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "results.jsonl").write_text('{"key": "half a li')
    bare = tmp_path / "bare"
    for name in ("faust_r", "pfaust/PFAUST-M/off", "pfaust/ground_truth"):
        (bare / name).mkdir(parents=True)
    for arguments, message in (
        ([], "--data is missing, and PARTWHOLE_DATA is not set: PFAUST is published"),
        (["--data", "gone"], "folder not found: --data gone; PFAUST is published"),
        (["--data", "empty"], "has no pfaust/PFAUST-M/off, no faust_r, no pfaust/ground_truth: PFAUST is published"),
        (["--data", "bare", "--set", "M"], "holds no parts of PFAUST-M"),
        (["--data", str(root), "--tolerance", "2"], "--tolerance must lie between 0 and 1, got 2.0"),
        (["--data", str(root), "-o", "out"], "line 1 is not a result of this command"),
    ):
        assert main([*COMMAND, *arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert message in err


@pytest.mark.real_data
def test_published_parts(data_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    knobs = [
        "--data",
        data_root,
        "--set",
        "H",
        "--shapes",
        1,
        "-o",
        tmp_path / "out",
        "--tolerance",
        "1e-6",
        "--method",
        "dijkstra",
    ]
    row = run_json(capsys, *knobs)["sets"]["PFAUST-H"]["rows"][0]
    assert set(row["guaranteed_not_consistent"].values()) == {0}
    assert row["found"]["same-loop"]["mean"] > 0.5
