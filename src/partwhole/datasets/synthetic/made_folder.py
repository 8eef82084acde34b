"""The folder that `make_set` writes into: what may be written, what is kept, and its description."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from partwhole._version import __version__
from partwhole.datasets.number_files import read_npz
from partwhole.mesh import Mesh
from partwhole.mesh.io import read_mesh, write_mesh
from partwhole.store.arguments import escaped
from partwhole.store.storage import atomic_write

# raised when files of the folder mean something else
_LAYOUT = 1
_FOLDERS = ("wholes", "parts", "maps")
_RECORDS = ".shards"
_NAMED_IN_README = 20


@dataclass(frozen=True)
class SetFiles:
    """The files of a set, by the names of meshes and parts; none is ever replaced by another one.

    Attributes
    ----------
    root : the folder
    """

    root: Path

    def whole(self, name: str) -> Path:
        return self.root / "wholes" / f"{name}.ply"

    def part(self, name: str) -> Path:
        return self.root / "parts" / f"{name}.ply"

    def map(self, part: str, whole: str) -> Path:
        return self.root / "maps" / f"{part}-{whole}.npz"

    def record(self, name: str) -> Path:
        """What a shard found out about a mesh and its parts; the last shard to end describes the set by these."""
        return self.root / _RECORDS / f"{name}.json"

    def put_mesh(self, path: Path, mesh: Mesh) -> None:
        """Write the surface, or see that it is the one which is there."""
        if not path.exists():
            write_mesh(mesh, path)
        elif read_mesh(path).content_hash != mesh.content_hash:
            raise ValueError(_other(path))

    def put_map(self, path: Path, vertex_map: Int[np.ndarray, "p"]) -> None:
        """Write the map, or see that it is the one which is there."""
        if not path.exists():
            with atomic_write(path) as file:
                np.savez_compressed(file, vertex_map=vertex_map)
        elif not np.array_equal(read_npz(path).get("vertex_map", ()), vertex_map):
            raise ValueError(_other(path))

    def put_record(self, name: str, facts: Mapping[str, Any]) -> None:
        path = self.record(name)
        path.parent.mkdir(exist_ok=True)
        with atomic_write(path) as file:
            file.write(json.dumps(facts).encode())

    def read_record(self, name: str) -> dict[str, Any] | None:
        try:
            held: dict[str, Any] = json.loads(self.record(name).read_bytes())
            return held
        except (OSError, ValueError):
            return None


class MadeFolder:
    """A folder laid out for `FolderPairs`, in which no file is ever replaced by another one.

    Only an empty folder is taken, or one that a set was begun in with the same settings, as set.json there says.

    Parameters
    ----------
    output : the folder, made if it isn't there
    settings : what decides the contents, in plain values
    sources : name of each mesh → the file it comes from
    said : where they all come from

    Attributes
    ----------
    files : in it
    was_complete : the same set was complete before
    """

    def __init__(
        self, output: str | os.PathLike[str], *, settings: Mapping[str, Any], sources: Mapping[str, str], said: str
    ) -> None:
        self.root = Path(output)
        self.files = SetFiles(self.root)
        self.settings, self.sources, self.said = dict(settings), dict(sources), said
        self.was_complete = False
        if self.root.exists() and not self.root.is_dir():
            raise ValueError(f"{output} is a file; give a folder")
        if (self.root / "set.json").is_file():
            self.was_complete = self._is_complete()
        elif self.root.is_dir() and any(not path.name.startswith(".") for path in self.root.iterdir()):
            raise ValueError(
                f"{output} holds files that are not of a set made here, and none is overwritten; "
                "give a new or an empty folder"
            )
        self.root.mkdir(parents=True, exist_ok=True)
        if not self.was_complete:  # before anything else, so that whatever is found here later is known to be ours
            self.describe({}, complete=False)
        for name in _FOLDERS:
            (self.root / name).mkdir(exist_ok=True)

    def list_pairs(self, pairs: Iterable[tuple[str, str]]) -> None:
        """pairs.csv, which says what belongs together; a set that lacks a part of it can't be read by mistake."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([("part", "whole"), *pairs])
        self._write("pairs.csv", text.getvalue())

    def describe(self, facts: Mapping[str, Any], *, complete: bool) -> None:
        """set.json, for machines, and README.md, for people, once the set is complete."""
        said = {
            "layout": _LAYOUT,
            "complete": complete,
            "settings": self.settings,
            "versions": {"partwhole": __version__, "python": platform.python_version(), "numpy": np.__version__},
            "from": self.said,
            **facts,
            "sources": self.sources,
        }
        if complete:
            self._write("README.md", _readme(self.root.resolve().name, said))
        self._write("set.json", json.dumps(said, indent=1, ensure_ascii=False) + "\n")

    def _write(self, name: str, text: str) -> None:
        with atomic_write(self.root / name) as file:
            file.write(text.encode(errors="backslashreplace"))  # names of folders need not be UTF-8

    def _is_complete(self) -> bool:
        """Whether the set that was begun here is complete; an error if it is another one."""
        path = self.root / "set.json"
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            layout, settings, sources = held["layout"], held["settings"], held["sources"]
            before, now = _flat(settings), _flat(self.settings)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{path} is not of a set made here, and is not overwritten; give another folder") from None
        if layout != _LAYOUT:
            raise ValueError(f"{path} has layout {layout}, this version makes {_LAYOUT}; give another folder")
        if not any(any((self.root / name).glob("[!.]*")) for name in _FOLDERS):
            return False  # nothing was made yet, so anything may be
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) != now.get(name):
                raise ValueError(
                    f"{self.root} holds a set made with {name}={before.get(name)!r}, not {now.get(name)!r}; "
                    "give another folder, or remove this one"
                )
        gone = sorted(set(sources) - set(self.sources))
        if gone:
            raise ValueError(
                f"{self.root} holds a set made of {gone[0]} too, which is not among the meshes now "
                f"({len(gone)} such); give another folder"
            )
        return bool(held.get("complete")) and sources.keys() == self.sources.keys()


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of settings beside the others."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat.update({f"{name}.{k}": v for k, v in value.items()} if isinstance(value, Mapping) else {name: value})
    return flat


def _other(path: Path) -> str:
    return f"{path} is there and differs from what would be written; it is not overwritten: give another folder"


def _readme(title: str, said: Mapping[str, Any]) -> str:
    settings, counts = said["settings"], said["counts"]
    lines = [
        f"# {escaped(title)}",
        "",
        f"{counts['parts']} parts of {counts['wholes']} wholes, {counts['pairs']} pairs, with exact ground truth: every "
        "vertex of a part is a vertex of its wholes.",
        "",
        f"- Made by partwhole {said['versions']['partwhole']} (NumPy {said['versions']['numpy']}) "
        f"from {escaped(said['from'])}.",
        f"- Recipe {settings['recipe']}, {settings['parts']} part(s) a mesh, pairs: {settings['pairs']}, "
        f"seed {settings['seed']}.",
        "- wholes/ holds the meshes, scaled to area 1, parts/ what was cut from them, where it was, maps/ for each pair "
        "`vertex_map`, the vertex of the whole for each vertex of the part, pairs.csv the pairs. set.json says all this "
        "to machines, and what each part keeps of the area.",
        *["- The wholes are copies, but for their scale: what their licence says holds for this folder too."]
        * (settings["source"]["kind"] != "bodies"),
        "",
        "```python",
        "from partwhole.datasets import FolderPairs",
        f"pairs = FolderPairs({title!r})",
        "```",
    ]
    for head, entries in (("Left out", said["skipped"]), ("Changed while reading", said["notes"])):
        if entries:
            shown = [f"- {escaped(name)}: {escaped(why)}" for name, why in list(entries.items())[:_NAMED_IN_README]]
            more = [f"- and {len(entries) - len(shown)} more, see set.json"] * (len(entries) > len(shown))
            lines += ["", f"{head}, {len(entries)}:", "", *shown, *more]
    return "\n".join(lines) + "\n"
