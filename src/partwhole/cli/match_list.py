"""Lists of pairs for `partwhole match --pairs`: what to match, what is done already, and how each one ended."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partwhole.cli.match_folder import SUMMARY
from partwhole.cli.voice import Voice, write_text
from partwhole.mesh.formats.common import counted

_COLUMNS = ("name", "part", "whole", "state", "doubtful", "distortion", "warnings", "reason")


@dataclass(frozen=True)
class Entry:
    """One line of a list: the files of a part and of its whole, and the folder of the result."""

    name: str
    part: Path
    whole: Path


def read_list(path: Path) -> list[Entry]:
    """Pairs from a CSV file: columns part and whole, and name where there is one; paths from the folder of the file.

    A header is optional: without one the columns are part, whole and name.
    """
    try:
        rows = [
            row for row in csv.reader(path.read_text(encoding="utf-8-sig").splitlines()) if any(map(str.strip, row))
        ]
    except (csv.Error, UnicodeDecodeError):
        raise ValueError(f"{path} is no text; give a CSV file with the columns part,whole") from None
    if not rows:
        raise ValueError(f"{path} names no pairs; a line is part,whole or part,whole,name")
    head = [cell.strip().lower() for cell in rows[0]]
    columns = {name: place for place, name in enumerate(("part", "whole", "name"))}
    if {"part", "whole"} <= set(head):
        columns = {name: head.index(name) for name in ("part", "whole", "name") if name in head}
        rows = rows[1:]
        if not rows:
            raise ValueError(f"{path} has a header and no pairs")
    entries: list[Entry] = []
    for number, row in enumerate(rows, start=1):
        cells = {name: row[place].strip() for name, place in columns.items() if place < len(row)}
        if not cells.get("part") or not cells.get("whole"):
            raise ValueError(f"{path}, pair {number}: {','.join(row)!r} should be part,whole or part,whole,name")
        part, whole = (path.parent / cells[name] for name in ("part", "whole"))
        entries.append(Entry(_folder_name(cells.get("name") or f"{part.stem}-{whole.stem}"), part, whole))
    return _told_apart(entries)


def match_list(
    entries: list[Entry],
    folder: Path,
    choices: Mapping[str, Any],
    one: Callable[[Entry, Path], dict[str, Any]],
    voice: Voice,
) -> list[dict[str, Any]]:
    """Match each pair into a folder of its own; those that were finished with the same choices are left alone.

    Parameters
    ----------
    entries : what to match
    folder : for all results; pairs.csv in it says how each one ended
    choices : that a finished result must have been made with
    one : matches a pair into its folder and gives its summary
    voice : says how it goes
    """
    done: list[dict[str, Any]] = []
    for number, entry in enumerate(entries, start=1):
        place = folder / entry.name
        row: dict[str, Any] = {"name": entry.name, "part": str(entry.part), "whole": str(entry.whole)}
        before = _finished(place, entry, choices)
        if before is not None:
            row |= {"state": "finished before", **_measures(before)}
            voice.say(f"{number} of {len(entries)}, {entry.name}: finished before, left as it is")
        else:
            try:
                row |= {"state": "done", **_measures(one(entry, place))}
            except (ValueError, OSError) as fault:
                # a pair that can't be matched must not stop the others
                row |= {"state": "failed", "reason": " ".join(str(fault).split())}
                voice.note(f"{entry.name} failed: {row['reason']}")
            else:
                voice.say(f"{number} of {len(entries)}, {entry.name}: {100 * row['doubtful']:.0f} % doubtful")
        done.append(row)
        _write_table(folder / "pairs.csv", done)
    return done


def _finished(place: Path, entry: Entry, choices: Mapping[str, Any]) -> dict[str, Any] | None:
    """The summary of a pair that was matched before, with the same files and choices."""
    try:
        summary = json.loads((place / SUMMARY).read_text())
        same = summary["choices"] == json.loads(json.dumps(dict(choices)))
        same = same and (summary["part"], summary["whole"]) == (str(entry.part), str(entry.whole))
        newest = max(file.stat().st_mtime for file in (entry.part, entry.whole))
        return summary if same and newest <= (place / SUMMARY).stat().st_mtime else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _measures(summary: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "doubtful": summary["doubtful"],
        "distortion": summary["distortion"],
        "warnings": "; ".join(summary["warnings"]),
    }


def _write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    import io

    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def said_of(rows: list[dict[str, Any]]) -> str:
    """How many ended in which way."""
    states = [row["state"] for row in rows]
    kinds = [(state, states.count(state)) for state in ("done", "finished before", "failed")]
    return f"{counted(len(rows), 'pair')}: " + ", ".join(f"{count} {state}" for state, count in kinds if count)


def _folder_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "pair"


def _told_apart(entries: list[Entry]) -> list[Entry]:
    """Names that occur again get a number."""
    seen: dict[str, int] = {}
    apart = []
    for entry in entries:
        seen[entry.name] = seen.get(entry.name, 0) + 1
        count = seen[entry.name]
        apart.append(entry if count == 1 else Entry(f"{entry.name}-{count}", entry.part, entry.whole))
    return apart
