"""The min-plus product as a Triton kernel."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def min_plus_tile(
    a_transposed, b, c, rows, inner, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr, UNROLL: tl.constexpr
):
    """C = min over k of Aᵀ[k, i] + B[k, j], one tile of C per program; `inner` is a multiple of UNROLL."""
    i = (tl.program_id(1) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    j = (tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)).to(tl.int64)
    inside_i, inside_j = i < rows, j < columns
    best = tl.full((ROWS, COLUMNS), float("inf"), a_transposed.dtype.element_ty)
    for k in range(0, inner, UNROLL):
        for step in tl.static_range(UNROLL):
            left = tl.load(a_transposed + (k + step) * rows + i, mask=inside_i, other=float("inf"))
            right = tl.load(b + (k + step) * columns + j, mask=inside_j, other=float("inf"))
            best = tl.minimum(best, left[:, None] + right[None, :])
    tl.store(c + i[:, None] * columns + j[None, :], best, mask=inside_i[:, None] & inside_j[None, :])
