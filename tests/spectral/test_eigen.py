"""Laplacian, gradients and eigenpairs, against closed formulas and on bad triangles."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import robust_laplacian
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence

import partwhole.spectral.eigen as eigen_module
from partwhole.datasets import plane, random_cuts, slivers, sphere, torus
from partwhole.mesh import Mesh, read_mesh
from partwhole.spectral import Eigenpairs, Laplacian, eigenpairs, gradients, laplacian, spectral_gradients
from partwhole.spectral.eigen import gradient_matrices, tangent_frames


def check(found: Eigenpairs, operator: Laplacian, k: int) -> None:
    """Everything that makes eigenpairs, whatever the surface."""
    assert found.functions.shape == (len(operator.mass), k)
    assert np.isfinite(found.functions).all()
    assert np.all(found.values >= 0)
    assert np.all(np.diff(found.values) >= 0)
    np.testing.assert_allclose(found.project(found.functions), np.eye(k), atol=1e-8)
    # |A^(−1/2) (L φ − λ A φ)|, in units where the area is 1
    residual = operator.stiffness @ found.functions - operator.mass[:, None] * found.functions * found.values
    size = np.linalg.norm(residual / np.sqrt(operator.mass)[:, None], axis=0)
    area = operator.mass.sum()
    assert np.all(size * area <= 1e-5 * (1 + found.values * area))


# --- analytic truths


def test_sphere_has_l_times_l_plus_one() -> None:
    found = eigenpairs(sphere(3000), 16)
    expected = np.repeat([0.0, 2.0, 6.0, 12.0], [1, 3, 5, 7])
    np.testing.assert_allclose(found.values, expected, rtol=0.01, atol=1e-9)


def test_free_square_has_cosines() -> None:
    square = plane(1600)
    found = eigenpairs(square, 6)
    np.testing.assert_allclose(found.values, np.pi**2 * np.array([0, 1, 1, 2, 4, 4]), rtol=0.01, atol=1e-9)
    # the eigenvalue 2π² is simple: its function is a product of cosines
    x, y = (square.vertices - square.vertices.min(axis=0))[:, :2].T
    expected = 2 * np.cos(np.pi * x) * np.cos(np.pi * y)
    assert abs(found.project(expected)[3]) == pytest.approx(1, abs=0.01)


def test_the_first_function_is_constant() -> None:
    found = eigenpairs(torus(n_vertices=2000), 5)
    np.testing.assert_allclose(found.functions[:, 0], found.mass.sum() ** -0.5, rtol=1e-8)
    assert found.values[0] == 0
    assert found.values[1] > 0


# --- any surface, any number of pairs


def test_all_that_makes_eigenpairs(any_surface: Mesh) -> None:
    operator = laplacian(any_surface)
    for k in {1, any_surface.n_vertices // 3, any_surface.n_vertices - 2, any_surface.n_vertices} - {0}:
        check(eigenpairs(operator, k), operator, k)


@pytest.mark.parametrize("make", [sphere, torus, slivers, plane])
def test_iteration_finds_what_the_dense_solver_finds(make) -> None:
    operator = laplacian(make(n_vertices=900))
    found = eigenpairs(operator, 120)
    check(found, operator, 120)
    expected = eigh(operator.stiffness.toarray(), np.diag(operator.mass), eigvals_only=True, subset_by_index=(0, 119))
    np.testing.assert_allclose(found.values, expected, rtol=1e-7, atol=1e-8 * expected[-1])


def test_k_of_300() -> None:
    operator = laplacian(random_cuts(sphere(2000), "pfaust-h", seed=1).part)
    check(eigenpairs(operator, 300), operator, 300)


def test_components_have_a_zero_each_and_alike_ones_repeat_everything(joined) -> None:
    single = eigenpairs(sphere(700), 40)
    triple = eigenpairs(joined(sphere(700), sphere(700), sphere(700)), 120)
    np.testing.assert_array_equal(triple.values[:3], 0)
    assert triple.values[3] > 1
    np.testing.assert_allclose(triple.values, np.repeat(single.values, 3), rtol=1e-8, atol=1e-9)


def test_more_components_than_pairs(joined) -> None:
    crumbs = joined(*(sphere(20 + i) for i in range(6)))
    found = eigenpairs(crumbs, 4)
    np.testing.assert_array_equal(found.values, 0)
    np.testing.assert_allclose(found.project(found.functions), np.eye(4), atol=1e-10)


# --- invariances


@pytest.mark.parametrize("factor", [1e-50, 7.0, 1e40])
def test_scaling_by_s_divides_eigenvalues_by_its_square(factor: float) -> None:
    mesh = torus(n_vertices=700)
    plain, scaled = eigenpairs(mesh, 20), eigenpairs(mesh.scaled(factor), 20)
    np.testing.assert_allclose(scaled.values * factor**2, plain.values, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.abs(scaled.project(scaled.functions)), np.eye(20), atol=1e-8)


def test_turning_and_renumbering_change_nothing() -> None:
    mesh = random_cuts(torus(n_vertices=1200), "pfaust-m", seed=3).part
    rng = np.random.default_rng(5)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    order = rng.permutation(mesh.n_vertices)
    other = eigenpairs(Mesh(mesh.vertices[order] @ turn, np.argsort(order)[mesh.faces]), 15)
    plain = eigenpairs(mesh, 15)
    np.testing.assert_allclose(other.values, plain.values, rtol=1e-7, atol=1e-9)
    overlap = plain.project(other.functions[np.argsort(order)])
    simple = np.diff(plain.values, prepend=-1, append=np.inf)
    alone = np.minimum(simple[1:], simple[:-1]) > 1e-3 * plain.values[-1]
    np.testing.assert_allclose(np.abs(np.diag(overlap))[alone], 1, atol=1e-5)


def test_the_same_numbers_each_time() -> None:
    mesh = sphere(800)
    np.testing.assert_array_equal(eigenpairs(mesh, 30).functions, eigenpairs(mesh, 30).functions)


def test_the_largest_entry_is_positive() -> None:
    functions = eigenpairs(random_cuts(sphere(900), "pfaust-m", seed=0).part, 30).functions
    np.testing.assert_allclose(functions.max(axis=0), np.abs(functions).max(axis=0), rtol=2e-6)


# --- coefficients


@given(st.integers(1, 60), st.integers(0, 100))
def test_projecting_what_was_reconstructed_gives_it_back(k: int, seed: int) -> None:
    basis = BASIS.first(k)
    coefficients = np.random.default_rng(seed).standard_normal((k, 2))
    np.testing.assert_allclose(basis.project(basis.reconstruct(coefficients)), coefficients, atol=1e-9)


BASIS = eigenpairs(torus(n_vertices=200), 60)


def test_one_function_is_a_vector() -> None:
    constant = np.ones(200)
    assert BASIS.project(constant).shape == (60,)
    np.testing.assert_allclose(BASIS.reconstruct(BASIS.project(constant)), constant, atol=1e-9)


def test_all_functions_reconstruct_everything() -> None:
    mesh = sphere(150)
    full = eigenpairs(mesh, 150)
    np.testing.assert_allclose(full.reconstruct(full.project(mesh.vertices)), mesh.vertices, atol=1e-9)


def test_it_is_frozen_and_says_what_it_is() -> None:
    with pytest.raises(ValueError, match="read-only"):
        BASIS.values[0] = 1
    assert repr(BASIS).startswith("Eigenpairs(60 on 200 vertices, up to ")
    assert len(BASIS) == 60


# --- what can go wrong


def test_values_of_another_surface_are_refused() -> None:
    with pytest.raises(ValueError, match=r"values has shape \(199, 2\).*200 vertices"):
        BASIS.project(np.ones((199, 2)))
    with pytest.raises(ValueError, match=r"coefficients has shape \(61,\).*60 eigenpairs"):
        BASIS.reconstruct(np.ones(61))


@pytest.mark.parametrize("k", [0, 201])
def test_k_out_of_range(k: int) -> None:
    with pytest.raises(ValueError, match=f"k={k} must lie between 1 and 200"):
        eigenpairs(sphere(200), k)


@pytest.mark.parametrize("k", [0, 61])
def test_first_out_of_range(k: int) -> None:
    with pytest.raises(ValueError, match=f"k={k} must lie between 1 and 60"):
        BASIS.first(k)


@pytest.mark.parametrize("failures", [1, 2])
def test_iteration_that_fails_is_tried_again_then_replaced(monkeypatch: pytest.MonkeyPatch, failures: int) -> None:
    plain, calls = eigen_module.eigsh, []

    def failing(*arguments, **knobs):
        calls.append(knobs["sigma"])
        if len(calls) <= failures:
            raise ArpackNoConvergence("no convergence %s", np.empty(0), np.empty((0, 0)))
        return plain(*arguments, **knobs)

    monkeypatch.setattr(eigen_module, "eigsh", failing)
    operator = laplacian(sphere(700))
    check(eigenpairs(operator, 20), operator, 20)
    assert len(calls) == 2


def test_vectors_that_are_none_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def lying(S, k, **knobs):
        return np.zeros(k), np.random.default_rng(0).standard_normal((S.shape[0], k))

    monkeypatch.setattr(eigen_module, "eigsh", lying)
    operator = laplacian(sphere(700))
    check(eigenpairs(operator, 20), operator, 20)


def test_a_large_surface_that_can_not_be_solved_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments, **knobs):
        raise RuntimeError("Factor is exactly singular")

    monkeypatch.setattr(eigen_module, "splu", failing)
    monkeypatch.setattr(eigen_module, "LARGEST_DENSE", 699)
    with pytest.raises(ValueError, match=r"the 20 lowest eigenpairs of 700 vertices could not be found.*pw\.decimate"):
        eigenpairs(sphere(700), 20)


# --- real scans


@pytest.mark.real_data
@pytest.mark.parametrize("shape", ["faust_r/tr_reg_000.off", "shrec16"])
def test_real_shapes(data_root: Path, shape: str) -> None:
    path = data_root / shape
    if path.is_dir():
        path = sorted(path.rglob("cuts_*_shape_1.off"))[0]
    operator = laplacian(read_mesh(path))
    check(eigenpairs(operator, 200), operator, 200)


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
