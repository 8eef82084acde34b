"""Cues of a wrong place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from partwhole.datasets import cut_plane
from partwhole.matching import Ensemble, Matcher, TrainingConfig
from partwhole.matching.confidence.cues import cues_of
from partwhole.matching.confidence.rule import NAMES, confidence_of
from partwhole.matching.matcher import new_network
from partwhole.matching.search.pair import surface_pair
from partwhole.matching.search.search import SearchResult
from partwhole.matching.search.trials import Candidate


@pytest.fixture(scope="module")
def matcher(config: TrainingConfig) -> Matcher:
    torch.manual_seed(1)
    return Matcher(new_network(config), config)


@pytest.fixture(scope="module")
def there(small: object, matcher: Matcher) -> tuple[SearchResult, torch.Tensor]:
    """Half a ball in the place where it was, and its true map."""
    cut = cut_plane(small.lopsided(400), (0, 0, 0), (1, 0, 0))  # type: ignore[attr-defined]
    given = surface_pair(cut.part, cut.whole, 1.0, matcher)
    return position(given, torch.tensor(cut.vertex_map)), torch.tensor(cut.vertex_map)


def position(given: object, *maps: torch.Tensor, scores: tuple[float, ...] = (0.0, 0.0)) -> SearchResult:
    trials = [
        Candidate(given.part, given.whole, 0.0, one, score)  # type: ignore[attr-defined]
        for one, score in zip(maps, scores, strict=False)
    ]
    return SearchResult(given, 1.0, ("y", "y"), tuple(trials), trials[0])  # type: ignore[arg-type]


def test_the_true_map_has_few_signs(there: tuple[SearchResult, torch.Tensor], matcher: Matcher) -> None:
    place, true = there
    signs = cues_of(true, place, matcher)
    assert all(getattr(signs, name).shape == true.shape for name in NAMES)
    assert all(np.isfinite(getattr(signs, name)).all() for name in NAMES)
    assert signs.distortion.max() < 0.02
    assert signs.guaranteed_distortion_far.max() < 0.02
    assert signs.rivals.max() == 0
    assert signs.smoothing.max() == 0
    assert signs.misfit.max() < 0.2
    assert np.ptp(signs.misfit) == 0


def test_what_is_scrambled_is_betrayed(there: tuple[SearchResult, torch.Tensor], matcher: Matcher) -> None:
    place, true = there
    left = place.pair.part.points[:, 1] < 0
    scrambled = true.clone()
    scrambled[left] = true[left][torch.randperm(int(left.sum()), generator=torch.Generator().manual_seed(0))]
    signs = cues_of(scrambled, place, matcher)
    wrong = left.numpy()
    for name in ("distortion_close", "distortion", "guaranteed_distortion", "smoothing"):
        found = getattr(signs, name)
        assert found[wrong].mean() > 1.2 * found[~wrong].mean(), name
    sure = confidence_of(signs)
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
    signs = cues_of(true, position(replace(place.pair, part=pieces), true), matcher)
    assert signs.distortion.max() < 0.02


def test_known_maps_are_not_read_again(there: tuple[SearchResult, torch.Tensor], matcher: Matcher) -> None:
    place, true = there
    signs = cues_of(true, place, matcher, smooth=true, moved=true)
    assert signs.lateration.max() == 0
    together = Ensemble([matcher, matcher])
    assert np.allclose(cues_of(true, place, together, smooth=true, moved=true).spread, signs.spread, atol=1e-5)
