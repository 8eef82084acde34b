from __future__ import annotations

import numpy as np

from partwhole.datasets import plane
from partwhole.geodesics import geodesic_distances
from partwhole.mesh import Mesh
from partwhole.viewer.page.paths import Tracer


def test_ways_in_the_plane_are_straight() -> None:
    flat = plane(n_vertices=400)
    start, end = (int(np.abs(flat.vertices - corner).sum(axis=1).argmin()) for corner in ([0.1, 0.1, 0], [0.9, 0.6, 0]))
    field = np.linalg.norm(flat.vertices - flat.vertices[end], axis=1)
    way = Tracer.of(flat).descend(field, start)
    a, b = flat.vertices[[start, end]]
    away = np.linalg.norm(np.cross(way - a, b - a), axis=1) / np.linalg.norm(b - a)
    assert away.max() < 0.02
    np.testing.assert_allclose(way[[0, -1]], [a, b])


def test_along_edges_every_point_is_a_vertex() -> None:
    flat = plane(n_vertices=200)
    field = np.asarray(geodesic_distances(flat, [0], method="dijkstra"))[0]
    way = Tracer.of(flat).descend(field, flat.n_vertices - 1, along_edges=True)
    assert {tuple(p) for p in way} <= {tuple(p) for p in flat.vertices}
    length = np.linalg.norm(np.diff(way, axis=0), axis=1).sum()
    assert abs(length - field[-1]) < 1e-12


def test_there_is_no_way_to_another_component() -> None:
    faces = [[0, 1, 2], [3, 4, 5]]
    apart = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [9, 0, 0], [9, 1, 0], [8, 0, 0]], faces)
    field = np.array([0.0, 1.0, 1.0, np.inf, np.inf, np.inf])
    np.testing.assert_array_equal(Tracer.of(apart).descend(field, 4), [[9, 1, 0]])


def test_edges_to_what_has_no_way_are_left_alone() -> None:
    square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    way = Tracer.of(square).descend(np.array([0.0, np.inf, 1.5, np.inf]), 2)
    np.testing.assert_array_equal(way, [[1, 1, 0], [0, 0, 0]])


def test_a_dent_in_the_distances_is_left_along_edges() -> None:
    flat = plane(n_vertices=150)
    field = np.linalg.norm(flat.vertices - flat.vertices[0], axis=1)
    start = flat.n_vertices - 1
    field[start] = field[start] / 2  # lower than all around it
    way = Tracer.of(flat).descend(field, start)
    np.testing.assert_array_equal(way[[0, -1]], flat.vertices[[start, 0]])
