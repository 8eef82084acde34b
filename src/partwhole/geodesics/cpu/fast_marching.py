"""Fast marching for many sources at once: better triangles for the same surface, and the fronts that cross them.

Triangles: intrinsic Delaunay flips, and obtuse corners split by unfolding. Only edge lengths are used, so the same code
serves every metric. A face is three corners; side i lies opposite corner i; `across_face[f, i]`, `across_corner[f, i]` name
the face and corner that see side i from the other side, -1 where there is none (boundary) or more than one (not a manifold).
The orientation of neighbouring faces need not agree.

Fronts: each vertex is relaxed for a bundle of LANES sources with vector instructions. One source alone needs a priority
queue and touches memory at random; a bundle of neighbouring sources has nearly the same order of arrival, so the vertices
are swept in the order of one of them, and every step works on LANES distances side by side. A vertex is visited again only
if a step into it got shorter. Near the sources the orders differ most, and what changes there changes everything behind it;
so the first vertices are swept until they are settled, then twice as many, and so on. What is computed is the largest
solution of

    d(source) = 0,   d(v) = min( d(u) + |uv| over segments,  front(d(a), d(b)) over triangles ).

Without triangles these are the distances along edges. The front of a triangle: with a = (0, 0), b = (base, 0), v = (x, y),
y > 0, the point source S = (s, -h) below the base with |S − a| = d(a), |S − b| = d(b) gives |S − v|, taken if the line from S
to v crosses the base, and if it is no shorter than d(a) and d(b): arrival in order, so that no error can feed on itself. On
ordinary meshes the solution does not depend on the order of the visits (to 1e-7); on meshes full of slivers a front that was
taken early can later lose its support, and a few pairs in a thousand end up to two per cent apart, without a change in the
mean error.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from partwhole.geodesics.cpu.lanes import (
    LANES,
    any_below,
    keep_if_not_above,
    larger,
    load,
    root,
    smaller,
    splat,
    store,
)
from partwhole.store.compute import njit


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
    unfolded into the plane (at most `depth` of them); a corner at a boundary stays whole.
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


@njit(cache=True, nogil=True)
def arrival_order(roots, start, origin, length):
    """Vertices in order of graph distance from the first root (Dijkstra with a binary heap), then from the next root
    that was not reached, and so on: every vertex that any root reaches, once."""
    n = len(start) - 1
    order = np.empty(n, np.int32)
    distance = np.full(n, np.inf)
    heap = np.empty(n, np.int32)
    place = np.full(n, -1, np.int32)  # in the heap; -1 not seen yet, -2 done
    reached = 0
    for root_vertex in roots:
        if place[root_vertex] == -2:
            continue
        distance[root_vertex] = 0.0
        heap[0] = root_vertex
        place[root_vertex] = 0
        size = 1
        while size > 0:
            v = heap[0]
            order[reached] = v
            reached += 1
            place[v] = -2
            size -= 1
            if size > 0:
                sift_down(heap, place, distance, size)
            for e in range(start[v], start[v + 1]):
                u = origin[e]
                candidate = distance[v] + length[e]
                if candidate < distance[u] and place[u] != -2:
                    distance[u] = candidate
                    if place[u] == -1:
                        place[u] = size
                        size += 1
                    sift_up(heap, place, distance, u)
    return order[:reached]


@njit(cache=True, nogil=True)
def sift_down(heap, place, distance, size):
    """Put the heap's last entry, which `size` no longer counts, at its root, and let it sink."""
    last = heap[size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and distance[heap[child + 1]] < distance[heap[child]]:
            child += 1
        if distance[heap[child]] >= distance[last]:
            break
        heap[i] = heap[child]
        place[heap[i]] = i
        i = child
    heap[i] = last
    place[last] = i


@njit(cache=True, nogil=True)
def sift_up(heap, place, distance, u):
    """Let vertex u rise from its place."""
    i = place[u]
    while i > 0 and distance[heap[(i - 1) >> 1]] > distance[u]:
        heap[i] = heap[(i - 1) >> 1]
        place[heap[i]] = i
        i = (i - 1) >> 1
    heap[i] = u
    place[u] = i


FIRST_REACH = 128  # vertices that are settled before the sweep goes on; 64 to 512 make no difference
# sweeps over the same vertices before they are ordered anew; ordinary meshes need at most about 100
MOST_SWEEPS = 1000


class Steps(NamedTuple):
    """A `Stencil` in the precision of the distances, as the kernels take it."""

    segment_start: np.ndarray
    segment_from: np.ndarray
    segment_length: np.ndarray
    triangle_start: np.ndarray
    triangle_from: np.ndarray
    shape: np.ndarray  # x, y, base, base/2, 1/(2 base)


@njit(cache=True, nogil=True)
def relax(order, sources, distance, steps, limits):
    """Relax the bundle `distance` (n, LANES), in place, until nothing changes; vertices are visited in `order`.

    Lane k starts as 0 at sources[k] and inf elsewhere, and ends as the distances from that source. `limits` holds 0, inf
    and the factor below which a distance counts as shorter, in the bundle's precision.
    """
    segment_start, segment_from, segment_length, triangle_start, triangle_from, shape = steps
    zero, infinite, shrink = splat(limits[0]), splat(limits[1]), splat(limits[2])
    waiting = np.zeros(len(distance), np.uint8)
    for source in sources:
        for e in range(segment_start[source], segment_start[source + 1]):
            waiting[segment_from[e]] = 1
    reach = min(FIRST_REACH, len(order))
    sweeps = 0
    while True:
        moved = False
        sweeps += 1
        for position in range(reach):
            v = order[position]
            if waiting[v] == 0:
                continue
            waiting[v] = 0
            before = load(distance, v)
            best = before
            for e in range(segment_start[v], segment_start[v + 1]):
                best = smaller(load(distance, segment_from[e]) + splat(segment_length[e]), best)
            for t in range(triangle_start[v], triangle_start[v + 1]):
                from_a, from_b = load(distance, triangle_from[t, 0]), load(distance, triangle_from[t, 1])
                last = larger(from_a, from_b)
                if not any_below(last, best):
                    continue
                x, y = splat(shape[t, 0]), splat(shape[t, 1])
                s = (from_a - from_b) * (from_a + from_b) * splat(shape[t, 4]) + splat(shape[t, 3])
                h = root((from_a - s) * (from_a + s))
                crossing = s * y + x * h  # times 1/(y + h): where the line from S to v meets the base
                front = root((x - s) * (x - s) + (y + h) * (y + h))
                front = keep_if_not_above(front, last, front, infinite)
                front = keep_if_not_above(front, zero, crossing, infinite)
                front = keep_if_not_above(front, crossing, splat(shape[t, 2]) * (y + h), infinite)
                best = smaller(front, best)
            if any_below(best, before * shrink):
                moved = True
                store(distance, v, best)
                for e in range(segment_start[v], segment_start[v + 1]):
                    u = segment_from[e]
                    if any_below(best, load(distance, u)):
                        waiting[u] = 1
        if not moved:
            if reach == len(order):
                return
            reach = min(2 * reach, len(order))
            sweeps = 0
        elif sweeps == MOST_SWEEPS:
            # around a vertex of very high degree all paths lead through it, and the order of arrival is arbitrary there:
            # squared lengths prefer paths of many short edges, along which fronts advance
            order = arrival_order(sources, segment_start, segment_from, segment_length * segment_length)
            reach = len(order)


@njit(cache=True, nogil=True)
def bundle_rows(sources, steps, limits, rows):
    """Distances from at most LANES sources, written into `rows` (len(sources), n)."""
    n = len(steps.segment_start) - 1
    distance = np.full((n, LANES), limits[1])
    for k in range(len(sources)):
        distance[sources[k], k] = limits[0]
    order = arrival_order(sources, steps.segment_start, steps.segment_from, steps.segment_length)
    relax(order, sources, distance, steps, limits)
    for k in range(len(sources)):
        for v in range(n):
            rows[k, v] = distance[v, k]
