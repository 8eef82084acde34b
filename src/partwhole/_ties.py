"""Ties: of values that are equal up to rounding, which differs between processors, the first is chosen everywhere."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

# values that differ from the best by less, relatively, count as equal to it
_EQUAL = 1e-6


def first_largest(values: ArrayLike) -> int:
    """The number of the first value that no other exceeds by more than rounding.

    >>> first_largest([1.0, 3.0 - 1e-12, 3.0]), first_largest([1.0, np.inf, np.inf]), first_largest([2.0, 3.0])
    (1, 1, 1)
    """
    given = np.asarray(values)
    largest = given.max()
    return int(np.argmax(given >= (largest - _EQUAL * abs(largest) if np.isfinite(largest) else largest)))


def first_smallest(values: ArrayLike) -> int:
    """The number of the first value that exceeds no other by more than rounding.

    >>> first_smallest([2.0, 1.0 + 1e-12, 1.0])
    1
    """
    return first_largest(-np.asarray(values))


def with_fixed_signs(vectors: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """Each column times ±1, so that its entry of largest magnitude is positive; the first of those equal up to rounding.

    Eigenvectors are defined up to their sign, and libraries return either. On symmetric input several entries have the
    largest magnitude, and rounding alone would decide which of them it is.

    >>> with_fixed_signs(np.array([[-2.0, 1.0], [2.0 + 1e-12, -3.0]])).round(6).tolist()
    [[2.0, -1.0], [-2.0, 3.0]]
    """
    deciding = [column[first_largest(np.abs(column))] for column in vectors.T]
    return vectors * np.where(np.less(deciding, 0), -1.0, 1.0)
