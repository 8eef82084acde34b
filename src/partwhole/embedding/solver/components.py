"""Components of the graph of weights, and where to put them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse.csgraph import connected_components

from partwhole.embedding.solver.classical import completed, scaled_from
from partwhole.embedding.solver.pairs import ListedPairs, WeightedPairs

# between two pieces that nothing connects: this share of the larger one's extent
_GAP = 0.25


def connected_by_weight(pairs: WeightedPairs) -> Int[np.ndarray, "n"]:
    """Number of the component of each point, counted from 0 in the order of their first points."""
    if isinstance(pairs, ListedPairs):
        return connected_components(pairs.matrix, directed=False)[1].astype(np.int64)
    return _connected(lambda i: pairs.weight_rows(slice(i, i + 1))[0] > 0, len(pairs))


def components_of_weights(weights: np.ndarray) -> Int[np.ndarray, "n"]:
    """Number of the component of each point in the graph of positive entries of a symmetric matrix."""
    return _connected(lambda i: weights[i] > 0, len(weights))


def members_of(labels: Int[np.ndarray, "n"]) -> list[Int[np.ndarray, "_"]]:
    """The points of each component, ascending."""
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])


def placed(
    parts: list[tuple[Int[np.ndarray, "_"], Float[np.ndarray, "_ k"]]],
    D: Float[np.ndarray, "n n"],
    layout: Float[np.ndarray, "n k"] | None,
) -> Float[np.ndarray, "n k"]:
    """All points, each part (its members, their points) moved as a rigid body to fit a layout as well as it can.

    Without a layout it is the classical scaling of the known distances; what these don't connect is put side by side.
    """
    k = parts[0][1].shape[1]
    X = np.zeros((len(D), k))
    groups = [np.arange(len(D))] if layout is not None else members_of(_connected(lambda i: np.isfinite(D[i]), len(D)))
    edge = None
    for group in groups:
        at = start_of(D, group, k) if layout is None else layout
        target = np.zeros((len(D), k))
        target[group] = at
        inside = np.isin(np.arange(len(D)), group)
        for members, points in parts:
            if inside[members[0]]:
                X[members] = _moved_onto(points, target[members])
        if layout is None and len(groups) > 1:
            low, high = X[group].min(axis=0), X[group].max(axis=0)
            width = float((high - low).max())
            if edge is not None:
                X[group, 0] += edge[0] + _GAP * max(width, edge[1]) - low[0]
            edge = float(X[group, 0].max()), max(width, 0.0 if edge is None else edge[1])
    return X


def start_of(D: Float[np.ndarray, "n n"], members: Int[np.ndarray, "m"], k: int) -> Float[np.ndarray, "m k"]:
    """Classical scaling of some points; fewer points than dimensions leave the others zero."""
    own = completed(D[np.ix_(members, members)])
    found = scaled_from(own, min(k, len(members)))
    return np.pad(found, ((0, 0), (0, k - found.shape[1])))


def _moved_onto(points: Float[np.ndarray, "m k"], target: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "m k"]:
    """R p + t, with R orthogonal (a reflection is allowed), that comes nearest to the target: Σ ‖R p_i + t − q_i‖² least."""
    centre, aim = points.mean(axis=0), target.mean(axis=0)
    left, _, right = np.linalg.svd((points - centre).T @ (target - aim))
    return (points - centre) @ (left @ right) + aim


def _connected(neighbours: Callable[[int], Bool[np.ndarray, "n"]], n: int) -> Int[np.ndarray, "n"]:
    """Number of the component of each point, in the order of their first points, from rows of the adjacency matrix."""
    labels = np.full(n, -1, np.int64)
    n_open, count = n, 0
    while n_open:
        first = int((labels < 0).argmax())
        labels[first] = count
        n_open -= 1
        frontier = [first]
        while frontier and n_open:
            new = np.flatnonzero(neighbours(frontier.pop()) & (labels < 0))
            labels[new] = count
            n_open -= len(new)
            frontier.extend(new.tolist())
        count += 1
    return labels
