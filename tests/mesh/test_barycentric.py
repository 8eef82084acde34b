from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets.shapes.primitives import sphere
from partwhole.mesh.barycentric import BarycentricMap
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
