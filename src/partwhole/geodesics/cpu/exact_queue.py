"""The data structures of `exact`: a pool of windows, with a list of those that wait at each gate, and a queue.

The queue holds vertices and gates in a ring of buckets by distance, in each the vertices before the gates. Items below n are
vertices, the others gates. Within a bucket, first in, first out. The order is approximate: what lies too far ahead for the
ring waits in its last bucket.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba.core.options import DefaultOptions

from partwhole.store.compute import njit

# Functions that allocate nothing need no reference counts, whose atomic operations would take a quarter of the time. numba
# has an option for it that is not documented; where it is missing, the same code runs, slower.
_UNCOUNTED = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}


def kernel(function):
    """njit, for functions that work in place on arrays given to them and allocate nothing."""
    return njit(cache=True, nogil=True, error_model="numpy", **_UNCOUNTED)(function)


# columns of `gates`: the triangle above the gate, sides, direction of the sides as seen from the ends of the base,
# by how much other paths may be longer and still trim, how close to an earlier window another one is a copy of it (0:
# nothing is remembered), and the corner at the apex: angle, place in the fan, and whether the fan goes from left to right
BASE, APEX_X, APEX_Y, LEFT, RIGHT, COS_LEFT, SIN_LEFT, COS_RIGHT, SIN_RIGHT = range(9)
SLACK, REPEAT, ANGLE, BEGINS, FORWARD = range(9, 14)

# places in `counters`, beside those of the queue: the first free window, how many are free, how many may still be sent
FREE, FREE_COUNT, BUDGET = 2, 3, 4

THIN = 1e-14  # windows narrower than this, relative to their gate, hold no ray
BETTER = 1 - 1e-14  # a new distance must be shorter by this factor before it is passed on


@kernel
def wait(gate, b0, b1, sx, sy, sigma, windows, following, waiting, counters):
    """Let a window wait at a gate; the distance of its nearest point."""
    window = take(b0, b1, sx, sy, sigma, windows, following, counters)
    following[window] = waiting[gate, 0]
    waiting[gate, 0] = window
    waiting[gate, 1] += 1
    aside = min(max(sx, b0), b1) - sx
    return sigma + sqrt(aside * aside + sy * sy)


@kernel
def take(b0, b1, sx, sy, sigma, windows, following, counters):
    """A window from the list of free ones, filled."""
    window = counters[FREE]
    counters[FREE] = following[window]
    counters[FREE_COUNT] -= 1
    counters[BUDGET] -= 1
    windows[window, 0], windows[window, 1] = b0, b1
    windows[window, 2], windows[window, 3], windows[window, 4] = sx, sy, sigma
    return window


@kernel
def release(window, following, counters):
    """Put all windows of a list back to the free ones."""
    while window >= 0:
        after = following[window]
        following[window] = counters[FREE]
        counters[FREE] = window
        counters[FREE_COUNT] += 1
        window = after


@njit(cache=True, nogil=True, error_model="numpy")
def grown(windows, following, counters, needed):
    """The pool of windows with room for at least `needed` more, the new ones in front of the list of free ones."""
    old = len(following)
    new = 2 * old + needed
    more_windows, more_following = np.empty((new, 5)), np.empty(new, np.int32)
    more_windows[:old] = windows
    more_following[:old] = following
    for k in range(old, new):
        more_following[k] = k + 1
    more_following[new - 1] = counters[FREE] if old > 0 else -1
    counters[FREE] = old
    counters[FREE_COUNT] += new - old
    return more_windows, more_following


N_BUCKETS = 4096  # a power of two, well above twice the longest edge over the width of a bucket

# places in the array of counters
CURRENT, PENDING = 0, 1


@njit(cache=True, nogil=True, error_model="numpy")
def new_queue(size):
    """First and last item of each line; the item after and before each item, and the bucket it waits in. -1 for none."""
    return np.full((2 * N_BUCKETS, 2), -1, np.int32), np.full((size, 3), -1, np.int32)


@kernel
def enqueue(lines, links, counters, item, n, position):
    """Queue an item at a position (distance over bucket width), or move it forward if it waits further behind."""
    current = counters[CURRENT]
    ahead = int(min(max(position - current, 0.0), N_BUCKETS - 1.0))
    if links[item, 2] >= 0:
        if (links[item, 2] - current) % N_BUCKETS <= ahead:
            return
        _unlink(lines, links, item, 2 * links[item, 2] + (item >= n))
        counters[PENDING] -= 1
    links[item, 2] = (current + ahead) % N_BUCKETS
    line = 2 * links[item, 2] + (item >= n)
    links[item, 1], links[item, 0] = lines[line, 1], -1
    if lines[line, 1] >= 0:
        links[lines[line, 1], 0] = item
    else:
        lines[line, 0] = item
    lines[line, 1] = item
    counters[PENDING] += 1


@kernel
def pop(lines, links, counters):
    """Take the next item; there must be one."""
    while True:
        line = 2 * (counters[CURRENT] % N_BUCKETS)
        if lines[line, 0] < 0:
            line += 1
        item = lines[line, 0]
        if item >= 0:
            _unlink(lines, links, item, line)
            links[item, 2] = -1
            counters[PENDING] -= 1
            return item
        counters[CURRENT] += 1


@kernel
def _unlink(lines, links, item, line):
    if links[item, 1] >= 0:
        links[links[item, 1], 0] = links[item, 0]
    else:
        lines[line, 0] = links[item, 0]
    if links[item, 0] >= 0:
        links[links[item, 0], 1] = links[item, 1]
    else:
        lines[line, 1] = links[item, 1]
