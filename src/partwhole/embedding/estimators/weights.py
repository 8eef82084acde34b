"""Weights of pairs, from what a criterion guarantees and from their distance."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from partwhole.criterion.points import RTOL
from partwhole.embedding.estimators.inputs import SurfaceInput
from partwhole.embedding.graph.point_clouds import neighbour_spacing
from partwhole.embedding.solver.components import components_of_weights
from partwhole.embedding.solver.pairs import row_blocks

# On a surface about as many pairs as d have a distance near d, and a relative error of theirs adds w d² to the stress.
# With w = d⁻⁴ every octave of distances would count alike; with one power more, far pairs hold the map together and near
# ones, which are the most exact along a graph, shape it. Chosen between 0 and 6 on Swiss rolls, see docs/lab-notebook.md.
FALLOFF = 5.0

# The median of |e| times this is the deviation of e if errors are normal, whatever a few of them are.
_DEVIATIONS_PER_MEDIAN = 1.4826

# What is far counts little, but pieces that far pairs alone connect must stay connected.
_LEAST = 1e-9


def pair_weights(
    guaranteed: np.ndarray, distances: Float[np.ndarray, "m n"], *, small: float, unit: float, falloff: float
) -> np.ndarray:
    """w = g min(1, (unit / d)^falloff), or 1 where d ≤ small.

    Parameters
    ----------
    guaranteed : g, a mask, or numbers from 0 to 1
    distances : d; a pair without a path, at distance inf, has weight 0
    small : distances up to this one count whatever is guaranteed
    unit : from here on weights fall
    falloff : 0 weighs all guaranteed pairs alike; weights are a mask then if `guaranteed` is one, and otherwise in
        single precision

    Examples
    --------
    >>> pair_weights(np.array([[True, True, False, False]]), np.array([[1.0, 4.0, 4.0, 1.0]]), small=1.0, unit=2.0, falloff=2)
    array([[1.  , 0.25, 0.  , 1.  ]], dtype=float32)
    """
    near = distances <= small
    if falloff == 0:
        return np.where(near, guaranteed.dtype.type(1), guaranteed) if guaranteed.dtype != bool else guaranteed | near
    weights = np.empty(distances.shape, np.float32)
    for rows in row_blocks(len(distances)):
        # the base is the same number for (i, j) and (j, i), so the weights are symmetric where distances are
        fall = np.maximum((unit / np.maximum(distances[rows], unit)) ** falloff, _LEAST)
        weights[rows] = fall * (guaranteed[rows] * np.isfinite(distances[rows]))
        weights[rows][near[rows]] = 1
    return weights


def fade_detours(
    weights: Float[np.ndarray, "n n"],
    distances: Float[np.ndarray, "n n"],
    embedding: Float[np.ndarray, "n k"],
    *,
    small: float,
    tolerance: float,
) -> int:
    """w ← w min(1, (t / e)²) where d > small, with e = (d − r) / d for distances r on the map; how many pairs lose weight.

    A gap that a boundary lets through can only have lengthened a distance, never shortened it, so what is longer than on
    the map is doubtful, and what is shorter is not. t is `tolerance` deviations of e, as its median size tells them: a few
    pairs that are wrong don't change it, and noise, which spreads all pairs, raises it.

    Examples
    --------
    >>> places = np.arange(5.0)[:, None]
    >>> D = np.abs(places - places.T)
    >>> D[0, 4] = D[4, 0] = 5
    >>> weights = np.ones((5, 5))
    >>> fade_detours(weights, D, places * 0.99, small=0.5, tolerance=3.0)
    1
    >>> weights[0].round(2).tolist()
    [1.0, 1.0, 1.0, 1.0, 0.05]
    """
    from scipy.spatial.distance import cdist

    def excess(rows: slice) -> tuple[Bool[np.ndarray, "m n"], Float[np.ndarray, "p"]]:
        far = (weights[rows] > 0) & (distances[rows] > small)
        d = distances[rows][far].astype(np.float64)
        return far, 1 - cdist(embedding[rows], embedding)[far] / d

    sizes = [np.abs(excess(rows)[1]).astype(np.float32) for rows in row_blocks(len(weights))]
    if not any(map(len, sizes)):
        return 0
    median = float(np.median(np.concatenate(sizes), overwrite_input=True))
    del sizes
    t = max(tolerance * _DEVIATIONS_PER_MEDIAN * median, RTOL)  # where all is exact, what is left is rounding
    faded = 0
    for rows in row_blocks(len(weights)):
        far, e = excess(rows)
        w = weights[rows][far]
        weights[rows][far] = np.maximum(w * (t / np.maximum(e, t)) ** 2, np.minimum(w, _LEAST))
        faded += int(np.count_nonzero(e > t))
    return faded // 2


def with_joined_pieces(
    weights: np.ndarray, distances: Float[np.ndarray, "n n"], *, largest: int, count: int
) -> np.ndarray:
    """The same weights, but pieces that they leave apart, of up to `largest` points, are joined to the rest.

    Each point of such a piece gets weight 1 with the `count` nearest points outside it that a path leads to: a few points
    by themselves at a corner, with nothing guaranteed, still belong where their neighbours are.
    """
    labels = components_of_weights(weights)
    sizes = np.bincount(labels)
    small = np.flatnonzero(sizes <= largest)
    if len(sizes) == 1 or not len(small):
        return weights
    weights = weights.copy()
    for piece in small:
        members = np.flatnonzero(labels == piece)
        for i in members:
            lengths = distances[i].copy()
            lengths[members] = np.inf
            nearest = np.argsort(lengths, kind="stable")[:count]
            nearest = nearest[np.isfinite(lengths[nearest])]
            weights[i, nearest] = weights[nearest, i] = 1
    return weights


def chosen_falloff(falloff: Any, given: SurfaceInput) -> float:
    """The number that was given; for "auto" `FALLOFF` where distances run along a graph, and otherwise 0."""
    if isinstance(falloff, str) and falloff == "auto":
        return FALLOFF if given.along_graph else 0.0
    if not (isinstance(falloff, int | float | np.integer | np.floating) and 0 <= falloff < np.inf):
        raise ValueError(
            f'falloff must be "auto" or a finite number, at least 0, which weighs all pairs alike; got {falloff!r}'
        )
    return float(falloff)


def check_tolerance(tolerance: Any) -> None:
    """Raise a ValueError for what is neither None nor a positive number."""
    if tolerance is not None and not (
        isinstance(tolerance, int | float | np.integer | np.floating) and 0 < tolerance < np.inf
    ):
        raise ValueError(
            f"detour_tolerance must be None or a finite number of deviations above 0, 3 by default; got {tolerance!r}"
        )


def unit_distance(distances: Float[np.ndarray, "n n"], *, small: float, n_neighbors: int) -> float:
    """The small distance; if that is 0 the neighbour spacing; if most points coincide, the least distance that is not 0."""
    unit = small or neighbour_spacing(distances, n_neighbors=n_neighbors)
    unit = unit or float(distances.min(initial=np.inf, where=distances > 0))
    return unit if np.isfinite(unit) else 1.0
