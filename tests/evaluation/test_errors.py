"""Geodesic errors by hand, on the plane, and without ever holding the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets import GroundTruth, plane, sphere
from partwhole.evaluation import distance_rows, errors, flip_share, geodesic_errors
from partwhole.geodesics import geodesic_distances

LINE = np.abs(np.arange(6.0)[:, None] - np.arange(6.0))


def test_by_hand() -> None:
    truth = GroundTruth.at_vertices([2, 0, 2], [5, 1, 3])
    assert geodesic_errors(np.array([1, 9, 4]), truth, LINE).tolist() == [1, 0, 1]
    assert geodesic_errors(np.array([1, 9, 4]), truth, LINE, area=4.0).tolist() == [0.5, 0, 0.5]


def test_barycentric_by_hand() -> None:
    truth = GroundTruth([0, 1], [[0, 2, 4], [1, 1, 5]], [[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])
    assert geodesic_errors(np.array([4, 1]), truth, LINE).tolist() == [3.0, 2.0]


def test_a_corner_of_no_weight_may_be_out_of_reach() -> None:
    D = LINE.copy()
    D[4, 5] = D[5, 4] = np.inf
    truth = GroundTruth([0, 0], [[4, 3, 5], [5, 5, 5]], [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    assert geodesic_errors(np.array([4]), truth, D).tolist() == [0.5, np.inf]


def test_the_true_map_has_no_error_whatever_the_method() -> None:
    mesh = sphere(200)
    every = np.arange(200)
    for method in ("dijkstra", "fast_marching", "exact"):
        rows = distance_rows(mesh, method=method)
        assert geodesic_errors(every, GroundTruth.of_map(every), rows).max() == 0


def test_a_shift_on_the_plane_is_off_by_its_length() -> None:
    mesh = plane((9, 12), width=11.0, height=8.0)
    column = np.arange(mesh.n_vertices) % 12
    shifted = np.where(column < 9, np.arange(mesh.n_vertices) + 3, np.arange(mesh.n_vertices) - 3)
    truth = GroundTruth.of_map(np.arange(mesh.n_vertices))
    for method in ("dijkstra", "exact"):
        found = geodesic_errors(shifted, truth, distance_rows(mesh, method=method), area=mesh.area)
        np.testing.assert_allclose(found, 3 / 88**0.5)
    # rounded truth is the truth itself
    np.testing.assert_array_equal(truth.rounded(mesh.vertices).whole_vertices, np.arange(mesh.n_vertices))


def test_points_between_vertices_of_a_plane_are_as_far_as_they_seem() -> None:
    mesh = plane((21, 21), width=20.0, height=20.0)
    rng = np.random.default_rng(0)
    triangles, weights = rng.integers(mesh.n_faces, size=300), rng.dirichlet(np.ones(3), size=300)
    truth = GroundTruth.in_triangles(triangles, weights, faces=mesh.faces)
    predicted = rng.integers(mesh.n_vertices, size=300)
    found = geodesic_errors(predicted, truth, distance_rows(mesh, method="exact"))
    straight = np.linalg.norm(truth.points(mesh.vertices) - mesh.vertices[predicted], axis=1)
    far = straight > 3
    assert (found >= straight - 1e-9).all()
    np.testing.assert_allclose(found[far], straight[far], rtol=0.02)


def test_rows_and_matrix_agree_and_blocks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = sphere(300)
    D = geodesic_distances(mesh, method="dijkstra")
    rng = np.random.default_rng(1)
    truth = GroundTruth.in_triangles(
        rng.integers(mesh.n_faces, size=500), rng.dirichlet([1, 1, 1], 500), faces=mesh.faces
    )
    predicted = rng.integers(40, size=500)
    asked: list[int] = []

    def rows(sources: np.ndarray) -> np.ndarray:
        asked.append(len(sources))
        return D[sources]

    expected = geodesic_errors(predicted, truth, D)
    np.testing.assert_allclose(geodesic_errors(predicted, truth, rows), expected, rtol=1e-12)
    monkeypatch.setattr(errors, "BLOCK_ENTRIES", 2100)
    np.testing.assert_allclose(geodesic_errors(predicted, truth, rows), expected, rtol=1e-12)
    assert max(asked[-5:]) <= 7
    np.testing.assert_allclose(geodesic_errors(predicted, truth, D.astype(np.float32)), expected, rtol=1e-5)


def test_order_of_vertices_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    D = np.asarray(geodesic_distances(sphere(100), method="dijkstra"))
    order = rng.permutation(100)
    truth, predicted = rng.integers(100, size=50), rng.integers(100, size=50)
    where = np.argsort(order)
    np.testing.assert_array_equal(
        geodesic_errors(predicted, GroundTruth.of_map(truth), D),
        geodesic_errors(where[predicted], GroundTruth.of_map(where[truth]), D[np.ix_(order, order)]),
    )


def test_flips_by_hand() -> None:
    mirror = np.arange(6)[::-1].copy()
    truth = GroundTruth.of_map([0, 1, 2, 3])
    # 2 and 3 are each other's image, too near to be told apart; 0 went to its image, 1 almost
    assert flip_share(np.array([5, 3, 3, 2]), truth, mirror, LINE, apart=1.0) == 1.0
    assert flip_share(np.array([5, 1, 3, 2]), truth, mirror, LINE, apart=1.0) == 0.5
    assert flip_share(np.array([5, 1, 3, 2]), truth, mirror, LINE, apart=0.5) == 0.75
    assert np.isnan(flip_share(np.array([5, 1, 3, 2]), truth, mirror, LINE, apart=9.0))
    assert flip_share(np.array([0, 1, 2, 3]), truth, mirror, LINE) == 0


def test_a_mirrored_rectangle_is_all_flips() -> None:
    mesh = plane((7, 9), width=8.0, height=6.0)
    mirror = np.arange(mesh.n_vertices).reshape(7, 9)[:, ::-1].reshape(-1).copy()
    rows, truth = distance_rows(mesh, method="exact"), GroundTruth.of_map(np.arange(mesh.n_vertices))
    assert flip_share(mirror, truth, mirror, rows, area=mesh.area) == 1
    assert flip_share(np.arange(mesh.n_vertices), truth, mirror, rows, area=mesh.area) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: geodesic_errors(np.arange(4), t, LINE, area=0.0), "area=0.0 must be positive"),
        (lambda t: geodesic_errors(np.arange(3), t, LINE), "vertex_map has 3 entries, the ground truth .* vertex 3"),
        (lambda t: geodesic_errors(np.arange(4) + 3, t, LINE), "vertex_map refers to vertex 6 of the whole"),
        (lambda t: geodesic_errors(np.arange(4) - 1, t, LINE), "vertex_map refers to vertex -1"),
        (lambda t: geodesic_errors(np.zeros(4, int), t, lambda s: LINE[s, :3]), "ground_truth refers to vertex 3"),
        (lambda t: geodesic_errors(np.arange(4), t, LINE[:4]), r"D_whole must be \(n, n\)"),
        (lambda t: geodesic_errors(np.arange(4), GroundTruth.of_map(np.arange(0)), LINE), "has no rows"),
        (lambda t: flip_share(np.arange(4), t, np.array([0, 9]), LINE), "symmetry must give a vertex"),
    ],
)
def test_nonsense_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(GroundTruth.of_map([0, 1, 2, 3]))
