"""The read-out `registration`: places between the vertices of the whole, or the map as it was."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from partwhole.datasets import cut_plane, sphere
from partwhole.matching.readout.landmarks import LandmarkDistances
from partwhole.matching.readout.registration import registered_places
from partwhole.mesh import Mesh


def egg(n_vertices: int, jitter: float = 0.0) -> Mesh:
    """The same surface in any triangulation, of about unit area."""
    ball = sphere(n_vertices, jitter=jitter)
    return Mesh(ball.vertices * [0.4, 0.2, 0.25], ball.faces)


def nearest(part: Mesh, whole: Mesh) -> torch.Tensor:
    return torch.cdist(torch.tensor(part.vertices), torch.tensor(whole.vertices)).argmin(dim=1)


def off(places: np.ndarray, part: Mesh) -> float:
    return float(np.linalg.norm(places - part.vertices, axis=1).mean())


@pytest.fixture(scope="module")
def whole() -> Mesh:
    return egg(500)


@pytest.mark.parametrize("part", [egg(350, 0.4), cut_plane(egg(350, 0.4), (0, 0, 0), (1, 0.5, 0.2)).part])
def test_places_between_vertices(part: Mesh, whole: Mesh) -> None:
    vertex_map = nearest(part, whole)
    # as matches come: each a little wrong
    wrong = vertex_map.clone()
    wrong[::3] = torch.tensor(
        whole.faces[np.argmax(whole.faces == vertex_map[::3, None, None].numpy(), axis=1)[:, 0], 0]
    )
    places = registered_places(vertex_map, part, whole)
    assert places is not None
    assert places.covered.all()
    assert off(places.positions(whole.vertices), part) < 0.7 * off(whole.vertices[vertex_map], part)


def test_the_part_may_lie_anywhere(whole: Mesh) -> None:
    part = egg(350, 0.4)
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    places = registered_places(nearest(part, whole), Mesh(part.vertices @ turn + 7, part.faces), whole)
    assert places is not None
    assert off(places.positions(whole.vertices), part) < 0.7 * off(whole.vertices[nearest(part, whole)], part)


def test_a_perfect_map_is_left(whole: Mesh) -> None:
    assert registered_places(torch.arange(500), whole, whole) is None


def test_a_map_to_one_place_is_left_or_stays_near_it(whole: Mesh) -> None:
    part = egg(350, 0.4)
    places = registered_places(torch.zeros(350, dtype=torch.long), part, whole)
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
    places = registered_places(nearest(pieces, open_whole), pieces, open_whole)
    assert places is not None
    assert off(places.positions(open_whole.vertices), pieces) < off(
        open_whole.vertices[nearest(pieces, open_whole)], pieces
    )


def test_landmarks_are_at_their_vertices(whole: Mesh) -> None:
    part = egg(350, 0.4)
    vertex_map = nearest(part, whole)
    k, none = 2, torch.zeros((2, 350))
    marks = LandmarkDistances(
        part=torch.tensor([5, 9]),
        whole=torch.tensor([int(vertex_map[5]), 17]),
        least=none,
        most=none,
        on_whole=torch.zeros((2, 500)),
        tolerance=none + 1,
        pull=none,
        sure=torch.tensor([True, False]),
        contradictions=torch.zeros(k),
        alone=torch.tensor([False, True]),
        weight=1.0,
    )
    places = registered_places(vertex_map, part, whole, landmarks=marks)
    assert places is not None
    assert np.allclose(places.positions(whole.vertices)[5], whole.vertices[vertex_map[5]])
    assert places.nearest_vertex[9] != 17
