"""Distances on a CUDA device agree with those on the processor."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets.shapes.primitives import slivers, sphere
from partwhole.geodesics import geodesic_distances
from partwhole.mesh import Mesh

pytestmark = pytest.mark.gpu


def on_both_devices(mesh, method, dtype):
    sources = np.random.default_rng(0).permutation(mesh.n_vertices)[:300]
    expected = geodesic_distances(mesh, sources, method=method, dtype=dtype)
    found = geodesic_distances(mesh, sources, method=method, dtype=dtype, device="cuda")
    assert found.is_cuda
    return found.cpu().numpy(), expected


@pytest.mark.parametrize("method", ["dijkstra", "fast_marching"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-4), (np.float64, 1e-6)])
def test_devices_agree(method, dtype, tolerance):
    np.testing.assert_allclose(*on_both_devices(sphere(1500, jitter=0.6), method, dtype), rtol=tolerance)


def test_single_precision_along_edges_is_right_to_half_a_unit():
    mesh = sphere(1500, jitter=0.6)
    truth = geodesic_distances(mesh, method="dijkstra")
    found = geodesic_distances(mesh, method="dijkstra", dtype=np.float32, device="cuda").cpu().numpy()
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, truth, rtol=2.0**-24 * 1.001)


def test_devices_agree_but_for_a_few_pairs_on_slivers():
    found, expected = on_both_devices(slivers(900), "fast_marching", np.float64)
    apart = expected > 0
    difference = np.abs(found[apart] / expected[apart] - 1)
    assert (difference > 1e-6).mean() < 0.02  # where the order of visits matters; see geodesics/cpu/fast_marching.py
    assert difference.max() < 0.1


def test_all_pairs_are_symmetric_and_components_are_apart():
    one = sphere(200)
    both = Mesh(np.concatenate([one.vertices, one.vertices + 5]), np.concatenate([one.faces, one.faces + 200]))
    D = geodesic_distances(both, device="cuda").cpu().numpy()
    assert (D == D.T).all()
    assert np.isinf(D[:200, 200:]).all()
    np.testing.assert_allclose(D[:200, :200], geodesic_distances(one), rtol=1e-6)
