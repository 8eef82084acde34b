"""Results on disk: `save` writes one into a folder, and `load` reads it back exactly. Nothing here needs torch.

A result is a tree of frozen dataclasses, tuples, numbers, texts and arrays. result.json holds the tree and says what kind
of result it is; arrays are in result.npz. Nothing is pickled: only the classes that are listed here are ever made.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from partwhole._version import __version__
from partwhole.datasets.number_files import read_npz
from partwhole.mesh import Mesh, read_mesh
from partwhole.store.arguments import checked_path, in_short
from partwhole.store.storage import atomic_write

__all__ = ["load", "save"]

RESULT, ARRAYS = "result.json", "result.npz"
# raised when older versions could not read what is written; `load` reads every version up to this one
_LAYOUT = 1

# what may be in a result, by its name in the file; another kind of result is another line
_HOMES = {
    "Mesh": "partwhole.mesh.surface",
    "BarycentricMap": "partwhole.mesh.barycentric",
    "MatchResult": "partwhole.matching.result",
    "CoarseMatch": "partwhole.matching.result",
    "DoubtfulRegion": "partwhole.matching.result",
    "Fit": "partwhole.matching.result",
    "LandmarkResult": "partwhole.matching.result",
    "PartsMatch": "partwhole.matching.parts.result",
    "PartnerMap": "partwhole.matching.parts.result",
    "Scaling": "partwhole.matching.scans.prepare",
    # above this folder; it is imported by its name, and only to load one
    "FittedTemplate": "partwhole.registration.result",
}


def save(
    result: Any,
    folder: str | os.PathLike[str],
    *,
    surfaces: Mapping[str, Mesh] | None = None,
    arrays: Mapping[str, np.ndarray] | None = None,
    file: str = ARRAYS,
) -> None:
    """Write a result into a folder, as result.json and result.npz; the folder is made if there is none.

    Parameters
    ----------
    result : of one of the kinds that `load` reads
    folder : where it goes; a result that is there is replaced
    surfaces : those of the result that lie in the folder already, in files that keep them exactly, by the names of the files
    arrays : those of the result that have names of their own among the arrays; others are named after their place in it
    file : the name of the file of arrays
    """
    if type(result).__name__ not in _HOMES:
        raise ValueError(f"result must be a MatchResult, a PartsMatch or a FittedTemplate, got {in_short(result)}")
    place = checked_path("folder", folder)
    if place.exists() and not place.is_dir():
        raise ValueError(f"{place} is a file; a result is saved in a folder")
    tree = Tree(surfaces, arrays)
    held = tree.packed(result)
    data = io.BytesIO()
    named: dict[str, Any] = dict(tree.arrays)
    np.savez_compressed(data, **named)
    place.mkdir(parents=True, exist_ok=True)
    # the tree comes last: where it is, the result is complete
    (place / RESULT).unlink(missing_ok=True)
    with atomic_write(place / file) as out:
        out.write(data.getbuffer())
    about = {
        "kind": type(result).__name__,
        "layout": _LAYOUT,
        "written by": f"partwhole {__version__}",
        "file": file,
        "arrays": hashlib.sha256(data.getbuffer()).hexdigest(),
        "surfaces": {name: [mesh.name, mesh.content_hash] for name, mesh in tree.outside.items()},
        "result": held,
    }
    with atomic_write(place / RESULT) as out:
        out.write(json.dumps(about, indent=1).encode())


def load(folder: str | os.PathLike[str]) -> Any:
    """The result that `save` wrote into a folder, or `partwhole match` or `fit`: the same, to the last bit.

    Parameters
    ----------
    folder : with result.json and the arrays beside it

    Returns
    -------
    A `MatchResult`, a `PartsMatch` or a `FittedTemplate`, whichever was saved there.
    """
    place = checked_path("folder", folder)
    if not (place / RESULT).is_file():
        raise FileNotFoundError(f"{place} has no {RESULT}; give a folder that save, `partwhole match` or fit wrote")
    try:
        about = json.loads((place / RESULT).read_bytes())
        kind, layout, held = about["kind"], about["layout"], about["result"]
        checksum, listed = about["arrays"], {file: (name, known) for file, (name, known) in about["surfaces"].items()}
        file = about.get("file", ARRAYS)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{place / RESULT} can't be read ({error!r}); save the result again") from None
    if not isinstance(layout, int) or layout > _LAYOUT:
        raise ValueError(f"{place / RESULT} was written by {about.get('written by')}; load it with that version")
    beside = place / _beside(place, file)
    if not beside.is_file() or hashlib.sha256(beside.read_bytes()).hexdigest() != checksum:
        raise ValueError(f"{beside} is not the file that belongs to {RESULT}; save the result again")
    outside = {file: _surface_beside(place, file, *wanted) for file, wanted in listed.items()}
    try:
        found = Tree(outside, read_npz(beside)).unpacked(held)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{place / RESULT}: this is no {kind} ({error}); save the result again") from None
    if type(found).__name__ != kind:
        raise ValueError(f"{place / RESULT}: this is no {kind}, but a {type(found).__name__}; save the result again")
    return found


def files_of(folder: Path) -> list[Path]:
    """The files that `load` reads, as far as its result.json can be read: no command may write over them."""
    names: list[Any] = [RESULT, ARRAYS]
    try:
        about = json.loads((folder / RESULT).read_bytes())
        names += [about.get("file", ARRAYS), *about["surfaces"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass  # `load` says what is wrong with it
    return [folder / name for name in dict.fromkeys(name for name in names if isinstance(name, str))]


class Tree:
    """A result as what JSON can hold, and its arrays apart; objects that occur twice are one object again.

    JSON's own values stand for themselves, and its lists for tuples; everything else is an object with one entry, whose
    name says what it is.

    Parameters
    ----------
    outside : surfaces that are kept elsewhere, by a name
    arrays : of a result that is to be unpacked, or those that have names already

    Examples
    --------
    >>> tree = Tree()
    >>> tree.packed({"map": np.arange(3), "cost": (1.5, float("inf"))})
    {'dict': {'map': {'array': 'map'}, 'cost': [1.5, {'float': 'inf'}]}}
    >>> tree.unpacked(_)
    {'map': array([0, 1, 2]), 'cost': (1.5, inf)}
    """

    def __init__(
        self, outside: Mapping[str, Mesh] | None = None, arrays: Mapping[str, np.ndarray] | None = None
    ) -> None:
        self.outside, self.arrays = dict(outside or {}), dict(arrays or {})
        # objects met so far, kept so that none of their identities is used again
        self._met: list[Any] = []

    def packed(self, value: Any, path: tuple[str, ...] = ()) -> Any:
        """The value for JSON; `path` says where it is, and names its arrays."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
            return value
        if isinstance(value, float):
            return {"float": str(float(value))}
        if isinstance(value, tuple):
            return [self.packed(item, (*path, str(number))) for number, item in enumerate(value)]
        if isinstance(value, list):
            return {"list": [self.packed(item, (*path, str(number))) for number, item in enumerate(value)]}
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {"dict": {key: self.packed(item, (*path, key)) for key, item in value.items()}}
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return {"array": self._kept(value, "_".join(path) or "array")}
        name = type(value).__name__
        if not is_dataclass(value) or name not in _HOMES:
            raise ValueError(f"{'.'.join(path) or 'result'} is {in_short(value)}, which can't be saved")
        for file, mesh in self.outside.items():
            # not the same object where a session has the whole from an earlier pair
            if mesh is value or _is_same(mesh, value):
                return {"surface": file}
        for number, other in enumerate(self._met):
            if other is value:
                return {"again": number}
        self._met.append(value)
        return {name: {f.name: self.packed(getattr(value, f.name), (*path, f.name)) for f in fields(value)}}

    def unpacked(self, held: Any) -> Any:
        """What was packed."""
        if isinstance(held, list):
            return tuple(map(self.unpacked, held))
        if not isinstance(held, dict):
            return held
        ((what, inner),) = held.items()
        if what == "array":
            return self.arrays[inner]
        if what == "again":
            return self._met[inner]
        if what == "surface":
            return self.outside[inner]
        if what == "float":
            return float(inner)
        if what == "list":
            return [self.unpacked(item) for item in inner]
        if what == "dict":
            return {key: self.unpacked(item) for key, item in inner.items()}
        if what not in _HOMES:
            raise ValueError(f"{in_short(what)} is not a kind of this version")
        # those inside come later, as they did when it was packed
        number = len(self._met)
        self._met.append(None)
        kind = getattr(import_module(_HOMES[what]), what)
        self._met[number] = kind(**{name: self.unpacked(item) for name, item in inner.items()})
        return self._met[number]

    def _kept(self, array: np.ndarray, name: str) -> str:
        for known, other in self.arrays.items():
            if other is array:
                return known
        unused = name
        while unused in self.arrays:
            unused += "_"
        self.arrays[unused] = array
        return unused


def _is_same(mesh: Mesh, value: Any) -> bool:
    """Whether a value is this surface with this name."""
    return isinstance(value, Mesh) and mesh.name == value.name and mesh.content_hash == value.content_hash


def _surface_beside(folder: Path, file: str, name: str, content_hash: str) -> Mesh:
    """A surface in a file of the folder, which has to be what it was."""
    mesh = read_mesh(folder / _beside(folder, file), name=str(name))
    if mesh.content_hash != content_hash:
        raise ValueError(f"{folder / file} is another surface than that of the result; save the result again")
    return mesh


def _beside(folder: Path, file: Any) -> str:
    """The name of a file in the folder."""
    if not isinstance(file, str) or Path(file).name != file:
        raise ValueError(
            f"{folder / RESULT} names {in_short(file)}, which is not a file beside it; save the result again"
        )
    return file
