"""Read-outs: soft and hard maps by definition and brute force, ZoomOut against that on arrays, and lateration."""

from __future__ import annotations

import math
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
import torch

from partwhole.datasets import Pair, cut_plane, make_body, random_cuts, sphere
from partwhole.matching import (
    Matcher,
    PreparedPairs,
    Surface,
    TrainingConfig,
    evaluate,
    hard_map,
    pair_weights,
    prepare_pairs,
    soft_map,
    spectral_map,
    surface_of,
)
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.network.surface import distances_of
from partwhole.matching.readout import maps as soft_maps
from partwhole.matching.readout.maps import (
    best_stretch,
    curvature_agreement,
    distance_distortion,
    feature_similarity,
    functional_map_of,
    laterated,
    less_distorted,
    nearest_rows,
    score,
    zoomed_out,
)
from partwhole.matching.search.placement import resized
from partwhole.spectral import Eigenpairs, functional_map, vertex_map_from_functional_map, zoomout


def basis_of(surface: Surface, k: int) -> Eigenpairs:
    parts = surface.values[:k], surface.functions[:, :k], surface.mass
    return Eigenpairs(*(part.double().numpy() for part in parts))


@pytest.fixture
def features() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(30, 6), torch.randn(50, 6)


def test_a_soft_map_is_a_softmax_of_cosines(features) -> None:
    part, whole = (tensor.double().numpy() for tensor in features)
    cosine = np.array([[x @ y / np.linalg.norm(x) / np.linalg.norm(y) for y in whole] for x in part])
    expected = np.exp(cosine / 0.2) / np.exp(cosine / 0.2).sum(axis=1, keepdims=True)
    P = soft_map(*features, 0.2)
    np.testing.assert_allclose(P, expected, rtol=1e-4)
    np.testing.assert_allclose(P.sum(dim=1), 1, rtol=1e-6)


def test_vertices_that_are_absent_are_never_reached(features) -> None:
    part, whole = features
    absent = torch.zeros(50)
    absent[[0, 7, 49]] = -torch.inf
    P = soft_map(part, whole, 0.1, absent=absent)
    assert (P[:, [0, 7, 49]] == 0).all()
    there = absent == 0
    torch.testing.assert_close(P[:, there], soft_map(part, whole[there], 0.1))
    torch.testing.assert_close(P.sum(dim=1), torch.ones(30))


def test_absent_vertices_get_no_gradient_and_spoil_none(features) -> None:
    part, whole = (tensor.clone().requires_grad_() for tensor in features)
    absent = torch.zeros(50)
    absent[40:] = -torch.inf
    soft_map(part, whole, 0.1, absent=absent).square().sum().backward()
    assert whole.grad.isfinite().all()
    assert part.grad.isfinite().all()
    assert (whole.grad[40:] == 0).all()
    assert (whole.grad[:40] != 0).any()


def test_the_colder_the_harder(features) -> None:
    part, whole = features
    hard = torch.nn.functional.one_hot(hard_map(part, whole), 50).float()
    torch.testing.assert_close(soft_map(part, whole, 1e-6), hard)
    away = [float((soft_map(part, whole, t) - hard).abs().max()) for t in (1.0, 0.1, 0.01, 0.001)]
    assert away == sorted(away, reverse=True)


def test_the_length_of_features_does_not_matter(features) -> None:
    part, whole = features
    scaled = part * torch.rand(30, 1) * 10, whole * (torch.rand(50, 1) + 0.1)
    torch.testing.assert_close(soft_map(*scaled, 0.1), soft_map(part, whole, 0.1), rtol=1e-4, atol=1e-6)
    assert torch.equal(hard_map(*scaled), hard_map(part, whole))


def test_features_of_length_zero_are_a_map_too() -> None:
    P = soft_map(torch.zeros(2, 3), torch.randn(4, 3), 0.01)
    torch.testing.assert_close(P, torch.full((2, 4), 0.25))


@pytest.mark.parametrize("entries", [1 << 25, 100, 1])
def test_nearest_rows_by_brute_force(features, references, monkeypatch, entries) -> None:
    monkeypatch.setattr(soft_maps, "BLOCK_ENTRIES", entries)
    queries, points = features
    found = nearest_rows(queries, points)
    np.testing.assert_array_equal(found, references.nearest_rows(queries.numpy(), points.numpy()))


@pytest.mark.parametrize("k", [3, 20])
def test_the_functional_map_is_that_of_the_spectral_folder(prepared: PreparedPairs, k) -> None:
    part, whole = prepared.parts[0], prepared.wholes[0]
    bases = basis_of(part, k), basis_of(whole, k)
    vertex_map = torch.randint(len(whole), (len(part),), generator=torch.Generator().manual_seed(1))
    found = functional_map_of(vertex_map, part, whole, k)
    np.testing.assert_allclose(found, functional_map(vertex_map.numpy(), *bases), atol=1e-5)
    P = torch.rand(len(part), len(whole), generator=torch.Generator().manual_seed(1))
    P /= P.sum(dim=1, keepdim=True)
    found = functional_map_of(P, part, whole, k)
    np.testing.assert_allclose(found, functional_map(P.double().numpy(), *bases), atol=1e-5)


@pytest.mark.parametrize("number", range(5))
def test_the_spectral_read_out_is_that_of_the_spectral_folder(prepared: PreparedPairs, pairs, number) -> None:
    p, w = prepared.pairs[number]
    part, whole, k = prepared.parts[p], prepared.wholes[w], 15
    rng = np.random.default_rng(number)
    noisy = rng.integers(len(whole), size=len(part))
    if pairs[number].ground_truth is not None:
        true = pairs[number].ground_truth.whole_vertices
        noisy = np.where(rng.random(len(part)) < 0.8, true, noisy)
    bases = basis_of(part, k), basis_of(whole, k)
    expected = vertex_map_from_functional_map(functional_map(noisy, *bases), *bases)
    found = spectral_map(torch.from_numpy(noisy), part, whole, k).numpy()
    # in single precision a vertex between two may fall to the other
    assert (found != expected).mean() < 0.03
    if pairs[number].ground_truth is not None:
        places = pairs[number].whole.vertices
        error, before = (np.linalg.norm(places[m] - places[true], axis=1).mean() for m in (found, noisy))
        assert error < before


CONFIG = TrainingConfig(width=8, blocks=1, features=8, map_eigenpairs=50, diffusion_eigenpairs=20, distances="dijkstra")


@pytest.fixture(scope="module")
def cut():
    return random_cuts(make_body("hand", 500, seed=3).rest, recipe="pfaust-m", seed=0)


@pytest.fixture(scope="module")
def pair(cut) -> Pair:
    return Pair.of_cut(cut, centre="whole")


@pytest.fixture(scope="module")
def part_and_whole(pair):
    prepared = prepare_pairs([pair], CONFIG)
    return prepared.parts[0], prepared.wholes[0]


@pytest.fixture(scope="module")
def truth(cut) -> torch.Tensor:
    return torch.from_numpy(cut.vertex_map.astype(np.int64))


@pytest.fixture(scope="module")
def noisy(truth, part_and_whole) -> torch.Tensor:
    """The true map with a fifth of the vertices sent anywhere."""
    generator = torch.Generator().manual_seed(0)
    anywhere = torch.randint(len(part_and_whole[1]), truth.shape, generator=generator)
    return torch.where(torch.rand(truth.shape, generator=generator) < 0.2, anywhere, truth)


@pytest.mark.parametrize("sizes", [(20, 5), (10, 20), (50, 5), (200, 1)])
def test_zoomout_of_tensors_is_that_of_arrays(part_and_whole, noisy, sizes) -> None:
    part, whole = part_and_whole
    start, step = sizes
    bases = [Eigenpairs(*(x.double().numpy() for x in (s.values, s.functions, s.mass))) for s in part_and_whole]
    expected = zoomout(noisy.numpy(), *bases, start=min(start, 50), step=step).vertex_map
    # but for rounding
    assert (zoomed_out(noisy, part, whole, start=start, step=step).numpy() == expected).mean() > 0.98


def test_zoomout_is_taken_where_it_helps_and_left_where_it_does_not(part_and_whole, noisy, truth, monkeypatch) -> None:
    part, whole = part_and_whole
    better = less_distorted(noisy, part, whole)
    assert torch.equal(better, zoomed_out(noisy, part, whole))
    assert distance_distortion(better, part, whole) < 0.3 * distance_distortion(noisy, part, whole)
    monkeypatch.setattr("partwhole.matching.readout.maps.zoomed_out", lambda *_, **__: noisy)
    assert torch.equal(less_distorted(truth, part, whole), truth)


def test_zoomout_as_a_read_out(part_and_whole, pair) -> None:
    torch.manual_seed(0)
    matcher = Matcher(new_network(CONFIG.network), CONFIG)
    part, whole = part_and_whole
    nearest = hard_map(matcher.encode(part), matcher.encode(whole))
    smooth = matcher.read(nearest, part, whole, "spectral")
    found = matcher.read(nearest, part, whole, "zoomout")
    assert torch.equal(found, less_distorted(smooth, part, whole))
    assert distance_distortion(found, part, whole) <= distance_distortion(smooth, part, whole)
    assert torch.equal(smooth, spectral_map(nearest, part, whole, 50))
    match = matcher.match(pair.part, pair.whole, read_out="zoomout")
    assert match.read_out == "zoomout"
    errors = evaluate(matcher, [pair], read_out="zoomout", method="dijkstra")
    assert errors.protocol.read_out == "zoomout"


def test_zoomout_needs_distances(part_and_whole) -> None:
    part, whole = part_and_whole
    matcher = Matcher(new_network(CONFIG.network), CONFIG)
    with pytest.raises(ValueError, match="with_loss"):
        matcher.read(torch.zeros(len(part), dtype=torch.int64), part.with_loss(None), whole, "zoomout")


@pytest.fixture(scope="module")
def surfaces(small: ModuleType) -> tuple[Surface, Surface, torch.Tensor]:
    """A part, its whole, and the true map."""
    whole, _ = small.lopsided(900).to_unit_area()
    cut = cut_plane(whole, (0, 0, 0), (1.0, 0.5, 0.2))
    made = []
    for mesh in (cut.part, whole):
        D = distances_of(mesh, method="fast_marching", device="cpu")
        surface = surface_of(mesh, eigenpairs=20)
        made.append(surface.with_loss(D, pair_weights(mesh, D, surface.mass)))
    return made[0], made[1], torch.tensor(cut.vertex_map)


def error(found: torch.Tensor, whole: Surface, truth: torch.Tensor) -> float:
    assert whole.distances is not None
    return float(whole.distances[found, truth].mean())


def test_lateration_leaves_the_truth(surfaces: tuple[Surface, Surface, torch.Tensor]) -> None:
    part, whole, truth = surfaces
    assert error(laterated(truth, part, whole), whole, truth) < 0.003


def test_lateration_mends_what_is_a_little_wrong_everywhere(surfaces: tuple[Surface, Surface, torch.Tensor]) -> None:
    part, whole, truth = surfaces
    assert whole.distances is not None
    generator = torch.Generator().manual_seed(0)
    near = whole.distances.topk(12, largest=False).indices
    wrong = near[truth, torch.randint(12, truth.shape, generator=generator)]
    before = error(wrong, whole, truth)
    after = error(laterated(wrong, part, whole), whole, truth)
    assert before > 0.04
    assert after < before / 2
    once = error(laterated(wrong, part, whole, steps=1), whole, truth)
    assert after <= once < before
    assert torch.equal(laterated(wrong, part, whole, steps=0), wrong)


def test_lateration_moves_nothing_where_nothing_is_guaranteed(surfaces: tuple[Surface, Surface, torch.Tensor]) -> None:
    part, whole, truth = surfaces
    assert part.weights is not None
    areas = part.mass[:, None] * part.mass
    alone = part.with_loss(part.distances, torch.eye(len(part)) * areas)
    assert int(alone.guaranteed.sum()) == len(part)
    wrong = truth.roll(3)
    assert torch.equal(laterated(wrong, alone, whole), wrong)


def test_lateration_listens_to_what_is_near() -> None:
    """On a line of length 1 the map is right within 0.23 of the middle, and shifted by 0.1 beyond: the middle stays."""
    x = torch.arange(60) / 60
    D = (x[:, None] - x).abs()
    surface = surface_of(sphere(60).scaled(0.28), eigenpairs=10)
    surface = surface.with_loss(D, surface.mass[:, None] * surface.mass)
    shifted = torch.arange(60)
    shifted[:16] += 6
    shifted[44:] = (shifted[44:] + 6).clamp(max=59)
    found = laterated(shifted, surface, surface, steps=1)
    assert torch.equal(found[27:33], torch.arange(27, 33))


def test_lateration_as_a_read_out(surfaces: tuple[Surface, Surface, torch.Tensor], config: TrainingConfig) -> None:
    part, whole, truth = surfaces
    torch.manual_seed(0)
    matcher = Matcher(new_network(config.network), config)
    smooth = matcher.read(truth, part, whole, "spectral")
    assert torch.equal(matcher.read(truth, part, whole, "lateration"), laterated(smooth, part, whole))
    with pytest.raises(ValueError, match="distances of part or whole are not known"):
        laterated(truth, part.with_loss(None), whole)


# --- scores of maps, against bodies whose orientation is known

SCORED = TrainingConfig(width=8, blocks=1, features=8, map_eigenpairs=40, diffusion_eigenpairs=20, yaw_steps=4)


@pytest.fixture(scope="module")
def hand_cut():
    return random_cuts(make_body("hand", 600, seed=3).rest, recipe="pfaust-m", seed=0)


@pytest.fixture(scope="module")
def hand(hand_cut) -> PreparedPairs:
    return prepare_pairs([Pair.of_cut(hand_cut, centre="whole")], SCORED)


@pytest.fixture(scope="module")
def true_map(hand_cut):
    return torch.from_numpy(hand_cut.vertex_map.astype(np.int64))


def test_the_true_map_agrees_and_distorts_little(hand, true_map):
    part, whole = hand.parts[0], hand.wholes[0]
    other = true_map[torch.randperm(len(true_map), generator=torch.Generator().manual_seed(0))]
    assert curvature_agreement(true_map, part, whole) > 0.9
    assert abs(float(curvature_agreement(other, part, whole))) < 0.2
    assert distance_distortion(true_map, part, whole) < 1e-2 * distance_distortion(other, part, whole)
    assert score(true_map, part, whole) < score(other, part, whole)


def test_curvature_is_that_of_the_shape_and_not_of_its_triangles(hand):
    """Smoothed over a fingertip, not over a finger: its scale is part of what scores and confidence mean."""
    part = hand.parts[0]
    # the curvature of a fingertip of radius r is about 1/r; a hand of area 1 has fingers of radius about 0.05
    assert 8 < float(part.curvature.abs().quantile(0.95)) < 40


def test_distortion_is_the_weighted_mean_over_all_pairs_of_a_small_part(hand, true_map):
    part, whole = hand.parts[0], hand.wholes[0]
    assert len(part) <= 700
    shifted = (true_map + 5) % len(whole)
    error = (whole.distances[shifted][:, shifted] - part.distances).square()
    expected = (part.weights * error).sum() / part.weights.sum()
    assert float(distance_distortion(shifted, part, whole)) == pytest.approx(float(expected), rel=1e-5)


def test_curvature_decides_between_maps_of_equal_distortion(hand, true_map):
    part, whole = hand.parts[0], hand.wholes[0]
    mirrored = replace(part, curvature=-part.curvature)
    assert curvature_agreement(true_map, mirrored, whole) == -curvature_agreement(true_map, part, whole)
    assert score(true_map, part, whole) < score(true_map, mirrored, whole)


def test_maps_are_scored_by_three_measures(hand, true_map):
    part, whole = hand.parts[0], hand.wholes[0]
    distortion = float(distance_distortion(true_map, part, whole).clamp(min=1e-12).log())
    size = math.log(float((part.weights * part.distances.square()).sum() / part.weights.sum()))
    curvature = float(curvature_agreement(true_map, part, whole))
    found = score(true_map, part, whole, weights=(2.0, 3.0, 5.0), similarity=0.25)
    assert found == pytest.approx(2 * (distortion - size) - 3 * curvature - 5 * 0.25, rel=1e-5)
    assert score(true_map, part, whole, weights=(0.0, 3.0, 0.0)) == pytest.approx(-3 * curvature, rel=1e-5)


def test_scores_do_not_depend_on_the_size_of_both(hand, true_map) -> None:
    part, whole = hand.parts[0], hand.wholes[0]
    both = score(true_map.flip(0), resized(part, 3.0), resized(whole, 3.0))
    assert both == pytest.approx(score(true_map.flip(0), part, whole), rel=1e-3)


def test_similarity_is_the_mean_cosine_by_area(hand, true_map):
    part, whole = hand.parts[0], hand.wholes[0]
    torch.manual_seed(0)
    of_part, of_whole = torch.randn(len(part), 4), torch.randn(len(whole), 4)
    cosines = torch.nn.functional.cosine_similarity(of_part, of_whole[true_map])
    expected = float((cosines * part.mass).sum() / part.mass.sum())
    assert float(feature_similarity(true_map, of_part, of_whole, part)) == pytest.approx(expected, rel=1e-5)
    assert float(feature_similarity(true_map, of_whole[true_map], of_whole, part)) == pytest.approx(1.0, rel=1e-5)


def test_stretch_is_the_ratio_of_distances(hand, true_map) -> None:
    part, whole = hand.parts[0], hand.wholes[0]
    once = best_stretch(true_map, part, whole)
    assert once == pytest.approx(1, abs=0.05)
    assert best_stretch(true_map, resized(part, 2.0), whole) == pytest.approx(once / 2, rel=1e-5)
    assert math.isnan(best_stretch(true_map, part.with_loss(part.distances, torch.zeros_like(part.weights)), whole))


def test_what_is_missing_is_said(hand, true_map):
    part, whole = hand.parts[0], hand.wholes[0]
    with pytest.raises(ValueError, match="with_loss"):
        distance_distortion(true_map, part.with_loss(None), whole)
    with pytest.raises(ValueError, match="surface_of"):
        curvature_agreement(true_map, replace(part, curvature=None), whole)
