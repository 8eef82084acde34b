"""Stress and its gradient in one pass over distances and weights, without an n×n array in between.

Coordinates come as rows of a (k, n) array, so that a loop over points is one over neighbouring numbers. Points are taken
in chunks that stay in the first-level cache; each loop over a chunk is plain enough for LLVM to turn it into vector
instructions. A row of the result depends on nothing but its own row, so it is the same however rows are shared out.
"""

from __future__ import annotations

import numpy as np

from partwhole.store.compute import njit

CHUNK = 512


# sums may be taken in any order, and multiply-adds fused; NaN and inf keep their meaning, since absent distances are that
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def stress_rows(points, distances, unit, weights, weight_unit, shared, start, stop, stress, gradient):
    """For rows i: stress_i = Σ_j w_ij (r_ij − d_ij)², gradient_i = Σ_j w_ij (1 − d_ij / r_ij) (x_i − x_j).

    d and w are multiplied by their units; d may be anything where w is 0. With `shared`, one row of weights serves all.
    Where points coincide d / r counts as 0.
    """
    k, n = points.shape
    length = np.empty(CHUNK)
    pull = np.empty(CHUNK)
    for i in range(start, stop):
        d_row = distances[i]
        w_row = weights[0 if shared else i]
        total = 0.0
        for c in range(k):
            gradient[c, i] = 0.0
        for first in range(0, n, CHUNK):
            size = min(CHUNK, n - first)
            length[:size] = 0.0
            for c in range(k):
                here = points[c, i]
                row = points[c, first : first + size]
                for j in range(size):
                    length[j] += (here - row[j]) ** 2
            d_part = d_row[first : first + size]
            w_part = w_row[first : first + size]
            for j in range(size):
                w = np.float64(w_part[j]) * weight_unit
                d = np.float64(d_part[j]) * unit if w > 0.0 else 0.0
                r = np.sqrt(length[j])
                inverse = 1.0 / r if r > 0.0 else 0.0
                total += w * (r - d) * (r - d)
                pull[j] = w * (1.0 - d * inverse)
            for c in range(k):
                here = points[c, i]
                row = points[c, first : first + size]
                force = 0.0
                for j in range(size):
                    force += pull[j] * (here - row[j])
                gradient[c, i] += force
        stress[i] = total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def listed_stress_rows(points, begin, other, distances, weights, start, stop, stress, gradient):
    """The same over listed pairs: row i holds the pairs begin[i] to begin[i + 1], with `other` points."""
    k = points.shape[1]
    for i in range(start, stop):
        total = 0.0
        for c in range(k):
            gradient[c, i] = 0.0
        for p in range(begin[i], begin[i + 1]):
            j = other[p]
            squared = 0.0
            for c in range(k):
                squared += (points[i, c] - points[j, c]) ** 2
            r = np.sqrt(squared)
            inverse = 1.0 / r if r > 0.0 else 0.0
            w, d = weights[p], distances[p]
            total += w * (r - d) * (r - d)
            pull = w * (1.0 - d * inverse)
            for c in range(k):
                gradient[c, i] += pull * (points[i, c] - points[j, c])
        stress[i] = total
