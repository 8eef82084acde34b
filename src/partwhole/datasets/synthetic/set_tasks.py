"""The two tasks that a set is made of, wherever they run: a whole of area 1 from each mesh, and each part cut from it."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from partwhole.datasets.cutting.cuts import Recipe, random_cuts
from partwhole.datasets.synthetic.made_folder import SetFiles
from partwhole.mesh import Mesh, as_mesh
from partwhole.mesh.io import read_mesh
from partwhole.store.arguments import displayable


@runtime_checkable
class MeshSource(Protocol):
    """Where meshes come from; it is sent to other processes."""

    def read(self, name: str, file: str) -> tuple[Mesh, str]:
        """The mesh, and what was changed while it was read."""


@dataclass(frozen=True)
class FolderSource:
    """Meshes in the files of a folder."""

    folder: Path
    repair: bool

    def read(self, name: str, file: str) -> tuple[Mesh, str]:
        path = self.folder / file
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                mesh = read_mesh(path, name=name, repair=self.repair)
            except ValueError as error:
                reason = str(error).removeprefix(displayable(str(path))).lstrip(": ")
                raise ValueError(reason.replace("read_mesh(path, repair=True)", "repair=True")) from None
        said = [str(warning.message).removeprefix(f"{displayable(str(path))}: ") for warning in caught]
        return mesh, "; ".join(said)


@dataclass(frozen=True)
class MappingSource:
    """Meshes by name, such as generated bodies."""

    meshes: Any  # a Mapping; a type checker at run time would make a body to look at it

    def read(self, name: str, file: str) -> tuple[Mesh, str]:
        return as_mesh(self.meshes[name], name=name), ""


@dataclass(frozen=True)
class WholeTask:
    """A mesh that becomes a whole.

    Attributes
    ----------
    name, file : of the mesh
    is_decided : by its name and the settings alone, so that a whole which is there need not be made to be compared
    """

    name: str
    file: str
    is_decided: bool

    @property
    def said(self) -> str:
        return self.file


@dataclass(frozen=True)
class MadeWhole:
    """What is known of a whole, or the reason why there is none.

    Attributes
    ----------
    connectivity : equal for meshes with the same faces
    scale : from the mesh to the whole; None for one that was there
    note : what was changed while the mesh was read
    reason : why it can't be used
    """

    connectivity: str = ""
    scale: float | None = None
    note: str = ""
    reason: str = ""


def make_whole(files: SetFiles, source: MeshSource, task: WholeTask) -> MadeWhole:
    """Write a mesh, scaled to area 1, into wholes/."""
    path, scale, note = files.whole(task.name), None, ""
    if path.exists() and task.is_decided:
        mesh = read_mesh(path, name=task.name)
    else:
        try:
            given, note = source.read(task.name, task.file)
            mesh, scale = given.to_unit_area()
        except (ValueError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return MadeWhole(reason=reason)
        files.put_mesh(path, mesh)
    return MadeWhole(f"{mesh.n_vertices} {hashlib.sha256(mesh.faces.tobytes()).hexdigest()}", scale, note)


@dataclass(frozen=True)
class CutTask:
    """A part that is cut from a whole.

    Attributes
    ----------
    name : of the whole
    part, number : name of the part, and its number among those of the whole
    partners : the wholes that it is matched to
    """

    name: str
    part: str
    number: int
    partners: tuple[str, ...]

    @property
    def said(self) -> str:
        return self.part


@dataclass(frozen=True)
class MadePart:
    """What is known of a part: its share of the area, and whether it was there before; or the reason why there is none."""

    area_share: float = 0.0
    kept: bool = False
    reason: str = ""


def cut_part(files: SetFiles, recipe: Recipe, seed: int, task: CutTask) -> MadePart:
    """Write a part, and where it lies on each of its wholes; it comes last, so where it is, its maps are."""
    path, maps = files.part(task.part), [files.map(task.part, whole) for whole in task.partners]
    if path.exists() and all(map_path.exists() for map_path in maps):
        return MadePart(read_mesh(path).area, kept=True)
    whole = files.whole(task.name)
    try:
        cut = random_cuts(_read_once(whole, task.name, whole.stat().st_mtime_ns), recipe, _random(seed, task))
    except ValueError as error:
        return MadePart(reason=str(error))
    if path.exists():  # seen to be this part, before maps of it are written
        files.put_mesh(path, cut.part)
    for map_path in maps:
        files.put_map(map_path, cut.vertex_map)
    files.put_mesh(path, cut.part)
    return MadePart(cut.area_share)


@lru_cache(maxsize=1)
def _read_once(path: Path, name: str, changed: int) -> Mesh:
    """A whole, for all the parts that are cut from it one after the other."""
    return read_mesh(path, name=name)


def _random(seed: int, task: CutTask) -> np.random.Generator:
    """A stream for each part, whatever other meshes there are."""
    digest = hashlib.sha256(task.name.encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big"), task.number])
