"""Better triangles on the same surface: edge flips and tangential smoothing of a closed manifold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from partwhole.mesh.topology import corner_angles, unique_edges

Points = Float[np.ndarray, "n 3"]


def relax(
    vertices: Points,
    faces: Int[np.ndarray, "m 3"],
    project: Callable[[Points], Points],
    *,
    rounds: int,
) -> tuple[Points, Int[np.ndarray, "m 3"]]:
    """Flip edges and move vertices towards the mean of their neighbours, in turn; `project` brings them back."""
    for _ in range(rounds):
        faces = flip_edges(vertices, faces)
        vertices = project(_smoothed(vertices, faces))
    return vertices, flip_edges(vertices, faces)


def flip_edges(vertices: Points, faces: Int[np.ndarray, "m 3"], *, rounds: int = 8) -> Int[np.ndarray, "m 3"]:
    """Flip edges whose opposite angles sum to more than π, where that doesn't bend the surface.

    Flips of one round touch different vertices, so that they can be made at once.
    """
    faces = faces.copy()
    for _ in range(rounds):
        edges, opposite, _ = unique_edges(faces)
        corner = np.argsort(opposite.reshape(-1), kind="stable").reshape(-1, 2)
        face, place = corner // 3, corner % 3
        apex = faces[face, place]
        u, v = faces[face[:, 0], (place[:, 0] + 1) % 3], faces[face[:, 0], (place[:, 0] + 2) % 3]
        gain = corner_angles(vertices, faces).reshape(-1)[corner].sum(axis=1) - np.pi
        wanted = np.flatnonzero(gain > 1e-3)
        wanted = wanted[_allowed(vertices, edges, u[wanted], v[wanted], apex[wanted])]
        if len(wanted) == 0:
            break
        chosen = wanted[_independent(gain[wanted], np.stack([u, v, *apex.T], axis=1)[wanted], len(vertices))]
        a, b = apex[chosen].T
        faces[face[chosen, 0]] = np.stack([a, u[chosen], b], axis=1)
        faces[face[chosen, 1]] = np.stack([b, v[chosen], a], axis=1)
    return faces


def _allowed(
    vertices: Points,
    edges: Int[np.ndarray, "e 2"],
    u: Int[np.ndarray, "k"],
    v: Int[np.ndarray, "k"],
    apex: Int[np.ndarray, "k 2"],
) -> np.ndarray:
    """True where the new edge is not there yet, and the two old and the two new triangles look the same way."""
    n = len(vertices)
    keys = edges[:, 0] * n + edges[:, 1]
    new = apex.min(axis=1) * n + apex.max(axis=1)
    is_new = keys[np.minimum(np.searchsorted(keys, new), len(keys) - 1)] != new
    a, b = apex.T
    old = [_normal(vertices, a, u, v), _normal(vertices, b, v, u)]
    turned = [_normal(vertices, a, u, b), _normal(vertices, b, v, a)]
    agree = np.einsum("ki,ki->k", *old) > 0.5
    for normal in turned:
        agree &= np.einsum("ki,ki->k", normal, old[0]) > 0.5
        agree &= np.einsum("ki,ki->k", normal, old[1]) > 0.5
    return is_new & agree


def _independent(gain: Float[np.ndarray, "k"], touched: Int[np.ndarray, "k 4"], n: int) -> np.ndarray:
    """True for those that have the largest gain at every vertex they touch."""
    rank = np.empty(len(gain), np.int64)
    rank[np.argsort(-gain, kind="stable")] = np.arange(len(gain))
    first = np.full(n, len(gain))
    np.minimum.at(first, touched.reshape(-1), np.repeat(rank, 4))
    return (first[touched] == rank[:, None]).all(axis=1)


def _smoothed(vertices: Points, faces: Int[np.ndarray, "m 3"]) -> Points:
    """Half a step towards the area-weighted mean of the centres of the faces around, within the tangent plane."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    cross = np.cross(b - a, c - a)
    area = np.linalg.norm(cross, axis=1)
    corner = faces.reshape(-1)
    n = len(vertices)
    weight = np.bincount(corner, weights=np.repeat(area, 3), minlength=n)
    centre, normal = np.empty_like(vertices), np.empty_like(vertices)
    for k in range(3):
        centre[:, k] = np.bincount(corner, weights=np.repeat(area * (a + b + c)[:, k] / 3, 3), minlength=n) / weight
        normal[:, k] = np.bincount(corner, weights=np.repeat(cross[:, k], 3), minlength=n)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    step = centre - vertices
    step -= np.einsum("ni,ni->n", step, normal)[:, None] * normal
    return vertices + 0.5 * step


def _normal(
    vertices: Points, i: Int[np.ndarray, "k"], j: Int[np.ndarray, "k"], k: Int[np.ndarray, "k"]
) -> Float[np.ndarray, "k 3"]:
    cross = np.cross(vertices[j] - vertices[i], vertices[k] - vertices[i])
    return cross / np.maximum(np.linalg.norm(cross, axis=1, keepdims=True), 1e-300)
