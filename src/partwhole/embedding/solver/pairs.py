"""The distances and weights of multidimensional scaling, validated once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy import sparse

# entries of a temporary block of rows, so that it stays small beside the matrices
BLOCK_ENTRIES = 1 << 20
# what rounding does to matrices that are symmetric in exact arithmetic, float32 included
_ROUNDING = 1e-5
# below this share of weighted pairs a list of them is quicker than all pairs
SPARSE = 0.15
# unless there are so few points that it doesn't matter
SMALL = 256


def row_blocks(n: int) -> Iterator[slice]:
    """Slices of rows, so that intermediate results stay small beside an n×n matrix."""
    height = max(1, BLOCK_ENTRIES // n)
    for start in range(0, n, height):
        yield slice(start, start + height)


@dataclass(frozen=True, eq=False)
class DensePairs:
    """All pairs. Distances times `unit` and weights times `weight_unit` are at most 1; the units are powers of two, so
    that scaling is exact.

    `weights` has one row for each point, or a single one that serves all if all weights are the same. Distances may be
    anything where the weight is 0; the diagonal of the weights is ignored.
    """

    distances: Float[np.ndarray, "n n"]
    weights: np.ndarray
    unit: float
    weight_unit: float

    def __len__(self) -> int:
        return len(self.distances)

    @property
    def n_pairs(self) -> int:
        return len(self) ** 2

    @property
    def uniform(self) -> bool:
        return len(self.weights) == 1 < len(self)

    def weight_rows(self, rows: slice) -> Float[np.ndarray, "_ n"]:
        """Rows of the scaled weights, with 0 on the diagonal."""
        n = len(self)
        height = len(range(n)[rows])
        block = np.broadcast_to(self.weights[0 if self.uniform else rows], (height, n)) * self.weight_unit
        block[np.arange(height), np.arange(n)[rows]] = 0
        return block

    def among(self, members: Int[np.ndarray, "m"]) -> DensePairs:
        """The pairs of some points, in the same units."""
        weights = self.weights[:, members] if self.uniform else self.weights[np.ix_(members, members)]
        return DensePairs(self.distances[np.ix_(members, members)], weights, self.unit, self.weight_unit)


@dataclass(frozen=True, eq=False)
class ListedPairs:
    """The pairs of positive weight: those of point i are begin[i] to begin[i + 1]. Distances and weights are scaled."""

    begin: Int[np.ndarray, "n_and_1"]
    other: Int[np.ndarray, "p"]
    distances: Float[np.ndarray, "p"]
    weights: Float[np.ndarray, "p"]

    def __len__(self) -> int:
        return len(self.begin) - 1

    @property
    def n_pairs(self) -> int:
        return len(self.other)

    @cached_property
    def matrix(self) -> Any:
        """The scaled weights as a sparse matrix."""
        n = len(self)
        return sparse.csr_array((self.weights, self.other, self.begin), shape=(n, n))

    def weight_rows(self, rows: slice) -> Float[np.ndarray, "_ n"]:
        """Rows of the scaled weights."""
        return self.matrix[rows].toarray()

    def among(self, members: Int[np.ndarray, "m"]) -> ListedPairs:
        """The pairs of some points, in the same units."""
        n = len(self)
        weights = self.matrix[members][:, members]
        distances = sparse.csr_array((self.distances, self.other, self.begin), shape=(n, n))[members][:, members]
        return ListedPairs(
            weights.indptr.astype(np.int64), weights.indices.astype(np.int32), distances.data, weights.data
        )


WeightedPairs = DensePairs | ListedPairs


def checked_pairs(distances: ArrayLike, weights: Any) -> tuple[Float[np.ndarray, "n n"], WeightedPairs, float, float]:
    """Checked distances, the weighted pairs among them, and the powers of two by which both are scaled."""
    D = checked_distances(distances)
    if weights is None:
        unknown = _first(D, lambda block, _: ~np.isfinite(block))
        if unknown is not None:
            raise ValueError(
                f"distances[{unknown[0]}, {unknown[1]}] is {D[unknown]}; "
                "where distances are not known give weights, zero there: weights=np.isfinite(distances)"
            )
        unit = _unit(max((float(D[rows].max()) for rows in row_blocks(len(D))), default=0.0))
        return D, DensePairs(D, np.ones((1, len(D)), np.uint8), unit, 1.0), unit, 1.0
    if sparse.issparse(weights):
        return _listed_from_sparse(D, weights)
    W = _checked_weights(weights, D)
    largest = np.zeros(2)
    n_weighted = n_same = 0
    for rows in row_blocks(len(D)):
        weights = _without_diagonal(W, rows)
        weighted = weights > 0
        n_weighted += int(np.count_nonzero(weighted))
        n_same += int(np.count_nonzero(weights == W[0, -1]))
        largest = np.maximum(largest, [D[rows].max(initial=0.0, where=weighted), weights.max()])
    unit, weight_unit = _unit(largest[0]), _unit(largest[1])
    n = len(D)
    if n_weighted == n_same == n * n - n:
        W = np.full((1, n), W[0, -1])
    elif n > SMALL and n_weighted < SPARSE * n * n:
        return D, _listed(D, W, unit, weight_unit), unit, weight_unit
    return D, DensePairs(D, W, unit, weight_unit), unit, weight_unit


def checked_distances(distances: ArrayLike) -> Float[np.ndarray, "n n"]:
    """A symmetric matrix without negative entries and with a zero diagonal, row by row in memory; NaN and inf may occur.

    It is the caller's own array wherever that will do.
    """
    D = np.asarray(distances)
    if D.ndim != 2 or D.shape[0] != D.shape[1] or not len(D):
        raise ValueError(f"distances has shape {D.shape}; give a square matrix, one row and one column for each point")
    D = _of_floats(D, "distances")
    negative = _first(D, lambda block, _: block < 0)
    if negative is not None:
        raise ValueError(f"distances[{negative[0]}, {negative[1]}] is {D[negative]}; distances can't be negative")
    off = np.flatnonzero(D.diagonal() != 0)
    if len(off):
        raise ValueError(
            f"distances[{off[0]}, {off[0]}] is {D[off[0], off[0]]}; a point is at distance 0 from itself: "
            "turn similarities into distances first, or set the diagonal to 0"
        )
    return _symmetric(D, "distances")


def checked_n_components(n_components: int, n: int) -> None:
    if not isinstance(n_components, Integral) or not 1 <= n_components <= n:
        raise ValueError(
            f"n_components={n_components} must be a whole number from 1 to n_samples={n}, the number of points"
        )


def _checked_weights(weights: ArrayLike, D: Float[np.ndarray, "n n"]) -> np.ndarray:
    W = np.asarray(weights)
    if W.shape != D.shape:
        raise ValueError(f"weights has shape {W.shape}; give one weight for each distance, shape {D.shape}")
    W = np.ascontiguousarray(W).view(np.uint8) if W.dtype == bool else _of_floats(W, "weights")
    bad = _first(W, lambda block, _: ~((block >= 0) & (block < np.inf)))
    if bad is not None:
        raise ValueError(f"weights[{bad[0]}, {bad[1]}] is {W[bad]}; weights are finite and not negative")
    W = _symmetric(W, "weights")
    unknown = _first(D, lambda block, rows: ~np.isfinite(block) & (W[rows] > 0))
    if unknown is not None:
        _raise_unknown(D, *unknown)
    if len(D) > 1 and all(not np.any(_without_diagonal(W, rows)) for rows in row_blocks(len(W))):
        raise ValueError("weights are zero for all pairs: nothing says where points belong; give some pairs a weight")
    return W


def _without_diagonal(W: np.ndarray, rows: slice) -> np.ndarray:
    block = W[rows].copy()
    block[np.arange(len(block)), np.arange(len(W))[rows]] = 0
    return block


def _raise_unknown(D: Float[np.ndarray, "n n"], i: int, j: int) -> None:
    raise ValueError(
        f"distances[{i}, {j}] is {D[i, j]} but its weight is not zero; give weight 0 to distances that aren't known"
    )


def _of_floats(matrix: np.ndarray, name: str) -> np.ndarray:
    if matrix.dtype.kind not in "fiub":
        raise ValueError(f"{name} has entries of type {matrix.dtype}; give real numbers")
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    # symmetric, so its transpose will do where that needs no copy; symmetry is checked next
    return np.ascontiguousarray(matrix.T if matrix.flags.f_contiguous else matrix)


def _symmetric(matrix: np.ndarray, name: str) -> np.ndarray:
    """The matrix itself if it is symmetric; the mean with its transpose if it is so but for rounding."""
    exact = True
    for rows in row_blocks(len(matrix)):
        # what lies left of the diagonal was met in an earlier block
        block, turned = matrix[rows, rows.start :], np.ascontiguousarray(matrix[rows.start :, rows].T)
        if np.array_equal(block, turned):
            continue
        different = (block != turned) & ~(np.isnan(block) & np.isnan(turned))
        exact = exact and not different.any()
        with np.errstate(invalid="ignore"):
            wrong = different & ~(np.abs(block - turned) <= _ROUNDING * np.minimum(block, turned))
        if wrong.any():
            i, j = np.unravel_index(wrong.argmax(), wrong.shape)
            i, j = i + rows.start, j + rows.start
            raise ValueError(
                f"{name} is not symmetric: [{i}, {j}] is {matrix[i, j]}, [{j}, {i}] is {matrix[j, i]}; "
                f"use ({name} + {name}.T) / 2 if it should be"
            )
    if exact:
        return matrix
    mean = np.empty_like(matrix)
    for rows in row_blocks(len(matrix)):
        np.add(matrix[rows], matrix[:, rows].T, out=mean[rows])
        mean[rows] /= 2
    return mean


def _first(matrix: np.ndarray, condition: Callable[[np.ndarray, slice], np.ndarray]) -> tuple[int, int] | None:
    """Row and column of the first entry for which the condition holds."""
    for rows in row_blocks(len(matrix)):
        found = condition(matrix[rows], rows)
        if found.any():
            i, j = np.unravel_index(found.argmax(), found.shape)
            return int(i) + rows.start, int(j)
    return None


def _unit(largest: float) -> float:
    """A power of two that brings `largest` to between ½ and 1."""
    return float(np.ldexp(1.0, -int(np.frexp(largest)[1]))) if largest > 0 else 1.0


def _listed(D: Float[np.ndarray, "n n"], W: np.ndarray, unit: float, weight_unit: float) -> ListedPairs:
    counts, others, d, w = [np.zeros(1, np.int64)], [], [], []
    for rows in row_blocks(len(D)):
        block = _without_diagonal(W, rows)
        row, column = np.nonzero(block)
        counts.append(np.bincount(row, minlength=len(block)))
        others.append(column.astype(np.int32))
        d.append(D[rows][row, column].astype(float) * unit)
        w.append(block[row, column].astype(float) * weight_unit)
    begin = np.cumsum(np.concatenate(counts))
    return ListedPairs(begin, np.concatenate(others), np.concatenate(d), np.concatenate(w))


def _listed_from_sparse(
    D: Float[np.ndarray, "n n"], weights: Any
) -> tuple[Float[np.ndarray, "n n"], WeightedPairs, float, float]:
    if weights.shape != D.shape:
        raise ValueError(f"weights has shape {weights.shape}; give one weight for each distance, shape {D.shape}")
    W = sparse.csr_array(weights, dtype=np.float64, copy=True)
    W.sum_duplicates()
    if not np.all((W.data >= 0) & (W.data < np.inf)):
        worst = W.data[~((W.data >= 0) & (W.data < np.inf))][0]
        raise ValueError(f"weights has an entry {worst}; weights are finite and not negative")
    if len(D) and abs(W - W.T).max() > _ROUNDING * W.max():
        raise ValueError("weights is not symmetric; use (weights + weights.T) / 2 if it should be")
    W = ((W + W.T) / 2).tocoo()
    kept = (W.row != W.col) & (W.data > 0)
    W = sparse.csr_array((W.data[kept], (W.row[kept], W.col[kept])), shape=W.shape)
    if len(D) > 1 and W.nnz == 0:
        raise ValueError("weights are zero for all pairs: nothing says where points belong; give some pairs a weight")
    row = np.repeat(np.arange(len(D)), np.diff(W.indptr))
    d = D[row, W.indices].astype(np.float64)
    if not np.isfinite(d).all():
        worst = int(np.argmin(np.isfinite(d)))
        _raise_unknown(D, int(row[worst]), int(W.indices[worst]))
    unit, weight_unit = _unit(d.max(initial=0.0)), _unit(W.data.max(initial=0.0))
    listed = ListedPairs(W.indptr.astype(np.int64), W.indices.astype(np.int32), d * unit, W.data * weight_unit)
    return D, listed, unit, weight_unit
