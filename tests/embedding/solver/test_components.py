from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

from partwhole.embedding import EmbeddingWarning, weighted_smacof
from partwhole.embedding.solver.components import connected_by_weight, members_of
from partwhole.embedding.solver.pairs import checked_pairs


def two_clusters(apart: float = 10.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of two clusters in turn, their distances, and the mask of pairs within a cluster."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2)) + np.where(np.arange(40) % 2, apart, 0.0)[:, None]
    return points, squareform(pdist(points)), np.equal.outer(np.arange(40) % 2, np.arange(40) % 2)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_components_are_counted_in_the_order_of_their_first_points(kind) -> None:
    D = squareform(pdist(np.arange(7.0)[:, None]))
    W = np.zeros((7, 7))
    for i, j in ((0, 4), (4, 2), (1, 6)):
        W[i, j] = W[j, i] = 0.1
    labels = connected_by_weight(checked_pairs(D, kind(W))[1])
    np.testing.assert_array_equal(labels, [0, 1, 0, 2, 0, 3, 1])
    assert [members.tolist() for members in members_of(labels)] == [[0, 2, 4], [1, 6], [3], [5]]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_components_are_placed_by_distances_without_weight(kind) -> None:
    _, D, within = two_clusters()
    with pytest.warns(
        EmbeddingWarning, match="positive weights leave 2 components, of 20, 20 points; each was embedded"
    ):
        found = weighted_smacof(D, kind(within))
    np.testing.assert_allclose(squareform(pdist(found.embedding)), D, atol=1e-4)
    np.testing.assert_allclose(found.embedding.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_array_equal(found.components, np.arange(40) % 2)
    assert found.stress < 1e-8
    assert found.converged


def test_components_without_any_distance_between_them_lie_side_by_side() -> None:
    _, D, within = two_clusters(apart=0.0)
    with pytest.warns(EmbeddingWarning, match="2 components"):
        found = weighted_smacof(np.where(within, D, np.inf), within)
    apart = squareform(pdist(found.embedding))
    np.testing.assert_allclose(apart[within], D[within], atol=1e-4)
    left, right = found.embedding[::2, 0], found.embedding[1::2, 0]
    assert left.max() < right.min()


def test_side_by_side_are_groups_and_not_their_components() -> None:
    points, D, within = two_clusters()
    n = len(points)
    both = np.full((2 * n, 2 * n), np.nan)
    both[:n, :n] = both[n:, n:] = D
    weights = np.kron(np.eye(2), within)
    with pytest.warns(EmbeddingWarning, match="4 components, of 20, 20, 20, 20 points"):
        found = weighted_smacof(both, weights)
    for half in (slice(0, n), slice(n, 2 * n)):
        np.testing.assert_allclose(squareform(pdist(found.embedding[half])), D, atol=1e-4)
    assert found.embedding[:n, 0].max() < found.embedding[n:, 0].min()


def test_with_an_init_components_stay_where_it_has_them() -> None:
    points, D, within = two_clusters()
    turned = points @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    rng = np.random.default_rng(1)
    with pytest.warns(EmbeddingWarning):
        found = weighted_smacof(np.where(within, D, np.nan), within, init=turned + 0.01 * rng.normal(size=turned.shape))
    np.testing.assert_allclose(found.embedding, turned - turned.mean(axis=0), atol=0.02)


def test_single_points_and_pairs_in_more_dimensions_than_they_fill() -> None:
    points = np.random.default_rng(2).normal(size=(12, 3))
    D = squareform(pdist(points))
    W = np.zeros((12, 12))
    W[:5, :5] = 1
    W[5, 6] = W[6, 5] = 1
    with pytest.warns(EmbeddingWarning, match="7 components, of 5, 2, 1, 1, 1, … points"):
        found = weighted_smacof(D, W, n_components=3)
    # rigid bodies on the classical scaling, which is exact here
    np.testing.assert_allclose(squareform(pdist(found.embedding)), D, atol=1e-4)


def test_history_adds_up_over_components() -> None:
    rng = np.random.default_rng(3)
    D = squareform(rng.random(40 * 39 // 2) + 0.5)
    within = np.equal.outer(np.arange(40) < 10, np.arange(40) < 10)
    with pytest.warns(EmbeddingWarning):
        found = weighted_smacof(D, within)
    alone = [weighted_smacof(D[part, part]) for part in (slice(0, 10), slice(10, 40))]
    assert found.stress == pytest.approx(sum(one.stress for one in alone), rel=1e-6)
    assert found.n_iter == max(one.n_iter for one in alone)
    assert len(found.history) == found.n_iter + 1
    assert np.all(np.diff(found.history) <= 0)
