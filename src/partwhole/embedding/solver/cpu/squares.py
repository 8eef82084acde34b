"""The product of squared distances with a few vectors, without an array of the squares."""

from __future__ import annotations

import numpy as np

from partwhole.store.compute import njit


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def squares_rows(distances, unit, vectors, start, stop, out):
    """out[c, i] = Σ_j (unit · d_ij)² vectors[c, j] for rows i."""
    k, n = vectors.shape
    for i in range(start, stop):
        row = distances[i]
        for c in range(k):
            vector = vectors[c]
            total = 0.0
            for j in range(n):
                d = np.float64(row[j]) * unit
                total += d * d * vector[j]
            out[c, i] = total
