"""`RunLog`, the record of a training run: two tables and notes.

    losses.csv        iteration, the losses by name, elapsed
    evaluations.csv   iteration, data, the measures by name, elapsed
    notes.txt         a time and a text a line

`elapsed` is in seconds since the run began; the time between a stop and a resume doesn't count.
"""

from __future__ import annotations

import csv
import io
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import compress
from operator import index, itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, SupportsFloat, SupportsIndex

from partwhole.store.storage import atomic_write

# the columns the log keeps itself: those in front that say which row it is, and the clock
_KEYS = {"losses": ("iteration",), "evaluations": ("iteration", "data")}
_KINDS = {"iteration": int, "data": str}
_CLOCK = "elapsed"

Row = dict[str, Any]


class RunLog:
    """The record of a training run, in a folder. A process that is killed loses at most the lines it was writing.

    Parameters
    ----------
    folder : of the run; made if it isn't there
    resume_at : go on with the run whose record is in the folder, after this iteration, that of its last checkpoint.
        Lines of later iterations, and a last line cut short, are dropped, so that the files become those of a run that
        never stopped; -1 keeps nothing. So log what belongs to an iteration before its checkpoint is written.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with RunLog(folder) as log:
    ...     log.losses([1, 2], {"loss": [0.5, 0.25], "learning_rate": 1e-3})
    ...     log.evaluation(2, "PFAUST-H", {"macro": 7.5})
    >>> with RunLog(folder, resume_at=1) as log:
    ...     log.losses(2, {"loss": 0.125, "learning_rate": 1e-3})
    >>> [(row["iteration"], row["loss"]) for row in read_losses(folder)]
    [(1, 0.5), (2, 0.125)]
    >>> read_evaluations(folder)
    []
    """

    def __init__(self, folder: str | os.PathLike[str], *, resume_at: int | None = None) -> None:
        self.folder = Path(folder)
        if resume_at is None and (read_losses(folder) or read_evaluations(folder)):
            raise ValueError(f"{folder} holds the record of a run; give resume_at to go on with it, or another folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        last = -1 if resume_at is None else resume_at
        paths = {name: self.folder / f"{name}.csv" for name in _KEYS}
        dropped = sum(_drop_after(path, last) for path in paths.values())
        kept = {name: _read(path) for name, path in paths.items()}
        self._tables = {name: _GrowingTable(path, kept[name]) for name, path in paths.items()}
        elapsed = max((row[_CLOCK] for rows in kept.values() for row in rows), default=0.0)
        self._zero = time.monotonic() - elapsed
        self._closed = False
        if resume_at is not None:
            where = f"resumed after iteration {resume_at}" if resume_at >= 0 else "begun again"
            self.note(f"{where}; lines of later iterations dropped: {dropped}")

    def losses(
        self,
        iterations: SupportsIndex | Iterable[SupportsIndex],
        values: Mapping[str, SupportsFloat | Iterable[SupportsFloat]],
    ) -> None:
        """Append to losses.csv a row for each iteration. A single number in `values` serves all of them.

        The first call sets the columns. Rows of one call share its time, unless `elapsed` is among the values.
        """
        steps = [index(i) for i in _listed(iterations)]
        given = {name: [float(x) for x in _listed(numbers)] for name, numbers in self._with_clock(values).items()}
        for name, numbers in given.items():
            if len(numbers) not in (1, len(steps)):
                raise ValueError(f"{name} has {len(numbers)} values for {len(steps)} iterations; give one for each")
        columns = [numbers * len(steps) if len(numbers) == 1 else numbers for numbers in given.values()]
        names = ("iteration", *given)
        self._append("losses", [dict(zip(names, row, strict=True)) for row in zip(steps, *columns, strict=True)])

    def evaluation(self, iteration: SupportsIndex, data: str, values: Mapping[str, SupportsFloat]) -> None:
        """Append to evaluations.csv a row: what the weights of this iteration are worth on the data of this name."""
        _check_name(data)
        measured = {name: float(number) for name, number in self._with_clock(values).items()}
        self._append("evaluations", [{"iteration": index(iteration), "data": data, **measured}])

    def note(self, text: str) -> None:
        """Append a line to notes.txt, with the time (UTC). Resuming drops no notes."""
        with (self.folder / "notes.txt").open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {text}\n")

    def close(self) -> None:
        """Nothing can be logged afterwards; to close twice does no harm."""
        self._closed = True
        for table in self._tables.values():
            table.close()

    def __enter__(self) -> RunLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _with_clock(self, values: Mapping[str, Any]) -> dict[str, Any]:
        for name in values:
            _check_name(name)
        return {**values, _CLOCK: values.get(_CLOCK, round(time.monotonic() - self._zero, 3))}

    def _append(self, name: str, rows: Sequence[Row]) -> None:
        if self._closed:
            raise ValueError(f"the log in {self.folder} is closed; open it again with resume_at")
        self._tables[name].append(rows)


def read_losses(folder: str | os.PathLike[str]) -> list[Row]:
    """The rows of losses.csv; a last line cut short is left out."""
    return _read(Path(folder) / "losses.csv")


def read_evaluations(folder: str | os.PathLike[str]) -> list[Row]:
    """The rows of evaluations.csv; a last line cut short is left out."""
    return _read(Path(folder) / "evaluations.csv")


class _GrowingTable:
    """A CSV file that grows. Its first row sets the columns; iterations only grow, for each data set by itself."""

    def __init__(self, path: Path, rows: Sequence[Row]) -> None:
        """`rows` are those that the file holds."""
        self.path = path
        self._columns = list(rows[0]) if rows else []
        self._latest = {row.get("data"): row["iteration"] for row in rows}
        self._file: BinaryIO | None = None

    def append(self, rows: Sequence[Row]) -> None:
        """Rows with the same names each; they are in the file when this returns."""
        if not rows:
            return
        columns = self._columns or list(rows[0])
        if set(rows[0]) != set(columns):
            raise ValueError(f"{self.path} has the columns {columns}, the new row {list(rows[0])}; they must agree")
        latest = dict(self._latest)
        for row in rows:
            before = latest.get(row.get("data"), -1)
            if row["iteration"] <= before:
                raise ValueError(f"{self.path}: iteration {row['iteration']} comes after {before}; they must grow")
            latest[row.get("data")] = row["iteration"]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not self._columns:
            writer.writerow(columns)
        writer.writerows(map(itemgetter(*columns), rows))
        if self._file is None:
            # not before there is a row: a table without rows is no file
            self._file = self.path.open("ab")
        self._file.write(text.getvalue().encode(errors="backslashreplace"))
        self._file.flush()
        self._columns, self._latest = columns, latest

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _read(path: Path) -> list[Row]:
    lines = _whole_lines(path)
    header = _fields(lines[0]) if lines else []
    needed = {*_KEYS[path.stem], _CLOCK}
    if lines and not needed <= set(header):
        raise ValueError(
            f"{path} has the columns {header}, not {sorted(needed)}: it is not the log of a run; move it away"
        )
    kinds = [_KINDS.get(name, float) for name in header]
    rows = []
    for number, line in enumerate(lines[1:], 2):
        try:
            values = [kind(field) for kind, field in zip(kinds, _fields(line), strict=True)]
        except ValueError:
            raise ValueError(f"line {number} of {path} is damaged: {line!r}; correct or delete it") from None
        rows.append(dict(zip(header, values, strict=True)))
    return rows


def _fields(line: str) -> list[str]:
    # a reader for each line: one for all would take the lines after a stray quotation mark for one field
    return next(csv.reader([line]), [])


def _whole_lines(path: Path) -> list[str]:
    """The lines that were written to their end; none where there is no file."""
    written = path.read_bytes() if path.exists() else b""
    return written[: written.rfind(b"\n") + 1].decode(errors="replace").splitlines()


def _drop_after(path: Path, last: int) -> int:
    """Take the lines of iterations above `last` out of a table, and a torn last line; how many lines that was."""
    rows = _read(path)
    keep = [row["iteration"] <= last for row in rows]
    if any(keep):
        lines = compress(_whole_lines(path), [True, *keep])
        with atomic_write(path) as file:
            file.write("".join([f"{line}\n" for line in lines]).encode())
    else:
        path.unlink(missing_ok=True)
    return len(keep) - sum(keep)


def _listed(values: Any) -> list[Any]:
    """The numbers of a number, an iterable of them, an array or a tensor."""
    plain = values.tolist() if hasattr(values, "tolist") else values
    return list(plain) if isinstance(plain, Iterable) else [plain]


def _check_name(name: str) -> None:
    if name in _KINDS or not name.isprintable():
        raise ValueError(f"{name!r} can't be a name in the log; take one on a line, other than {', '.join(_KINDS)}")
