"""Where the windows of `exact` are kept: one pool, with a list of those that wait at each gate and one of the free ones."""

from __future__ import annotations

from math import sqrt

import numpy as np

from partwhole.geodesics.cpu.exact_kernel import kernel
from partwhole.store.compute import njit

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
