"""Cells of VTK: those that make a surface, as polygons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from partwhole.mesh.formats.common import Contents, FormatError, counted

# VTK's numbers of the cells
POINTS, LINES, TRIANGLE, STRIP, POLYGON, PIXEL, QUAD = 2, 4, 5, 6, 7, 8, 9
_NO_SURFACE = (1, POINTS, 3, LINES)
_SURFACE = (TRIANGLE, STRIP, POLYGON, PIXEL, QUAD)
_HOLDS = {10: "tetrahedra", 11: "voxels", 12: "hexahedra", 13: "wedges", 14: "pyramids", 42: "polyhedra"}


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells one after the other: the kind of each, by VTK's number, and how many of the corners belong to it."""

    kinds: Int[np.ndarray, "m"]
    sizes: Int[np.ndarray, "m"]
    corners: Int[np.ndarray, "c"]

    @classmethod
    def of_kind(cls, kind: int, corners: Int[np.ndarray, "c"], sizes: Int[np.ndarray, "m"]) -> Cells:
        return cls(np.full(len(sizes), kind), sizes, corners)

    @classmethod
    def joined(cls, several: list[Cells]) -> Cells:
        none = np.empty(0, np.int64)
        parts = [(cells.kinds, cells.sizes, cells.corners) for cells in several]
        return cls(
            *(np.concatenate([none, *arrays]) for arrays in (zip(*parts, strict=True) if parts else ((), (), ())))
        )


def sizes_of(ends: Int[np.ndarray, "m"], n_corners: int, what: str) -> Int[np.ndarray, "m"]:
    """How many corners each cell has, from where they end."""
    sizes = np.diff(ends, prepend=0)
    if (sizes < 0).any() or (int(ends[-1]) if len(ends) else 0) != n_corners:
        raise FormatError(f"the offsets of the {what} do not rise from 0 to {n_corners}, the number of their corners")
    return sizes


def surface_of(points: Float[np.ndarray, "n 3"], cells: Cells, file_notes: tuple[str, ...] = ()) -> Contents:
    """The polygons among the cells, in their order; strips become triangles."""
    other = np.setdiff1d(cells.kinds, [*_SURFACE, *_NO_SURFACE])
    if len(other):
        named = ", ".join(_HOLDS.get(kind, f"cells of VTK's type {kind}") for kind in other.tolist())
        raise FormatError(f"the file holds {named}; write its surface, triangles or polygons")
    if (cells.sizes[cells.kinds == PIXEL] != 4).any():
        raise FormatError("the file holds pixels without 4 corners")
    passed = np.isin(cells.kinds, _NO_SURFACE)
    kept = np.flatnonzero(~passed)
    begin = (np.cumsum(cells.sizes) - cells.sizes)[kept]
    kinds, sizes = cells.kinds[kept], cells.sizes[kept]
    # of a strip one window of three corners after the other, every second one turned
    is_strip = (kinds == STRIP) & (sizes >= 3)
    windows = np.where(is_strip, sizes - 2, 1)
    cell = np.repeat(np.arange(len(kept)), windows)
    step = np.arange(len(cell)) - np.repeat(np.cumsum(windows) - windows, windows)
    begin, width = begin[cell] + step, np.where(is_strip, 3, sizes)[cell]
    at = np.repeat(begin, width) + np.arange(int(width.sum())) - np.repeat(np.cumsum(width) - width, width)
    corners = cells.corners[at]
    first = np.cumsum(width) - width
    for swapped, one in ((first[is_strip[cell] & (step % 2 == 1)], 0), (first[kinds[cell] == PIXEL], 2)):
        corners[swapped + one], corners[swapped + one + 1] = corners[swapped + one + 1], corners[swapped + one]
    notes = (f"{counted(int(passed.sum()), 'cell')} of points or lines left out",) if passed.any() and len(kept) else ()
    return Contents(
        points,
        corners,
        width,
        vertex_place=lambda i: f"point {i}",
        face_place=lambda i: f"cell {kept[cell[i]]}",
        notes=(*file_notes, *notes),
    )
