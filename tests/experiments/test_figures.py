"""`partwhole reproduce figures`, on generated bodies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import matplotlib.image as image
import numpy as np
import pytest

from partwhole.cli.main import main
from partwhole.datasets import Pairs, make_body, random_cuts
from partwhole.datasets.pairs import Pair
from partwhole.experiments import figures as reproduce_figures
from partwhole.experiments.figures import WRITES


@pytest.fixture(autouse=True)
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARTWHOLE_DATA", raising=False)


@pytest.fixture
def small_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies that take no time, where the command would make larger ones."""
    body = make_body("hand", 500, seed=0)
    cuts = [random_cuts(body.pose(k), "pfaust-m", seed=k) for k in range(4)]
    monkeypatch.setattr(reproduce_figures, "example_cuts", lambda root, console: cuts[:2])
    pairs = Pairs.from_list([Pair.of_cut(cut, name=f"hand {k}") for k, cut in enumerate(cuts)], name="hands")
    monkeypatch.setattr(reproduce_figures, "pairs_from", lambda *given: pairs)


def test_figures_of_distances(small_bodies: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "figures"
    assert main(["reproduce", "figures", "--only", "regions", "--only", "shares", "-o", str(folder), "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["figures"]
    assert sorted(files) == ["regions", "shares", "soft masks"]
    for path in files.values():
        assert np.unique(image.imread(path)[..., :3].reshape(-1, 3), axis=0).shape[0] > 5


def test_figures_of_maps(
    small_bodies: None,
    runs: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    undeclared: Callable[..., list[Path]],
) -> None:
    folder = tmp_path / "figures"
    models = ["--model", str(runs[0]), "--model", str(runs[1])]
    words = ["reproduce", "figures", "--only", "maps", *models, "--no-cache", "-o", str(folder), "--json"]
    assert main(words) == 0
    files = json.loads(capsys.readouterr().out)["figures"]
    assert sorted(files) == ["curves, bodies", "maps, bodies"]
    assert undeclared(folder, WRITES) == []
    one = image.imread(files["maps, bodies"]).shape
    # a column less with one model, a row less with fewer pairs
    assert main([*words[:4], *models[:2], "--pairs", "2", "--no-cache", "-o", str(tmp_path / "few"), "--json"]) == 0
    few = image.imread(json.loads(capsys.readouterr().out)["figures"]["maps, bodies"]).shape
    assert few[0] < 0.8 * one[0]
    assert few[1] < 0.9 * one[1]


def test_the_swiss_roll_is_that_of_its_own_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}
    monkeypatch.setattr(reproduce_figures, "swiss_roll", lambda **given: asked.update(given))
    assert main(["reproduce", "figures", "--only", "swiss-roll", "-o", str(tmp_path)]) == 0
    assert asked == {"seeds": 1, "noise": [0.0], "output": tmp_path / "swiss-roll", "quiet": True}


def test_mistakes_are_one_line(tmp_path: Path, one_error: Callable[..., str]) -> None:
    words = ("reproduce", "figures", "-o", tmp_path)
    assert "--only must be one of regions, shares, swiss-roll, maps, got venn" in one_error(*words, "--only", "venn")
    assert "--model is for maps" in one_error(*words, "--only", "shares", "--model", "x.safetensors")
    assert "folder not found: " in one_error(*words, "--data", tmp_path / "nowhere")


def test_without_models_no_maps_are_drawn(
    small_bodies: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "figures", "--only", "maps", "-o", str(tmp_path)]) == 0
    assert "no maps are drawn: give models with --model" in capsys.readouterr().err


def test_bodies_are_generated_where_there_is_no_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from partwhole.cli.shared.console import Console

    cuts = reproduce_figures.example_cuts(tmp_path, Console())
    assert len(cuts) == 3
    assert "no PFAUST-H in" in capsys.readouterr().err
