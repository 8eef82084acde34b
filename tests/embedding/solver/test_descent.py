from __future__ import annotations

import numpy as np
import pytest

from partwhole.embedding.solver.descent import Descent


def quadratic(H: np.ndarray):
    """σ(X) = ⟨X, H X⟩ and half its gradient."""

    def function(X: np.ndarray) -> tuple[float, np.ndarray]:
        return float(np.vdot(X, H @ X)), H @ X

    return function


def started(H: np.ndarray, V: np.ndarray, *, max_iter: int = 500, **more) -> Descent:
    start = np.random.default_rng(0).normal(size=(len(H), 1))
    return Descent(quadratic(H), lambda G: np.linalg.solve(V, G), start, max_iter=max_iter, **more)


def spectrum(*values: float) -> np.ndarray:
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(len(values), len(values))))[0]
    return Q @ np.diag(values) @ Q.T


def test_the_finish_needs_fewer_steps_than_majorisation() -> None:
    H, V = spectrum(1, 0.5, 0.1, 0.03, 0.01), np.eye(5)
    slow, quick = started(H, V, max_iter=5000), started(H, V)
    assert slow.majorise(1e-18)
    assert quick.finish(1e-18)
    assert quick.stress < 1e-15
    assert 5 * len(quick.history) < len(slow.history)
    for way in (slow, quick):
        assert np.all(np.diff(way.history) < 0)
        assert way.history[-1] == way.stress == quadratic(H)(way.points)[0]


@pytest.mark.parametrize("phase", ["majorise", "finish"])
def test_steps_are_counted_and_told(phase: str) -> None:
    told: list[tuple[int, int]] = []
    way = started(spectrum(1, 0.5, 0.01), np.eye(3), max_iter=3, progress=lambda _, done, of: told.append((done, of)))
    assert getattr(way, phase)(1e-18) is False
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert len(way.history) == 4


@pytest.mark.parametrize("phase", ["majorise", "finish"])
def test_it_ends_where_rounding_leaves_nothing_to_save(phase: str) -> None:
    def function(X: np.ndarray) -> tuple[float, np.ndarray]:
        return 1e9 + float(np.vdot(X, X)), X

    way = Descent(function, lambda G: 0.5 * G, np.array([[1.0], [-1.0]]), max_iter=10_000)
    assert getattr(way, phase)(0.0)
    assert np.all(np.diff(way.history) < 0)
    assert np.abs(way.points).max() < 1e-2


def test_a_step_that_goes_too_far_is_halved() -> None:
    # the guess for the inverse is 40 times too large: no majorisation, so that a full step would go up
    way = started(np.eye(4), np.eye(4) / 40)
    assert way.finish(1e-20)
    assert np.all(np.diff(way.history) < 0)
    assert way.stress < 1e-15


def test_the_start_is_centred() -> None:
    way = Descent(quadratic(np.eye(2)), np.copy, np.array([[3.0, 1.0], [5.0, 1.0]]), max_iter=1)
    np.testing.assert_array_equal(way.points, [[-1.0, 0.0], [1.0, 0.0]])
