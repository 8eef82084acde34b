"""Places in the triangles of a surface: `BarycentricMap`, and `SurfaceTree`, which finds the nearest ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from numpy.typing import ArrayLike

from partwhole.mesh.surface import as_mesh
from partwhole.mesh.surface_like import SurfaceLike
from partwhole.store.arguments import as_array, as_numbers, check_instance, check_number

# weights that differ by less count as equal, so that rounding does not decide which vertex is the nearest
_EQUAL = 1e-9
# how far below zero weights may be, by rounding, and how far from one their sum
_SLACK = 1e-6
# below every cosine: all normals agree
_ANY = -2.0
# of the cells of Morton's curve, along each axis
_BITS = 16


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
            directions = _one_for_each("directions", directions, points)
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
    >>> square = as_mesh(([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]]))
    >>> near = SurfaceTree(square).nearest(np.array([[0.75, 0.25, 2.0]]))
    >>> near.faces.tolist(), near.weights.tolist(), near.distances.tolist()
    ([0], [[0.25, 0.5, 0.25]], [2.0])
    """

    def __init__(self, mesh: SurfaceLike) -> None:
        from partwhole.mesh.cpu.triangle_tree import build_boxes

        self.mesh = mesh = as_mesh(mesh)
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

        points = _rows_of_three("points", points)
        directions = np.zeros((1, 3)) if normals is None else _one_for_each("normals", normals, points)
        cosine = _ANY if normals is None else float(least_cosine)
        mesh = self.mesh
        faces, weights, distances = nearest_points(
            self._tree, mesh.vertices, mesh.faces, mesh.face_normals, points, directions, cosine
        )
        return NearestPoints(np.maximum(faces, 0), weights, distances)

    def intersecting_faces(self) -> Int[np.ndarray, "k 2"]:
        """Pairs of triangles that intersect, in increasing order.

        Triangles with a common edge are not compared. Triangles that only touch, or lie in one plane, do not count.
        """
        from partwhole.mesh.cpu.triangle_tree import intersecting_pairs

        pairs = intersecting_pairs(self._tree, self.mesh.vertices, self.mesh.faces)
        return pairs[np.lexsort(pairs.T[::-1])]


def _rows_of_three(name: str, values: ArrayLike) -> Float[np.ndarray, "p 3"]:
    array = as_numbers(name, values)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"{name} must have shape (p, 3), got {array.shape}")
    return array


def _one_for_each(name: str, values: ArrayLike, points: Float[np.ndarray, "p 3"]) -> Float[np.ndarray, "p 3"]:
    array = _rows_of_three(name, values)
    if len(array) != len(points):
        raise ValueError(f"{name} has {len(array)} rows for {len(points)} points; give one for each")
    return array


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
