"""`BarycentricMap`: for each of many points its place in a triangle of a surface; `ClosestPoints` finds the closest one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from numpy.typing import ArrayLike

from partwhole.mesh.io import as_mesh
from partwhole.mesh.surface_like import SurfaceLike
from partwhole.store.arguments import as_array

# weights that differ by less count as equal, so that rounding does not decide which vertex is the nearest
_EQUAL = 1e-9
# how far from one the weights of a point may sum
_SLACK = 1e-6
# triangles in a leaf of the tree
_LEAF = 4


@dataclass(frozen=True, eq=False, repr=False)
class BarycentricMap:
    """Point i lies at Σ_c weights[i, c] · x(triangles[i, c]) of a surface with vertices x, where it is covered.

    Attributes
    ----------
    triangles : three vertex numbers of the surface, for each point; all the same where a point is a vertex
    weights : of the three; not negative, rows sum to one
    covered : False where a point has no place; what its row holds then means nothing

    Examples
    --------
    >>> weights = np.array([[0.5, 0.5, 0], [1, 0, 0]])
    >>> places = BarycentricMap(np.array([[0, 1, 2], [0, 0, 0]]), weights, np.array([True, False]))
    >>> places.interpolate(np.array([10.0, 20, 60])).tolist(), places.nearest_vertex.tolist()
    ([15.0, nan], [0, 0])
    """

    triangles: Int[np.ndarray, "p 3"]
    weights: Float[np.ndarray, "p 3"]
    covered: Bool[np.ndarray, "p"]

    def __post_init__(self) -> None:
        shapes = tuple(np.shape(array) for array in (self.triangles, self.weights, self.covered))
        n = shapes[2][0] if len(shapes[2]) == 1 else -1
        kinds = (self.triangles.dtype.kind, self.weights.dtype.kind, self.covered.dtype.kind)
        if shapes != ((n, 3), (n, 3), (n,)) or kinds not in (("i", "f", "b"), ("u", "f", "b")):
            raise ValueError(
                "triangles (p, 3) must be whole numbers, weights (p, 3) numbers and covered (p,) truth values, "
                f"got shapes {shapes}"
            )
        weights = self.weights[self.covered]
        sound = (weights >= 0).all(axis=1) & (np.abs(weights.sum(axis=1) - 1) < _SLACK)
        if not sound.all() or self.triangles[self.covered].min(initial=0) < 0:
            raise ValueError("triangles and weights must not be negative, and weights of a point sum to one")

    @classmethod
    def at_vertices(cls, vertex_map: ArrayLike, covered: Bool[np.ndarray, "p"] | None = None) -> BarycentricMap:
        """The map that takes point i to the vertex vertex_map[i]; all points are covered unless it is said which are.

        >>> BarycentricMap.at_vertices([4, 2]).triangles.tolist()
        [[4, 4, 4], [2, 2, 2]]
        """
        places = as_array("vertex_map must be a row of vertex numbers", vertex_map)
        if places.ndim != 1 or not np.issubdtype(places.dtype, np.integer) or (places < 0).any():
            raise ValueError(
                f"vertex_map must be a row of vertex numbers, counted from 0, got shape {places.shape} of {places.dtype}"
            )
        n = len(places)
        known = np.ones(n, bool) if covered is None else np.array(covered, dtype=bool)
        if known.shape != (n,):
            raise ValueError(
                f"covered has shape {known.shape}, vertex_map {places.shape}; give one value for each point"
            )
        triangles = np.repeat(places.astype(np.int64)[:, None], 3, axis=1)
        return cls(triangles, np.tile([1.0, 0.0, 0.0], (n, 1)), known)

    @classmethod
    def closest(
        cls,
        points: Float[np.ndarray, "p 3"],
        mesh: SurfaceLike,
        *,
        directions: Float[np.ndarray, "p 3"] | None = None,
        reach: float = np.inf,
    ) -> BarycentricMap:
        """The closest point of the surface for each point; covered where there is one.

        Parameters
        ----------
        points : in the coordinates of the mesh; one that is not finite is not covered
        mesh : the surface
        directions : outwards at each point; faces whose normal points against it do not count
        reach : nor do faces farther than this

        Examples
        --------
        >>> mesh = as_mesh(([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]]))
        >>> places = BarycentricMap.closest(np.array([[1.0, 1, 3], [9, 9, 9]]), mesh, reach=5)
        >>> places.positions(mesh.vertices).tolist(), places.covered.tolist()
        ([[1.0, 1.0, 0.0], [nan, nan, nan]], [True, False])
        """
        mesh = as_mesh(mesh)
        finite = np.isfinite(points).all(axis=1)
        found = ClosestPoints(mesh.vertices, mesh.faces)(
            np.where(finite[:, None], points, mesh.vertices[0]), directions=directions, reach=reach
        )
        return cls(mesh.faces[found.faces], found.weights, finite & np.isfinite(found.distances))

    def __len__(self) -> int:
        return len(self.triangles)

    def __repr__(self) -> str:
        return f"BarycentricMap({len(self)} points, {100 * self.covered_share:.0f} % covered)"

    @property
    def covered_share(self) -> float:
        """Share of the points that are covered."""
        return float(self.covered.mean()) if len(self) else 1.0

    @property
    def nearest_vertex(self) -> Int[np.ndarray, "p"]:
        """The corner with the largest weight, the first of several that are equal."""
        largest = self.weights.max(axis=1, keepdims=True)
        corner = (self.weights >= largest - _EQUAL).argmax(axis=1)
        return np.take_along_axis(self.triangles, corner[:, None], axis=1)[:, 0]

    def positions(self, vertices: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "p 3"]:
        """The points on a surface with these vertices; nan where not covered."""
        return self.interpolate(vertices)

    def interpolate(self, values: Shaped[np.ndarray, "n *rest"]) -> Float[np.ndarray, "p *rest"]:
        """Σ_c weights[i, c] · values[triangles[i, c]]; nan where not covered.

        A value that has no weight does not count, even if it is nan.
        """
        self.check_rows(values)
        one = (len(self), *[1] * (values.ndim - 1))
        total = np.zeros((len(self), *values.shape[1:]))
        for corner in range(3):
            weight = self.weights[:, corner].reshape(one)
            total += np.where(weight > 0, weight * values[self.triangles[:, corner]], 0.0)
        total[~self.covered] = np.nan
        return total

    def only(self, keep: Bool[np.ndarray, "p"]) -> BarycentricMap:
        """The same map with the points alone covered that are to be kept."""
        return BarycentricMap(self.triangles, self.weights, self.covered & keep)

    def check_rows(self, values: Shaped[np.ndarray, "n *rest"], name: str = "values") -> None:
        """Raise ValueError unless there is a row for every vertex that the map refers to."""
        most = int(self.triangles[self.covered].max(initial=-1))
        if len(values) <= most:
            raise ValueError(
                f"{name} has shape {np.shape(values)}, the map refers to vertex {most}; give a row for every vertex"
            )


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
