from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from partwhole.datasets.cutting.cuts import cut_plane
from partwhole.datasets.shapes.bodies.meshing import (
    Grid,
    field,
    field_on_grid,
    flip_edges,
    gradient,
    march,
    mesh_flesh,
    relax_step,
)
from partwhole.datasets.shapes.bodies.rig import Flesh, distance_to
from partwhole.datasets.shapes.primitives import slivers, sphere, torus
from partwhole.mesh import Mesh

CONE = Flesh("bone", (0.0, 0.0, 0.0), (2.0, 0.0, 0.0), 0.6, 0.2, 0.1)
BALL = Flesh("bone", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 1.0, 1.0, 0.1)
PILL = Flesh("bone", (0.0, 0.0, 0.0), (0.0, 0.0, 2.0), 0.5, 0.5, 0.1)


def test_distance_to_a_cone_is_that_to_its_balls():
    points = np.random.default_rng(0).uniform(-1, 3, (500, 3))
    s = np.linspace(0, 1, 2001)[:, None]
    centres, radii = s * [[2.0, 0.0, 0.0]], 0.6 - 0.4 * s[:, 0]
    brute = (np.linalg.norm(points[:, None] - centres, axis=2) - radii).min(axis=1)
    np.testing.assert_allclose(distance_to(CONE, points), brute, atol=1e-5)


def test_a_flat_ball_is_an_ellipsoid():
    flat = Flesh("bone", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 1.0, 1.0, 0.1, (0.0, 0.0, 2.0), 0.5)
    on_it = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0.5], [0.6, 0, 0.4]])
    np.testing.assert_allclose(distance_to(flat, on_it), 0, atol=1e-12)


def test_gradient_of_a_distance_has_length_one():
    points = np.random.default_rng(1).normal(size=(100, 3)) * 3
    np.testing.assert_allclose(np.linalg.norm(gradient([CONE], points, 1e-4), axis=1), 1, atol=1e-3)
    np.testing.assert_allclose(gradient([BALL], np.array([[0.0, 3.0, 0.0]]), 1e-4), [[0, 1, 0]], atol=1e-3)


def test_far_pieces_do_not_touch_each_other():
    away = Flesh("bone", (9.0, 0.0, 0.0), (9.0, 0.0, 0.0), 1.0, 1.0, 0.1)
    points = np.random.default_rng(2).uniform(-1, 10, (200, 3))
    both = np.minimum(distance_to(BALL, points), distance_to(away, points))
    np.testing.assert_allclose(field([BALL, away], points), both, atol=0.1 / 6)


@pytest.mark.parametrize(
    ("flesh", "area", "volume"),
    [
        (BALL, 4 * np.pi, 4 / 3 * np.pi),
        (PILL, np.pi * (1 + 2), np.pi * (0.5 + 1 / 6)),
    ],
    ids=["ball", "pill"],
)
def test_marching_closes_the_surface(flesh, area, volume):
    mesh = Mesh(*march(field_on_grid([flesh], 0.07)))
    assert mesh.is_closed
    assert mesh.is_manifold
    assert mesh.euler_characteristic == 2
    assert mesh.area == pytest.approx(area, rel=0.02)
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    assert np.einsum("mi,mi->", np.cross(a, b), c) / 6 == pytest.approx(volume, rel=0.02)
    assert np.abs(distance_to(flesh, mesh.vertices)).max() < 0.01


def test_marching_any_values_gives_a_closed_manifold():
    values = np.random.default_rng(3).normal(size=(9, 10, 11))
    values[[0, -1]] = values[:, [0, -1]] = values[:, :, [0, -1]] = 1.0
    mesh = Mesh(*march(Grid(values, np.zeros(3), 1.0)))
    assert mesh.is_closed
    assert mesh.is_manifold
    directed = mesh.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    assert len(np.unique(directed, axis=0)) == len(directed)


def test_flesh_with_a_handle_is_returned_as_the_grid_shows_it():
    corners = [(np.cos(a), np.sin(a), 0.0) for a in np.linspace(0, 2 * np.pi, 7)]
    ring = [Flesh("bone", start, end, 0.2, 0.2, 0.05) for start, end in pairwise(corners)]
    mesh = mesh_flesh(ring, 500, refinements=1)
    assert mesh.genus == 1
    assert mesh.n_vertices > 500
    assert mesh_flesh(ring[:4], 500).n_vertices == 500


# --- evener triangles on known surfaces


def test_flipping_makes_a_surface_delaunay():
    mesh = torus(n_vertices=600, jitter=1.0)
    flipped = Mesh(mesh.vertices, flip_edges(mesh.vertices, mesh.faces, rounds=100))
    assert flipped.is_manifold
    assert flipped.genus == 1
    opposite = np.bincount(flipped.opposite_edges.reshape(-1), weights=flipped.corner_angles.reshape(-1))
    before = np.bincount(mesh.opposite_edges.reshape(-1), weights=mesh.corner_angles.reshape(-1))
    assert np.mean(opposite > np.pi + 0.01) < 0.1 * np.mean(before > np.pi + 0.01)


def test_relaxing_turns_slivers_into_good_triangles():
    mesh = slivers(1500, surface="sphere", stretch=4.0)
    vertices, faces = mesh.vertices, mesh.faces
    for _ in range(30):
        vertices, faces = relax_step(vertices, faces)
        vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    faces = flip_edges(vertices, faces)
    better = Mesh(vertices, faces)
    assert better.is_manifold
    assert better.is_closed
    assert better.genus == 0
    assert np.median(np.degrees(better.corner_angles.min(axis=1))) > 40
    assert np.median(np.degrees(mesh.corner_angles.min(axis=1))) < 30
    assert np.all(np.einsum("mi,mi->m", better.face_normals, vertices[faces].mean(axis=1)) > 0)


def test_a_good_mesh_keeps_its_faces():
    mesh = sphere(500)
    np.testing.assert_array_equal(flip_edges(mesh.vertices, mesh.faces), mesh.faces)


def test_a_boundary_keeps_its_vertices_and_edges():
    half = cut_plane(torus(n_vertices=600, jitter=1.0), (0, 0, 0), (1, 0, 0)).part
    vertices, faces = relax_step(half.vertices, half.faces)
    better = Mesh(vertices, faces)
    assert sorted(better.boundary_edges.tolist()) == sorted(half.boundary_edges.tolist())
    moved = np.any(vertices != half.vertices, axis=1)
    assert not moved[half.boundary_vertices].any()
    assert moved.sum() == half.n_vertices - len(half.boundary_vertices)
