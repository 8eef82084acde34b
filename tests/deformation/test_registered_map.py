"""A map read from a registration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree

from partwhole.datasets import cut_plane, sphere
from partwhole.matching.readout.maps import registered_map, registered_places
from partwhole.mesh import Mesh


def test_places_lie_inside_triangles_near_the_truth(bent: Any) -> None:
    # the map names neighbours instead of the vertices themselves
    edges = bent.template.edges
    neighbour = np.arange(bent.template.n_vertices)
    neighbour[edges[:, 0]] = edges[:, 1]
    wrong = neighbour[bent.numbers]
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    part = type(bent.scan)(bent.scan.vertices @ turn.T, bent.scan.faces)
    found = registered_map(part, bent.template, wrong)
    truth = bent.template.vertices[bent.numbers]
    before = np.linalg.norm(bent.template.vertices[wrong] - truth, axis=1).mean()
    after = np.linalg.norm(found.places.positions(bent.template.vertices) - truth, axis=1).mean()
    assert after < 0.7 * before
    assert found.moved > 0.95
    assert found.better
    assert np.allclose(found.places.weights.sum(axis=1), 1)


def test_a_map_that_can_not_be_bettered_is_left(bent: Any) -> None:
    assert not registered_map(bent.template, bent.template, np.arange(bent.template.n_vertices)).better


def egg(n_vertices: int, jitter: float = 0.0) -> Mesh:
    """The same surface in any triangulation, of about unit area."""
    ball = sphere(n_vertices, jitter=jitter)
    return Mesh(ball.vertices * [0.4, 0.2, 0.25], ball.faces)


def nearest(part: Mesh, whole: Mesh) -> np.ndarray:
    return cKDTree(whole.vertices).query(part.vertices)[1]


def off(places: np.ndarray, part: Mesh) -> float:
    return float(np.linalg.norm(places - part.vertices, axis=1).mean())


@pytest.fixture(scope="module")
def whole() -> Mesh:
    return egg(500)


@pytest.mark.parametrize("part", [egg(350, 0.4), cut_plane(egg(350, 0.4), (0, 0, 0), (1, 0.5, 0.2)).part])
def test_places_between_vertices(part: Mesh, whole: Mesh) -> None:
    vertex_map = nearest(part, whole)
    places = registered_places(part, whole, vertex_map)
    assert places is not None
    assert places.covered.all()
    assert off(places.positions(whole.vertices), part) < 0.7 * off(whole.vertices[vertex_map], part)


def test_the_part_may_lie_anywhere(whole: Mesh) -> None:
    part = egg(350, 0.4)
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    places = registered_places(Mesh(part.vertices @ turn + 7, part.faces), whole, nearest(part, whole))
    assert places is not None
    assert off(places.positions(whole.vertices), part) < 0.7 * off(whole.vertices[nearest(part, whole)], part)


def test_a_perfect_map_is_left(whole: Mesh) -> None:
    assert registered_places(whole, whole, np.arange(500)) is None


def test_a_map_to_one_place_is_left_or_stays_near_it(whole: Mesh) -> None:
    part = egg(350, 0.4)
    places = registered_places(part, whole, np.zeros(350, np.int64))
    if places is not None:
        away = np.linalg.norm(places.positions(whole.vertices) - whole.vertices[0], axis=1)
        assert away.max() <= 0.1 * whole.area**0.5 + 1e-9


def test_pieces_and_a_whole_with_a_hole() -> None:
    open_whole = cut_plane(egg(500), (-0.3, 0, 0), (1, 0, 0)).part
    part = egg(350, 0.4)
    x = part.vertices[part.faces][:, :, 0]
    pieces = part.submesh(
        np.isin(np.arange(350), part.faces[(np.abs(x) > 0.05).all(axis=1) & (x > -0.25).all(axis=1)])
    )[0]
    assert pieces.n_components == 2
    places = registered_places(pieces, open_whole, nearest(pieces, open_whole))
    assert places is not None
    assert off(places.positions(open_whole.vertices), pieces) < off(
        open_whole.vertices[nearest(pieces, open_whole)], pieces
    )


def test_landmarks_are_at_their_vertices(whole: Mesh) -> None:
    part = egg(350, 0.4)
    vertex_map = nearest(part, whole)
    marks = np.array([[5, int(vertex_map[5])]])
    places = registered_places(part, whole, vertex_map, landmarks=marks)
    assert places is not None
    assert np.allclose(places.positions(whole.vertices)[5], whole.vertices[vertex_map[5]])
