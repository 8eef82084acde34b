"""Scores of maps, against bodies whose orientation is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from partwhole.datasets import Pair, make_body, random_cuts
from partwhole.matching import PreparedPairs, TrainingConfig, prepare_pairs
from partwhole.matching.readout.maps import (
    best_stretch,
    curvature_agreement,
    distance_distortion,
    feature_similarity,
    score,
)
from partwhole.matching.search.placement import resized

CONFIG = TrainingConfig(width=8, blocks=1, features=8, map_eigenpairs=40, diffusion_eigenpairs=20, yaw_steps=4)


@pytest.fixture(scope="module")
def cut():
    return random_cuts(make_body("hand", 600, seed=3).rest, recipe="pfaust-m", seed=0)


@pytest.fixture(scope="module")
def hand(cut) -> PreparedPairs:
    return prepare_pairs([Pair.of_cut(cut, centre="whole")], CONFIG)


@pytest.fixture(scope="module")
def truth(cut):
    return torch.from_numpy(cut.vertex_map.astype(np.int64))


def test_the_true_map_agrees_and_distorts_little(hand, truth):
    part, whole = hand.parts[0], hand.wholes[0]
    other = truth[torch.randperm(len(truth), generator=torch.Generator().manual_seed(0))]
    assert curvature_agreement(truth, part, whole) > 0.9
    assert abs(float(curvature_agreement(other, part, whole))) < 0.2
    assert distance_distortion(truth, part, whole) < 1e-2 * distance_distortion(other, part, whole)
    assert score(truth, part, whole) < score(other, part, whole)


def test_curvature_is_that_of_the_shape_and_not_of_its_triangles(hand):
    """Smoothed over a fingertip, not over a finger: its scale is part of what scores and confidence mean."""
    part = hand.parts[0]
    # the curvature of a fingertip of radius r is about 1/r; a hand of area 1 has fingers of radius about 0.05
    assert 8 < float(part.curvature.abs().quantile(0.95)) < 40


def test_distortion_is_the_weighted_mean_over_all_pairs_of_a_small_part(hand, truth):
    part, whole = hand.parts[0], hand.wholes[0]
    assert len(part) <= 700
    shifted = (truth + 5) % len(whole)
    error = (whole.distances[shifted][:, shifted] - part.distances).square()
    expected = (part.weights * error).sum() / part.weights.sum()
    assert float(distance_distortion(shifted, part, whole)) == pytest.approx(float(expected), rel=1e-5)


def test_curvature_decides_between_maps_of_equal_distortion(hand, truth):
    part, whole = hand.parts[0], hand.wholes[0]
    mirrored = replace(part, curvature=-part.curvature)
    assert curvature_agreement(truth, mirrored, whole) == -curvature_agreement(truth, part, whole)
    assert score(truth, part, whole) < score(truth, mirrored, whole)


def test_maps_are_scored_by_three_measures(hand, truth):
    part, whole = hand.parts[0], hand.wholes[0]
    distortion = float(distance_distortion(truth, part, whole).clamp(min=1e-12).log())
    size = math.log(float((part.weights * part.distances.square()).sum() / part.weights.sum()))
    curvature = float(curvature_agreement(truth, part, whole))
    found = score(truth, part, whole, weights=(2.0, 3.0, 5.0), similarity=0.25)
    assert found == pytest.approx(2 * (distortion - size) - 3 * curvature - 5 * 0.25, rel=1e-5)
    assert score(truth, part, whole, weights=(0.0, 3.0, 0.0)) == pytest.approx(-3 * curvature, rel=1e-5)


def test_scores_do_not_depend_on_the_size_of_both(hand, truth) -> None:
    part, whole = hand.parts[0], hand.wholes[0]
    both = score(truth.flip(0), resized(part, 3.0), resized(whole, 3.0))
    assert both == pytest.approx(score(truth.flip(0), part, whole), rel=1e-3)


def test_similarity_is_the_mean_cosine_by_area(hand, truth):
    part, whole = hand.parts[0], hand.wholes[0]
    torch.manual_seed(0)
    of_part, of_whole = torch.randn(len(part), 4), torch.randn(len(whole), 4)
    cosines = torch.nn.functional.cosine_similarity(of_part, of_whole[truth])
    expected = float((cosines * part.mass).sum() / part.mass.sum())
    assert float(feature_similarity(truth, of_part, of_whole, part)) == pytest.approx(expected, rel=1e-5)
    assert float(feature_similarity(truth, of_whole[truth], of_whole, part)) == pytest.approx(1.0, rel=1e-5)


def test_stretch_is_the_ratio_of_distances(hand, truth) -> None:
    part, whole = hand.parts[0], hand.wholes[0]
    once = best_stretch(truth, part, whole)
    assert once == pytest.approx(1, abs=0.05)
    assert best_stretch(truth, resized(part, 2.0), whole) == pytest.approx(once / 2, rel=1e-5)
    assert math.isnan(best_stretch(truth, part.with_loss(part.distances, torch.zeros_like(part.weights)), whole))


def test_what_is_missing_is_said(hand, truth):
    part, whole = hand.parts[0], hand.wholes[0]
    with pytest.raises(ValueError, match="with_loss"):
        distance_distortion(truth, part.with_loss(None), whole)
    with pytest.raises(ValueError, match="surface_of"):
        curvature_agreement(truth, replace(part, curvature=None), whole)
