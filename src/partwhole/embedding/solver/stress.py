"""Stress, its gradient, and the quadratic that majorises it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy import sparse
from scipy.linalg import cho_solve, cholesky
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from partwhole.embedding.solver.pairs import DensePairs, ListedPairs, WeightedPairs, row_blocks
from partwhole.embedding.solver.threads import RowThreads

Solve = Callable[[Float[np.ndarray, "n k"]], Float[np.ndarray, "n k"]]

# above so many points the factor is kept in single precision: half the memory, and less than half the time
DOUBLE = 2000
# a sparse factor is quicker than a dense one below this share of pairs, if it doesn't fill in
SPARSE = 0.05
# it doesn't if weights are local: then, in a good order of the points, they lie in a band of this share of the width
_BAND = 1 / 3
# a share of the degrees, added to the diagonal: rounding then can't make the matrix indefinite
_RIDGE = {np.float64: 1e-12, np.float32: 1e-5}


class Stress:
    """σ(X) = Σ_{i<j} w_ij (‖x_i − x_j‖ − d_ij)² on checked pairs."""

    def __init__(self, pairs: WeightedPairs, threads: RowThreads) -> None:
        self.pairs, self.threads = pairs, threads

    def __call__(self, X: Float[np.ndarray, "n k"]) -> tuple[float, Float[np.ndarray, "n k"]]:
        """σ(X) and ½ ∇σ(X) = V X − B(X) X."""
        from partwhole.embedding.solver.cpu.stress import listed_stress_rows, stress_rows

        n, k = X.shape
        stress, gradient = np.empty(n), np.empty((k, n))
        out = (stress, gradient)
        given = self.pairs
        if isinstance(given, DensePairs):
            points = np.ascontiguousarray(X.T)
            dense = (points, given.distances, given.unit, given.weights, given.weight_unit, given.uniform)
            self.threads(stress_rows, dense, out)
        else:
            points = np.ascontiguousarray(X)
            listed = (points, given.begin, given.other, given.distances, given.weights)
            self.threads(listed_stress_rows, listed, out)
        # each pair was met twice
        return float(stress.sum()) / 2, gradient.T


def laplacian_solver(pairs: WeightedPairs) -> Solve:
    """G ↦ the solution of V Z = G with zero mean, V = diag(W1) − W, for columns of G that sum to zero; factored once.

    V majorises: σ(X + Z) ≤ σ(X) + 2⟨G, Z⟩ + ⟨Z, V Z⟩ with G = ½ ∇σ(X), so X − V⁻¹ G never has more stress than X. So
    does what is factored in its place where that is not V to the last digit, since it is V with a little more on its
    diagonal; it has a part in how fast the minimum is found, and none in where it is. The graph of weights must be connected.
    """
    n = len(pairs)
    if n == 1:
        return np.zeros_like
    if isinstance(pairs, ListedPairs):
        return _sparse_solver(pairs) if pairs.n_pairs < SPARSE * n**2 and _local(pairs) else _dense_solver(pairs)
    if pairs.uniform:
        # V = w (n I − 11ᵀ) with the one weight w
        weight = float(pairs.weights[0, 0]) * pairs.weight_unit
        return lambda G: (G - G.mean(axis=0)) / (n * weight)
    return _dense_solver(pairs)


def _local(pairs: ListedPairs) -> bool:
    place = np.empty(len(pairs), np.int64)
    place[reverse_cuthill_mckee(sparse.csr_matrix(pairs.matrix), symmetric_mode=True)] = np.arange(len(pairs))
    one = np.repeat(place, np.diff(pairs.begin))
    return int(np.abs(one - place[pairs.other]).max()) < _BAND * len(pairs)


def _dense_solver(pairs: WeightedPairs) -> Solve:
    n = len(pairs)
    dtype = np.float64 if n <= DOUBLE else np.float32
    degrees = np.concatenate([pairs.weight_rows(rows).sum(axis=1, dtype=float) for rows in row_blocks(n)])
    root = np.sqrt(degrees)
    # √deg is what V / √(deg degᵀ) takes to zero; it gets eigenvalue 1, like the others, and no right side has a share in it
    null = root / np.sqrt(degrees.sum())
    V = np.empty((n, n), dtype)
    for rows in row_blocks(n):
        V[rows] = null[rows, None] * null - pairs.weight_rows(rows) / root[rows, None] / root
    V[np.diag_indices(n)] += dtype(1 + _RIDGE[dtype])
    factor = cholesky(V.T, lower=True, overwrite_a=True, check_finite=False)

    def solve(G: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        right = G / root[:, None]
        # near the minimum G is smaller than single precision can hold
        largest = float(np.abs(right).max()) or 1.0
        right = np.asfortranarray(right / largest, dtype)
        Z = cho_solve((factor, True), right, overwrite_b=True, check_finite=False) * (largest / root[:, None])
        return Z - Z.mean(axis=0)

    return solve


def _sparse_solver(pairs: ListedPairs) -> Solve:
    weights = pairs.matrix
    degrees = weights.sum(axis=1)
    # one point is held where it is; without it the matrix is positive definite, and stays sparse
    held = int(degrees.argmax())
    free = np.delete(np.arange(len(pairs)), held)
    V = sparse.csc_array(sparse.diags_array(degrees * (1 + _RIDGE[np.float64])) - weights)[free][:, free]
    factor = splu(
        sparse.csc_matrix(V), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}, diag_pivot_thresh=0.0
    )

    def solve(G: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        Z = np.zeros(G.shape)
        Z[free] = factor.solve(np.ascontiguousarray(G[free]))
        return Z - Z.mean(axis=0)

    return solve
