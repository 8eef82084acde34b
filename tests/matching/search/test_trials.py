"""Several ways to show a part to the network."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest
import torch

from partwhole.datasets import Pair, cut_plane
from partwhole.matching import Matcher, PreparedPairs, TrainingConfig, prepare_pairs
from partwhole.matching.matcher import new_network
from partwhole.matching.search import trials as module
from partwhole.matching.search.orientation import UPS, rotation_to_vertical
from partwhole.matching.search.trials import (
    Candidate,
    best,
    best_stretch,
    candidates_at,
    difference,
    resized,
    rival,
    rotated,
    score_of,
)
from partwhole.mesh import Mesh


@pytest.fixture(scope="module")
def matcher(config: TrainingConfig) -> Matcher:
    torch.manual_seed(0)
    return Matcher(new_network(config), config)


def test_every_axis_comes_to_stand_upright() -> None:
    for up in UPS:
        for vertical in "xyz":
            R = rotation_to_vertical(up, vertical)
            axis = np.zeros(3)
            axis["xyz".index(up[-1])] = -1 if up.startswith("-") else 1
            assert np.allclose(R @ axis, np.eye(3)["xyz".index(vertical)])
            assert np.allclose(R @ R.T, np.eye(3))
            assert np.isclose(np.linalg.det(R), 1)
    with pytest.raises(ValueError, match="up must be one of 'y', '-y', 'z', '-z', 'x', '-x', got 'w'"):
        rotation_to_vertical("w", "y")


def test_a_resized_surface_is_that_of_the_resized_mesh(small: ModuleType, config: TrainingConfig) -> None:
    cut = cut_plane(small.lopsided(110), (0, 0, 0), (0, 0, 1))
    config = config.with_changes(inputs="xyz+signatures")
    pair = Pair.of_cut(cut)
    twice = Pair(Mesh(2 * pair.part.vertices, pair.part.faces), pair.whole)
    one, other = (prepare_pairs([given], config).parts[0] for given in (pair, twice))
    made = resized(one, 2.0)
    for name in ("points", "normals", "mass", "values", "distances", "weights"):
        assert torch.allclose(getattr(made, name), getattr(other, name), rtol=1e-3, atol=1e-5), name
    # eigenfunctions up to rounding; signatures, that need none of their signs, to what float32 leaves of them
    assert torch.allclose(made.functions.abs(), other.functions.abs(), atol=1e-3)
    assert torch.allclose(made.signatures, other.signatures, rtol=1e-2, atol=1e-3)
    assert torch.allclose(made.basis[:, 1:].square().sum(1), other.basis[:, 1:].square().sum(1), rtol=1e-2, atol=1e-2)
    assert resized(one, 1) is one


def test_trials_go_around(stock: PreparedPairs, matcher: Matcher) -> None:
    part, whole = stock.parts[0], stock.wholes[0]
    found = candidates_at(matcher, part, whole, 4)
    assert [round(math.degrees(trial.angle)) for trial in found] == [0, 90, 180, 270]
    chosen = best(found)
    assert chosen.score == min(trial.score for trial in found)
    for trial in found:
        assert trial.score == score_of(trial.nearest, part, whole)
        assert difference(trial, trial) == 0
    # half a turn by hand is half a turn: upside down twice, about two other axes
    R = rotation_to_vertical("-y", "y") @ np.diag([-1.0, -1.0, 1.0])
    assert matcher.config.search.vertical == "y"
    assert np.allclose(R, np.diag([-1, 1, -1]))
    assert torch.equal(candidates_at(matcher, rotated(part, R), whole, 1)[0].nearest, found[2].nearest)


def test_the_whole_is_turned_too_where_the_network_asks_for_it(stock: PreparedPairs, matcher: Matcher) -> None:
    part, whole = stock.parts[0], stock.wholes[0]
    asking = Matcher(matcher.network, matcher.config.with_changes(whole_yaw_steps=2))
    found = candidates_at(asking, part, whole, 2)
    assert [(round(math.degrees(t.angle)), round(math.degrees(t.whole_angle))) for t in found] == [
        *((0, 0), (0, 180)),
        *((180, 0), (180, 180)),
    ]
    assert [round(math.degrees(t.turn)) % 360 for t in found] == [0, 180, 180, 0]
    R = np.diag([-1.0, 1.0, -1.0])
    assert torch.equal(found[1].nearest, candidates_at(asking, part, rotated(whole, R), 1)[0].nearest)


def test_the_best_maps_are_aligned(stock: PreparedPairs, matcher: Matcher) -> None:
    part, whole = stock.surfaces(*stock.pairs[0])
    plain = candidates_at(matcher, part, whole, 4)
    found = candidates_at(matcher, part, whole, 4, alignments=2)
    assert [trial.score for trial in found[: len(plain)]] == [trial.score for trial in plain]
    again = [trial for trial in found if trial.laid is not None]
    assert len(found) == len(plain) + len(again)
    assert len(again) == 4
    for trial in again:
        seen, of_whole = trial.seen("y")
        lengths = [torch.linalg.vector_norm(s.points[1:] - s.points[:-1], dim=1) for s in (seen, part)]
        assert torch.allclose(*lengths, atol=1e-5)
        assert of_whole is whole
        # the map is that of the part as it was seen
        nearest = module.hard_map(matcher.features(seen), matcher.features(whole))
        assert (nearest == trial.nearest).float().mean() > 0.99


def test_hopeless_yaws_are_dropped_early(
    stock: PreparedPairs, matcher: Matcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, whole = stock.parts[0], stock.wholes[0]
    everything = candidates_at(matcher, part, whole, 8)
    monkeypatch.setattr(module, "_SAMPLE", len(part) // 3)
    fewer = candidates_at(matcher, part, whole, 8)
    assert 1 <= len(fewer) <= 8
    known = {round(trial.angle, 6): trial for trial in everything}
    for trial in fewer:
        assert torch.equal(trial.nearest, known[round(trial.angle, 6)].nearest)
    monkeypatch.setattr(module, "_HOPELESS", 1e9)
    assert best(candidates_at(matcher, part, whole, 8)).score == best(everything).score
    monkeypatch.setattr(module, "_HOPELESS", 1e-9)
    assert len(candidates_at(matcher, part, whole, 8)) == 1


def test_scores_do_not_depend_on_the_size_of_both(stock: PreparedPairs) -> None:
    part, whole = stock.parts[0], stock.wholes[0]
    found = torch.arange(len(part)) % len(whole)
    both = score_of(found, resized(part, 3.0), resized(whole, 3.0))
    assert both == pytest.approx(score_of(found, part, whole), rel=1e-3)


def test_rivals_are_other_maps(stock: PreparedPairs, matcher: Matcher) -> None:
    part, whole = stock.parts[0], stock.wholes[0]
    assert whole.distances is not None

    def trial(nearest: torch.Tensor, score: float) -> Candidate:
        return Candidate(part, whole, 0.0, nearest, score)

    here = torch.arange(len(part)) % len(whole)
    far = whole.distances.argmax(dim=1)[here]
    chosen, same, other, worse = trial(here, 1.0), trial(here.clone(), 1.1), trial(far, 1.5), trial(far, 3.0)
    found = rival(chosen, [chosen, same, worse, other])
    assert found is not None
    assert found[0] is other
    assert found[1] == pytest.approx(0.5)
    assert rival(chosen, [chosen, same]) is None


def test_stretch_is_the_ratio_of_distances(stock: PreparedPairs) -> None:
    part, whole = stock.parts[0], stock.wholes[0]
    found = torch.arange(len(part)) % len(whole)
    once = best_stretch(found, part, whole)
    assert best_stretch(found, resized(part, 2.0), whole) == pytest.approx(once / 2, rel=1e-5)
    assert math.isnan(best_stretch(found, part.with_loss(part.distances, torch.zeros_like(part.weights)), whole))
