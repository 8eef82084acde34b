"""`run_tasks`: the results of many tasks, in the order in which they end; `grouped` makes one task of small ones."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from partwhole.engines.options import EngineOptions, Lost


@dataclass(frozen=True)
class Raised:
    """An exception that a task raised in another process."""

    fault: Exception


def run_tasks(
    do: Callable[[Any], Any],
    tasks: Sequence[Any],
    options: EngineOptions,
    *,
    sizes: Sequence[int] | None = None,
    small: int = 0,
) -> Generator[tuple[int, Any], None, None]:
    """(number of the task, what `do` returned or `Lost`) for each task, as they end.

    With processes and dask, `do` and the tasks are sent to other processes: `do` is a function of a module, or a
    `functools.partial` of one, and no more tasks are on their way than keep the workers busy. What `do` raises is raised
    here, and ends the run: a task that may fail returns why.

    Parameters
    ----------
    do : called with a task; it writes its result itself, and returns something small
    tasks : what it is called with
    options : where; the shard is not looked at, since the caller knows what a task is
    sizes, small : sizes of the tasks, if small ones are to be handed out together, and up to which size of a group

    Examples
    --------
    >>> list(run_tasks(str, [1, 2], EngineOptions()))
    [(0, '1'), (1, '2')]
    """
    if options.engine == "serial":
        yield from ((number, do(task)) for number, task in enumerate(tasks))
        return
    if options.engine == "processes":
        from partwhole.engines.processes import run_in_processes as run
    else:
        from partwhole.engines.cluster import run_on_cluster as run

    groups = grouped(sizes or [1] * len(tasks), options.count, small=small)
    while groups:
        alone = []
        handed = [[tasks[k] for k in group] for group in groups]
        # closed at once when it ends early, with its processes
        with closing(run(partial(_each, do), handed, options)) as results:
            for place, found in results:
                group = groups[place]
                if isinstance(found, Lost) and len(group) > 1:
                    # one of them ends its process, and the others should not suffer for it
                    alone += [[k] for k in group]
                    continue
                for number, result in zip(group, [found] if isinstance(found, Lost) else found, strict=True):
                    if isinstance(result, Raised):
                        raise result.fault
                    yield number, result
        groups = alone


def _each(do: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
    """What a process does with a group."""
    results: list[Any] = []
    for task in tasks:
        try:
            results.append(do(task))
        except OSError as fault:
            results.append(Raised(OSError(fault.errno, fault.strerror or str(fault), fault.filename)))
        except Exception as fault:
            # not every exception can be sent to another process
            results.append(Raised(ValueError(str(fault)) if isinstance(fault, ValueError) else _unexpected(fault)))
    return results


def _unexpected(fault: Exception) -> RuntimeError:
    return RuntimeError(f"{type(fault).__name__}: {fault}")


# most small tasks in a group, and the number of groups that each worker should get at least
_MOST, _TURNS = 16, 8


def grouped(sizes: Sequence[int], workers: int, *, small: int) -> list[list[int]]:
    """Numbers of tasks in groups: small ones together, so that handing them out takes little of their time.

    Parameters
    ----------
    sizes : of the tasks, in any unit
    workers : number of processes; each gets several groups
    small : size of a group up to which tasks are put together

    Examples
    --------
    >>> grouped([1, 1, 1, 9, 1] + 40 * [1], 1, small=3)[:3]
    [[0, 1, 2], [3], [4, 5, 6]]
    """
    most = max(1, min(_MOST, len(sizes) // (_TURNS * workers)))
    groups: list[list[int]] = []
    held = 0
    for number, size in enumerate(sizes):
        if groups and len(groups[-1]) < most and held + size <= small:
            groups[-1].append(number)
            held += size
        else:
            groups.append([number])
            held = size
    return groups
