"""Distances and place where features alone do not decide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.datasets import cut_plane, sphere
from partwhole.matching import surface_of
from partwhole.matching.network.surface import Surface, distance_bounds, distances_of, pair_weights
from partwhole.matching.readout.maps import Comparison
from partwhole.matching.search.placement import (
    agreed_places,
    distance_tolerance,
    farthest_points,
    likely_places,
    placed_map,
)
from partwhole.mesh import Mesh


def surface(mesh: Mesh, criterion: str = "wormhole") -> Surface:
    D = distances_of(mesh, method="dijkstra", device="cpu")
    found = surface_of(mesh, eigenpairs=10)
    return found.with_loss(D, pair_weights(mesh, D, found.mass, criterion=criterion))


@pytest.fixture(scope="module")
def cut() -> tuple[Surface, Surface, Tensor]:
    """A ball of area 1, a part of it, and the true map."""
    found = cut_plane(sphere(400).scaled(0.2821), (0, 0, -0.1), (0, 0, 1))
    return surface(found.part), surface(found.whole), torch.from_numpy(found.vertex_map)


def features(count: int) -> Tensor:
    return normalize(torch.randn(count, 24, generator=torch.Generator().manual_seed(3)), dim=1)


def test_each_region_offers_its_most_similar_vertex(cut: tuple[Surface, Surface, Tensor]) -> None:
    part, whole, _ = cut
    compared = Comparison(features(len(part)), features(len(whole)).flip(0))
    similar = compared.part @ compared.whole.T
    few, all_of_them = (likely_places(compared, whole, regions=count) for count in (30, 10_000))
    assert few.vertices.shape == (len(part), 30)
    assert torch.allclose(similar.gather(1, few.vertices), few.similar)
    assert torch.allclose(few.similar.amax(dim=1), similar.amax(dim=1))
    assert torch.equal(all_of_them.vertices.sort(dim=1).values[0], torch.arange(len(whole)))
    suits = torch.zeros_like(similar)
    suits[:, 7] = 5.0
    assert ((likely_places(compared, whole, suits, regions=30).vertices == 7).sum(dim=1) == 1).all()


def test_pieces_without_a_way_between_them_are_far_from_each_other() -> None:
    D = torch.tensor([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert farthest_points(D, 2).tolist() == [0, 2]
    assert farthest_points(D, 9).tolist() == [0, 2, 1]


def test_bounds_are_the_distance_where_it_is_guaranteed(cut: tuple[Surface, Surface, Tensor]) -> None:
    part, whole, true = cut
    rows = torch.arange(0, len(part), 9)
    least, most = distance_bounds(part, rows)
    there = whole.distances[true[rows]][:, true].float()
    assert ((least <= there + 1e-5) & (there <= most + 1e-5)).all()
    guaranteed = part.guaranteed[rows]
    assert torch.allclose(least[guaranteed], most[guaranteed], rtol=1e-3)
    assert (least < most - 1e-3).any()


def test_of_pieces_without_a_way_between_them_nothing_is_known() -> None:
    ball = sphere(60)
    moved = Mesh(np.concatenate([ball.vertices, ball.vertices + 5]), np.concatenate([ball.faces, ball.faces + 60]))
    least, most = distance_bounds(surface(moved, "none"), torch.tensor([0]))
    assert torch.isinf(most[0, 60:]).all()
    assert not least[0, 60:].any()
    assert torch.isfinite(most[0, :60]).all()


def test_most_vertices_decide_about_a_few(cut: tuple[Surface, Surface, Tensor]) -> None:
    """A quarter of the vertices are likelier elsewhere; distances to the others say where they belong."""
    part, whole, true = cut
    sample = farthest_points(part.distances, 60)
    least, most = (of[:, sample] for of in distance_bounds(part, sample))
    wrong = (true[sample] + 200) % len(whole)
    places = torch.stack([true[sample], wrong], dim=1)
    values = torch.tensor([0.9, 0.2]).repeat(60, 1)
    values[::4] = torch.tensor([0.7, 0.9])
    found, weights = agreed_places(values, places, whole.distances, least, most, distance_tolerance(least))
    assert torch.equal(found, true[sample])
    assert float(weights.sum()) == pytest.approx(1, abs=1e-5)


def test_a_region_that_looks_like_another_one_is_put_right(cut: tuple[Surface, Surface, Tensor]) -> None:
    part, whole, true = cut
    of_whole = features(len(whole))
    compared = Comparison(of_whole[true].clone(), of_whole)
    confused = part.distances[0] < 0.12
    elsewhere = of_whole[(true + 200) % len(whole)]
    compared.part[confused] = (0.6 * of_whole[true] + 0.8 * elsewhere)[confused]
    assert 10 < confused.sum() < 0.2 * len(part)
    alone, found = compared.nearest(), placed_map(compared, part, whole)
    assert (alone == true)[confused].float().mean() < 0.2
    assert (found == true).float().mean() > 0.97
    # wherever the part lies
    turned = replace(part, points=part.points[:, [1, 2, 0]] + 3)
    assert (placed_map(compared, turned, whole) == found).float().mean() > 0.99


def test_place_decides_where_distances_can_not() -> None:
    """Left and right are alike but for a few features: the ball is aligned by what can be told apart."""
    ball = surface(sphere(300).scaled(0.2821), "none")
    x = normalize(ball.points, dim=1)
    alike = torch.stack([x[:, 0].abs(), x[:, 1], x[:, 2], 0.2 * x[:, 0] * (x[:, 1] > 0.3)], dim=1)
    found = placed_map(Comparison(alike, alike), ball, ball)
    assert (found == torch.arange(300)).float().mean() > 0.95


def test_what_else_is_known_counts_too(cut: tuple[Surface, Surface, Tensor]) -> None:
    part, whole, true = cut
    same = Comparison(torch.ones(len(part), 2), torch.ones(len(whole), 2))
    suits = torch.zeros(len(part), len(whole))
    suits[torch.arange(len(part)), true] = 1.0
    assert (placed_map(same, part, whole, suits) == true).float().mean() > 0.97
