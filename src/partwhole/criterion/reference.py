"""The thresholds by brute force: plain loops over every boundary pair, for tests. Shares no code with `thresholds`."""

from __future__ import annotations

import heapq

import numpy as np
from jaxtyping import Float, Int

from partwhole.criterion.result import CriterionKind


def brute_force_threshold(
    kind: CriterionKind,
    D: Float[np.ndarray, "n n"],
    boundary: Int[np.ndarray, "b"],
    labels: Int[np.ndarray, "b"],
    E: Float[np.ndarray, "b b"],
    c: float,
    h: Float[np.ndarray, "b"],
) -> Float[np.ndarray, "n n"]:
    """K_ij = min over b₁, b₂ of [D(i, b₁) − h₁]₊ + across(b₁, b₂) + [D(b₂, j) − h₂]₊, one term at a time.

    Parameters
    ----------
    D : distances on the part, all pairs
    boundary, labels : boundary vertices and the loop each lies on
    E, c : straight lines between boundary vertices, and the factor they count with
    h : half the longest boundary edge at each boundary vertex; 0 if paths leave at vertices only

    Examples
    --------
    >>> D = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    >>> ends, E = np.array([0, 2]), np.array([[0.0, 0.5], [0.5, 0.0]])
    >>> brute_force_threshold("wormhole", D, ends, np.array([0, 0]), E, 1.0, np.zeros(2))
    array([[0. , 1. , 0.5],
           [1. , 2. , 1. ],
           [0.5, 1. , 0. ]])
    """
    n, b = len(D), len(boundary)
    K = np.full((n, n), np.inf)
    for p in range(b):
        chains = _shortest_chains(D, boundary, labels, E, c, h, p) if kind == "same-loop" else np.zeros(b)
        for q in range(b):
            straight = 0.0 if kind == "boundary" else max(c * E[p, q] - h[p] - h[q], 0.0)
            across = max(straight, chains[q])
            back = np.maximum(D[boundary[q]].astype(float) - h[q], 0.0)
            for i in range(n):
                out = max(float(D[i, boundary[p]]) - h[p], 0.0)
                K[i] = np.minimum(K[i], out + across + back)
    return K


def _shortest_chains(
    D: Float[np.ndarray, "n n"],
    boundary: Int[np.ndarray, "b"],
    labels: Int[np.ndarray, "b"],
    E: Float[np.ndarray, "b b"],
    c: float,
    h: Float[np.ndarray, "b"],
    p: int,
) -> Float[np.ndarray, "b"]:
    """Dijkstra over (boundary vertex, jumps made so far, whether the last step was a jump), from vertex p."""
    b, n_loops = len(boundary), len(set(labels.tolist()))
    best: dict[tuple[int, int, bool], float] = {}
    queue = [(0.0, p, 0, False)]
    result = np.full(b, np.inf)
    while queue:
        length, u, jumps, jumped = heapq.heappop(queue)
        if (u, jumps, jumped) in best:
            continue
        best[u, jumps, jumped] = length
        if jumped:
            result[u] = min(result[u], length)
        for v in range(b):
            if jumped and labels[u] != labels[v]:
                step = max(float(D[boundary[u], boundary[v]]) - h[u] - h[v], 0.0)
                heapq.heappush(queue, (length + step, v, jumps, False))
            if not jumped and labels[u] == labels[v] and jumps < n_loops:
                step = max(c * E[u, v] - h[u] - h[v], 0.0)
                heapq.heappush(queue, (length + step, v, jumps + 1, True))
    return result
