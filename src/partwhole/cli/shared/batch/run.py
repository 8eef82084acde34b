"""Process many pairs, each into its own folder; finished pairs are kept, and a failure does not stop the others."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from partwhole.cli.shared.batch.entries import BatchEntry
from partwhole.cli.shared.batch.kind import FAILED, BatchKind
from partwhole.cli.shared.console import Console, write_text
from partwhole.mesh.formats.common import counted

Rows = list[dict[str, Any]]


def work_through(
    entries: Sequence[BatchEntry],
    folder: Path,
    kind: BatchKind,
    choices: Mapping[str, Any],
    one: Callable[[BatchEntry, Path], dict[str, Any]],
    console: Console,
) -> Rows:
    """A row for each pair. Pairs that were finished before, with the same files and options, are not processed again.

    Parameters
    ----------
    entries : the pairs
    folder : for all results; the table in it is written after each pair
    kind : of command
    choices : the options; a finished result must have been made with the same
    one : processes a pair, writes into its folder and returns its summary
    console : for progress
    """
    rows: Rows = []
    for number, entry in enumerate(entries, start=1):
        place = folder / entry.name
        row: dict[str, Any] = {"name": entry.name, kind.part: str(entry.part), kind.whole: str(entry.whole)}
        said = f"{number} of {len(entries)}, {entry.name}: "
        before = _finished(place, entry, kind, choices)
        if before is not None:
            row |= {"state": kind.before, **kind.measures(before)}
            console.say(f"{said}finished before, left as it is")
        else:
            row |= _outcome(entry, place, kind, one)
            if row["state"] == FAILED:
                console.note(f"{entry.name} failed: {row['reason']}")
            else:
                console.say(f"{said}{kind.said(row)}")
        rows.append(row)
        _write_table(folder / kind.table, kind, rows)
    return rows


def count_states(rows: Rows, kind: BatchKind) -> str:
    """How many pairs are done, were finished before, and failed."""
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


def _outcome(
    entry: BatchEntry, place: Path, kind: BatchKind, one: Callable[[BatchEntry, Path], dict[str, Any]]
) -> dict[str, Any]:
    """State and measures of a pair; a pair that fails, for any reason, must not stop the others."""
    try:
        return {"state": kind.done, **kind.measures(one(entry, place))}
    except (ValueError, OSError) as fault:
        reason = str(fault)
    except Exception as fault:
        reason = f"unexpected {type(fault).__name__}: {fault}"
    return {"state": FAILED, "reason": " ".join(reason.split())}


def _finished(place: Path, entry: BatchEntry, kind: BatchKind, choices: Mapping[str, Any]) -> dict[str, Any] | None:
    """The summary of a pair that was finished before, with the same files and choices."""
    try:
        summary = json.loads((place / kind.summary).read_text(encoding="utf-8"))
        same = summary["choices"] == json.loads(json.dumps(dict(choices)))
        same = same and (summary[kind.part], summary[kind.whole]) == (str(entry.part), str(entry.whole))
        same = same and summary["landmark_files"] == [str(file) for file in entry.landmarks]
        newest = max(file.stat().st_mtime for file in (entry.part, entry.whole, *entry.landmarks))
        kind.measures(summary)
        return summary if same and newest <= (place / kind.summary).stat().st_mtime else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_table(path: Path, kind: BatchKind, rows: Rows) -> None:
    text = io.StringIO()
    columns = ("name", kind.part, kind.whole, "state", *kind.columns, "warnings", "reason")
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
