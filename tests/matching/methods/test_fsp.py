from __future__ import annotations

import numpy as np
import pytest

from partwhole.matching.methods.fsp import BasisEnergy, minimised_on_stiefel


@pytest.fixture
def problem() -> dict:
    rng = np.random.default_rng(0)
    return {
        "A": rng.standard_normal((5, 20)),
        "B": rng.standard_normal((8, 20)),
        "values": np.sort(rng.uniform(0, 2, 8)),
        "weight": 0.1,
    }


def test_the_energy_is_the_formula(problem) -> None:
    X = np.random.default_rng(1).standard_normal((8, 5))
    inner = X.T @ np.diag(problem["values"]) @ X
    expected = 0.1 * ((problem["A"] - X.T @ problem["B"]) ** 2).sum() + (inner**2).sum() - (np.diag(inner) ** 2).sum()
    assert BasisEnergy(**problem)(X)[0] == pytest.approx(expected, rel=1e-12)


def test_the_gradient_is_that_of_finite_differences(problem) -> None:
    rng = np.random.default_rng(2)
    X, direction = rng.standard_normal((2, 8, 5))
    energy = BasisEnergy(**problem)
    slope = (energy(X + 1e-6 * direction)[0] - energy(X - 1e-6 * direction)[0]) / 2e-6
    assert (energy(X)[1] * direction).sum() == pytest.approx(slope, rel=1e-6)


def test_the_basis_is_orthonormal_and_the_energy_falls(problem) -> None:
    energies = []
    energy = BasisEnergy(**problem)
    start = np.eye(8, 5)
    for steps in (1, 5, 20, 100):
        X, value = minimised_on_stiefel(energy, start, steps=steps)
        np.testing.assert_allclose(X.T @ X, np.eye(5), atol=1e-12)
        energies.append(value)
    assert energy(start)[0] > energies[0] > energies[1] > energies[2] >= energies[3]


def test_a_rotated_basis_is_found() -> None:
    # descriptors enough to say which rotation it is, and eigenvalues that do not contradict them
    rng = np.random.default_rng(3)
    truth = np.linalg.qr(np.eye(8, 5) + 0.1 * rng.standard_normal((8, 5)))[0]
    B = rng.standard_normal((8, 50))
    X, _ = minimised_on_stiefel(BasisEnergy(truth.T @ B, B, np.zeros(8), 1.0), np.eye(8, 5))
    np.testing.assert_allclose(X, truth, atol=1e-5)


def test_at_a_minimum_nothing_moves() -> None:
    start = np.eye(3, 2)
    X, value = minimised_on_stiefel(lambda X: (0.0, np.zeros_like(X)), start)
    assert value == 0
    assert (start == X).all()
