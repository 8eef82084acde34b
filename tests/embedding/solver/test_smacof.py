from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import smacof as sklearn_smacof

from partwhole.embedding import EmbeddingWarning, weighted_smacof
from partwhole.embedding.solver.threads import one_blas_thread


def distances_of(points: np.ndarray) -> np.ndarray:
    return squareform(pdist(points))


def mismatch(found: np.ndarray, truth: np.ndarray) -> float:
    """Root of the mean squared difference to the truth after the best rigid motion, by the truth's extent."""
    found, truth = found - found.mean(axis=0), truth - truth.mean(axis=0)
    left, _, right = np.linalg.svd(found.T @ truth)
    return float(np.linalg.norm(found @ left @ right - truth) / np.linalg.norm(truth))


def slow_stress(X: np.ndarray, D: np.ndarray, W: np.ndarray) -> float:
    upper = np.triu_indices(len(D), 1)
    return float((W[upper] * (distances_of(X)[upper] - D[upper]) ** 2)[W[upper] > 0].sum())


def slow_smacof(D: np.ndarray, W: np.ndarray, X: np.ndarray, steps: int) -> np.ndarray:
    """As in a textbook: X ← V⁺ B(X) X."""
    W = W - np.diag(W.diagonal())
    inverse = np.linalg.pinv(np.diag(W.sum(axis=1)) - W)
    for _ in range(steps):
        r = distances_of(X)
        B = -np.divide(W * D, r, out=np.zeros_like(r), where=r > 0)
        B[np.diag_indices(len(B))] = -B.sum(axis=1)
        X = inverse @ B @ X
    return X


def noisy(n: int, seed: int, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points in the plane, distances that are a little wrong, and a random half of all pairs."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(size=(n, 2))
    D = distances_of(points) * squareform(rng.uniform(1 - noise, 1 + noise, n * (n - 1) // 2))
    return points, D, squareform(rng.random(n * (n - 1) // 2) < 0.5) | np.eye(n, dtype=bool)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_points_come_back_from_all_distances(k: int) -> None:
    points = np.random.default_rng(k).normal(size=(60, k))
    found = weighted_smacof(distances_of(points), n_components=k)
    assert found.embedding.shape == (60, k)
    assert mismatch(found.embedding, points) < 1e-9
    assert found.normalised_stress < 1e-9
    assert found.converged


@pytest.mark.parametrize("unknown", [np.nan, np.inf])
def test_points_come_back_from_half_the_distances(unknown: float) -> None:
    points, _, mask = noisy(80, 0)
    D = np.where(mask, distances_of(points), unknown)
    found = weighted_smacof(D, mask, tol=1e-9)
    assert mismatch(found.embedding, points) < 1e-6
    assert found.normalised_stress < 1e-6


def test_wrong_distances_without_weight_do_no_harm() -> None:
    points, _, mask = noisy(80, 1)
    D = np.where(mask, distances_of(points), 1.7)
    found = weighted_smacof(D, mask, tol=1e-9)
    assert mismatch(found.embedding, points) < 1e-6


def test_local_distances_bring_back_a_long_strip() -> None:
    rng = np.random.default_rng(2)
    points = rng.uniform(size=(700, 2)) * [6.0, 1.0]
    D = distances_of(points)
    near = D < 0.4
    for weights in (near, sparse.csr_array(near)):  # listed pairs and a sparse factor
        found = weighted_smacof(np.where(near, D, np.nan), weights, tol=1e-8)
        assert mismatch(found.embedding, points) < 1e-4


def test_stress_is_that_of_the_slow_sum_and_never_rises() -> None:
    _, D, mask = noisy(50, 3)
    W = np.random.default_rng(4).random(D.shape)
    W = mask * (W + W.T)
    found = weighted_smacof(D, W)
    assert found.stress == pytest.approx(slow_stress(found.embedding, D, W), rel=1e-10)
    upper = np.triu_indices(50, 1)
    assert found.normalised_stress == pytest.approx(np.sqrt(found.stress / (W * D**2)[upper].sum()), rel=1e-10)
    assert found.history[-1] == found.stress
    assert len(found.history) == found.n_iter + 1
    assert np.all(np.diff(found.history) < 0)


def test_without_the_finish_it_is_textbook_majorisation() -> None:
    _, D, mask = noisy(40, 5)
    start = np.random.default_rng(6).normal(size=(40, 2))
    with pytest.warns(EmbeddingWarning, match="stopped after max_iter=12 steps, before .* tol=0: raise max_iter"):
        found = weighted_smacof(D, mask, init=start, max_iter=12, tol=0, finish=False)
    expected = slow_smacof(D, mask.astype(float), start, 12)
    np.testing.assert_allclose(found.embedding, expected - expected.mean(axis=0), atol=1e-9)
    assert not found.converged
    assert found.n_iter == 12


def test_the_finish_ends_lower_or_equal_in_fewer_steps() -> None:
    _, D, mask = noisy(150, 7)
    quick, slow = weighted_smacof(D, mask), weighted_smacof(D, mask, finish=False, max_iter=5000)
    assert quick.stress <= slow.stress * (1 + 1e-9)
    assert quick.n_iter < slow.n_iter


def test_majorisation_in_single_precision_never_rises_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partwhole.embedding.solver.stress.DOUBLE", 10)
    _, D, mask = noisy(150, 8)
    single = weighted_smacof(D, mask)
    assert np.all(np.diff(single.history) < 0)
    monkeypatch.undo()
    assert single.stress == pytest.approx(weighted_smacof(D, mask).stress, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_without_weights_stress_is_no_higher_than_that_of_scikit_learn(seed: int) -> None:
    D = distances_of(np.random.default_rng(seed).normal(size=(60, 5)))
    start = np.random.default_rng(seed + 10).normal(size=(60, 2))
    _, theirs = sklearn_smacof(D, init=start, n_init=1, max_iter=5000, eps=1e-12, normalized_stress=False)
    for weights in (None, np.ones_like(D), np.full(D.shape, 3.0)):
        found = weighted_smacof(D, weights, init=start, finish=False, max_iter=5000, tol=1e-7)
        scale = 3.0 if weights is not None and weights[0, 0] == 3 else 1.0
        # older versions of scikit-learn stop a little early, whatever eps is
        assert found.stress <= scale * theirs * (1 + 1e-5)
        assert found.stress == pytest.approx(scale * theirs, rel=2e-2)
    assert weighted_smacof(D, init=start).stress <= theirs * 1.1


def test_the_gradient_vanishes_where_it_ends() -> None:
    _, D, mask = noisy(60, 9)
    found = weighted_smacof(D, mask, tol=1e-8)
    rng = np.random.default_rng(10)
    for _ in range(5):
        step = rng.normal(size=found.embedding.shape)
        step *= 1e-4 / np.linalg.norm(step)
        slope = slow_stress(found.embedding + step, D, mask) - slow_stress(found.embedding - step, D, mask)
        assert abs(slope) < 1e-9


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_order_of_the_points_does_not_matter(seed: int) -> None:
    _, D, mask = noisy(30, seed, noise=0.05)
    order = np.random.default_rng(seed).permutation(30)
    one, other = weighted_smacof(D, mask), weighted_smacof(D[np.ix_(order, order)], mask[np.ix_(order, order)])
    assert other.stress == pytest.approx(one.stress, rel=1e-6)
    assert mismatch(other.embedding, one.embedding[order]) < 1e-3


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), power=st.integers(-300, 300), weight_power=st.integers(-300, 300))
def test_units_of_distances_and_weights_do_not_matter(seed: int, power: int, weight_power: int) -> None:
    _, D, mask = noisy(25, seed)
    one = weighted_smacof(D, mask.astype(float))
    other = weighted_smacof(np.ldexp(D, power), np.ldexp(mask.astype(float), weight_power))
    np.testing.assert_array_equal(np.ldexp(other.embedding, -power), one.embedding)
    assert other.n_iter == one.n_iter
    assert other.normalised_stress == one.normalised_stress


@pytest.mark.parametrize("scale", [1e-3, 7.0, 1e6])
def test_any_other_scale_too(scale: float) -> None:
    _, D, mask = noisy(40, 11)
    one, other = weighted_smacof(D, mask), weighted_smacof(scale * D, mask)
    assert other.stress == pytest.approx(scale**2 * one.stress, rel=1e-9)
    np.testing.assert_allclose(other.embedding / scale, one.embedding, atol=1e-5)


def test_distances_in_single_precision_agree_with_double() -> None:
    _, D, mask = noisy(100, 12)
    found = weighted_smacof(D.astype(np.float32), mask)
    assert found.embedding.dtype == np.float64
    assert mismatch(found.embedding, weighted_smacof(D, mask).embedding) < 1e-4


def test_same_numbers_again_whatever_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    _, D, mask = noisy(600, 13)
    first = weighted_smacof(D, mask)
    for cores in (1, 3):
        monkeypatch.setattr("partwhole.embedding.solver.threads.available_cores", lambda cores=cores: cores)
        with one_blas_thread():
            np.testing.assert_array_equal(weighted_smacof(D, mask).embedding, first.embedding)


def test_weights_over_many_orders_of_magnitude() -> None:
    points = np.random.default_rng(14).uniform(size=(60, 2))
    D = distances_of(points) + np.eye(60)
    W = D**-12.0
    found = weighted_smacof(D - np.eye(60), W, tol=1e-8)
    assert np.all(np.diff(found.history) <= 0)
    assert mismatch(found.embedding, points) < 1e-3


def test_duplicates_and_points_at_one_place() -> None:
    points = np.repeat(np.random.default_rng(15).normal(size=(10, 2)), 3, axis=0)
    found = weighted_smacof(distances_of(points))
    assert mismatch(found.embedding, points) < 1e-9
    nothing = weighted_smacof(np.zeros((5, 5)))
    np.testing.assert_array_equal(nothing.embedding, 0)
    assert (nothing.stress, nothing.normalised_stress, nothing.n_iter, nothing.converged) == (0.0, 0.0, 0, True)


def test_points_that_coincide_at_the_start_part() -> None:
    points = np.random.default_rng(22).normal(size=(30, 2))
    found = weighted_smacof(distances_of(points), init=points.round())
    assert len(np.unique(points.round(), axis=0)) < 25
    assert mismatch(found.embedding, points) < 1e-4


def test_one_and_two_points() -> None:
    one = weighted_smacof(np.zeros((1, 1)), n_components=1)
    np.testing.assert_array_equal(one.embedding, [[0.0]])
    two = weighted_smacof(np.array([[0.0, 3.0], [3.0, 0.0]]), np.ones((2, 2)))
    np.testing.assert_allclose(pdist(two.embedding), 3.0)


def test_given_arrays_are_left_as_they_are() -> None:
    _, D, mask = noisy(30, 16)
    start = np.random.default_rng(17).normal(size=(30, 2))
    before = D.copy(), mask.copy(), start.copy()
    for array in (D, mask, start):
        array.setflags(write=False)
    weighted_smacof(D, mask, init=start)
    for array, copy in zip((D, mask, start), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_result_is_frozen_and_says_what_it_is() -> None:
    found = weighted_smacof(distances_of(np.random.default_rng(18).normal(size=(9, 3))))
    assert repr(found).startswith("MDSResult(9 points in R^2, normalised stress 0.")
    assert repr(found).endswith(f"converged in {found.n_iter} steps)")
    with pytest.raises(FrozenInstanceError):
        found.stress = 0.0
    with pytest.raises(ValueError, match="read-only"):
        found.embedding[0] = 0


def test_progress_is_told() -> None:
    _, D, mask = noisy(40, 19)
    told: list[tuple[int, int]] = []
    found = weighted_smacof(D, mask, progress=lambda _, done, of: told.append((done, of)))
    assert told == [(step, 1000) for step in range(1, found.n_iter + 1)]


def test_errors_name_the_argument_and_the_remedy() -> None:
    D = distances_of(np.random.default_rng(20).normal(size=(8, 2)))
    cases = {
        r"n_components=9 must be a whole number from 1 to n_samples=8": {"n_components": 9},
        r"max_iter=0 must be at least 1": {"max_iter": 0},
        r"tol=-1.0 must be finite and not negative": {"tol": -1.0},
        r"init has shape \(8, 3\); give n_components=2 coordinates for each of 8 points": {"init": np.ones((8, 3))},
        r"init has 16 entries that are NaN or infinite": {"init": np.full((8, 2), np.nan)},
        r"init has all points at one place": {"init": np.ones((8, 2))},
    }
    for message, knobs in cases.items():
        with pytest.raises(ValueError, match=message):
            weighted_smacof(D, **knobs)
    with pytest.raises(ValueError, match=r'init must be "classical" or an array of shape \(8, 2\), got \'isomap\''):
        weighted_smacof.__wrapped__(D, init="isomap")


def test_a_flat_rectangle_with_a_hole_comes_back() -> None:
    """Ways round the hole are too long, and have no weight; the start, classical scaling of all, is off by them."""
    rng = np.random.default_rng(21)
    points = rng.uniform(-1, 1, size=(900, 2)) * [2.0, 1.0]
    points = points[np.abs(points / [1.0, 0.5]).max(axis=1) > 0.5]
    straight = distances_of(points)
    # a pair sees each other if the segment misses the hole; sampled, which is near enough
    along = np.linspace(0, 1, 41)[:, None, None, None]
    free = (np.abs(points[:, None] * (1 - along) + points * along) > [0.5, 0.25]).any(axis=-1).all(axis=0)
    D = np.where(free, straight, 1.5 * straight)
    start = weighted_smacof(D)
    found = weighted_smacof(D, free)
    assert mismatch(found.embedding, points) < 1e-3 < mismatch(start.embedding, points)
    assert procrustes(points, found.embedding)[2] < 1e-6
