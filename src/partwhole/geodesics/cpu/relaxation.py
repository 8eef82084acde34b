"""Distances from many sources at once: each vertex is relaxed for a bundle of LANES sources with vector instructions.

One source alone needs a priority queue and touches memory at random; a bundle of neighbouring sources has nearly the same
order of arrival, so the vertices are swept in the order of one of them, and every step works on LANES distances side by
side. A vertex is visited again only if a step into it got shorter. Near the sources the orders differ most, and what changes
there changes everything behind it; so the first vertices are swept until they are settled, then twice as many, and so on.
What is computed is the largest solution of

    d(source) = 0,   d(v) = min( d(u) + |uv| over segments,  front(d(a), d(b)) over triangles ),

The front of a triangle: with a = (0, 0), b = (base, 0), v = (x, y), y > 0, the point source S = (s, -h) below the base with
|S − a| = d(a), |S − b| = d(b) gives |S − v|, taken if the line from S to v crosses the base, and if it is no shorter than
d(a) and d(b): arrival in order, so that no error can feed on itself. On ordinary meshes the solution does not depend on the
order of the visits (to 1e-7); on meshes full of slivers a front that was taken early can later lose its support, and a few
pairs in a thousand end up to two per cent apart, without a change in the mean error.
"""

from __future__ import annotations

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
from partwhole.store.compiled import njit


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
    while True:
        moved = False
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
