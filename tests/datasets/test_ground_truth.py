"""Ground truth at vertices and inside triangles."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets import GroundTruth

TRIANGLE = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def test_points_and_rounding_by_hand() -> None:
    truth = GroundTruth.in_triangles([0, 0], [[0.5, 0.25, 0.25], [0.4, 0.0, 0.6]], faces=[[0, 1, 2]])
    np.testing.assert_allclose(truth.points(TRIANGLE), [[1.0, 0.25, 0], [0, 0.6, 0]])
    rounded = truth.rounded(TRIANGLE)
    assert rounded.kind == "vertices"
    assert rounded.whole_vertices.tolist() == [0, 2]
    assert rounded.rounded(TRIANGLE) is rounded


def test_nearest_is_not_heaviest() -> None:
    # the point (2, 0.45, 0): its heaviest corner is 4 long away along x, the corner (0, 1, 0) is nearer than (4, 0, 0)
    truth = GroundTruth.in_triangles([0], [[0.05, 0.5, 0.45]], faces=[[0, 1, 2]])
    away = np.linalg.norm(TRIANGLE - truth.points(TRIANGLE), axis=1)
    assert truth.rounded(TRIANGLE).whole_vertices.tolist() == [int(away.argmin())] != [1]


def test_rows_may_repeat_and_leave_out_part_vertices() -> None:
    truth = GroundTruth.at_vertices([5, 5, 1], [0, 1, 2])
    assert len(truth) == 3
    assert truth.part_vertices.tolist() == [5, 5, 1]
    with pytest.raises(ValueError, match="read-only"):
        truth.corners[0] = 7


def test_rounding_errors_of_files_are_put_right() -> None:
    truth = GroundTruth.in_triangles([0], [[1.00001, -1e-6, 0.0]], faces=[[0, 1, 2]])
    assert truth.weights.min() >= 0
    assert truth.weights.sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GroundTruth([0], [[0, 1]], [[0.5, 0.5]]), "1 or 3 columns, got 2"),
        (lambda: GroundTruth([0, 1], [[0]], [[1.0]]), "must have one row each"),
        (lambda: GroundTruth([0], [[0, 1, 2]], [[0.5, 0.5, 0.5]]), r"weights of row 0 are .* sum to one"),
        (lambda: GroundTruth([0], [[0, 1, 2]], [[1.5, -0.5, 0.0]]), "not negative"),
        (lambda: GroundTruth([0], [[0, 1, 2]], [[np.nan, 0.5, 0.5]]), "sum to one"),
        (lambda: GroundTruth.of_map([0.5]), "vertex_map must be whole numbers"),
        (lambda: GroundTruth.at_vertices([0], [-1]), "whole_vertices holds -1"),
        (lambda: GroundTruth.in_triangles([3], [[1, 0, 0]], faces=[[0, 1, 2]]), "triangles reach to 3"),
        (
            lambda: GroundTruth.in_triangles([0], [[1, 0, 0]], faces=[[0, 1, 2]]).whole_vertices,
            "rounded.* picks them",
        ),
    ],
)
def test_nonsense_is_refused(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
