"""The skin of a body as a triangle mesh: an implicit surface, marching tetrahedra, decimation and relaxation.

The skin is the zero set of a function, the smooth union of the pieces of flesh. Marching tetrahedra turn its values on a grid
into a closed, manifold mesh. Edge flips and tangential smoothing then make the triangles nearly equilateral.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.datasets.shapes.bodies.rig import Flesh, distance_to
from partwhole.mesh import Mesh
from partwhole.mesh.decimation import decimate
from partwhole.mesh.topology import corner_angles, unique_edges

Points = Float[np.ndarray, "n 3"]
Faces = Int[np.ndarray, "m 3"]

_REFINEMENTS = 8
_RELAXATIONS = 8
_FAR = 1e3
# The six tetrahedra of a cube, each a path from corner 000 to corner 111 along the three axes in some order. A corner is
# a number of three bits, x + 2 y + 4 z; neighbouring cubes agree on the diagonals of their common face.
_TETRAHEDRA = np.array([np.cumsum([0, *(1 << axis for axis in order)]) for order in permutations(range(3))])
_CORNERS = np.array([[corner >> axis & 1 for axis in range(3)] for corner in range(8)])


def mesh_flesh(flesh: Sequence[Flesh], n_vertices: int, *, refinements: int = _REFINEMENTS, name: str = "mesh") -> Mesh:
    """The surface of the smooth union of the flesh, with exactly `n_vertices` vertices and nearly equilateral triangles.

    The grid is refined until the surface has genus 0. If it still has handles after so many `refinements`, it is returned
    as it came from the grid, with more vertices.
    """
    radii = np.array([min(piece.radius_start, piece.radius_end) * piece.flat for piece in flesh])
    lengths = np.array([np.linalg.norm(np.subtract(piece.end, piece.start)) for piece in flesh])
    area = float((2 * np.pi * radii * (lengths + radii)).sum())
    spacing = min(1.5 * float(radii.min()), (area / n_vertices) ** 0.5)
    for _ in range(refinements):
        surface, _ = Mesh(*march(field_on_grid(flesh, spacing)), name=name).largest_component()
        # a grid that is too coarse tears thin places off or joins close ones
        if surface.n_vertices >= 3 * n_vertices and surface.euler_characteristic == 2:
            break
        spacing *= 0.8
    if surface.euler_characteristic != 2:
        return surface
    coarse = decimate(surface, n_vertices).mesh
    vertices, faces = coarse.vertices, coarse.faces
    for _ in range(_RELAXATIONS):
        vertices, faces = relax_step(vertices, faces)
        vertices = _projected(vertices, flesh, spacing)
    return Mesh(vertices, flip_edges(vertices, faces), name=name)


def _projected(points: Points, flesh: Sequence[Flesh], spacing: float) -> Points:
    """One Newton step to the zero set, no longer than a grid cell."""
    value = field(flesh, points)[:, None]
    slope = gradient(flesh, points, spacing / 10)
    move = value * slope / np.maximum(np.einsum("ni,ni->n", slope, slope)[:, None], 0.1)
    return points - move * np.minimum(1, spacing / np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-300))


@dataclass(frozen=True)
class Grid:
    """Values of a function at the nodes origin + spacing · (i, j, k)."""

    values: Float[np.ndarray, "a b c"]
    origin: Float[np.ndarray, "3"]
    spacing: float


def smooth_minimum(a: Float[np.ndarray, "*n"], b: Float[np.ndarray, "*n"], width: float) -> Float[np.ndarray, "*n"]:
    """min(a, b) − width/6 · max(1 − |a − b| / width, 0)³: a minimum without a crease.

    >>> smooth_minimum(np.array([1.0, 0.0]), np.array([3.0, 0.0]), 0.6).round(6).tolist()
    [1.0, -0.1]
    """
    smooth, apart = np.minimum(a, b), np.abs(a - b)
    near = apart < width  # most are not, and cubes take long
    smooth[near] -= width / 6 * (1 - apart[near] / width) ** 3
    return smooth


def field(flesh: Sequence[Flesh], points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n"]:
    """Negative inside the body, zero on its skin."""
    total = np.full(len(points), _FAR)
    for piece in flesh:
        total = smooth_minimum(total, distance_to(piece, points), piece.blend)
    return total


def gradient(flesh: Sequence[Flesh], points: Float[np.ndarray, "n 3"], step: float) -> Float[np.ndarray, "n 3"]:
    """By differences along the four directions to the corners of a regular tetrahedron."""
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / 3**0.5
    values = field(flesh, (points + step * corners[:, None]).reshape(-1, 3)).reshape(4, -1)
    return 0.75 / step * values.T @ corners


def field_on_grid(flesh: Sequence[Flesh], spacing: float) -> Grid:
    """The field at the nodes of a grid around the body; far from the body just a large number."""
    reach = [max(piece.radius_start, piece.radius_end) + piece.blend + 3 * spacing for piece in flesh]
    ends = np.array([[piece.start, piece.end] for piece in flesh])
    lows = ends.min(axis=1) - np.array(reach)[:, None]
    highs = ends.max(axis=1) + np.array(reach)[:, None]
    origin = lows.min(axis=0)
    shape = np.ceil((highs.max(axis=0) - origin) / spacing).astype(int) + 1
    values = np.full(shape, _FAR)
    for piece, low, high in zip(flesh, lows, highs, strict=True):
        first = np.floor((low - origin) / spacing).astype(int)
        last = np.minimum(np.ceil((high - origin) / spacing).astype(int) + 1, shape)
        box = tuple(slice(a, b) for a, b in zip(first, last, strict=True))
        axes = [origin[k] + spacing * np.arange(first[k], last[k]) for k in range(3)]
        nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        local = distance_to(piece, nodes).reshape(values[box].shape)
        values[box] = smooth_minimum(values[box], local, piece.blend)
    return Grid(values, origin, spacing)


def march(grid: Grid) -> tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "m 3"]]:
    """Vertices and faces of {f = 0}, seen from f > 0 counter-clockwise. f > 0 is asked for on the grid's outside.

    A vertex lies on an edge of a tetrahedron where f changes sign, and is known by the edge's lower grid node and its
    direction, so that faces of neighbouring tetrahedra share it.
    """
    shape = np.array(grid.values.shape)
    strides = np.array([shape[1] * shape[2], shape[2], 1])
    inside = grid.values < 0
    cells = _mixed_cells(inside)
    nodes = cells[:, None] + _CORNERS @ strides
    values = grid.values.reshape(-1)[nodes]
    triangles = []
    for corners in _TETRAHEDRA:
        triangles += _cut(nodes[:, corners], values[:, corners] < 0)
    ends = np.concatenate(triangles)
    low, high = ends.min(axis=2), ends.max(axis=2)
    keys, faces = np.unique(low * grid.values.size + high, return_inverse=True)
    low, high = keys // grid.values.size, keys % grid.values.size
    f_low, f_high = grid.values.reshape(-1)[low], grid.values.reshape(-1)[high]
    # kept off the ends, so that no triangle is without area
    share = np.clip(f_low / (f_low - f_high), 0.05, 0.95)[:, None]
    steps = (1 - share) * np.stack(np.unravel_index(low, shape), 1) + share * np.stack(np.unravel_index(high, shape), 1)
    return grid.origin + grid.spacing * steps, _oriented(steps, faces.reshape(-1, 3), ends, inside, shape)


def _mixed_cells(inside: np.ndarray) -> Int[np.ndarray, "c"]:
    """Lowest node of every cell that has nodes on both sides."""
    a, b, c = (n - 1 for n in inside.shape)
    count = np.zeros((a, b, c), np.int8)
    for x, y, z in _CORNERS:
        count += inside[x : x + a, y : y + b, z : z + c]
    cells = np.nonzero((count > 0) & (count < 8))
    return np.ravel_multi_index(cells, inside.shape)


def _cut(nodes: Int[np.ndarray, "c 4"], inside: np.ndarray) -> list[Int[np.ndarray, "_ 3 2"]]:
    """The triangles in which the zero set cuts each tetrahedron; each corner of one as the edge (inside, outside)."""
    triangles = []
    count = inside.sum(axis=1)
    # inside nodes first
    order = np.argsort(~inside, axis=1, kind="stable")
    nodes = np.take_along_axis(nodes, order, axis=1)
    for number, corners in (
        (1, [[(0, 1), (0, 2), (0, 3)]]),
        (3, [[(0, 3), (1, 3), (2, 3)]]),
        (2, [[(0, 2), (0, 3), (1, 3)], [(0, 2), (1, 3), (1, 2)]]),
    ):
        chosen = nodes[count == number]
        triangles += [chosen[:, np.array(triangle)] for triangle in corners]
    return triangles


def _oriented(
    steps: Float[np.ndarray, "n 3"],
    faces: Int[np.ndarray, "m 3"],
    ends: Int[np.ndarray, "m 3 2"],
    inside: np.ndarray,
    shape: Int[np.ndarray, "3"],
) -> Int[np.ndarray, "m 3"]:
    """Turn the faces whose normal points from outside to inside."""
    outwards = sum(
        np.stack(np.unravel_index(ends[:, k, 1], shape), 1) - np.stack(np.unravel_index(ends[:, k, 0], shape), 1)
        for k in range(3)
    )
    a, b, c = (steps[faces[:, k]] for k in range(3))
    inward = np.einsum("mi,mi->m", np.cross(b - a, c - a), outwards) < 0
    return np.where(inward[:, None], faces[:, ::-1], faces)


# --- evener triangles on a surface; a boundary keeps its vertices and edges


def relax_step(vertices: Points, faces: Faces) -> tuple[Points, Faces]:
    """Flip edges, then move vertices half a step towards the mean of the faces around, within the tangent plane.

    Vertices leave a curved surface a little; project them back onto it before the next step. Those on the boundary stay.
    """
    faces = flip_edges(vertices, faces)
    step = 0.5 * _towards_mean(vertices, faces)
    step[_boundary_vertices(faces)] = 0
    return vertices + step, faces


def flip_edges(vertices: Points, faces: Faces, *, rounds: int = 8) -> Faces:
    """Flip edges with two faces whose opposite angles sum to more than π, where that doesn't bend the surface.

    Flips of one round touch different vertices, so that they can be made at once.

    Examples
    --------
    >>> kite = np.array([[0.0, 0, 0], [1, 0.2, 0], [2, 0, 0], [1, -0.2, 0]])
    >>> flip_edges(kite, np.array([[0, 3, 2], [0, 2, 1]])).tolist()
    [[3, 2, 1], [1, 0, 3]]
    """
    faces = faces.copy()
    for _ in range(rounds):
        edges, opposite, count = unique_edges(faces)
        corner = _opposite_corners(opposite.reshape(-1), count)
        gain = corner_angles(vertices, faces).reshape(-1)[corner].sum(axis=1) - np.pi
        corner, gain = corner[gain > 1e-3], gain[gain > 1e-3]
        face, place = corner // 3, corner % 3
        a, b = faces[face, place].T
        u, v = faces[face[:, 0], (place[:, 0] + 1) % 3], faces[face[:, 0], (place[:, 0] + 2) % 3]
        possible = np.flatnonzero(_can_flip(vertices, edges, u, v, a, b))
        if len(possible) == 0:
            break
        quads = np.stack([u, v, a, b], axis=1)[possible]
        chosen = possible[_independent(gain[possible], quads, len(vertices))]
        faces[face[chosen, 0]] = np.stack([a, u, b], axis=1)[chosen]
        faces[face[chosen, 1]] = np.stack([b, v, a], axis=1)[chosen]
    return faces


def _opposite_corners(edge: Int[np.ndarray, "c"], count: Int[np.ndarray, "e"]) -> Int[np.ndarray, "k 2"]:
    """For each edge with two faces the two corners opposite to it, given the edge opposite to each corner."""
    # by edge, then by corner: faster than a stable argsort
    corner = np.sort(edge * len(edge) + np.arange(len(edge))) % max(len(edge), 1)
    return corner[count[edge[corner]] == 2].reshape(-1, 2)


def _can_flip(
    vertices: Points,
    edges: Int[np.ndarray, "e 2"],
    u: Int[np.ndarray, "k"],
    v: Int[np.ndarray, "k"],
    a: Int[np.ndarray, "k"],
    b: Int[np.ndarray, "k"],
) -> Bool[np.ndarray, "k"]:
    """True where a and b have no edge yet, and the normals of the two triangles before and the two after agree."""
    n = len(vertices)
    keys, new = edges[:, 0] * n + edges[:, 1], np.minimum(a, b) * n + np.maximum(a, b)
    allowed = keys[np.minimum(np.searchsorted(keys, new), len(keys) - 1)] != new
    normals = []
    for i, j, k in ((a, u, v), (b, v, u), (a, u, b), (b, v, a)):
        cross = np.cross(vertices[j] - vertices[i], vertices[k] - vertices[i])
        normals.append(cross / np.maximum(np.linalg.norm(cross, axis=1, keepdims=True), 1e-300))
    for one, other in ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3)):
        allowed &= np.einsum("ki,ki->k", normals[one], normals[other]) > 0.5
    return allowed


def _independent(gain: Float[np.ndarray, "k"], quads: Int[np.ndarray, "k 4"], n: int) -> Bool[np.ndarray, "k"]:
    """True for those that gain most at each of their vertices."""
    rank = np.empty(len(gain), np.int64)
    rank[np.argsort(-gain, kind="stable")] = np.arange(len(gain))
    first = np.full(n, len(gain))
    np.minimum.at(first, quads.reshape(-1), np.repeat(rank, 4))
    return (first[quads] == rank[:, None]).all(axis=1)


def _towards_mean(vertices: Points, faces: Faces) -> Points:
    """From each vertex to the area-weighted mean of the centres of the faces around, within the tangent plane."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    cross = np.cross(b - a, c - a)
    area = np.linalg.norm(cross, axis=1, keepdims=True)
    corner, n = faces.reshape(-1), len(vertices)
    weight = _sums(area, corner, n)
    centre = _sums(area * (a + b + c) / 3, corner, n) / np.maximum(weight, 1e-300)
    normal = _sums(cross, corner, n)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    step = centre - vertices
    return step - np.einsum("ni,ni->n", step, normal)[:, None] * normal


def _sums(values: Float[np.ndarray, "m d"], corner: Int[np.ndarray, "c"], n: int) -> Float[np.ndarray, "n d"]:
    """For each vertex the sum over its faces."""
    spread = np.repeat(values, 3, axis=0)
    return np.stack([np.bincount(corner, weights=column, minlength=n) for column in spread.T], axis=1)


def _boundary_vertices(faces: Faces) -> Int[np.ndarray, "b"]:
    """Both ends of the edges with one face."""
    edges, _, count = unique_edges(faces)
    return edges[count == 1].reshape(-1)
