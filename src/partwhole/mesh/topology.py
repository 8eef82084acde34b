"""How the triangles of a surface hang together: edges, borders, components. Array kernels; `Mesh` wraps them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.sparse import csgraph


def unique_edges(
    faces: Int[np.ndarray, "m 3"],
) -> tuple[Int[np.ndarray, "e 2"], Int[np.ndarray, "m 3"], Int[np.ndarray, "e"]]:
    """Edges (u < v, sorted), the edge opposite to each corner of each face, and the number of faces at each edge.

    >>> edges, opposite, count = unique_edges(np.array([[0, 1, 2], [2, 1, 3]]))
    >>> edges.tolist(), opposite[0].tolist(), count.tolist()
    ([[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]], [2, 1, 0], [1, 1, 2, 1, 1])
    """
    sides = np.sort(faces[:, [[1, 2], [2, 0], [0, 1]]].reshape(-1, 2), axis=1)
    if len(sides) == 0:
        return np.empty((0, 2), np.int64), np.empty((0, 3), np.int64), np.empty(0, np.int64)
    stride = int(sides.max()) + 1
    keys, inverse, count = np.unique(sides[:, 0] * stride + sides[:, 1], return_inverse=True, return_counts=True)
    edges = np.stack([keys // stride, keys % stride], axis=1)
    return edges, inverse.reshape(-1, 3), count


def connected_labels(n: int, edges: Int[np.ndarray, "e 2"]) -> Int[np.ndarray, "n"]:
    """Label of each of n nodes, counted from 0; nodes joined by a chain of edges share one."""
    graph = sparse.coo_matrix((np.ones(len(edges), np.int8), (edges[:, 0], edges[:, 1])), shape=(n, n))
    _, labels = csgraph.connected_components(graph, directed=False)
    return labels.astype(np.int64)


def trace_loops(directed_edges: Int[np.ndarray, "e 2"]) -> list[Int[np.ndarray, "_"]]:
    """Split a set of directed edges into vertex chains, each followed from start to end (a closed one is not repeated there).

    Where loops touch at a vertex, or where the orientation of neighbouring faces disagrees, the chains still cover
    every edge exactly once.

    >>> trace_loops(np.array([[4, 5], [6, 4], [5, 6]]))[0].tolist()
    [4, 5, 6]
    """
    edges: list[list[int]] = directed_edges.tolist()
    leaving: dict[int, list[int]] = {}
    touching: dict[int, list[int]] = {}
    for index in reversed(range(len(edges))):  # lists are used from their ends, so the first edge comes last
        u, v = edges[index]
        leaving.setdefault(u, []).append(index)
        touching.setdefault(u, []).append(index)
        touching.setdefault(v, []).append(index)
    used = [False] * len(edges)
    loops = []
    for first, (start, here) in enumerate(edges):
        if used[first]:
            continue
        used[first] = True
        chain = [start]
        while here != start:
            chain.append(here)
            # follow the orientation where there is a choice, so that loops touching at a vertex come apart
            for candidates in (leaving.get(here, []), touching[here]):
                while candidates and used[candidates[-1]]:  # taken off for good, so that each edge is met once
                    candidates.pop()
                if candidates:
                    following = candidates[-1]
                    break
            else:
                break
            used[following] = True
            u, v = edges[following]
            here = v if u == here else u
        loops.append(np.array(chain, dtype=np.int64))
    return loops


def corner_angles(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> Float[np.ndarray, "m 3"]:
    """Interior angle of each face at each of its corners, in radians; 0 beside a side of length zero."""
    corners = vertices[faces]
    towards_next = np.roll(corners, -1, axis=1) - corners
    towards_previous = np.roll(corners, 1, axis=1) - corners
    cross = np.linalg.norm(np.cross(towards_next, towards_previous), axis=2)
    dot = np.einsum("mij,mij->mi", towards_next, towards_previous)
    return np.arctan2(cross, dot)
