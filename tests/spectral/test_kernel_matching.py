from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets import cut_plane, torus
from partwhole.mesh import farthest_points
from partwhole.spectral import eigenpairs, kernel_matching

LUMP = torus(n_vertices=300, jitter=0.3)
CUT = cut_plane(LUMP, (0, 0, 0), (1, 0.2, 0))
PART, WHOLE = eigenpairs(CUT.part, 60), eigenpairs(LUMP, 100)


def nearly_right(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    bad = rng.random(len(CUT.vertex_map)) < 0.3
    return np.where(bad, rng.integers(0, 300, len(CUT.vertex_map)), CUT.vertex_map)


def away(vertex_map: np.ndarray) -> float:
    return float(np.linalg.norm(LUMP.vertices[vertex_map] - LUMP.vertices[CUT.vertex_map], axis=1).mean())


def test_the_map_is_a_partial_permutation() -> None:
    found = kernel_matching(nearly_right(), PART, WHOLE)
    assert found.matched.all()
    assert len(np.unique(found.vertex_map)) == len(found.vertex_map)


def test_a_wrong_map_gets_better() -> None:
    start = nearly_right()
    assert away(kernel_matching(start, PART, WHOLE).vertex_map) < 0.3 * away(start)


def test_from_samples_nearly_the_same_comes_out() -> None:
    samples = {
        "part_samples": farthest_points(CUT.part, 80),
        "whole_samples": farthest_points(LUMP, round(80 * LUMP.area / CUT.part.area)),
    }
    start = nearly_right()
    assert away(kernel_matching(start, PART, WHOLE, **samples).vertex_map) < 0.5 * away(start)


def test_one_assignment_is_the_best_of_all() -> None:
    # of all 24 permutations of four vertices
    from itertools import permutations

    from partwhole.spectral import Eigenpairs

    rng = np.random.default_rng(1)
    basis = Eigenpairs(np.arange(3.0), rng.standard_normal((4, 3)), np.full(4, 0.25))
    found = kernel_matching(np.array([1, 0, 3, 2]), basis, basis, times=[0.3])
    K = basis.functions @ np.diag(np.exp(-0.3 * basis.values)) @ basis.functions.T
    before = np.eye(4)[[1, 0, 3, 2]]
    best = max(permutations(range(4)), key=lambda order: (np.eye(4)[list(order)] * (K @ before @ K)).sum())
    assert found.vertex_map.tolist() == list(best)


def test_a_denser_part_has_vertices_without_a_place_of_their_own() -> None:
    found = kernel_matching(np.zeros(300, np.int64), WHOLE, PART, times=[0.1])
    assert found.matched.sum() == len(PART.mass)
    assert found.vertex_map.max() < len(PART.mass)


@pytest.mark.parametrize("times", [[], [-1.0], [np.nan]])
def test_wrong_times(times) -> None:
    with pytest.raises(ValueError, match="must be a list of numbers, none negative"):
        kernel_matching(CUT.vertex_map, PART, WHOLE, times=times)
