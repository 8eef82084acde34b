"""Regions, and orientation."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial import cKDTree

from partwhole.datasets import cut_plane, sphere
from partwhole.matching.confidence.fit import doubtful_regions, reversed_share, swapped_question
from partwhole.mesh import Mesh


def test_regions_are_connected_pieces() -> None:
    ball = sphere(1000)
    z = ball.vertices[:, 2]
    doubtful = (z > 0.8) | (z < -0.6)
    confidence = np.where(doubtful, 0.2 + 0.1 * np.abs(z), 0.9)
    regions = doubtful_regions(ball, doubtful, confidence)
    assert [round(region.area_share, 2) for region in regions] == [0.2, 0.1]
    assert sum(region.vertices for region in regions) == doubtful.sum()
    lower = regions[0]
    assert lower.centre[2] < -0.6
    assert confidence[lower.vertex] == confidence[z < -0.6].min()
    assert 0.2 < lower.confidence < 0.3


def test_specks_are_no_regions() -> None:
    ball = sphere(2000)
    doubtful = np.zeros(2000, bool)
    doubtful[7] = True
    assert doubtful_regions(ball, doubtful, np.ones(2000)) == ()
    assert len(doubtful_regions(ball, doubtful, np.ones(2000), least_share=0)) == 1
    assert doubtful_regions(ball, ~doubtful, np.zeros(2000))[0].vertices == 1999


def test_a_mirror_image_is_seen() -> None:
    whole = sphere(1500)
    cut = cut_plane(whole, (0, 0, 0.1), (0, 0, 1))
    places = cKDTree(whole.vertices)
    assert reversed_share(cut.vertex_map, cut.part, whole) == 0
    turned = places.query(cut.part.vertices * [-1, -1, 1])[1]
    assert reversed_share(turned, cut.part, whole) < 0.05
    mirrored = places.query(cut.part.vertices * [-1, 1, 1])[1]
    assert reversed_share(mirrored, cut.part, whole) > 0.95


def test_what_looks_swapped_is_asked_about() -> None:
    whole = sphere(300)
    part = cut_plane(whole, (0, 0, 0.1), (0, 0, 1)).part
    asked = swapped_question(whole, part)
    assert asked == "the part has no boundary and the whole has holes; are they swapped?"
    for pair in ((part, whole), (whole, whole), (part, part)):
        assert swapped_question(*pair) is None


def test_a_map_to_one_vertex_has_no_orientation() -> None:
    ball = sphere(100)
    assert math.isnan(reversed_share(np.zeros(100, np.int64), ball, ball))


def test_a_small_whole() -> None:
    corner = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    assert reversed_share(np.array([0, 1, 2]), corner, corner) == 0
    assert reversed_share(np.array([0, 2, 1]), corner, corner) == 1


def test_triangles_that_all_but_collapse_say_nothing_about_orientation() -> None:
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]
    part = Mesh(corners, [[0, 1, 2], [1, 3, 2]])
    # the last vertex goes just across the diagonal: the second triangle is reversed, and a fiftieth of what it should be
    for across, share in ((0.49, 0.0), (0.3, 0.5)):
        whole = Mesh([*corners, [across, across, 0]], [[0, 1, 4], [1, 2, 4], [2, 0, 4], [1, 3, 2]])
        assert reversed_share(np.array([0, 1, 2, 4]), part, whole) == share
