"""Choosing among yaw_steps, against bodies whose heading is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from partwhole.datasets import Pair, make_body, random_cuts, sphere
from partwhole.matching import TrainingConfig, prepare_pairs, surface_of
from partwhole.matching.matcher import Matcher, new_network
from partwhole.matching.search.score import (
    best_heading,
    curvature_agreement,
    distance_distortion,
    orientations,
    rigidly_aligned,
    score,
    similarity,
    turned,
    turned_by,
)

CONFIG = TrainingConfig(width=8, blocks=1, features=8, map_eigenpairs=40, diffusion_eigenpairs=20, yaw_steps=4)


@pytest.fixture(scope="module")
def cut():
    return random_cuts(make_body("hand", 600, seed=3).rest, recipe="pfaust-m", seed=0)


@pytest.fixture(scope="module")
def stock(cut):
    return prepare_pairs([Pair.of_cut(cut, centre="whole")], CONFIG)


@pytest.fixture(scope="module")
def truth(cut):
    return torch.from_numpy(cut.vertex_map.astype(np.int64))


def test_the_true_map_agrees_and_distorts_little(stock, truth):
    part, whole = stock.parts[0], stock.wholes[0]
    other = truth[torch.randperm(len(truth), generator=torch.Generator().manual_seed(0))]
    assert curvature_agreement(truth, part, whole) > 0.9
    assert abs(float(curvature_agreement(other, part, whole))) < 0.2
    assert distance_distortion(truth, part, whole) < 1e-2 * distance_distortion(other, part, whole)
    assert best_heading([other, truth], part, whole) == 1


def test_distortion_is_the_weighted_mean_over_all_pairs_of_a_small_part(stock, truth):
    part, whole = stock.parts[0], stock.wholes[0]
    assert len(part) <= 700
    shifted = (truth + 5) % len(whole)
    error = (whole.distances[shifted][:, shifted] - part.distances).square()
    expected = (part.weights * error).sum() / part.weights.sum()
    assert float(distance_distortion(shifted, part, whole)) == pytest.approx(float(expected), rel=1e-5)


def test_curvature_decides_between_maps_of_equal_distortion(stock, truth):
    part, whole = stock.parts[0], stock.wholes[0]
    # the same surface with its curvature forgotten: only distances are left, and the first of equal maps is taken
    blind = [replace(s, curvature=torch.zeros_like(s.curvature)) for s in (part, whole)]
    assert best_heading([truth, truth], *blind) == 0
    mirrored = replace(part, curvature=-part.curvature)
    assert curvature_agreement(truth, mirrored, whole) == -curvature_agreement(truth, part, whole)


def test_turned_by_a_full_turn_is_the_same():
    ball = surface_of(sphere(100), eigenpairs=20)
    for axis in ("x", "y", "z"):
        again = turned(turned(ball, math.pi, axis), math.pi, axis)
        assert torch.allclose(again.points, ball.points, atol=1e-6)
        assert torch.allclose(turned(ball, 0.3, axis).normals.norm(dim=1), torch.ones(100), atol=1e-6)


def test_a_matcher_that_tries_headings_does_not_mind_how_the_part_stands(stock):
    torch.manual_seed(0)
    matcher = Matcher(new_network(CONFIG), CONFIG)
    part, whole = stock.parts[0], stock.wholes[0]
    expected = matcher.vertex_map(part, whole, read_out="features")
    # a quarter turn is one of four yaw_steps: the same maps are compared, in another order
    found = matcher.vertex_map(turned(part, math.pi / 2, "y"), whole, read_out="features")
    assert (found == expected).float().mean() > 0.99
    single = Matcher(new_network(CONFIG), CONFIG.with_changes(yaw_steps=1))
    assert len(single.part_features(part)) == 1
    assert len(matcher.part_features(part)) == 4


def test_nor_how_the_whole_stands_if_that_is_turned_too(stock):
    torch.manual_seed(0)
    config = CONFIG.with_changes(yaw_steps=1, whole_yaw_steps=4)
    matcher = Matcher(new_network(config), config)
    assert matcher.needs_distances
    part, whole = stock.parts[0], stock.wholes[0]
    expected = matcher.vertex_map(part, whole, read_out="features")
    found = matcher.vertex_map(part, turned(whole, math.pi / 2, "y"), read_out="features")
    assert (found == expected).float().mean() > 0.99
    assert len(matcher.whole_features(whole)) == 4


def test_match_prepares_what_headings_need(cut):
    torch.manual_seed(0)
    matcher = Matcher(new_network(CONFIG), CONFIG)
    found = matcher.match(cut.part, cut.whole)
    assert len(found.vertex_map) == cut.part.n_vertices


def test_what_is_missing_is_said(stock, truth):
    part, whole = stock.parts[0], stock.wholes[0]
    with pytest.raises(ValueError, match="with_loss"):
        distance_distortion(truth, part.with_loss(None), whole)
    with pytest.raises(ValueError, match="surface_of"):
        curvature_agreement(truth, replace(part, curvature=None), whole)


def test_maps_are_judged_by_three_measures(stock, truth):
    part, whole = stock.parts[0], stock.wholes[0]
    distortion = float(distance_distortion(truth, part, whole).clamp(min=1e-12).log())
    curvature = float(curvature_agreement(truth, part, whole))
    found = float(score(truth, part, whole, weights=(2.0, 3.0, 5.0), similar=0.25))
    assert found == pytest.approx(2 * distortion - 3 * curvature - 5 * 0.25, rel=1e-5)


def test_similarity_is_the_mean_cosine_by_area(stock, truth):
    part, whole = stock.parts[0], stock.wholes[0]
    torch.manual_seed(0)
    of_part, of_whole = torch.randn(len(part), 4), torch.randn(len(whole), 4)
    cosines = torch.nn.functional.cosine_similarity(of_part, of_whole[truth])
    expected = float((cosines * part.mass).sum() / part.mass.sum())
    assert float(similarity(truth, of_part, of_whole, part)) == pytest.approx(expected, rel=1e-5)
    assert float(similarity(truth, of_whole[truth], of_whole, part)) == pytest.approx(1.0, rel=1e-5)


def test_orientations_are_all_that_there_are() -> None:
    for turns in (orientations(8, "z"), orientations(1, "x", upright=False)):
        assert torch.equal(turns[0], torch.eye(3)) or torch.allclose(turns[0], torch.eye(3))
        torch.testing.assert_close(turns @ turns.transpose(1, 2), torch.eye(3).expand_as(turns), atol=1e-6, rtol=0)
        torch.testing.assert_close(torch.linalg.det(turns), torch.ones(len(turns)), atol=1e-6, rtol=0)
        apart = (turns[:, None] - turns).abs().amax(dim=(2, 3)) + 9 * torch.eye(len(turns))
        assert apart.min() > 0.1
    # those of a cube have entries 0, 1 and −1
    cube = orientations(1, "x", upright=False)
    torch.testing.assert_close(cube, cube.round(), atol=1e-6, rtol=0)


def test_the_motion_onto_the_whole_is_found_and_is_no_reflection(stock, truth) -> None:
    part, whole = stock.parts[0], stock.wholes[0]
    R = orientations(1, "x", upright=False)[7] @ orientations(5, "y")[1]
    away = turned_by(replace(part, points=part.points + torch.tensor([1.0, -2.0, 0.5])), R)
    found = rigidly_aligned(away, whole, truth)
    torch.testing.assert_close(found.points, whole.points[truth], atol=1e-4, rtol=0)
    torch.testing.assert_close(found.normals, part.normals, atol=1e-5, rtol=0)
    # what is mirrored stays so: the normals of the part, seen from outside, would else point inwards
    mirrored = replace(part, points=part.points * torch.tensor([-1.0, 1.0, 1.0]))
    laid = rigidly_aligned(mirrored, whole, truth)
    torch.testing.assert_close(
        torch.cdist(laid.points, laid.points), torch.cdist(part.points, part.points), atol=1e-3, rtol=0
    )
    three = [3, 40, 90, 200]
    volumes = [torch.linalg.det(s.points[three[1:]] - s.points[three[0]]) for s in (mirrored, laid)]
    assert float(volumes[0] * volumes[1]) > 0


def test_a_part_that_lies_any_way_up_is_turned_onto_the_whole(stock, truth) -> None:
    """With features that are positions, all that is asked of alignment is to find where the part stands."""

    class Positions(Matcher):
        def features(self, surface):
            return torch.cat([surface.points, torch.full((len(surface), 1), 0.3)], dim=1)

    config = CONFIG.with_changes(yaw_steps=1, upright=False, alignments=4)
    part, whole = stock.parts[0], stock.wholes[0]
    R = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(2)))[0]
    R = R * torch.linalg.det(R).sign()
    lying = turned_by(part, R)
    errors = {}
    for name, changes in {"as it lies": {"upright": True, "alignments": 0}, "aligned": {}}.items():
        matcher = Positions(new_network(CONFIG), config.with_changes(**changes))
        found = matcher.vertex_map(lying, whole, read_out="features")
        errors[name] = float(whole.distances[found, truth].mean())
    assert errors["aligned"] < 0.25 * errors["as it lies"]


def test_alignment_is_never_worse_by_the_score(stock) -> None:
    torch.manual_seed(0)
    network = new_network(CONFIG)
    part, whole = stock.parts[0], stock.wholes[0]
    before = Matcher(network, CONFIG).best_view(part, whole)
    after = Matcher(network, CONFIG.with_changes(alignments=2)).best_view(part, whole)
    assert after.score <= before.score
