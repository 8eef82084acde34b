"""`Mesh`, a triangulated surface that is validated once and never changes, and its mean curvature."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from scipy import sparse

from partwhole.mesh.formats.common import MeshWarning
from partwhole.mesh.shown import Shown
from partwhole.mesh.topology import connected_labels, corner_angles, trace_loops, unique_edges
from partwhole.store.arguments import as_array, as_numbers, optional_module
from partwhole.store.compute import first_largest

_REPAIR = "pw.repair(vertices, faces) removes it"


@dataclass(frozen=True, eq=False, repr=False)
class Mesh(Shown):
    """A triangulated surface: points and the triangles between them.

    The constructor checks that vertices are finite, that faces index existing vertices, that no face uses a vertex twice,
    and that no face occurs twice. Allowed, because real scans have them: boundaries, several
    components, edges with more than two faces, vertices without faces, triangles of area zero, mixed orientation.

    Parameters
    ----------
    vertices : (n, 3) array of coordinates
    faces : (m, 3) array of vertex numbers, counted from 0
    name : what to call the surface in messages

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> square.area, square.n_vertices, len(square.boundary_loops)
    (1.0, 4, 1)
    """

    vertices: Float[np.ndarray, "n 3"]
    faces: Int[np.ndarray, "m 3"]
    name: str = field(default="mesh", kw_only=True)

    def __init__(self, vertices: ArrayLike, faces: ArrayLike, *, name: str = "mesh") -> None:
        checked_vertices = _checked_vertices(vertices, name)
        checked_faces = _checked_faces(faces, len(checked_vertices), name)
        for array in (checked_vertices, checked_faces):
            array.setflags(write=False)
        object.__setattr__(self, "vertices", checked_vertices)
        object.__setattr__(self, "faces", checked_faces)
        object.__setattr__(self, "name", name)

    def __repr__(self) -> str:
        return (
            f"Mesh({self.name!r}: {self.n_vertices} vertices, {self.n_faces} faces, "
            f"{len(self.boundary_loops)} boundary loops, {self.n_components} components)"
        )

    @property
    def n_vertices(self) -> int:
        return len(self.vertices)

    @property
    def n_faces(self) -> int:
        return len(self.faces)

    # --- edges and boundaries

    @cached_property
    def _edge_table(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return unique_edges(self.faces)

    @property
    def edges(self) -> Int[np.ndarray, "e 2"]:
        """Every edge once, the smaller vertex first, sorted."""
        return self._edge_table[0]

    @property
    def opposite_edges(self) -> Int[np.ndarray, "m 3"]:
        """Row of `edges` that lies opposite to each corner of each face."""
        return self._edge_table[1]

    @property
    def faces_per_edge(self) -> Int[np.ndarray, "e"]:
        """1 on the boundary, 2 inside, more where the surface is not a manifold."""
        return self._edge_table[2]

    @cached_property
    def edge_lengths(self) -> Float[np.ndarray, "e"]:
        return np.linalg.norm(self.vertices[self.edges[:, 1]] - self.vertices[self.edges[:, 0]], axis=1)

    @cached_property
    def boundary_edges(self) -> Int[np.ndarray, "b 2"]:
        """Edges with one face, directed as that face runs along them."""
        face, corner = np.nonzero(self.faces_per_edge[self.opposite_edges] == 1)
        return np.stack([self.faces[face, (corner + 1) % 3], self.faces[face, (corner + 2) % 3]], axis=1)

    @cached_property
    def boundary_vertices(self) -> Int[np.ndarray, "b"]:
        """Vertices on the boundary, in increasing order."""
        return np.unique(self.boundary_edges)

    @cached_property
    def boundary_loops(self) -> list[Int[np.ndarray, "_"]]:
        """The boundary as closed chains of vertices, longest (by vertex count) first."""
        return sorted(trace_loops(self.boundary_edges), key=len, reverse=True)

    @cached_property
    def boundary_labels(self) -> Int[np.ndarray, "b"]:
        """For each of `boundary_vertices`, the number of the connected piece of boundary it lies on.

        Loops that touch at a vertex count as one piece.
        """
        positions = np.searchsorted(self.boundary_vertices, self.boundary_edges)
        return connected_labels(len(self.boundary_vertices), positions)

    @property
    def is_closed(self) -> bool:
        """True if no edge lies on a boundary."""
        return len(self.boundary_edges) == 0

    @cached_property
    def is_manifold(self) -> bool:
        """True if every edge has at most two faces and the faces at every vertex form one fan."""
        if np.any(self.faces_per_edge > 2):
            return False
        return bool(np.all(self.fans_per_vertex <= 1))

    @cached_property
    def fans_per_vertex(self) -> Int[np.ndarray, "n"]:
        """How many groups the faces at each vertex fall into, when faces are joined across shared edges."""
        edge_of_corner = self.opposite_edges
        corner_id = np.arange(3 * self.n_faces).reshape(-1, 3)
        # corner i of a face touches the edges opposite its other two corners; corners of two faces at one vertex are
        # joined if they share such an edge
        vertex = np.repeat(self.faces.reshape(-1), 2)
        edge = edge_of_corner[:, [[1, 2], [2, 0], [0, 1]]].reshape(-1)
        corner = np.repeat(corner_id.reshape(-1), 2)
        key = edge * self.n_vertices + vertex
        order = np.argsort(key)
        same = key[order][1:] == key[order][:-1]
        joined = np.stack([corner[order][1:][same], corner[order][:-1][same]], axis=1)
        labels = connected_labels(3 * self.n_faces, joined)
        vertex_of_fan = np.empty(labels.max(initial=-1) + 1, np.int64)
        vertex_of_fan[labels] = self.faces.reshape(-1)
        return np.bincount(vertex_of_fan, minlength=self.n_vertices)

    # --- components and topology

    @cached_property
    def component_labels(self) -> Int[np.ndarray, "n"]:
        """For each vertex the number of its connected component; a vertex without faces is a component of its own."""
        return connected_labels(self.n_vertices, self.edges)

    @property
    def n_components(self) -> int:
        return int(self.component_labels.max()) + 1 if self.n_vertices else 0

    @property
    def euler_characteristic(self) -> int:
        """V − E + F."""
        return self.n_vertices - len(self.edges) + self.n_faces

    @cached_property
    def genus(self) -> int:
        """Number of handles, (2 − boundary loops − χ)/2, of a connected, orientable manifold."""
        if self.n_components != 1 or not self.is_manifold:
            raise ValueError(
                f"{self.name} has {self.n_components} components and is {'' if self.is_manifold else 'not '}a manifold; "
                "genus is defined for one manifold component: use pw.repair(mesh) and mesh.largest_component()"
            )
        return (2 - len(self.boundary_loops) - self.euler_characteristic) // 2

    # --- sizes and directions

    @cached_property
    def _face_cross(self) -> Float[np.ndarray, "m 3"]:
        a, b, c = (self.vertices[self.faces[:, i]] for i in range(3))
        return np.cross(b - a, c - a)

    @cached_property
    def face_areas(self) -> Float[np.ndarray, "m"]:
        return 0.5 * np.linalg.norm(self._face_cross, axis=1)

    @cached_property
    def vertex_areas(self) -> Float[np.ndarray, "n"]:
        """A third of the area of the faces at each vertex; they sum to the area of the surface."""
        return np.bincount(self.faces.reshape(-1), weights=np.repeat(self.face_areas / 3, 3), minlength=self.n_vertices)

    @property
    def area(self) -> float:
        return float(self.face_areas.sum())

    @cached_property
    def face_normals(self) -> Float[np.ndarray, "m 3"]:
        """Unit normals; zero where a triangle has no area."""
        return _unit(self._face_cross)

    @cached_property
    def vertex_normals(self) -> Float[np.ndarray, "n 3"]:
        """Unit normals, the mean of the face normals weighted by the corner angles; zero where that mean vanishes."""
        weighted = self.face_normals[:, None, :] * self.corner_angles[:, :, None]
        total = np.zeros_like(self.vertices)
        np.add.at(total, self.faces.reshape(-1), weighted.reshape(-1, 3))
        return _unit(total)

    @cached_property
    def corner_angles(self) -> Float[np.ndarray, "m 3"]:
        return corner_angles(self.vertices, self.faces)

    @cached_property
    def angle_defects(self) -> Float[np.ndarray, "n"]:
        """Integrated Gaussian curvature: 2π (π on the boundary) less the sum of the corner angles."""
        full = np.full(self.n_vertices, 2 * np.pi)
        full[self.boundary_vertices] = np.pi
        return full - np.bincount(
            self.faces.reshape(-1), weights=self.corner_angles.reshape(-1), minlength=self.n_vertices
        )

    # --- other surfaces made from this one

    def submesh(self, keep: Bool[np.ndarray, "n"]) -> tuple[Mesh, Int[np.ndarray, "_"]]:
        """The faces whose three vertices are all kept, and for each vertex of the result its number here.

        Kept vertices that lose all their faces are left out of the result.
        """
        faces = self.faces[keep[self.faces].all(axis=1)]
        vertex_map = np.unique(faces)
        return Mesh(self.vertices[vertex_map], np.searchsorted(vertex_map, faces), name=self.name), vertex_map

    def largest_component(self) -> tuple[Mesh, Int[np.ndarray, "_"]]:
        """The component of largest area (of most vertices where none has any), and its vertices' numbers here."""
        sizes = np.bincount(self.component_labels, weights=self.vertex_areas)
        if not sizes.any():
            sizes = np.bincount(self.component_labels).astype(float)
        return self.submesh(self.component_labels == first_largest(sizes))

    def scaled(self, factor: float) -> Mesh:
        return Mesh(self.vertices * factor, self.faces, name=self.name)

    def to_unit_area(self) -> tuple[Mesh, float]:
        """Scaled to area 1 and centred on the vertex mean, and the factor that was applied."""
        if self.area == 0:
            raise ValueError(f"{self.name} has area 0; it can't be scaled to area 1")
        factor = self.area**-0.5
        return Mesh((self.vertices - self.vertices.mean(axis=0)) * factor, self.faces, name=self.name), factor

    # --- the same surface in other libraries, their arrays copies; `as_mesh` is the way back

    def to_trimesh(self) -> Any:
        """A `trimesh.Trimesh` with the same vertices and faces, in the same order."""
        trimesh = optional_module("trimesh", "to_trimesh")
        return trimesh.Trimesh(self.vertices.copy(), self.faces.copy(), process=False)

    def to_open3d(self) -> Any:
        """An `open3d.geometry.TriangleMesh` with the same vertices and faces, in the same order."""
        open3d = optional_module("open3d", "to_open3d")
        # copies, since Open3D refuses arrays that can't be written to
        points = open3d.utility.Vector3dVector(self.vertices.copy())
        return open3d.geometry.TriangleMesh(points, open3d.utility.Vector3iVector(self.faces.astype(np.int32)))

    def to_pyvista(self) -> Any:
        """A `pyvista.PolyData` with the same vertices and faces, in the same order."""
        pyvista = optional_module("pyvista", "to_pyvista")
        return pyvista.PolyData.from_regular_faces(self.vertices.copy(), self.faces.copy())

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of vertices and faces (not of the name): equal for equal surfaces, on every machine."""
        digest = hashlib.sha256(b"partwhole mesh 1")
        for array in (self.vertices, self.faces):
            digest.update(str((array.dtype.str, array.shape)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def as_mesh(given: object, *, name: str = "mesh") -> Mesh:
    """The surface, in whatever form it is given; a `Mesh` is returned as it is. Every function calls this on its surfaces.

    Files are read as by `read_mesh`. Polygons are triangulated as fans, with a `MeshWarning`. Nothing is repaired.

    Parameters
    ----------
    given : a path, a `Mesh`, (vertices, faces), or a mesh of trimesh, Open3D, PyVista or meshio, or any object with the
        same attributes
    name : what to call the surface in messages; a file goes by its own name

    Examples
    --------
    >>> as_mesh(([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]), name="triangle")
    Mesh('triangle': 3 vertices, 1 faces, 1 boundary loops, 1 components)
    >>> as_mesh(3)
    Traceback (most recent call last):
    ValueError: mesh must be a surface, got int; give a path, a pw.Mesh, (vertices, faces), or a mesh of trimesh, Open3D, ...
    """
    if isinstance(given, Mesh):
        return given
    from partwhole.mesh.io import mesh_from

    mesh, notes = mesh_from(given, name)
    for note in notes:
        # whoever called the function that was given the surface
        warnings.warn(note, MeshWarning, stacklevel=3)
    return mesh


def check_mesh(given: object, name: str = "mesh") -> None:
    """Raise ValueError, with the remedy, unless this is a `Mesh`; for what holds meshes. Functions call `as_mesh`.

    >>> check_mesh("scan.ply")
    Traceback (most recent call last):
    ValueError: mesh must be a Mesh, got str; make one with pw.as_mesh
    """
    if not isinstance(given, Mesh):
        raise ValueError(f"{name} must be a Mesh, got {type(given).__name__}; make one with pw.as_mesh")


def _checked_vertices(vertices: ArrayLike, name: str) -> Float[np.ndarray, "n 3"]:
    array = as_numbers(f"{name}: vertices", vertices)
    if array.size == 0:
        raise ValueError(f"{name} has no vertices")
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"{name}: vertices must have shape (n, 3), got {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise ValueError(f"{name}: vertex {bad[0]} is {array[bad[0]].tolist()} ({len(bad)} vertices are not finite)")
    if np.abs(array).max() > 1e70:
        raise ValueError(f"{name}: coordinates up to {np.abs(array).max():.3g} overflow when squared; scale them down")
    size = float(np.ptp(array, axis=0).max())
    if 0 < size < 1e-70:
        raise ValueError(f"{name}: the vertices span {size:.3g}, which underflows when squared; scale them up")
    return array


def _checked_faces(faces: ArrayLike, n: int, name: str) -> Int[np.ndarray, "m 3"]:
    given = as_array(f"{name}: faces must have shape (m, 3)", faces)
    if given.size == 0:
        raise ValueError(f"{name} has no faces; a point cloud is not a surface")
    if given.ndim != 2 or given.shape[1] != 3:
        raise ValueError(f"{name}: faces must have shape (m, 3), got {given.shape}")
    if not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"{name}: faces must be integers, got {given.dtype}")
    array = np.array(given, dtype=np.int64, order="C")
    outside = np.flatnonzero(((array < 0) | (array >= n)).any(axis=1))
    if len(outside):
        raise ValueError(
            f"{name}: face {outside[0]} is {array[outside[0]].tolist()}, but vertices are numbered 0 to {n - 1} "
            f"({len(outside)} such faces)"
        )
    ordered = np.sort(array, axis=1)
    repeated = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(repeated):
        raise ValueError(
            f"{name}: face {repeated[0]} uses a vertex twice: {array[repeated[0]].tolist()} "
            f"({len(repeated)} such faces); {_REPAIR}"
        )
    _, first = np.unique(ordered, axis=0, return_index=True)
    if len(first) < len(array):
        again = np.setdiff1d(np.arange(len(array)), first)
        raise ValueError(
            f"{name}: face {again[0]} occurs twice: {array[again[0]].tolist()} ({len(again)} repeated faces); {_REPAIR}"
        )
    return array


def _unit(vectors: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, "k 3"]:
    # by their largest component first, so that the squares of short ones do not vanish
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    vectors = np.divide(vectors, largest, out=np.zeros_like(vectors), where=largest > 0)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)


def integrated_mean_curvature(mesh: Mesh) -> Float[np.ndarray, "n"]:
    """¼ Σ |e| θ_e over the edges e at each vertex that have two triangles: the integral of (κ₁ + κ₂) / 2 around it.

    θ_e is the angle between the normals of the two triangles, positive where the surface bends away from them. Edges
    on the boundary count 0, and so do those where orientations disagree or more than two triangles meet: neither says
    how the surface bends.

    Examples
    --------
    On a sphere of radius r the mean curvature is 1 / r, and its integral 4 π r:

    >>> from partwhole.datasets import sphere
    >>> f"{integrated_mean_curvature(sphere(2000, radius=3.0)).sum() / (4 * np.pi * 3):.2f}"
    '1.00'
    """
    face = np.repeat(np.arange(mesh.n_faces), 3)
    edge = mesh.opposite_edges.ravel()
    # corner c is opposite to the edge from corner c + 1 to corner c + 2
    start, end = np.roll(mesh.faces, -1, axis=1).ravel(), np.roll(mesh.faces, -2, axis=1).ravel()
    order = np.argsort(edge, kind="stable")
    twos = np.flatnonzero(mesh.faces_per_edge == 2)
    first = order[np.searchsorted(edge[order], twos)]
    second = order[np.searchsorted(edge[order], twos) + 1]
    agree = (start[first] == end[second]) & (end[first] == start[second])
    twos, first, second = twos[agree], first[agree], second[agree]

    one, other = mesh.face_normals[face[first]], mesh.face_normals[face[second]]
    along = mesh.vertices[end[first]] - mesh.vertices[start[first]]
    length = np.linalg.norm(along, axis=1)
    unit = np.divide(along, length[:, None], out=np.zeros_like(along), where=length[:, None] > 0)
    # sin θ has the sign of the turn about the edge, seen along it from the first triangle
    sine = np.einsum("ei,ei->e", np.cross(one, other), unit)
    angle = np.arctan2(sine, np.einsum("ei,ei->e", one, other))
    share = length * angle / 4
    ends = mesh.edges[twos]
    # without any edge, bincount forgets that weights are numbers with a point
    return np.bincount(ends.ravel(), weights=np.repeat(share, 2), minlength=mesh.n_vertices).astype(np.float64)


def edge_graph(mesh: Mesh) -> sparse.csr_matrix:
    """The edges and their lengths as a symmetric sparse matrix, both directions stored."""
    u, v = mesh.edges.T
    rows, columns = np.concatenate([u, v]), np.concatenate([v, u])
    lengths = np.concatenate([mesh.edge_lengths, mesh.edge_lengths])
    return sparse.csr_matrix((lengths, (rows, columns)), shape=(mesh.n_vertices, mesh.n_vertices))
