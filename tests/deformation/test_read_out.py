"""A map read from a registration."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwhole.deformation import registered_map


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
