from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components, floyd_warshall
from scipy.spatial.distance import cdist

from partwhole.datasets import swiss_roll
from partwhole.embedding import graph_distances, neighbour_graph, neighbour_spacing
from partwhole.embedding.graph.point_clouds import confirmed_steps, nearest_neighbours, tangent_planes


@pytest.mark.parametrize("d", [3, 40])
def test_neighbours_are_the_nearest(d) -> None:
    X = np.random.default_rng(0).normal(size=(300, d))
    lengths, nearest = nearest_neighbours(X, 7)
    apart = cdist(X, X)
    np.fill_diagonal(apart, np.inf)
    np.testing.assert_allclose(lengths, np.sort(apart, axis=1)[:, :7])
    np.testing.assert_array_equal(nearest, np.argsort(apart, axis=1)[:, :7])


@pytest.mark.parametrize("d", [2, 20])
def test_coinciding_points_are_neighbours_but_not_of_themselves(d) -> None:
    X = np.zeros((12, d))
    X[8:, 0] = 1
    lengths, nearest = nearest_neighbours(X, 3)
    assert (lengths == 0).all()
    assert (nearest != np.arange(12)[:, None]).all()


def test_graph_is_symmetric_and_has_every_neighbour() -> None:
    X = swiss_roll(400).points
    graph = neighbour_graph(X, n_neighbors=6)
    assert abs(graph - graph.T).max() == 0
    assert graph.diagonal().sum() == 0
    _, nearest = nearest_neighbours(X, 6)
    edges = graph.toarray() > 0
    assert edges[np.arange(len(X))[:, None], nearest].all()
    assert edges.sum() <= 2 * 6 * len(X)


def test_distances_are_shortest_paths() -> None:
    X = swiss_roll(150, width=10.0).points
    graph = neighbour_graph(X, n_neighbors=5)
    expected = floyd_warshall(graph)
    np.testing.assert_allclose(graph_distances(graph, dtype=np.float64), expected)
    single = graph_distances(graph)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, single.T)
    np.testing.assert_allclose(single, expected, rtol=1e-6)


def test_coinciding_points_are_at_distance_zero() -> None:
    D = graph_distances(neighbour_graph([[0.0, 0], [0, 0], [1, 0], [3, 0]], n_neighbors=1))
    assert D[0].tolist() == [0, 0, 1, 3]


def test_apart_is_infinitely_far() -> None:
    X = np.concatenate([np.random.default_rng(0).normal(size=(20, 2)), [[100.0, 0], [101, 0], [100, 1], [101, 1]]])
    D = graph_distances(neighbour_graph(X, n_neighbors=3))
    assert np.isinf(D[0, 20:]).all()
    assert np.isfinite(D[20:, 20:]).all()


def short_circuits(roll, graph) -> int:
    edges = graph.tocoo()
    on_sheet = np.linalg.norm(roll.flat[edges.row] - roll.flat[edges.col], axis=1)
    return int(np.count_nonzero(on_sheet > 2 * edges.data))


def test_long_steps_go_where_they_lead_to_another_sheet() -> None:
    roll = swiss_roll(variant="cut", seed=0)
    everything = neighbour_graph(roll.points, n_neighbors=30)
    pruned = neighbour_graph(roll.points, n_neighbors=30, longest_step=1.2)
    assert short_circuits(roll, everything) > 0
    assert short_circuits(roll, pruned) == 0
    assert pruned.nnz > 0.9 * everything.nnz


def test_long_steps_stay_where_they_hold_the_graph_together() -> None:
    rng = np.random.default_rng(0)
    two = np.concatenate([rng.normal(size=(12, 2)), rng.normal(size=(12, 2)) + np.array([30, 0])])
    whole = neighbour_graph(two, n_neighbors=12)
    pruned = neighbour_graph(two, n_neighbors=12, longest_step=1.0)
    assert connected_components(whole)[0] == connected_components(pruned)[0] == 1
    assert pruned.nnz < whole.nnz


def test_spacing_is_the_distance_to_a_neighbour() -> None:
    line = np.abs(np.subtract.outer(np.arange(100.0), np.arange(100.0)))
    assert neighbour_spacing(line, n_neighbors=4) == 2
    assert neighbour_spacing(10 * line, n_neighbors=4) == 20
    assert neighbour_spacing(line[:3, :3], n_neighbors=15) == 2


@pytest.mark.parametrize("k", [0, 5])
def test_there_must_be_enough_points(k) -> None:
    with pytest.raises(ValueError, match=f"n_neighbors={k}, n_samples=5"):
        neighbour_graph(np.eye(5), n_neighbors=k)


def test_a_step_shorter_than_the_spacing_is_refused() -> None:
    with pytest.raises(ValueError, match="longest_step must be at least 1"):
        neighbour_graph(np.eye(5), n_neighbors=2, longest_step=0.5)


def on_a_cylinder(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points on half a cylinder of radius 1, and where they lie when it is rolled out."""
    flat = np.random.default_rng(seed).random((n, 2)) * [np.pi, 2.0]
    return np.stack([np.cos(flat[:, 0]), flat[:, 1], np.sin(flat[:, 0])], axis=1), flat


def test_tangent_planes_are_those_of_the_surface() -> None:
    points, _ = on_a_cylinder(3000)
    planes = tangent_planes(points)
    np.testing.assert_allclose(planes @ planes.transpose(0, 2, 1), np.broadcast_to(np.eye(2), (3000, 2, 2)), atol=1e-12)
    normal = points * [1, 0, 1]
    assert np.median(np.abs(np.einsum("nkd,nd->nk", planes, normal))) < 0.02
    assert tangent_planes(points[:2]).shape == (2, 2, 3)
    assert tangent_planes(points, dimension=5).shape == (3000, 3, 3)


def test_steps_are_arcs_of_a_bent_surface() -> None:
    points, flat = on_a_cylinder(1500)
    straight = sparse.coo_array(neighbour_graph(points, n_neighbors=60))
    arcs = neighbour_graph(points, n_neighbors=60, steepest_step=40.0)
    true = np.linalg.norm(flat[straight.row] - flat[straight.col], axis=1)
    bent = arcs[straight.row, straight.col] / true
    along = np.abs(flat[straight.row, 0] - flat[straight.col, 0])
    far = along > 0.3
    assert (straight.data / true)[far].mean() < 0.997
    assert abs(bent[far].mean() - 1) < 0.0015
    assert np.all(arcs.data >= straight.data * (1 - 1e-12))


def test_steep_steps_go_where_they_lead_to_another_sheet() -> None:
    roll = swiss_roll(variant="cut", seed=100)
    everything = neighbour_graph(roll.points, n_neighbors=60)
    pruned = neighbour_graph(roll.points, n_neighbors=60, longest_step=1.2, steepest_step=40.0)
    assert short_circuits(roll, everything) > 100
    assert short_circuits(roll, pruned) == 0
    assert pruned.nnz > 0.8 * everything.nnz


@pytest.mark.parametrize("angle", [0.0, 90.0, -5.0])
def test_an_angle_that_is_none(angle) -> None:
    with pytest.raises(ValueError, match="steepest_step must be between 0 and 90 degrees"):
        neighbour_graph(np.eye(5), n_neighbors=2, steepest_step=angle)


def test_long_steps_need_a_path_of_short_ones() -> None:
    points = np.array([[0.0, 0], [1, 0], [2, 0], [2, 1], [1, 1], [0, 1]])
    short = sparse.csr_array(np.zeros((6, 6)))
    for i in range(5):
        short = short + sparse.csr_array(([1.0, 1.0], ([i, i + 1], [i + 1, i])), shape=(6, 6))
    found = confirmed_steps(neighbour_graph(points, n_neighbors=5), short)
    expected = short.toarray()
    for i, j in ((0, 2), (1, 3), (2, 4), (3, 5), (0, 3), (2, 5)):
        apart = np.linalg.norm(points[i] - points[j])
        if abs(i - j) <= 1.5 * apart:
            expected[i, j] = expected[j, i] = apart
    np.testing.assert_allclose(found.toarray(), expected)
    assert expected[0, 5] == 0
