"""Where several are equal up to rounding, the first of them decides, whatever the last digits are."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.embedding.solver.classical import classical_scaling
from partwhole.mesh import Mesh, farthest_points
from partwhole.store.compute import first_largest, first_smallest, with_fixed_signs

ROUNDING = [(0.0, 0.0), (1e-13, 0.0), (0.0, 1e-13)]


@pytest.mark.parametrize(("one", "other"), ROUNDING)
def test_the_last_digit_does_not_decide(one: float, other: float) -> None:
    assert first_largest([0.0, 2 + one, 2 + other]) == 1
    assert first_smallest([3.0, 2 + one, 2 + other]) == 1
    assert with_fixed_signs(np.array([[-1 - one], [1 + other]])).round(9).tolist() == [[1.0], [-1.0]]


def test_what_is_really_larger_decides() -> None:
    assert first_largest([1.0, 1.00001]) == 1
    assert first_largest([1e-12, 1.1e-12]) == 1
    assert first_largest([-2.0, -1.0]) == 1
    assert first_smallest([1.00001, 1.0]) == 1
    assert first_largest([1.0, np.inf]) == first_smallest([1.0, -np.inf]) == 1


@pytest.mark.parametrize(("one", "other"), ROUNDING)
def test_symmetric_points_are_scaled_alike(one: float, other: float) -> None:
    """The corners of a rectangle: four entries of each coordinate have the same magnitude."""
    corners = np.array([[0, 0], [4 + one, 0], [4, 3], [0, 3 + other]])
    D = np.linalg.norm(corners[:, None] - corners, axis=2)
    assert classical_scaling(D).round(6).tolist() == [[2.0, 1.5], [-2.0, 1.5], [-2.0, -1.5], [2.0, -1.5]]


@pytest.mark.parametrize(("one", "other"), ROUNDING)
def test_the_farthest_vertex_and_the_largest_piece(one: float, other: float) -> None:
    square = np.array([[0, 0, 0], [1 + one, 0, 0], [1, 1, 0], [0, 1 + other, 0]])
    assert farthest_points(Mesh(square, [[0, 1, 2], [0, 2, 3]]), 3, first=0).tolist() == [0, 2, 1]
    two = Mesh(np.concatenate([square, square[:, [1, 0, 2]] + 5]), [[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]])
    assert two.largest_component()[1].tolist() == [0, 1, 2, 3]
