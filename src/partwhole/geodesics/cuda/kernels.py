"""Triton kernels for distances; see `geodesics/cuda/relaxation.py`."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def relax_step(
    distance,
    awake,
    woken,
    moved,
    segment_start,
    segment_from,
    segment_length,
    triangle_start,
    triangle_from,
    shape,
    blocks,
    shrink,
    BLOCK: tl.constexpr,
):
    """One relaxation of vertex program_id(0) for the sources of block program_id(1)."""
    v = tl.program_id(0).to(tl.int64)
    block = tl.program_id(1)
    if tl.load(awake + v * blocks + block) != 0:
        tl.store(awake + v * blocks + block, 0)
        width = blocks * BLOCK
        lane = block * BLOCK + tl.arange(0, BLOCK)
        before = tl.load(distance + v * width + lane)
        best = before
        first = tl.load(segment_start + v)
        end = tl.load(segment_start + v + 1)
        for e in range(first, end):
            u = tl.load(segment_from + e).to(tl.int64)
            along = tl.load(distance + u * width + lane) + tl.load(segment_length + e)
            best = tl.where(along < best, along, best)
        for t in range(tl.load(triangle_start + v), tl.load(triangle_start + v + 1)):
            a = tl.load(triangle_from + 2 * t).to(tl.int64)
            b = tl.load(triangle_from + 2 * t + 1).to(tl.int64)
            from_a = tl.load(distance + a * width + lane)
            from_b = tl.load(distance + b * width + lane)
            x = tl.load(shape + 5 * t)
            y = tl.load(shape + 5 * t + 1)
            base = tl.load(shape + 5 * t + 2)
            half_base = tl.load(shape + 5 * t + 3)
            scale = tl.load(shape + 5 * t + 4)
            s = (from_a - from_b) * (from_a + from_b) * scale + half_base
            h = tl.sqrt((from_a - s) * (from_a + s))
            crossing = s * y + x * h
            front = tl.sqrt((x - s) * (x - s) + (y + h) * (y + h))
            arrives = (front >= from_a) & (front >= from_b) & (crossing >= 0) & (crossing <= base * (y + h))
            best = tl.where(arrives & (front < best), front, best)
        if tl.max((best < before * shrink).to(tl.int32)) != 0:
            tl.store(distance + v * width + lane, best)
            tl.store(moved, 1)
            for e in range(first, end):
                u = tl.load(segment_from + e).to(tl.int64)
                ahead = best < tl.load(distance + u * width + lane)
                if tl.max(ahead.to(tl.int32)) != 0:
                    tl.store(woken + u * blocks + block, 1)
