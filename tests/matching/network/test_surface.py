from __future__ import annotations

import numpy as np
import pytest
import torch

from partwhole.criterion import boundary_criterion, same_loop_criterion, wormhole_criterion
from partwhole.datasets import cut_plane, plane, sphere, sphere_cap
from partwhole.geodesics import geodesic_distances
from partwhole.matching import Surface, pair_weights, surface_of
from partwhole.matching.network.diffusion_net import inputs_of
from partwhole.matching.network.surface import arrays_of, distances_of, signatures, tensors_of
from partwhole.mesh import Mesh
from partwhole.spectral import eigenpairs, gradients
from partwhole.store.cache import Cache


def two(one: Mesh, other: Mesh) -> Mesh:
    """Two surfaces as one, far apart."""
    vertices = np.concatenate([one.vertices, other.vertices + 9.0])
    return Mesh(vertices, np.concatenate([one.faces, other.faces + one.n_vertices]))


def test_a_surface_is_what_the_mesh_is() -> None:
    mesh = sphere(150, jitter=0.3).scaled(0.28)
    made, basis, frame = surface_of(mesh, eigenpairs=30, diffusion_eigenpairs=12), eigenpairs(mesh, 30), gradients(mesh)
    assert repr(made) == "Surface(150 vertices, 30 eigenpairs, on cpu)"
    assert len(made) == 150
    expected = {
        "points": mesh.vertices,
        "normals": mesh.vertex_normals,
        "mass": basis.mass,
        "values": basis.values,
        "functions": basis.functions,
        "signatures": signatures(basis),
        "basis": np.stack([basis.functions, frame.gx @ basis.functions, frame.gy @ basis.functions], axis=1)[..., :12],
    }
    for name, array in expected.items():
        found = getattr(made, name)
        assert found.dtype == torch.float32
        np.testing.assert_allclose(found, array, rtol=1e-5, atol=1e-5 * np.abs(array).max())
    assert made.distances is made.weights is made.absent is None
    assert [tensor.shape for tensor in made.operators] == [(150,), (12,), (150, 3, 12)]


def test_fewer_vertices_than_eigenpairs() -> None:
    made = surface_of(sphere(30), eigenpairs=200, diffusion_eigenpairs=128)
    assert made.values.shape == (30,)
    assert made.functions.shape == (30, 30)
    assert made.basis.shape == (30, 3, 30)


def test_with_a_cache_it_is_the_same(tmp_path) -> None:
    for _ in range(2):
        kept = surface_of(sphere(100), eigenpairs=10, diffusion_eigenpairs=5, cache=Cache(tmp_path))
        plain = surface_of(sphere(100), eigenpairs=10, diffusion_eigenpairs=5)
        for name in ("values", "functions", "basis", "signatures"):
            assert torch.equal(getattr(kept, name), getattr(plain, name))
    assert len(list(tmp_path.rglob("*.npz"))) == 1


def test_arrays_become_tensors_without_a_copy() -> None:
    arrays = arrays_of(sphere(50), 10, 5, None)
    made = tensors_of(arrays)
    assert all(getattr(made, name).data_ptr() == array.ctypes.data for name, array in arrays.items())


def test_signatures_do_not_change_with_pose_or_vertex_order(surface) -> None:
    """A flat strip and the same rolled into a tube, which has the same distances inside."""
    flat = plane((12, 30), width=1.5, height=0.6, jitter=0.3)
    x, y, _ = flat.vertices.T
    radius = 0.4
    rolled = Mesh(np.stack([radius * np.sin(x / radius), y, radius * np.cos(x / radius)], axis=1), flat.faces)
    before, after = surface(flat).signatures, surface(rolled).signatures
    assert (before - after).abs().max() < 0.02 * before.max()
    order = np.random.default_rng(0).permutation(flat.n_vertices)
    shuffled = Mesh(flat.vertices[order], np.argsort(order)[flat.faces])
    torch.testing.assert_close(surface(shuffled).signatures, before[order], rtol=1e-3, atol=1e-3)


def test_heat_in_the_middle_of_a_plane_is_one() -> None:
    """4πt HKS(t) there, for times between the spacing of the vertices and the distance of the border."""
    square = plane((30, 30))
    found = signatures(eigenpairs(square, 200))
    middle = np.argmin(np.linalg.norm(square.vertices - [0.5, 0.5, 0], axis=1))
    assert found.shape == (900, 32)
    np.testing.assert_allclose(found[middle, :6], 1, atol=0.05)
    corner = np.argmin(np.linalg.norm(square.vertices, axis=1))
    # a quarter of the plane is there to take the heat
    np.testing.assert_allclose(found[corner, :6], 4, rtol=0.1)


def test_to_another_device_and_with_a_loss(surface) -> None:
    made = surface(sphere(60))
    D, W = torch.rand(60, 60), torch.rand(60, 60)
    full = made.with_loss(D, W)
    assert full.distances is D
    assert full.weights is W
    assert made.distances is None
    moved = full.to("meta")
    assert moved.points.device.type == moved.weights.device.type == "meta"
    assert moved.absent is None
    assert repr(moved) == "Surface(60 vertices, 20 eigenpairs, on meta)"


@pytest.mark.parametrize("method", ["fast_marching", "dijkstra", "exact"])
def test_distances(method) -> None:
    mesh = sphere(60)
    D = distances_of(mesh, method=method, device="cpu")
    assert D.dtype == torch.float32
    np.testing.assert_allclose(D, geodesic_distances(mesh, method=method), rtol=1e-5, atol=1e-6)
    # the gradient of the loss takes this for granted
    assert torch.equal(D, D.T)


@pytest.mark.parametrize("mask", ["soft", "binary"])
@pytest.mark.parametrize("kind", ["boundary", "wormhole", "same_loop"])
def test_weights_are_mask_times_areas(kind, mask) -> None:
    mesh = sphere_cap(120, jitter=0.4, angle=2.3)
    D = distances_of(mesh, method="dijkstra", device="cpu")
    areas = torch.from_numpy(mesh.vertex_areas).float()
    W = pair_weights(mesh, D, areas, criterion=kind, mask=mask)
    compute = {"boundary": boundary_criterion, "wormhole": wormhole_criterion, "same_loop": same_loop_criterion}[kind]
    found = compute(mesh, D.numpy())
    M = found.soft_mask if mask == "soft" else found.mask
    assert 0 < M.mean() < 1
    assert W.dtype == torch.float32
    np.testing.assert_allclose(W, M * np.outer(areas, areas), rtol=1e-5)
    torch.testing.assert_close(W, W.T)
    if mask == "soft":
        assert (W.diagonal() > 0).all()


@pytest.mark.parametrize("criterion", ["none", "boundary", "wormhole"])
@pytest.mark.parametrize("mask", ["soft", "binary"])
@pytest.mark.parametrize("closed", [False, True])
def test_pairs_at_infinite_distance_have_no_weight(criterion, mask, closed) -> None:
    """Where a piece is closed, nothing leaves it: the threshold is infinite as well."""
    half = cut_plane(sphere(80), (0, 0, 0), (0, 0, 1)).part
    part, n = two(half, sphere(60) if closed else half), half.n_vertices
    D = distances_of(part, method="dijkstra", device="cpu")
    assert D[0, n].isinf()
    W = pair_weights(part, D, torch.from_numpy(part.vertex_areas).float(), criterion=criterion, mask=mask)
    assert W.isfinite().all()
    assert (W[:n, n:] == 0).all()
    assert (W[n:, :n] == 0).all()
    assert (W[:n, :n].diagonal() > 0).all()


def test_the_same_loop_criterion_wants_one_piece() -> None:
    part = two(sphere_cap(80), sphere_cap(80))
    D = distances_of(part, method="dijkstra", device="cpu")
    with pytest.raises(ValueError, match="component"):
        pair_weights(part, D, torch.ones(160), criterion="same_loop")


def test_a_batch_is_a_surface_too(surface) -> None:
    one = surface(sphere(60))
    held = {name: torch.stack([value, value]) for name, value in vars(one).items() if value is not None}
    both = Surface(**held)
    assert len(both) == 60
    assert inputs_of(both, "xyz+signatures").shape == (2, 60, 38)
    assert [tensor.shape for tensor in both.operators] == [(2, 60), (2, 16), (2, 60, 3, 16)]
