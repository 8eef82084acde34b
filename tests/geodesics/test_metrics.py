"""Riemannian metrics: lengths, the lower bound, and distances measured with them."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets.shapes.primitives import plane, sphere, torus
from partwhole.geodesics import (
    Metric,
    geodesic_distances,
    metric_at_vertices,
    metric_on_faces,
    scale_invariant_metric,
    uniform_metric,
)
from partwhole.mesh import Mesh


@pytest.mark.parametrize("method", ["dijkstra", "fast_marching", "exact"])
def test_a_uniform_scale_scales_every_distance(method):
    mesh = sphere(200, jitter=0.5)
    metric = uniform_metric(mesh, 3.0)
    assert metric.lower_bound == 3.0
    np.testing.assert_allclose(
        geodesic_distances(mesh, method=method, metric=metric), 3 * geodesic_distances(mesh, method=method), rtol=1e-9
    )


def test_scalars_and_matrices_and_places_agree():
    mesh = torus(1.0, 0.4, 200)
    four = 4 * np.eye(3)
    expected = uniform_metric(mesh, 2.0)
    for metric in (
        metric_at_vertices(mesh, np.full(200, 4.0)),
        metric_at_vertices(mesh, np.broadcast_to(four, (200, 3, 3))),
        metric_on_faces(mesh, np.full(mesh.n_faces, 4.0)),
        metric_on_faces(mesh, np.broadcast_to(four, (mesh.n_faces, 3, 3))),
    ):
        np.testing.assert_allclose(metric.edge_lengths, expected.edge_lengths)
        assert metric.lower_bound == pytest.approx(2.0)


def test_an_anisotropic_metric_stretches_one_direction():
    mesh = plane((20, 20))
    stretch = np.diag([9.0, 1.0, 1e-6])  # what happens along the normal does not count
    metric = metric_on_faces(mesh, np.broadcast_to(stretch, (mesh.n_faces, 3, 3)))
    assert metric.lower_bound == pytest.approx(1.0)
    D = geodesic_distances(mesh, [0], metric=metric, method="exact")[0]
    np.testing.assert_allclose(D, np.hypot(3 * mesh.vertices[:, 0], mesh.vertices[:, 1]), rtol=1e-9)


def test_nothing_is_shorter_than_the_bound_allows():
    mesh = sphere(300, jitter=0.6)
    values = np.random.default_rng(0).uniform(0.9, 1.2, 300)
    metric = metric_at_vertices(mesh, values)
    assert metric.lower_bound > 0.3
    assert metric.lower_bound <= np.sqrt(values.min()) <= metric.edge_bound
    assert (metric.edge_lengths >= metric.edge_bound * mesh.edge_lengths * (1 - 1e-12)).all()
    D = geodesic_distances(mesh, method="exact", metric=metric)
    line = np.linalg.norm(mesh.vertices[:, None] - mesh.vertices[None], axis=2)
    assert (metric.lower_bound * line * (1 - 1e-9) <= D).all()


def test_the_bound_looks_in_every_direction_of_a_triangle():
    # both sides at the right angle keep their length, the third shrinks: across it the surface is squeezed
    triangle = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    squeeze = np.array([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]])
    metric = metric_on_faces(triangle, squeeze[None])
    assert metric.lower_bound == pytest.approx(np.sqrt(0.1))
    np.testing.assert_allclose(sorted(metric.edge_lengths), [np.sqrt(0.2), 1, 1])


def test_lengths_that_form_no_triangle_have_no_bound():
    triangle = Mesh([[0, 0, 0], [1, 0, 0], [0.5, 0.1, 0]], [[0, 1, 2]])
    metric = metric_at_vertices(triangle, [100.0, 100.0, 1e-4])
    assert metric.lower_bound == 0.0
    assert metric.edge_bound > 5


def test_the_scale_invariant_metric_forgets_the_scale():
    mesh = torus(1.0, 0.3, 400)
    small, large = scale_invariant_metric(mesh), scale_invariant_metric(mesh.scaled(50.0))
    np.testing.assert_allclose(small.edge_lengths, large.edge_lengths, rtol=1e-9)
    # the bound is per unit of length in space, so it scales with the inverse
    assert large.lower_bound == pytest.approx(small.lower_bound / 50)


def test_the_scale_invariant_metric_of_a_sphere_is_that_of_the_unit_sphere():
    mesh = sphere(2000, radius=7.0)
    metric = scale_invariant_metric(mesh)
    np.testing.assert_allclose(metric.edge_lengths, mesh.edge_lengths / 7.0, rtol=0.05)


def test_bad_metrics_are_refused():
    mesh = plane((3, 3))
    with pytest.raises(ValueError, match="one per vertex"):
        metric_at_vertices(mesh, np.ones(5))
    with pytest.raises(ValueError, match="one per face"):
        metric_on_faces(mesh, np.ones((mesh.n_faces, 2, 2)))
    with pytest.raises(ValueError, match="finite"):
        metric_at_vertices(mesh, np.full(9, np.nan))
    with pytest.raises(ValueError, match="not positive"):
        metric_at_vertices(mesh, np.full(9, -1.0))
    with pytest.raises(ValueError, match="symmetric"):
        metric_at_vertices(mesh, np.broadcast_to([[1, 1, 0], [0, 1, 0], [0, 0, 1]], (9, 3, 3)))
    with pytest.raises(ValueError, match="scale must be positive"):
        uniform_metric(mesh, 0.0)
    with pytest.raises(ValueError, match="regulariser"):
        scale_invariant_metric(mesh, regulariser=0.0)
    with pytest.raises(ValueError, match="area 0"):
        scale_invariant_metric(mesh.scaled(0.0))
    with pytest.raises(ValueError, match="finite and not negative"):
        Metric(np.array([-1.0]), 1.0, 1.0, "wrong")


def shortest_ratio(vertices: np.ndarray, lengths: np.ndarray) -> float:
    """New length over length in space, the least of all directions in one triangle, by looking at many."""
    ab, ac, bc = lengths  # the edges (0, 1), (0, 2), (1, 2)
    x = (ab**2 + ac**2 - bc**2) / (2 * ab)
    y = np.sqrt(max(ac**2 - x**2, 0.0))
    new = np.array([[0, 0], [ab, 0], [x, y]])
    turn = np.linspace(0, np.pi, 20_001)
    alpha, beta = np.cos(turn), np.sin(turn)
    in_space, laid = (
        np.linalg.norm(alpha[:, None] * (p[1] - p[0]) + beta[:, None] * (p[2] - p[0]), axis=1) for p in (vertices, new)
    )
    return float((laid[in_space > 1e-6] / in_space[in_space > 1e-6]).min())


@pytest.mark.parametrize("middle", [2.0001, 2.01, 2.5, 4.0])
def test_a_triangle_without_area_in_space_may_have_one_under_the_metric(middle):
    # from its long side to the vertex on it, one gets along in space without getting far under the metric
    flat = Mesh([[0, 0, 0], [1, 0, 0], [0.5, 0, 0]], [[0, 1, 2]])
    metric = metric_at_vertices(flat, [1.0, 9.0, middle**2])
    assert 0 < metric.lower_bound <= shortest_ratio(flat.vertices, metric.edge_lengths)


def test_a_triangle_that_is_flat_both_ways():
    flat = Mesh([[0, 0, 0], [1, 0, 0], [0.25, 0, 0]], [[0, 1, 2]])
    assert metric_at_vertices(flat, [4.0, 4.0, 4.0]).lower_bound == pytest.approx(2)
    assert metric_at_vertices(flat, [1.0, 9.0, 2.25]).lower_bound == 0  # as long as before, and moved along itself


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_that_of_the_direction_that_is_shortest(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        triangle = Mesh(rng.normal(size=(3, 3)) * [1, 1, rng.choice([1, 1e-4])], [[0, 1, 2]])
        metric = metric_at_vertices(triangle, rng.uniform(0.9, 1.1, 3))
        least = shortest_ratio(triangle.vertices, metric.edge_lengths)
        assert metric.lower_bound <= least
