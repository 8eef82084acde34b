"""Distances of two parts of one whole: guaranteed on both sides they are equal, and otherwise their bounds meet."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from partwhole.datasets import random_cuts, sphere
from partwhole.geodesics import geodesic_distances
from partwhole.matching.network.surface import distance_bounds, pair_weights, surface_of
from partwhole.matching.parts.sides import (
    OneWay,
    Side,
    agreed_share,
    agreement_of_guaranteed,
    gap,
    guaranteed_on_both,
    round_trip,
)
from partwhole.mesh import Mesh


def side_of_graph(mesh: Mesh) -> Side:
    """A part with graph distances, for which the criterion is exact."""
    surface = surface_of(mesh, eigenpairs=4)
    D = torch.from_numpy(geodesic_distances(mesh, method="dijkstra"))
    weights = pair_weights(mesh, D, surface.mass.double(), criterion="wormhole")
    surface = surface.with_loss(torch.where(D.isfinite(), D, 0), weights)
    return Side(surface, torch.zeros(len(surface), 1), *distance_bounds(surface, torch.arange(len(surface))))


def two_parts(seed: int) -> tuple[Mesh, Mesh, np.ndarray, np.ndarray]:
    """Two parts of one whole, the second moved, with the vertices of the whole that theirs are."""
    ball = sphere(260, jitter=0.4, seed=seed)
    whole = Mesh(ball.vertices * [0.3, 0.25, 0.5], ball.faces)
    one, other = (random_cuts(whole, "pfaust-m", 10 * seed + number) for number in (1, 2))
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    moved = Mesh(other.part.vertices @ (Q * np.sign(np.linalg.det(Q))).T + 1.0, other.part.faces)
    return one.part, moved, one.vertex_map, other.vertex_map


@pytest.mark.parametrize("seed", range(4))
def test_no_pair_that_is_guaranteed_on_both_sides_differs(seed: int) -> None:
    a, b, on_a, on_b = two_parts(seed)
    shared = np.flatnonzero(np.isin(on_a, on_b))
    number = {vertex: place for place, vertex in enumerate(on_b.tolist())}
    partner = np.zeros(a.n_vertices, np.int64)
    partner[shared] = [number[vertex] for vertex in on_a[shared].tolist()]
    one, other = side_of_graph(a), side_of_graph(b)
    rows = torch.from_numpy(shared)
    both = guaranteed_on_both(torch.from_numpy(partner), one, other)[rows][:, rows]
    ends = torch.from_numpy(partner[shared])
    here, there = one.distances[rows][:, rows], other.distances[ends][:, ends]
    false = both & ((here - there).abs() > 1e-6)
    assert int(both.sum()) > 2 * len(shared)
    assert int(false.sum()) == 0
    # there is something to prove: ways around what is missing make other pairs longer on one side
    assert bool(((here - there).abs() > 1e-3).any())
    # nor do the bounds of any pair contradict each other
    bounds = (held[rows][:, rows] for held in (one.least, one.most))
    others = (held[ends][:, ends] for held in (other.least, other.most))
    assert float(gap(*bounds, *others).max()) < 1e-5
    share, off = agreement_of_guaranteed(torch.from_numpy(partner), one, other, torch.from_numpy(np.isin(on_a, on_b)))
    assert 0 < share < 1
    assert off < 1e-6


def test_nothing_is_known_of_no_vertices() -> None:
    a, b, *_ = two_parts(0)
    one, other = side_of_graph(a), side_of_graph(b)
    none = torch.zeros(a.n_vertices, dtype=torch.bool)
    share, off = agreement_of_guaranteed(torch.zeros(a.n_vertices, dtype=torch.long), one, other, none)
    assert share == 0
    assert np.isnan(off)


def test_a_round_trip_to_another_piece_never_ends() -> None:
    first = sphere(30)
    pieces = Mesh(np.concatenate([first.vertices, first.vertices + 5]), np.concatenate([first.faces, first.faces + 30]))
    side = side_of_graph(pieces)
    away = (torch.arange(60) + 30) % 60
    assert bool(round_trip(away, torch.arange(60), side).isinf().all())
    assert bool((round_trip(away, away, side) == 0).all())


def test_what_agrees_is_counted_by_area() -> None:
    side = side_of_graph(sphere(40))
    ones, none = torch.ones(40), torch.zeros(40)
    half = torch.where(torch.arange(40) < 20, 1.0, 0.0)
    way = OneWay(torch.arange(40), ones, ones, none, half, none)
    expected = float(side.surface.mass[:20].sum() / side.surface.mass.sum())
    assert agreed_share(way, side) == pytest.approx(expected)
    # with another reach it is computed anew: nothing speaks against any vertex
    assert agreed_share(way, side, 0.5) == pytest.approx(1.0)
