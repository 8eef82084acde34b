"""`ClosestPoints`: the point of a surface that is closest to each of many points, found exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

_LEAF = 4


@dataclass(frozen=True, eq=False)
class Closest:
    """For each point its closest one on the surface, Σ_c weights[i, c] · x(corner c of faces[i]).

    Attributes
    ----------
    faces : number of the triangle; 0 where nothing lies within reach
    weights : of its three corners, not negative; rows sum to one
    distances : to the closest point; inf where nothing lies within reach
    """

    faces: Int[np.ndarray, "p"]
    weights: Float[np.ndarray, "p 3"]
    distances: Float[np.ndarray, "p"]


class ClosestPoints:
    """Finds closest points on triangles, which may lie anywhere, overlap, or have no area.

    Parameters
    ----------
    vertices, faces : the triangles

    Examples
    --------
    >>> square = ClosestPoints(np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0]]), np.array([[0, 1, 2]]))
    >>> found = square(np.array([[1.0, 1, 5], [-3, -4, 0]]))
    >>> found.weights.tolist(), found.distances.tolist()
    ([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]], [5.0, 5.0])
    """

    def __init__(self, vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> None:
        order = _along_a_curve(vertices[faces].mean(axis=1))
        self._order = order
        self._corners = np.ascontiguousarray(vertices[faces[order]])
        self._normals = np.cross(self._corners[:, 1] - self._corners[:, 0], self._corners[:, 2] - self._corners[:, 0])
        self._low, self._high = _boxes(self._corners)

    def __call__(
        self,
        points: Float[np.ndarray, "p 3"],
        *,
        directions: Float[np.ndarray, "p 3"] | None = None,
        reach: float = np.inf,
    ) -> Closest:
        """The closest points.

        Parameters
        ----------
        points : anywhere; finite
        directions : outwards at each point; triangles whose normal points against it do not count, so that no point crosses
            something thin
        reach : triangles farther than this do not count
        """
        from partwhole.mesh.cpu.closest import closest_faces

        n = len(points)
        row, weights, squared = np.full(n, -1), np.tile([1.0, 0.0, 0.0], (n, 1)), np.full(n, np.inf)
        ways = np.empty((0, 3)) if directions is None else np.ascontiguousarray(directions, dtype=np.float64)
        given = np.ascontiguousarray(points, dtype=np.float64)
        closest_faces(
            given, ways, self._corners, self._normals, self._low, self._high, _LEAF, float(reach), row, weights, squared
        )
        return Closest(np.where(row >= 0, self._order[row], 0), weights, np.sqrt(squared))


def _along_a_curve(centres: Float[np.ndarray, "m 3"]) -> Int[np.ndarray, "m"]:
    """The order of points along Morton's curve, in which neighbours are near each other in space."""
    low = centres.min(axis=0)
    size = float(np.ptp(centres, axis=0).max()) or 1.0
    cell = np.minimum((centres - low) / size * 2**16, 2**16 - 1).astype(np.int64)
    code = np.zeros(len(centres), np.int64)
    for bit in range(16):
        for axis in range(3):
            code |= ((cell[:, axis] >> bit) & 1) << (3 * bit + axis)
    return np.argsort(code, kind="stable")


def _boxes(corners: Float[np.ndarray, "m 3 3"]) -> tuple[Float[np.ndarray, "k 3"], Float[np.ndarray, "k 3"]]:
    """The boxes of a complete binary tree over the triangles, as the kernel reads them; empty ones are inside out."""
    filled = -(-len(corners) // _LEAF)
    leaves = 1 << max(filled - 1, 0).bit_length()
    low, high = np.full((2 * leaves, 3), np.inf), np.full((2 * leaves, 3), -np.inf)
    starts = _LEAF * np.arange(filled)
    low[leaves : leaves + filled] = np.minimum.reduceat(corners.min(axis=1), starts, axis=0)
    high[leaves : leaves + filled] = np.maximum.reduceat(corners.max(axis=1), starts, axis=0)
    while leaves > 1:
        leaves //= 2
        low[leaves : 2 * leaves] = low[2 * leaves : 4 * leaves].reshape(leaves, 2, 3).min(axis=1)
        high[leaves : 2 * leaves] = high[2 * leaves : 4 * leaves].reshape(leaves, 2, 3).max(axis=1)
    return low, high
