"""A queue of vertices and gates for `exact`: a ring of buckets by distance, in each the vertices before the gates.

Items below n are vertices, the others gates. Within a bucket, first in, first out. The order is approximate: what
lies too far ahead for the ring waits in its last bucket.
"""

from __future__ import annotations

import numpy as np

from partwhole.geodesics.cpu.exact_kernel import kernel
from partwhole.store.compute import njit

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
