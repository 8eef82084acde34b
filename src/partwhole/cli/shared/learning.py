"""What `train` and `evaluate` share: torch, reading pairs, and progress that goes through stages."""

from __future__ import annotations

import re
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Literal

import typer

from partwhole.cli.shared.console import Console
from partwhole.datasets.pairs import Pair, Pairs
from partwhole.store.arguments import how_to_install
from partwhole.store.cache import Cache

Device = Literal["cpu", "cuda"]

# seconds between lines about progress in a log
_LINE_EVERY = 60.0

DeviceOption = Annotated[Device, typer.Option(help="Where to compute.")]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, help="Processes for eigenfunctions; as many as there are cores if not given.")
]
CacheOption = Annotated[
    bool,
    typer.Option(
        "--cache/--no-cache", help="Keep eigenfunctions for other runs, in PARTWHOLE_CACHE or ~/.cache/partwhole."
    ),
]


def ready(device: Device) -> None:
    """Raise ValueError, with the remedy, unless torch is here and can compute on the device."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise ValueError(f"networks need torch: {how_to_install('torch')}") from None
    from partwhole.store.arguments import check_device

    try:
        check_device(device)
    except ValueError as error:  # the remedy, in the words of the command line
        raise ValueError(re.sub(r"device='(\w+)'", r"--device \1", str(error))) from None


def chosen_cache(wanted: bool, console: Console) -> Cache | None:
    """The user's cache, if it is wanted and there is a place for it; a note says why nothing is kept."""
    if not wanted:
        return None
    try:
        return Cache.default(tell=console.note)
    except OSError as error:
        console.note(f"nothing is kept for other runs: {error}")
        return None


def read_pairs(pairs: Pairs, console: Console, report: Stages) -> list[Pair]:
    """All pairs; what was left out while reading them becomes a note, once."""
    held = []
    for done, pair in enumerate(pairs):
        if done % 20 == 0:
            report("reading", done, len(pairs))
        held.append(pair)
    report("reading", len(held), len(held))
    for note in dict.fromkeys(note for pair in held for note in pair.notes):
        console.note(note)
    return held


def with_truth(held: list[Pair], name: str, console: Console) -> list[Pair]:
    """The pairs whose error can be measured; a note says how many can't."""
    known = [pair for pair in held if pair.ground_truth is not None and len(pair.ground_truth)]
    if not known:
        raise ValueError(
            f"{name}: none of the {len(held)} pairs has ground truth, so no error can be measured; put it into maps/"
        )
    if len(known) < len(held):
        console.note(f"{name}: {len(held) - len(known)} of {len(held)} pairs have no ground truth and are left out")
    return known


class Stages:
    """Called with (stage, how much is done, how much there is): a bar for each stage, or a line a minute.

    Parameters
    ----------
    bar : of rich; None where nobody looks
    lines : say a line on stderr now and then, for those who look into a log
    """

    def __init__(self, bar: Any = None, *, lines: bool = False) -> None:
        self._bar, self._lines = bar, lines
        self._tasks: dict[str, Any] = {}
        self._details: dict[str, str] = {}
        self._said = time.monotonic()

    def __call__(self, stage: str, done: int, total: int) -> None:
        if self._lines and time.monotonic() - self._said > _LINE_EVERY:
            self._said = time.monotonic()
            print(f"{stage}{self._details.get(stage, '')}: {done} of {total}", file=sys.stderr, flush=True)
        if self._bar is None:
            return
        if stage not in self._tasks:
            self._tasks[stage] = self._bar.add_task(stage, total=None)
        task = self._tasks[stage]
        if done == 0:
            # the same stage once more, for other pairs
            self._bar.reset(task)
        self._bar.update(task, completed=done, total=total or None)

    def detail(self, stage: str, text: str) -> None:
        """Something to say beside the name of a stage."""
        self._details[stage] = f", {text}"
        if stage in self._tasks:
            self._bar.update(self._tasks[stage], description=f"{stage}, {text}")


@contextmanager
def stages(console: Console) -> Iterator[Stages]:
    """Bars on stderr for as long as it lasts, lines where that is a file, nothing in JSON or in silence."""
    if console.quiet or console.as_json or not sys.stderr.isatty():
        yield Stages(lines=not (console.quiet or console.as_json))
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Stages(bar)


def command_line(*words: str | Path) -> str:
    """A command to copy, with quotes where a shell needs them.

    >>> command_line("train", "--resume", Path("my runs/one"))
    "partwhole train --resume 'my runs/one'"
    """
    return shlex.join(["partwhole", *map(str, words)])


@contextmanager
def stop_between_iterations() -> Iterator[Any]:
    """A function that raises KeyboardInterrupt if there was a Ctrl-C since; the second one interrupts at once."""
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        print("stopping as soon as the run can be saved; once more to stop at once", file=sys.stderr)

    def stop() -> None:
        if asked:
            raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGINT, ask)
    except ValueError:  # not the main thread, which alone may do this
        yield stop
        return
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
