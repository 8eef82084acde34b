"""What the processes of all engines have in common: one thread each."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# libraries read these when they are imported
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


@contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    """In the block, processes that are started have these variables."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def one_thread() -> Iterator[None]:
    """In the block, libraries that were loaded before their variables were set use one thread."""
    from threadpoolctl import threadpool_limits

    # numba counts for each thread, so it has to be told by the one that computes
    if "numba" in sys.modules:
        sys.modules["numba"].set_num_threads(1)
    with threadpool_limits(limits=1):
        yield
