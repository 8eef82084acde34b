"""Defects of a deformed surface: flipped triangles and intersecting triangles."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from partwhole.mesh import as_mesh
from partwhole.mesh.barycentric import SurfaceTree
from partwhole.mesh.surface_like import SurfaceLike


def flipped_faces(
    rest: SurfaceLike, deformed: Float[np.ndarray, "n 3"], rotations: Float[np.ndarray, "n 3 3"]
) -> Int[np.ndarray, "k"]:
    """Triangles whose normal points away from where the rotations of their corners turn it.

    Examples
    --------
    >>> from partwhole.mesh import Mesh
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> folded = square.vertices.copy()
    >>> folded[3] = [1, 0.2, 0]
    >>> flipped_faces(square, folded, np.tile(np.eye(3), (4, 1, 1))).tolist()
    [1]
    """
    rest = as_mesh(rest, name="rest")
    a, b, c = (deformed[rest.faces[:, k]] for k in range(3))
    turned = np.einsum("mab,mb->ma", rotations[rest.faces].mean(axis=1), rest.face_normals)
    return np.flatnonzero(np.einsum("ma,ma->m", np.cross(b - a, c - a), turned) < 0)


def intersecting_faces(mesh: SurfaceLike) -> Int[np.ndarray, "k 2"]:
    """Pairs of triangles that go through each other; see `SurfaceTree.intersecting_faces`."""
    return SurfaceTree(as_mesh(mesh)).intersecting_faces()
