"""The min-plus product on the CPU: a register-tiled loop that LLVM turns into wide vector instructions.

Four rows of the left factor meet four rows of the right one at a time, so that each value loaded is used four times
while it sits in a register. A panel of the right factor (at most `DEPTH` rows of `WIDTH_BYTES`) is copied to
contiguous memory that fits the second-level cache, padded with inf, which changes no minimum; that leaves the inner
loop without remainders.
"""

from __future__ import annotations

import numpy as np

from partwhole.store.compute import njit

ROWS = 4
UNROLL = 4
LANES = 16
WIDTH_BYTES = 3072
DEPTH = 320


# 'nnan' and 'nsz' let min become one instruction; 'ninf' is left out, because inf is a legal distance
@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _update(left, panel, tile, k):
    """tile = min(tile, left[:, k : k + 4] ⊗ panel[k : k + 4]), written out so that all 16 factors stay in registers."""
    a00, a01, a02, a03 = left[0, k], left[0, k + 1], left[0, k + 2], left[0, k + 3]
    a10, a11, a12, a13 = left[1, k], left[1, k + 1], left[1, k + 2], left[1, k + 3]
    a20, a21, a22, a23 = left[2, k], left[2, k + 1], left[2, k + 2], left[2, k + 3]
    a30, a31, a32, a33 = left[3, k], left[3, k + 1], left[3, k + 2], left[3, k + 3]
    for j in range(tile.shape[1]):
        b0, b1, b2, b3 = panel[k, j], panel[k + 1, j], panel[k + 2, j], panel[k + 3, j]
        tile[0, j] = min(min(min(min(tile[0, j], a00 + b0), a01 + b1), a02 + b2), a03 + b3)
        tile[1, j] = min(min(min(min(tile[1, j], a10 + b0), a11 + b1), a12 + b2), a13 + b3)
        tile[2, j] = min(min(min(min(tile[2, j], a20 + b0), a21 + b1), a22 + b2), a23 + b3)
        tile[3, j] = min(min(min(min(tile[3, j], a30 + b0), a31 + b1), a32 + b2), a33 + b3)


@njit(cache=True, nogil=True)
def _even_block(size, largest, unit):
    """Size of equal blocks, a multiple of `unit`, about `largest` at most: so that little padding is computed."""
    count = (size + largest - 1) // largest
    return ((size + count - 1) // count + unit - 1) // unit * unit


@njit(cache=True, nogil=True)
def _pack(source, row, column, target):
    """Copy the part of `source` that starts at (row, column) into `target`, and fill what lies outside with inf."""
    height = min(target.shape[0], source.shape[0] - row)
    width = min(target.shape[1], source.shape[1] - column)
    target[height:, :] = np.inf
    target[:height, width:] = np.inf
    for i in range(height):
        for j in range(width):
            target[i, j] = source[row + i, column + j]


@njit(cache=True, nogil=True)
def min_plus_rows(a, b, out, start, stop):
    """Rows start to stop of out_ij = min_k a_ik + b_kj; a, b, out of one float type, without NaN."""
    inner, n = b.shape
    if inner == 0 or n == 0:
        out[start:stop] = np.inf
        return
    depth = _even_block(inner, DEPTH, UNROLL)
    block = _even_block(n, WIDTH_BYTES // b.itemsize, LANES)
    panel = np.empty((depth, block), b.dtype)
    left = np.empty((ROWS, depth), b.dtype)
    tile = np.empty((ROWS, block), b.dtype)
    for column in range(0, n, block):
        width = min(block, n - column)
        for k in range(0, inner, depth):
            _pack(b, k, column, panel)
            for row in range(start, stop, ROWS):
                height = min(ROWS, stop - row)
                _pack(a[:stop], row, k, left)
                if k == 0:
                    tile[:] = np.inf
                else:
                    _pack(out[:stop], row, column, tile)
                for kk in range(0, depth, UNROLL):
                    _update(left, panel, tile, kk)
                for i in range(height):
                    for j in range(width):
                        out[row + i, column + j] = tile[i, j]
