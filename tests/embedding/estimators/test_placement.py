from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from partwhole.embedding.estimators.placement import place, steps_to


@pytest.mark.parametrize("k", [1, 2, 3])
def test_exact_distances_give_the_place(k) -> None:
    rng = np.random.default_rng(0)
    there, new = rng.normal(size=(40, k)), rng.normal(size=(10, k))
    d = np.linalg.norm(new[:, None] - there, axis=2)
    found = place(d, np.ones_like(d), there)
    right = np.linalg.norm(found - new, axis=1) < 1e-7
    assert right.mean() >= (0.8 if k == 1 else 1.0)  # on a line one can't walk past a point


def test_stress_is_least() -> None:
    rng = np.random.default_rng(1)
    there, new = rng.normal(size=(30, 2)), rng.normal(size=(6, 2))
    d = np.linalg.norm(new[:, None] - there, axis=2) * rng.uniform(0.8, 1.2, (6, 30))
    w = rng.random((6, 30)) * (rng.random((6, 30)) < 0.5)
    found = place(d, w, there)
    for i in range(6):

        def stress(y, i=i) -> float:
            return float((w[i] * (np.linalg.norm(y - there, axis=1) - d[i]) ** 2).sum())

        least = minimize(stress, found[i], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14})
        assert stress(found[i]) <= least.fun + 1e-9


def test_each_row_by_itself() -> None:
    rng = np.random.default_rng(2)
    there = rng.normal(size=(25, 2))
    d, w = rng.random((8, 25)) + 0.1, rng.random((8, 25))
    together = place(d, w, there)
    np.testing.assert_allclose(np.concatenate([place(d[i : i + 1], w[i : i + 1], there) for i in range(8)]), together)


def test_distance_zero_is_the_point_itself() -> None:
    there = np.random.default_rng(3).normal(size=(5, 2))
    d = np.ones((1, 5))
    d[0, 3] = 0
    np.testing.assert_array_equal(place(d, np.ones((1, 5)), there)[0], there[3])


def test_all_in_one_place_or_a_single_neighbour() -> None:
    assert np.isfinite(place(np.ones((1, 4)), np.ones((1, 4)), np.zeros((4, 2)))).all()
    only_one = place(np.array([[0.5, 9.0]]), np.array([[1.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]]))
    assert np.linalg.norm(only_one) == pytest.approx(0.5)


def test_ways_lead_over_neighbours_on_the_same_sheet() -> None:
    D = np.array([[0.0, 1, 20], [1, 0, 19], [20, 19, 0]])
    lengths, neighbours = np.array([[0.4, 0.7, 0.8]]), np.array([[0, 1, 2]])
    np.testing.assert_allclose(steps_to(lengths, neighbours, D, detour=2.0), [[0.4, 0.7, 19.7]])
    np.testing.assert_allclose(steps_to(lengths, neighbours, D, detour=100.0), [[0.4, 0.7, 0.8]])
