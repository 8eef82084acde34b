"""The decorator of the small functions inside the engine of `exact`."""

from __future__ import annotations

from numba.core.options import DefaultOptions

from partwhole.store.compute import njit

# Functions that allocate nothing need no reference counts, whose atomic operations would take a quarter of the time. numba
# has an option for it that is not documented; where it is missing, the same code runs, slower.
_UNCOUNTED = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}


def kernel(function):
    """njit, for functions that work in place on arrays given to them and allocate nothing."""
    return njit(cache=True, nogil=True, error_model="numpy", **_UNCOUNTED)(function)
