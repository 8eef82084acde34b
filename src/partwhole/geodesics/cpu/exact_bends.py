"""How paths of `exact` leave a vertex: along the edges, and, where they can bend, over the faces."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from partwhole.geodesics.cpu.exact_fans import next_corner, previous_corner
from partwhole.geodesics.cpu.exact_queue import (
    ANGLE,
    APEX_X,
    APEX_Y,
    BASE,
    BEGINS,
    BETTER,
    FORWARD,
    LEFT,
    RIGHT,
    THIN,
    enqueue,
    kernel,
    wait,
)

_ANGLE_TOUCH = 1e-9  # as much is added to the directions into which a path may bend


@kernel
def leave_vertex(
    corner_vertex, gates, exit_start, exits, vertex_start, vertex_corner, bend, total_angle, width, v,
    is_source, distance, arrival, windows, following, waiting, lines, links, counters,
):  # fmt: skip
    """Offer the distance of v to its neighbours, and send windows over the faces into which paths can bend at v."""
    n = len(distance)
    for k in range(vertex_start[v], vertex_start[v + 1]):
        corner = vertex_corner[k]
        for to_next in (True, False):
            other = next_corner(corner) if to_next else previous_corner(corner)
            u = corner_vertex[other]
            length = distance[v] + gates[corner, LEFT if to_next else RIGHT]
            if length < distance[u] * BETTER:
                distance[u] = length
                # v is the previous corner as seen from the next one, so the way arrives at that end of its angle
                at_begin = to_next != (gates[other, FORWARD] != 0.0)
                arrival[u] = gates[other, BEGINS] + (0.0 if at_begin else gates[other, ANGLE])
                enqueue(lines, links, counters, u, n, length / width)
        if bend[v] == 0 and not is_source:
            continue
        low, high = 0.0, gates[corner, ANGLE]
        if bend[v] != 3 and not is_source:
            low, high = _bend_range(gates, corner, bend[v] == 1, total_angle[v], arrival[v])
            if not high > low:
                continue
        b0, b1 = _shadow(gates, corner, low, high)
        base, apex_x, apex_y = gates[corner, BASE], gates[corner, APEX_X], gates[corner, APEX_Y]
        if not b1 - b0 > THIN * base:
            continue
        for e in range(exit_start[corner], exit_start[corner + 1]):
            gate = exits[e, 0]
            if exits[e, 1] != 0:
                nearest = wait(gate, b0, b1, apex_x, apex_y, distance[v], windows, following, waiting, counters)
            else:
                nearest = wait(
                    gate, base - b1, base - b0, base - apex_x, apex_y, distance[v],
                    windows, following, waiting, counters,
                )  # fmt: skip
            if nearest < np.inf:
                enqueue(lines, links, counters, n + gate, n, nearest / width)


@kernel
def _bend_range(gates, corner, closed, total, arrival):
    """Directions in a corner, from its next vertex on, at least pi away from the arrival on both sides of the fan."""
    angle = gates[corner, ANGLE]
    offset = gates[corner, BEGINS] - arrival
    far = pi - _ANGLE_TOUCH
    if closed:
        if offset < 0.0:
            offset += total
        low, high = far - offset, total - far - offset
    else:
        # the fan of a boundary vertex does not close: far enough to either side will do
        low, high = far - offset, angle
        if low > angle:
            low, high = 0.0, -far - offset
        elif -far - offset > 0.0:
            low = 0.0
    low, high = max(low, 0.0), min(high, angle)
    return (low, high) if gates[corner, FORWARD] != 0.0 else (angle - high, angle - low)


@kernel
def _shadow(gates, corner, low, high):
    """The interval of the opposite side that is seen from a corner between two angles, counted from the next vertex."""
    base, apex_x, apex_y = gates[corner, BASE], gates[corner, APEX_X], gates[corner, APEX_Y]
    rest = gates[corner, ANGLE] - high
    b0 = _seen_at(low, apex_x, apex_y, base) if low > 0.0 else 0.0
    b1 = base - _seen_at(rest, base - apex_x, apex_y, base) if rest > 0.0 else base
    return b0, b1


@kernel
def _seen_at(angle, apex_x, apex_y, base):
    """Where the base is met by the ray from the apex that makes this angle with the left side."""
    dx = -apex_x * cos(angle) + apex_y * sin(angle)
    dy = -apex_x * sin(angle) - apex_y * cos(angle)
    if dy >= 0.0:
        return base
    return min(max(apex_x - dx * apex_y / dy, 0.0), base)


@kernel
def room_for_vertex(v, exit_start, vertex_start, vertex_corner):
    """How many windows a vertex can send at most."""
    count = 0
    for k in range(vertex_start[v], vertex_start[v + 1]):
        corner = vertex_corner[k]
        count += exit_start[corner + 1] - exit_start[corner]
    return count
