"""Farthest point sampling: a few vertices, spread evenly over a surface."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int
from scipy import sparse
from scipy.sparse import csgraph

from partwhole._ties import first_largest
from partwhole.mesh.surface import Mesh, check_mesh
from partwhole.store.arguments import check_seed, check_whole_number


def farthest_points(
    mesh: Mesh, count: int, *, first: int | None = None, seed: int | np.random.Generator = 0
) -> Int[np.ndarray, "count"]:
    """Vertices s₁, s₂, …, each the farthest from those before it: s_k = argmax_v min_{j<k} d(v, s_j).

    d is the length of the shortest path along edges. Vertices of a component without a sample are infinitely far, so
    every component gets one before any gets a second. Vertices without faces are never chosen.

    Parameters
    ----------
    mesh : the surface
    count : how many vertices, at most as many as have faces
    first : the first vertex; without it, one is drawn at random
    seed : for that draw

    Examples
    --------
    >>> path = Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [0, 1, 0]], [[0, 1, 4], [1, 2, 4], [2, 3, 4]])
    >>> farthest_points(path, 2, first=0).tolist()
    [0, 3]
    """
    check_mesh(mesh)
    check_whole_number("count", count)
    check_whole_number("first", first, or_none=True)
    check_seed(seed)
    candidates = np.unique(mesh.faces)
    if not 1 <= count <= len(candidates):
        raise ValueError(f"count={count} must lie between 1 and {len(candidates)}, the vertices with faces")
    if first is None:
        first = int(np.random.default_rng(seed).choice(candidates))
    elif first not in candidates:
        raise ValueError(f"first={first} is not a vertex with faces; vertices are numbered 0 to {mesh.n_vertices - 1}")
    graph = edge_graph(mesh)
    nearest = np.full(mesh.n_vertices, -1.0)
    nearest[candidates] = np.inf
    chosen = np.empty(count, dtype=np.int64)
    following = int(first)
    for k in range(count):
        chosen[k] = following
        # a new sample changes nothing beyond the present covering radius: the search can stop there
        reached = csgraph.dijkstra(graph, indices=following, limit=nearest[following])
        np.minimum(nearest, reached, out=nearest)
        # a vertex at distance zero (coinciding points) may be chosen later, a chosen one never again
        nearest[following] = -1.0
        following = first_largest(nearest)
    return chosen


def edge_graph(mesh: Mesh) -> sparse.csr_matrix:
    """The edges and their lengths as a symmetric sparse matrix, both directions stored."""
    u, v = mesh.edges.T
    rows, columns = np.concatenate([u, v]), np.concatenate([v, u])
    lengths = np.concatenate([mesh.edge_lengths, mesh.edge_lengths])
    return sparse.csr_matrix((lengths, (rows, columns)), shape=(mesh.n_vertices, mesh.n_vertices))
