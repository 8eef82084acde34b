"""A tree of boxes around triangles: nearest points of a surface, and pairs of its triangles that intersect.

Triangles are halved at the median of their centres along the longest side of their box, until few are left together.
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
def build_tree(vertices, faces):
    """Order of the triangles, boxes of the nodes, first triangle, count and second child of each (−1: a leaf)."""
    m = len(faces)
    centres = np.empty((m, 3))
    for f in range(m):
        for d in range(3):
            centres[f, d] = (vertices[faces[f, 0], d] + vertices[faces[f, 1], d] + vertices[faces[f, 2], d]) / 3
    order = np.arange(m)
    most = 2 * m + 1
    low, high = np.empty((most, 3)), np.empty((most, 3))
    first, count, second = np.empty(most, np.int64), np.empty(most, np.int64), np.full(most, -1, np.int64)
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
            second[parent] = node
        first[node], count[node] = start, end - start
        for d in range(3):
            low[node, d], high[node, d] = np.inf, -np.inf
        for k in range(start, end):
            for c in range(3):
                for d in range(3):
                    x = vertices[faces[order[k], c], d]
                    low[node, d], high[node, d] = min(low[node, d], x), max(high[node, d], x)
        if end - start <= _LEAF:
            continue
        axis = 0
        for d in range(1, 3):
            if high[node, d] - low[node, d] > high[node, axis] - low[node, axis]:
                axis = d
        here = order[start:end].copy()
        along = np.argsort(centres[here, axis], kind="mergesort")
        order[start:end] = here[along]
        middle = (start + end) // 2
        waiting[top, 0], waiting[top, 1], waiting[top, 2] = middle, end, node
        waiting[top + 1, 0], waiting[top + 1, 1], waiting[top + 1, 2] = start, middle, -1
        top += 2
    return order, low[:used], high[:used], first[:used], count[:used], second[:used]


@njit(cache=True, nogil=True)
def nearest_points(tree, vertices, faces, face_normals, points, normals, least_cosine):
    """For each point the nearest triangle, its weights there and the distance; −1 and inf where no normal agrees.

    A triangle counts if the cosine between its normal and that of the point is at least `least_cosine`; below −1 all do.
    """
    order, low, high, first, count, second = tree
    n = len(points)
    found, weights, away = np.full(n, -1, np.int64), np.zeros((n, 3)), np.full(n, np.inf)
    waiting, apart = np.empty(_DEPTH, np.int64), np.empty(_DEPTH)
    place = np.empty(3)
    for p in range(n):
        best = np.inf
        waiting[0], apart[0] = 0, _outside(points[p], low[0], high[0])
        top = 1
        while top > 0:
            top -= 1
            if apart[top] >= best:
                continue
            node = waiting[top]
            if second[node] < 0:
                for k in range(first[node], first[node] + count[node]):
                    f = order[k]
                    if least_cosine >= -1:
                        cosine = 0.0
                        for d in range(3):
                            cosine += face_normals[f, d] * normals[p, d]
                        if cosine < least_cosine:
                            continue
                    square = _place(points[p], vertices[faces[f, 0]], vertices[faces[f, 1]], vertices[faces[f, 2]], place)
                    if square < best:
                        best = square
                        found[p] = f
                        weights[p, 0], weights[p, 1], weights[p, 2] = place[0], place[1], place[2]
                continue
            one, other = node + 1, second[node]
            to_one, to_other = _outside(points[p], low[one], high[one]), _outside(points[p], low[other], high[other])
            if to_one > to_other:
                one, other, to_one, to_other = other, one, to_other, to_one
            # the nearer one is looked at first
            waiting[top], apart[top] = other, to_other
            waiting[top + 1], apart[top + 1] = one, to_one
            top += 2
        away[p] = np.sqrt(best)
    return found, weights, away


@njit(cache=True, nogil=True, inline="always")
def _outside(point, low, high):
    """Squared distance of a point to a box."""
    total = 0.0
    for d in range(3):
        off = max(low[d] - point[d], 0.0, point[d] - high[d])
        total += off * off
    return total


@njit(cache=True, nogil=True)
def _place(p, a, b, c, weights):
    """Squared distance to a triangle; writes the weights of its nearest point. By the region of the plane (Ericson)."""
    ab0, ab1, ab2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    ac0, ac1, ac2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    ap0, ap1, ap2 = p[0] - a[0], p[1] - a[1], p[2] - a[2]
    d1, d2 = ab0 * ap0 + ab1 * ap1 + ab2 * ap2, ac0 * ap0 + ac1 * ap1 + ac2 * ap2
    aa, cross, cc = ab0 * ab0 + ab1 * ab1 + ab2 * ab2, ab0 * ac0 + ab1 * ac1 + ab2 * ac2, ac0 * ac0 + ac1 * ac1 + ac2 * ac2
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
    weights[0], weights[1], weights[2] = 1 - v - w, v, w
    x, y, z = ap0 - v * ab0 - w * ac0, ap1 - v * ab1 - w * ac1, ap2 - v * ab2 - w * ac2
    return x * x + y * y + z * z


@njit(cache=True, nogil=True)
def intersecting_pairs(tree, vertices, faces):
    """Pairs of triangles that intersect, the smaller number first; those with a common edge are never counted."""
    order, low, high, first, count, second = tree
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
            if _apart(least, most, low[node], high[node]):
                continue
            if second[node] >= 0:
                waiting[top], waiting[top + 1] = node + 1, second[node]
                top += 2
                continue
            for k in range(first[node], first[node] + count[node]):
                g = order[k]
                if g > f and _intersect(vertices, faces[f], faces[g]):
                    if used == len(pairs):
                        more = np.empty((2 * used, 2), np.int64)
                        more[:used] = pairs
                        pairs = more
                    pairs[used, 0], pairs[used, 1] = f, g
                    used += 1
    return pairs[:used]


@njit(cache=True, nogil=True, inline="always")
def _apart(low, high, other_low, other_high):
    for d in range(3):
        if low[d] > other_high[d] or other_low[d] > high[d]:
            return True
    return False


@njit(cache=True, nogil=True)
def _intersect(x, f, g):
    common, at_f, at_g = 0, 0, 0
    for i in range(3):
        for j in range(3):
            if f[i] == g[j]:
                common += 1
                at_f, at_g = i, j
    if common > 1:
        return False
    size = 0.0
    for i in range(3):
        for d in range(3):
            size = max(size, abs(x[f[i], d] - x[f[(i + 1) % 3], d]), abs(x[g[i], d] - x[g[(i + 1) % 3], d]))
    flat = _FLAT * size**3
    if common == 1:
        # triangles with one common corner meet elsewhere only if a side opposite to it goes through the other one
        return _crosses(x, f[(at_f + 1) % 3], f[(at_f + 2) % 3], g, flat) or _crosses(
            x, g[(at_g + 1) % 3], g[(at_g + 2) % 3], f, flat
        )
    for i in range(3):
        if _crosses(x, f[i], f[(i + 1) % 3], g, flat) or _crosses(x, g[i], g[(i + 1) % 3], f, flat):
            return True
    return False


@njit(cache=True, nogil=True)
def _crosses(x, p, q, f, flat):
    """Whether the side from p to q goes through a triangle; touching it up to rounding does not count."""
    above, below = _volume(x[f[0]], x[f[1]], x[f[2]], x[p]), _volume(x[f[0]], x[f[1]], x[f[2]], x[q])
    if not ((above > flat and below < -flat) or (above < -flat and below > flat)):
        return False
    first = _volume(x[p], x[q], x[f[0]], x[f[1]])
    second = _volume(x[p], x[q], x[f[1]], x[f[2]])
    third = _volume(x[p], x[q], x[f[2]], x[f[0]])
    return (first >= flat and second >= flat and third >= flat) or (
        first <= -flat and second <= -flat and third <= -flat
    )


@njit(cache=True, nogil=True)
def _volume(a, b, c, d):
    """Six times the volume of a tetrahedron, with its sign."""
    u0, u1, u2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    v0, v1, v2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    w0, w1, w2 = d[0] - a[0], d[1] - a[1], d[2] - a[2]
    return u0 * (v1 * w2 - v2 * w1) + u1 * (v2 * w0 - v0 * w2) + u2 * (v0 * w1 - v1 * w0)
