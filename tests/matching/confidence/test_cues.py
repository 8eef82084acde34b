"""Cues of a wrong map."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from partwhole.datasets import cut_plane
from partwhole.matching import Ensemble, Matcher, TrainingConfig
from partwhole.matching.confidence.rule import NAMES, confidence_of, cues_of
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.search.search import Candidate, SearchResult


@pytest.fixture(scope="module")
def matcher(config: TrainingConfig) -> Matcher:
    torch.manual_seed(1)
    return Matcher(new_network(config.network), config)


@pytest.fixture(scope="module")
def there(small: object, matcher: Matcher) -> tuple[SearchResult, torch.Tensor]:
    """Half a ball in the place where it was, and its true map."""
    cut = cut_plane(small.lopsided(400), (0, 0, 0), (1, 0, 0))  # type: ignore[attr-defined]
    given = small.pair_of(cut.part, cut.whole, matcher)  # type: ignore[attr-defined]
    return position(given, torch.tensor(cut.vertex_map)), torch.tensor(cut.vertex_map)


def position(given: object, *maps: torch.Tensor, scores: tuple[float, ...] = (0.0, 0.0)) -> SearchResult:
    trials = [
        Candidate(given.part, given.whole, 0.0, one, score)  # type: ignore[attr-defined]
        for one, score in zip(maps, scores, strict=False)
    ]
    return SearchResult(given, 1.0, ("y", "y"), tuple(trials), trials[0])  # type: ignore[arg-type]


def test_the_true_map_has_small_cues(there: tuple[SearchResult, torch.Tensor], matcher: Matcher) -> None:
    place, true = there
    cues = cues_of(true, place, matcher)
    assert all(getattr(cues, name).shape == true.shape for name in NAMES)
    assert all(np.isfinite(getattr(cues, name)).all() for name in NAMES)
    assert cues.distortion.max() < 0.02
    assert cues.guaranteed_distortion_far.max() < 0.02
    assert cues.rivals.max() == 0
    assert cues.smoothing.max() == 0
    assert cues.misfit.max() < 0.2
    assert np.ptp(cues.misfit) == 0


def test_what_is_scrambled_is_betrayed(there: tuple[SearchResult, torch.Tensor], matcher: Matcher) -> None:
    place, true = there
    left = place.pair.part.points[:, 1] < 0
    scrambled = true.clone()
    scrambled[left] = true[left][torch.randperm(int(left.sum()), generator=torch.Generator().manual_seed(0))]
    cues = cues_of(scrambled, place, matcher)
    wrong = left.numpy()
    for name in ("distortion_close", "distortion", "guaranteed_distortion", "smoothing"):
        found = getattr(cues, name)
        assert found[wrong].mean() > 1.2 * found[~wrong].mean(), name
    sure = confidence_of(cues)
    assert sure[wrong].mean() < 0.8 * sure[~wrong].mean()


def test_rivals_count_by_how_well_they_fit(there: tuple[SearchResult, torch.Tensor], matcher: Matcher) -> None:
    place, true = there
    other = true.flip(0)
    as_good, hopeless = (
        cues_of(true, position(place.pair, true, other, scores=(1.0, score)), matcher) for score in (1.0, 9.0)
    )
    distances = place.pair.whole.distances
    assert distances is not None
    assert np.allclose(as_good.rivals, distances[true, other].numpy() / 2, atol=1e-5)
    assert hopeless.rivals.max() < 1e-5
    assert confidence_of(as_good).mean() < confidence_of(hopeless).mean()


def test_pieces_do_not_see_each_other(there: tuple[SearchResult, torch.Tensor], matcher: Matcher) -> None:
    place, true = there
    part = place.pair.part
    assert part.distances is not None
    assert part.weights is not None
    # as prepared: no weight and no distance between pieces
    apart = (part.points[:, 1] < 0)[:, None] ^ (part.points[:, 1] < 0)[None]
    pieces = part.with_loss(torch.where(apart, 0, part.distances), torch.where(apart, 0, part.weights))
    cues = cues_of(true, position(replace(place.pair, part=pieces), true), matcher)
    assert cues.distortion.max() < 0.02


def test_known_maps_are_not_read_again(there: tuple[SearchResult, torch.Tensor], matcher: Matcher) -> None:
    place, true = there
    cues = cues_of(true, place, matcher, smooth=true, moved=true)
    assert cues.lateration.max() == 0
    together = Ensemble([matcher, matcher])
    assert np.allclose(cues_of(true, place, together, smooth=true, moved=true).spread, cues.spread, atol=1e-5)


def test_each_distance_cue_sees_as_far_as_it_says(there: tuple[SearchResult, torch.Tensor], matcher: Matcher) -> None:
    """One vertex is wrong: how much its neighbours notice falls with distance as exp(−(d / radius)²)."""
    place, true = there
    D = place.pair.part.distances
    assert D is not None
    middle = int(D.mean(dim=1).argmin())
    wrong = true.clone()
    wrong[middle] = true[int(D[middle].argmax())]
    right, spoiled = (cues_of(one, place, matcher, smooth=true, moved=true) for one in (true, wrong))
    away = D[middle].numpy()
    for name, radius in (("distortion_close", 0.06), ("distortion", 0.12), ("guaranteed_distortion_far", 0.25)):
        noticed = getattr(spoiled, name) - getattr(right, name)
        near, far = away < 1.5 * radius, away > 3.5 * radius
        near[middle] = False
        assert noticed[near].mean() > 1e-4, name
        if far.any():
            assert noticed[far].mean() < 1e-3 * noticed[near].mean(), name
    # what is averaged, is averaged over what is close
    smoothed = spoiled.smoothing
    assert smoothed[away < 0.06].min() > 0
    assert smoothed[away > 0.25].max() < 1e-5
