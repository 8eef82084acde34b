from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from partwhole.embedding.solver.pairs import DensePairs, ListedPairs, WeightedPairs, checked_pairs
from partwhole.embedding.solver.stress import Stress, laplacian_solver
from partwhole.embedding.solver.threads import RowThreads


def slow_stress(X: np.ndarray, D: np.ndarray, W: np.ndarray) -> float:
    total = 0.0
    for i in range(len(X)):
        for j in range(i):
            if W[i, j] > 0:
                total += W[i, j] * (np.sqrt(((X[i] - X[j]) ** 2).sum()) - D[i, j]) ** 2
    return total


def evaluated(pairs: WeightedPairs, X: np.ndarray) -> tuple[float, np.ndarray]:
    with RowThreads(len(pairs), pairs.n_pairs) as threads:
        return Stress(pairs, threads)(X)


def case(n: int, k: int, seed: int, *, density: float = 0.6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, distances that aren't theirs and in part unknown, and weights."""
    rng = np.random.default_rng(seed)
    D = squareform(rng.random(n * (n - 1) // 2))
    W = squareform(rng.random(n * (n - 1) // 2) * (rng.random(n * (n - 1) // 2) < density))
    D[W == 0] = rng.choice([np.nan, np.inf])
    np.fill_diagonal(D, 0)
    W[np.arange(n - 1), np.arange(1, n)] = W[np.arange(1, n), np.arange(n - 1)] = 1.0  # one component
    D[np.arange(n - 1), np.arange(1, n)] = D[np.arange(1, n), np.arange(n - 1)] = 0.7
    return rng.normal(size=(n, k)), D, W


def as_list(pairs: DensePairs) -> ListedPairs:
    W = pairs.weight_rows(slice(0, len(pairs)))
    row, other = np.nonzero(W)
    begin = np.searchsorted(row, np.arange(len(pairs) + 1))
    return ListedPairs(begin, other.astype(np.int32), pairs.distances[row, other] * pairs.unit, W[row, other])


@given(n=st.integers(2, 12), k=st.integers(1, 4), seed=st.integers(0, 999))
def test_stress_is_its_double_sum(n: int, k: int, seed: int) -> None:
    X, D, W = case(n, k, seed)
    _, pairs, unit, weight_unit = checked_pairs(D, W)
    assert isinstance(pairs, DensePairs)
    for form in (pairs, as_list(pairs)):
        stress, _ = evaluated(form, X * unit)
        assert stress / unit**2 / weight_unit == pytest.approx(slow_stress(X, D, W), rel=1e-12)


@pytest.mark.parametrize("n", [5, 700])  # one chunk of points, and more
@pytest.mark.parametrize("k", [1, 2, 5])
def test_gradient_is_the_slope_of_stress(n: int, k: int) -> None:
    X, D, W = case(n, k, n)
    pairs = checked_pairs(D, W)[1]
    assert isinstance(pairs, DensePairs)
    rng = np.random.default_rng(1)
    for form in (pairs, as_list(pairs)):
        gradient = evaluated(form, X)[1]
        for _ in range(3):
            step = rng.normal(size=X.shape)
            step *= 1e-5 / np.linalg.norm(step)
            slope = (evaluated(form, X + step)[0] - evaluated(form, X - step)[0]) / 2
            assert slope == pytest.approx(2 * (gradient * step).sum(), rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("distance_type", [np.float32, np.float64])
@pytest.mark.parametrize("weight_type", [bool, np.float32, np.float64])
def test_every_kind_of_number(distance_type: type, weight_type: type) -> None:
    X, D, W = case(40, 2, 3)
    D, W = D.astype(distance_type), (W > 0.5).astype(weight_type)
    _, pairs, unit, weight_unit = checked_pairs(np.where(W > 0, D, 0), W)
    found = evaluated(pairs, X * unit)[0] / unit**2 / weight_unit
    assert found == pytest.approx(slow_stress(X, D.astype(float), W.astype(float)), rel=1e-6)


def test_without_weights_all_pairs_count_alike() -> None:
    X, D, _ = case(30, 2, 4)
    D = np.where(np.isfinite(D), D, 0.3)
    _, pairs, unit, _ = checked_pairs(D, None)
    assert evaluated(pairs, X * unit)[0] / unit**2 == pytest.approx(slow_stress(X, D, np.ones_like(D)), rel=1e-12)


def test_points_at_one_place_have_a_finite_gradient() -> None:
    _, D, W = case(6, 2, 5)
    for form in (checked_pairs(D, W)[1], as_list(checked_pairs(D, W)[1])):
        stress, gradient = evaluated(form, np.zeros((6, 2)))
        assert stress > 0
        np.testing.assert_array_equal(gradient, 0)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, D, W = case(500, 2, 6)
    pairs = checked_pairs(D, W)[1]
    found = []
    for cores in (1, 2, 5):
        monkeypatch.setattr("partwhole.embedding.solver.threads.available_cores", lambda cores=cores: cores)
        found.append(evaluated(pairs, X))
    for stress, gradient in found[1:]:
        assert stress == found[0][0]
        np.testing.assert_array_equal(gradient, found[0][1])


def laplacian(W: np.ndarray) -> np.ndarray:
    W = W - np.diag(W.diagonal())
    return np.diag(W.sum(axis=1)) - W


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("listed", [False, True])
def test_solver_inverts_the_laplacian(listed: bool, local: bool, single: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if single:
        monkeypatch.setattr("partwhole.embedding.solver.stress.DOUBLE", 10)
    monkeypatch.setattr("partwhole.embedding.solver.stress.SPARSE", 1.0)
    X, D, W = case(60, 3, 7)
    if local:
        W = W * (np.abs(np.subtract.outer(np.arange(60), np.arange(60))) < 5)
    # weights over many orders of magnitude
    scale = 10.0 ** np.random.default_rng(8).uniform(-3, 0, 60)
    W = W * scale * scale[:, None]
    pairs = checked_pairs(D, W)[1]
    assert isinstance(pairs, DensePairs)
    G = X - X.mean(axis=0)
    Z = laplacian_solver(as_list(pairs) if listed else pairs)(G)
    V = laplacian(W * pairs.weight_unit)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-9 * np.abs(Z).max())
    exact = np.linalg.lstsq(V, G, rcond=1e-13)[0]
    in_double = not single or (listed and local)  # a sparse factor is always in double precision
    assert np.abs(Z - exact).max() <= (1e-6 if in_double else 0.1) * np.abs(exact).max()
    # what was factored is no less than V, so that a step promises no more than it brings
    assert np.vdot(Z, V @ Z) <= np.vdot(G, Z) * (1 + 1e-9)


def test_solver_without_weights_and_of_one_point() -> None:
    D = squareform(pdist(np.random.default_rng(9).normal(size=(12, 2))))
    G = np.random.default_rng(10).normal(size=(12, 2))
    G -= G.mean(axis=0)
    Z = laplacian_solver(checked_pairs(D, None)[1])(G)
    np.testing.assert_allclose(laplacian(np.ones((12, 12))) @ Z, G, atol=1e-12)
    np.testing.assert_array_equal(laplacian_solver(checked_pairs(D[:1, :1], None)[1])(np.ones((1, 2))), 0)
