"""Distances along a surface that is known by points on it: shortest paths from neighbour to neighbour."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial import KDTree

from partwhole.geodesics.distances import symmetrise
from partwhole.mesh.topology import connected_labels
from partwhole.store.arguments import as_numbers, check_number

# Rows of distances computed at a time, in double precision, before they're stored.
_BLOCK_ROWS = 128

# Edges to so many nearest neighbours are never too long.
_ALWAYS = 5

# A tangent plane is that of a point and so many nearest ones.
_PLANE_NEIGHBOURS = 25

# Steps that are measured at a time.
_BLOCK_STEPS = 1 << 16

# Above so many coordinates a tree saves nothing over comparing all pairs.
_TREE_DIMENSIONS = 15


def neighbour_graph(
    X: ArrayLike,
    *,
    n_neighbors: int = 15,
    longest_step: float | None = None,
    steepest_step: float | None = None,
    dimension: int = 2,
) -> sparse.csr_array:
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
    steepest_step : an angle in degrees. Drop edges that rise from the tangent plane at either end by more, as those to
        another sheet do, with the same exceptions; and take the others for the arcs of circles that leave the planes
        at that angle: |x_i − x_j| α / sin α. Long steps can then follow a bent surface. None leaves edges straight
    dimension : of the surface, for its tangent planes

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
    check_number("longest_step", longest_step, or_none=True)
    check_number("steepest_step", steepest_step, or_none=True)
    if longest_step is not None and not longest_step >= 1:
        raise ValueError(f"longest_step must be at least 1, or None to keep all edges, got {longest_step}")
    if steepest_step is not None and not 0 < steepest_step < 90:
        raise ValueError(
            f"steepest_step must be between 0 and 90 degrees, or None for straight steps, got {steepest_step}"
        )
    lengths, nearest = nearest_neighbours(points, n_neighbors)
    start, end = np.repeat(np.arange(n), n_neighbors), nearest.reshape(-1)
    pair, first = np.unique(np.minimum(start, end) * n + np.maximum(start, end), return_index=True)
    i, j, length = pair // n, pair % n, lengths.reshape(-1)[first]
    keep, arc = np.ones(len(i), bool), length
    if longest_step is not None:
        spacing = np.median(lengths[nearest, -1], axis=1)
        keep = length <= longest_step * np.minimum(spacing[i], spacing[j])
    if steepest_step is not None:
        planes = tangent_planes(points, dimension=dimension)
        arc, gentle = _arcs(points, planes, i, j, length, np.radians(steepest_step))
        keep &= gentle
    if not keep.all():
        always = lengths[:, min(_ALWAYS, n_neighbors) - 1]
        keep |= length <= np.maximum(always[i], always[j])
        held_together = connected_labels(n, np.stack([i[keep], j[keep]], axis=1))
        keep |= held_together[i] != held_together[j]
    i, j, length = i[keep], j[keep], arc[keep]
    rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
    return sparse.csr_array((np.concatenate([length, length]), (rows, columns)), shape=(n, n))


def confirmed_steps(graph: sparse.csr_array, short: sparse.csr_array, *, detour: float = 1.5) -> sparse.csr_array:
    """All of `short`, and those edges of `graph` to which a path along `short` is at most `detour` times as long.

    A long step that leads to another sheet, where samples are few and tangent planes badly known, has no such path.
    """
    n = graph.shape[0]
    furthest = detour * float(graph.data.max(initial=0.0))
    edges = sparse.coo_array(graph)
    keep = np.zeros(len(edges.data), bool)
    order = np.argsort(edges.row, kind="stable")
    first = np.searchsorted(edges.row[order], np.arange(0, n + _BLOCK_ROWS, _BLOCK_ROWS))
    for block, start in enumerate(range(0, n, _BLOCK_ROWS)):
        paths = csgraph.dijkstra(short, indices=np.arange(start, min(start + _BLOCK_ROWS, n)), limit=furthest)
        own = order[first[block] : first[block + 1]]
        keep[own] = paths[edges.row[own] - start, edges.col[own]] <= detour * edges.data[own]
    # rounding could confirm one direction of an edge and not the other
    other = sparse.coo_array(short)
    i, j = np.concatenate([edges.row[keep], other.row]), np.concatenate([edges.col[keep], other.col])
    length = np.concatenate([edges.data[keep], other.data])
    _, once = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_index=True)
    i, j, length = i[once], j[once], length[once]
    both = (np.concatenate([i, j]), np.concatenate([j, i]))
    return sparse.csr_array((np.concatenate([length, length]), both), shape=(n, n))


def tangent_planes(X: Float[np.ndarray, "n d"], *, dimension: int = 2) -> Float[np.ndarray, "n k d"]:
    """For each point an orthonormal basis of its tangent plane: the main directions of it and its 25 nearest points."""
    _, nearest = nearest_neighbours(X, min(_PLANE_NEIGHBOURS, len(X) - 1))
    planes = np.empty((len(X), min(dimension, X.shape[1], nearest.shape[1] + 1), X.shape[1]))
    for start in range(0, len(X), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        around = np.concatenate([X[block, None], X[nearest[block]]], axis=1)
        around -= around.mean(axis=1, keepdims=True)
        planes[block] = np.linalg.svd(around, full_matrices=False)[2][:, : planes.shape[1]]
    return planes


def _arcs(
    points: Float[np.ndarray, "n d"],
    planes: Float[np.ndarray, "n k d"],
    i: Int[np.ndarray, "m"],
    j: Int[np.ndarray, "m"],
    length: Float[np.ndarray, "m"],
    steepest: float,
) -> tuple[Float[np.ndarray, "m"], Bool[np.ndarray, "m"]]:
    """Lengths of steps as arcs, and whether they rise from both tangent planes by no more than `steepest`."""
    arcs, gentle = length.copy(), np.ones(len(length), bool)
    for start in range(0, len(length), _BLOCK_STEPS):
        block = slice(start, start + _BLOCK_STEPS)
        step, c = points[j[block]] - points[i[block]], length[block]
        rises = []
        for end in (i[block], j[block]):
            along = np.linalg.norm(np.einsum("mkd,md->mk", planes[end], step), axis=1)
            rises.append(np.arccos(np.minimum(np.divide(along, c, out=np.ones_like(c), where=c > 0), 1)))
        gentle[block] = np.maximum(*rises) <= steepest
        # a chord of a circle makes half the arc's angle with the tangents at both ends; sinc(x) is sin(πx) / πx
        arcs[block] /= np.sinc(np.minimum((rises[0] + rises[1]) / 2, steepest) / np.pi)
    return arcs, gentle


def checked_points(X: ArrayLike) -> Float[np.ndarray, "n d"]:
    points = as_numbers("X", X)
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
