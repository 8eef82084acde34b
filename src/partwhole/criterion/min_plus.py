"""The matrix product of the (min, +) algebra, in which shortest paths are multiplication."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from partwhole.store.compute import available_cores

Device = Literal["cpu", "cuda"]

# below this many additions the start of a thread costs more than it saves
_WORTH_A_THREAD = 5_000_000


def min_plus(a: ArrayLike, b: ArrayLike, *, device: Device = "cpu") -> Float[np.ndarray, "m n"]:
    """C_ij = min_k a_ik + b_kj, written C = a ⊗ b.

    If a and b hold lengths of steps, C holds the lengths of the shortest two-step ways. The result is what NumPy's
    `(a[:, :, None] + b[None]).min(axis=1)` gives, without the array in between; over no k at all it is inf.

    Parameters
    ----------
    a, b : (m, k) and (k, n) matrices of one type, float32 or float64; inf is allowed, NaN and −inf are not
    device : "cpu" uses all the cores the process may run on; "cuda" needs PyTorch with a GPU

    Examples
    --------
    >>> steps = np.array([[0.0, 1.0, np.inf], [1.0, 0.0, 2.0], [np.inf, 2.0, 0.0]])
    >>> min_plus(steps, steps)
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """
    a, b = np.asarray(a), np.asarray(b)
    _check_factors(a, b)
    if device == "cuda":
        from partwhole.criterion.cuda.min_plus import min_plus_arrays as min_plus_cuda

        return min_plus_cuda(a, b)
    if device != "cpu":
        raise ValueError(f'device must be "cpu" or "cuda", got {device!r}')
    return _min_plus_cpu(a, b)


def _min_plus_cpu(a: Float[np.ndarray, "m k"], b: Float[np.ndarray, "k n"]) -> Float[np.ndarray, "m n"]:
    from partwhole.criterion.cpu.min_plus import min_plus_rows

    # one memory layout, so that one kernel is compiled; the copy it may cost is small beside the product
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    out = np.empty((len(a), b.shape[1]), a.dtype)
    workers = available_cores()
    if workers == 1 or len(a) * b.size < _WORTH_A_THREAD:
        min_plus_rows(a, b, out, 0, len(a))
        return out
    # a few blocks for each worker, so that one held up by other work does not hold up the rest
    bounds = np.linspace(0, len(a), 4 * workers + 1).astype(int)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda start, stop: min_plus_rows(a, b, out, start, stop), bounds[:-1], bounds[1:]))
    return out


def _check_factors(a: np.ndarray, b: np.ndarray) -> None:
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(f"min_plus needs shapes (m, k) and (k, n), got {a.shape} and {b.shape}")
    if a.dtype != b.dtype or a.dtype not in (np.float32, np.float64):
        raise ValueError(f"min_plus needs two float32 or two float64 matrices, got {a.dtype} and {b.dtype}: use astype")
    for name, factor in (("a", a), ("b", b)):
        # the smallest entry is NaN if any is, and then the comparison fails as well
        if factor.size and not factor.min() > -np.inf:
            raise ValueError(f"min_plus: {name} contains {factor.min()}; entries must be finite or +inf")
