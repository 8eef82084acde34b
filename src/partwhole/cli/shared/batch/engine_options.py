"""Options that say where many shapes are processed: `--engine`, `--workers`, `--scheduler` and `--shard`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from partwhole.engines.options import Engine, EngineOptions, Shard

EngineOption = Annotated[
    Engine,
    typer.Option(
        help="For many shapes: serial (one after the other), processes (of this machine) or dask (a cluster).",
    ),
]
EngineWorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes of the engine; one for each core if not given.")
]
EvaluationWorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Processes of the engine; with serial, those that compute eigenfunctions. One for each core if not given.",
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="With --engine dask: address of a scheduler; a cluster on this machine if not given."
    ),
]
ShardOption = Annotated[
    str | None,
    typer.Option(
        metavar="I/N",
        help="Process every N-th shape from I on, 0/3 to 2/3 for three runs that share the output folder; the last one to "
        "end completes it.",
    ),
]


def engine_options(given: Mapping[str, Any]) -> EngineOptions:
    """The options as one group, from `engine`, `workers`, `scheduler` and `shard` as users give them.

    >>> engine_options({"engine": "processes", "workers": 2, "scheduler": None, "shard": "0/3"}).shard
    Shard(number=0, count=3)
    """
    shard = given["shard"]
    try:
        return EngineOptions(
            given["engine"], given["workers"], given["scheduler"], None if shard is None else Shard.read(shard)
        )
    except ValueError as error:  # the words of the command line
        said = str(error).replace("for engine", "for --engine")
        raise ValueError(f"--{said}") from None


def refuse_for_one(given: Mapping[str, Any], remedy: str) -> None:
    """Raise ValueError if one of the options is given where there is a single shape.

    >>> refuse_for_one({"engine": "serial", "shard": "0/2"}, "a folder of meshes")
    Traceback (most recent call last):
    ValueError: --shard is for many shapes; give a folder of meshes
    """
    for name, value in given.items():
        if value not in (None, "serial"):
            raise ValueError(f"--{name} is for many shapes; give {remedy}")
