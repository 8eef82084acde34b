"""`partwhole reproduce swiss-roll`, small."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import matplotlib.image as image
import numpy as np
import pytest

from partwhole.cli.main import main
from partwhole.embedding.methods.task import EmbeddingMethod, EmbeddingTask
from partwhole.experiments.swiss_roll import HEAD, WRITES

SMALL = ["reproduce", "swiss-roll", "--quick", "--samples", "500", "--method", "pca", "--method", "whcie"]


def run_json(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    assert main([*map(str, words), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def test_it_prints_a_table_and_draws_a_grid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], undeclared: Callable[..., list[Path]]
) -> None:
    assert main([*SMALL, "--seeds", "2", "--shape", "whole", "--shape", "hole", "--output", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "Swiss roll, whole, noise 0; 500 samples, 2 seeds" in out
    assert "Swiss roll, with a hole, noise 0; 500 samples, 2 seeds" in out
    assert out.count("2/2") == 4
    assert all(word in out for word in HEAD)
    assert undeclared(tmp_path, WRITES) == []
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["grid-noise-0.png", "maps", "results.jsonl", "summary.json", "table.md"]
    assert image.imread(tmp_path / "grid-noise-0.png").std() > 0.05
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 8
    assert len(list((tmp_path / "maps").iterdir())) == 4
    assert (tmp_path / "table.md").read_text().count("| PCA |") == 2


def test_numbers_are_those_of_the_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from partwhole.datasets import swiss_roll
    from partwhole.embedding import WHCIE
    from partwhole.embedding.methods.quality import procrustes_error

    told = run_json(capsys, *SMALL, "--output", tmp_path)
    assert (told["samples"], told["seeds"], told["neighbors"]) == (500, [0], 10)
    assert told["falloff"] is None
    pca, whcie = told["maps"]
    assert (pca["method"], whcie["method"]) == ("pca", "whcie")
    roll = swiss_roll(500, variant="hole", seed=0)
    expected = procrustes_error(WHCIE(n_neighbors=10).fit_transform(roll.points), roll.flat)
    assert whcie["similarity"] == [pytest.approx(expected, abs=1e-6)]
    assert whcie["guaranteed_stress"] < pca["guaranteed_stress"]
    assert whcie["errors"] == []


def test_other_seeds_and_the_weights_of_the_paper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from partwhole.datasets import swiss_roll
    from partwhole.embedding import WHCIE
    from partwhole.embedding.methods.quality import procrustes_error

    told = run_json(capsys, *SMALL, "--first-seed", 3, "--falloff", 0, "--output", tmp_path)
    assert (told["seeds"], told["falloff"]) == ([3], 0)
    roll = swiss_roll(500, variant="hole", seed=3)
    expected = procrustes_error(WHCIE(n_neighbors=10, falloff=0).fit_transform(roll.points), roll.flat)
    assert told["maps"][1]["similarity"] == [pytest.approx(expected, abs=1e-6)]
    assert image.imread(tmp_path / "grid-noise-0.png").std() > 0.05


def test_a_second_run_makes_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_json(capsys, *SMALL, "--output", tmp_path)

    def never(*_: object) -> None:
        raise AssertionError("this map was made before")

    monkeypatch.setattr("partwhole.embedding.methods.comparison.run_method", never)
    again = run_json(capsys, *SMALL, "--output", tmp_path)
    assert again["maps"] == first["maps"]
    assert again["notes"] == [f"2 of 2 maps were made before and are read from {tmp_path / 'results.jsonl'}"]


def test_a_map_that_was_lost_is_made_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_json(capsys, *SMALL, "--output", tmp_path)
    for path in (tmp_path / "maps").iterdir():
        path.unlink()
    run_json(capsys, *SMALL, "--output", tmp_path)
    assert len(list((tmp_path / "maps").iterdir())) == 2


def test_failures_are_rows_of_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from partwhole.embedding.methods import baselines

    def singular(sample: EmbeddingTask) -> np.ndarray:
        raise RuntimeError("Factor is exactly singular")

    def missing(sample: EmbeddingTask) -> np.ndarray:
        raise ImportError("UMAP is not installed")

    made = {
        "pca": EmbeddingMethod("pca", "PCA", singular),
        "umap": EmbeddingMethod("umap", "UMAP", missing, keeps_scale=False),
    }
    monkeypatch.setattr(baselines, "METHODS", tuple(made.get(method.name, method) for method in baselines.METHODS))
    words = [*SMALL, "--method", "umap", "--output", str(tmp_path)]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert "note: PCA has no map in 1 of its runs: RuntimeError: Factor is exactly singular" in err
    assert "note: UMAP has no map in 1 of its runs: UMAP is not installed" in err
    rows = [line.split() for line in out.splitlines()]
    assert ["PCA", "failed", "0/1"] in rows
    assert ["UMAP", "*", "skipped", "0/1"] in rows
    # what is not installed may be tomorrow; a failure stays one
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 2
    monkeypatch.undo()


def test_bad_arguments(tmp_path: Path, one_error: Callable[..., str]) -> None:
    assert "--shape must be one of whole, hole, cut, got torn" in one_error(*SMALL, "--shape", "torn")
    assert "--method must be one of pca, " in one_error(*SMALL, "--method", "magic")
    assert "--noise must be finite and at least 0, got -1" in one_error(*SMALL, "--noise", "-1")
    (tmp_path / "results.jsonl").write_text('{"key": 3}\n')
    assert "line 1 is not a result of this command" in one_error(*SMALL, "--output", tmp_path)


def test_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL[:-2], "--quiet", "--output", str(tmp_path)]) == 0
    assert capsys.readouterr() == ("", "")
