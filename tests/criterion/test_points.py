from __future__ import annotations

import numpy as np
import pytest

from partwhole import boundary_criterion, geodesic_distances, wormhole_criterion
from partwhole.criterion.points import criterion_of_points, new_point_guarantees
from partwhole.criterion.reference import brute_force_threshold
from partwhole.datasets import annulus, swiss_roll
from partwhole.embedding import boundary_points, graph_distances, neighbour_graph


@pytest.fixture(scope="module")
def roll():
    return swiss_roll(300, variant="hole", width=20.0, seed=1)


@pytest.fixture(scope="module")
def graph(roll):
    return neighbour_graph(roll.points, n_neighbors=8)


@pytest.mark.parametrize("kind", ["boundary", "wormhole"])
def test_threshold_is_that_of_brute_force(roll, graph, kind) -> None:
    D = graph_distances(graph, dtype=np.float64)
    B = boundary_points(roll.points, threshold=0.8).indices
    straight = np.linalg.norm(roll.points[B][:, None] - roll.points[B], axis=2)
    expected = brute_force_threshold(kind, D, B, np.zeros(len(B), int), straight, 1.0, np.zeros(len(B)))
    np.testing.assert_allclose(criterion_of_points(kind, D, B, roll.points).threshold, expected)


def test_a_mesh_gives_the_same_as_its_vertices() -> None:
    mesh = annulus(1.0, 2.0, 200, jitter=0.5)
    D = geodesic_distances(mesh, method="dijkstra")
    for kind, of_mesh in (("boundary", boundary_criterion), ("wormhole", wormhole_criterion)):
        found = criterion_of_points(kind, D, mesh.boundary_vertices, mesh.vertices)
        expected = of_mesh(mesh, D, rtol=found.rtol)
        np.testing.assert_allclose(found.threshold, expected.threshold)
        np.testing.assert_array_equal(found.mask, expected.mask)


@pytest.mark.parametrize("kind", ["boundary", "wormhole"])
def test_both_precisions_find_the_same_ties(roll, graph, kind) -> None:
    B = boundary_points(roll.points).indices
    single = criterion_of_points(kind, graph_distances(graph), B, roll.points)
    double = criterion_of_points(kind, graph_distances(graph, dtype=np.float64), B, roll.points)
    ties = np.isclose(double.threshold, double.distances, rtol=1e-9) & ~np.eye(len(roll.points), dtype=bool)
    assert ties.mean() > (0.02 if kind == "wormhole" else 0.005)
    assert double.mask[ties].all()
    np.testing.assert_array_equal(single.mask, double.mask)
    np.testing.assert_array_equal(single.mask, single.mask.T)


def test_guaranteed_pairs_are_consistent_where_the_boundary_is_complete(roll) -> None:
    """Against the whole: every point that lost a neighbour in the graph is on the boundary."""
    whole = swiss_roll(300, variant="whole", width=20.0, seed=1)
    graph = neighbour_graph(whole.points, n_neighbors=8)
    left = np.array([np.flatnonzero((whole.points == p).all(axis=1))[0] for p in roll.points])
    gone = np.setdiff1d(np.arange(300), left)
    part = graph[left][:, left]
    lost = np.flatnonzero(graph[left][:, gone].sum(axis=1) > 0)
    D_whole = graph_distances(graph, dtype=np.float64)[np.ix_(left, left)]
    D = graph_distances(part, dtype=np.float64)
    found = criterion_of_points("wormhole", D, lost, roll.points)
    assert 0.1 < found.fraction < 1
    np.testing.assert_allclose(D[found.mask], D_whole[found.mask], rtol=2e-5)


def test_neighbours_are_always_guaranteed(roll, graph) -> None:
    everywhere = np.arange(len(roll.points))
    mask = criterion_of_points("wormhole", graph_distances(graph), everywhere, roll.points).mask
    edges = graph.tocoo()
    assert mask[edges.row, edges.col].all()


def test_without_boundary_every_pair_is_guaranteed(graph) -> None:
    for kind in ("boundary", "wormhole"):
        found = criterion_of_points(kind, graph_distances(graph), np.array([], int))
        assert found.mask.all()
        assert found.closed


def test_wormholes_need_points(graph) -> None:
    with pytest.raises(ValueError, match="needs straight lines between boundary points: give points"):
        criterion_of_points("wormhole", graph_distances(graph), np.array([0, 1]))


@pytest.mark.parametrize("kind", ["boundary", "wormhole"])
@pytest.mark.parametrize("soft", [False, True])
def test_new_points_are_judged_by_the_same_formula(roll, graph, kind, soft: bool) -> None:
    D = graph_distances(graph, dtype=np.float64)
    B = boundary_points(roll.points, threshold=0.8).indices
    expected = criterion_of_points(kind, D, B, roll.points)
    found = new_point_guarantees(kind, D, D[B], B, roll.points, soft=soft)
    apart = ~np.eye(len(D), dtype=bool)  # the diagonal is set in `Criterion`; a new point has none
    if soft:
        np.testing.assert_allclose(found[apart], expected.soft_mask[apart], rtol=1e-12)
    else:
        np.testing.assert_array_equal(found[apart], expected.mask[apart])
