from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

from partwhole.embedding.solver.pairs import (
    DensePairs,
    ListedPairs,
    checked_distances,
    checked_n_components,
    checked_pairs,
    row_blocks,
)


def case(n: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    W = rng.random((n, n))
    return squareform(pdist(rng.normal(size=(n, 2)))), W + W.T


def test_blocks_make_up_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partwhole.embedding.solver.pairs.BLOCK_ENTRIES", 20)
    assert [range(7)[rows] for rows in row_blocks(7)] == [range(2), range(2, 4), range(4, 6), range(6, 7)]


def test_arrays_that_will_do_are_not_copied() -> None:
    D, W = case()
    given, pairs, *_ = checked_pairs(D, W)
    assert isinstance(pairs, DensePairs)
    assert given is D
    assert pairs.weights is W
    assert np.shares_memory(checked_distances(np.asfortranarray(D)), D) is False
    fortran = np.asfortranarray(D)
    assert np.shares_memory(checked_distances(fortran), fortran)
    mask = W > 1
    pairs = checked_pairs(D, mask)[1]
    assert isinstance(pairs, DensePairs)
    assert np.shares_memory(pairs.weights, mask)


def test_units_are_powers_of_two_that_bring_the_largest_below_one() -> None:
    D, W = case()
    _, _, unit, weight_unit = checked_pairs(5.0 / D.max() * D, 0.3 / W.max() * W)
    assert (unit, weight_unit) == (1 / 8, 2.0)
    D[0, 1] = D[1, 0] = 1e9
    W[0, 1] = W[1, 0] = 0
    assert checked_pairs(D, W)[2] > 0.01  # a distance without weight has no part in it


def test_integers_become_floats() -> None:
    D = np.array([[0, 3, 4], [3, 0, 5], [4, 5, 0]])
    given, pairs, *_ = checked_pairs(D, D)
    assert given.dtype == np.float64
    np.testing.assert_array_equal(pairs.weight_rows(slice(0, 3)), D / 8)


def test_rounding_is_averaged_away() -> None:
    D, W = case()
    D[1, 2] *= 1 + 1e-7
    W[3, 4] *= 1 + 1e-7
    before = D.copy()
    given, pairs, *_ = checked_pairs(D, W)
    np.testing.assert_array_equal(given, given.T)
    np.testing.assert_array_equal(pairs.weight_rows(slice(0, 6)), pairs.weight_rows(slice(0, 6)).T)
    np.testing.assert_array_equal(D, before)
    assert D[2, 1] < given[1, 2] < D[1, 2]


@pytest.mark.parametrize("weight", [True, 1.0, 0.3])
@pytest.mark.parametrize("on_diagonal", [0, 1, 9])
def test_weights_that_are_all_the_same_are_one_row(weight: float, on_diagonal: float) -> None:
    D, _ = case()
    W = np.full(D.shape, weight)
    np.fill_diagonal(W, on_diagonal)
    _, pairs, _, weight_unit = checked_pairs(D, W)
    assert isinstance(pairs, DensePairs)
    assert pairs.uniform
    np.testing.assert_array_equal(pairs.weight_rows(slice(0, 6)), weight * weight_unit * (1 - np.eye(6)))
    W[0, 3] = W[3, 0] = 0
    assert not checked_pairs(D, W)[1].uniform
    chosen = np.array([1, 4])
    np.testing.assert_array_equal(pairs.among(chosen).weight_rows(slice(0, 2))[0, 1], weight * weight_unit)


def test_few_pairs_are_listed_and_mean_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partwhole.embedding.solver.pairs.SMALL", 10)
    D, W = case(30)
    W[W < 1.8] = 0
    _, listed, unit, weight_unit = checked_pairs(D, W)
    assert isinstance(listed, ListedPairs)
    np.fill_diagonal(W, 0)
    np.testing.assert_array_equal(listed.matrix.toarray(), W * weight_unit)
    assert listed.n_pairs == np.count_nonzero(W)
    row = np.repeat(np.arange(30), np.diff(listed.begin))
    np.testing.assert_array_equal(listed.distances, D[row, listed.other] * unit)
    chosen = np.array([2, 3, 5, 11, 17, 23])
    some = listed.among(chosen)
    np.testing.assert_array_equal(some.matrix.toarray(), W[np.ix_(chosen, chosen)] * weight_unit)
    np.testing.assert_array_equal(some.distances, (D * unit)[np.ix_(chosen, chosen)][some.matrix.nonzero()])


def test_sparse_weights_are_as_dense_ones() -> None:
    D, W = case(30)
    W[W < 1.2] = 0
    W[4, 7] *= 1 + 1e-7
    dense, listed = checked_pairs(D, W)[1], checked_pairs(D, sparse.coo_matrix(W))[1]
    assert isinstance(listed, ListedPairs)
    np.testing.assert_allclose(listed.weight_rows(slice(0, 30)), dense.weight_rows(slice(0, 30)), rtol=1e-12)


def spoiled(matrix: np.ndarray, i: int, j: int, value: float, *, both: bool = True) -> np.ndarray:
    out = matrix.copy()
    out[i, j] = value
    if both:
        out[j, i] = value
    return out


def test_distances_that_are_none() -> None:
    D, _ = case()
    for bad in (D[:4], D[0], np.empty((0, 0))):
        with pytest.raises(ValueError, match=r"distances has shape .*; give a square matrix"):
            checked_distances(bad)
    with pytest.raises(ValueError, match="distances has entries of type complex128; give real numbers"):
        checked_distances(D * 1j)
    with pytest.raises(ValueError, match=r"distances\[1, 2\] is -1.0; distances can't be negative"):
        checked_distances(spoiled(D, 1, 2, -1.0))
    with pytest.raises(ValueError, match=r"distances\[3, 3\] is 1.0; a point is at distance 0 from itself"):
        checked_distances(D + np.diag([0, 0, 0, 1.0, 0, 0]))
    for value in (9.0, np.nan, np.inf):  # known on one side only is no symmetry either
        with pytest.raises(ValueError, match=r"distances is not symmetric: \[1, 2\] is .*, \[2, 1\] is 0"):
            checked_distances(spoiled(D / 100, 1, 2, value, both=False))


@pytest.mark.parametrize("k", [0, 6, 2.5])
def test_a_number_of_components_that_is_none(k: float) -> None:
    with pytest.raises(ValueError, match=f"n_components={k} must be a whole number from 1 to n_samples=5"):
        checked_n_components.__wrapped__(k, 5)


def test_unknown_distances_need_weight_zero() -> None:
    D, W = case()
    for value in (np.nan, np.inf):
        unknown = spoiled(D, 1, 2, value)
        with pytest.raises(
            ValueError, match=r"distances\[1, 2\] is (nan|inf); where .* weights=np.isfinite\(distances\)"
        ):
            checked_pairs(unknown, None)
        for weights in (W, W > 0, sparse.csr_array(W)):
            with pytest.raises(ValueError, match=r"distances\[1, 2\] is (nan|inf) but its weight is not zero"):
                checked_pairs(unknown, weights)
        checked_pairs(unknown, np.isfinite(unknown))


def test_weights_that_are_none() -> None:
    D, W = case()
    for kind in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match=r"weights has shape \(5, 5\); give one weight for each distance"):
            checked_pairs(D, kind(W[:5, :5]))
        for value in (-1.0, np.nan, np.inf):
            with pytest.raises(ValueError, match=r"weights.* (-1\.0|nan|inf); weights are finite and not negative"):
                checked_pairs(D, kind(spoiled(W, 0, 3, value)))
        with pytest.raises(ValueError, match="weights is not symmetric"):
            checked_pairs(D, kind(spoiled(W, 0, 3, 7.0, both=False)))
        with pytest.raises(ValueError, match="weights are zero for all pairs"):
            checked_pairs(D, kind(np.eye(6)))
