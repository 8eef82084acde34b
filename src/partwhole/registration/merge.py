"""`merge`: two overlapping parts that were matched become one surface: all of the first, and what only the second has."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.datasets.part_pairs import mean_edges
from partwhole.deformation.levels import register_in_levels
from partwhole.deformation.register import FitOptions, Guide, is_on_boundary, wholly
from partwhole.matching.parts.constants import SHARED
from partwhole.matching.parts.result import PartsMatch
from partwhole.mesh import Mesh, SurfaceLike, as_mesh
from partwhole.mesh.barycentric import SurfaceTree
from partwhole.mesh.formats.common import counted, percent
from partwhole.mesh.shown import ShownByItself
from partwhole.mesh.topology import separate, trace_loops
from partwhole.store.arguments import check_instance

# a vertex of b lies on a only if it is at least as probable as this that it is on both
_POSSIBLY = 0.1
# cosine of the largest angle between normals of surfaces that are the same
_LEAST_COSINE = 0.3
# nearer to a vertex on the boundary of a than this, in mean edges there, a vertex of b is that vertex
_TOUCHING = 0.35
# the rim of what is added is drawn to the boundary of a from as far as this, in mean edges of both
_JOINED = 1.5
# an edge of the rim follows the boundary of a along so many of its edges, if the way is no more than so many times as long
_MOST_EDGES, _DETOUR = 12, 3.0
# gaps in the seam with so many vertices are closed
_GAP = 8

Faces = list[tuple[int, int, int]]


@dataclass(frozen=True, eq=False, repr=False)
class MergedParts(ShownByItself):
    """Two parts as one surface.

    Attributes
    ----------
    mesh : all of a, with its numbers and places, and then what only b has, laid onto a and bent to fit it
    from_b : True for the vertices that come from b
    vertex : the number of each vertex on the part that it comes from; a vertex of a comes twice where what was added touches
        it and nothing else
    moved : how far each vertex was bent away from where the rigid alignment laid it, in the units of the parts; 0 on a
    joined : how many vertices of b became vertices on the boundary of a
    notes : what was done
    warnings : what to check
    """

    mesh: Mesh
    from_b: Bool[np.ndarray, "n"]
    vertex: Int[np.ndarray, "n"]
    moved: Float[np.ndarray, "n"]
    joined: int
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"MergedParts({self.mesh!r}, {int(self.from_b.sum())} vertices from b)"


def merge(
    a: SurfaceLike, b: SurfaceLike, found: PartsMatch | None = None, *, options: FitOptions | None = None
) -> MergedParts:
    """One surface of two parts that overlap: a as it is, and what only b has, laid onto a and bent to fit where they overlap.

    b is moved rigidly by `found.alignment`, and bent onto what it shares with a, as in `fit`. Faces of b that lie on a are
    left out, and the rim of the others is joined to the boundary of a. Where the two can't be joined to a manifold they stay
    apart, and `warnings` says so.

    Parameters
    ----------
    a, b : as they were matched
    found : what `match_parts(a, b)` gave; None: they are matched first
    options : of the bending; see `FitOptions`

    Examples
    --------
    >>> from partwhole.datasets import cut_plane, make_body
    >>> from partwhole.matching import match_parts
    >>> hand = make_body("hand", n_vertices=500, seed=1).rest
    >>> middle = hand.vertices.mean(axis=0)
    >>> a, b = (cut_plane(hand, middle - 0.15 * s * np.eye(3)[1], s * np.eye(3)[1]).part for s in (1, -1))
    >>> merged = merge(a, b, match_parts(a, b, whole_area=hand.area))
    >>> bool((merged.mesh.vertices[: a.n_vertices] == a.vertices).all()), merged.mesh.n_vertices > a.n_vertices
    (True, True)
    """
    one, other = as_mesh(a, name="a"), as_mesh(b, name="b")
    if options is not None:
        check_instance("options", options, FitOptions, "use pw.FitOptions(...)")
    if found is None:
        from partwhole.matching.parts.match import match_parts

        found = match_parts(one, other)
        one, other = found.a, found.b
    check_instance("found", found, PartsMatch, "use pw.match_parts(a, b)")
    for given, matched, name in ((one, found.a, "a"), (other, found.b, "b")):
        if given.content_hash != matched.content_hash:
            raise ValueError(
                f"{name} is not the surface that was matched: it has {given.n_vertices} vertices, found.{name} has "
                f"{matched.n_vertices}; give found.a and found.b"
            )
    bent, moved, reach = _bent(found, options or FitOptions())
    seam = _Seam(one, bent, found.b_to_a.overlap, reach)
    faces, joined = seam.faces()
    used = np.unique(faces[faces >= one.n_vertices])
    numbers = np.concatenate([np.arange(one.n_vertices), used])
    places = np.concatenate([one.vertices, bent.vertices])
    triangles = np.concatenate([one.faces, np.searchsorted(numbers, faces)])
    if one.is_manifold:
        # where what was added touches a in a vertex only, there are two of it
        apart = separate(places[numbers], triangles)
        triangles, numbers = apart.faces, numbers[apart.copy_of]
    mesh = Mesh(places[numbers], triangles, name=f"{one.name} and {other.name}")
    from_b = numbers >= one.n_vertices
    vertex = np.where(from_b, numbers - one.n_vertices, numbers)
    return MergedParts(
        mesh,
        from_b,
        vertex,
        np.where(from_b, moved[np.where(from_b, vertex, 0)], 0.0),
        joined,
        tuple(_notes(found, mesh, len(faces), joined)),
        tuple(_warnings(found, mesh, len(faces), joined)),
    )


def _bent(found: PartsMatch, options: FitOptions) -> tuple[Mesh, Float[np.ndarray, "m"], float]:
    """b on a, how far each of its vertices was bent, and from how near two surfaces are the same."""
    a, b = found.a, found.b
    shared = found.a_to_b.shared & found.a_to_b.matched
    if not shared[a.faces].all(axis=1).any():
        raise ValueError(
            f"{a.name} and {b.name} share no triangle (probability that they share anything: {100 * found.belongs:.0f} %); "
            "only parts that overlap can be merged"
        )
    R, t = found.alignment[:3, :3], found.alignment[:3, 3]
    laid = (b.vertices - t) @ R
    # registration measures in √area of what it bends
    middle, scale = laid.mean(axis=0), b.area**-0.5
    template = Mesh((laid - middle) * scale, b.faces, name=b.name)
    whole, numbers = a.submesh(shared)
    scan = Mesh((whole.vertices - middle) * scale, whole.faces, name=a.name)
    guide = Guide.of(found.a_to_b.vertex_map[numbers], found.a_to_b.confidence[numbers])
    bent = register_in_levels(template, scan, guide, options=options)
    y = bent.vertices / scale + middle
    return Mesh(y, b.faces, name=b.name), np.linalg.norm(y - laid, axis=1), bent.reach / scale


class _Seam:
    """The faces of b that a does not have, joined to the boundary of a. Vertices of b are numbered after those of a.

    Parameters
    ----------
    a, b : where they belong
    overlap : how probable it is of each vertex of b that it is on both
    reach : from how near two surfaces are the same
    """

    def __init__(self, a: Mesh, b: Mesh, overlap: Float[np.ndarray, "m"], reach: float) -> None:
        self.a, self.b, self.possible, self.reach = a, b, overlap >= _POSSIBLY, reach
        self.boundary = a.boundary_vertices
        self._tree, self._on_boundary = SurfaceTree(a), is_on_boundary(a)

    def faces(self) -> tuple[Int[np.ndarray, "k 3"], int]:
        """Faces to add, in the orientation of b, and how many vertices of b became vertices of a."""
        a, b = self.a, self.b
        covered, joins, ends = self._covered()
        inside = covered | joins
        centres = b.vertices[b.faces].mean(axis=1)
        double = inside[b.faces].all(axis=1) & self._lies_on(centres, b.face_normals)
        kept = b.faces[~double]
        if len(kept) == 0:
            return np.empty((0, 3), np.int64), 0
        # what was seen twice all around, and is not joined anywhere, is noise
        rim = np.zeros(b.n_vertices, bool)
        rim[np.unique(kept)] = True
        rim &= inside
        number = np.where(rim & (ends >= 0), ends, a.n_vertices + np.arange(b.n_vertices))
        kept = self._without_islands(kept, inside, number)
        faces = [tuple(face) for face in number[kept].tolist() if len(set(face)) == 3]
        faces = self._along_the_boundary(faces)
        faces = self._manifold(faces)
        faces = self._manifold([*faces, *self._gaps(faces)])
        found = np.array(faces, np.int64).reshape(-1, 3)
        return found, int(rim[np.unique(kept)].sum() and (number[np.unique(kept)] < a.n_vertices).sum())

    def _lies_on(self, points: Float[np.ndarray, "k 3"], normals: Float[np.ndarray, "k 3"]) -> Bool[np.ndarray, "k"]:
        """Points near a, but not beyond its boundary."""
        near = self._tree.nearest(points, normals, least_cosine=_LEAST_COSINE)
        beyond = wholly(near, self.a.faces[near.faces], self._on_boundary)
        return near.found & (near.distances < self.reach) & ~beyond

    def _covered(self) -> tuple[Bool[np.ndarray, "m"], Bool[np.ndarray, "m"], Int[np.ndarray, "m"]]:
        """Vertices of b on a; those on its boundary; and the boundary vertex that each is near, -1 where it is near none."""
        from scipy.spatial import cKDTree

        a, b = self.a, self.b
        covered = self.possible & self._lies_on(b.vertices, b.vertex_normals)
        ends = np.full(b.n_vertices, -1)
        if len(self.boundary) == 0:
            return covered, np.zeros(b.n_vertices, bool), ends
        away, nearest = cKDTree(a.vertices[self.boundary]).query(b.vertices)
        nearest = self.boundary[nearest]
        alike = np.einsum("md,md->m", b.vertex_normals, a.vertex_normals[nearest]) > 0
        of_b, of_a = mean_edges(b), mean_edges(a)[nearest]
        near = self.possible & alike & (away < _JOINED * (of_a + of_b))
        ends[near] = nearest[near]
        return covered, near & (away < _TOUCHING * of_b), ends

    def _without_islands(
        self, kept: Int[np.ndarray, "k 3"], inside: Bool[np.ndarray, "m"], number: Int[np.ndarray, "m"]
    ) -> Int[np.ndarray, "k 3"]:
        """Without pieces that lie in the middle of a, surrounded by what both have: there the two are apart, no more."""
        labels = Mesh(self.b.vertices, kept).component_labels
        open_ends = is_on_boundary(self.b) & ~inside
        count = labels.max() + 1
        joined = np.bincount(labels, number < self.a.n_vertices, count) > 0
        ends = np.bincount(labels, open_ends, count) > 0
        free = np.bincount(labels, ~inside, count)
        of_all = np.bincount(labels, np.ones(len(labels)), count)
        island = ~joined & ~ends & (free < of_all)
        return kept[~island[labels[kept[:, 0]]]]

    def _along_the_boundary(self, faces: Faces) -> Faces:
        """Faces whose edge skips vertices on the boundary of a become fans that meet them all."""
        following: dict[int, int] = {}
        several: set[int] = set()
        for u, v in self.a.boundary_edges.tolist():
            if u in following:
                several.add(u)
            following[u] = v
        single = {edge for edge, count in Counter(frozenset(e) for f in faces for e in _edges(f)).items() if count == 1}
        found, left = [], list(faces)
        while left:
            face = left.pop()
            for k in range(3):
                p, q, u = face[k], face[(k + 1) % 3], face[(k + 2) % 3]
                if frozenset((p, q)) not in single or p not in following or q not in following:
                    continue
                way = self._way(q, p, following, several)
                if len(way) > 2 and u not in way:
                    left += [(after, before, u) for before, after in pairwise(way)]
                    break
            else:
                found.append(face)
        return found

    def _way(self, start: int, end: int, following: dict[int, int], several: set[int]) -> list[int]:
        """The vertices on the boundary of a from one to another, as its faces run; none if that is far."""
        x, way, length = self.a.vertices, [start], 0.0
        most = _DETOUR * float(np.linalg.norm(x[end] - x[start]))
        while way[-1] != end:
            here = way[-1]
            if here not in following or here in several or len(way) > _MOST_EDGES:
                return []
            way.append(following[here])
            length += float(np.linalg.norm(x[way[-1]] - x[here]))
            if length > most:
                return []
        return way

    def _manifold(self, faces: Faces) -> Faces:
        """Without faces at edges that would have more than two, or two that run the same way; and without repeated ones."""
        of_a = Counter(edge for face in self.a.faces.tolist() for edge in _edges(face))
        known = {frozenset(face) for face in self.a.faces.tolist()}
        left: dict[frozenset[int], tuple[int, int, int]] = {}
        for face in faces:
            if frozenset(face) not in known:
                left.setdefault(frozenset(face), face)
        kept = list(left.values())
        while True:
            ways = Counter(edge for face in kept for edge in _edges(face))
            good = [face for face in kept if all(ways[edge] + of_a[edge] == 1 for edge in _edges(face))]
            if len(good) == len(kept):
                return good
            # of several at one edge the first stays
            taken: Counter[tuple[int, int]] = Counter(of_a)
            again = []
            for face in kept:
                if not any(taken[edge] for edge in _edges(face)):
                    taken.update(_edges(face))
                    again.append(face)
            kept = again

    def _gaps(self, faces: Faces) -> Faces:
        """Fans that close short loops between a and what was added."""
        of_a = {edge for face in self.a.faces.tolist() for edge in _edges(face)}
        of_b = {edge for face in faces for edge in _edges(face)}
        every = of_a | of_b
        open_edges = sorted(edge for edge in every if edge[::-1] not in every)
        shift = self.a.n_vertices
        old = {(u + shift, v + shift) for u, v in self.b.boundary_edges.tolist()}
        found = []
        for chain in trace_loops(np.array(open_edges, np.int64).reshape(-1, 2)):
            loop = chain.tolist()
            new = any(edge in of_b and edge not in old for edge in zip(loop, loop[1:] + loop[:1], strict=True))
            if not new or not 3 <= len(loop) <= _GAP or len(set(loop)) < len(loop):
                continue
            fans = ([*loop[k:], *loop[:k]] for k in range(len(loop)))
            # from a corner that is not joined to the others yet
            free = (fan for fan in fans if not any({(fan[0], v), (v, fan[0])} & every for v in fan[2:-1]))
            if (fan := next(free, None)) is not None:
                found += [(fan[0], v, u) for u, v in pairwise(fan[1:])]
        return found


def _edges(face: tuple[int, int, int] | list[int]) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    a, b, c = face
    return (a, b), (b, c), (c, a)


def _notes(found: PartsMatch, mesh: Mesh, added: int, joined: int) -> list[str]:
    area = float(mesh.face_areas[found.a.n_faces :].sum())
    return [
        f"{counted(added, 'face')} were added to {found.a.name}, {percent(area / mesh.area)} of the area of both",
        f"{counted(joined, 'vertex', 'vertices')} of {found.b.name} became vertices on the boundary of {found.a.name}",
    ]


def _warnings(found: PartsMatch, mesh: Mesh, added: int, joined: int) -> list[str]:
    said = []
    if found.belongs < SHARED:
        said.append(
            f"the parts probably share nothing (probability that they do: {100 * found.belongs:.0f} %), so they may not "
            "belong together like this"
        )
    if added == 0:
        said.append(f"{found.b.name} has nothing that {found.a.name} lacks")
    elif joined == 0:
        said.append("the parts lie side by side and are not joined: no boundary of one is near the other")
    return said
