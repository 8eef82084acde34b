from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from partwhole.datasets import random_cuts, sphere, torus
from partwhole.mesh import Mesh
from partwhole.spectral import (
    Eigenpairs,
    eigenpairs,
    heat_kernel_signature,
    heat_times,
    wave_energies,
    wave_kernel_signature,
)

both = pytest.mark.parametrize("signature", [heat_kernel_signature, wave_kernel_signature])
Signature = Callable[..., np.ndarray]


@both
def test_constant_on_a_sphere(signature: Signature) -> None:
    # 121 = 1 + 3 + … + 21: no repeated eigenvalue is cut in two
    found = signature(eigenpairs(sphere(3000), 121), count=8)
    assert np.all(found.std(axis=0) < 0.05 * found.mean(axis=0))


def test_heat_on_the_sphere_is_its_series() -> None:
    basis, t = eigenpairs(sphere(4000), 121), 0.3
    degree = np.arange(11)
    expected = np.sum((2 * degree + 1) * np.exp(-degree * (degree + 1) * t)) / (4 * np.pi)
    found = heat_kernel_signature(basis, np.array([t]))
    assert found.mean() == pytest.approx(expected, rel=0.01)


def test_heat_ends_evenly_spread_and_its_integral_is_the_trace() -> None:
    basis = eigenpairs(torus(n_vertices=600), 50)
    np.testing.assert_allclose(heat_kernel_signature(basis, np.array([1e6])), 1 / basis.mass.sum(), rtol=1e-8)
    times = heat_times(basis.values)
    trace = np.exp(-np.outer(times, basis.values)).sum(axis=1)
    np.testing.assert_allclose(basis.mass @ heat_kernel_signature(basis), trace, rtol=1e-8)


def test_waves_integrate_to_one_at_every_energy() -> None:
    basis = eigenpairs(torus(n_vertices=600), 50)
    np.testing.assert_allclose(basis.mass @ wave_kernel_signature(basis), 1, rtol=1e-8)
    # far beyond all frequencies too, where every weight is below the smallest number
    far = wave_kernel_signature(basis, np.array([-1e3, 1e3]), width=0.1)
    np.testing.assert_allclose(basis.mass @ far, 1, rtol=1e-8)


def test_waves_by_the_definition() -> None:
    basis = eigenpairs(torus(n_vertices=200), 20)
    energies, width = np.array([1.0, 2.0]), 0.4
    expected = np.zeros((200, 2))
    for e, energy in enumerate(energies):
        w = np.exp(-((energy - np.log(basis.values[1:])) ** 2) / (2 * width**2))
        expected[:, e] = (basis.functions[:, 1:] ** 2 * w).sum(axis=1) / w.sum()
    np.testing.assert_allclose(wave_kernel_signature(basis, energies, width=width), expected, rtol=1e-10)


@both
def test_turning_and_renumbering_leave_it_alone(signature: Signature) -> None:
    mesh = random_cuts(torus(n_vertices=900), "pfaust-m", seed=3).part
    rng = np.random.default_rng(5)
    turn, order = np.linalg.qr(rng.standard_normal((3, 3)))[0], rng.permutation(mesh.n_vertices)
    other = Mesh(mesh.vertices[order] @ turn + 3, np.argsort(order)[mesh.faces])
    plain = signature(eigenpairs(mesh, 40))[order]
    np.testing.assert_allclose(signature(eigenpairs(other, 40)), plain, rtol=1e-4, atol=1e-6 * plain.max())


@both
def test_bending_changes_it_less_than_places_differ(signature: Signature, body) -> None:
    rest, posed = (np.log(signature(basis)) for basis in (body.rest_basis, body.posed_basis))
    assert np.abs(rest - posed).mean() < 0.25 * np.abs(rest - rest.mean(axis=0)).mean()


@both
def test_scaled_by_s_it_is_divided_by_its_square(signature: Signature) -> None:
    small, large = (signature(eigenpairs(torus(n_vertices=400).scaled(s), 40)) for s in (1.0, 10.0))
    np.testing.assert_allclose(100 * large, small, rtol=1e-6)


def test_default_scales() -> None:
    values = np.array([0.0, 2.0, 8.0, 50.0])
    times, energies = heat_times(values, 10), wave_energies(values, 10)
    np.testing.assert_allclose(times[[0, -1]], 4 * np.log(10) / np.array([50, 2]))
    step = energies[1] - energies[0]
    np.testing.assert_allclose(energies[[0, -1]], np.log([2, 50]) + np.array([14, -14]) * step)


def test_several_components_have_several_zeros_which_waves_leave_out(joined) -> None:
    basis = eigenpairs(joined(sphere(100), torus(n_vertices=150)), 40)
    for signature in (heat_kernel_signature, wave_kernel_signature):
        assert np.isfinite(signature(basis)).all()


def test_too_few_eigenvalues() -> None:
    basis = eigenpairs(sphere(100), 2)
    with pytest.raises(ValueError, match=r"1 of 2 eigenvalues are positive.*compute more"):
        heat_kernel_signature(basis)
    only_zero = Eigenpairs(np.zeros(1), np.ones((3, 1)), np.ones(3))
    with pytest.raises(ValueError, match="0 of 1 eigenvalues are positive"):
        wave_kernel_signature(only_zero)


def test_bad_knobs() -> None:
    basis = eigenpairs(sphere(100), 20)
    with pytest.raises(ValueError, match="count=0 must be at least 1"):
        heat_kernel_signature(basis, count=0)
    with pytest.raises(ValueError, match=r"width=0\.0 must be positive"):
        wave_kernel_signature(basis, width=0.0)
    assert heat_kernel_signature(basis, count=1).shape == wave_kernel_signature(basis, count=1).shape == (100, 1)
