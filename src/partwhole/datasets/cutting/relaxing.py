"""Evener triangles on a surface that may have a boundary, which keeps its vertices and edges.

On closed surfaces this does what `flip_edges` and `relax_step` of the bodies do.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.mesh.topology import corner_angles, unique_edges

Points = Float[np.ndarray, "n 3"]
Faces = Int[np.ndarray, "m 3"]


def relax_inside(vertices: Points, faces: Faces) -> tuple[Points, Faces]:
    """Flip inner edges, then move inner vertices half a step to the mean of the faces around, in the tangent plane."""
    faces = flip_inner_edges(vertices, faces)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    cross = np.cross(b - a, c - a)
    area = np.linalg.norm(cross, axis=1, keepdims=True)
    corner = faces.reshape(-1)
    weight = _sums(area, corner, len(vertices))
    centre = _sums(area * (a + b + c) / 3, corner, len(vertices)) / np.maximum(weight, 1e-300)
    normal = _sums(cross, corner, len(vertices))
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    step = centre - vertices
    step -= np.einsum("ni,ni->n", step, normal)[:, None] * normal
    edges, _, count = unique_edges(faces)
    step[edges[count == 1]] = 0
    return vertices + 0.5 * step, faces


def flip_inner_edges(vertices: Points, faces: Faces, *, rounds: int = 8) -> Faces:
    """Flip edges with two faces whose opposite angles sum to more than π, where that doesn't bend the surface.

    Flips of one round touch different vertices, so that they can be made at once.

    Examples
    --------
    >>> kite = np.array([[0.0, 0, 0], [1, 0.2, 0], [2, 0, 0], [1, -0.2, 0]])
    >>> flip_inner_edges(kite, np.array([[0, 3, 2], [0, 2, 1]])).tolist()
    [[3, 2, 1], [1, 0, 3]]
    """
    faces = faces.copy()
    for _ in range(rounds):
        edges, opposite, count = unique_edges(faces)
        edge = opposite.reshape(-1)
        corner = np.argsort(edge, kind="stable")
        corner = corner[count[edge[corner]] == 2].reshape(-1, 2)
        gain = corner_angles(vertices, faces).reshape(-1)[corner].sum(axis=1) - np.pi
        corner, gain = corner[gain > 1e-3], gain[gain > 1e-3]
        face, place = corner // 3, corner % 3
        a, b = faces[face, place].T
        u, v = faces[face[:, 0], (place[:, 0] + 1) % 3], faces[face[:, 0], (place[:, 0] + 2) % 3]
        possible = _can_flip(vertices, edges, u, v, a, b)
        quads = np.stack([u, v, a, b], axis=1)[possible]
        chosen = np.flatnonzero(possible)[_apart(gain[possible], quads, len(vertices))]
        if len(chosen) == 0:
            break
        faces[face[chosen, 0]] = np.stack([a, u, b], axis=1)[chosen]
        faces[face[chosen, 1]] = np.stack([b, v, a], axis=1)[chosen]
    return faces


def _can_flip(
    vertices: Points,
    edges: Int[np.ndarray, "e 2"],
    u: Int[np.ndarray, "k"],
    v: Int[np.ndarray, "k"],
    a: Int[np.ndarray, "k"],
    b: Int[np.ndarray, "k"],
) -> Bool[np.ndarray, "k"]:
    """True where a and b have no edge yet, and the normals of the triangles before and after agree."""
    keys, new = edges[:, 0] * len(vertices) + edges[:, 1], np.minimum(a, b) * len(vertices) + np.maximum(a, b)
    normals = []
    for i, j, k in ((a, u, v), (b, v, u), (a, u, b), (b, v, a)):
        cross = np.cross(vertices[j] - vertices[i], vertices[k] - vertices[i])
        normals.append(cross / np.maximum(np.linalg.norm(cross, axis=1, keepdims=True), 1e-300))
    allowed = ~np.isin(new, keys)
    for one, other in ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3)):
        allowed &= np.einsum("ki,ki->k", normals[one], normals[other]) > 0.5
    return allowed


def _apart(gain: Float[np.ndarray, "k"], quads: Int[np.ndarray, "k 4"], n: int) -> Bool[np.ndarray, "k"]:
    """True for those that gain most at each of their vertices."""
    rank = np.empty(len(gain), np.int64)
    rank[np.argsort(-gain, kind="stable")] = np.arange(len(gain))
    first = np.full(n, len(gain))
    np.minimum.at(first, quads.reshape(-1), np.repeat(rank, 4))
    return (first[quads] == rank[:, None]).all(axis=1)


def _sums(values: Float[np.ndarray, "m d"], corner: Int[np.ndarray, "c"], n: int) -> Float[np.ndarray, "n d"]:
    """For each vertex the sum over its faces."""
    spread = np.repeat(values, 3, axis=0)
    return np.stack([np.bincount(corner, weights=column, minlength=n) for column in spread.T], axis=1)
