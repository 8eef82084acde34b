"""The pairs that a command processes: a single one, those of a list, or those of two folders; with names and landmarks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from partwhole.cli.shared.batch.engine_options import engine_options, refuse_for_one
from partwhole.cli.shared.batch.kind import BatchKind, bytes_of_files
from partwhole.cli.shared.console import Console
from partwhole.cli.shared.options import below, check_folder, is_method
from partwhole.datasets.synthetic.folder import mesh_files, named_surface, surface_files
from partwhole.engines import EngineOptions
from partwhole.matching.network.weights import model_path
from partwhole.mesh.formats.common import counted
from partwhole.mesh.io import FORMATS
from partwhole.mesh.landmarks import ENDINGS
from partwhole.store.text import table_rows

Named = TypeVar("Named", bound=Any)

# the list that `partwhole dataset make` writes; the table of results of `partwhole match` has the same name
LIST = "pairs.csv"
SURFACE_FILES = "an OFF, OBJ, PLY, STL, GLB or VTK file"
_COLUMNS = ("part", "whole", "name")
# what the columns are called in lists of scans
_ALSO = {"scan": "part", "template": "whole"}


@dataclass(frozen=True)
class PairEntry:
    """A pair: the files of a part and of its whole, the name of the folder of the result, and files of landmarks."""

    name: str
    part: Path
    whole: Path
    landmarks: tuple[Path, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that are read."""
        return (self.part, self.whole, *self.landmarks)

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return bytes_of_files(self.files)

    def said(self, kind: BatchKind) -> dict[str, Any]:
        """What the summary of a result says of its files."""
        landmarks = [str(file) for file in self.landmarks]
        return {kind.part: str(self.part), kind.whole: str(self.whole), "landmark_files": landmarks}


@dataclass(frozen=True)
class Request:
    """The pairs that a command processes.

    Attributes
    ----------
    kind : of command
    entries : the pairs
    folder : for the results, unless another one is given
    listed : the list of the pairs, if one was given
    many : False for a single pair of files, whose results go into the folder itself
    """

    kind: BatchKind
    entries: Sequence[PairEntry]
    folder: Path
    listed: Path | None = None
    many: bool = True

    @property
    def reads(self) -> list[Path | None]:
        """All files that are read."""
        return [self.listed, *(file for entry in self.entries for file in entry.files)]

    @property
    def writes(self) -> list[str]:
        """Patterns of all files that are written."""
        kind = self.kind
        if not self.many:
            return list(kind.writes)
        return [kind.table, *kind.of_all, *(file for entry in self.entries for file in below(entry.name, kind.writes))]

    def with_landmarks(self, given: list[Path], console: Console) -> Request:
        """The same with the files of landmarks of each pair."""
        if not given:
            return self
        entries = [replace(entry, landmarks=landmark_files(entry, given, many=self.many)) for entry in self.entries]
        without = sum(not entry.landmarks for entry in entries)
        if without:
            console.note(
                f"{counted(without, self.kind.part)} of {len(entries)} {self.kind.participle} without landmarks: no file is "
                "named like them"
            )
        return replace(self, entries=entries)

    def engine(self, given: Mapping[str, Any]) -> EngineOptions | None:
        """The engine that the options ask for, which is for many pairs; None for a single one."""
        if self.many:
            return engine_options(given)
        if any(value not in (None, "serial") for value in given.values()):
            refuse_for_one(given, f"a folder of {self.kind.part}s, or --pairs with a list")
        return None

    def check(self, folder: Path, model: str, *, option: str = "--output") -> None:
        """Raise ValueError if there is no such model, or if a file that is read would be overwritten."""
        reads = [*self.reads]
        if not is_method(model):
            weights = model_path(model)
            reads.append(weights / "model.safetensors" if weights.is_dir() else weights)
        check_folder(folder, self.writes, reads, option=option)


def requested(kind: BatchKind, part: Path | None, whole: Path | None, pairs: Path | None) -> Request:
    """The pairs that two arguments, files or folders, or a list name."""
    both = f"a {kind.part} and a {kind.whole}"
    if pairs is not None:
        if part is not None:
            raise ValueError(f"give {both}, or --pairs, not both")
        entries, of_all = read_list(pairs, kind=kind), f"{pairs.stem}-{kind.result_of_many}"
        return Request(kind, entries, Path(of_all), pairs)
    if part is None or whole is None:
        raise ValueError(f"give {both}, or --pairs with a list of them")
    if not (part.is_dir() or whole.is_dir()):
        return Request(kind, [PairEntry("", part, whole)], Path(f"{part.stem}-{kind.result}"), many=False)
    listed = list_beside(part, whole)
    entries = pair_folders(part, whole, kind=kind) if listed is None else read_list(listed, part, whole, kind=kind)
    return Request(kind, entries, Path(f"{part.resolve().stem}-{kind.result_of_many}"), listed)


def existing_surface(path: Path) -> Path:
    """The path, if there is such a file."""
    if not path.is_file():
        raise ValueError(f"file not found: {path}; give {SURFACE_FILES}")
    return path


def read_list(
    path: Path, parts: Path | None = None, wholes: Path | None = None, *, kind: BatchKind | None = None
) -> list[PairEntry]:
    """Pairs from a CSV file: columns part and whole, or scan and template, and name where there is one.

    Cells are paths relative to the folder of the file, or names of files, with or without their extensions, in the folders
    of parts and of wholes (default: parts/ and wholes/ beside the file), as in the list that `partwhole dataset make`
    writes. A header is optional: without one the columns are part, whole and name.
    """
    if path.is_dir():
        raise ValueError(f"--pairs {path} is a folder; give the list itself, such as {path / LIST}")
    rows = _rows(path)
    head = [_ALSO.get(name, name) for name in _head(rows)]
    columns = {name: place for place, name in enumerate(_COLUMNS)}
    known = ListedSurfaces(path.parent, parts or path.parent / "parts", wholes or path.parent / "wholes")
    if {"part", "whole"} <= set(head):
        columns = {name: head.index(name) for name in _COLUMNS if name in head}
        rows = rows[1:]
        if not rows:
            raise ValueError(f"{path} has a header and no pairs")
    elif len(head) > 1 and not any(known.might_be(cell) for cell in rows[0][:2]):
        raise ValueError(
            f"{path} has the columns {', '.join(cell.strip() for cell in rows[0])}; it should have part and whole, or "
            "scan and template, and may have name: rename them in its first line"
        )
    entries: list[PairEntry] = []
    for number, row in enumerate(rows, start=1):
        cells = {name: row[place].strip() for name, place in columns.items() if place < len(row)}
        if not cells.get("part") or not cells.get("whole"):
            raise ValueError(f"{path}, pair {number}: {','.join(row)!r} should be part,whole or part,whole,name")
        part, whole = known.part(cells["part"]), known.whole(cells["whole"])
        entries.append(PairEntry(cells.get("name") or _called(part, whole, kind), part, whole))
    return with_unique_names(entries, kind)


def pair_folders(parts: Path, wholes: Path, *, kind: BatchKind | None = None) -> list[PairEntry]:
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
        return with_unique_names([PairEntry(_called(part, whole, kind), part, whole) for part in others], kind)
    by_name: dict[str, list[Path]] = {}
    for whole in of_wholes:
        by_name.setdefault(whole.stem, []).append(whole)
    alone = [part for part in of_parts if len(by_name.get(part.stem, ())) != 1]
    if alone:
        raise ValueError(
            f"which of the {len(of_wholes)} meshes in {wholes} is the whole of {alone[0].name}? name them alike, or give "
            "--pairs a list with the columns part,whole"
        )
    return with_unique_names([PairEntry(part.stem, part, by_name[part.stem][0]) for part in of_parts], kind)


def landmark_files(entry: PairEntry, given: list[Path], *, many: bool) -> tuple[Path, ...]:
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
class ListedSurfaces:
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
    path = parts.resolve().parent / LIST
    if not (parts.is_dir() and wholes.is_dir() and path.is_file() and wholes.resolve().parent == path.parent):
        return None
    head = {_ALSO.get(name, name) for name in _head(_rows(path))}
    return path if {"part", "whole"} <= head and "state" not in head else None


def _head(rows: list[list[str]]) -> list[str]:
    return [cell.strip().lower() for cell in rows[0]]


def _rows(path: Path) -> list[list[str]]:
    """The lines of a table that are not blank; columns are separated by commas, semicolons or tabs."""
    try:
        rows = table_rows(path.read_text(encoding="utf-8-sig"))
    except ValueError:
        raise ValueError(f"{path} is not a text file; give a CSV file with the columns part,whole") from None
    except FileNotFoundError:
        raise ValueError(f"file not found: --pairs {path}; give a CSV file with the columns part,whole") from None
    if not rows:
        raise ValueError(f"{path} names no pairs; a line is part,whole or part,whole,name")
    return rows


def _called(part: Path, whole: Path, kind: BatchKind | None) -> str:
    return part.stem if kind is not None and kind.named_after_part else f"{part.stem}-{whole.stem}"


def _folder_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "pair"


def with_unique_names(entries: Sequence[Named], kind: BatchKind | None) -> list[Named]:
    """The same with names of folders that differ, also without regard to case, and none that of a file for all pairs."""
    of_all = () if kind is None else (kind.table, *kind.of_all)
    taken, counts = {LIST, *(pattern.partition("/")[0] for pattern in of_all)}, Counter[str]()
    apart = []
    for entry in entries:
        name = own = _folder_name(entry.name)
        while own.lower() in taken:
            counts[name.lower()] += 1
            own = f"{name}-{counts[name.lower()] + 1}"
        taken.add(own.lower())
        apart.append(replace(entry, name=own))
    return apart
