"""Sorting sources into bundles whose members lie close together on the surface."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.sparse import csgraph

LANDMARKS = 8


def bundles_of(graph: sparse.csr_matrix, sources: Int[np.ndarray, "r"], size: int) -> list[Int[np.ndarray, "_"]]:
    """Positions in `sources`, in groups of at most `size`, each close together; the middle one of each group first.

    graph : the edges with their lengths, both directions stored

    Closeness is judged by the distances to a few landmarks far from each other, not by coordinates: a hand resting on a
    hip is far from it on the surface. The grouping bears on speed alone.
    """
    position = _landmark_distances(graph)[sources]
    groups = []
    pending = [np.arange(len(sources))]
    while pending:
        group = pending.pop()
        if len(group) > size:
            widest = np.ptp(position[group], axis=0).argmax()
            half = -(-len(group) // (2 * size)) * size
            order = np.argsort(position[group, widest], kind="stable")
            pending += [group[order[half:]], group[order[:half]]]
        else:
            to_middle = ((position[group] - position[group].mean(axis=0)) ** 2).sum(axis=1)
            groups.append(group[np.argsort(to_middle, kind="stable")])
    return groups


def _landmark_distances(graph: sparse.csr_matrix) -> Float[np.ndarray, "n k"]:
    """Graph distances to landmarks, each as far as can be from those before; what is out of reach counts as far."""
    nearest = np.full(graph.shape[0], np.inf)
    columns = []
    landmark = 0
    for _ in range(LANDMARKS):
        distance = csgraph.dijkstra(graph, indices=landmark)
        finite = np.isfinite(distance)
        columns.append(np.where(finite, distance, 2 * distance[finite].max() + 1))
        nearest = np.minimum(nearest, distance)
        landmark = int(nearest.argmax())
    return np.stack(columns, axis=1)
