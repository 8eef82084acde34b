"""Closest points of triangles: a tree of boxes over the faces, searched from its root. Imported at the point of use."""

from __future__ import annotations

import numpy as np

from partwhole.store.compute import njit

_DEEPEST = 64


@njit(cache=True, nogil=True)
def closest_faces(
    points: np.ndarray,
    directions: np.ndarray,
    corners: np.ndarray,
    normals: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    leaf_size: int,
    reach: float,
    face_at: np.ndarray,
    weights_at: np.ndarray,
    squared_at: np.ndarray,
) -> None:
    """For each point the closest triangle within reach: its row in corners (m, 3, 3), weights, squared distance.

    low, high (2 leaves, 3) are the boxes of a complete binary tree: node i has the children 2 i and 2 i + 1, 1 is the root,
    and leaf l, the node leaves + l, holds the triangles from l · leaf_size on. Where directions (n, 3) is not empty, a
    triangle whose normal points against the direction does not count. face_at must be −1 before.
    """
    n_leaves = low.shape[0] // 2
    n_faces = corners.shape[0]
    stack = np.empty(_DEEPEST, np.int64)
    found = np.empty(3)
    for i in range(points.shape[0]):
        p = points[i]
        best = reach * reach
        stack[0] = 1
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if _squared_to_box(p, low[node], high[node]) > best:
                continue
            if node < n_leaves:
                near, far = 2 * node, 2 * node + 1
                if _squared_to_box(p, low[far], high[far]) < _squared_to_box(p, low[near], high[near]):
                    near, far = far, near
                stack[depth] = far
                stack[depth + 1] = near
                depth += 2
                continue
            first = (node - n_leaves) * leaf_size
            for f in range(first, min(first + leaf_size, n_faces)):
                if directions.shape[0] > 0:
                    n = normals[f]
                    d = directions[i]
                    if n[0] * d[0] + n[1] * d[1] + n[2] * d[2] < 0.0:
                        continue
                squared = _closest_in_triangle(p, corners[f, 0], corners[f, 1], corners[f, 2], found)
                if squared < best or (squared <= best and face_at[i] < 0):
                    best = squared
                    face_at[i] = f
                    squared_at[i] = squared
                    for c in range(3):
                        weights_at[i, c] = found[c]


@njit(cache=True, nogil=True)
def _squared_to_box(p: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    total = 0.0
    for k in range(3):
        off = max(low[k] - p[k], p[k] - high[k], 0.0)
        total += off * off
    return total


@njit(cache=True, nogil=True)
def _closest_in_triangle(p: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, out: np.ndarray) -> float:
    """Barycentric weights of the point of the triangle closest to p, into out; returns the squared distance to it."""
    uu = uv = vv = wu = wv = 0.0
    for k in range(3):
        u, v, w = b[k] - a[k], c[k] - a[k], p[k] - a[k]
        uu += u * u
        uv += u * v
        vv += v * v
        wu += w * u
        wv += w * v
    size = uu * vv - uv * uv
    if size > 1e-14 * uu * vv:
        second, third = (vv * wu - uv * wv) / size, (uu * wv - uv * wu) / size
        if second >= 0.0 and third >= 0.0 and second + third <= 1.0:
            out[0], out[1], out[2] = 1.0 - second - third, second, third
            return _squared_from(p, a, b, c, out)
    best = np.inf
    best_side, best_along = 0, 0.0
    for side in range(3):
        start, end = (a, b) if side == 0 else (b, c) if side == 1 else (c, a)
        dot = length = 0.0
        for k in range(3):
            dot += (p[k] - start[k]) * (end[k] - start[k])
            length += (end[k] - start[k]) ** 2
        along = min(max(dot / length, 0.0), 1.0) if length > 0.0 else 0.0
        squared = 0.0
        for k in range(3):
            squared += (p[k] - start[k] - along * (end[k] - start[k])) ** 2
        if squared < best:
            best, best_side, best_along = squared, side, along
    out[0] = out[1] = out[2] = 0.0
    out[best_side] = 1.0 - best_along
    out[(best_side + 1) % 3] = best_along
    return best


@njit(cache=True, nogil=True)
def _squared_from(p: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, weights: np.ndarray) -> float:
    total = 0.0
    for k in range(3):
        total += (p[k] - weights[0] * a[k] - weights[1] * b[k] - weights[2] * c[k]) ** 2
    return total
