"""Distances on a CUDA device agree with those on the processor."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets.primitives import slivers, sphere
from partwhole.geodesics import geodesic_distances
from partwhole.mesh import Mesh

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("method", ["dijkstra", "fast_marching"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-4), (np.float64, 1e-8)])
@pytest.mark.parametrize("mesh", [sphere(1500, jitter=0.6), slivers(900)], ids=["sphere", "slivers"])
def test_devices_agree(mesh, method, dtype, tolerance):
    sources = np.random.default_rng(0).permutation(mesh.n_vertices)[:300]
    expected = geodesic_distances(mesh, sources, method=method, dtype=dtype)
    found = geodesic_distances(mesh, sources, method=method, dtype=dtype, device="cuda")
    assert found.is_cuda
    np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=tolerance)


def test_all_pairs_are_symmetric_and_components_are_apart():
    one = sphere(200)
    both = Mesh(np.concatenate([one.vertices, one.vertices + 5]), np.concatenate([one.faces, one.faces + 200]))
    D = geodesic_distances(both, device="cuda").cpu().numpy()
    assert (D == D.T).all()
    assert np.isinf(D[:200, 200:]).all()
    np.testing.assert_allclose(D[:200, :200], geodesic_distances(one), rtol=1e-8)
