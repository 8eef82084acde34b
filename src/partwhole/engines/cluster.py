"""Tasks on the workers of dask.distributed: on this machine, or wherever a scheduler has them."""

from __future__ import annotations

import logging
import os
import secrets
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from partwhole.engines.options import EngineOptions, Lost
from partwhole.engines.worker import ONE_THREAD, one_thread
from partwhole.store.arguments import how_to_install

# tasks that a worker has: one that it does, and the next
_IN_FLIGHT = 2
# tries to start a cluster on this machine
_STARTS = 3
# seconds until a scheduler that does not answer counts as gone
PATIENCE = "20s"


def run_on_cluster(
    do: Callable[[Any], Any], tasks: Sequence[Any], options: EngineOptions
) -> Generator[tuple[int, Any], None, None]:
    """See `run_tasks`. A result is kept by nobody but the caller: one in the memory of a worker that dies would be computed
    again, so futures are released as soon as they are seen.
    """
    distributed = _distributed()
    with _client(distributed, options) as client, client.as_current():
        queue = distributed.as_completed()
        numbers: dict[str, int] = {}
        suspects: list[int] = []
        name = f"partwhole-{secrets.token_hex(8)}"
        submitted = 0

        def submit(number: int, key: str) -> Any:
            return client.submit(partial(_on_worker, do), tasks[number], key=key, pure=False)

        def fill() -> None:
            nonlocal submitted
            room = _IN_FLIGHT * max(1, len(client.nthreads()))
            while submitted < len(tasks) and len(numbers) < room:
                key = f"{name}-{submitted}"
                numbers[key] = submitted
                queue.add(submit(submitted, key))
                submitted += 1

        try:
            fill()
            while numbers:
                future = next(queue)
                number, result = numbers.pop(future.key), _result(distributed, future)
                future.release()
                if submitted < len(tasks):
                    fill()
                if isinstance(result, Lost):
                    suspects.append(number)
                    continue
                yield number, result
            # a task that waited on a worker counts as one that killed it; by itself it dies of nothing but itself
            for number in suspects:
                future = submit(number, f"{name}-{number}-alone")
                distributed.wait(future)
                result = _result(distributed, future)
                future.release()
                yield number, result
        except _gone(distributed) as error:
            where = options.scheduler or "of this machine"
            raise ValueError(
                f"the dask scheduler {where} does not answer any more ({type(error).__name__}); what is finished is kept: "
                "run the same command again to go on"
            ) from None


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ValueError(f"engine dask needs dask.distributed: {how_to_install('dask')}") from None
    return distributed


def _gone(distributed: Any) -> tuple[type[BaseException], ...]:
    """What is raised where the connection to the scheduler is lost."""
    from concurrent.futures import CancelledError

    # of newer releases, whose futures say why they were cancelled
    cancelled = getattr(distributed.client, "FutureCancelledError", CancelledError)
    return CancelledError, cancelled, distributed.comm.CommClosedError, OSError, StopIteration


@contextmanager
def _client(distributed: Any, options: EngineOptions) -> Iterator[Any]:
    """A client of the scheduler that was named, or of a cluster on this machine that lives as long as the block."""
    import dask

    settings = {
        "distributed.scheduler.allowed-failures": options.allowed_failures,
        "distributed.comm.timeouts.connect": PATIENCE,
    }
    with dask.config.set(settings), _quiet("distributed"):
        if options.scheduler is not None:
            try:
                client = distributed.Client(options.scheduler, timeout=PATIENCE, set_as_default=False)
            except (OSError, ValueError) as error:
                raise ValueError(
                    f"no dask scheduler answers at {options.scheduler} ({type(error).__name__}); start one with `dask "
                    "scheduler`, or leave --scheduler out for a cluster on this machine"
                ) from None
            try:
                yield client
            finally:
                client.close(timeout=2)
            return
        cluster = _local_cluster(distributed, options.count)
        try:
            with cluster, distributed.Client(cluster, set_as_default=False) as client:
                yield client
        finally:
            cluster.close(timeout=5)


def _local_cluster(distributed: Any, workers: int) -> Any:
    """A cluster on this machine. A worker that dies while it starts, or is not ready in time, takes the cluster with it, so
    there is more than one try.
    """
    for tries_left in reversed(range(_STARTS)):
        try:
            return distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                # not the usual port, which another run may have
                dashboard_address="127.0.0.1:0",
                env=ONE_THREAD,
                silence_logs=logging.CRITICAL,
            )
        except (RuntimeError, OSError) as error:
            if not tries_left:
                raise ValueError(
                    f"a dask cluster of {workers} workers can't be started here ({error}); run the same command again, with "
                    "fewer workers or with engine processes"
                ) from None
    raise AssertionError


@contextmanager
def _quiet(logger: str) -> Iterator[None]:
    """In the block, a logger says nothing but what is critical: what matters of it is raised."""
    log = logging.getLogger(logger)
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


def _result(distributed: Any, future: Any) -> Any:
    """What a task returned, or `Lost` if its workers died too often."""
    if future.status == "error":
        fault = future.exception()
        if isinstance(fault, distributed.KilledWorker):
            return Lost("the workers that it was given to died, one after the other; memory may be short")
        return Lost(f"unexpected {type(fault).__name__}: {fault}")
    return future.result()


# a worker with several threads does one task at a time: what tasks share in a process is not made for more
_ONE_AT_A_TIME = threading.Lock()


def _on_worker(do: Callable[[Any], Any], task: Any) -> Any:
    """A task, in a process of the cluster."""
    # numba is loaded by the first task at the latest, and must know its number of threads by then
    if "numba" not in sys.modules:
        os.environ.update(ONE_THREAD)
    with _ONE_AT_A_TIME, one_thread():
        return do(task)
