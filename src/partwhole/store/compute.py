"""Computing on the processor: how many cores there are, and numba kernels that are compiled once and kept."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

# values that differ from the best by less, relatively, count as equal to it
_EQUAL = 1e-6


def first_largest(values: ArrayLike) -> int:
    """The number of the first value that no other exceeds by more than rounding.

    >>> first_largest([1.0, 3.0 - 1e-12, 3.0]), first_largest([1.0, np.inf, np.inf]), first_largest([2.0, 3.0])
    (1, 1, 1)
    """
    given = np.asarray(values)
    largest = given.max()
    return int(np.argmax(given >= (largest - _EQUAL * abs(largest) if np.isfinite(largest) else largest)))


def first_smallest(values: ArrayLike) -> int:
    """The number of the first value that exceeds no other by more than rounding.

    >>> first_smallest([2.0, 1.0 + 1e-12, 1.0])
    1
    """
    return first_largest(-np.asarray(values))


def nearest_rotation(matrix: Float[np.ndarray, "*k 3 3"]) -> Float[np.ndarray, "*k 3 3"]:
    """argmax over rotations R of tr(Rᵀ M), the rotation nearest to M, for one matrix or for many.

    >>> nearest_rotation(np.diag([3.0, 2.0, -1.0])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    U, _, Vt = np.linalg.svd(matrix)
    # a reflection is not a rotation: the axis of the smallest singular value is turned back
    U[..., 2] *= np.sign(np.linalg.det(U @ Vt))[..., None]
    return U @ Vt


def rotation_onto(
    x: Float[np.ndarray, "p 3"], y: Float[np.ndarray, "p 3"], share: Float[np.ndarray, "p"]
) -> Float[np.ndarray, "3 3"]:
    """argmin over rotations R of Σ share |R x − y|² (Kabsch), for points about their means.

    Examples
    --------
    >>> x = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 3], [-1, -2, -3]])
    >>> R = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    >>> bool(np.allclose(rotation_onto(x, x @ R.T, np.ones(4)), R))
    True
    """
    return nearest_rotation((share[:, None] * y).T @ x)


def with_fixed_signs(vectors: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """Each column times ±1, so that its entry of largest magnitude is positive; the first of those equal up to rounding.

    Eigenvectors are defined up to their sign, and libraries return either. On symmetric input several entries have the
    largest magnitude, and rounding alone would decide which of them it is.

    >>> with_fixed_signs(np.array([[-2.0, 1.0], [2.0 + 1e-12, -3.0]])).round(6).tolist()
    [[2.0, -1.0], [-2.0, 3.0]]
    """
    deciding = [column[first_largest(np.abs(column))] for column in vectors.T]
    return vectors * np.where(np.less(deciding, 0), -1.0, 1.0)


# how often the number of running threads is sampled, and the interval in seconds
_LOOKS, _APART = 7, 0.003


def available_cores() -> int:
    """Number of cores the process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_cores() -> int:
    """Number of these that are idle, by the load of the last minute and by what runs now; at least 1."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if round(load) > 0 and (now := running_now()) is not None:
        # the minute may have been that of an installation, or of this program itself
        load = min(load, now)
    return max(1, available_cores() - round(load))


def running_now(state: Path = Path("/proc/loadavg")) -> float | None:
    """Number of other threads that are running or ready to run; None where the system does not say."""
    seen = []
    try:
        for _ in range(_LOOKS):
            seen.append(int(state.read_text().split()[3].partition("/")[0]) - 1)
            time.sleep(_APART)
    except (OSError, ValueError, IndexError):
        return None
    return max(0.0, median(seen))


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit(**options)`; with cache=True, a cache folder that can't be written or read is no error.

    numba itself raises an error if neither the folder of the file nor the user's cache folder can be written, as for a user
    without a home folder, and on a full disk.
    """

    import numba  # here, since it takes long and counting cores does not need it

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
