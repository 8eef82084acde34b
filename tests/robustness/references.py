"""Slow ways to what the library computes fast: plain loops and textbook algorithms, sharing no code with it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph


def edges_of(faces: np.ndarray) -> dict[tuple[int, int], int]:
    """Every edge, its smaller vertex first, and how many faces it has."""
    count: dict[tuple[int, int], int] = {}
    for a, b, c in faces.tolist():
        for u, v in ((a, b), (b, c), (c, a)):
            key = (min(u, v), max(u, v))
            count[key] = count.get(key, 0) + 1
    return count


def floyd_warshall(n: int, edges: Iterable[tuple[int, int]], lengths: Iterable[float]) -> np.ndarray:
    """Lengths of the shortest ways along edges, all pairs; inf where there is none."""
    D = np.full((n, n), np.inf)
    np.fill_diagonal(D, 0.0)
    for (u, v), length in zip(edges, lengths, strict=True):
        D[u, v] = D[v, u] = min(D[u, v], length)
    for k in range(n):
        np.minimum(D, D[:, k, None] + D[None, k, :], out=D)
    return D


def across_faces(n: int, faces: np.ndarray, points: np.ndarray, *, steps: int = 4) -> tuple[np.ndarray, float]:
    """Lengths of shortest ways that cross edges at `steps` − 1 points of each, straight inside the faces; and their error.

    Such ways lie on the surface, so they are never shorter than the exact distance. A shortest way crosses each face at
    most once, so moving its crossings to the nearest of these points makes it longer by no more than the second number.
    """
    edges = list(edges_of(faces))
    ends = np.array(edges)
    share = (np.arange(1, steps) / steps)[:, None]
    inner = points[ends[:, 0]][:, None] * (1 - share) + points[ends[:, 1]][:, None] * share
    everything = np.concatenate([points, inner.reshape(-1, 3)])
    number = n + np.arange(len(edges) * (steps - 1)).reshape(len(edges), steps - 1)
    on_edge = {edge: [*edge, *number[k].tolist()] for k, edge in enumerate(edges)}
    rows, columns = [], []
    for a, b, c in faces.tolist():
        here = sorted({p for u, v in ((a, b), (b, c), (c, a)) for p in on_edge[min(u, v), max(u, v)]})
        i, j = np.triu_indices(len(here), 1)
        rows.append(np.array(here)[i])
        columns.append(np.array(here)[j])
    i, j = np.concatenate(rows), np.concatenate(columns)
    length = np.linalg.norm(everything[i] - everything[j], axis=1)
    # a sparse matrix adds what is stored twice, so each pair is stored once; stored zeros are edges of length zero
    _, once = np.unique(i * len(everything) + j, return_index=True)
    graph = sparse.csr_matrix((length[once], (i[once], j[once])), shape=(len(everything),) * 2)
    D = csgraph.dijkstra(graph, directed=False, indices=np.arange(n))[:, :n]
    sides = np.linalg.norm(points[ends[:, 1]] - points[ends[:, 0]], axis=1)
    return D, float(sides.sum() / steps)
