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
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        best = reach * reach
        stack[0] = 1
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if _squared_to_box(x, y, z, low, high, node) > best:
                continue
            if node < n_leaves:
                near, far = 2 * node, 2 * node + 1
                if _squared_to_box(x, y, z, low, high, far) < _squared_to_box(x, y, z, low, high, near):
                    near, far = far, near
                stack[depth] = far
                stack[depth + 1] = near
                depth += 2
                continue
            first = (node - n_leaves) * leaf_size
            for f in range(first, min(first + leaf_size, n_faces)):
                if directions.shape[0] > 0:
                    along = 0.0
                    for k in range(3):
                        along += normals[f, k] * directions[i, k]
                    if along < 0.0:
                        continue
                squared = _closest_in_triangle(x, y, z, corners, f, found)
                if squared < best or (squared <= best and face_at[i] < 0):
                    best = squared
                    face_at[i] = f
                    squared_at[i] = squared
                    for c in range(3):
                        weights_at[i, c] = found[c]


# coordinates and indices instead of slices of arrays, which would be counted references in the innermost loop
@njit(cache=True, nogil=True)
def _squared_to_box(x: float, y: float, z: float, low: np.ndarray, high: np.ndarray, node: int) -> float:
    dx = max(low[node, 0] - x, x - high[node, 0], 0.0)
    dy = max(low[node, 1] - y, y - high[node, 1], 0.0)
    dz = max(low[node, 2] - z, z - high[node, 2], 0.0)
    return dx * dx + dy * dy + dz * dz


@njit(cache=True, nogil=True)
def _closest_in_triangle(x: float, y: float, z: float, corners: np.ndarray, f: int, out: np.ndarray) -> float:
    """Barycentric weights of the point of triangle f closest to (x, y, z), into out; returns the squared distance."""
    uu = uv = vv = wu = wv = 0.0
    for k in range(3):
        a = corners[f, 0, k]
        u, v, w = corners[f, 1, k] - a, corners[f, 2, k] - a, (x if k == 0 else y if k == 1 else z) - a
        uu += u * u
        uv += u * v
        vv += v * v
        wu += w * u
        wv += w * v
    size = uu * vv - uv * uv
    if size > 1e-14 * uu * vv:
        second, third = (vv * wu - uv * wv) / size, (uu * wv - uv * wu) / size
        if second >= 0.0 and third >= 0.0 and second + third <= 1.0:
            out[0], out[1], out[2] = max(1.0 - second - third, 0.0), second, third
            return _squared_from(x, y, z, corners, f, out)
    best = np.inf
    best_side, best_along = 0, 0.0
    for side in range(3):
        end = (side + 1) % 3
        dot = length = 0.0
        for k in range(3):
            step = corners[f, end, k] - corners[f, side, k]
            dot += ((x if k == 0 else y if k == 1 else z) - corners[f, side, k]) * step
            length += step * step
        along = min(max(dot / length, 0.0), 1.0) if length > 0.0 else 0.0
        out[0] = out[1] = out[2] = 0.0
        out[side], out[end] = 1.0 - along, along
        squared = _squared_from(x, y, z, corners, f, out)
        if squared < best:
            best, best_side, best_along = squared, side, along
    out[0] = out[1] = out[2] = 0.0
    out[best_side], out[(best_side + 1) % 3] = 1.0 - best_along, best_along
    return best


@njit(cache=True, nogil=True)
def _squared_from(x: float, y: float, z: float, corners: np.ndarray, f: int, weights: np.ndarray) -> float:
    total = 0.0
    for k in range(3):
        there = weights[0] * corners[f, 0, k] + weights[1] * corners[f, 1, k] + weights[2] * corners[f, 2, k]
        total += ((x if k == 0 else y if k == 1 else z) - there) ** 2
    return total
