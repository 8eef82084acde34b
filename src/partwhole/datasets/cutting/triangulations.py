"""Retriangulation: each vertex of the new triangulation is a known point in a triangle of the old one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from partwhole.datasets.shapes.bodies.meshing import flip_edges, relax_step
from partwhole.mesh import Mesh, decimate

# how many of the nearest vertices have their triangles looked at
_NEIGHBOURS = 5
_RELAXATIONS = 6


@dataclass(frozen=True, eq=False)
class Triangulation:
    """Vertex i lies at Σ_c weights[i, c] · x(corners[i, c]) of a fine triangulation with vertices x.

    It applies to a body in any pose, and to any body with the same fine triangulation: posing and triangulating commute.

    Attributes
    ----------
    corners : three vertices of the fine triangulation, for each vertex of this one
    weights : of the corners; each row sums to one
    faces : of this triangulation
    """

    corners: Int[np.ndarray, "n 3"]
    weights: Float[np.ndarray, "n 3"]
    faces: Int[np.ndarray, "m 3"]

    def __len__(self) -> int:
        return len(self.corners)

    def points(self, fine: Float[np.ndarray, "f 3"]) -> Float[np.ndarray, "n 3"]:
        """The vertices, given those of the fine triangulation."""
        return np.einsum("nc,ncd->nd", self.weights, fine[self.corners])

    def of(self, fine: Float[np.ndarray, "f 3"], *, name: str = "mesh") -> Mesh:
        """The surface in this triangulation, given the vertices of the fine one."""
        return Mesh(self.points(fine), self.faces, name=name)


def retriangulate(
    mesh: Mesh, n_vertices: int, *, even: bool = False, seed: int | np.random.Generator = 0
) -> Triangulation:
    """A random triangulation of a surface with `n_vertices` vertices.

    A stretched and roughened copy of the surface is decimated, so that each seed leaves other vertices. With `even`, the
    vertices then move along the surface and edges are flipped until triangles are nearly equilateral, as after
    remeshing: few vertices stay where they were. A boundary stays a boundary: some of its vertices are left, and those
    don't move.

    Parameters
    ----------
    mesh : the fine triangulation
    n_vertices : fewer than the mesh has
    even : move the vertices towards equilateral triangles
    seed : decides which vertices are left

    Examples
    --------
    >>> from partwhole.datasets.shapes.primitives import sphere
    >>> ball = sphere(1000)
    >>> [retriangulate(ball, 300, seed=seed, even=True).of(ball.vertices).n_vertices for seed in range(2)]
    [300, 300]
    """
    if not 4 <= n_vertices < mesh.n_vertices:
        raise ValueError(
            f"n_vertices={n_vertices} must lie between 4 and {mesh.n_vertices - 1}, fewer than {mesh.name} has"
        )
    rng = np.random.default_rng(seed)
    # heads, which are open, have small triangles next to large ones
    step = (mesh.area / mesh.n_vertices) ** 0.5 if mesh.is_closed else mesh.vertex_areas[:, None] ** 0.5
    rough = (0.5 if even else 0.15) * step * rng.normal(size=(mesh.n_vertices, 1))
    copy = (mesh.vertices + rough * mesh.vertex_normals) * rng.uniform(0.8, 1.25, size=3)
    coarse = decimate(Mesh(copy, mesh.faces, name=mesh.name), n_vertices, keep_boundary=False)
    kept = coarse.to_fine
    if not even:
        corners = np.repeat(kept[:, None], 3, axis=1)
        return Triangulation(corners, np.tile([1.0, 0.0, 0.0], (len(kept), 1)), coarse.mesh.faces)
    finder = PointFinder(mesh)
    directions = mesh.vertex_normals[kept]
    vertices, faces = mesh.vertices[kept], coarse.mesh.faces
    for _ in range(_RELAXATIONS):
        vertices, faces = relax_step(vertices, faces)
        vertices = finder.places(vertices, directions).points(mesh.vertices)
    faces = flip_edges(vertices, faces)
    places = finder.places(vertices, directions)
    return Triangulation(places.corners, places.weights, faces)


def locate(source: Triangulation, target: Triangulation, mesh: Mesh) -> Triangulation:
    """For each vertex of `source` the point of `target` where it lies; both triangulate the same fine mesh.

    The nearest point is taken on `mesh`; corners of the result are vertices of `target`.
    """
    there = target.of(mesh.vertices, name=mesh.name)
    directions = np.einsum("nc,ncd->nd", source.weights, mesh.vertex_normals[source.corners])
    return PointFinder(there).places(source.points(mesh.vertices), directions)


class PointFinder:
    """Nearest points of a surface, among faces whose normals agree, so that no point crosses a thin part such as an ear.

    Parameters
    ----------
    mesh : the surface
    """

    def __init__(self, mesh: Mesh) -> None:
        from scipy.spatial import cKDTree

        self.mesh = mesh
        self._tree = cKDTree(mesh.vertices)
        # faces around each vertex, the first one repeated where there are fewer than the most
        order = np.argsort(mesh.faces.reshape(-1), kind="stable")
        counts = np.bincount(mesh.faces.reshape(-1), minlength=mesh.n_vertices)
        starts = np.cumsum(counts) - counts
        place = np.minimum(np.arange(counts.max()), counts[:, None] - 1)
        self._around = (order // 3)[starts[:, None] + place]

    def places(self, points: Float[np.ndarray, "n 3"], directions: Float[np.ndarray, "n 3"]) -> Triangulation:
        """For each point the nearest one in a triangle whose normal agrees with the direction.

        Parameters
        ----------
        points : anywhere near the surface
        directions : outwards, at each point
        """
        mesh = self.mesh
        _, near = self._tree.query(points, k=min(_NEIGHBOURS, mesh.n_vertices))
        faces = _each_once(self._around[near].reshape(len(points), -1))
        a, b, c = (mesh.vertices[mesh.faces[faces, k]] for k in range(3))
        shares = weights_in_triangles(points[:, None], a, b, c)
        found = shares[..., :1] * a + shares[..., 1:2] * b + shares[..., 2:] * c
        away = _length(found - points[:, None])
        agrees = np.einsum("nfd,nd->nf", mesh.face_normals[faces], directions) > 0
        # where nothing agrees the nearest counts
        best = np.where(agrees, away, away + 10 * away.max()).argmin(axis=1)
        rows = np.arange(len(points))
        corners = mesh.faces[faces[rows, best]]
        return Triangulation(corners, shares[rows, best], np.empty((0, 3), np.int64))


def _each_once(numbers: Int[np.ndarray, "n k"]) -> Int[np.ndarray, "n j"]:
    """The different numbers of each row in the order in which they come, the first one repeated where there are fewer.

    >>> _each_once(np.array([[3, 3, 1, 3], [2, 5, 2, 4]])).tolist()
    [[3, 1, 3], [2, 5, 4]]
    """
    n_columns = numbers.shape[1]
    # sorted by number, then by column: faster than a stable argsort
    number, column = np.divmod(np.sort(numbers * n_columns + np.arange(n_columns), axis=1), n_columns)
    first = np.ones(numbers.shape, bool)
    np.put_along_axis(first, column[:, 1:], number[:, 1:] != number[:, :-1], axis=1)
    place = np.cumsum(first, axis=1) - 1
    once = np.repeat(numbers[:, :1], int(place[:, -1].max()) + 1, axis=1)
    rows, columns = np.nonzero(first)
    once[rows, place[first]] = numbers[rows, columns]
    return once


def weights_in_triangles(
    points: Float[np.ndarray, "n #f 3"],
    a: Float[np.ndarray, "n f 3"],
    b: Float[np.ndarray, "n f 3"],
    c: Float[np.ndarray, "n f 3"],
) -> Float[np.ndarray, "n f 3"]:
    """Barycentric weights of the point of each triangle that is nearest to the given point.

    Inside, they solve the normal equations; outside, the nearest point of the three sides is taken.

    >>> corners = [np.array([[corner]]) for corner in ([0.0, 0, 0], [1.0, 0, 0], [0.0, 1, 0])]
    >>> weights_in_triangles(np.array([[[0.5, -1.0, 2.0]]]), *corners).round(6).tolist()
    [[[0.5, 0.5, 0.0]]]
    """
    u, v, w = b - a, c - a, points - a
    uu, uv, vv = _dot(u, u), _dot(u, v), _dot(v, v)
    wu, wv = _dot(w, u), _dot(w, v)
    size = np.maximum(uu * vv - uv * uv, 1e-300)
    second, third = (vv * wu - uv * wv) / size, (uu * wv - uv * wu) / size
    best = np.stack([1 - second - third, second, third], axis=-1)
    least = np.full(best.shape[:-1], np.inf)
    outside = (best[..., 0] < 0) | (best[..., 1] < 0) | (best[..., 2] < 0)
    corners = (a, b, c)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        side, here = corners[j] - corners[i], points - corners[i]
        along = np.clip(_dot(here, side) / np.maximum(_dot(side, side), 1e-300), 0, 1)
        away = _length(here - along[..., None] * side)
        better = outside & (away < least)
        least = np.where(better, away, least)
        on_side = np.zeros_like(best)
        on_side[..., i], on_side[..., j] = 1 - along, along
        best = np.where(better[..., None], on_side, best)
    return best


def _dot(p: Float[np.ndarray, "n #f 3"], q: Float[np.ndarray, "n #f 3"]) -> Float[np.ndarray, "n f"]:
    return np.einsum("nfd,nfd->nf", p, q)


def _length(p: Float[np.ndarray, "n f 3"]) -> Float[np.ndarray, "n f"]:
    """|p|, as np.linalg.norm has it, which takes three times as long over so short an axis."""
    return np.sqrt(p[..., 0] ** 2 + p[..., 1] ** 2 + p[..., 2] ** 2)
