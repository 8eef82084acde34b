"""Tasks in processes of this machine. Each worker has one task at a time, so when it dies it is known which one it was."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from partwhole.engines.options import EngineOptions, Lost
from partwhole.engines.worker import ONE_THREAD, environment

# seconds that a worker without a task gets to leave by itself
_PATIENCE = 2.0


def run_in_processes(
    do: Callable[[Any], Any], tasks: Sequence[Any], options: EngineOptions
) -> Generator[tuple[int, Any], None, None]:
    """See `run_tasks`. A worker that dies is replaced, and its task is given to another one."""
    waiting = deque(range(len(tasks)))
    deaths: Counter[int] = Counter()
    workers: dict[Connection, _Worker] = {}
    try:
        while waiting or workers:
            while waiting and len(workers) < options.count:
                worker = _Worker(do)
                workers[worker.pipe] = worker
                worker.give(number := waiting.popleft(), tasks[number])
            for pipe in wait(list(workers)):
                assert isinstance(pipe, Connection)
                worker = workers[pipe]
                number = worker.number
                try:
                    result = pipe.recv()
                except (EOFError, OSError):
                    del workers[pipe]
                    deaths[number] += 1
                    said = worker.end()
                    if deaths[number] <= options.allowed_failures:
                        waiting.append(number)
                        continue
                    result = Lost(f"the process that worked on it {said}, {deaths[number]} times; memory may be short")
                else:
                    if waiting:
                        worker.give(following := waiting.popleft(), tasks[following])
                    else:
                        del workers[pipe]
                        worker.dismiss()
                yield number, result
    finally:
        for worker in workers.values():
            worker.kill()


class _Worker:
    """A process that does one task after the other."""

    def __init__(self, do: Callable[[Any], Any]) -> None:
        self.pipe, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_serve, args=(theirs, do), daemon=True)
        with environment(ONE_THREAD):
            self.process.start()
        theirs.close()
        self.number = -1

    def give(self, number: int, task: Any) -> None:
        self.number = number
        # it may be dead; that is seen when its result is read
        with suppress(OSError):
            self.pipe.send(task)

    def end(self) -> str:
        """Wait for a process that has died, and say how."""
        self.process.join()
        self.pipe.close()
        code = self.process.exitcode or 0
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"

    def dismiss(self) -> None:
        """Let it go when there is nothing left to do."""
        self.pipe.close()
        self.process.join(_PATIENCE)
        self.kill()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


# a fork would have the threads' locks, but not the threads
_CONTEXT = multiprocessing.get_context("spawn")


def _serve(pipe: Connection, do: Callable[[Any], Any]) -> None:
    """What a worker does, until the other end of the pipe is closed."""
    # Ctrl-C is for the process that started it, which ends this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            pipe.send(do(pipe.recv()))


def _leave_with_parent() -> None:
    """End this process when the one that started it has ended, however that was."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
