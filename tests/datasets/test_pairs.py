"""Pairs of a part and a whole: their units, and sequences that read late."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from partwhole.datasets import GroundTruth, Pair, Pairs, cut_plane, sphere
from partwhole.mesh import Mesh

WHOLE = Mesh(sphere(400).vertices * 5 + [3, 2, 1], sphere(400).faces, name="ball")
CUT = cut_plane(WHOLE, (3, 2, 1), (0, 0, 1))
TRIANGLE = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def test_the_whole_has_area_one_and_the_part_the_same_scale() -> None:
    pair = Pair.of(CUT.part, CUT.whole)
    assert pair.whole.area == pytest.approx(1)
    np.testing.assert_allclose(pair.whole.vertices.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(pair.part.vertices.mean(axis=0), 0, atol=1e-12)
    assert pair.scale == pytest.approx(WHOLE.area**-0.5)
    np.testing.assert_allclose(pair.part.edge_lengths, CUT.part.edge_lengths * pair.scale)
    assert pair.name == "ball → ball"
    assert repr(pair) == "Pair('ball → ball': 200 vertices of 400, ground truth: no)"
    assert repr(Pair.of_cut(CUT)).endswith("ground truth: 200 rows of vertices)")
    assert pair.ground_truth is None


def test_a_part_may_stay_where_it_was_cut_out() -> None:
    pair = Pair.of_cut(CUT, centre="whole", name="cap")
    assert pair.ground_truth is not None
    truth = pair.ground_truth
    np.testing.assert_allclose(pair.part.vertices, truth.points(pair.whole.vertices), atol=1e-12)
    assert truth.whole_vertices.tolist() == CUT.vertex_map.tolist()
    assert pair.name == "cap"


def test_units_do_not_matter() -> None:
    one, other = Pair.of_cut(CUT), Pair.of(CUT.part.scaled(1000), WHOLE.scaled(1000))
    np.testing.assert_allclose(one.part.vertices, other.part.vertices, atol=1e-12)


def test_pairs_read_late_and_can_be_chosen() -> None:
    read: list[tuple[int, str]] = []

    def load(part: int, whole: str) -> Pair:
        read.append((part, whole))
        return Pair(CUT.part, CUT.whole, name=f"{part}{whole}")

    pairs = Pairs([(k, w) for k in range(3) for w in "ab"], load, name="six")
    assert (len(pairs), repr(pairs), read) == (6, "Pairs('six': 6)", [])
    assert pairs[-1].name == "2b"
    assert [p.name for p in pairs[1:3]] == ["0b", "1a"]
    assert pairs[::2].keys == ((0, "a"), (1, "a"), (2, "a"))
    chosen = pairs.where(lambda part, whole: part != 1 and whole == "b", name="two")
    assert [p.name for p in chosen] == ["0b", "2b"]
    assert chosen.name == "two"
    assert [pairs.subset(chosen.keys[1:]).keys, pairs.subset([], name="none").name] == [((2, "b"),), "none"]
    assert len(read) == 5
    with pytest.raises(IndexError):
        pairs[6]


def test_rounding_all_pairs() -> None:
    truth = GroundTruth.in_triangles([0, 1], [[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]], faces=WHOLE.faces)
    pairs = Pairs.from_list([Pair(CUT.part, WHOLE, truth)], name="one").rounded()
    rounded = pairs[0].ground_truth
    assert rounded is not None
    assert rounded.whole_vertices.tolist() == [WHOLE.faces[0, 0], WHOLE.faces[1, 2]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Pair.of(WHOLE.scaled(2), WHOLE), "isn't larger than its whole; are they in different units"),
        (lambda: Pair(CUT.part, WHOLE, GroundTruth.of_map([400])), "refers to vertex 400, ball has vertices 0 to 399"),
        (lambda: Pair(CUT.part, WHOLE, GroundTruth.at_vertices([399], [0])), "do the files belong together"),
        (lambda: Pair(CUT.part, WHOLE, name="it").rounded(), "it has no ground truth to round"),
    ],
)
def test_nonsense_is_refused(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_centre_that_is_none() -> None:
    with pytest.raises(ValueError, match="centre must be 'own' or 'whole', got 'here'"):
        inspect.unwrap(Pair.of.__func__)(Pair, CUT.part, WHOLE, centre="here")


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
def test_wrong_ground_truth_is_refused(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
