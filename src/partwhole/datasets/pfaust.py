"""PFAUST (Bracha, Dagès, Kimmel 2024): 100 bodies of FAUST remeshed, 4 large balls (M) or 13 small ones (H) cut out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Int

from partwhole.datasets.cutting import Cut
from partwhole.mesh import Mesh
from partwhole.mesh.io import read_mesh

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

    Parameters
    ----------
    root : folder that holds pfaust/ and faust_r/; its pfaust/ folder will do
    level : "M", 4 balls of radius 0.16 removed, or "H", 13 balls of radius 0.1
    """

    root: Path
    level: Level

    def __init__(self, root: str | os.PathLike[str], level: Level) -> None:
        if level not in ("M", "H"):
            raise ValueError(f"level must be 'M' or 'H', got {level!r}")
        folder = Path(root)
        if not (folder / "pfaust").is_dir() and (folder / "PFAUST-M").is_dir():
            folder = folder.absolute().parent
        object.__setattr__(self, "root", folder)
        object.__setattr__(self, "level", level)
        missing = [str(path.relative_to(folder)) for path in self._folders() if not path.is_dir()]
        if missing:
            raise FileNotFoundError(f"{root} has no {', no '.join(missing)}: {SOURCES}")

    def __len__(self) -> int:
        return len(list((self.root / "pfaust" / f"PFAUST-{self.level}" / "off").glob("tr_reg_*.off")))

    def files(self, k: int) -> tuple[Path, Path, Path]:
        """Where part k, its whole, and its ground truth are stored."""
        parts, wholes, truth = self._folders()
        name = f"tr_reg_{k:03d}"
        found = parts / f"{name}.off", wholes / f"{name}.off", truth / f"PFAUST-{self.level}_{name}.npz"
        for path in found:
            if not path.is_file():
                raise FileNotFoundError(f"{path} does not exist: {SOURCES}")
        return found

    def part(self, k: int) -> Mesh:
        return read_mesh(self.files(k)[0], name=f"PFAUST-{self.level} {k:03d}")

    def whole(self, k: int) -> Mesh:
        """The FAUST shape of the same number, scaled to area 1 and centred as the parts are."""
        return read_mesh(self.files(k)[1], name=f"FAUST {k:03d}").to_unit_area()[0]

    def vertex_map(self, k: int) -> Int[np.ndarray, "n"]:
        """For each vertex of part k its number in whole k."""
        path = self.files(k)[2]
        with np.load(path, allow_pickle=False) as truth:
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

    def _folders(self) -> tuple[Path, Path, Path]:
        pfaust = self.root / "pfaust"
        return pfaust / f"PFAUST-{self.level}" / "off", self.root / "faust_r", pfaust / "ground_truth"
