"""A tree of boxes around triangles: nearest points of a surface, and pairs of its triangles that intersect.

Triangles come in an order in which neighbours are near each other, and are halved until few are left together.
"""

from __future__ import annotations

import numpy as np

from partwhole.store.compute import njit

_LEAF = 4
# deeper than any tree that halves its triangles
_DEPTH = 128
# volumes smaller than this, in the cube of the longest side of two triangles, are zero up to rounding
_FLAT = 1e-13


@njit(cache=True, nogil=True)
def build_boxes(order, vertices, faces):
    """Boxes of the nodes, and first triangle, count and second child of each (−1: a leaf), for triangles in an order.

    A node is followed by its first child.
    """
    m = len(faces)
    most = 2 * m + 1
    low, high = np.empty((most, 3)), np.empty((most, 3))
    ranges = np.empty((most, 3), np.int64)
    # a node waits with its range of triangles and the parent whose second child it is, or −1
    waiting = np.empty((_DEPTH, 3), np.int64)
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = 0, m, -1
    top, used = 1, 0
    while top > 0:
        top -= 1
        start, end, parent = waiting[top, 0], waiting[top, 1], waiting[top, 2]
        node = used
        used += 1
        if parent >= 0:
            ranges[parent, 2] = node
        ranges[node, 0], ranges[node, 1], ranges[node, 2] = start, end - start, -1
        if end - start > _LEAF:
            middle = (start + end) // 2
            waiting[top, 0], waiting[top, 1], waiting[top, 2] = middle, end, node
            waiting[top + 1, 0], waiting[top + 1, 1], waiting[top + 1, 2] = start, middle, -1
            top += 2
    # children have larger numbers than their parents
    for node in range(used - 1, -1, -1):
        for d in range(3):
            low[node, d], high[node, d] = np.inf, -np.inf
            if ranges[node, 2] >= 0:
                one, other = node + 1, ranges[node, 2]
                low[node, d] = min(low[one, d], low[other, d])
                high[node, d] = max(high[one, d], high[other, d])
                continue
            for k in range(ranges[node, 0], ranges[node, 0] + ranges[node, 1]):
                for c in range(3):
                    x = vertices[faces[order[k], c], d]
                    low[node, d], high[node, d] = min(low[node, d], x), max(high[node, d], x)
    return low[:used], high[:used], ranges[:used]


@njit(cache=True, nogil=True)
def nearest_points(tree, vertices, faces, face_normals, points, normals, least_cosine):
    """For each point the nearest triangle, its weights there and the distance; −1 and inf where no normal agrees.

    A triangle counts if the cosine between its normal and that of the point is at least `least_cosine`; below −1 all do.
    """
    order, low, high, ranges = tree
    n = len(points)
    found, weights, away = np.full(n, -1, np.int64), np.zeros((n, 3)), np.full(n, np.inf)
    waiting, apart = np.empty(_DEPTH, np.int64), np.empty(_DEPTH)
    place = np.empty(3)
    for p in range(n):
        best = np.inf
        waiting[0], apart[0] = 0, _outside(points, p, low, high, 0)
        top = 1
        while top > 0:
            top -= 1
            if apart[top] >= best:
                continue
            node = waiting[top]
            if ranges[node, 2] < 0:
                for k in range(ranges[node, 0], ranges[node, 0] + ranges[node, 1]):
                    f = order[k]
                    if least_cosine >= -1:
                        cosine = 0.0
                        for d in range(3):
                            cosine += face_normals[f, d] * normals[p, d]
                        if cosine < least_cosine:
                            continue
                    square = _place(points, p, vertices, faces, f, place)
                    if square < best:
                        best = square
                        found[p] = f
                        weights[p, 0], weights[p, 1], weights[p, 2] = place[0], place[1], place[2]
                continue
            one, other = node + 1, ranges[node, 2]
            to_one, to_other = _outside(points, p, low, high, one), _outside(points, p, low, high, other)
            if to_one > to_other:
                one, other, to_one, to_other = other, one, to_other, to_one
            # the nearer one is looked at first
            waiting[top], apart[top] = other, to_other
            waiting[top + 1], apart[top + 1] = one, to_one
            top += 2
        away[p] = np.sqrt(best)
    return found, weights, away


@njit(cache=True, nogil=True)
def _outside(points, p, low, high, node):
    """Squared distance of a point to a box."""
    total = 0.0
    for d in range(3):
        off = max(low[node, d] - points[p, d], 0.0, points[p, d] - high[node, d])
        total += off * off
    return total


@njit(cache=True, nogil=True)
def _place(points, p, x, faces, f, weights):
    """Squared distance to a triangle; writes the weights of its nearest point. By the region of the plane (Ericson)."""
    a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
    ab0, ab1, ab2 = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
    ac0, ac1, ac2 = x[c, 0] - x[a, 0], x[c, 1] - x[a, 1], x[c, 2] - x[a, 2]
    ap0, ap1, ap2 = points[p, 0] - x[a, 0], points[p, 1] - x[a, 1], points[p, 2] - x[a, 2]
    d1, d2 = ab0 * ap0 + ab1 * ap1 + ab2 * ap2, ac0 * ap0 + ac1 * ap1 + ac2 * ap2
    aa, cross, cc = (
        ab0 * ab0 + ab1 * ab1 + ab2 * ab2,
        ab0 * ac0 + ab1 * ac1 + ab2 * ac2,
        ac0 * ac0 + ac1 * ac1 + ac2 * ac2,
    )
    d3, d4, d5, d6 = d1 - aa, d2 - cross, d1 - cross, d2 - cc
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    v = w = 0.0
    if d1 <= 0 and d2 <= 0:
        pass
    elif d3 >= 0 and d4 <= d3:
        v = 1.0
    elif vc <= 0 and d1 >= 0 and d3 <= 0:
        v = d1 / (d1 - d3)
    elif d6 >= 0 and d5 <= d6:
        w = 1.0
    elif vb <= 0 and d2 >= 0 and d6 <= 0:
        w = d2 / (d2 - d6)
    elif va <= 0 and d4 - d3 >= 0 and d5 - d6 >= 0:
        side = (d4 - d3) + (d5 - d6)
        w = (d4 - d3) / side if side > 0 else 0.0
        v = 1 - w
    elif va + vb + vc > 0:
        v, w = vb / (va + vb + vc), vc / (va + vb + vc)
    # rounding must not take a point off its triangle
    weights[0], weights[1], weights[2] = max(1 - v - w, 0.0), v, w
    off0, off1, off2 = ap0 - v * ab0 - w * ac0, ap1 - v * ab1 - w * ac1, ap2 - v * ab2 - w * ac2
    return off0 * off0 + off1 * off1 + off2 * off2


@njit(cache=True, nogil=True)
def intersecting_pairs(tree, vertices, faces):
    """Pairs of triangles that intersect, the smaller number first; those with a common edge are never counted."""
    order, low, high, ranges = tree
    m = len(faces)
    pairs = np.empty((16, 2), np.int64)
    used = 0
    waiting = np.empty(_DEPTH, np.int64)
    least, most = np.empty(3), np.empty(3)
    for f in range(m):
        for d in range(3):
            x, y, z = vertices[faces[f, 0], d], vertices[faces[f, 1], d], vertices[faces[f, 2], d]
            least[d], most[d] = min(x, y, z), max(x, y, z)
        waiting[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = waiting[top]
            if _apart(least, most, low, high, node):
                continue
            if ranges[node, 2] >= 0:
                waiting[top], waiting[top + 1] = node + 1, ranges[node, 2]
                top += 2
                continue
            for k in range(ranges[node, 0], ranges[node, 0] + ranges[node, 1]):
                g = order[k]
                if g > f and _intersect(vertices, faces, f, g):
                    if used == len(pairs):
                        more = np.empty((2 * used, 2), np.int64)
                        more[:used] = pairs
                        pairs = more
                    pairs[used, 0], pairs[used, 1] = f, g
                    used += 1
    return pairs[:used]


@njit(cache=True, nogil=True)
def _apart(least, most, low, high, node):
    apart = False
    for d in range(3):
        apart |= least[d] > high[node, d] or low[node, d] > most[d]
    return apart


@njit(cache=True, nogil=True)
def _intersect(x, faces, f, g):
    common, at_f, at_g = 0, 0, 0
    for i in range(3):
        for j in range(3):
            if faces[f, i] == faces[g, j]:
                common += 1
                at_f, at_g = i, j
    if common > 1:
        return False
    size = 0.0
    for i in range(3):
        for d in range(3):
            size = max(size, abs(x[faces[f, i], d] - x[faces[f, i - 1], d]))
            size = max(size, abs(x[faces[g, i], d] - x[faces[g, i - 1], d]))
    flat = _FLAT * size * size * size
    for side in range(6):
        one, other, skipped = f, g, at_f
        if side >= 3:
            one, other, skipped = g, f, at_g
        i = side % 3
        # with one common corner they meet elsewhere only if the side opposite to it goes through the other triangle
        if (common == 0 or i == (skipped + 1) % 3) and _crosses(x, faces, one, i, other, flat):
            return True
    return False


@njit(cache=True, nogil=True)
def _crosses(x, faces, f, i, g, flat):
    """Whether side i of triangle f goes through triangle g; touching it up to rounding does not count."""
    p, q = faces[f, i], faces[f, (i + 1) % 3]
    a, b, c = faces[g, 0], faces[g, 1], faces[g, 2]
    above, below = _volume(x, a, b, c, p), _volume(x, a, b, c, q)
    if not ((above > flat and below < -flat) or (above < -flat and below > flat)):
        return False
    first, second, third = _volume(x, p, q, a, b), _volume(x, p, q, b, c), _volume(x, p, q, c, a)
    inside = first >= flat and second >= flat and third >= flat
    return inside or (first <= -flat and second <= -flat and third <= -flat)


@njit(cache=True, nogil=True)
def _volume(x, a, b, c, d):
    """Six times the volume of a tetrahedron of four vertices, with its sign."""
    u0, u1, u2 = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
    v0, v1, v2 = x[c, 0] - x[a, 0], x[c, 1] - x[a, 1], x[c, 2] - x[a, 2]
    w0, w1, w2 = x[d, 0] - x[a, 0], x[d, 1] - x[a, 1], x[d, 2] - x[a, 2]
    return u0 * (v1 * w2 - v2 * w1) + u1 * (v2 * w0 - v0 * w2) + u2 * (v0 * w1 - v1 * w0)
