"""`run_tasks`: the results of many tasks, in the order in which they end; `grouped` makes one task of small ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from partwhole.engines.options import EngineOptions

T = TypeVar("T")


@dataclass(frozen=True)
class Lost:
    """What stands for the result of a task whose process died again and again, or could not say what went wrong."""

    reason: str


def run_tasks(do: Callable[[Any], Any], tasks: Sequence[Any], options: EngineOptions) -> Iterator[tuple[int, Any]]:
    """(number of the task, what `do` returned or `Lost`) for each task, as they end.

    With processes and dask, `do` and the tasks are sent to other processes: `do` is a function of a module, or a
    `functools.partial` of one, and no more tasks are on their way than keep the workers busy.

    Parameters
    ----------
    do : called with a task; it writes its result itself, and returns something small
    tasks : what it is called with
    options : where; the shard is not looked at, since the caller knows what a task is

    Examples
    --------
    >>> list(run_tasks(str, [1, 2], EngineOptions()))
    [(0, '1'), (1, '2')]
    """
    if options.engine == "serial" or not tasks:
        return ((number, do(task)) for number, task in enumerate(tasks))
    if options.engine == "processes":
        from partwhole.engines.processes import run_in_processes

        return run_in_processes(do, tasks, options)
    from partwhole.engines.cluster import run_on_cluster

    return run_on_cluster(do, tasks, options)


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
