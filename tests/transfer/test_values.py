from __future__ import annotations

import numpy as np
import pytest

from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.transfer import Correspondence, transfer_by_kind, transfer_labels, transfer_values


def turned(mesh: Mesh) -> tuple[Mesh, np.ndarray]:
    """The mesh in another place, and the rotation there."""
    R = np.array([[0.0, -1, 0], [0.6, 0, -0.8], [0.8, 0, 0.6]])
    return Mesh(3 * mesh.vertices @ R.T + [5, 1, 0], mesh.faces), R


def test_to_the_part_values_are_those_of_its_vertices(cut, exact):
    values = cut.whole.vertices @ [1.0, 2, 3]
    np.testing.assert_array_equal(transfer_by_kind(values, exact), values[cut.vertex_map])
    labels = np.arange(cut.whole.n_vertices) // 7
    np.testing.assert_array_equal(transfer_by_kind(labels, exact), labels[cut.vertex_map])


def test_back_to_the_whole_values_are_what_they_were_and_nan_elsewhere(cut, exact):
    found = transfer_by_kind(cut.part.vertices, exact, to="whole")
    known = np.isfinite(found).all(axis=1)
    assert known[cut.vertex_map].all()
    np.testing.assert_allclose(found[cut.vertex_map], cut.part.vertices, atol=1e-12)
    assert exact.inverse.covered_share == known.mean()
    beyond = np.setdiff1d(np.arange(cut.whole.n_vertices), cut.vertex_map)
    away = np.linalg.norm(found[beyond] - cut.whole.vertices[beyond], axis=1)
    assert (np.isnan(away) | (away <= np.median(cut.whole.edge_lengths) / 2 + 1e-12)).all()
    assert np.isnan(away).mean() > 0.7


def test_a_larger_reach_covers_more(cut, exact):
    places = exact.places
    shares = [Correspondence(cut.part, cut.whole, places, reach).inverse.covered_share for reach in (0, 0.1, 0.4, 9)]
    assert shares == sorted(shares)
    assert shares[0] >= cut.part.n_vertices / cut.whole.n_vertices - 1e-9


def test_vectors_turn_with_the_surface(cut):
    part, R = turned(cut.part)
    laid = Correspondence(part, cut.whole, BarycentricMap.at_vertices(cut.vertex_map))
    field = np.cross(cut.whole.vertices, [0.3, 1, 0.5])
    # at the boundary the normals of part and whole differ
    inner = cut.part.vertices[:, 2] > 0.3
    np.testing.assert_allclose(laid.rotations, np.broadcast_to(R.T, laid.rotations.shape), atol=0.2)
    found = transfer_by_kind(field, laid, kind="vector")
    np.testing.assert_allclose(found[inner], (field[cut.vertex_map] @ R.T)[inner], atol=1e-9)
    back = transfer_by_kind(found, laid, kind="vector", to="whole", missing=0)
    np.testing.assert_allclose(back[cut.vertex_map], field[cut.vertex_map], atol=1e-9)


def test_colours_are_rounded_and_labels_are_not_mixed():
    places = BarycentricMap(np.array([[0, 1, 2]]), np.array([[0.5, 0.3, 0.2]]), np.ones(1, bool))
    colors = np.array([[0, 0, 0], [255, 0, 100], [255, 255, 0]], np.uint8)
    found = transfer_values(colors, places, rounded=True)
    assert (found.tolist(), found.dtype) == ([[128, 51, 30]], np.uint8)
    assert transfer_labels(np.array([3, 9, 9]), places).tolist() == [3]
    assert transfer_labels(np.array([[1, 2], [7, 8], [7, 8]]), places).tolist() == [[1, 2]]


def test_what_is_not_covered():
    places = BarycentricMap.at_vertices([0, 1], np.array([True, False]))
    np.testing.assert_array_equal(transfer_values(np.array([5.0, 6]), places), [5, np.nan])
    assert transfer_values(np.array([5.0, 6]), places, missing=-1).tolist() == [5, -1]
    assert transfer_values(np.array([5.0, 6], np.float32), places).dtype == np.float32
    assert transfer_labels(np.array(["a", "b"]), places, missing="nothing").tolist() == ["a", "nothing"]
    assert transfer_labels(np.array([True, True]), places, missing=False).tolist() == [True, False]


def test_a_torn_face_is_not_laid_onto_the_whole(cut):
    vertex_map = cut.vertex_map.copy()
    vertex_map[0] = int(np.argmin(cut.whole.vertices[:, 2]))
    torn = Correspondence(cut.part, cut.whole, BarycentricMap.at_vertices(vertex_map))
    assert set(np.flatnonzero(~torn.mapped_faces)) == set(np.flatnonzero((cut.part.faces == 0).any(axis=1)))
    assert not torn.inverse.covered[cut.vertex_map[0]]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda c: transfer_by_kind(np.ones(3), c),
            r"values has shape \(3,\); give one row for each of the whole's 400",
        ),
        (lambda c: transfer_by_kind(np.ones(3), c, to="whole"), r"each of the part's \d+ vertices"),
        (
            lambda c: transfer_by_kind(np.array(["a"] * 400), c, kind="scalar"),
            "can't be interpolated; use kind='label'",
        ),
        (lambda c: Correspondence(c.part, c.whole, c.inverse), "places has 400 points, sphere has"),
        (lambda c: Correspondence(c.part, c.whole, c.places, -1), "reach=-1 must not be negative"),
        (lambda c: Correspondence(c.part, c.whole, c.places.only(np.zeros(len(c.places), bool))).inverse, "no face of"),
        (
            lambda c: transfer_labels(np.arange(400), c.places.only(np.zeros(len(c.places), bool))),
            "are not covered, and labels have no nan; give missing=",
        ),
        (
            lambda c: transfer_labels(np.arange(400), c.places.only(np.zeros(len(c.places), bool)), missing=0.5),
            "missing=0.5 is not of type int64",
        ),
        (
            lambda c: transfer_values(
                np.ones((400, 3), np.uint8), c.places.only(np.zeros(len(c.places), bool)), rounded=True
            ),
            "colours of whole numbers have no nan",
        ),
    ],
)
def test_what_is_refused(exact, call, said):
    with pytest.raises(ValueError, match=said):
        call(exact)
