"""Tables of studies: whose rows they have, and what they say where something is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwhole.cli.shared.console import Console
from partwhole.evaluation import Evaluation, PairResult, Protocol
from partwhole.experiments.matching import error_tables as study_tables
from partwhole.experiments.matching.error_tables import StudySection, measured_rows, present, study_table
from partwhole.experiments.matching.study import Run, Series
from partwhole.matching import TrainingConfig

PUBLISHED = {"theirs": {"micro": 5.0}}


def run(name: str, seed: int, error: float, recorded: tuple[float, ...] = (), tests: tuple[str, ...] = ("a",)) -> Run:
    series = Series(name=name, label=name.upper(), config=TrainingConfig(), trained_on="a", tested_on=tests)
    errors = {
        (test, read_out): Evaluation(
            [PairResult("pair", np.array([error, error]))],
            Protocol(data=f"pairs {test}", read_out=read_out, seeds=(seed,)),
        )
        for test in tests
        for read_out in study_tables.READ_OUTS
    }
    on_the_way: list[dict[str, Any]] = [
        {"iteration": 10 * (k + 1), "data": "a", **dict.fromkeys(study_tables.COLUMNS, value)}
        for k, value in enumerate(recorded)
    ]
    return Run(series, seed, errors, tuple(on_the_way))


def test_best_on_test_is_picked_seed_by_seed() -> None:
    rows = measured_rows([run("x", 0, 0.04, (3.0, 4.0)), run("x", 1, 0.06, (7.0, 6.0))], "a")
    assert [row.label for row in rows] == ["X, spectral", "X, features", "X, spectral, best-on-test"]
    assert rows[0].values("micro") == pytest.approx([4.0, 6.0])
    assert rows[2].values("micro") == [3.0, 6.0]
    table = study_table(StudySection(key="a", published=PUBLISHED), rows, "title")
    assert [line[0] for line in table.rows] == ["theirs", *(row.label for row in rows)]
    assert table.rows[0][1] == "5.00"
    assert table.rows[3][1] == "4.50 ± 2.12"
    assert table.protocols[int(table.rows[3][-1][1]) - 1].endswith("weights picked on the test set, seeds 0, 1")
    assert "picked" not in table.protocols[int(table.rows[1][-1][1]) - 1]


def test_without_a_record_nothing_is_called_best() -> None:
    rows = measured_rows([run("x", 0, 0.04, (3.0,)), run("x", 1, 0.06)], "a")
    assert [row.protocol.weights for row in rows] == ["final", "final"]


def test_a_series_is_shown_where_it_was_tested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    sections = [StudySection(key=key, published=PUBLISHED) for key in "abc"]
    found = present(sections, [run("x", 0, 0.04, (3.0,)), run("y", 0, 0.05, tests=("b",))], tmp_path, console)
    assert {key: [row["series"] for row in of["rows"]] for key, of in found.items()} == {
        "a": ["x", "x", "x"],
        "b": ["y", "y"],
    }
    assert console.notes == ["c: no run was completed, so there is no table"]
    assert not (tmp_path / "c.md").exists()
    assert "evaluations" in found["a"]["files"]
    assert "evaluations" not in found["b"]["files"]
    text = capsys.readouterr().out
    assert "X: every evaluation on pairs a" in text
    assert "Y: every evaluation" not in text


def test_as_many_curves_as_there_are_colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[list[str]] = []
    monkeypatch.setattr(study_tables, "pck_plot", lambda curves, *rest, **knobs: drawn.append(list(curves)))
    for count in (5, 6):
        runs = [run(f"x{k}", seed, 0.04) for k in range(count) for seed in (0, 1)]
        present([StudySection(key="a", published=PUBLISHED)], runs, tmp_path, Console(quiet=True))
    assert len(drawn[0]) == 10
    assert drawn[1] == [f"X{k}, spectral" for k in range(6)]
