"""Triangles that turned over, and that go through each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwhole.deformation import flipped_faces, intersecting_faces
from partwhole.mesh import Mesh


def test_a_turn_flips_nothing(bent: Any) -> None:
    turn = np.diag([-1.0, -1.0, 1.0])
    n = bent.template.n_vertices
    assert len(flipped_faces(bent.template, bent.template.vertices @ turn, np.tile(turn, (n, 1, 1)))) == 0


def test_a_vertex_pushed_across_its_neighbours_flips_triangles(bent: Any) -> None:
    pushed = bent.template.vertices.copy()
    corner = int(bent.template.vertices[:, 2].argmax())
    pushed[corner, 0] += 0.2
    found = flipped_faces(bent.template, pushed, np.tile(np.eye(3), (len(pushed), 1, 1)))
    assert len(found) > 0
    assert (bent.template.faces[found] == corner).any(axis=1).all()


def test_a_surface_pushed_through_itself_is_reported(bent: Any) -> None:
    assert len(intersecting_faces(bent.whole)) == 0
    x, y, z = bent.template.vertices.T
    folded = Mesh(np.stack([np.abs(x - 0.02), y + 0.1 * np.sign(x) * x, z], axis=1), bent.template.faces)
    assert len(intersecting_faces(folded)) > 0
