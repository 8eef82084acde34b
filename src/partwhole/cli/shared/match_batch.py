"""`partwhole match` for many pairs: which ones a list or two folders name, which are done, and the table of results."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from partwhole.cli.shared.console import Console, write_text
from partwhole.cli.shared.match_output import SUMMARY
from partwhole.datasets.synthetic.folder import mesh_files, named_surface, surface_files
from partwhole.mesh.formats.common import counted
from partwhole.mesh.formats.detect import FORMATS
from partwhole.mesh.landmarks import ENDINGS
from partwhole.store.text import table_rows

# the table of results; the list that `partwhole dataset make` writes has the same name
TABLE = "pairs.csv"
_COLUMNS_READ = ("part", "whole", "name")
_COLUMNS_WRITTEN = ("name", "part", "whole", "state", "doubtful", "distortion", "warnings", "reason")


@dataclass(frozen=True)
class Entry:
    """A pair to match: the files of a part and of its whole, the name of the folder of the result, and files of landmarks."""

    name: str
    part: Path
    whole: Path
    landmarks: tuple[Path, ...] = ()


def read_list(path: Path, parts: Path | None = None, wholes: Path | None = None) -> list[Entry]:
    """Pairs from a CSV file: columns part and whole, and name where there is one.

    Cells are paths relative to the folder of the file, or names of files, with or without their extensions, in the folders
    of parts and of wholes (default: parts/ and wholes/ beside the file), as in the list that `partwhole dataset make`
    writes. A header is optional: without one the columns are part, whole and name.
    """
    if path.is_dir():
        raise ValueError(f"--pairs {path} is a folder; give the list itself, such as {path / TABLE}")
    rows = _rows(path)
    head = [cell.strip().lower() for cell in rows[0]]
    columns = {name: place for place, name in enumerate(_COLUMNS_READ)}
    known = _Surfaces(path.parent, parts or path.parent / "parts", wholes or path.parent / "wholes")
    if {"part", "whole"} <= set(head):
        columns = {name: head.index(name) for name in _COLUMNS_READ if name in head}
        rows = rows[1:]
        if not rows:
            raise ValueError(f"{path} has a header and no pairs")
    elif len(head) > 1 and not any(known.might_be(cell) for cell in rows[0][:2]):
        raise ValueError(
            f"{path} has the columns {', '.join(cell.strip() for cell in rows[0])}; it should have part and whole, and may "
            "have name: rename them in its first line"
        )
    entries: list[Entry] = []
    for number, row in enumerate(rows, start=1):
        cells = {name: row[place].strip() for name, place in columns.items() if place < len(row)}
        if not cells.get("part") or not cells.get("whole"):
            raise ValueError(f"{path}, pair {number}: {','.join(row)!r} should be part,whole or part,whole,name")
        part, whole = known.part(cells["part"]), known.whole(cells["whole"])
        entries.append(Entry(cells.get("name") or f"{part.stem}-{whole.stem}", part, whole))
    return _with_unique_names(entries)


def pair_folders(parts: Path, wholes: Path) -> list[Entry]:
    """The pairs of two paths, at least one of which is a folder of meshes.

    A single whole is that of every part; several must have the names of their parts.
    """
    of_parts, of_wholes = _meshes(parts), _meshes(wholes)
    if len(of_wholes) == 1:
        whole = of_wholes[0]
        # a template often lies among the scans
        others = [part for part in of_parts if not (part.exists() and part.samefile(whole))]
        if not others:
            raise ValueError(f"{parts} holds no mesh but the whole, {whole}; give a folder of parts")
        return _with_unique_names([Entry(f"{part.stem}-{whole.stem}", part, whole) for part in others])
    by_name: dict[str, list[Path]] = {}
    for whole in of_wholes:
        by_name.setdefault(whole.stem, []).append(whole)
    alone = [part for part in of_parts if len(by_name.get(part.stem, ())) != 1]
    if alone:
        raise ValueError(
            f"which of the {len(of_wholes)} meshes in {wholes} is the whole of {alone[0].name}? name them alike, or give "
            "--pairs a list with the columns part,whole"
        )
    return _with_unique_names([Entry(part.stem, part, by_name[part.stem][0]) for part in of_parts])


def landmark_files(entry: Entry, given: list[Path], *, many: bool) -> tuple[Path, ...]:
    """The files of landmarks of a pair: as given; or, where the first is a folder, the one in it that is named like the part.

    Without such a file there are no landmarks.
    """
    missing = next((path for path in given if not path.exists()), None)
    if missing is not None:
        raise ValueError(f"file not found: --landmarks {missing}; give a {', '.join(ENDINGS)} file")
    first, *others = given
    if len(others) > 1:
        raise ValueError(f"--landmarks is given once, for part and whole, or twice, for each of them; got {len(given)}")
    if not first.is_dir():
        if many:
            raise ValueError(
                f"--landmarks {first} is for one part; for many give a folder with files that are named like the parts"
            )
        return tuple(given)
    found = [first / f"{entry.part.stem}{ending}" for ending in ENDINGS]
    return next(((path, *others) for path in found if path.is_file()), ())


@dataclass(frozen=True)
class _Surfaces:
    """Finds the files that the cells of a list name."""

    folder: Path
    parts: Path
    wholes: Path

    def part(self, cell: str) -> Path:
        return self._found(cell, self._of_parts)

    def whole(self, cell: str) -> Path:
        return self._found(cell, self._of_wholes)

    def might_be(self, cell: str) -> bool:
        """Whether a cell is a file, or looks like the name of one."""
        name = cell.strip()
        return bool(Path(name).suffix) or self.part(name).is_file() or self.whole(name).is_file()

    @cached_property
    def _of_parts(self) -> dict[str, Path]:
        return surface_files(self.parts) if self.parts.is_dir() else {}

    @cached_property
    def _of_wholes(self) -> dict[str, Path]:
        return surface_files(self.wholes) if self.wholes.is_dir() else {}

    def _found(self, name: str, known: dict[str, Path]) -> Path:
        path = self.folder / name
        if path.is_file():
            return path
        stem = named_surface(name, known)
        return path if stem is None else known[stem]


def _meshes(path: Path) -> list[Path]:
    if not path.exists():
        raise ValueError(f"file not found: {path}; give a mesh or a folder of meshes")
    if not path.is_dir():
        return [path]
    found = mesh_files(path)
    if not found:
        raise ValueError(f"{path} has no meshes; it should hold .{', .'.join(FORMATS)} files")
    return found


def list_beside(parts: Path, wholes: Path) -> Path | None:
    """The list of pairs beside two folders, if there is one; a table of results, of the same name, is not taken for it."""
    path = parts.resolve().parent / TABLE
    if not (parts.is_dir() and wholes.is_dir() and path.is_file() and wholes.resolve().parent == path.parent):
        return None
    head = {cell.strip().lower() for cell in _rows(path)[0]}
    return path if {"part", "whole"} <= head and "state" not in head else None


def _rows(path: Path) -> list[list[str]]:
    """The lines of a table that are not blank; columns are separated by commas, semicolons or tabs."""
    try:
        rows = table_rows(path.read_text(encoding="utf-8-sig"))
    except ValueError:
        raise ValueError(f"{path} is not a text file; give a CSV file with the columns part,whole") from None
    if not rows:
        raise ValueError(f"{path} names no pairs; a line is part,whole or part,whole,name")
    return rows


def match_list(
    entries: list[Entry],
    folder: Path,
    choices: Mapping[str, Any],
    one: Callable[[Entry, Path], dict[str, Any]],
    console: Console,
) -> list[dict[str, Any]]:
    """Match each pair into a folder of its own; pairs that were finished with the same choices are left alone.

    Parameters
    ----------
    entries : what to match
    folder : for all results; its pairs.csv has a row for each pair
    choices : that a finished result must have been made with
    one : matches a pair into its folder and returns its summary
    console : for progress
    """
    done: list[dict[str, Any]] = []
    for number, entry in enumerate(entries, start=1):
        place = folder / entry.name
        row: dict[str, Any] = {"name": entry.name, "part": str(entry.part), "whole": str(entry.whole)}
        before = _finished(place, entry, choices)
        if before is not None:
            row |= {"state": "finished before", **_measures(before)}
            console.say(f"{number} of {len(entries)}, {entry.name}: finished before, left as it is")
        else:
            try:
                row |= {"state": "done", **_measures(one(entry, place))}
            except (ValueError, OSError) as fault:
                # a pair that can't be matched must not stop the others
                row |= {"state": "failed", "reason": " ".join(str(fault).split())}
                console.note(f"{entry.name} failed: {row['reason']}")
            else:
                console.say(f"{number} of {len(entries)}, {entry.name}: {100 * row['doubtful']:.0f} % doubtful")
        done.append(row)
        _write_table(folder / TABLE, done)
    return done


def _finished(place: Path, entry: Entry, choices: Mapping[str, Any]) -> dict[str, Any] | None:
    """The summary of a pair that was matched before, with the same files and choices."""
    try:
        summary = json.loads((place / SUMMARY).read_text(encoding="utf-8"))
        same = summary["choices"] == json.loads(json.dumps(dict(choices)))
        same = same and (summary["part"], summary["whole"]) == (str(entry.part), str(entry.whole))
        same = same and summary["landmark_files"] == [str(file) for file in entry.landmarks]
        newest = max(file.stat().st_mtime for file in (entry.part, entry.whole, *entry.landmarks))
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
    writer = csv.DictWriter(text, _COLUMNS_WRITTEN, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def count_states(rows: list[dict[str, Any]]) -> str:
    """How many pairs are done, were finished before, and failed."""
    states = [row["state"] for row in rows]
    kinds = [(state, states.count(state)) for state in ("done", "finished before", "failed")]
    return f"{counted(len(rows), 'pair')}: " + ", ".join(f"{count} {state}" for state, count in kinds if count)


def _folder_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "pair"


def _with_unique_names(entries: list[Entry]) -> list[Entry]:
    """The same with names of folders that differ, also without regard to case, and none that of the table."""
    taken, counts = {TABLE}, Counter[str]()
    apart = []
    for entry in entries:
        name = own = _folder_name(entry.name)
        while own.lower() in taken:
            counts[name.lower()] += 1
            own = f"{name}-{counts[name.lower()] + 1}"
        taken.add(own.lower())
        apart.append(replace(entry, name=own))
    return apart
