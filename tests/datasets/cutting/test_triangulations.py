"""Other triangulations of known surfaces."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets import cut_plane, sphere, torus
from partwhole.datasets.cutting.triangulations import PointFinder, locate, retriangulate, weights_in_triangles

BALL = sphere(1200)


@pytest.mark.parametrize("even", [False, True])
def test_the_surface_stays_and_the_triangles_change(even: bool) -> None:
    one, two = (retriangulate(BALL, 400, even=even, seed=seed) for seed in (1, 2))
    for made in (one, two):
        mesh = made.of(BALL.vertices, name="ball")
        assert (mesh.n_vertices, mesh.genus, mesh.is_closed, mesh.is_manifold) == (400, 0, True, True)
        assert mesh.area == pytest.approx(BALL.area, rel=0.03)
        np.testing.assert_allclose(made.weights.sum(axis=1), 1)
        # every vertex lies on a triangle of the fine surface, whose inner radius is a little below 1
        assert np.linalg.norm(mesh.vertices, axis=1) == pytest.approx(1, abs=0.01)
    assert not np.array_equal(one.corners, two.corners)
    again = retriangulate(BALL, 400, even=even, seed=1)
    np.testing.assert_array_equal(one.faces, again.faces)
    np.testing.assert_array_equal(one.weights, again.weights)


def test_even_triangles_are_better_and_their_vertices_are_new() -> None:
    angles = []
    for even in (False, True):
        made = retriangulate(BALL, 400, even=even, seed=3)
        angles.append(np.quantile(made.of(BALL.vertices).corner_angles.min(axis=1), 0.05))
        assert (made.weights.max(axis=1) > 1 - 1e-9).mean() == (1.0 if not even else pytest.approx(0, abs=0.1))
    assert angles[1] > 1.3 * angles[0]


def test_bending_and_triangulating_commute() -> None:
    made = retriangulate(BALL, 300, even=True, seed=0)
    bend = np.array([[1.0, 0.4, 0], [0, 2.0, 0.1], [0.3, 0, 0.5]])
    np.testing.assert_allclose(made.points(BALL.vertices @ bend), made.points(BALL.vertices) @ bend, atol=1e-12)


def test_points_are_found_on_the_other_triangulation() -> None:
    source, target = retriangulate(BALL, 500, seed=4), retriangulate(BALL, 350, even=True, seed=5)
    places = locate(source, target, BALL)
    there = places.points(target.points(BALL.vertices))
    away = np.linalg.norm(there - source.points(BALL.vertices), axis=1)
    # the sagitta of the coarse triangles, of edges about 0.2, and nothing along the surface
    assert away.max() < 0.02
    itself = locate(target, target, BALL)
    np.testing.assert_allclose(itself.points(target.points(BALL.vertices)), target.points(BALL.vertices), atol=1e-9)


def test_a_thin_sheet_keeps_its_sides() -> None:
    thin = sphere(1200)
    flat = type(thin)(thin.vertices * [1, 1, 0.005], thin.faces)
    places = PointFinder(flat).places(flat.vertices, flat.vertex_normals)
    found = places.points(thin.vertices)
    inner = np.abs(thin.vertices[:, 2]) > 0.3
    assert (found[inner, 2] * thin.vertices[inner, 2] > 0).all()


def test_nearest_points_agree_with_a_search_over_the_triangle() -> None:
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 40, 1, 3))
    points = rng.normal(size=(40, 1, 3)) * 1.5
    shares = weights_in_triangles(points, a, b, c)
    assert shares.min() >= -1e-12
    np.testing.assert_allclose(shares.sum(axis=2), 1)

    def away(weights: np.ndarray) -> np.ndarray:
        return np.linalg.norm(weights[..., :1] * a + weights[..., 1:2] * b + weights[..., 2:] * c - points, axis=2)

    grid = rng.dirichlet([0.6, 0.6, 0.6], size=4000)
    searched = np.min([away(np.broadcast_to(row, shares.shape)) for row in grid], axis=0)
    assert (away(shares) <= searched + 1e-9).all()
    assert (searched - away(shares)).max() < 0.1


@pytest.mark.parametrize("even", [False, True])
def test_a_boundary_stays_a_boundary(even: bool) -> None:
    half = cut_plane(BALL, (0, 0, 0), (0, 0, 1)).part
    mesh = retriangulate(half, 200, even=even, seed=1).of(half.vertices)
    assert (mesh.n_vertices, mesh.n_components, len(mesh.boundary_loops), mesh.genus) == (200, 1, 1, 0)
    assert mesh.area == pytest.approx(half.area, rel=0.05)
    assert mesh.is_manifold
    edge = half.vertices[half.boundary_vertices]
    for point in mesh.vertices[mesh.boundary_vertices]:
        assert np.linalg.norm(edge - point, axis=1).min() < 1e-6


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="n_vertices=1200 must lie between 4 and 1199"):
        retriangulate(BALL, 1200)
    assert retriangulate(torus(n_vertices=800), 300, even=True).of(torus(n_vertices=800).vertices).genus == 1
