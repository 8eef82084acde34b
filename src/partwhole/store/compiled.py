"""numba's `njit`, which keeps what it compiled where that can be done, and does without where it can't."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit(**options)`; with cache=True, folders that can't be written or read stop nothing.

    numba itself refuses a function if neither the folder of its file nor the user's folder for cached files can be written,
    as for a user without a home of a library that others installed, and fails on a full disk.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            kernel = numba.njit(**options)(function)
        except RuntimeError:  # there is no folder: it is compiled in every process
            return numba.njit(**{**options, "cache": False})(function)
        kept = getattr(kernel, "_cache", None)  # with NUMBA_DISABLE_JIT there is none
        for name in ("load_overload", "save_overload"):
            if hasattr(kept, name):
                setattr(kept, name, _unless_refused(getattr(kept, name)))
        return kernel

    return compiled


def _unless_refused(act: Callable[..., Any]) -> Callable[..., Any]:
    def tried(*given: Any) -> Any:
        try:
            return act(*given)
        except OSError:  # as if nothing had been kept
            return None

    return tried
