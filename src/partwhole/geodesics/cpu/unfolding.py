"""Better triangles for the same surface: intrinsic Delaunay flips, and obtuse corners split by unfolding.

Only edge lengths are used, so the same code serves every metric. A face is three corners; side i lies opposite corner i;
`across_face[f, i]`, `across_corner[f, i]` name the face and corner that see side i from the other side, -1 where there is
none (border) or more than one (not a manifold). The orientation of neighbouring faces need not agree.
"""

from __future__ import annotations

import math

import numpy as np

from partwhole.store.compiled import njit


@njit(cache=True, nogil=True)
def apex(base, left, right):
    """Where two lengths meet over a base from (0, 0) to (base, 0); on the base line if the lengths are too short."""
    x = (left * left - right * right + base * base) / (2.0 * base)
    return x, math.sqrt(max(left * left - x * x, 0.0))


@njit(cache=True, nogil=True)
def across_side(faces, lengths, across_face, across_corner, f, i):
    """The face g behind side i of face f, laid out flat: (g, corner of g, is g's next corner f's next corner, ok)."""
    g, j = across_face[f, i], across_corner[f, i]
    if g < 0 or g == f:
        return g, j, False, False
    q, r = faces[f, (i + 1) % 3], faces[f, (i + 2) % 3]
    same_turn = faces[g, (j + 1) % 3] == q and faces[g, (j + 2) % 3] == r
    other_turn = faces[g, (j + 1) % 3] == r and faces[g, (j + 2) % 3] == q
    return g, j, same_turn, (same_turn != other_turn) and lengths[f, i] > 0.0


@njit(cache=True, nogil=True)
def flip_geometry(faces, lengths, across_face, across_corner, f, i):
    """(flippable, length of the other diagonal, Delaunay excess) of the two triangles at side i of face f."""
    g, j, same_turn, ok = across_side(faces, lengths, across_face, across_corner, f, i)
    if not ok:
        return False, 0.0, 0.0
    near_q, near_r = (j + 2) % 3, (j + 1) % 3
    if same_turn:
        near_q, near_r = near_r, near_q
    base = lengths[f, i]
    pq, pr = lengths[f, (i + 2) % 3], lengths[f, (i + 1) % 3]
    sq, sr = lengths[g, near_r], lengths[g, near_q]
    px, py = apex(base, pq, pr)
    sx, sy = apex(base, sq, sr)
    height = py + sy
    # the product vanishes for a side that is shorter than the others by a hundred orders of magnitude and more
    if base * base * height <= 0.0 or faces[f, i] == faces[g, j]:
        return False, 0.0, 0.0
    crossing = (px * sy + sx * py) / height
    convex = crossing > 1e-9 * base and crossing < (1.0 - 1e-9) * base
    # cot(angle at p) + cot(angle at s), cleared of denominators: negative where the angles exceed π
    excess = (pq * pq + pr * pr - base * base) * sy + (sq * sq + sr * sr - base * base) * py
    return convex, math.hypot(px - sx, height), excess / (base * base * height)


@njit(cache=True, nogil=True)
def delaunay_flips(faces, lengths, across_face, across_corner):
    """Flip sides, in place, until the triangulation is intrinsically Delaunay; the number of flips."""
    m = len(faces)
    stack = np.empty(12 * m, np.int64)
    top = 0
    for f in range(m):
        for i in range(3):
            if across_face[f, i] > f:
                stack[top] = 3 * f + i
                top += 1
    flips = 0
    while top > 0 and flips < 30 * m:
        top -= 1
        f, i = stack[top] // 3, stack[top] % 3
        convex, diagonal, excess = flip_geometry(faces, lengths, across_face, across_corner, f, i)
        if not convex or excess > -1e-9:
            continue
        g, j, same_turn, _ = across_side(faces, lengths, across_face, across_corner, f, i)
        near_q, near_r = (j + 2) % 3, (j + 1) % 3
        if same_turn:
            near_q, near_r = near_r, near_q
        p, q, r, s = faces[f, i], faces[f, (i + 1) % 3], faces[f, (i + 2) % 3], faces[g, j]
        pq, pr, sq, sr = lengths[f, (i + 2) % 3], lengths[f, (i + 1) % 3], lengths[g, near_r], lengths[g, near_q]
        pq_face, pq_corner = across_face[f, (i + 2) % 3], across_corner[f, (i + 2) % 3]
        pr_face, pr_corner = across_face[f, (i + 1) % 3], across_corner[f, (i + 1) % 3]
        sq_face, sq_corner = across_face[g, near_r], across_corner[g, near_r]
        sr_face, sr_corner = across_face[g, near_q], across_corner[g, near_q]
        if touches(f, g, pq_face, pr_face) or touches(f, g, sq_face, sr_face):
            continue  # two faces glued along more than one side: leave them as they are
        # f becomes (p, q, s), g becomes (s, r, p); corner 1 of each looks at the new diagonal p-s
        set_face(faces, lengths, f, p, q, s, sq, diagonal, pq)
        set_face(faces, lengths, g, s, r, p, pr, diagonal, sr)
        glue(across_face, across_corner, f, 0, sq_face, sq_corner)
        glue(across_face, across_corner, f, 2, pq_face, pq_corner)
        glue(across_face, across_corner, g, 0, pr_face, pr_corner)
        glue(across_face, across_corner, g, 2, sr_face, sr_corner)
        glue(across_face, across_corner, f, 1, g, 1)
        flips += 1
        for side in (3 * f, 3 * f + 2, 3 * g, 3 * g + 2):
            if top < len(stack):
                stack[top] = side
                top += 1
    return flips


@njit(cache=True, nogil=True)
def touches(f, g, one, other):
    return one in (f, g) or other in (f, g)


@njit(cache=True, nogil=True)
def set_face(faces, lengths, f, a, b, c, across_a, across_b, across_c):
    faces[f, 0], faces[f, 1], faces[f, 2] = a, b, c
    lengths[f, 0], lengths[f, 1], lengths[f, 2] = across_a, across_b, across_c


@njit(cache=True, nogil=True)
def glue(across_face, across_corner, f, i, g, j):
    across_face[f, i], across_corner[f, i] = g, j
    if g >= 0:
        across_face[g, j], across_corner[g, j] = f, i


@njit(cache=True, nogil=True)
def diagonals(faces, lengths, across_face, across_corner):
    """The straight segment between the two vertices facing each inner side, where it stays inside: (pairs, lengths)."""
    pairs = np.empty((3 * len(faces), 2), np.int64)
    straight = np.empty(3 * len(faces), np.float64)
    k = 0
    for f in range(len(faces)):
        for i in range(3):
            if across_face[f, i] > f:
                convex, diagonal, _ = flip_geometry(faces, lengths, across_face, across_corner, f, i)
                if convex:
                    pairs[k, 0], pairs[k, 1] = faces[f, i], faces[across_face[f, i], across_corner[f, i]]
                    straight[k] = diagonal
                    k += 1
    return pairs[:k], straight[:k]


@njit(cache=True, nogil=True)
def update_triangles(faces, lengths, across_face, across_corner, depth):
    """For every corner, the triangle(s) through which a front may reach it: (corner, a, b) and |ab|, |cb|, |ca|.

    An obtuse corner is split by the first vertex met inside its wedge when the faces behind the opposite side are
    unfolded into the plane (at most `depth` of them); a corner at a border stays whole.
    """
    triples = np.empty((6 * len(faces), 3), np.int64)
    sides = np.empty((6 * len(faces), 3), np.float64)
    k = 0
    for f in range(len(faces)):
        for i in range(3):
            c, a, b = faces[f, i], faces[f, (i + 1) % 3], faces[f, (i + 2) % 3]
            ab, cb, ca = lengths[f, i], lengths[f, (i + 1) % 3], lengths[f, (i + 2) % 3]
            if ab <= 0.0 or cb <= 0.0 or ca <= 0.0:
                continue
            found, s, sx, sy = -1, -1, 0.0, 0.0
            bx, by = apex(ca, cb, ab)  # c at the origin, a at (ca, 0)
            if ca * ca + cb * cb < ab * ab:
                found, s, sx, sy = first_in_wedge(faces, lengths, across_face, across_corner, f, i, ca, bx, by, depth)
            if found < 0 or s in (a, b, c):
                triples[k, 0], triples[k, 1], triples[k, 2] = c, a, b
                sides[k, 0], sides[k, 1], sides[k, 2] = ab, cb, ca
                k += 1
                continue
            cs = math.hypot(sx, sy)
            triples[k, 0], triples[k, 1], triples[k, 2] = c, a, s
            sides[k, 0], sides[k, 1], sides[k, 2] = math.hypot(sx - ca, sy), cs, ca
            triples[k + 1, 0], triples[k + 1, 1], triples[k + 1, 2] = c, s, b
            sides[k + 1, 0], sides[k + 1, 1], sides[k + 1, 2] = math.hypot(sx - bx, sy - by), cb, cs
            k += 2
    return triples[:k], sides[:k]


@njit(cache=True, nogil=True)
def first_in_wedge(faces, lengths, across_face, across_corner, f, i, ax, bx, by, depth):
    """Unfold from side i of f, seen from its corner at (0, 0) between (ax, 0) and (bx, by): (found, vertex, x, y)."""
    lx, ly, rx, ry = ax, 0.0, bx, by  # the side being crossed
    left = faces[f, (i + 1) % 3]
    for _ in range(depth):
        g, j, _, ok = across_side(faces, lengths, across_face, across_corner, f, i)
        if not ok:
            return -1, -1, 0.0, 0.0
        at_left = (j + 1) % 3 if faces[g, (j + 1) % 3] == left else (j + 2) % 3
        at_right = 3 - j - at_left
        base = lengths[g, j]
        x, y = apex(base, lengths[g, at_right], lengths[g, at_left])
        ux, uy = (rx - lx) / base, (ry - ly) / base
        nx, ny = uy, -ux
        if nx * lx + ny * ly < 0.0:  # away from the corner at the origin
            nx, ny = -nx, -ny
        sx, sy = lx + ux * x + nx * y, ly + uy * x + ny * y
        s = faces[g, j]
        beyond_left = ax * sy <= 0.0
        beyond_right = sx * by - sy * bx <= 0.0
        if not beyond_left and not beyond_right:
            return 1, s, sx, sy
        f = g
        if beyond_left:  # go on through the side between the new vertex and the right one
            i, lx, ly, left = at_left, sx, sy, s
        else:
            i, rx, ry = at_right, sx, sy
    return -1, -1, 0.0, 0.0
