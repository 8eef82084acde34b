"""Which points of a picture are hidden by a triangle that is nearer; exact, whatever the picture's resolution.

Points and corners are (x, y, nearness) on the picture plane; nearness is 1 / depth, which is linear across a projected
triangle. Triangles are sorted into square tiles of the picture, so that each point is compared with few of them.
"""

from __future__ import annotations

import numpy as np

from partwhole.store.compute import njit

_TILES = 64
# a triangle hides what is farther than its own plane by more than this share
_SLACK = 1e-9


@njit(cache=True, nogil=True)
def hidden(corners, faces, points, own_vertex, own_face):
    """True for points behind a triangle that has neither the point's own vertex as a corner nor is its own face.

    `own_vertex` and `own_face` are −1 where a point has none.
    """
    low_x, low_y = corners[:, 0].min(), corners[:, 1].min()
    size = max(corners[:, 0].max() - low_x, corners[:, 1].max() - low_y) * (1 + 1e-9) / _TILES
    if size <= 0.0:
        size = 1.0
    starts, listed = _tiles(corners, faces, low_x, low_y, size)
    result = np.zeros(len(points), np.bool_)
    for p in range(len(points)):
        x, y, nearness = points[p, 0], points[p, 1], points[p, 2]
        tile = _tile(y, low_y, size) * _TILES + _tile(x, low_x, size)
        for place in range(starts[tile], starts[tile + 1]):
            f = listed[place]
            if f == own_face[p]:
                continue
            i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
            if i == own_vertex[p] or j == own_vertex[p] or k == own_vertex[p]:
                continue
            if _is_behind(x, y, nearness, corners[i], corners[j], corners[k]):
                result[p] = True
                break
    return result


@njit(cache=True, nogil=True)
def _is_behind(x, y, nearness, a, b, c):
    area = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])
    if area == 0.0:
        return False
    u = ((b[0] - x) * (c[1] - y) - (c[0] - x) * (b[1] - y)) / area
    v = ((c[0] - x) * (a[1] - y) - (a[0] - x) * (c[1] - y)) / area
    w = ((a[0] - x) * (b[1] - y) - (b[0] - x) * (a[1] - y)) / area
    if u < 0.0 or v < 0.0 or w < 0.0:
        return False
    return u * a[2] + v * b[2] + w * c[2] > nearness * (1 + _SLACK)


@njit(cache=True, nogil=True)
def _tile(at, low, size):
    return min(max(int((at - low) / size), 0), _TILES - 1)


@njit(cache=True, nogil=True)
def _tiles(corners, faces, low_x, low_y, size):
    """The faces whose bounding boxes meet each tile: `listed[starts[t] : starts[t + 1]]`."""
    boxes = np.empty((len(faces), 4), np.int64)
    counts = np.zeros(_TILES * _TILES + 1, np.int64)
    for f in range(len(faces)):
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        boxes[f, 0] = _tile(min(corners[i, 0], corners[j, 0], corners[k, 0]), low_x, size)
        boxes[f, 1] = _tile(max(corners[i, 0], corners[j, 0], corners[k, 0]), low_x, size)
        boxes[f, 2] = _tile(min(corners[i, 1], corners[j, 1], corners[k, 1]), low_y, size)
        boxes[f, 3] = _tile(max(corners[i, 1], corners[j, 1], corners[k, 1]), low_y, size)
        for row in range(boxes[f, 2], boxes[f, 3] + 1):
            for column in range(boxes[f, 0], boxes[f, 1] + 1):
                counts[row * _TILES + column + 1] += 1
    starts = np.cumsum(counts)
    listed = np.empty(starts[-1], np.int64)
    filled = starts[:-1].copy()
    for f in range(len(faces)):
        for row in range(boxes[f, 2], boxes[f, 3] + 1):
            for column in range(boxes[f, 0], boxes[f, 1] + 1):
                tile = row * _TILES + column
                listed[filled[tile]] = f
                filled[tile] += 1
    return starts, listed
