"""`BarycentricMap`: for each of many points its place in a triangle of a surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from numpy.typing import ArrayLike

from partwhole.mesh.closest import SurfaceTree
from partwhole.mesh.surface import as_mesh
from partwhole.mesh.surface_like import SurfaceLike
from partwhole.store.arguments import as_array, as_numbers, check_instance, check_number

# weights that differ by less count as equal, so that rounding does not decide which vertex is the nearest
_EQUAL = 1e-9
# how far below zero weights may be, by rounding, and how far from one their sum
_SLACK = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class BarycentricMap:
    """Point i lies at Σ_c weights[i, c] · x(triangles[i, c]) of a surface with vertices x, where it is covered.

    Attributes
    ----------
    triangles : three vertex numbers of the surface, for each point; all the same where a point is a vertex
    weights : of the three; not negative, rows sum to one
    covered : False where a point has no place; its row is then undefined

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
        for name in ("triangles", "weights", "covered"):
            check_instance(name, getattr(self, name), np.ndarray, "use np.array(...)")
        shapes = tuple(np.shape(array) for array in (self.triangles, self.weights, self.covered))
        n = shapes[2][0] if len(shapes[2]) == 1 else -1
        kinds = (self.triangles.dtype.kind, self.weights.dtype.kind, self.covered.dtype.kind)
        if shapes != ((n, 3), (n, 3), (n,)) or kinds not in (("i", "f", "b"), ("u", "f", "b")):
            raise ValueError(
                "triangles (p, 3) must be whole numbers, weights (p, 3) numbers and covered (p,) truth values, "
                f"got shapes {shapes}"
            )
        weights = self.weights[self.covered]
        sound = (weights > -_SLACK).all(axis=1) & (np.abs(weights.sum(axis=1) - 1) < _SLACK)
        if not sound.all() or self.triangles[self.covered].min(initial=0) < 0:
            raise ValueError("triangles and weights must not be negative, and weights of a point sum to one")

    @classmethod
    def at_vertices(cls, vertex_map: ArrayLike, covered: Bool[np.ndarray, "p"] | None = None) -> BarycentricMap:
        """The map from point i to the vertex vertex_map[i]; by default all points are covered.

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
        directions : outward normals at the points; faces whose normal points the other way are ignored
        reach : largest distance; farther faces are ignored

        Examples
        --------
        >>> mesh = as_mesh(([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]]))
        >>> places = BarycentricMap.closest(np.array([[1.0, 1, 3], [9, 9, 9]]), mesh, reach=5)
        >>> places.positions(mesh.vertices).tolist(), places.covered.tolist()
        ([[1.0, 1.0, 0.0], [nan, nan, nan]], [True, False])
        """
        mesh = as_mesh(mesh)
        points = _rows_of_three("points", points)
        if directions is not None:
            directions = _rows_of_three("directions", directions)
            if len(directions) != len(points):
                raise ValueError(f"directions has {len(directions)} rows for {len(points)} points; give one for each")
        check_number("reach", reach)
        finite = np.isfinite(points).all(axis=1)
        found = SurfaceTree(mesh).nearest(np.where(finite[:, None], points, mesh.vertices[0]), directions)
        return cls(mesh.faces[found.faces], found.weights, finite & found.found & (found.distances <= reach))

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

        Values with weight 0 are ignored, even if they are nan.
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
        """The same map, with only these of its points covered."""
        return BarycentricMap(self.triangles, self.weights, self.covered & keep)

    def all_covered(self) -> BarycentricMap:
        """The same map with every point covered, where the rows of those that are not are defined as well."""
        return BarycentricMap(self.triangles, self.weights, np.ones_like(self.covered))

    def with_vertices(self, points: Int[np.ndarray, "k"], vertices: Int[np.ndarray, "k"]) -> BarycentricMap:
        """The same map with some points at vertices, and covered."""
        triangles, weights, covered = self.triangles.copy(), self.weights.copy(), self.covered.copy()
        triangles[points], weights[points], covered[points] = vertices[:, None], [1.0, 0.0, 0.0], True
        return BarycentricMap(triangles, weights, covered)

    def check_rows(self, values: Shaped[np.ndarray, "n *rest"], name: str = "values") -> None:
        """Raise ValueError unless there is a row for every vertex that the map refers to."""
        most = int(self.triangles[self.covered].max(initial=-1))
        if len(values) <= most:
            raise ValueError(
                f"{name} has shape {np.shape(values)}, the map refers to vertex {most}; give a row for every vertex"
            )


def _rows_of_three(name: str, values: ArrayLike) -> Float[np.ndarray, "p 3"]:
    array = as_numbers(name, values)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"{name} must have shape (p, 3), got {array.shape}")
    return array
