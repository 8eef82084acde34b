"""How commands speak: results on stdout, notes and progress on stderr, or one JSON object and nothing else."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from partwhole.store.atomic import atomic_write

Progress = Callable[[int, int], None]


class Console:
    """Says things in the way that was asked for.

    Parameters
    ----------
    as_json : print one JSON object at the end, and nothing else to stdout
    quiet : no notes, no progress and no table; errors are still said
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Something to know about the run; it's kept for the summary too."""
        self.notes.append(text)
        if not (self.quiet or self.as_json):
            print(f"note: {text}", file=sys.stderr)

    def say(self, text: str) -> None:
        if not (self.quiet or self.as_json):
            print(text)

    def table(self, rows: Sequence[Sequence[str]], *, head: Sequence[str], title: str | None = None) -> None:
        """A table on stdout; columns of numbers are aligned to the right, the first one and words to the left."""
        if self.quiet or self.as_json:
            return
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table

        table = Table(title=title, box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
        for place, name in enumerate(head):
            numbers = place and all(_is_number(row[place]) for row in rows)
            table.add_column(name, justify="right" if numbers else "left", overflow="fold")
        for row in rows:
            table.add_row(*row)
        # in a file or a pipe there is no width to respect, so nothing is wrapped
        Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 200).print(table)

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Print the summary if JSON was asked for."""
        if self.as_json:
            print(to_json(summary, indent=None))

    @contextmanager
    def progress(self, label: str) -> Iterator[Progress]:
        """A callable(done, total) that draws a bar with the time left on stderr, if somebody is there to see it."""
        if self.quiet or self.as_json or not sys.stderr.isatty():
            yield lambda done, total: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """What a reader warns of becomes a note, once it has finished."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            self.note(str(warning.message))


def to_json(summary: Mapping[str, Any], *, indent: int | None = 2) -> str:
    """JSON with NumPy numbers and paths made plain, and numbers that JSON does not have as null.

    >>> to_json({"share": np.float32(0.5), "count": np.int64(3), "none": float("nan")}, indent=None)
    '{"share": 0.5, "count": 3, "none": null}'
    """
    return json.dumps(_plain(summary), indent=indent, ensure_ascii=False, allow_nan=False)


def write_text(path: Path, text: str) -> None:
    """Write a text; what it quotes from names that are no text is written as escapes, which JSON reads back."""
    with atomic_write(path) as file:
        file.write(text.encode(errors="backslashreplace"))


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """An npz file, whole or not at all: compressed while that takes no time to speak of, below 64 MiB."""
    small = sum(array.nbytes for array in arrays.values()) < 64 << 20
    named: dict[str, Any] = dict(arrays)
    with atomic_write(path) as file:
        (np.savez_compressed if small else np.savez)(file, **named)


def output_folder(path: Path) -> Path:
    """The folder, made if it isn't there."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"--output {path} is a file; give a folder")
    path.mkdir(parents=True, exist_ok=True)
    return path


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
