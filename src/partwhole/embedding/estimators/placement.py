"""Places for new points in an embedding that stays as it is: weighted stress to the points that are there."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

_BLOCK_ENTRIES = 1 << 21


def place(
    distances: Float[np.ndarray, "m n"],
    weights: Float[np.ndarray, "m n"],
    embedding: Float[np.ndarray, "n k"],
    *,
    max_iter: int = 200,
    tol: float = 1e-9,
) -> Float[np.ndarray, "m k"]:
    """argmin over y of Σ_j w_ij (‖y − x_j‖ − d_ij)², for each row i by itself; x_j where d_ij = 0.

    From the place of the nearest point, by Gauss-Newton steps; where such a step doesn't lower the stress, by one of
    majorisation, which always does.

    Parameters
    ----------
    distances : from each new point to those of the embedding
    weights : how much each of them counts; no row may be all zero
    embedding : the points that stay where they are
    max_iter, tol : steps to take at most, and the step, relative to the size of the embedding, that ends it

    Examples
    --------
    >>> corners = np.array([[0.0, 0], [4, 0], [4, 3], [0, 3]])
    >>> new = np.array([[1.0, 2.0]])
    >>> d = np.linalg.norm(new[:, None] - corners, axis=2)
    >>> place(d, np.ones((1, 4)), corners).round(6)
    array([[1., 2.]])
    """
    nearest = np.argmin(distances, axis=1)
    placed = embedding[nearest].astype(np.float64)
    new = np.flatnonzero(distances[np.arange(len(distances)), nearest] > 0)
    size = float(np.ptp(embedding, axis=0).max()) if len(embedding) else 0.0
    height = max(1, _BLOCK_ENTRIES // max(1, embedding.size))
    for start in range(0, len(new), height):
        rows = new[start : start + height]
        placed[rows] = _descend(
            distances[rows].astype(np.float64),
            weights[rows].astype(np.float64),
            embedding,
            _beside(placed[rows], embedding, nearest[rows], distances[rows], weights[rows]),
            max_iter,
            tol * size,
        )
    return placed


def _beside(
    places: Float[np.ndarray, "m k"],
    embedding: Float[np.ndarray, "n k"],
    nearest: Int[np.ndarray, "m"],
    distances: Float[np.ndarray, "m n"],
    weights: Float[np.ndarray, "m n"],
) -> Float[np.ndarray, "m k"]:
    """A little away from the nearest point, towards the mean of those that count: at the point itself stress has a kink."""
    towards = weights @ embedding / weights.sum(axis=1, keepdims=True) - places
    length = np.linalg.norm(towards, axis=1, keepdims=True)
    towards = np.divide(towards, length, out=np.zeros_like(towards), where=length > 0)
    towards[length[:, 0] == 0, 0] = 1
    reach = distances[np.arange(len(nearest)), nearest]
    return places + 1e-3 * reach[:, None] * towards


def _descend(
    d: Float[np.ndarray, "m n"],
    w: Float[np.ndarray, "m n"],
    embedding: Float[np.ndarray, "n k"],
    y: Float[np.ndarray, "m k"],
    max_iter: int,
    smallest: float,
) -> Float[np.ndarray, "m k"]:
    y = y.copy()
    going = np.arange(len(y))
    for _ in range(max_iter):
        apart, r, stress = _measure(y[going], d[going], w[going], embedding)
        u = np.divide(apart, r[..., None], out=np.zeros_like(apart), where=r[..., None] > 0)
        gradient = np.einsum("mn,mnk->mk", w[going] * (r - d[going]), u)
        total = w[going].sum(axis=1)
        curvature = np.einsum("mn,mni,mnj->mij", w[going], u, u)
        # a direction in which nothing is known gets the curvature of majorisation
        curvature += 1e-9 * total[:, None, None] * np.eye(y.shape[1])
        step = -np.linalg.solve(curvature, gradient[..., None])[..., 0]
        worse = _measure(y[going] + step, d[going], w[going], embedding)[2] >= stress
        step[worse] = -gradient[worse] / total[worse, None]
        y[going] += step
        going = going[np.linalg.norm(step, axis=1) > smallest]
        if not len(going):
            break
    return y


def _measure(
    y: Float[np.ndarray, "m k"], d: Float[np.ndarray, "m n"], w: Float[np.ndarray, "m n"], x: Float[np.ndarray, "n k"]
) -> tuple[Float[np.ndarray, "m n k"], Float[np.ndarray, "m n"], Float[np.ndarray, "m"]]:
    """Differences, distances and stress of each place."""
    apart = y[:, None] - x
    r = np.linalg.norm(apart, axis=2)
    return apart, r, np.einsum("mn,mn->m", w, (r - d) ** 2)


def steps_to(
    lengths: Float[np.ndarray, "m k"], neighbours: Int[np.ndarray, "m k"], D: Float[np.ndarray, "n n"], *, detour: float
) -> Float[np.ndarray, "m n"]:
    """Distances of new points to all others: min over neighbours q of |y − q| + D(q, ·).

    A neighbour that lies more than `detour` times as far from the nearest one, along the surface, as the path over the
    new point is on another sheet, and is not used.
    """
    between = D[neighbours[:, :1], neighbours]
    same_sheet: Bool[np.ndarray, "m k"] = between <= detour * (lengths + lengths[:, :1])
    same_sheet[:, 0] = True
    result = np.full((len(lengths), len(D)), np.inf)
    for k in range(lengths.shape[1]):
        paths = lengths[:, k, None] + D[neighbours[:, k]]
        np.minimum(result, paths, out=result, where=same_sheet[:, k, None])
    return result
