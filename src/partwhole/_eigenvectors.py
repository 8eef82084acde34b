"""A sign for each eigenvector, the same on every machine."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

# entries whose magnitudes differ by less, relatively, count as equal: rounding differs between processors
_EQUAL = 1e-6


def with_fixed_signs(vectors: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """Each column times ±1, so that its entry of largest magnitude is positive; the first of those equal up to rounding.

    Eigenvectors are defined up to their sign, and libraries return either. On symmetric input several entries have the
    largest magnitude, and rounding alone would decide which of them it is.

    >>> with_fixed_signs(np.array([[-2.0, 1.0], [2.0 + 1e-12, -3.0]])).tolist()
    [[2.0, -1.0], [-2.000000000001, 3.0]]
    """
    magnitude = np.abs(vectors)
    first = np.argmax(magnitude >= (1 - _EQUAL) * magnitude.max(axis=0, initial=0.0), axis=0)
    return vectors * np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
