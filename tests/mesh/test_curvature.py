"""Integrated mean curvature against surfaces whose curvature is known."""

import numpy as np
import pytest

from partwhole.datasets import cut_plane, cylinder, plane, sphere, torus
from partwhole.mesh import Mesh
from partwhole.mesh.curvature import integrated_mean_curvature


@pytest.mark.parametrize("radius", [0.1, 1.0, 30.0])
def test_sphere(radius):
    ball = sphere(2000, radius=radius)
    found = integrated_mean_curvature(ball)
    assert found.sum() == pytest.approx(4 * np.pi * radius, rel=2e-3)
    assert np.median(found / ball.vertex_areas) == pytest.approx(1 / radius, rel=0.02)


def test_cylinder_bends_in_one_direction_only():
    tube = cylinder(1.0, 2.0, 2000)
    # the rings at both ends have edges of one triangle only, which count nothing
    assert integrated_mean_curvature(tube).sum() == pytest.approx(np.pi * 2.0, rel=0.02)


def test_plane_is_flat():
    assert not integrated_mean_curvature(plane(200)).any()


def test_inside_out_is_the_negative():
    ball = sphere(500)
    turned = Mesh(ball.vertices, ball.faces[:, ::-1])
    assert integrated_mean_curvature(turned) == pytest.approx(-integrated_mean_curvature(ball))


def test_saddles_and_hills_of_a_torus():
    ring = torus(2.0, 0.5, 3000)
    found = integrated_mean_curvature(ring)
    assert found.sum() == pytest.approx(2 * np.pi**2 * 2.0, rel=0.01)
    out = np.hypot(*ring.vertices[:, :2].T) > 2.0
    density = found / ring.vertex_areas
    assert np.median(density[out]) > np.median(density[~out]) > 0


def test_where_nothing_is_missing_a_part_has_the_whole_ones_curvature():
    ball = sphere(1500)
    cut = cut_plane(ball, (0, 0, 0.2), (0, 0, 1))
    inside = np.ones(cut.part.n_vertices, bool)
    inside[cut.part.boundary_vertices] = False
    expected = integrated_mean_curvature(ball)[cut.vertex_map]
    assert integrated_mean_curvature(cut.part)[inside] == pytest.approx(expected[inside])


def test_edges_that_say_nothing_count_nothing():
    # three triangles at one edge, and two whose orientations disagree
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]]
    book = Mesh(points, [[0, 1, 2], [1, 0, 3], [0, 1, 4]])
    assert not integrated_mean_curvature(book).any()
    folded = Mesh([*points[:4], [0, -1, 1]], [[0, 1, 2], [0, 1, 4]])
    assert not integrated_mean_curvature(folded).any()
    hinge = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, -1]], [[0, 1, 2], [1, 0, 3]])
    assert integrated_mean_curvature(hinge)[:2] == pytest.approx([np.pi / 8, np.pi / 8])
