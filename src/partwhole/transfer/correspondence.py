"""`Correspondence`: a part, its whole, and the maps between them in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import BarycentricMap, SurfaceTree
from partwhole.mesh.surface import check_mesh
from partwhole.store.arguments import check_instance, check_number
from partwhole.store.compute import nearest_rotation

Side = Literal["part", "whole"]

# an edge that the map makes so many times as long as other edges, and as a median edge, is torn, and so are its faces
_TORN = 4.0


@dataclass(frozen=True, eq=False, repr=False)
class Correspondence:
    """A part, a whole, and the place on the whole of every vertex of the part.

    For the inverse map, every face of the part is mapped onto the whole, with its corners at their places. A point of the
    whole corresponds to the closest point of this mapped part, among faces whose normals agree and within `reach`.

    Attributes
    ----------
    part, whole : the surfaces
    places : for each vertex of the part its place on the whole
    reach : up to this distance from the mapped part a point of the whole is covered, in the units of the whole; by default
        half a median edge of the whole or of the mapped part, whichever is longer
    """

    part: Mesh
    whole: Mesh
    places: BarycentricMap
    reach: float | None = None

    def __post_init__(self) -> None:
        check_mesh(self.part, "part")
        check_mesh(self.whole, "whole")
        check_instance("places", self.places, BarycentricMap, "use BarycentricMap.at_vertices(vertex_map)")
        check_number("reach", self.reach, or_none=True)
        if len(self.places) != self.part.n_vertices:
            raise ValueError(
                f"places has {len(self.places)} points, {self.part.name} has {self.part.n_vertices} vertices"
            )
        self.places.check_rows(self.whole.vertices, self.whole.name)
        if self.reach is not None and not self.reach >= 0:
            raise ValueError(f"reach={self.reach} must not be negative; it is a distance on the whole")

    def towards(self, to: Side) -> BarycentricMap:
        """For each vertex of the part or of the whole, its place on the other surface, where its values come from."""
        check_side(to)
        return self.places if to == "part" else self.inverse

    @cached_property
    def inverse(self) -> BarycentricMap:
        """For each vertex of the whole its place on the part; covered where there is one within reach."""
        return self.on_part(self.whole.vertices, self.whole.vertex_normals)[0]

    def on_part(
        self, points: Float[np.ndarray, "k 3"], normals: Float[np.ndarray, "k 3"] | None = None
    ) -> tuple[BarycentricMap, Float[np.ndarray, "k"]]:
        """Places on the part of points of the whole, and the distances of these points from the mapped part.

        Parameters
        ----------
        points : in the coordinates of the whole
        normals : outwards at the points; those of the closest points of the whole unless given
        """
        if normals is None:
            normals = BarycentricMap.closest(points, self.whole).interpolate(self.whole.vertex_normals)
        found = self._tree.nearest(points, normals)
        near = found.distances <= self._reach
        return BarycentricMap(self.part.faces[self._mapped][found.faces], found.weights, near), found.distances

    def on_whole(self, faces: Int[np.ndarray, "k"], weights: Float[np.ndarray, "k 3"]) -> BarycentricMap:
        """Places on the whole of points in faces of the part; not covered in faces that are torn.

        Parameters
        ----------
        faces : numbers of faces of the part
        weights : of their corners
        """
        points, normals = self.near_whole(faces, weights)
        return BarycentricMap.closest(points, self.whole, directions=normals).only(self.mapped_faces[faces])

    def near_whole(
        self, faces: Int[np.ndarray, "k"], weights: Float[np.ndarray, "k 3"]
    ) -> tuple[Float[np.ndarray, "k 3"], Float[np.ndarray, "k 3"]]:
        """Points of the mapped part, near the surface of the whole, and normals of the whole there."""
        corners = self.part.faces[faces]
        points = np.einsum("kc,kcd->kd", weights, np.nan_to_num(self.images)[corners])
        return points, np.einsum("kc,kcd->kd", weights, self._image_normals[corners])

    @cached_property
    def images(self) -> Float[np.ndarray, "p 3"]:
        """The places of the part's vertices in the coordinates of the whole; nan where not covered."""
        return self.places.positions(self.whole.vertices)

    @cached_property
    def rotations(self) -> Float[np.ndarray, "p 3 3"]:
        """For each vertex of the part, the rotation from its neighbourhood to that of its place on the whole.

        argmin over rotations R of Σ_j |R e_j − d_j|² over the edges e_j and their images d_j at the vertex and at its
        neighbours, and over the normals, each side scaled to the same length.
        """
        covered = self.places.covered
        edges = self.part.edges[covered[self.part.edges].all(axis=1)]
        before = self.part.vertices[edges[:, 1]] - self.part.vertices[edges[:, 0]]
        after = self.images[edges[:, 1]] - self.images[edges[:, 0]]
        n = self.part.n_vertices
        outer = np.einsum("ei,ej->eij", after, before).reshape(-1, 9)
        rows = edges.T.reshape(-1)
        around = sparse.coo_matrix(
            (np.ones(len(rows)), (rows, np.tile(np.arange(len(edges)), 2))), (n, len(edges))
        ).tocsr()
        total = around @ outer
        links = sparse.coo_matrix((np.ones(len(rows)), (rows, edges[:, ::-1].T.reshape(-1))), (n, n)).tocsr()
        total = total + links @ total
        weight = np.linalg.norm(total, axis=1)
        weight[weight == 0] = 1
        normals = np.einsum("p,pi,pj->pij", weight, self._image_normals, self.part.vertex_normals)
        return nearest_rotation(total.reshape(-1, 3, 3) + normals)

    @cached_property
    def mapped_faces(self) -> Bool[np.ndarray, "m"]:
        """Whether each face of the part is mapped: its corners are covered, and the map does not tear it apart."""
        whole = np.zeros(self.part.n_faces, bool)
        whole[self._mapped] = True
        return whole

    @cached_property
    def _mapped(self) -> Int[np.ndarray, "l"]:
        """The numbers of the faces of the part that are mapped onto the whole."""
        covered = self.places.covered[self.part.faces].all(axis=1)
        before = _side_lengths(self.part.vertices, self.part.faces)
        after = _side_lengths(np.nan_to_num(self.images), self.part.faces)
        stretch = np.divide(after, before, out=np.full_like(after, np.nan), where=before > 0)[covered]
        usual = np.nanmedian(stretch) if np.isfinite(stretch).any() else 1.0
        torn = (after > _TORN * np.maximum(usual * before, self._edge)).any(axis=1)
        kept = np.flatnonzero(covered & ~torn)
        if len(kept) == 0:
            raise ValueError(
                f"no face of {self.part.name} has its corners together on {self.whole.name}; is it another map?"
            )
        return kept

    @cached_property
    def _image_normals(self) -> Float[np.ndarray, "p 3"]:
        return np.nan_to_num(self.places.interpolate(self.whole.vertex_normals))

    @cached_property
    def _edge(self) -> float:
        """A median edge of the whole or of the mapped part, whichever is longer."""
        covered = self.places.covered[self.part.faces].all(axis=1)
        mapped = _side_lengths(self.images, self.part.faces[covered])
        return max(float(np.median(mapped)) if len(mapped) else 0.0, float(np.median(self.whole.edge_lengths)))

    @property
    def _reach(self) -> float:
        return self._edge / 2 if self.reach is None else self.reach

    @cached_property
    def _tree(self) -> SurfaceTree:
        """The part, mapped onto the whole."""
        return SurfaceTree(Mesh(np.nan_to_num(self.images), self.part.faces[self._mapped], name=self.part.name))


def check_correspondence(given: object) -> None:
    """Raise ValueError, with the remedy, unless this is a `Correspondence`."""
    check_instance("correspondence", given, Correspondence, "use result.correspondence")


def check_side(to: object) -> None:
    """Raise ValueError unless this is "part" or "whole"."""
    if to not in ("part", "whole"):
        raise ValueError(f"to={to!r} must be 'part' or 'whole'")


def _side_lengths(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> Float[np.ndarray, "m 3"]:
    corners = vertices[faces]
    return np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
