"""Where tasks run: the engine with its options, as one group; and what stands for a task that could not be run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from partwhole.store.compute import available_cores

Engine = Literal["serial", "processes", "dask"]

# times that the process which works on a task may die before the task counts as failed, as in dask
ALLOWED_FAILURES = 3


@dataclass(frozen=True)
class Shard:
    """Every `count`-th task from `number` on: what one of several runs does that share nothing but a folder.

    Examples
    --------
    >>> shard = Shard.read("1/3")
    >>> [index for index in range(7) if shard.has(index)]
    [1, 4]
    """

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """The shard that a text such as 0/3 names; the first is 0."""
        said = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text.strip(), re.ASCII)
        if said is None or int(said[1]) >= int(said[2]):
            raise ValueError(f"shard must be i/n with i from 0 to n - 1, such as 0/3, got {text!r}")
        return cls(int(said[1]), int(said[2]))

    def has(self, index: int) -> bool:
        """Whether the task of this number, counted from 0, is in the shard."""
        return index % self.count == self.number

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass(frozen=True)
class EngineOptions:
    """Where tasks run.

    Attributes
    ----------
    engine : "serial", one after the other; "processes" of this machine; "dask", the workers of a dask cluster
    workers : processes; default one for each core
    scheduler : address of a dask scheduler; default a cluster on this machine
    shard : only these tasks, as one of several runs
    allowed_failures : times that the process which works on a task may die before the task counts as failed; on a cluster of
        your own its scheduler decides
    """

    engine: Engine = "serial"
    workers: int | None = None
    scheduler: str | None = None
    shard: Shard | None = None
    allowed_failures: int = ALLOWED_FAILURES

    def __post_init__(self) -> None:
        if self.engine not in get_args(Engine):
            raise ValueError(f"engine must be one of {', '.join(get_args(Engine))}, got {self.engine!r}")
        if self.scheduler is not None and self.engine != "dask":
            raise ValueError(
                f"scheduler {self.scheduler} is for engine dask, not for engine {self.engine}; leave it out"
            )
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers must be at least 1, got {self.workers}")

    @property
    def count(self) -> int:
        """Number of processes."""
        return 1 if self.engine == "serial" else self.workers or available_cores()

    def has(self, index: int) -> bool:
        """Whether this run does the task of this number."""
        return self.shard is None or self.shard.has(index)


@dataclass(frozen=True)
class Lost:
    """What stands for the result of a task whose process died again and again."""

    reason: str
