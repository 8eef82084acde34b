"""SHREC'16 Partial Matching of Deformable Shapes (Cosmo et al. 2016): CUTS and HOLES of eight TOSCA shapes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Int

from partwhole.datasets.number_files import counted_from_zero, read_numbers, read_vts
from partwhole.datasets.pairs import GroundTruth, Pair, Pairs
from partwhole.mesh import Mesh
from partwhole.mesh.formats import off
from partwhole.mesh.formats.common import counted
from partwhole.mesh.io import read_mesh
from partwhole.mesh.topology import duplicate_faces
from partwhole.store.arguments import checked_path

Damage = Literal["cuts", "holes"]

SOURCES = (
    "SHREC'16 is published at www.dais.unive.it/~shrec2016 (Cosmo, Rodolà, Bronstein, Torsello, Cremers, Sahillioğlu)"
)
# of each class: the numbers used for training, and how many shapes there are
_SPLIT = {"cuts": (9, 12), "holes": (6, 8)}


@dataclass(frozen=True)
class Shrec16:
    """Parts of SHREC'16, each with the whole of its class in the null pose, scaled to area 1.

    Two layouts are read: the training archive, null/*.off and cuts/*.off with a .baryc_gt beside each part; and folders
    null/off, cuts/off, cuts/corres (or corres) with a .vts or .baryc_gt for each part.

    Barycentric ground truth numbers the triangles of the file. One whole, cat, repeats twelve faces: they are left out
    of the mesh, `Pair.notes` says so, and the truth still means the triangles of the file.

    Parameters
    ----------
    root : folder that holds null/ and cuts/ or holes/; or a folder whose shrec16/ does
    damage : "cuts" or "holes"
    centre : "own", each part on its own vertex mean; "whole", where its file has it: the files of a class have one origin,
        so that the position of a part then hints at where on the whole it was, though in another pose
    """

    root: Path
    damage: Damage
    centre: Literal["own", "whole"]

    def __init__(
        self, root: str | os.PathLike[str], damage: Damage, *, centre: Literal["own", "whole"] = "own"
    ) -> None:
        if centre not in ("own", "whole"):
            raise ValueError(f"centre must be 'own' or 'whole', got {centre!r}")
        if not isinstance(damage, str) or damage not in _SPLIT:
            raise ValueError(f"damage must be 'cuts' or 'holes', got {damage!r}")
        folder = checked_path("root", root)
        if not (folder / "null").is_dir() and (folder / "shrec16" / "null").is_dir():
            folder = folder / "shrec16"
        object.__setattr__(self, "root", folder)
        object.__setattr__(self, "damage", damage)
        object.__setattr__(self, "centre", centre)
        missing = [name for name in ("null", damage) if not (folder / name).is_dir()]
        if missing:
            raise FileNotFoundError(f"{root} has no {', no '.join(missing)}: {SOURCES}")
        if not self.parts:
            raise FileNotFoundError(f"{self._folder(damage)} has no {damage}_<class>_shape_<number>.off: {SOURCES}")

    @property
    def parts(self) -> tuple[tuple[str, int], ...]:
        """(class, number) of every part in the folder, in order."""
        names = (
            re.fullmatch(rf"{self.damage}_(\w+)_shape_(\d+)\.off", p.name) for p in self._folder(self.damage).iterdir()
        )
        return tuple(sorted((m[1], int(m[2])) for m in names if m))

    def pairs(self) -> Pairs:
        """Every part in the folder with the whole of its class."""
        return self._pairs(lambda number: True, f"SHREC'16 {self.damage.upper()}")

    def train_pairs(self) -> Pairs:
        """Training split, train: of the training shapes of each class, CUTS 1 to 9 or HOLES 1 to 6."""
        last = _SPLIT[self.damage][0]
        return self._training_split(lambda number: number <= last, "train")

    def test_pairs(self) -> Pairs:
        """Training split, test: of the training shapes of each class, CUTS 10 to 12 or HOLES 7 and 8.

        These are not the test shapes of the contest; for those, give their folder and take `pairs()`.
        """
        last = _SPLIT[self.damage][0]
        return self._training_split(lambda number: number > last, "test")

    def _training_split(self, keep: Callable[[int], bool], side: str) -> Pairs:
        most = max(number for _, number in self.parts)
        if most > _SPLIT[self.damage][1]:
            raise ValueError(
                f"{self.root} has shapes numbered up to {most}, the training shapes of {self.damage.upper()} end at "
                f"{_SPLIT[self.damage][1]}; the training split is for those, pairs() for all"
            )
        return self._pairs(keep, f"SHREC'16 {self.damage.upper()} training split, {side}")

    def _pairs(self, keep: Callable[[int], bool], name: str) -> Pairs:
        keys = [((kind, number), kind) for kind, number in self.parts if keep(number)]
        for (kind, number), _ in keys:
            self._truth_file(kind, number)
            if not self._whole_file(kind).is_file():
                raise FileNotFoundError(f"{self._whole_file(kind)} does not exist: {SOURCES}")
        read_whole = cache(self._whole)

        @cache
        def unit_whole(kind: str) -> tuple[Mesh, float]:
            return read_whole(kind).mesh.to_unit_area()

        @cache
        def part(kind: str, number: int) -> Mesh:
            mesh = read_mesh(self._part_file(kind, number), name=f"{self.damage} {kind} {number}")
            factor = unit_whole(kind)[1]
            middle = (mesh if self.centre == "own" else read_whole(kind).mesh).vertices.mean(axis=0)
            return Mesh((mesh.vertices - middle) * factor, mesh.faces, name=mesh.name)

        def load(key: tuple[str, int], kind: str) -> Pair:
            source, (whole, factor) = read_whole(kind), unit_whole(kind)
            truth = self._ground_truth(*key, source.file_faces)
            if len(truth) != part(*key).n_vertices:
                raise ValueError(
                    f"{self._truth_file(*key)} has {len(truth)} rows, {part(*key).name} has {part(*key).n_vertices} "
                    "vertices; do the files belong together?"
                )
            return Pair(part(*key), whole, truth, name=part(*key).name, scale=factor, notes=source.notes)

        return Pairs(keys, load, name=name)

    def _whole(self, kind: str) -> _Whole:
        path = self._whole_file(kind)
        try:
            contents = off.decode(path.read_bytes())
            if np.any(contents.sizes != 3):
                raise ValueError("must hold triangles only, the ground truth numbers them")
            faces = contents.corners.reshape(-1, 3)
            repeated = duplicate_faces(faces)
            mesh = Mesh(contents.vertices, faces[~repeated], name=kind)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        n = int(repeated.sum())
        return _Whole(mesh, faces, (f"{kind}: {counted(n, 'repeated face')} left out",) if n else ())

    def _ground_truth(self, kind: str, number: int, faces: Int[np.ndarray, "m 3"]) -> GroundTruth:
        path = self._truth_file(kind, number)
        if path.suffix == ".vts":
            return GroundTruth.of_map(read_vts(path))
        table = read_numbers(path, columns=4)
        try:
            return GroundTruth.in_triangles(counted_from_zero(table[:, 0], path), table[:, 1:], faces=faces)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def _folder(self, name: str) -> Path:
        inner = self.root / name / "off"
        return inner if inner.is_dir() else self.root / name

    def _whole_file(self, kind: str) -> Path:
        return self._folder("null") / f"{kind}.off"

    def _part_file(self, kind: str, number: int) -> Path:
        return self._folder(self.damage) / f"{self.damage}_{kind}_shape_{number}.off"

    def _truth_file(self, kind: str, number: int) -> Path:
        part = self._part_file(kind, number)
        folders = (part.parent, self.root / self.damage / "corres", self.root / "corres")
        found = [f / f"{part.stem}{ending}" for f in folders for ending in (".baryc_gt", ".vts")]
        present = next((path for path in found if path.is_file()), None)
        if present is None:
            raise FileNotFoundError(f"{part} has no {part.stem}.baryc_gt or .vts beside it or in corres: {SOURCES}")
        return present


@dataclass(frozen=True, eq=False)
class _Whole:
    """A whole in the units of its file, with the triangles as the file numbers them."""

    mesh: Mesh
    file_faces: Int[np.ndarray, "m 3"]
    notes: tuple[str, ...]
