"""Evener triangles on a surface: edge flips and tangential smoothing. A boundary keeps its vertices and edges."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.mesh.topology import corner_angles, unique_edges

Points = Float[np.ndarray, "n 3"]
Faces = Int[np.ndarray, "m 3"]


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
