"""PFAUST (Bracha, Dagès, Kimmel 2024): 100 bodies of FAUST remeshed, 4 large balls (M) or 13 small ones (H) cut out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Int

from partwhole.datasets.cutting.cuts import Cut
from partwhole.datasets.number_files import read_npz, read_numbers, read_vts
from partwhole.datasets.pairs import GroundTruth, Pair, Pairs
from partwhole.mesh import Mesh
from partwhole.mesh.io import read_mesh
from partwhole.store.arguments import checked_path

Level = Literal["M", "H"]

SOURCES = (
    "PFAUST is published by the paper's authors (Bracha, Dagès, Kimmel, NeurIPS 2024), FAUST remeshed by Ren et al. 2018 "
    "(github.com/llorz/SGA18_orientation_BCICP_code)"
)
# the released parts are stored with ten digits, in units of a whole of area 1
_CLOSE = 1e-4


@dataclass(frozen=True)
class PFaust:
    """The parts of PFAUST-M or PFAUST-H and the wholes they were cut from, scaled to area 1 and centred.

    Two layouts are read: the public release (pfaust/PFAUST-M and PFAUST-H, pfaust/ground_truth, and faust_r/ for the
    wholes), and the authors' bundle, one folder a level with off/, corres/, partial_off/, partial_corr/ and masks/.

    Parameters
    ----------
    root : folder that holds pfaust/ and faust_r/; its pfaust/ folder will do. Or the bundle's folder of this level
    level : "M", 4 balls of radius 0.16 removed, or "H", 13 balls of radius 0.1
    """

    root: Path
    level: Level

    def __init__(self, root: str | os.PathLike[str], level: Level) -> None:
        if level not in ("M", "H"):
            raise ValueError(f"level must be 'M' or 'H', got {level!r}")
        folder = checked_path("root", root)
        if not (folder / "pfaust").is_dir() and (folder / "PFAUST-M").is_dir():
            folder = folder.absolute().parent
        bundles = (folder, folder / f"PFAUST_{level}", folder / "PFAUST" / f"PFAUST_{level}")
        folder = next((b for b in bundles if (b / "masks").is_dir()), folder)
        object.__setattr__(self, "root", folder)
        object.__setattr__(self, "level", level)
        missing = [str(path.relative_to(folder)) for path in self._files.folders if not path.is_dir()]
        if missing:
            raise FileNotFoundError(f"{root} has no {', no '.join(missing)}: {SOURCES}")

    def __len__(self) -> int:
        return len(list(self._files.folders[0].glob("tr_reg_*.off")))

    def files(self, k: int) -> tuple[Path, Path, Path]:
        """Where part k, its whole, and its ground truth are stored."""
        found = self._files.part(k), self._files.whole(k), self._files.truth(k)
        _check_present(found)
        return found

    def part(self, k: int) -> Mesh:
        path = self._files.part(k)
        _check_present([path])
        return read_mesh(path, name=f"PFAUST-{self.level} {k:03d}")

    def whole(self, k: int) -> Mesh:
        """The FAUST shape of number k, scaled to area 1 and centred as the parts are."""
        path = self._files.whole(k)
        _check_present([path])
        return read_mesh(path, name=f"FAUST {k:03d}").to_unit_area()[0]

    def vertex_map(self, k: int) -> Int[np.ndarray, "n"]:
        """For each vertex of part k its number in whole k."""
        if isinstance(self._files, _Bundle):
            raise ValueError(f"{self.root} has no map from parts to their own wholes; the public release has")
        path = self.files(k)[2]
        truth = read_npz(path)
        if "full_vertex" not in truth:
            raise ValueError(f"{path} has no full_vertex, the vertex of the whole for each vertex of the part")
        return truth["full_vertex"].astype(np.int64)

    def cut(self, k: int) -> Cut:
        """Part k with the coordinates of its whole, of which it is then exactly a piece, not only to ten digits."""
        part, whole, vertex_map = self.part(k), self.whole(k), self.vertex_map(k)
        fits = vertex_map.shape == (part.n_vertices,) and vertex_map.min() >= 0 and vertex_map.max() < whole.n_vertices
        if not fits or np.abs(part.vertices - whole.vertices[vertex_map]).max() > _CLOSE:
            raise ValueError(
                f"{self.files(k)[2]} does not map {part.name} onto {whole.name}: files of different releases?"
            )
        return Cut(Mesh(whole.vertices[vertex_map], part.faces, name=part.name), vertex_map, whole)

    def ground_truth(self, part: int, whole: int) -> GroundTruth:
        """Vertices of the part ↔ vertices of any whole, through the rows of FAUST's template that the part still has."""
        for path in self._files.truths(part, whole):
            _check_present([path])
        return self._files.ground_truth(part, whole)

    def pairs(self, parts: Iterable[int], wholes: Iterable[int], *, name: str | None = None) -> Pairs:
        """Every one of the parts with every one of the wholes; files are checked for now and read when needed."""
        keys = list(product(parts, wholes))
        for part, whole in keys:
            _check_present((self._files.part(part), self._files.whole(whole), *self._files.truths(part, whole)))
        read_part, read_whole = cache(self.part), cache(self.whole)

        def load(k: int, x: int) -> Pair:
            part, whole = read_part(k), read_whole(x)
            return Pair(part, whole, self.ground_truth(k, x), name=f"{part.name} → {whole.name}")

        return Pairs(keys, load, name=name or f"PFAUST-{self.level}")

    def train_pairs(self) -> Pairs:
        """The 640 training pairs: parts 0 to 79 with the wholes 0, 10, ..., 70."""
        return self.pairs(range(80), range(0, 80, 10), name=f"PFAUST-{self.level} train")

    def test_pairs(self) -> Pairs:
        """The 40 test pairs: parts 80 to 99 with the wholes 80 and 90."""
        return self.pairs(range(80, 100), range(80, 100, 10), name=f"PFAUST-{self.level} test")

    @property
    def _files(self) -> _Release | _Bundle:
        return _Bundle(self.root) if (self.root / "masks").is_dir() else _Release(self.root, self.level)


@dataclass(frozen=True)
class _Release:
    """The public release, with the ground truth that it lacks rebuilt in ground_truth/."""

    root: Path
    level: Level

    @property
    def folders(self) -> tuple[Path, ...]:
        pfaust = self.root / "pfaust"
        return pfaust / f"PFAUST-{self.level}" / "off", self.root / "faust_r", pfaust / "ground_truth"

    def part(self, k: int) -> Path:
        return self.folders[0] / f"tr_reg_{k:03d}.off"

    def whole(self, k: int) -> Path:
        return self.folders[1] / f"tr_reg_{k:03d}.off"

    def truth(self, k: int) -> Path:
        return self.folders[2] / f"PFAUST-{self.level}_tr_reg_{k:03d}.npz"

    def truths(self, part: int, whole: int) -> tuple[Path, ...]:
        return self.truth(part), self.folders[1] / "corres" / f"tr_reg_{whole:03d}.vts"

    def ground_truth(self, part: int, whole: int) -> GroundTruth:
        path, template = self.truths(part, whole)
        at_template = read_vts(template)
        held = read_npz(path)
        for key in ("template_rows", "partial_vertex_at_rows"):
            if key not in held:
                raise ValueError(f"{path} has no {key}; it holds {', '.join(held) or 'nothing'}")
        rows, on_part = held["template_rows"], held["partial_vertex_at_rows"]
        if rows.shape != on_part.shape or rows.max() >= len(at_template):
            raise ValueError(f"{path} does not fit {template}, which has {len(at_template)} rows")
        return GroundTruth.at_vertices(on_part, at_template[rows])


@dataclass(frozen=True)
class _Bundle:
    """What the authors' loader reads: a mask says which rows of the template the part still has."""

    root: Path

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(self.root / name for name in ("partial_off", "off", "masks", "partial_corr", "corres"))

    def part(self, k: int) -> Path:
        return self.folders[0] / f"tr_reg_{k:03d}.off"

    def whole(self, k: int) -> Path:
        return self.folders[1] / f"tr_reg_{k:03d}.off"

    def truth(self, k: int) -> Path:
        return self.folders[2] / f"tr_reg_{k:03d}.vts"

    def truths(self, part: int, whole: int) -> tuple[Path, ...]:
        return self.truth(part), self.folders[3] / f"tr_reg_{part:03d}.vts", self.folders[4] / f"tr_reg_{whole:03d}.vts"

    def ground_truth(self, part: int, whole: int) -> GroundTruth:
        mask_path, part_path, whole_path = self.truths(part, whole)
        mask, on_part, on_whole = read_numbers(mask_path)[:, 0] != 0, read_vts(part_path), read_vts(whole_path)
        if len(mask) != len(on_whole) or np.count_nonzero(mask) != len(on_part):
            raise ValueError(
                f"{mask_path} keeps {np.count_nonzero(mask)} of {len(mask)} rows, but {part_path} has {len(on_part)} "
                f"and {whole_path} {len(on_whole)}; files of different releases?"
            )
        return GroundTruth.at_vertices(on_part, on_whole[mask])


def _check_present(paths: Iterable[Path]) -> None:
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"{path} does not exist: {SOURCES}")
