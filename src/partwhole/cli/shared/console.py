"""What commands print and write: results on stdout, notes and progress on stderr, JSON, files that are never half-written.

With `--json` a command prints one JSON object and nothing else. Ctrl-C during training is handled here too, since it goes
with the progress that training reports.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from partwhole.store.arguments import Progress, displayable
from partwhole.store.storage import atomic_write

# what to do when memory runs out
MEMORY_REMEDY = "take fewer pairs, or smaller meshes (partwhole.decimate makes them)"
# seconds between lines about progress in a log
LINE_EVERY = 60.0


class Console:
    """Prints the output of a command, as text or as JSON.

    Parameters
    ----------
    as_json : print one JSON object at the end, and nothing else to stdout
    quiet : no notes, no progress and no table; errors are still printed
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet
        self.notes: list[str] = []
        self._stages: StageProgress | None = None

    @property
    def silent(self) -> bool:
        """Whether nothing but errors and JSON is printed."""
        return self.quiet or self.as_json

    def note(self, text: str) -> None:
        """Something to know about the run; it is kept for the summary too."""
        self.notes.append(text)
        if not self.silent:
            print(f"note: {text}", file=sys.stderr)

    def say(self, text: str) -> None:
        """A line on stdout."""
        if not self.silent:
            print(text)

    def say_files(self, files: Mapping[str, Path]) -> None:
        """Name the files that were written, a line each."""
        for file in files.values():
            self.say(f"wrote {file}")

    def table(self, rows: Sequence[Sequence[str]], *, head: Sequence[str], title: str | None = None) -> None:
        """A table on stdout; columns of numbers are aligned to the right, the first one and words to the left."""
        if self.silent:
            return
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table

        table = Table(title=title, box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
        for place, name in enumerate(head):
            numbers = place and all(_is_number(row[place]) for row in rows)
            table.add_column(displayable(name), justify="right" if numbers else "left", overflow="fold")
        for row in rows:
            table.add_row(*map(displayable, row))
        # in a file or a pipe there is no width to respect, so nothing is wrapped
        Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 200).print(table)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Print the summary if JSON was asked for."""
        if self.as_json:
            print(to_json(summary, indent=None))

    @contextmanager
    def progress(self, label: str) -> Iterator[Progress]:
        """A `Progress` that draws one bar of this name, with the time left, on stderr, if that is a terminal."""
        if self.silent or not sys.stderr.isatty():
            yield lambda what, done, total: None
            return
        with _bars() as bar:
            task = bar.add_task(label, total=None)
            yield lambda what, done, total: bar.update(task, completed=done, total=total)

    @contextmanager
    def stage_progress(self) -> Iterator[StageProgress]:
        """A `StageProgress`: bars on stderr if that is a terminal, a line a minute if it is a file.

        A block inside another one has the same: there is one display.
        """
        if self._stages is not None:
            yield self._stages
            return
        with ExitStack() as stack:
            if self.silent or not sys.stderr.isatty():
                self._stages = StageProgress(lines=not self.silent)
            else:
                self._stages = StageProgress(stack.enter_context(_bars()))
            try:
                yield self._stages
            finally:
                self._stages = None

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Warnings that are raised in the block become notes when it ends."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            self.note(str(warning.message))


class StageProgress:
    """Called with (stage, done, total): a bar for each stage, or a line a minute.

    Parameters
    ----------
    bar : of rich; None draws nothing
    lines : print a line on stderr now and then, for a log
    """

    def __init__(self, bar: Any = None, *, lines: bool = False) -> None:
        self._bar, self._lines = bar, lines
        self._tasks: dict[str, Any] = {}
        self._details: dict[str, str] = {}
        self._said = time.monotonic()
        self._began: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done == 0 or stage not in self._began:
            self._began[stage] = now
        if self._lines and now - self._said > LINE_EVERY:
            self._said = now
            left = f", {_duration((now - self._began[stage]) * (total - done) / done)} left" if 0 < done < total else ""
            print(f"{stage}{self._details.get(stage, '')}: {done} of {total}{left}", file=sys.stderr, flush=True)
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
        """Text to show beside the name of a stage."""
        self._details[stage] = f", {text}"
        if stage in self._tasks:
            self._bar.update(self._tasks[stage], description=f"{stage}, {text}")


class Heartbeat:
    """Called by training every few seconds: shows the loss, and ends the run if Ctrl-C was pressed.

    Parameters
    ----------
    report : shows the loss beside the stage "training"
    stop : see `stop_signal`
    run : name of the run, to show beside the loss
    """

    def __init__(self, report: StageProgress, stop: Callable[[], None], run: str = "") -> None:
        self._report, self._stop, self._run = report, stop, run

    def __call__(self, state: Any) -> None:
        loss = f"loss {sum(state.losses[-1]):.4g}"
        self._report.detail("training", f"{self._run}, {loss}" if self._run else loss)
        self._stop()

    def of_run(self, run: str) -> Heartbeat:
        """The same for a run of this name."""
        return Heartbeat(self._report, self._stop, run)

    def progress(self, stage: str, done: int, total: int) -> None:
        """Progress of several runs, which Ctrl-C ends at any stage; training itself is saved first, then ended."""
        self._report(stage, done, total)
        if stage not in ("training", "all runs"):
            self._stop()


@contextmanager
def stop_signal() -> Iterator[Callable[[], None]]:
    """A function that raises KeyboardInterrupt if Ctrl-C was pressed before it is called; the second one acts at once."""
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        print("stopping as soon as the run is saved; press Ctrl-C again to stop at once", file=sys.stderr)

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


@contextmanager
def plain_memory_errors() -> Iterator[None]:
    """Turn torch's errors about memory into a ValueError with the remedy."""
    try:
        yield
    except RuntimeError as error:
        said = str(error).lower()
        if "out of memory" not in said and "can't allocate memory" not in said:
            raise
        raise ValueError(f"there is not enough memory; {MEMORY_REMEDY}") from None


def command_line(*words: str | Path) -> str:
    """A command to copy, with quotes where a shell needs them.

    >>> command_line("train", "--resume", Path("my runs/one"))
    "partwhole train --resume 'my runs/one'"
    """
    return shlex.join(["partwhole", *map(str, words)])


def to_json(summary: Mapping[str, Any], *, indent: int | None = 2) -> str:
    """JSON text; NumPy numbers and paths become plain ones, and NaN and infinities null.

    >>> to_json({"share": np.float32(0.5), "count": np.int64(3), "none": float("nan")}, indent=None)
    '{"share": 0.5, "count": 3, "none": null}'
    """
    return json.dumps(_plain(summary), indent=indent, ensure_ascii=False, allow_nan=False)


def write_text(path: Path, text: str) -> None:
    """Write a text file; characters that are not valid text, as in some file names, become escapes, which JSON reads back."""
    with atomic_write(path) as file:
        file.write(text.encode(errors="backslashreplace"))


def write_json(path: Path, summary: Mapping[str, Any]) -> None:
    """Write a summary as JSON."""
    write_text(path, to_json(summary) + "\n")


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an npz file, compressed if the arrays are smaller than 64 MiB, where that takes little time."""
    small = sum(array.nbytes for array in arrays.values()) < 64 << 20
    named: dict[str, Any] = dict(arrays)
    with atomic_write(path) as file:
        (np.savez_compressed if small else np.savez)(file, **named)


@contextmanager
def _bars() -> Iterator[Any]:
    """Progress bars of rich on stderr, which vanish at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield bar


def _duration(seconds: float) -> str:
    """
    >>> _duration(40), _duration(600), _duration(20_000)
    ('40 s', '10 min', '5.6 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def _is_number(cell: str) -> bool:
    """Whether a cell is read as a number: with its unit or its error, or blank; not words that begin with one.

    >>> [_is_number(cell) for cell in ("4.78", "−0.3 ± 0.1", "71 %", "[1]", "", "reading 0.6", "0 % of the area")]
    [True, True, True, True, True, False, False]
    """
    return len(cell.split()) <= 4 and not re.search(r"[^\W\d_]{2,}", cell)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
