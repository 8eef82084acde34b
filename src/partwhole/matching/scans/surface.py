"""A surface as it is matched, and the way back from there to every vertex of the surface as it was given.

What is matched faces outwards and has a few thousand vertices. Lifting: a vertex of the part as it was given lies among
vertices that were matched. Their places on the whole, averaged, are a point near the whole, finer than the decimated
triangles are; the nearest vertex there is its place. Places and normals are looked at together, so that the two sides of
something thin are kept apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.mesh import Mesh, decimate
from partwhole.mesh.barycentric import BarycentricMap, SurfaceTree
from partwhole.mesh.formats.common import counted, percent
from partwhole.mesh.topology import consistent_orientation
from partwhole.store.compute import first_largest

# pieces with less of the area, or fewer vertices, say nothing about where they belong
_SMALL_SHARE, _SMALL_COUNT = 0.01, 20
# nothing is taken away for a few vertices less
_WORTHWHILE = 1.3
# with fewer vertices a part would lose its shape, however small it is
_LEAST = 400
# all distances between more vertices fill the memory; a surface that can be decimated never has so many
_MOST = 12_000
# of vertices or of area that was left out, what a reader should know before all else
_GRAVE = 0.1
# |Σ normal · area| / Σ area: 0 for closed surfaces, ½ for half a sphere
_NEARLY_CLOSED = 0.3

# of lifting:
_NEIGHBOURS = 6
# how far apart opposite normals count, in √area: half of this times 2
_NORMALS = 0.05
# neighbours whose places lie farther from that of the nearest one than so many edges are torn off, and not averaged with it
_TORN = 4.0


@dataclass(frozen=True, eq=False, repr=False)
class PreparedSurface:
    """A surface as it is matched.

    Attributes
    ----------
    given : as it was given
    mesh : as it is matched, in the units that it was given in
    to_given : for each vertex of `mesh` its vertex of `given`
    covered : which vertices of `given` lie on what is matched; the others belong to no face, or to pieces left out
    decimated : whether vertices were taken away
    notes : what was done
    warnings : what of it may matter for the result
    """

    given: Mesh
    mesh: Mesh
    to_given: Int[np.ndarray, "m"]
    covered: Bool[np.ndarray, "n"]
    decimated: bool
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"PreparedSurface({self.given.name!r}: {self.mesh.n_vertices} of {self.given.n_vertices} vertices)"


def prepare_surface(mesh: Mesh, role: Literal["part", "whole"], *, most_vertices: int) -> PreparedSurface:
    """The surface that is matched in the place of the one that was given.

    Vertices without faces are left out; of a whole all but the largest piece, of a part the specks. Faces are turned so
    that neighbours agree and face outwards. Where there are many more vertices than asked for, it is decimated.

    Parameters
    ----------
    mesh : as given
    role : a whole is one piece; a part may be several
    most_vertices : about how many to match
    """
    if mesh.area == 0:
        raise ValueError(f"{mesh.name}: all its faces have area 0; a surface is needed")
    kept, kept_notes, warnings = _pieces(mesh, role)
    pieces, to_given = (mesh, np.arange(mesh.n_vertices)) if kept.all() else mesh.submesh(kept)
    covered = np.zeros(mesh.n_vertices, bool)
    covered[to_given] = True
    notes = list(kept_notes)
    wanted = max(most_vertices, min(_LEAST, pieces.n_vertices))
    decimated = pieces.n_vertices > _WORTHWHILE * wanted
    if decimated:
        fewer = decimate(pieces, wanted, keep_boundary=False)
        pieces, to_given = fewer.mesh, to_given[fewer.to_fine]
        if pieces.n_vertices > max(_MOST, _WORTHWHILE * most_vertices):
            raise ValueError(
                f"{mesh.name}: its {mesh.n_vertices} vertices can't be made fewer than {pieces.n_vertices}, which are too "
                "many to match, since they lie on boundaries or where the surface is not a manifold; fix it with pw.repair, "
                "or remesh it"
            )
        notes.append(f"the {role} is matched with {pieces.n_vertices} of its {mesh.n_vertices} vertices")
    turned, flipped = _outwards(pieces)
    if flipped:
        notes.append(f"{counted(flipped, 'face')} of the {role} were flipped, so that all point outwards")
    if flipped > pieces.n_faces / 2:
        warnings.append(
            f"the {role} was inside out; if that is because its coordinates are mirrored (x for −x, say), left and right are "
            "exchanged in the map"
        )
    return PreparedSurface(mesh, turned, to_given, covered, decimated, tuple(notes), tuple(warnings))


def _pieces(mesh: Mesh, role: str) -> tuple[Bool[np.ndarray, "n"], list[str], list[str]]:
    """The vertices to keep, and what to say about the others."""
    notes: list[str] = []
    warnings: list[str] = []
    used = np.zeros(mesh.n_vertices, bool)
    used[mesh.faces] = True
    if not used.all():
        notes.append(f"{counted(int((~used).sum()), 'vertex', 'vertices')} of the {role} without faces left out")
    label = mesh.component_labels
    areas = np.bincount(label, weights=mesh.vertex_areas)
    sizes = np.bincount(label)
    real = np.flatnonzero(areas > 0)
    shares = areas / areas.sum()
    if role == "whole":
        chosen = [first_largest(areas)]
    else:
        chosen = [int(c) for c in real if shares[c] >= _SMALL_SHARE and sizes[c] >= _SMALL_COUNT] or [
            first_largest(areas)
        ]
    lost = len(real) - len(chosen)
    if lost:
        share = 1 - shares[chosen].sum()
        text = f"{counted(lost, 'piece')} of the {role} left out, {percent(float(share))} of its area"
        if role == "whole":
            text += ": a whole is one piece, and the largest is taken"
        (warnings if share > _GRAVE else notes).append(text)
    return used & np.isin(label, chosen), notes, warnings


def _outwards(mesh: Mesh) -> tuple[Mesh, int]:
    """Faces turned so that neighbours agree and pieces face outwards, and how many were turned."""
    flip = consistent_orientation(mesh.vertices, mesh.faces).flip.copy()
    label = mesh.component_labels[mesh.faces[:, 0]]
    flip ^= _inside_out(mesh, flip, label)[label]
    if not flip.any():
        return mesh, 0
    faces = np.where(flip[:, None], mesh.faces[:, [0, 2, 1]], mesh.faces)
    return Mesh(mesh.vertices, faces, name=mesh.name), int(flip.sum())


def _inside_out(mesh: Mesh, flip: Bool[np.ndarray, "m"], label: Int[np.ndarray, "m"]) -> Bool[np.ndarray, "c"]:
    """Pieces that are nearly closed and face inwards; a patch has no inside, and stays as it was given."""

    def total(values: Float[np.ndarray, "m"]) -> Float[np.ndarray, "c"]:
        return np.bincount(label, values, minlength=mesh.n_components)

    towards = np.where(flip, -1.0, 1.0)[:, None] * mesh.face_normals * mesh.face_areas[:, None]
    corners = mesh.vertices[mesh.faces].mean(axis=1)
    area = np.maximum(total(mesh.face_areas), np.finfo(float).tiny)
    middle = np.stack([total(corners[:, axis] * mesh.face_areas) for axis in range(3)], axis=1) / area[:, None]
    # the normals of a closed surface cancel; a hole is closed by a cone from the middle
    open_by = np.linalg.norm(np.stack([total(towards[:, axis]) for axis in range(3)], axis=1), axis=1) / area
    cones = np.einsum("ij,ij->i", towards, corners - middle[label])
    return (open_by < _NEARLY_CLOSED) & (total(cones) < -0.3 * total(np.abs(cones)))


@dataclass(frozen=True, eq=False, repr=False)
class Lift:
    """Where the vertices of the part as it was given lie among those that were matched.

    Attributes
    ----------
    part, whole : as they were matched
    neighbours : for each vertex of the part as it was given the nearest that were matched, nearest first
    weights : of these; rows sum to one
    """

    part: PreparedSurface
    whole: PreparedSurface
    neighbours: Int[np.ndarray, "n k"]
    weights: Float[np.ndarray, "n k"]

    @classmethod
    def between(cls, part: PreparedSurface, whole: PreparedSurface) -> Lift:
        """The lift for two surfaces as they were matched; it serves any map between them."""
        n, m = part.given.n_vertices, part.mesh.n_vertices
        if not (part.decimated or whole.decimated):
            return cls(part, whole, *_nearest_alone(part))
        k = min(_NEIGHBOURS, m)
        seen = _places(part.given)
        away, neighbours = _tree(seen[part.to_given]).query(seen, k=k, workers=-1)
        away, neighbours = away.reshape(n, k), neighbours.reshape(n, k)
        # as wide as the triangles are here
        width = np.maximum(away[:, min(2, k - 1)], 1e-12)[:, None]
        weights = np.exp(-((away / width) ** 2))
        return cls(part, whole, neighbours, weights / weights.sum(axis=1, keepdims=True))

    def values(self, of_matched: Float[np.ndarray, "m"]) -> Float[np.ndarray, "n"]:
        """Numbers on the vertices that were matched, on all vertices of the part."""
        return np.einsum("nk,nk->n", self.weights, of_matched[self.neighbours])

    def vertex_map(self, found: Int[np.ndarray, "m"]) -> Int[np.ndarray, "n"]:
        """A map between the surfaces as they were matched, for all vertices, in the numbers of the whole as it was given."""
        places_of = self.whole.to_given[found]
        if not (self.part.decimated or self.whole.decimated):
            return places_of[self.neighbours[:, 0]]
        where = _places(self.whole.given)
        images = where[places_of[self.neighbours]]
        off = np.linalg.norm(images - images[:, :1], axis=2)
        weights = np.where(off <= self._torn, self.weights, 0.0)
        target = np.einsum("nk,nkd->nd", weights / weights.sum(axis=1, keepdims=True), images)
        candidates = np.flatnonzero(self.whole.covered)
        return candidates[_tree(where[candidates]).query(target, workers=-1)[1]]

    def places(self, found: BarycentricMap) -> BarycentricMap:
        """A map inside triangles of the whole as it was matched, for all vertices, on the whole as it was given.

        Covered are those that `part` has covered; the others have the place of the nearest one.
        """
        given = self.whole.given
        at = BarycentricMap(self.whole.to_given[found.triangles], found.weights, found.covered)
        if not (self.part.decimated or self.whole.decimated):
            nearest = self.neighbours[:, 0]
            return BarycentricMap(at.triangles[nearest], at.weights[nearest], self.part.covered)
        images, (triangles, weights) = at.interpolate(_places(given)), self._in_triangles()
        off = np.linalg.norm(images[triangles] - images[triangles[:, :1]], axis=2).max(axis=1)
        weights = np.where((off > self._torn)[:, None], [1.0, 0.0, 0.0], weights)
        target = np.einsum("nc,ncd->nd", weights, images[triangles])
        faces = given.faces[self.whole.covered[given.faces].all(axis=1)]
        near = SurfaceTree(Mesh(given.vertices, faces)).nearest(target[:, :3] * given.area**0.5, _unit(target[:, 3:]))
        own = at.triangles[triangles[:, 0], at.weights[triangles[:, 0]].argmax(axis=1)]
        triangles = np.where(near.found[:, None], faces[near.faces], own[:, None])
        weights = np.where(near.found[:, None], near.weights, [1.0, 0.0, 0.0])
        return BarycentricMap(triangles, weights, self.part.covered)

    def _in_triangles(self) -> tuple[Int[np.ndarray, "n 3"], Float[np.ndarray, "n 3"]]:
        """For each vertex of the part its triangle of those that were matched, nearest corner first, and its place there."""
        mesh, given = self.part.mesh, self.part.given
        normals = given.vertex_normals
        # what was matched faces outwards
        normals = normals * np.sign(np.einsum("md,md->", normals[self.part.to_given], mesh.vertex_normals) or 1.0)
        near = SurfaceTree(mesh).nearest(given.vertices, normals)
        order = np.argsort(-near.weights, axis=1, kind="stable")
        triangles = np.take_along_axis(mesh.faces[near.faces], order, axis=1)
        weights = np.take_along_axis(near.weights, order, axis=1)
        # where no normal agrees, or there is no face, the nearest vertex serves
        alone = ~(near.found & self.part.covered)
        triangles[alone] = self.neighbours[alone, :1]
        weights[alone] = [1.0, 0.0, 0.0]
        return triangles, weights

    @property
    def _torn(self) -> float:
        """Images of neighbours that are farther apart are torn off each other; see `_places`."""
        return _TORN * _edge_length(self.whole.mesh) / self.whole.given.area**0.5


def matched_vertices(surface: PreparedSurface, vertices: Int[np.ndarray, "k"]) -> Int[np.ndarray, "k"]:
    """For vertices of a surface as it was given the nearest ones that were matched; −1 for those on pieces left out."""
    number = np.full(surface.given.n_vertices, -1)
    number[surface.to_given] = np.arange(len(surface.to_given))
    found = number[vertices]
    taken_away = (found < 0) & surface.covered[vertices]
    if taken_away.any():
        seen = _places(surface.given)
        found[taken_away] = _tree(seen[surface.to_given]).query(seen[vertices[taken_away]])[1]
    return found


def unmatched_places(covered: Bool[np.ndarray, "n"], mesh: Mesh) -> Int[np.ndarray, "n"]:
    """For each vertex itself if it is covered, else the nearest one that is."""
    places = np.arange(mesh.n_vertices)
    if not covered.all():
        known = np.flatnonzero(covered)
        places[~covered] = known[_tree(mesh.vertices[known]).query(mesh.vertices[~covered])[1]]
    return places


def _nearest_alone(part: PreparedSurface) -> tuple[Int[np.ndarray, "n 1"], Float[np.ndarray, "n 1"]]:
    number = np.zeros(part.given.n_vertices, np.int64)
    number[part.to_given] = np.arange(len(part.to_given))
    nearest = number[unmatched_places(part.covered, part.given)]
    return nearest[:, None], np.ones((len(nearest), 1))


def _places(mesh: Mesh) -> Float[np.ndarray, "n 6"]:
    """Positions in √area, and normals as far as they count beside them."""
    return np.concatenate([mesh.vertices / mesh.area**0.5, _NORMALS * mesh.vertex_normals], axis=1)


def _unit(vectors: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)


def _edge_length(mesh: Mesh) -> float:
    return float(np.median(mesh.edge_lengths))


def _tree(points: Float[np.ndarray, "n d"]):  # type: ignore[no-untyped-def]
    from scipy.spatial import cKDTree

    return cKDTree(points)
