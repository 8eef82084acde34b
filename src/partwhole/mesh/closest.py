"""Nearest points of a surface, and intersecting triangles, by a bounding volume hierarchy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.mesh.surface import Mesh

# below every cosine: all normals agree
_ANY = -2.0
# of the cells of Morton's curve, along each axis
_BITS = 16


@dataclass(frozen=True, eq=False)
class NearestPoints:
    """Point i is nearest to Σ_c weights[i, c] · x(corner c of face faces[i]) of a surface with vertices x.

    Attributes
    ----------
    faces : number of the triangle; 0 where none was found
    weights : of its three corners
    distances : inf where none was found
    found : False where no triangle has an agreeing normal
    """

    faces: Int[np.ndarray, "p"]
    weights: Float[np.ndarray, "p 3"]
    distances: Float[np.ndarray, "p"]

    @property
    def found(self) -> Bool[np.ndarray, "p"]:
        return np.isfinite(self.distances)


class SurfaceTree:
    """A bounding volume hierarchy of the triangles, which finds the nearest one in logarithmic time.

    Parameters
    ----------
    mesh : the surface

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> near = SurfaceTree(square).nearest(np.array([[0.75, 0.25, 2.0]]))
    >>> near.faces.tolist(), near.weights.tolist(), near.distances.tolist()
    ([0], [[0.25, 0.5, 0.25]], [2.0])
    """

    def __init__(self, mesh: Mesh) -> None:
        from partwhole.mesh.cpu.triangle_tree import build_boxes

        self.mesh = mesh
        order = _along_a_curve(mesh.vertices[mesh.faces].mean(axis=1))
        self._tree = (order, *build_boxes(order, mesh.vertices, mesh.faces))

    def nearest(
        self,
        points: Float[np.ndarray, "p 3"],
        normals: Float[np.ndarray, "p 3"] | None = None,
        *,
        least_cosine: float = 0.0,
    ) -> NearestPoints:
        """argmin over the surface of |x − point|, among triangles whose normals agree with those given.

        Parameters
        ----------
        points : in the coordinates of the mesh
        normals : unit vectors at the points; by default all triangles are considered
        least_cosine : between the normals of a point and of a triangle
        """
        from partwhole.mesh.cpu.triangle_tree import nearest_points

        directions = np.zeros((1, 3)) if normals is None else np.ascontiguousarray(normals)
        cosine = _ANY if normals is None else float(least_cosine)
        mesh = self.mesh
        faces, weights, distances = nearest_points(
            self._tree, mesh.vertices, mesh.faces, mesh.face_normals, np.ascontiguousarray(points), directions, cosine
        )
        return NearestPoints(np.maximum(faces, 0), weights, distances)

    def intersecting_faces(self) -> Int[np.ndarray, "k 2"]:
        """Pairs of triangles that intersect, in increasing order.

        Triangles with a common edge are not compared. Triangles that only touch, or lie in one plane, do not count.
        """
        from partwhole.mesh.cpu.triangle_tree import intersecting_pairs

        pairs = intersecting_pairs(self._tree, self.mesh.vertices, self.mesh.faces)
        return pairs[np.lexsort(pairs.T[::-1])]


def _along_a_curve(points: Float[np.ndarray, "m 3"]) -> Int[np.ndarray, "m"]:
    """The order of the points along Morton's curve, on which neighbours are near each other."""
    low = points.min(axis=0)
    size = max(float((points.max(axis=0) - low).max()), 1e-300)
    cells = np.minimum((points - low) / size * (1 << _BITS), (1 << _BITS) - 1).astype(np.int64)
    code = np.zeros(len(points), np.int64)
    for bit in range(_BITS):
        for d in range(3):
            code |= ((cells[:, d] >> bit) & 1) << (3 * bit + d)
    return np.argsort(code, kind="stable")
