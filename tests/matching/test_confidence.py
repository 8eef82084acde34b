"""Confidence, from signs of a wrong place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from partwhole.datasets import Pair, cut_plane
from partwhole.matching import Stock, TrainingConfig, prepared
from partwhole.matching.confidence import FITTED, Signs, Weighing, confidence_of, expected_error, signs_of
from partwhole.matching.trials import Trial


def trial(stock: Stock, nearest: torch.Tensor, score: float = 0.0) -> Trial:
    part, whole = stock.parts[0], stock.wholes[0]
    return Trial(part, whole, 0.0, nearest, score)


@pytest.fixture(scope="module")
def cut_ball(small: object, config: TrainingConfig) -> tuple[Stock, torch.Tensor]:
    """Half a ball, and its true map."""
    cut = cut_plane(small.lopsided(400), (0, 0, 0), (1, 0, 0))  # type: ignore[attr-defined]
    return prepared([Pair.of_cut(cut)], config.with_changes(criterion="wormhole")), torch.from_numpy(cut.vertex_map)


def test_the_true_map_has_few_signs(cut_ball: tuple[Stock, torch.Tensor]) -> None:
    stock, true = cut_ball
    chosen = trial(stock, true)
    signs = signs_of(true, chosen, [chosen])
    assert signs.distortion.max() < 0.02
    assert signs.rivals.max() == 0
    assert signs.misfit < 0.2


def test_what_is_scrambled_is_betrayed(cut_ball: tuple[Stock, torch.Tensor]) -> None:
    stock, true = cut_ball
    left = stock.parts[0].points[:, 1] < 0
    scrambled = true.clone()
    scrambled[left] = true[left][torch.randperm(int(left.sum()), generator=torch.Generator().manual_seed(0))]
    chosen = trial(stock, scrambled)
    signs = signs_of(scrambled, chosen, [chosen])
    wrong = left.numpy()
    assert signs.distortion[wrong].mean() > 4 * signs.distortion[~wrong].mean()
    sure = confidence_of(signs)
    assert sure[wrong].mean() < 0.6 * sure[~wrong].mean()


def test_rivals_count_by_how_well_they_fit(cut_ball: tuple[Stock, torch.Tensor]) -> None:
    stock, true = cut_ball
    other = true.flip(0)
    chosen = trial(stock, true, 1.0)
    as_good, hopeless = (signs_of(true, chosen, [chosen, trial(stock, other, score)]) for score in (1.0, 9.0))
    distances = stock.wholes[0].distances
    assert distances is not None
    assert np.allclose(as_good.rivals, distances[true, other].numpy() / 2, atol=1e-5)
    assert hopeless.rivals.max() < 1e-5
    assert confidence_of(as_good).mean() < confidence_of(hopeless).mean()


def test_pieces_do_not_see_each_other(cut_ball: tuple[Stock, torch.Tensor]) -> None:
    stock, true = cut_ball
    part = stock.parts[0]
    assert part.distances is not None
    assert part.weights is not None
    # as prepared: no weight and no distance between pieces
    apart = (part.points[:, 1] < 0)[:, None] ^ (part.points[:, 1] < 0)[None]
    weights = torch.where(apart, 0, part.weights)
    pieces = part.with_loss(torch.where(apart, 0, part.distances), weights)
    chosen = replace(trial(stock, true), part=pieces)
    assert signs_of(true, chosen, [chosen]).distortion.max() < 0.02


def test_more_signs_less_confidence() -> None:
    rng = np.random.default_rng(0)
    low = Signs(*rng.uniform(0, 0.1, (3, 50)), misfit=0.1)
    for name in ("distortion", "bending", "rivals"):
        changed = {**low.__dict__, name: getattr(low, name) + 0.2}
        assert (confidence_of(Signs(**changed)) < confidence_of(low)).all()
    assert (confidence_of(Signs(**{**low.__dict__, "misfit": 0.9})) < confidence_of(low)).all()
    everything = confidence_of(Signs(np.zeros(1), np.zeros(1), np.zeros(1), misfit=0.0))
    assert 0.5 < everything[0] <= 1
    assert 0 <= confidence_of(Signs(np.full(1, 9.0), np.full(1, 9.0), np.full(1, 9.0), misfit=2.0))[0] < 0.1


def test_a_weighing_by_hand() -> None:
    signs = Signs(np.array([0.05]), np.array([0.0]), np.array([0.0]), misfit=0.0)
    by_hand = Weighing(distortion=1.0, bending=0.0, rivals=0.0, misfit=0.0, even=0.05, slope=3.0)
    assert expected_error(signs, by_hand)[0] == pytest.approx(0.05)
    assert confidence_of(signs, by_hand)[0] == pytest.approx(0.5)
    assert min(FITTED.distortion, FITTED.bending, FITTED.rivals, FITTED.misfit) > 0, "each is a sign of being wrong"
