"""The meshes that a command processes one by one: those of a folder or of a list, each perhaps with its whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partwhole.cli.shared.batch.entries import ListedSurfaces, with_unique_names
from partwhole.cli.shared.batch.kind import BatchKind, bytes_of_files
from partwhole.datasets.synthetic.folder import mesh_files
from partwhole.mesh.io import FORMATS
from partwhole.store.text import table_rows

LISTS = (".csv", ".tsv", ".txt")
_HEADS = ("mesh", "part", "scan")


@dataclass(frozen=True)
class MeshEntry:
    """A mesh: its file, the name of the folder of the result, and the file of its whole, if there is one."""

    name: str
    mesh: Path
    whole: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that are read."""
        return (self.mesh,) if self.whole is None else (self.mesh, self.whole)

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return bytes_of_files(self.files)

    def said(self, kind: BatchKind) -> dict[str, Any]:
        """What the summary of a result says of its files."""
        return {kind.part: str(self.mesh), kind.whole: None if self.whole is None else str(self.whole)}


def are_many(path: Path) -> bool:
    """Whether this is a folder or a list, and no mesh.

    >>> are_many(Path("scan.ply")), are_many(Path("scans.csv"))
    (False, True)
    """
    return path.is_dir() or path.suffix.lower() in LISTS


def mesh_entries(path: Path, whole: Path | None, kind: BatchKind) -> list[MeshEntry]:
    """The meshes of a folder, or of a list: the column mesh (or part, or scan), or the first column without a header.

    Cells are paths relative to the folder of the list, or names of files in parts/ beside it.
    """
    if path.is_dir():
        files = mesh_files(path)
        if not files:
            raise ValueError(f"{path} has no meshes; it should hold .{', .'.join(FORMATS)} files")
    else:
        files = _listed(path)
    return with_unique_names([MeshEntry(file.stem, file, whole) for file in files], kind)


def _listed(path: Path) -> list[Path]:
    try:
        rows = table_rows(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ValueError(f"file not found: {path}; give a mesh, a folder of meshes or a list of them") from None
    except ValueError:
        raise ValueError(f"{path} is not a text file; give a list of meshes, one in each line") from None
    head = [cell.strip().lower() for cell in rows[0]] if rows else []
    column = next((head.index(name) for name in _HEADS if name in head), None)
    cells = [row[column or 0].strip() for row in rows[column is not None :] if len(row) > (column or 0)]
    if not cells:
        raise ValueError(f"{path} names no meshes; give one in each line")
    surfaces = ListedSurfaces(path.parent, path.parent / "parts", path.parent / "wholes")
    # a list of pairs names a part once for each of its wholes
    return list(dict.fromkeys(surfaces.part(cell) for cell in cells))
