"""The engine of `exact`: windows cross gates, vertices bend paths; read the text there first."""

from __future__ import annotations

from math import atan2, cos, pi, sin, sqrt

import numpy as np
from numba import njit

from partwhole.geodesics.cpu.exact_fans import next_corner, previous_corner
from partwhole.geodesics.cpu.exact_kernel import kernel
from partwhole.geodesics.cpu.exact_queue import CURRENT, PENDING, enqueue, new_queue, pop

# columns of `gates`: the triangle above the gate, sides, direction of the sides as seen from the ends of the base,
# by how much other paths may be longer and still trim, how close to an earlier window another one is a copy of it (0:
# nothing is remembered), and the corner at the apex: angle, place in the fan, and whether the fan goes from left to right
BASE, APEX_X, APEX_Y, LEFT, RIGHT, COS_LEFT, SIN_LEFT, COS_RIGHT, SIN_RIGHT = range(9)
SLACK, REPEAT, ANGLE, BEGINS, FORWARD = range(9, 14)

# places in `counters`, beside those of the queue: the first free window, how many are free, how many may still be sent
_FREE, _FREE_COUNT, _BUDGET = 2, 3, 4

_KEEP = 1 + 1e-12  # another path must be shorter by this factor before it trims a ray
_BETTER = 1 - 1e-14  # and a new distance by this one before it is passed on
_THIN = 1e-14  # windows narrower than this, relative to their gate, hold no ray
_TOUCH = 1e-11  # a window that misses the apex by no more than this still reaches it
_ANGLE_TOUCH = 1e-9  # as much is added to the directions into which a path may bend

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
    windows, following = _grown(np.empty((0, 5)), np.empty(0, np.int32), counters, 1024)
    for row in range(len(sources)):
        out[row] = np.inf
        out[row, sources[row]] = 0.0
        counters[CURRENT] = 0
        counters[_BUDGET] = int(n_gates * (200 + 20 * sqrt(n_gates)))
        enqueue(lines, links, counters, sources[row], n, 0.0)
        while counters[PENDING] > 0:
            needed = _propagate(
                surface.corner_vertex, surface.gates, surface.exit_start, surface.exits, surface.vertex_start,
                surface.vertex_corner, surface.bend, surface.total_angle, surface.bucket_width, sources[row],
                out[row], arrival, windows, following, waiting, lines, links, counters,
            )  # fmt: skip
            if needed > 0:
                windows, following = _grown(windows, following, counters, needed)
        for gate in range(n_gates):
            _release(waiting[gate, 2], following, counters)
            waiting[gate, 2] = -1
        exhausted += counters[_BUDGET] < 0
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
            needed = _room_for_vertex(item, exit_start, vertex_start, vertex_corner)
        else:
            needed = _room_for_gate(item - n, gates, exit_start, waiting)
        if needed > counters[_FREE_COUNT]:
            enqueue(lines, links, counters, item, n, 0.0)
            return needed
        if item >= n and counters[_BUDGET] < 0:
            _release(waiting[item - n, 0], following, counters)
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

    _release(first, following, counters)


@kernel
def _reach_apex(gates, gate, apex, window, distance, arrival, windows, following):
    """Give the apex the shortest length that a window in the list offers; True if that is better than what it had."""
    apex_x, apex_y = gates[gate, APEX_X], gates[gate, APEX_Y]
    touch = _TOUCH * gates[gate, BASE]
    best, best_x, best_y = distance[apex] * _BETTER, 0.0, -1.0
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
        if not (b1 - b0 > _THIN * side and sy > 0.0):
            continue
        # the end of the base lies on the other side of all these rays: its way to b0 crosses them all
        dx, dy, ex = base * cosine - b0, base * sine, sx - b0
        if at_end + sqrt(dx * dx + dy * dy) < sigma + sqrt(ex * ex + sy * sy):
            continue
        if turned:
            b0, b1, sx = side - b1, side - b0, side - sx
        nearest = min(nearest, _wait(gate, b0, b1, sx, sy, sigma, windows, following, waiting, counters))
    return nearest


@kernel
def _trim(b0, b1, sx, sy, sigma, side, at_start, at_end):
    """What is left of [b0, b1] where the ways along the side from its two ends are shorter than the rays from s.

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
def _wait(gate, b0, b1, sx, sy, sigma, windows, following, waiting, counters):
    """Let a window wait at a gate; the distance of its nearest point."""
    window = _take(b0, b1, sx, sy, sigma, windows, following, counters)
    following[window] = waiting[gate, 0]
    waiting[gate, 0] = window
    waiting[gate, 1] += 1
    aside = min(max(sx, b0), b1) - sx
    return sigma + sqrt(aside * aside + sy * sy)


@kernel
def _forget_repeated(gate, slack, window, windows, following, waiting, counters):
    """Trim the windows of a list by all that have crossed the gate before, where those were as short, within the slack.

    In flat triangles, and where sheets lie on each other, many ways are equally long and no vertex trims them: rays could
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
            copy = _take(b0, b1, x, y, sigma, windows, following, counters)
            following[copy] = waiting[gate, 2]
            waiting[gate, 2] = copy
        window = following[window]


@kernel
def _length(sigma, x, y, b):
    """Length of the way by a window to the point b of its gate."""
    return sigma + sqrt((b - x) * (b - x) + y * y)


@kernel
def _take(b0, b1, sx, sy, sigma, windows, following, counters):
    """A window from the list of free ones, filled."""
    window = counters[_FREE]
    counters[_FREE] = following[window]
    counters[_FREE_COUNT] -= 1
    counters[_BUDGET] -= 1
    windows[window, 0], windows[window, 1] = b0, b1
    windows[window, 2], windows[window, 3], windows[window, 4] = sx, sy, sigma
    return window


@kernel
def _release(window, following, counters):
    """Put all windows of a list back to the free ones."""
    while window >= 0:
        after = following[window]
        following[window] = counters[_FREE]
        counters[_FREE] = window
        counters[_FREE_COUNT] += 1
        window = after


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
            if length < distance[u] * _BETTER:
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
        if not b1 - b0 > _THIN * base:
            continue
        for e in range(exit_start[corner], exit_start[corner + 1]):
            gate = exits[e, 0]
            if exits[e, 1] != 0:
                nearest = _wait(gate, b0, b1, apex_x, apex_y, distance[v], windows, following, waiting, counters)
            else:
                nearest = _wait(
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
        # the fan of a border vertex does not close: far enough to either side will do
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
def _room_for_vertex(v, exit_start, vertex_start, vertex_corner):
    """How many windows a vertex can send at most."""
    count = 0
    for k in range(vertex_start[v], vertex_start[v + 1]):
        corner = vertex_corner[k]
        count += exit_start[corner + 1] - exit_start[corner]
    return count


@kernel
def _room_for_gate(gate, gates, exit_start, waiting):
    """How many windows can come from those that wait at a gate; some gates keep a copy of each."""
    a, b = next_corner(gate), previous_corner(gate)
    count = exit_start[a + 1] - exit_start[a] + exit_start[b + 1] - exit_start[b]
    return waiting[gate, 1] * (count + 1 if gates[gate, REPEAT] > 0.0 else count)


@njit(cache=True, nogil=True, error_model="numpy")
def _grown(windows, following, counters, needed):
    """The pool of windows with room for at least `needed` more, the new ones in front of the list of free ones."""
    old = len(following)
    new = 2 * old + needed
    more_windows, more_following = np.empty((new, 5)), np.empty(new, np.int32)
    more_windows[:old] = windows
    more_following[:old] = following
    for k in range(old, new):
        more_following[k] = k + 1
    more_following[new - 1] = counters[_FREE] if old > 0 else -1
    counters[_FREE] = old
    counters[_FREE_COUNT] += new - old
    return more_windows, more_following
