from __future__ import annotations

import numpy as np
import pytest

import partwhole as pw
from partwhole.matching.methods.pfm import (
    Problem,
    aligned,
    alternated,
    map_energy,
    membership,
    region_energy,
    slanted_weights,
)
from partwhole.spectral import eigenpairs


@pytest.fixture(scope="module")
def cut() -> pw.datasets.Cut:
    ball = pw.datasets.torus(n_vertices=300, jitter=0.3)
    return pw.datasets.cut_plane(ball, (0, 0, 0), (1, 0.2, 0))


@pytest.fixture(scope="module")
def problem(cut) -> Problem:
    # descriptors that are the same function on both
    rng = np.random.default_rng(0)
    whole = eigenpairs(cut.whole, 20)
    of_whole = whole.functions @ rng.standard_normal((20, 30))
    return Problem.of(eigenpairs(cut.part, 20), whole, cut.whole, of_whole[cut.vertex_map], of_whole)


def slope_of(energy, x: np.ndarray, direction: np.ndarray) -> float:
    return (energy(x + 1e-6 * direction)[0] - energy(x - 1e-6 * direction)[0]) / 2e-6


def test_gradient_of_the_map_energy(problem) -> None:
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((2, 20, 30))
    W = slanted_weights(20, 20, problem.rank)
    C, direction = rng.standard_normal((2, 20, 20))
    found = (map_energy(C, A, B, W, problem.rank)[1] * direction).sum()
    assert found == pytest.approx(slope_of(lambda x: map_energy(x, A, B, W, problem.rank), C, direction), rel=1e-6)


def test_gradient_of_the_region_energy(problem) -> None:
    rng = np.random.default_rng(2)
    CA = rng.standard_normal((20, 30))
    v, direction = rng.uniform(0, 1, (2, len(problem.whole.mass)))
    found = region_energy(v, CA, problem)[1] @ direction
    assert found == pytest.approx(slope_of(lambda x: region_energy(x, CA, problem), v, direction), rel=1e-5)


def test_the_boundary_length_is_that_of_a_strip() -> None:
    # v rises across a square of side 1 from 0 to 1: ∫ ξ |∇v| = ∫ exp(−(t − ½)² / 2σ²) dt, over a boundary of length 1
    from scipy.special import erf

    from partwhole.matching.methods.pfm import boundary_length

    square = pw.datasets.plane(4000)
    basis = eigenpairs(square, 3)
    nothing = np.zeros((square.n_vertices, 1))
    problem = Problem.of(basis, basis, square, nothing, nothing)
    height = square.vertices[:, 0]
    v = (height - height.min()) / np.ptp(height)
    exact = 0.2 * np.sqrt(2 * np.pi) * erf(0.5 / (0.2 * np.sqrt(2))) * np.ptp(square.vertices[:, 1])
    assert boundary_length(v, problem)[0] == pytest.approx(exact, rel=1e-3)


def test_weights_are_zero_on_the_slanted_diagonal() -> None:
    W = slanted_weights(21, 21, 7)
    assert W[0, 0] == 0
    assert W[3, 1] == pytest.approx(0, abs=1e-12)
    assert W[20, 0] > 0
    assert W[0, 20] > 0


def test_membership_is_a_step() -> None:
    eta, slope = membership(np.array([-5.0, 0.5, 5.0]))
    np.testing.assert_allclose(eta, [0, 0.5, 1], atol=1e-9)
    np.testing.assert_allclose(slope, [0, 3, 0], atol=1e-9)


def test_the_energies_fall_and_the_map_is_orthogonal(problem) -> None:
    from partwhole.matching.methods.pfm import minimised

    A, B = problem.part.project(problem.of_part), problem.whole.project(problem.of_whole)
    W = slanted_weights(20, 20, problem.rank)
    start = (W.max() - W) / W.max()
    energies = [map_energy(start, A, B, W, problem.rank)[0]]
    for steps in (1, 10, 100):
        C, energy = minimised(lambda x: map_energy(x, A, B, W, problem.rank), start, steps)
        energies.append(energy)
    assert energies == sorted(energies, reverse=True)
    assert energies[-1] < 0.5 * energies[0]
    turned = aligned(C, problem.part, problem.whole, problem.rank)
    np.testing.assert_allclose(
        turned.T @ turned, np.diag([1.0] * problem.rank + [0.0] * (20 - problem.rank)), atol=1e-9
    )


def test_a_part_finds_its_place(cut, problem) -> None:
    from partwhole.spectral import vertex_map_from_functional_map

    C = alternated(problem, steps=2)
    found = vertex_map_from_functional_map(C[:, : problem.rank].T, problem.part, problem.whole)
    away = np.linalg.norm(cut.whole.vertices[found] - cut.whole.vertices[cut.vertex_map], axis=1)
    by_chance = np.linalg.norm(cut.whole.vertices - cut.whole.vertices.mean(axis=0), axis=1).mean()
    assert away.mean() < 0.3 * by_chance


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="alternations=0 must be at least 1"):
        pw.matching.methods.PFM(alternations=0)
