"""Distances along a surface that is known by points on it: shortest paths from neighbour to neighbour."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial import KDTree

from partwhole.geodesics.distances import symmetrise
from partwhole.mesh.topology import connected_labels

# Rows of distances computed at a time, in double precision, before they're stored.
_BLOCK_ROWS = 128

# Edges to so many nearest neighbours are never too long.
_ALWAYS = 5

# Above so many coordinates a tree saves nothing over comparing all pairs.
_TREE_DIMENSIONS = 15


def neighbour_graph(X: ArrayLike, *, n_neighbors: int = 15, longest_step: float | None = None) -> sparse.csr_array:
    """w_ij = |x_i − x_j| if j is one of the `n_neighbors` nearest points of i, or i of j.

    Symmetric, both directions stored, nothing on the diagonal. Coinciding points are joined by an edge of length 0,
    which is stored like any other: `scipy.sparse.csgraph` takes explicit zeros for edges.

    Parameters
    ----------
    X : (n, d) points
    n_neighbors : less than n
    longest_step : drop edges longer than this many times the spacing around either end, the median over a point's
        neighbours of the distance to their `n_neighbors`-th neighbour; the five shortest edges of a point stay, and so
        do all that hold the graph together. At the corner of a sheet three quarters of the neighbours are missing, and
        the next best may be on another sheet: with 1.2 such short circuits go, and little else. None keeps all

    Examples
    --------
    >>> neighbour_graph([[0.0], [1.0], [3.0]], n_neighbors=1).toarray()
    array([[0., 1., 0.],
           [1., 0., 2.],
           [0., 2., 0.]])
    """
    points = checked_points(X)
    n = len(points)
    if not 1 <= n_neighbors < n:
        raise ValueError(
            f"n_neighbors must be at least 1 and less than n_samples, got n_neighbors={n_neighbors}, n_samples={n}"
        )
    if longest_step is not None and not longest_step >= 1:
        raise ValueError(f"longest_step must be at least 1, or None to keep all edges, got {longest_step}")
    lengths, nearest = nearest_neighbours(points, n_neighbors)
    start, end = np.repeat(np.arange(n), n_neighbors), nearest.reshape(-1)
    pair, first = np.unique(np.minimum(start, end) * n + np.maximum(start, end), return_index=True)
    i, j, length = pair // n, pair % n, lengths.reshape(-1)[first]
    if longest_step is not None:
        spacing = np.median(lengths[nearest, -1], axis=1)
        always = lengths[:, min(_ALWAYS, n_neighbors) - 1]
        keep = (length <= longest_step * np.minimum(spacing[i], spacing[j])) | (
            length <= np.maximum(always[i], always[j])
        )
        held_together = connected_labels(n, np.stack([i[keep], j[keep]], axis=1))
        keep |= held_together[i] != held_together[j]
        i, j, length = i[keep], j[keep], length[keep]
    rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
    return sparse.csr_array((np.concatenate([length, length]), (rows, columns)), shape=(n, n))


def checked_points(X: ArrayLike) -> Float[np.ndarray, "n d"]:
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] < 1 or len(points) < 2:
        raise ValueError(f"X must be at least two points, one row each, got shape {points.shape}")
    if not np.isfinite(points).all():
        raise ValueError("X contains NaN or infinite coordinates: remove these points")
    return points


def nearest_neighbours(
    points: Float[np.ndarray, "n d"], k: int
) -> tuple[Float[np.ndarray, "n k"], Int[np.ndarray, "n k"]]:
    """Distances to the k nearest other points and their numbers, nearest first; a point is never its own neighbour."""
    if points.shape[1] > _TREE_DIMENSIONS:
        return _nearest_of_all(points, k)
    lengths, nearest = KDTree(points).query(points, k=k + 1)
    return _without_itself(lengths, nearest)


def _nearest_of_all(
    points: Float[np.ndarray, "n d"], k: int
) -> tuple[Float[np.ndarray, "n k"], Int[np.ndarray, "n k"]]:
    """By matrix products, with the distances of those found computed again from differences."""
    squares = np.einsum("nd,nd->n", points, points)
    nearest = np.empty((len(points), k), np.int64)
    for start in range(0, len(points), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        apart = squares - 2 * points[block] @ points.T
        apart[np.arange(len(apart)), np.arange(start, start + len(apart))] = np.inf
        nearest[block] = np.argpartition(apart, k - 1, axis=1)[:, :k]
    lengths = np.stack([np.linalg.norm(points[nearest[:, j]] - points, axis=1) for j in range(k)], axis=1)
    order = np.argsort(lengths, axis=1, kind="stable")
    return np.take_along_axis(lengths, order, axis=1), np.take_along_axis(nearest, order, axis=1)


def _without_itself(
    lengths: Float[np.ndarray, "n k_plus_1"], nearest: Int[np.ndarray, "n k_plus_1"]
) -> tuple[Float[np.ndarray, "n k"], Int[np.ndarray, "n k"]]:
    """Leave out the point itself, which comes first unless others coincide with it; failing that, the farthest."""
    itself = nearest == np.arange(len(nearest))[:, None]
    itself[:, -1] |= ~itself.any(axis=1)
    shape = (len(nearest), nearest.shape[1] - 1)
    return lengths[~itself].reshape(shape), nearest[~itself].reshape(shape)


def graph_distances(graph: sparse.csr_array, *, dtype: DTypeLike = np.float32) -> Float[np.ndarray, "n n"]:
    """D[i, j]: the length of the shortest path from i to j along the edges; inf where there is none. Symmetric.

    Computed by Dijkstra's algorithm in double precision, some rows at a time, and stored in `dtype`.

    Examples
    --------
    >>> graph_distances(neighbour_graph([[0.0, 0], [1, 0], [3, 0]], n_neighbors=1))
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]], dtype=float32)
    """
    n = graph.shape[0]
    distances = np.empty((n, n), dtype)
    for start in range(0, n, _BLOCK_ROWS):
        rows = np.arange(start, min(start + _BLOCK_ROWS, n))
        distances[rows] = csgraph.dijkstra(graph, indices=rows)
    # a path is summed from either end; in the last digit the two sums may differ
    symmetrise(distances, mean=False)
    return distances


def neighbour_spacing(D: Float[np.ndarray, "n n"], *, n_neighbors: int = 15) -> float:
    """Median over i of the distance to the `n_neighbors`-th nearest other point; all others if there are fewer.

    The length that tells near from far in a sample, whatever the units: small distances are counted in it.

    >>> neighbour_spacing(np.array([[0.0, 1, 3], [1, 0, 2], [3, 2, 0]]), n_neighbors=1)
    1.0
    """
    k = min(n_neighbors, len(D) - 1)
    kth = np.empty(len(D))
    for start in range(0, len(D), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        kth[block] = np.partition(D[block], k, axis=1)[:, k]
    return float(np.median(kth))
