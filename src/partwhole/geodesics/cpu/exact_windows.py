"""The engine of `exact`: windows cross gates, vertices bend paths; read the text there first."""

from __future__ import annotations

from math import atan2, sqrt

import numpy as np

from partwhole.geodesics.cpu.exact_bends import leave_vertex, room_for_vertex
from partwhole.geodesics.cpu.exact_fans import next_corner, previous_corner
from partwhole.geodesics.cpu.exact_queue import (
    ANGLE,
    APEX_X,
    APEX_Y,
    BASE,
    BEGINS,
    BETTER,
    BUDGET,
    COS_LEFT,
    COS_RIGHT,
    CURRENT,
    FORWARD,
    FREE_COUNT,
    LEFT,
    PENDING,
    REPEAT,
    RIGHT,
    SIN_LEFT,
    SIN_RIGHT,
    SLACK,
    THIN,
    enqueue,
    grown,
    kernel,
    new_queue,
    pop,
    release,
    take,
    wait,
)
from partwhole.store.compute import njit

_KEEP = 1 + 1e-12  # another path must be shorter by this factor before it trims a ray
_TOUCH = 1e-11  # a window that misses the apex by no more than this still reaches it

# Arrays are passed one by one, and none is bound anew inside of `_propagate`: see `exact_kernel`.


@njit(cache=True, nogil=True, error_model="numpy")
def propagate_all(surface, sources, out):
    """Fill row k of out with the distances from sources[k]; the number of rows for which the budget of windows ran out.

    The budget is a thousand times what real surfaces need. It ends the work where lengths that differ by many orders of
    magnitude inside of a triangle make rays wind for ever; distances are then lengths of paths, perhaps not the shortest.
    """
    n, n_gates = len(surface.bend), len(surface.corner_vertex)
    lines, links = new_queue(n + n_gates)
    counters = np.zeros(5, np.int64)
    exhausted = 0
    waiting = np.full((n_gates, 3), -1, np.int32)
    waiting[:, 1] = 0
    arrival = np.zeros(n)
    windows, following = grown(np.empty((0, 5)), np.empty(0, np.int32), counters, 1024)
    for row in range(len(sources)):
        out[row] = np.inf
        out[row, sources[row]] = 0.0
        counters[CURRENT] = 0
        counters[BUDGET] = int(n_gates * (200 + 20 * sqrt(n_gates)))
        enqueue(lines, links, counters, sources[row], n, 0.0)
        while counters[PENDING] > 0:
            needed = _propagate(
                surface.corner_vertex, surface.gates, surface.exit_start, surface.exits, surface.vertex_start,
                surface.vertex_corner, surface.bend, surface.total_angle, surface.bucket_width, sources[row],
                out[row], arrival, windows, following, waiting, lines, links, counters,
            )  # fmt: skip
            if needed > 0:
                windows, following = grown(windows, following, counters, needed)
        for gate in range(n_gates):
            release(waiting[gate, 2], following, counters)
            waiting[gate, 2] = -1
        exhausted += counters[BUDGET] < 0
    return exhausted


@kernel
def _propagate(
    corner_vertex, gates, exit_start, exits, vertex_start, vertex_corner, bend, total_angle, width, source,
    distance, arrival, windows, following, waiting, lines, links, counters,
):  # fmt: skip
    """Work until nothing is pending (returns 0), or the pool is too small for the next step (returns the room it needs)."""
    n = len(distance)
    while counters[PENDING] > 0:
        item = pop(lines, links, counters)
        if item < n:
            needed = room_for_vertex(item, exit_start, vertex_start, vertex_corner)
        else:
            needed = _room_for_gate(item - n, gates, exit_start, waiting)
        if needed > counters[FREE_COUNT]:
            enqueue(lines, links, counters, item, n, 0.0)
            return needed
        if item >= n and counters[BUDGET] < 0:
            release(waiting[item - n, 0], following, counters)
            waiting[item - n, 0], waiting[item - n, 1] = -1, 0
        elif item < n:
            leave_vertex(
                corner_vertex, gates, exit_start, exits, vertex_start, vertex_corner, bend, total_angle, width, item,
                item == source, distance, arrival, windows, following, waiting, lines, links, counters,
            )  # fmt: skip
        else:
            cross_gate(
                corner_vertex, gates, exit_start, exits, width, item - n, distance, arrival,
                windows, following, waiting, lines, links, counters,
            )  # fmt: skip
    return 0


@kernel
def cross_gate(
    corner_vertex, gates, exit_start, exits, width, gate, distance, arrival,
    windows, following, waiting, lines, links, counters,
):  # fmt: skip
    """Send all windows that wait at the gate over its triangle, to the gates behind its other two sides."""
    n = len(distance)
    first = waiting[gate, 0]
    waiting[gate, 0], waiting[gate, 1] = -1, 0
    left, right = previous_corner(gate), next_corner(gate)
    apex = corner_vertex[gate]
    if gates[gate, REPEAT] > 0.0:
        _forget_repeated(gate, gates[gate, REPEAT], first, windows, following, waiting, counters)
    if _reach_apex(gates, gate, apex, first, distance, arrival, windows, following):
        enqueue(lines, links, counters, apex, n, distance[apex] / width)

    base, apex_x, apex_y, slack = gates[gate, BASE], gates[gate, APEX_X], gates[gate, APEX_Y], gates[gate, SLACK]
    at_start = distance[corner_vertex[right]] * _KEEP - slack
    at_end = distance[corner_vertex[left]] * _KEEP - slack
    at_apex = distance[apex] * _KEEP - slack
    for k in range(exit_start[left], exit_start[left + 1]):
        # where faces are oriented alike, the gate behind the left side runs from the base to the apex
        nearest = _cross_left(
            first, False, base, apex_x, apex_y, gates[gate, LEFT], gates[gate, COS_LEFT], gates[gate, SIN_LEFT],
            at_start, at_apex, at_end, exits[k, 0], exits[k, 1] != 0, windows, following, waiting, counters,
        )  # fmt: skip
        if nearest < np.inf:
            enqueue(lines, links, counters, n + exits[k, 0], n, nearest / width)
    for k in range(exit_start[right], exit_start[right + 1]):
        # the right side is the left one of the mirrored triangle
        nearest = _cross_left(
            first, True, base, base - apex_x, apex_y, gates[gate, RIGHT], gates[gate, COS_RIGHT], gates[gate, SIN_RIGHT],
            at_end, at_apex, at_start, exits[k, 0], exits[k, 1] == 0, windows, following, waiting, counters,
        )  # fmt: skip
        if nearest < np.inf:
            enqueue(lines, links, counters, n + exits[k, 0], n, nearest / width)

    release(first, following, counters)


@kernel
def _reach_apex(gates, gate, apex, window, distance, arrival, windows, following):
    """Give the apex the shortest length that a window in the list offers; True if that is better than what it had."""
    apex_x, apex_y = gates[gate, APEX_X], gates[gate, APEX_Y]
    touch = _TOUCH * gates[gate, BASE]
    best, best_x, best_y = distance[apex] * BETTER, 0.0, -1.0
    while window >= 0:
        low, high = windows[window, 0], windows[window, 1]
        x, y, sigma = windows[window, 2], windows[window, 3], windows[window, 4]
        window = following[window]
        # the ray to the apex crosses the base at x + reach / height
        height = y + apex_y
        reach = (apex_x - x) * y
        if high > low and reach >= (low - touch - x) * height and reach <= (high + touch - x) * height:
            length = sigma + sqrt((apex_x - x) * (apex_x - x) + height * height)
            if length < best:
                best, best_x, best_y = length, x, y
    if best_y < 0.0:
        return False
    distance[apex] = best
    # turn from the left side to the ray, both seen from the apex
    dx, dy = best_x - apex_x, -best_y - apex_y
    turn = atan2(apex_y * dx - apex_x * dy, -apex_x * dx - apex_y * dy)
    turn = min(max(turn, 0.0), gates[gate, ANGLE])
    arrival[apex] = gates[gate, BEGINS] + (turn if gates[gate, FORWARD] != 0.0 else gates[gate, ANGLE] - turn)
    return True


@kernel
def _cross_left(
    window, mirror, base, apex_x, apex_y, side, cosine, sine, at_start, at_apex, at_end,
    gate, turned, windows, following, waiting, counters,
):  # fmt: skip
    """Send the windows of a list through the left side, to a gate behind it; the smallest distance in those that arrive.

    mirror: the windows are to be mirrored first; turned: the gate runs from the apex to the base.
    """
    nearest = np.inf
    while window >= 0:
        low, high = windows[window, 0], windows[window, 1]
        x, y, sigma = windows[window, 2], windows[window, 3], windows[window, 4]
        window = following[window]
        if mirror:
            low, high, x = base - high, base - low, base - x
        height = y + apex_y
        reach = (apex_x - x) * y
        if not (high > low and reach > (low - x) * height):
            continue
        sx, sy = x * cosine - y * sine, y * cosine + x * sine
        b0 = side * (y * low) / (apex_x * y - apex_y * (low - x)) if low > 0.0 else 0.0
        b1 = side
        if reach >= (high - x) * height:
            b1 = min(side, side * (y * high) / (apex_x * y - apex_y * (high - x)))
        b0, b1 = _trim(b0, b1, sx, sy, sigma, side, at_start, at_apex)
        if not (b1 - b0 > THIN * side and sy > 0.0):
            continue
        # the end of the base lies on the other side of all these rays: its path to b0 crosses them all
        dx, dy, ex = base * cosine - b0, base * sine, sx - b0
        if at_end + sqrt(dx * dx + dy * dy) < sigma + sqrt(ex * ex + sy * sy):
            continue
        if turned:
            b0, b1, sx = side - b1, side - b0, side - sx
        nearest = min(nearest, wait(gate, b0, b1, sx, sy, sigma, windows, following, waiting, counters))
    return nearest


@kernel
def _trim(b0, b1, sx, sy, sigma, side, at_start, at_end):
    """What is left of [b0, b1] where the paths along the side from its two ends are shorter than the rays from s.

    The start gets to the point b by at_start + b, s by sigma + |s - b|; they are equal at b = excess / (2 gain).
    """
    ahead = at_start - sigma
    gain = ahead + sx
    excess = sx * sx + sy * sy - ahead * ahead
    if gain <= 0.0:
        return 0.0, 0.0
    if excess > 2.0 * gain * b0:
        b0 = excess / (2.0 * gain)
    ahead = at_end - sigma
    gain = ahead + (side - sx)
    excess = (side - sx) * (side - sx) + sy * sy - ahead * ahead
    if gain <= 0.0:
        return 0.0, 0.0
    if excess > 2.0 * gain * (side - b1):
        b1 = side - excess / (2.0 * gain)
    return b0, b1


@kernel
def _forget_repeated(gate, slack, window, windows, following, waiting, counters):
    """Trim the windows of a list by all that have crossed the gate before, where those were as short, within the slack.

    In flat triangles, and where sheets lie on each other, many paths are equally long and no vertex trims them: rays could
    wind around a vertex for ever, and take every combination of sheets.
    """
    while window >= 0:
        b0, b1 = windows[window, 0], windows[window, 1]
        x, y, sigma = windows[window, 2], windows[window, 3], windows[window, 4]
        other = waiting[gate, 2]
        while other >= 0 and b1 > b0:
            a0, a1 = windows[other, 0], windows[other, 1]
            ox, oy, other_sigma = windows[other, 2], windows[other, 3], windows[other, 4]
            low, high = max(a0, b0), min(a1, b1)
            # |o - b| - |s - b| is extreme at the ends, and where the line through o and s meets the gate
            between = low
            if y != oy:
                between = min(max((ox * y - x * oy) / (y - oy), low), high)
            if (
                high > low
                and _length(other_sigma, ox, oy, low) <= _length(sigma, x, y, low) + slack
                and _length(other_sigma, ox, oy, high) <= _length(sigma, x, y, high) + slack
                and _length(other_sigma, ox, oy, between) <= _length(sigma, x, y, between) + slack
            ):
                if b0 >= a0:
                    b0 = high
                elif b1 <= a1:
                    b1 = low
            other = following[other]
        # a window no wider than the slack is as good as the end of its neighbour
        if b1 - b0 <= slack:
            b1 = b0
        windows[window, 0], windows[window, 1] = b0, b1
        if b1 > b0:
            copy = take(b0, b1, x, y, sigma, windows, following, counters)
            following[copy] = waiting[gate, 2]
            waiting[gate, 2] = copy
        window = following[window]


@kernel
def _length(sigma, x, y, b):
    """Length of the path by a window to the point b of its gate."""
    return sigma + sqrt((b - x) * (b - x) + y * y)


@kernel
def _room_for_gate(gate, gates, exit_start, waiting):
    """How many windows can come from those that wait at a gate; some gates keep a copy of each."""
    a, b = next_corner(gate), previous_corner(gate)
    count = exit_start[a + 1] - exit_start[a] + exit_start[b + 1] - exit_start[b]
    return waiting[gate, 1] * (count + 1 if gates[gate, REPEAT] > 0.0 else count)
