"""Tasks for the tests of engines: what they do is seen in files, since they run in other processes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from partwhole.store.storage import atomic_write


def square(folder: Path, number: int) -> str:
    """Write a square, unless it is there, and a line for each time that it was computed."""
    place = folder / f"{number}.txt"
    if place.exists():
        return place.name
    with (folder / "log.txt").open("a") as log:
        log.write(f"{number}\n")
    with atomic_write(place) as file:
        file.write(str(number**2).encode())
    return place.name


def slow_square(folder: Path, number: int) -> str:
    """The same, in a time in which a process can be killed; its process is named in a file."""
    (folder / f"worker-{os.getpid()}").touch()
    if not (folder / f"{number}.txt").exists():
        time.sleep(0.05)
    return square(folder, number)


def ends_its_process(folder: Path, number: int) -> str:
    """The square, but for 5, which ends its process each time."""
    if number == 5:
        (folder / f"try-{time.monotonic_ns()}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(folder, number)


def raises(number: int) -> int:
    """The number, but for 2."""
    if number == 2:
        raise ValueError("2 is not allowed; give another number")
    return number


def threads(number: int) -> dict[str, int]:
    """Number of threads that the libraries use."""
    import numba
    from threadpoolctl import threadpool_info

    return {"numba": numba.get_num_threads(), "blas": max((one["num_threads"] for one in threadpool_info()), default=1)}
