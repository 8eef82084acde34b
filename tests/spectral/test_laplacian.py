from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import robust_laplacian
from scipy import sparse

from partwhole.datasets import plane, slivers, sphere
from partwhole.mesh import Mesh
from partwhole.spectral import laplacian


def test_right_triangle_by_hand() -> None:
    # half the cotangent of the angle opposite to each edge: 1/2 at the legs, 0 at the hypotenuse
    found = laplacian(Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]))
    np.testing.assert_allclose(found.stiffness.toarray(), [[1, -0.5, -0.5], [-0.5, 0.5, 0], [-0.5, 0, 0.5]], atol=1e-12)
    np.testing.assert_allclose(found.mass, 1 / 6)


def test_positive_semidefinite_with_rows_that_sum_to_zero(any_surface: Mesh) -> None:
    found = laplacian(any_surface)
    L = found.stiffness.toarray()
    np.testing.assert_array_equal(L, L.T)
    assert np.abs(L.sum(axis=1)).max() < 1e-9
    assert np.linalg.eigvalsh(L).min() > -1e-9
    assert np.all(found.mass > 0)


def test_no_weight_has_the_wrong_sign_even_on_slivers() -> None:
    L = laplacian(slivers(500)).stiffness
    assert (L - sparse.diags_array(L.diagonal())).max() <= 1e-12


def test_masses_sum_to_the_area(any_surface: Mesh) -> None:
    # lengthened edges add a little area where faces are degenerate
    assert laplacian(any_surface).mass.sum() == pytest.approx(any_surface.area, rel=1e-4)


def test_dirichlet_energy_of_a_linear_function_on_the_unit_square() -> None:
    square = plane(400)
    f = 3 * square.vertices[:, 0] + 4 * square.vertices[:, 1]
    assert f @ (laplacian(square).stiffness @ f) == pytest.approx(25 * square.area)


def test_linear_functions_are_harmonic_inside_a_flat_surface() -> None:
    square = plane(400, jitter=0.3)
    inside = np.setdiff1d(np.arange(square.n_vertices), square.boundary_vertices)
    result = laplacian(square).stiffness @ square.vertices
    assert np.abs(result[inside]).max() < 1e-12


@pytest.mark.parametrize("factor", [1e-60, 1e-3, 1e50])
def test_scale_changes_areas_alone(factor: float) -> None:
    small, large = laplacian(sphere(200)), laplacian(sphere(200).scaled(factor))
    np.testing.assert_allclose(large.stiffness.toarray(), small.stiffness.toarray(), atol=1e-10)
    np.testing.assert_allclose(large.mass, small.mass * factor**2)


def test_moved_far_away_it_is_the_same() -> None:
    here, there = sphere(200), Mesh(sphere(200).vertices + 1000, sphere(200).faces)
    np.testing.assert_allclose(laplacian(there).mass, laplacian(here).mass, rtol=1e-8)


def test_order_of_vertices_does_not_matter() -> None:
    mesh = sphere(200)
    order = np.random.default_rng(0).permutation(200)
    shuffled = Mesh(mesh.vertices[order], np.argsort(order)[mesh.faces])
    expected = laplacian(mesh).stiffness.toarray()[np.ix_(order, order)]
    np.testing.assert_allclose(laplacian(shuffled).stiffness.toarray(), expected, atol=1e-10)


def test_it_is_frozen() -> None:
    found = laplacian(sphere(100))
    with pytest.raises(ValueError, match="read-only"):
        found.mass[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        found.stiffness.data[0] = 1


def test_importing_leaves_the_native_library_alone() -> None:
    code = "import sys, partwhole.spectral; print('robust_laplacian' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_vertices_without_faces_are_refused_with_the_remedy() -> None:
    mesh = sphere(100)
    loose = Mesh(np.vstack([mesh.vertices, [[9, 9, 9]]]), mesh.faces, name="scan")
    with pytest.raises(ValueError, match=r"scan has 1 vertices without faces.*pw\.repair"):
        laplacian(loose)


def test_a_surface_without_area_is_refused() -> None:
    with pytest.raises(ValueError, match="area 0"):
        laplacian(Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]]))


def test_numbers_that_are_not_finite_never_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = sparse.csc_matrix(np.full((100, 100), np.nan)), sparse.csc_matrix(np.eye(100))
    monkeypatch.setattr(robust_laplacian, "mesh_laplacian", lambda vertices, faces: broken)
    with pytest.raises(ValueError, match="too degenerate"):
        laplacian(sphere(100))
