from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components, floyd_warshall
from scipy.spatial.distance import cdist

from partwhole.datasets import swiss_roll
from partwhole.embedding import graph_distances, neighbour_graph, neighbour_spacing
from partwhole.embedding.point_clouds import nearest_neighbours


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


def test_long_steps_go_where_they_lead_to_another_sheet() -> None:
    roll = swiss_roll(variant="cut", seed=0)

    def short_circuits(graph) -> int:
        edges = graph.tocoo()
        on_sheet = np.linalg.norm(roll.flat[edges.row] - roll.flat[edges.col], axis=1)
        return int(np.count_nonzero(on_sheet > 2 * edges.data))

    everything = neighbour_graph(roll.points, n_neighbors=30)
    pruned = neighbour_graph(roll.points, n_neighbors=30, longest_step=1.2)
    assert short_circuits(everything) > 0
    assert short_circuits(pruned) == 0
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
