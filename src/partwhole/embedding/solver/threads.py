"""Threads: rows shared out among our own, and none in BLAS, so that results don't depend on how many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from partwhole.store.compute import available_cores

# fewer pairs than this are done before a second thread has started
_WORTH_A_THREAD = 200_000


def one_blas_thread() -> Any:
    """A context in which BLAS works on one thread.

    How BLAS splits a sum among threads changes its last digits; and threads that wait for each other on a busy machine are
    slower than one.
    """
    return threadpool_limits(limits=1, user_api="blas")


class RowThreads:
    """Calls a kernel that releases the interpreter's lock on ranges of rows at once. A context, which ends the threads."""

    def __init__(self, n_rows: int, n_pairs: int) -> None:
        workers = available_cores() if n_pairs > _WORTH_A_THREAD else 1
        # a few blocks for each worker, so that one held up by other work does not hold up the rest
        self._bounds = np.linspace(0, n_rows, 4 * workers + 1 if workers > 1 else 2).astype(int).tolist()
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None

    def __call__(self, kernel: Callable[..., None], given: Sequence[Any] = (), out: Sequence[Any] = ()) -> None:
        """kernel(*given, start, stop, *out) for ranges that make up all rows.

        >>> with RowThreads(5, 10) as threads:
        ...     threads(lambda name, start, stop, met: met.append((name, start, stop)), ["rows"], [found := []])
        >>> found
        [('rows', 0, 5)]
        """
        ranges = list(pairwise(self._bounds))
        if self._pool is None:
            kernel(*given, *ranges[0], *out)
            return
        started = [self._pool.submit(kernel, *given, start, stop, *out) for start, stop in ranges]
        for one in started:
            one.result()

    def __enter__(self) -> RowThreads:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
