"""The update stencil of each vertex: neighbours along straight segments, and triangles that a front crosses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from partwhole.mesh import Mesh

UNFOLD_DEPTH = 8


@dataclass(frozen=True)
class Stencil:
    """The steps into each vertex v, as two lists grouped by v (rows start[v] to start[v + 1]).

    A segment (u, w): d(v) ≤ d(u) + w. A triangle (a, b) with v = (x, y) when a = (0, 0) and b = (base, 0): a front that
    passed a and b, as if from a point source in the plane of the triangle, arrives at v (see
    `geodesics/cpu/fast_marching.py`).
    """

    segment_start: Int[np.ndarray, "n_plus_1"]
    segment_from: Int[np.ndarray, "s"]
    segment_length: Float[np.ndarray, "s"]
    triangle_start: Int[np.ndarray, "n_plus_1"]
    triangle_from: Int[np.ndarray, "t 2"]
    triangle_shape: Float[np.ndarray, "t 3"]  # x, y, base

    @property
    def n_vertices(self) -> int:
        return len(self.segment_start) - 1

    @property
    def front_numbers(self) -> Float[np.ndarray, "t 5"]:
        """What the kernels need of each triangle: x, y, base, base/2, 1/(2 base)."""
        x, y, base = self.triangle_shape.T
        return np.stack([x, y, base, base / 2, 0.5 / base], axis=1)


def graph_stencil(mesh: Mesh, lengths: Float[np.ndarray, "e"]) -> Stencil:
    """Steps along the edges only: the distances are those of the edge graph."""
    none = np.empty((0, 3), np.int64), np.empty((0, 3))
    return _grouped(mesh.n_vertices, mesh.edges, lengths, *none)


def front_stencil(mesh: Mesh, lengths: Float[np.ndarray, "e"]) -> Stencil:
    """Steps for fast marching: edges, straight diagonals across two triangles, and triangles without obtuse corners.

    The triangles are those of the intrinsic Delaunay triangulation, the same surface with better shaped triangles; what
    is still obtuse there is split by unfolding. The mesh's own edges stay, so that no distance exceeds the graph's.
    """
    from partwhole.geodesics.cpu.fast_marching import delaunay_flips, diagonals, update_triangles

    faces, sides = mesh.faces.copy(), lengths[mesh.opposite_edges]
    across_face, across_corner = face_neighbours(mesh)
    delaunay_flips(faces, sides, across_face, across_corner)
    pairs, straight = diagonals(faces, sides, across_face, across_corner)
    flipped = faces[:, [[1, 2], [2, 0], [0, 1]]].reshape(-1, 2)
    segments = np.concatenate([mesh.edges, flipped, pairs])
    segment_lengths = np.concatenate([lengths, sides.reshape(-1), straight])
    triples, triple_sides = update_triangles(faces, sides, across_face, across_corner, UNFOLD_DEPTH)
    return _grouped(mesh.n_vertices, segments, segment_lengths, triples, triple_sides)


def face_neighbours(mesh: Mesh) -> tuple[Int[np.ndarray, "m 3"], Int[np.ndarray, "m 3"]]:
    """For side i of face f, the face and the corner that see it from the other side; -1 unless there is exactly one."""
    sides = mesh.opposite_edges.reshape(-1)
    order = np.argsort(sides, kind="stable")
    first = np.flatnonzero(sides[order][1:] == sides[order][:-1])
    first = first[mesh.faces_per_edge[sides[order][first]] == 2]
    one, other = order[first], order[first + 1]
    flat = np.full(len(sides), -1)
    flat[one], flat[other] = other, one
    across = flat.reshape(-1, 3)
    return np.where(across >= 0, across // 3, -1), np.where(across >= 0, across % 3, -1)


def _grouped(
    n: int,
    segments: Int[np.ndarray, "s 2"],
    lengths: Float[np.ndarray, "s"],
    triples: Int[np.ndarray, "t 3"],
    sides: Float[np.ndarray, "t 3"],
) -> Stencil:
    target, origin, length = _shortest_segments(n, segments, lengths)
    base, right, left = sides.T
    x = (left**2 - right**2 + base**2) / (2 * base)
    squared_height = left**2 - x**2
    # flat triangles add nothing to their sides, and in single precision their unfolding is noise; nor do those with
    # a side so short (lengths have mean 1) that single precision can't divide by it
    proper = (squared_height > 1e-12 * base**2) & (base > 1e-30)
    order = np.flatnonzero(proper)[np.argsort(triples[proper, 0], kind="stable")]
    rows = np.arange(n + 1)
    return Stencil(
        segment_start=np.searchsorted(target, rows).astype(np.int32),
        segment_from=origin.astype(np.int32),
        segment_length=length,
        triangle_start=np.searchsorted(triples[order, 0], rows).astype(np.int32),
        triangle_from=np.ascontiguousarray(triples[order, 1:], dtype=np.int32),
        triangle_shape=np.stack([x[order], np.sqrt(squared_height[order]), base[order]], axis=1),
    )


def _shortest_segments(
    n: int, pairs: Int[np.ndarray, "s 2"], lengths: Float[np.ndarray, "s"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every segment in both directions, sorted by target; of several between two vertices the shortest."""
    target = np.concatenate([pairs[:, 0], pairs[:, 1]])
    origin = np.concatenate([pairs[:, 1], pairs[:, 0]])
    length = np.concatenate([lengths, lengths])
    order = np.lexsort((length, origin, target))
    target, origin, length = target[order], origin[order], length[order]
    first = np.ones(len(target), bool)
    first[1:] = (target[1:] != target[:-1]) | (origin[1:] != origin[:-1])
    return target[first], origin[first], length[first]
