from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import pairwise_distances

from partwhole.embedding import classical_scaling
from partwhole.embedding.solver.threads import one_blas_thread


def distances_of(points: np.ndarray) -> np.ndarray:
    return squareform(pdist(points))


@pytest.mark.parametrize("n", [20, 700])  # all eigenpairs at once, and some by iteration
@pytest.mark.parametrize("k", [1, 2, 3])
def test_points_come_back_along_their_principal_axes(n: int, k: int) -> None:
    points = np.random.default_rng(n + k).normal(size=(n, k)) * [1.0, 2.5, 5.0][:k]
    found = classical_scaling(distances_of(points), n_components=k)
    assert found.shape == (n, k)
    np.testing.assert_allclose(distances_of(found), distances_of(points), atol=1e-9)
    scatter = found.T @ found
    np.testing.assert_allclose(scatter, np.diag(scatter.diagonal()), atol=1e-7 * scatter.max())
    assert np.all(np.diff(scatter.diagonal()) <= 0)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("n", [40, 600])
def test_entry_of_largest_magnitude_is_positive(n: int) -> None:
    found = classical_scaling(distances_of(np.random.default_rng(1).normal(size=(n, 4))), n_components=3)
    assert np.all(found[np.abs(found).argmax(axis=0), np.arange(3)] > 0)


def test_iteration_finds_what_all_eigenpairs_at_once_find(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(2).normal(size=(600, 5)) * [5, 4, 3, 2, 1]
    D = distances_of(points) ** 0.8  # of no points in R^2 exactly
    by_iteration = classical_scaling(D)
    monkeypatch.setattr("partwhole.embedding.solver.classical.DENSE", 1000)
    np.testing.assert_allclose(by_iteration, classical_scaling(D), atol=1e-8)


def test_same_numbers_again_whatever_blas_does() -> None:
    D = distances_of(np.random.default_rng(3).normal(size=(600, 3)))
    first = classical_scaling(D)
    with one_blas_thread():
        second = classical_scaling(D)
    np.testing.assert_array_equal(first, second)


def test_single_precision_and_any_scale() -> None:
    points = np.random.default_rng(4).normal(size=(50, 2)) * [3, 1]
    D = distances_of(points)
    expected = classical_scaling(D)
    np.testing.assert_allclose(classical_scaling(D.astype(np.float32)), expected, atol=1e-5)
    for scale in (1e-200, 1e200):
        np.testing.assert_allclose(classical_scaling(scale * D) / scale, expected, rtol=1e-9, atol=1e-12)


def test_a_direction_without_positive_eigenvalue_is_zero() -> None:
    on_a_line = np.arange(4.0)[:, None]
    found = classical_scaling(distances_of(on_a_line), n_components=3)
    np.testing.assert_allclose(np.abs(found[:, 0]), [1.5, 0.5, 0.5, 1.5])
    np.testing.assert_allclose(found[:, 1:], 0, atol=1e-7)


def test_points_at_one_place() -> None:
    np.testing.assert_array_equal(classical_scaling(np.zeros((600, 600))), np.zeros((600, 2)))
    np.testing.assert_array_equal(classical_scaling(np.zeros((1, 1)), n_components=1), [[0.0]])


@pytest.mark.parametrize("reach", [1, 15])  # a search along few known distances, min-plus products of many
def test_unknown_distances_are_shortest_ways_over_known_ones(reach: int) -> None:
    line = np.arange(120.0)[:, None]
    line[60:] -= 1.0  # two points at one place, at a distance of zero that is known
    D = distances_of(line)
    known = np.abs(np.subtract.outer(np.arange(120), np.arange(120))) <= reach
    masked = np.where(known, D, np.nan)
    masked[0, 100] = masked[100, 0] = np.inf
    before = masked.copy()
    np.testing.assert_allclose(classical_scaling(masked), classical_scaling(D), atol=1e-6)
    np.testing.assert_array_equal(masked, before)


def test_known_distances_stay_even_where_a_way_round_is_shorter() -> None:
    D = np.array([[0.0, 1.0, 5.0, 6.0], [1.0, 0.0, 1.0, np.nan], [5.0, 1.0, 0.0, 1.0], [6.0, np.nan, 1.0, 0.0]])
    filled = np.where(np.isnan(D), 2.0, D)
    np.testing.assert_allclose(classical_scaling(D), classical_scaling(filled))


def test_no_way_between_pieces_is_an_error() -> None:
    D = pairwise_distances(np.arange(6.0)[:, None])
    D[:3, 3:] = D[3:, :3] = np.inf
    with pytest.raises(ValueError, match="distances has no path over known distances from point 0 to every other"):
        classical_scaling(D)


@pytest.mark.parametrize("k", [0, 6])
def test_more_components_than_points(k: int) -> None:
    with pytest.raises(ValueError, match=f"n_components={k} must be a whole number from 1 to n_samples=5"):
        classical_scaling(distances_of(np.eye(5)), n_components=k)
