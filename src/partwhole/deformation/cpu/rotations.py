"""Rotations of the vertices of a surface that is deformed, and what they make of its edges."""

from __future__ import annotations

import numpy as np

from partwhole.store.compute import njit

# at most so many turns find a rotation; with a good one to begin with two or three do
_TURNS = 20
_SMALL = 1e-9


@njit(cache=True, nogil=True)
def rotate_cells(starts, ends, weights, rest, deformed, rotations, wanted, pull, bend):
    """argmin over R of Σ_ij w_ij (|(y_i − y_j) − R_i d_ij|² + bend |R_i − R_j|²) + Σ_i pull_i |R_i − W_i|².

    One vertex after the other, in place. The neighbours of vertex i are ends[starts[i]:starts[i + 1]], and d_ij, at rest,
    are the rows of `rest` there; W_i is `wanted`.
    """
    n = len(rotations)
    A = np.empty((3, 3))
    for i in range(n):
        for r in range(3):
            for c in range(3):
                A[r, c] = pull[i] * wanted[i, r, c]
        for k in range(starts[i], starts[i + 1]):
            j, w = ends[k], weights[k]
            for r in range(3):
                y = w * (deformed[i, r] - deformed[j, r])
                for c in range(3):
                    A[r, c] += y * rest[k, c] + 2 * bend * w * rotations[j, r, c]
        _turn(A, rotations[i], _TURNS)


@njit(cache=True, nogil=True)
def rotated_differences(starts, ends, weights, rest, rotations):
    """Σ_j w_ij ½ (R_i + R_j) d_ij, for every vertex i."""
    n = len(rotations)
    result = np.zeros((n, 3))
    for i in range(n):
        for k in range(starts[i], starts[i + 1]):
            j, w = ends[k], 0.5 * weights[k]
            for r in range(3):
                for c in range(3):
                    result[i, r] += w * (rotations[i, r, c] + rotations[j, r, c]) * rest[k, c]
    return result


@njit(cache=True, nogil=True)
def _turn(A, R, turns):
    """argmax over rotations R of tr(Rᵀ A), by turning the one given in place (Müller et al. 2016)."""
    for _ in range(turns):
        x = y = z = total = 0.0
        for c in range(3):
            x += R[1, c] * A[2, c] - R[2, c] * A[1, c]
            y += R[2, c] * A[0, c] - R[0, c] * A[2, c]
            z += R[0, c] * A[1, c] - R[1, c] * A[0, c]
            total += R[0, c] * A[0, c] + R[1, c] * A[1, c] + R[2, c] * A[2, c]
        scale = 1.0 / (abs(total) + 1e-300)
        x, y, z = x * scale, y * scale, z * scale
        angle = np.sqrt(x * x + y * y + z * z)
        if angle < _SMALL:
            break
        x, y, z = x / angle, y / angle, z / angle
        cosine, sine = np.cos(angle), np.sin(angle)
        for c in range(3):
            p, q, r = R[0, c], R[1, c], R[2, c]
            along = (x * p + y * q + z * r) * (1 - cosine)
            R[0, c] = p * cosine + (y * r - z * q) * sine + x * along
            R[1, c] = q * cosine + (z * p - x * r) * sine + y * along
            R[2, c] = r * cosine + (x * q - y * p) * sine + z * along
