"""Training on pairs that a recipe makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import partwhole.matching.training.run_folder as run_folder
from partwhole.datasets import BodiesRecipe
from partwhole.matching import Matcher, PairStream, TrainingConfig, preset, train
from partwhole.matching.network.weights import read_tensors
from partwhole.matching.training.steps import learning_rate

SCHEDULE: dict[str, Any] = {"blocks": 3, "first": 1, "every": 4}


@pytest.fixture(scope="module")
def tiny() -> TrainingConfig:
    """The preset with a network of a few hundred weights."""
    sizes = {"width": 8, "blocks": 1, "features": 8, "map_eigenpairs": 12, "diffusion_eigenpairs": 12}
    return preset("default").with_changes(**sizes, iterations=12, evaluate_every=4)


@pytest.fixture(scope="module")
def uninterrupted(
    hands: BodiesRecipe, hand_blocks: Path, tiny: TrainingConfig, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("recipe") / "run"
    with PairStream(hands, tiny, workers=0, folder=hand_blocks, **SCHEDULE) as stream:
        train(stream, tiny, folder=folder)
    return folder


def assert_same(one: Path, other: Path) -> None:
    for name in ("model.safetensors", "state.safetensors"):
        (found, _), (expected, _) = read_tensors(one / name), read_tensors(other / name)
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[key], expected[key]) for key in found)
    assert (one / "run.json").read_text() == (other / "run.json").read_text()


def test_the_card_says_what_the_pairs_were(hands: BodiesRecipe, uninterrupted: Path, tiny: TrainingConfig) -> None:
    card = json.loads((uninterrupted / "run.json").read_text())
    data = card["data"]
    assert (data["recipe"], data["seed"], data["blocks"], data["pairs"]) == ("bodies", 0, 3, 3)
    assert data["hash"] == PairStream(hands, tiny, **SCHEDULE).content_hash
    assert card["protocol"].startswith("supervised")
    assert Matcher.load(uninterrupted / "model.safetensors").config == tiny
    rates = [line.split(",") for line in (uninterrupted / "losses.csv").read_text().splitlines()]
    column = rates[0].index("learning_rate")
    assert [float(row[column]) for row in rates[1:]] == pytest.approx([learning_rate(i, 1, tiny) for i in range(12)])


@pytest.mark.parametrize("workers", [0, 1])
def test_a_run_that_was_stopped_goes_on(
    workers: int,
    hands: BodiesRecipe,
    hand_blocks: Path,
    uninterrupted: Path,
    tiny: TrainingConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before the third block came; blocks that were kept are read, others are made again."""
    folder = tmp_path / "run"

    def stop(state: run_folder.RunState) -> None:
        if state.iteration == 7:
            raise KeyboardInterrupt

    monkeypatch.setattr(run_folder, "FLUSH_SECONDS", -1.0)
    with pytest.raises(KeyboardInterrupt), PairStream(hands, tiny, workers=0, folder=hand_blocks, **SCHEDULE) as stream:
        train(stream, tiny, folder=folder, heartbeat=stop)
    kept = None if workers else hand_blocks
    with PairStream(hands, tiny, workers=workers, folder=kept, **SCHEDULE) as stream:
        run = train(stream, tiny, folder=folder, resume=True)
    assert len(run.losses) == 12
    assert_same(folder, uninterrupted)


def test_other_pairs_are_refused_when_a_run_goes_on(tiny: TrainingConfig, tmp_path: Path, small: Any) -> None:
    few = tiny.with_changes(iterations=2)
    train(small.Balls(), few, folder=tmp_path / "run", workers=0)
    with pytest.raises(ValueError, match="was made with other pairs"):
        train(small.Balls(n_vertices=50), few, folder=tmp_path / "run", resume=True, workers=0)


def test_a_recipe_alone_is_enough(tiny: TrainingConfig, small: Any) -> None:
    told: list[str] = []
    few = tiny.with_changes(iterations=3)
    run = train(small.Balls(), few, workers=0, progress=lambda *what: told.append(what[0]))
    assert run.terms == ("correspondence",)
    assert np.isfinite(run.losses).all()
    assert run.matcher.card["data"]["blocks"] == 16
    assert told[:16] == 16 * ["blocks of pairs"]
    assert set(told[16:]) == {"training"}


def test_what_the_pairs_of_a_recipe_do_not_bring_is_named(tiny: TrainingConfig, hands: BodiesRecipe) -> None:
    for changes, said in (
        ({"distortion_weight": 1.0}, "the term 'distortion' of the loss needs distances"),
        ({"inputs": "xyz+signatures"}, r"inputs='xyz\+signatures' needs signatures"),
        ({"cosine_epochs": 5}, "cosine_epochs=5 counts passes"),
    ):
        with pytest.raises(ValueError, match=said):
            train(hands, tiny.with_changes(**changes))
    with pytest.raises(ValueError, match="leave the teacher out"):
        train(hands, tiny, teacher=Matcher(_network(tiny), tiny))
    stream = PairStream(hands, tiny)
    with pytest.raises(ValueError, match="another number of eigenpairs; make it with the config of the run"):
        train(stream, tiny.with_changes(map_eigenpairs=13))
    stream.device = "cuda"
    with pytest.raises(ValueError, match="the surfaces of the stream are on 'cuda', and the run is on 'cpu'"):
        train(stream, tiny)


def _network(config: TrainingConfig) -> Any:
    from partwhole.matching.network.diffusion_net import new_network

    return new_network(config.network)
