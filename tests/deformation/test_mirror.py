"""Mirror symmetry, found and missed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwhole.datasets import sphere
from partwhole.deformation import mirror_map
from partwhole.mesh import Mesh


def symmetric() -> tuple[Mesh, np.ndarray]:
    """A lopsided ball beside its mirror image, and which vertex lies across from which."""
    ball = sphere(150, jitter=0.4)
    x, y, z = ball.vertices.T
    half = np.stack([x + 3, 0.7 * y + 0.2 * x * z, 1.3 * z + 0.3 * y * y], axis=1)
    n = len(half)
    vertices = np.concatenate([half, half * [-1, 1, 1]])
    across = np.concatenate([np.arange(n, 2 * n), np.arange(n)])
    return Mesh(vertices, np.concatenate([ball.faces, ball.faces[:, ::-1] + n])), across


def test_opposite_vertices_are_found_however_the_surface_stands() -> None:
    mesh, across = symmetric()
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    found, reflection = mirror_map(Mesh(mesh.vertices @ turn.T + 5, mesh.faces))
    assert np.array_equal(found, across)
    normal = turn[:, 0]
    assert np.allclose(reflection, np.eye(3) - 2 * np.outer(normal, normal), atol=1e-6)


def test_what_is_not_symmetric_is_refused(bent: Any) -> None:
    mesh, _ = symmetric()
    lopsided = Mesh(mesh.vertices[:150] * (1 + 0.3 * mesh.vertices[:150, :1]), mesh.faces[:296])
    skewed = Mesh(lopsided.vertices @ np.array([[1, 0.9, 0.4], [0, 1, 0.8], [0, 0, 1.0]]), lopsided.faces)
    with pytest.raises(ValueError, match=r"not mirror symmetric .* use hold='seen' or hold='rest'"):
        mirror_map(skewed)
