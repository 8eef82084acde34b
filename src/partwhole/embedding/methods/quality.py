"""How good a map is: its error against true flat coordinates, and its stress against distances."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

AlignmentFit = Literal["similarity", "affine"]

# Rows of pairs that are compared at a time.
_BLOCK_ROWS = 256


def procrustes_error(embedding: ArrayLike, truth: ArrayLike, *, fit: AlignmentFit = "similarity") -> float:
    """√(Σ ‖f(x_i) − y_i‖² / Σ ‖y_i − ȳ‖²), f the map of its kind that makes it least.

    The root mean square residual after the best fit, divided by the root mean square distance of the true coordinates
    from their mean: 0 is a perfect map, 1 is as good as a single point. f is a similarity (one scale, a rotation or
    reflection, a shift) or any affine map, which also undoes a scale for each axis and a shear. Methods that normalise
    their axes lose the proportions of the sheet; only the affine error is fair to them.

    Parameters
    ----------
    embedding : (n, k) places
    truth : (n, d) where the points belong
    fit : "similarity" or "affine"

    Examples
    --------
    >>> square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    >>> turned_and_larger = 3 * square[:, ::-1] + 5
    >>> print(f"{procrustes_error(turned_and_larger, square):.3f}")
    0.000
    >>> stretched = square * [1, 2]
    >>> print(f"{procrustes_error(stretched, square):.3f} {procrustes_error(stretched, square, fit='affine'):.3f}")
    0.316 0.000
    """
    X, Y = _checked(embedding, truth)
    moved = aligned(X, Y, fit=fit)
    return float(np.sqrt(((moved - Y) ** 2).sum() / ((Y - Y.mean(axis=0)) ** 2).sum()))


def aligned(embedding: ArrayLike, truth: ArrayLike, *, fit: AlignmentFit = "similarity") -> Float[np.ndarray, "n d"]:
    """f(x_i), with f the similarity, or affine map, for which Σ ‖f(x_i) − y_i‖² is least."""
    X, Y = _checked(embedding, truth)
    centre = Y.mean(axis=0)
    X, Y = X - X.mean(axis=0), Y - centre
    if fit == "affine":
        return X @ np.linalg.lstsq(X, Y, rcond=None)[0] + centre
    if fit != "similarity":
        raise ValueError(f'fit must be "similarity" or "affine", got {fit!r}')
    left, sizes, right = np.linalg.svd(X.T @ Y, full_matrices=False)
    energy = (X**2).sum()
    return (sizes.sum() / energy if energy else 0.0) * X @ left @ right + centre


def map_stress(
    embedding: ArrayLike, distances: Float[np.ndarray, "n n"], *, mask: Bool[np.ndarray, "n n"] | None = None
) -> float:
    """min over s of √(Σ (s ‖x_i − x_j‖ − d_ij)² / Σ d_ij²), over pairs of the mask whose distance is finite.

    The scale s is free, since some methods choose their own; 0 is exact, 1 is as good as a single point.

    >>> map_stress([[0.0], [2.0], [6.0]], np.array([[0.0, 1, 3], [1, 0, 2], [3, 2, 0]]))
    0.0
    """
    X = np.asarray(embedding, dtype=np.float64)
    squares = np.einsum("nk,nk->n", X, X)
    both = measured = mapped = 0.0
    for start in range(0, len(X), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        counts = np.isfinite(distances[rows])
        if mask is not None:
            counts &= mask[rows]
        r = np.sqrt(np.maximum(squares[rows, None] + squares - 2 * X[rows] @ X.T, 0)) * counts
        d = np.where(counts, distances[rows], 0).astype(np.float64)
        both, measured, mapped = both + (r * d).sum(), measured + (d * d).sum(), mapped + (r * r).sum()
    if measured == 0:
        return 0.0
    # with the best scale, Σrd / Σr², what is left of Σd² is Σd² − (Σrd)² / Σr²
    return float(np.sqrt(max(0.0, 1 - (both**2 / mapped if mapped else 0.0) / measured)))


def _checked(embedding: ArrayLike, truth: ArrayLike) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, "n d"]]:
    X, Y = np.asarray(embedding, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y):
        raise ValueError(f"embedding and truth must have a row for each point, got shapes {X.shape} and {Y.shape}")
    if not (np.isfinite(X).all() and np.isfinite(Y).all()):
        raise ValueError("embedding and truth must be finite")
    if not np.ptp(Y, axis=0).any():
        raise ValueError("truth has all points at one place; an error has no unit there")
    return X, Y
