"""What the processes of all engines have in common: one thread each, and a task that fails says why."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from partwhole.engines.run import Lost

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


def done(do: Callable[[Any], Any], task: Any) -> Any:
    """What `do` returns; an exception becomes `Lost`, since not every one can be sent to another process."""
    try:
        return do(task)
    except Exception as fault:
        return Lost(f"unexpected {type(fault).__name__}: {fault}")
