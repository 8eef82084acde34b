"""The Laplacian and gradients, against closed formulas and on bad triangles."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import robust_laplacian
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from partwhole.datasets import plane, slivers, sphere, torus
from partwhole.mesh import Mesh
from partwhole.spectral import eigenpairs, gradients, laplacian, spectral_gradients
from partwhole.spectral.eigen import gradient_matrices, tangent_frames


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


def rotation(seed: int) -> np.ndarray:
    turn, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    return turn * np.linalg.det(turn)


@pytest.mark.parametrize("jitter", [0.0, 0.4])
def test_linear_functions_on_a_tilted_plane_are_exact(jitter: float) -> None:
    turn = rotation(2)
    flat = plane(300, jitter=jitter)
    tilted = Mesh(flat.vertices @ turn.T, flat.faces)
    slope = turn @ [2.0, -3.0, 0.0]
    found = gradients(tilted).in_space(tilted.vertices @ slope + 5)
    np.testing.assert_allclose(found, np.broadcast_to(slope, found.shape), atol=1e-10)


def test_height_on_a_sphere() -> None:
    # the gradient of z is the part of the z axis that is tangent
    mesh = sphere(3000)
    z = mesh.vertices[:, 2]
    expected = np.array([0, 0, 1]) - z[:, None] * mesh.vertices
    error = np.linalg.norm(gradients(mesh).in_space(z) - expected, axis=1)
    assert error.mean() < 0.01
    assert error.max() < 0.05


def test_squared_gradients_of_eigenfunctions_integrate_to_their_eigenvalues() -> None:
    mesh = torus(n_vertices=3000)
    found, basis = gradients(mesh), eigenpairs(mesh, 20)
    x, y = spectral_gradients(basis, found.gx, found.gy)
    np.testing.assert_allclose(basis.mass @ (x**2 + y**2), basis.values, rtol=0.05, atol=1e-9)


def test_constants_have_no_gradient(any_surface: Mesh) -> None:
    found = gradients(any_surface)
    ones = np.ones(any_surface.n_vertices)
    size = 1 + abs(found.gx).max()
    assert np.abs(found.gx @ ones).max() < 1e-10 * size
    assert np.abs(found.gy @ ones).max() < 1e-10 * size


def test_finite_on_every_surface(any_surface: Mesh) -> None:
    found = gradients(any_surface)
    for operator in (found.gx, found.gy):
        assert operator.shape == (any_surface.n_vertices,) * 2
        assert np.isfinite(operator.data).all()


@given(st.integers(0, 1000))
def test_frames_are_right_handed_and_orthonormal(seed: int) -> None:
    normals = np.random.default_rng(seed).standard_normal((20, 3))
    normals[:6] = np.concatenate([np.eye(3), -np.eye(3)])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    frames = tangent_frames(normals)
    np.testing.assert_allclose(frames @ frames.transpose(0, 2, 1), np.broadcast_to(np.eye(3), (20, 3, 3)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(frames), 1)
    np.testing.assert_array_equal(frames[:, 2], normals)


def test_turning_the_surface_turns_the_gradient() -> None:
    mesh, turn = torus(n_vertices=400), rotation(7)
    f = np.sin(3 * mesh.vertices[:, 0])
    turned = gradients(Mesh(mesh.vertices @ turn.T, mesh.faces)).in_space(f)
    np.testing.assert_allclose(turned, gradients(mesh).in_space(f) @ turn.T, atol=1e-10)


@pytest.mark.parametrize("factor", [1e-60, 100.0, 1e50])
def test_scaling_by_s_divides_gradients_by_s(factor: float) -> None:
    mesh = sphere(100)
    f = mesh.vertices[:, 0]
    scaled = gradients(mesh.scaled(factor)).in_space(f)
    np.testing.assert_allclose(scaled * factor, gradients(mesh).in_space(f), atol=1e-9)


def test_equals_least_squares_at_each_vertex() -> None:
    mesh = torus(n_vertices=200, jitter=0.3)
    found = gradients(mesh)
    f = np.random.default_rng(0).standard_normal(mesh.n_vertices)
    both = np.concatenate([mesh.edges, mesh.edges[:, ::-1]])
    for vertex in range(0, mesh.n_vertices, 17):
        around = both[both[:, 0] == vertex, 1]
        tangent = (mesh.vertices[around] - mesh.vertices[vertex]) @ found.frames[vertex, :2].T
        expected = np.linalg.lstsq(tangent, f[around] - f[vertex], rcond=None)[0]
        np.testing.assert_allclose([(found.gx @ f)[vertex], (found.gy @ f)[vertex]], expected, atol=1e-9)


def test_vertices_without_faces_have_zero_rows() -> None:
    mesh = sphere(100)
    loose = gradients(Mesh(np.vstack([mesh.vertices, [[9, 9, 9]]]), mesh.faces))
    assert not loose.frames[100].any()
    assert not loose.gx[[100]].toarray().any()
    assert not loose.gy[[100]].toarray().any()


def test_a_surface_without_area_has_no_gradient() -> None:
    line = gradients(Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]]))
    assert not line.gx.toarray().any()
    assert not line.frames.any()


def test_edges_along_one_line_give_the_gradient_along_it() -> None:
    start, end = np.array([0, 0]), np.array([1, 2])
    gx, gy = gradient_matrices(start, end, np.array([[1.0, 1.0], [-2.0, -2.0]]), 3)
    f = np.array([0.0, 2.0, -4.0])
    np.testing.assert_allclose([(gx @ f)[0], (gy @ f)[0]], [1, 1])


def test_complex_form_and_products_with_the_eigenfunctions() -> None:
    mesh = torus(n_vertices=200)
    found, basis = gradients(mesh), eigenpairs(mesh, 30)
    x, y = spectral_gradients(basis, found.gx, found.gy)
    c = np.random.default_rng(0).standard_normal(30)
    np.testing.assert_allclose(x @ c, found.gx @ basis.reconstruct(c), atol=1e-10)
    np.testing.assert_allclose(x + 1j * y, found.as_complex() @ basis.functions, atol=1e-12)
    assert repr(found) == "Gradients(200 vertices)"
