from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets.cutting.triangulations import weights_in_triangles
from partwhole.datasets.shapes.primitives import sphere, torus
from partwhole.mesh.barycentric import BarycentricMap, SurfaceTree
from partwhole.mesh.surface import Mesh

FLAT = Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [4, 4, 0]], [[0, 1, 2], [1, 3, 2]])


def test_points_of_the_surface_are_their_own_closest_points():
    ball = sphere(300)
    rng = np.random.default_rng(0)
    weights = rng.dirichlet([1, 1, 1], size=200)
    points = np.einsum("nc,ncd->nd", weights, ball.vertices[ball.faces[rng.integers(ball.n_faces, size=200)]])
    places = BarycentricMap.closest(points, ball)
    np.testing.assert_allclose(places.positions(ball.vertices), points, atol=1e-12)
    np.testing.assert_allclose(places.weights.sum(axis=1), 1)
    assert places.weights.min() >= 0


def test_some_points_at_vertices():
    places = BarycentricMap(np.array([[0, 1, 2]] * 3), np.array([[0.2, 0.5, 0.3]] * 3), np.array([True, True, False]))
    held = places.with_vertices(np.array([1, 2]), np.array([3, 0]))
    assert held.nearest_vertex.tolist() == [1, 3, 0]
    assert held.covered.all()
    assert np.allclose(held.positions(FLAT.vertices)[1:], FLAT.vertices[[3, 0]])
    assert places.nearest_vertex.tolist() == [1, 1, 1]


def test_a_direction_keeps_the_two_sides_of_a_sheet_apart():
    ball = sphere(200)
    flat = Mesh(ball.vertices * [1, 1, 1e-4], ball.faces)
    outwards = flat.vertex_normals
    inner = np.abs(ball.vertices[:, 2]) > 0.5
    above = BarycentricMap.closest(flat.vertices, flat, directions=outwards)
    assert (np.sign(above.positions(ball.vertices)[inner, 2]) == np.sign(ball.vertices[inner, 2])).all()
    across = BarycentricMap.closest(flat.vertices, flat, directions=-outwards)
    assert (np.sign(across.positions(ball.vertices)[inner, 2]) == -np.sign(ball.vertices[inner, 2])).all()


def test_beyond_reach_nothing_is_covered():
    places = BarycentricMap.closest(np.array([[1.0, 1, 2], [1, 1, 4], [np.nan, 0, 0]]), FLAT, reach=3)
    assert places.covered.tolist() == [True, False, False]
    assert places.covered_share == pytest.approx(1 / 3)
    assert np.isnan(places.positions(FLAT.vertices)[1:]).all()
    assert repr(places) == "BarycentricMap(3 points, 33 % covered)"


def test_a_vertex_map_as_barycentric_map():
    places = BarycentricMap.at_vertices([3, 0], np.array([True, False]))
    assert places.nearest_vertex.tolist() == [3, 0]
    np.testing.assert_array_equal(places.interpolate(np.arange(4.0)), [3, np.nan])
    assert places.only(np.array([False, True])).covered.tolist() == [False, False]


def test_interpolation_is_linear_and_passes_over_values_without_weight():
    places = BarycentricMap(np.array([[0, 1, 2]]), np.array([[0.25, 0.75, 0]]), np.array([True]))
    np.testing.assert_allclose(places.interpolate(np.array([[0.0, 4], [4, 8], [np.nan, np.nan]])), [[3, 7]])


def test_the_nearest_vertex_does_not_depend_on_rounding():
    triangles = np.array([[5, 6, 7], [5, 6, 7]])
    weights = np.array([[0.5, 0.5 + 1e-15, 0], [1 / 3, 1 / 3, 1 / 3 + 1e-16]])
    assert BarycentricMap(triangles, weights, np.ones(2, bool)).nearest_vertex.tolist() == [5, 5]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: BarycentricMap.at_vertices([[1]]), r"vertex_map must be a row of vertex numbers"),
        (lambda: BarycentricMap.at_vertices([-1]), r"vertex_map must be a row of vertex numbers, counted from 0"),
        (lambda: BarycentricMap.at_vertices([1], np.ones(2, bool)), r"covered has shape \(2,\), vertex_map \(1,\)"),
        (lambda: BarycentricMap(np.zeros((1, 3), int), np.ones((1, 3)), np.ones(1, bool)), "a point sum to one"),
        (lambda: BarycentricMap.at_vertices([7]).interpolate(np.ones(3)), r"the map refers to vertex 7"),
    ],
)
def test_what_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_nearest_points_are_those_of_all_triangles() -> None:
    mesh = torus(120)
    points = np.random.default_rng(0).normal(size=(60, 3)) * 2
    near = SurfaceTree(mesh).nearest(points)
    a, b, c = (np.tile(mesh.vertices[mesh.faces[:, k]], (60, 1, 1)) for k in range(3))
    shares = weights_in_triangles(points[:, None], a, b, c)
    places = shares[..., :1] * a + shares[..., 1:2] * b + shares[..., 2:] * c
    assert np.allclose(near.distances, np.linalg.norm(places - points[:, None], axis=2).min(axis=1))
    found = np.einsum("pc,pcd->pd", near.weights, mesh.vertices[mesh.faces[near.faces]])
    assert np.allclose(np.linalg.norm(found - points, axis=1), near.distances)


def test_points_on_the_surface_are_found_where_they_are() -> None:
    mesh = torus(120)
    weights = np.random.default_rng(0).dirichlet([1, 1, 1], size=mesh.n_faces)
    near = SurfaceTree(mesh).nearest(np.einsum("mc,mcd->md", weights, mesh.vertices[mesh.faces]))
    assert np.array_equal(near.faces, np.arange(mesh.n_faces))
    assert np.allclose(near.weights, weights)


def test_nearest_points_lie_in_their_triangles() -> None:
    # three points in four are nearest to an edge or a corner, where rounding could take them beyond
    near = SurfaceTree(sphere(60)).nearest(np.random.default_rng(0).normal(size=(3000, 3)))
    assert near.weights.min() == 0
    assert np.allclose(near.weights.sum(axis=1), 1, rtol=0, atol=1e-12)


def test_normals_decide_which_side_of_a_thin_part_is_meant() -> None:
    ball = sphere(300)
    flat = Mesh(ball.vertices * [1.0, 1.0, 0.01], ball.faces)
    up = np.array([[0.0, 0.0, 1.0]])
    # from above, nearest to the lower side among faces that look down
    near = SurfaceTree(flat).nearest(np.array([[0.1, 0.0, 1.0]]), -up)
    assert flat.face_normals[near.faces[0], 2] < 0
    nothing = SurfaceTree(Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])).nearest(np.zeros((1, 3)), -up)
    assert not nothing.found[0]
    assert np.isinf(nothing.distances[0])


def test_a_closed_surface_does_not_intersect_itself() -> None:
    assert len(SurfaceTree(torus(120)).intersecting_faces()) == 0


def test_two_balls_intersect_where_they_meet_and_nowhere_else() -> None:
    ball = sphere(200)
    moved = ball.vertices + np.array([1.1, 0.07, 0.03])
    both = Mesh(np.concatenate([ball.vertices, moved]), np.concatenate([ball.faces, ball.faces + ball.n_vertices]))
    pairs = SurfaceTree(both).intersecting_faces()
    assert len(pairs) > 10
    assert (pairs[:, 0] < ball.n_faces).all()
    assert (pairs[:, 1] >= ball.n_faces).all()
    # they meet in the plane that halves the way between the centres, up to the length of an edge
    centres = both.vertices[both.faces[pairs.ravel()]].mean(axis=1)
    assert np.abs(centres[:, 0] - 0.55).max() < both.edge_lengths.max()


def test_triangles_with_a_common_corner_may_intersect_elsewhere() -> None:
    corners = [[0, 0, 0], [2, -1, 0], [2, 1, 0], [1, 0, -1], [1, 0, 1]]
    through = Mesh(corners, [[0, 1, 2], [0, 3, 4]])
    assert SurfaceTree(through).intersecting_faces().tolist() == [[0, 1]]
    beside = Mesh([*corners[:3], [-1, 0, -1], [-1, 0, 1]], through.faces)
    assert len(SurfaceTree(beside).intersecting_faces()) == 0


def test_a_surface_of_one_triangle_has_a_tree() -> None:
    one = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    assert SurfaceTree(one).nearest(np.array([[-1.0, -1.0, 0.0]])).weights.tolist() == [[1.0, 0.0, 0.0]]
    assert len(SurfaceTree(one).intersecting_faces()) == 0
