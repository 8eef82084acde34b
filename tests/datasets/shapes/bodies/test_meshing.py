from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from partwhole.datasets.shapes.bodies.meshing import (
    Grid,
    field,
    field_on_grid,
    gradient,
    march,
    mesh_flesh,
)
from partwhole.datasets.shapes.bodies.rig import Flesh, distance_to
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
