"""Maps between decimated surfaces, for every vertex."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from partwhole.datasets import cut_plane, sphere
from partwhole.matching.scans.surface import Lift, prepare_surface
from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import BarycentricMap


def test_without_decimation_the_map_stays() -> None:
    ball = sphere(300)
    lift = Lift.between(
        prepare_surface(ball, "part", most_vertices=300), prepare_surface(ball, "whole", most_vertices=300)
    )
    found = np.random.default_rng(0).permutation(300)
    assert np.array_equal(lift.vertex_map(found), found)
    assert np.array_equal(lift.values(found / 300), found / 300)


def test_vertices_left_out_get_the_place_of_the_nearest() -> None:
    ball = sphere(300)
    vertices = np.concatenate([[[0, 0, 1.1]], ball.vertices])
    part = prepare_surface(Mesh(vertices, ball.faces + 1), "part", most_vertices=300)
    lift = Lift.between(part, prepare_surface(ball, "whole", most_vertices=300))
    found = lift.vertex_map(np.arange(300))
    assert np.array_equal(found[1:], np.arange(300))
    assert found[0] == np.linalg.norm(ball.vertices - [0, 0, 1.1], axis=1).argmin()


def test_places_inside_triangles_stay_without_decimation_and_the_nearest_serves_what_was_left_out() -> None:
    ball = sphere(300)
    vertices = np.concatenate([[[0, 0, 1.1]], ball.vertices])
    part = prepare_surface(Mesh(vertices, ball.faces + 1), "part", most_vertices=300)
    lift = Lift.between(part, prepare_surface(ball, "whole", most_vertices=300))
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    found = BarycentricMap.closest(ball.vertices @ turn, ball)
    lifted = lift.places(found)
    assert np.array_equal(lifted.triangles[1:], found.triangles)
    assert np.array_equal(lifted.weights[1:], found.weights)
    nearest = np.linalg.norm(ball.vertices - [0, 0, 1.1], axis=1).argmin()
    assert np.array_equal(lifted.weights[0], found.weights[nearest])
    assert lifted.covered.tolist() == [False, *[True] * 300]


def test_decimated_identity_comes_back() -> None:
    whole = sphere(4000)
    cut = cut_plane(whole, (0, 0, -0.3), (0, 0, 1))
    part, coarse = (
        prepare_surface(cut.part, "part", most_vertices=800),
        prepare_surface(whole, "whole", most_vertices=1000),
    )
    assert part.decimated
    assert coarse.decimated
    found = cKDTree(coarse.mesh.vertices).query(part.mesh.vertices)[1]
    lift = Lift.between(part, coarse)
    away = np.linalg.norm(whole.vertices[lift.vertex_map(found)] - cut.part.vertices, axis=1)
    edges = np.median(coarse.mesh.edge_lengths)
    assert away.mean() < 0.35 * edges, "finer than the triangles that were matched"
    assert away.max() < 2 * edges
    assert np.allclose(lift.values(np.ones(part.mesh.n_vertices)), 1)
    places = lift.places(BarycentricMap.closest(part.mesh.vertices, coarse.mesh))
    inside = np.linalg.norm(places.positions(whole.vertices) - cut.part.vertices, axis=1)
    assert places.covered.all()
    assert inside.mean() < 0.05 * edges


def test_two_sides_of_something_thin_are_kept_apart() -> None:
    ball = sphere(4000)
    disc = Mesh(ball.vertices * [1, 1, 0.002], ball.faces)
    part, whole = prepare_surface(disc, "part", most_vertices=800), prepare_surface(disc, "whole", most_vertices=1000)
    above = whole.mesh.vertices[:, 2] > 0
    found = np.empty(part.mesh.n_vertices, np.int64)
    for side in (True, False):
        here = np.flatnonzero((part.mesh.vertices[:, 2] > 0) == side)
        there = np.flatnonzero(above == side)
        found[here] = there[cKDTree(whole.mesh.vertices[there]).query(part.mesh.vertices[here])[1]]
    lifted = Lift.between(part, whole).vertex_map(found)
    inside = np.hypot(*disc.vertices[:, :2].T) < 0.9
    same = (disc.vertices[lifted, 2] > 0) == (disc.vertices[:, 2] > 0)
    assert same[inside].mean() > 0.99
    places = Lift.between(part, whole).places(BarycentricMap.at_vertices(found))
    same = (places.positions(disc.vertices)[:, 2] > 0) == (disc.vertices[:, 2] > 0)
    assert same[inside].mean() > 0.99


def test_what_is_torn_is_not_averaged() -> None:
    ball = sphere(2000)
    part, whole = prepare_surface(ball, "part", most_vertices=800), prepare_surface(ball, "whole", most_vertices=800)
    # the upper half goes to the south pole, the lower one to the north pole
    upper = part.mesh.vertices[:, 2] > 0
    poles = [whole.mesh.vertices[:, 2].argmin(), whole.mesh.vertices[:, 2].argmax()]
    lifted = Lift.between(part, whole).vertex_map(np.where(upper, poles[0], poles[1]))
    assert (np.abs(ball.vertices[lifted, 2]) > 0.98).all()
