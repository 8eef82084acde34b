"""Nearest points of a surface, against all triangles; and triangles that intersect, where it is known which do."""

from __future__ import annotations

import numpy as np

from partwhole.datasets import sphere, torus
from partwhole.datasets.cutting.triangulations import weights_in_triangles
from partwhole.mesh import Mesh
from partwhole.mesh.closest import SurfaceTree


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
