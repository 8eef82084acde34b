"""`partwhole benchmark` from end to end, on a small set."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from partwhole.cli.main import main
from partwhole.experiments.matching.method_rows import BenchmarkRow, append_row, read_rows
from partwhole.matching.methods import DescriptorMaps


def words(own_set: Path, folder: Path, *more: str) -> list[str]:
    methods = [] if "--methods" in more else ["--methods", "descriptors,fsp"]
    return ["benchmark", "--data", str(own_set), *methods, "--distances", "dijkstra", "-o", str(folder), *more]


def row(**changes: object) -> BenchmarkRow:
    measured = {"vertices": 3, "mean_x100": 1.5, "median_x100": 1.0, "share_above": 0.0, "seconds": 0.1}
    named = {
        "method": "one",
        "pair": "a, b",
        "fingerprint": "f",
        "protocol": "some; thing",
        "megabytes": float("nan"),
        "pck": "0 1",
    }
    return BenchmarkRow(**{**measured, **named, **changes})  # type: ignore[arg-type]


def test_a_row_a_pair_and_a_table(own_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(own_set, tmp_path / "out")) == 0
    out = capsys.readouterr().out
    assert "mine, 4 pairs" in out
    assert "features read-out, unrefined; nothing learned" in out
    rows = read_rows(tmp_path / "out" / "pairs.csv")
    assert [(one.method, one.pair) for one in rows] == [
        (method, f"part{k} → ball") for method in ("descriptors", "fsp") for k in range(4)
    ]
    assert all(one.mean_x100 >= 0 and one.seconds > 0 and one.vertices > 0 for one in rows)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "pairs.csv",
        "measured",
        "summary.json",
        "table.txt",
        "table.md",
        "pck.png",
        "times.png",
    }
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    macro = np.mean([one.mean_x100 for one in rows[:4]])
    assert float(summary["table"][0][2]) == pytest.approx(macro, abs=0.01)


def test_an_interrupted_run_goes_on(own_set: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(words(own_set, tmp_path, "--quiet")) == 0
    complete = read_rows(tmp_path / "pairs.csv")
    # killed before the second map was complete; the table of rows is made of what is kept of each map
    sorted(tmp_path.glob("measured/descriptors/*/summary.json"))[1].unlink()
    (tmp_path / "pairs.csv").unlink()
    matched = []
    original = DescriptorMaps.functional_map
    monkeypatch.setattr(DescriptorMaps, "functional_map", lambda self, pair: matched.append(1) or original(self, pair))
    assert main(words(own_set, tmp_path, "--quiet")) == 0
    assert len(matched) == 1
    rows = read_rows(tmp_path / "pairs.csv")
    assert [one.key for one in rows] == [one.key for one in complete]
    assert [one.mean_x100 for one in rows] == [one.mean_x100 for one in complete]


def test_the_switches_are_measured_apart(own_set: Path, tmp_path: Path) -> None:
    for switches in ([], ["--turn-parts"], ["--own-area"]):
        assert main(words(own_set, tmp_path, "--methods", "descriptors", "--quiet", "--most", "2", *switches)) == 0
    rows = read_rows(tmp_path / "pairs.csv")
    assert len(rows) == 6
    assert len({one.protocol for one in rows}) == 3
    assert "parts turned at random" in rows[2].protocol
    assert "parts scaled to the area of their wholes" in rows[4].protocol
    # descriptors do not see how a part lies in space
    assert rows[2].mean_x100 == pytest.approx(rows[0].mean_x100, abs=2)


def test_models_are_compared_as_match_uses_them(own_set: Path, tmp_path: Path) -> None:
    assert main(words(own_set, tmp_path, "--methods", "default", "--most", "1", "--quiet")) == 0
    assert "registration read-out, unrefined; final weights" in read_rows(tmp_path / "pairs.csv")[0].protocol


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    assert read_rows(file) == []
    append_row(file, row())
    append_row(file, row(megabytes=2.0))
    first, second = read_rows(file)
    assert np.isnan(first.megabytes)
    assert second == row(megabytes=2.0)


def test_wrong_arguments(own_set: Path, tmp_path: Path, one_error: Callable[..., str]) -> None:
    assert "--methods names nothing" in one_error(*words(own_set, tmp_path, "--methods", ","))
    assert "did you mean 'fsp'" in one_error(*words(own_set, tmp_path, "--methods", "fps"))
    (tmp_path / "pairs.csv").write_text("pair,error\na,1\n")
    assert "has other columns" in one_error(*words(own_set, tmp_path))
