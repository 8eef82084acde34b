"""Process many pairs, each into its own folder; finished pairs are kept, and a failure does not stop the others.

What is finished is seen by the files of the pairs alone, so runs may be killed, repeated, or share their pairs as shards.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from partwhole.cli.shared.batch.kind import FAILED, WAITING, BatchKind
from partwhole.cli.shared.console import Console, write_json, write_text
from partwhole.engines import EngineOptions, Lost, run_tasks
from partwhole.mesh.formats.common import counted

Rows = list[dict[str, Any]]
# seconds between two versions of the table while pairs are processed
_TABLE_EVERY = 5.0
# bytes of surfaces up to which pairs are handed out together
_SMALL = 400_000
# where a shard notes its failures for the others
_FAILURES = ".failed"
# what a disk says that takes nothing more, whatever the pair
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)


@runtime_checkable
class BatchEntry(Protocol):
    """What a batch has to know of one of its pairs."""

    @property
    def name(self) -> str: ...

    @property
    def files(self) -> tuple[Path, ...]: ...

    @property
    def size(self) -> int: ...

    def said(self, kind: BatchKind) -> dict[str, Any]: ...


# processes a pair, writes into its folder and returns its summary; sent to other processes with processes and dask
Work = Callable[[Any, Path], dict[str, Any]]


@dataclass(frozen=True)
class Batch:
    """Pairs, their folder, and what is done with them.

    Attributes
    ----------
    entries : the pairs
    folder : for all results; the table in it is written again and again
    kind : of command
    choices : the options; a finished result must have been made with the same
    one : processes a pair
    """

    entries: Sequence[Any]
    folder: Path
    kind: BatchKind
    choices: Mapping[str, Any]
    one: Work

    def finished(self, entry: BatchEntry) -> dict[str, Any] | None:
        """What a row says of a pair that was finished before, with the same files and choices; None if it was not."""
        kind, place = self.kind, self.folder / entry.name
        try:
            summary = json.loads((place / kind.summary).read_text(encoding="utf-8"))
            wanted = json.loads(json.dumps({"choices": dict(self.choices), **entry.said(kind)}))
            newest = max((file.stat().st_mtime for file in entry.files), default=0.0)
            if any(summary[name] != value for name, value in wanted.items()):
                return None
            return kind.measures(summary) if newest <= (place / kind.summary).stat().st_mtime else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def row(self, entry: BatchEntry, state: str, said: Mapping[str, Any]) -> dict[str, Any]:
        """The row of a pair in the table."""
        files = {name: value for name, value in entry.said(self.kind).items() if isinstance(value, str)}
        return {"name": entry.name, **files, "state": state, **said}

    def standing(self) -> Rows:
        """A row for each pair as its files say, whichever run made them; see `work_through` about shards."""
        rows = []
        for entry in self.entries:
            before = self.finished(entry)
            if before is not None:
                rows.append(self.row(entry, self.kind.before, before))
                continue
            reason = self._failure(entry)
            rows.append(self.row(entry, WAITING, {}) if reason is None else self.row(entry, FAILED, {"reason": reason}))
        return rows

    def note_outcome(self, entry: BatchEntry, outcome: _Outcome, *, for_others: bool) -> None:
        """Keep the reason of a failure for other shards; forget the one of a pair that is done."""
        path = self._note(entry)
        if outcome.state != FAILED:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        elif for_others:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, {"choices": dict(self.choices), "reason": outcome.said["reason"]})

    def _note(self, entry: BatchEntry) -> Path:
        return self.folder / _FAILURES / f"{entry.name}.json"

    def _failure(self, entry: BatchEntry) -> str | None:
        try:
            held = json.loads(self._note(entry).read_text(encoding="utf-8"))
            same = held["choices"] == json.loads(json.dumps(dict(self.choices)))
            return str(held["reason"]) if same else None
        except (OSError, ValueError, KeyError, TypeError):
            return None


@dataclass(frozen=True)
class _Outcome:
    """What a process says of a pair.

    Attributes
    ----------
    state : done, finished before, or failed
    said : the measures of its row, or the reason
    seconds : that it took
    notes : things to know
    unwritable : the folder of the results takes nothing more, so nothing else has to be tried
    """

    state: str
    said: Mapping[str, Any]
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    unwritable: bool = False


def work_through(
    entries: Sequence[Any],
    folder: Path,
    kind: BatchKind,
    choices: Mapping[str, Any],
    one: Work,
    console: Console,
    engine: EngineOptions | None = None,
) -> Rows:
    """A row for each pair of this run. Pairs that were finished before, with the same files and options, are left alone.

    A shard processes its own pairs only. Its table has all of them, as their files say: those of other shards are "not yet"
    until they are there. The last of the shards to end writes the complete table, and so does any later run.

    Parameters
    ----------
    entries : the pairs
    folder : for all results; the table in it is written every few seconds
    kind : of command
    choices : the options; a finished result must have been made with the same
    one : processes a pair, writes into its folder and returns its summary
    console : for progress
    engine : where, default one after the other
    """
    options = engine or EngineOptions()
    batch = Batch(entries, folder, kind, choices, one)
    run = _BatchRun(batch, console, options)
    missing = run.left_alone()
    try:
        with console.stage_progress() as report:
            run.process(missing, report)
    finally:
        # also after an interrupt; a disk that is full must not hide what is raised
        with suppress(OSError):
            run.write_table(last=True)
    return run.sorted_rows()


@dataclass
class _BatchRun:
    """The state of one call of `work_through`."""

    batch: Batch
    console: Console
    options: EngineOptions
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    written: float = 0.0

    def left_alone(self) -> list[int]:
        """Numbers of the pairs that this run has to process; the others of its pairs are finished."""
        batch, missing = self.batch, []
        for number, entry in enumerate(batch.entries):
            if not self.options.has(number):
                continue
            before = batch.finished(entry)
            if before is None:
                missing.append(number)
                continue
            self.rows[number] = batch.row(entry, batch.kind.before, before)
            self._say(number, "finished before, left as it is")
        return missing

    def process(self, missing: Sequence[int], report: Callable[[str, int, int], None]) -> None:
        """Process these pairs."""
        stage, total = f"{self.batch.kind.noun}s", len(missing)
        report(stage, 0, total)
        do = partial(_outcome, replace(self.batch, entries=()))
        tasks = [self.batch.entries[number] for number in missing]
        sizes = None if self.options.engine == "serial" else [task.size for task in tasks]
        with closing(run_tasks(do, tasks, self.options, sizes=sizes, small=_SMALL)) as found:
            for done, (place, outcome) in enumerate(found, start=1):
                lost = isinstance(outcome, Lost)
                self._take(missing[place], _Outcome(FAILED, {"reason": outcome.reason}) if lost else outcome)
                report(stage, done, total)
                self.write_table()

    def _take(self, number: int, outcome: _Outcome) -> None:
        batch, entry = self.batch, self.batch.entries[number]
        for note in outcome.notes:
            if note not in self.console.notes:
                self.console.note(note)
        if outcome.unwritable:
            raise ValueError(self._unwritable(outcome.said["reason"]))
        self.rows[number] = {**batch.row(entry, outcome.state, outcome.said), "seconds": outcome.seconds}
        batch.note_outcome(entry, outcome, for_others=self.options.shard is not None)
        if outcome.state == FAILED:
            self.console.note(f"{entry.name} failed: {outcome.said['reason']}")
        else:
            self._say(number, batch.kind.said(self.rows[number]))

    def _unwritable(self, reason: str) -> str:
        done = sum(row["state"] != FAILED for row in self.rows.values())
        batch = self.batch
        return (
            f"{batch.folder} can't be written ({reason}); {done} of {counted(len(batch.entries), batch.kind.noun)} are "
            "finished and kept: make room, and run the same command again to go on"
        )

    def _say(self, number: int, text: str) -> None:
        if self.batch.kind.says_each:
            self.console.say(f"{number + 1} of {len(self.batch.entries)}, {self.batch.entries[number].name}: {text}")

    def sorted_rows(self) -> Rows:
        return [self.rows[number] for number in sorted(self.rows)]

    def write_table(self, *, last: bool = False) -> None:
        """The table as far as it is known; it does not say which run did what, so it is the same after any number of them."""
        if not last and time.monotonic() - self.written < _TABLE_EVERY:
            return
        self.written = time.monotonic()
        if self.options.shard is None:
            self._write(self.sorted_rows())
        elif last:
            # another shard may have ended meanwhile, and written a table that says more than this one
            rows = None
            while rows != (now := self.batch.standing()):
                self._write(rows := now)

    def _write(self, rows: Rows) -> None:
        kind, text = self.batch.kind, io.StringIO()
        columns = ("name", kind.part, kind.whole, "state", *kind.columns, "warnings", "reason")
        writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows({**row, "state": kind.lasting(row["state"])} for row in rows)
        write_text(self.batch.folder / kind.table, text.getvalue())


def _outcome(batch: Batch, entry: BatchEntry) -> _Outcome:
    """State and measures of a pair; a pair that fails, for any reason, must not stop the others."""
    kind, start = batch.kind, time.perf_counter()
    before = batch.finished(entry)
    if before is not None:  # by a run that was killed before it could say so, or by another one meanwhile
        return _Outcome(kind.done, before)
    console = getattr(batch.one, "console", None)
    told = 0 if console is None else len(console.notes)
    unwritable = False
    try:
        state, said = kind.done, kind.measures(batch.one(entry, batch.folder / entry.name))
    except (ValueError, OSError) as fault:
        state, said = FAILED, {"reason": " ".join(str(fault).split())}
        unwritable = isinstance(fault, OSError) and _is_unwritable(fault, batch.folder)
    except Exception as fault:
        state, said = FAILED, {"reason": " ".join(f"unexpected {type(fault).__name__}: {fault}".split())}
    notes = () if console is None else tuple(console.notes[told:])
    return _Outcome(state, said, time.perf_counter() - start, notes, unwritable)


def _is_unwritable(fault: OSError, folder: Path) -> bool:
    """Whether it is the folder of all results that can't be written, and not a file of this pair that can't be read."""
    if fault.errno in _UNWRITABLE:
        return True
    # the name of the file is missing where it is written to, and there where it is made
    return isinstance(fault.filename, str) and Path(fault.filename).is_relative_to(folder)


def standing(entries: Sequence[Any], folder: Path, kind: BatchKind, choices: Mapping[str, Any]) -> Rows:
    """A row for each pair as its files say, whichever shard made them."""
    return Batch(entries, folder, kind, choices, lambda entry, place: {}).standing()


def count_states(rows: Rows, kind: BatchKind) -> str:
    """How many pairs are done, were finished before, failed, and are not yet there."""
    states = [row["state"] for row in rows]
    kinds = [(state, states.count(state)) for state in kind.states]
    return f"{counted(len(rows), kind.noun)}: " + ", ".join(f"{count} {state}" for state, count in kinds if count)


def raise_failures(rows: Rows, kind: BatchKind) -> None:
    """Raise ValueError if a pair failed, with the reason of the first."""
    failed = [row for row in rows if row["state"] == FAILED]
    if failed:
        raise ValueError(
            f"{len(failed)} of {len(rows)} {kind.noun}s could not be {kind.participle}; the first is {failed[0]['name']}: "
            f"{failed[0]['reason']}"
        )
