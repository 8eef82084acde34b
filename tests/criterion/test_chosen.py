from __future__ import annotations

import numpy as np
import pytest

from partwhole.criterion import boundary_criterion, distances_among, same_loop_criterion, wormhole_criterion
from partwhole.datasets import cut_balls, sphere
from partwhole.geodesics import geodesic_distances
from partwhole.mesh import Mesh


@pytest.fixture(scope="module")
def torn() -> Mesh:
    return cut_balls(sphere(300, jitter=0.3), [0, 150], 0.5).part


@pytest.mark.parametrize("criterion", [boundary_criterion, wormhole_criterion, same_loop_criterion])
@pytest.mark.parametrize("method", ["dijkstra", "fast_marching"])
@pytest.mark.parametrize("sound", [False, True])
def test_it_is_the_criterion_of_all_pairs(torn, criterion, method, sound) -> None:
    # in any order
    some = np.random.default_rng(0).permutation(torn.n_vertices)[:40]
    D = geodesic_distances(torn, method=method, dtype=np.float32)
    every = criterion(torn, D, sound=sound)
    found = criterion(torn, distances_among(torn, some, method=method), sound=sound)
    pairs = np.ix_(some, some)
    # fronts that are computed together decide the rounding of fast marching
    np.testing.assert_allclose(found.distances, D[pairs], rtol=1e-5)
    np.testing.assert_allclose(found.soft_mask, every.soft_mask[pairs], rtol=1e-4)
    if method == "dijkstra":
        np.testing.assert_array_equal(found.mask, every.mask[pairs])
    assert found.statement.split(";")[0] == every.statement.split(";")[0]
    assert 0 < found.fraction < 1


def test_a_surface_without_a_boundary() -> None:
    assert wormhole_criterion(sphere(60), distances_among(sphere(60), [3, 50])).mask.all()


def test_what_is_refused(torn) -> None:
    with pytest.raises(ValueError, match=r"vertices must be different and at least one, got 2; use np\.unique"):
        distances_among(torn, [4, 4])
    with pytest.raises(ValueError, match="rows has vertices 0 to 999"):
        distances_among(torn, [0, 999])
    among = distances_among(torn, [0, 1])
    for options in ({"rows": [0]}, {"from_boundary": np.zeros((1, 1))}, {"device": "cuda"}):
        with pytest.raises(ValueError, match="leave rows, from_boundary and device out"):
            wormhole_criterion(torn, among, **options)
