"""Criteria on a CUDA device agree with those on the processor."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.criterion import boundary_criterion, same_loop_criterion, wormhole_criterion
from partwhole.criterion.distances import min_plus
from partwhole.datasets.shapes.primitives import sphere
from partwhole.geodesics import geodesic_distances

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "k", "n"), [(300, 77, 500), (1, 1, 1), (129, 4, 65), (5, 0, 7)])
def test_min_plus_is_the_same(m, k, n, dtype):
    rng = np.random.default_rng(0)
    a, b = rng.random((m, k)).astype(dtype), rng.random((k, n)).astype(dtype)
    a[rng.random((m, k)) < 0.2] = np.inf
    a.setflags(write=False)
    np.testing.assert_array_equal(min_plus(a, b, device="cuda"), min_plus(a, b))


@pytest.mark.parametrize("criterion", [boundary_criterion, wormhole_criterion, same_loop_criterion])
@pytest.mark.parametrize("sound", [False, True])
@pytest.mark.parametrize("rows", [None, [5, 3, 100]])
def test_criteria_are_the_same(torn_sphere, criterion, sound, rows):
    part = torn_sphere(0).part
    D = geodesic_distances(part, method="dijkstra")
    import torch

    expected = criterion(part, D, rows=rows, sound=sound)
    for given in (D, torch.from_numpy(D).cuda()):
        found = criterion(part, given, rows=rows, sound=sound, device="cuda")
        assert found.threshold.is_cuda
        np.testing.assert_allclose(found.threshold.cpu().numpy(), expected.threshold, rtol=1e-12)
        np.testing.assert_array_equal(found.mask.cpu().numpy(), expected.mask)
        np.testing.assert_allclose(found.soft_mask.cpu().numpy(), expected.soft_mask, rtol=1e-12)
        assert found.fraction == expected.fraction
        assert found.statement == expected.statement
        np.testing.assert_array_equal(found.on_host().mask, expected.mask)


def test_what_is_done_to_the_distances_afterwards_changes_nothing(torn_sphere):
    part = torn_sphere(0).part
    D = geodesic_distances(part, method="dijkstra", device="cuda")
    found, expected = (wormhole_criterion(part, given, device="cuda") for given in (D, D.clone()))
    assert expected.mask.any()  # asked for before
    D /= 10 * D.max()
    assert (found.mask == expected.mask).all()
    assert (found.distances == expected.distances).all()


def test_a_closed_surface_on_the_device():
    mesh = sphere(100)
    D = geodesic_distances(mesh, device="cuda")
    for criterion in (boundary_criterion, wormhole_criterion, same_loop_criterion):
        assert criterion(mesh, D, device="cuda").fraction == 1.0


def test_bad_tensors_are_refused():
    import torch

    with pytest.raises(ValueError, match="float32 or float64"):
        wormhole_criterion(sphere(100), torch.ones(100, 100, dtype=torch.int32), device="cuda")
    with pytest.raises(ValueError, match="at least 0"):
        wormhole_criterion(sphere(100), -torch.ones(100, 100), device="cuda")
