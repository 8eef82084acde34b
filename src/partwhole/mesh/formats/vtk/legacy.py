"""Legacy VTK files: `# vtk DataFile Version`, then sections of text, or of big-endian numbers."""

from __future__ import annotations

import re

import numpy as np
from jaxtyping import Int, Num

from partwhole.mesh.formats.common import Contents, FormatError, as_float64, parse_count, shown, split_words, unpadded
from partwhole.mesh.formats.vtk.cells import LINES, POINTS, POLYGON, STRIP, Cells, sizes_of, surface_of

_HEAD = re.compile(rb"# vtk DataFile Version (\d+)\.\d+[^\n]*\n[^\n]*\n[ \t]*(ASCII|BINARY)[ \t\r]*\n", re.IGNORECASE)
_TYPES = {
    b"float": ">f4",
    b"double": ">f8",
    b"int": ">i4",
    b"unsigned_int": ">u4",
    b"long": ">i8",
    b"vtkidtype": ">i4",
    b"short": ">i2",
    b"unsigned_short": ">u2",
    b"unsigned_long": ">u8",
    b"vtktypeint64": ">i8",
    b"vtktypeint32": ">i4",
    b"char": ">i1",
    b"unsigned_char": ">u1",
}
_POLYDATA = {b"VERTICES": POINTS, b"LINES": LINES, b"POLYGONS": POLYGON, b"TRIANGLE_STRIPS": STRIP}
# what comes after the surface, and is passed over with all that follows
_ATTRIBUTES = (b"POINT_DATA", b"CELL_DATA")
_SECTION = re.compile(
    rb"\n[ \t]*(?=(?:POINTS|VERTICES|LINES|POLYGONS|TRIANGLE_STRIPS|CELLS|CELL_TYPES|OFFSETS|CONNECTIVITY|METADATA|FIELD|"
    rb"POINT_DATA|CELL_DATA)\b)"
)


def decode(data: bytes) -> Contents:
    """Points and polygons of a POLYDATA or an UNSTRUCTURED_GRID; what is known at points and cells is passed over."""
    head = _HEAD.match(data)
    if head is None:
        raise FormatError("line 1: a legacy VTK file begins with its version, a title, and ASCII or BINARY")
    reader = _Reader(data, head.end(), head[2].upper() == b"ASCII", int(head[1]))
    kind = b" ".join(reader.line()).upper()
    if kind not in (b"DATASET POLYDATA", b"DATASET UNSTRUCTURED_GRID"):
        raise FormatError(f"line {reader.line_number}: {shown(kind)} is not a surface; write POLYDATA")
    points, found, types = None, [], None
    while (words := reader.line()) and words[0].upper() not in _ATTRIBUTES:
        keyword = words[0].upper()
        if keyword == b"POINTS":
            count = reader.count(words, 1, "points")
            points = as_float64(reader.numbers(3 * count, words[2:3])).reshape(-1, 3)
        elif keyword in _POLYDATA:
            found.append(Cells.of_kind(_POLYDATA[keyword], *reader.cells(words)))
        elif keyword == b"CELLS":
            found.append(Cells.of_kind(POLYGON, *reader.cells(words)))
        elif keyword == b"CELL_TYPES":
            types = reader.whole_numbers(reader.count(words, 1, "cells"), [b"int"])
        elif keyword in (b"METADATA", b"FIELD"):
            reader.pass_over()
        else:
            raise FormatError(f"line {reader.line_number}: {shown(words[0])} is not a section of a surface")
    if points is None:
        raise FormatError("the file has no POINTS")
    cells = Cells.joined(found)
    if kind.endswith(b"GRID"):
        if types is None or len(types) != len(cells.sizes):
            raise FormatError(f"there are {len(cells.sizes)} CELLS and {0 if types is None else len(types)} CELL_TYPES")
        cells = Cells(types, cells.sizes, cells.corners)
    return surface_of(points, cells)


class _Reader:
    """Goes through the sections of a file."""

    def __init__(self, data: bytes, at: int, is_text: bool, version: int) -> None:
        self._data, self._at, self._is_text, self._version = data, at, is_text, version

    @property
    def line_number(self) -> int:
        """Of the line that was read last; in a binary file, where there are no lines, about."""
        return self._data.count(b"\n", 0, max(self._at - 1, 0)) + 1

    def line(self) -> list[bytes]:
        """The words of the next line that has any; none at the end."""
        while self._at < len(self._data):
            end = self._data.find(b"\n", self._at)
            end = len(self._data) if end < 0 else end
            words = self._data[self._at : end].split()
            self._at = end + 1
            if words:
                return words
        return []

    def count(self, words: list[bytes], index: int, what: str) -> int:
        if len(words) <= index:
            raise FormatError(f"line {self.line_number}: the number of {what} is missing")
        return parse_count(words[index], self.line_number, what)

    def whole_numbers(self, count: int, kind: list[bytes]) -> Int[np.ndarray, "_"]:
        """The same, of a type without fractions."""
        if kind and kind[0].lower() in (b"float", b"double"):
            raise FormatError(f"line {self.line_number}: {shown(kind[0])} is not a type for vertex numbers")
        return self.numbers(count, kind).astype(np.int64)

    def numbers(self, count: int, kind: list[bytes]) -> Num[np.ndarray, "_"]:
        """The next numbers, of a type that the file names."""
        if not kind or kind[0].lower() not in _TYPES:
            named = shown(kind[0]) if kind else "nothing"
            raise FormatError(f"line {self.line_number}: {named} is not a type of numbers")
        dtype = np.dtype(_TYPES[kind[0].lower()])
        if self._is_text:
            section = _SECTION.search(self._data, max(self._at - 1, 0))
            end = len(self._data) if section is None else section.start()
            words = split_words(self._data[self._at : end], comment=None, first_line=self.line_number + 1)
            if len(words.words) != count:
                raise FormatError(
                    f"line {self.line_number}: {count} numbers should follow, there are {len(words.words)}"
                )
            self._at = end
            return words.floats() if dtype.kind == "f" else words.ints()
        size = count * dtype.itemsize
        left = len(self._data) - self._at
        if size > left:
            raise FormatError(f"byte {self._at}: {size} bytes should follow, the file ends after {left}")
        found = np.frombuffer(self._data, dtype, count, self._at)
        self._at += size
        return found

    def cells(self, words: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
        """Corners and sizes of cells: each behind its size, or since version 5 all of them, and where each begins."""
        count, size = self.count(words, 1, "cells"), self.count(words, 2, "corners")
        if self._version < 5:
            corners, sizes = unpadded(self.whole_numbers(size, [b"int"]))
            if len(sizes) != count:
                raise FormatError(f"line {self.line_number}: there are {len(sizes)} cells, the file says {count}")
            return corners, sizes
        arrays = []
        for keyword, length in ((b"OFFSETS", count), (b"CONNECTIVITY", size)):
            named = self.line()
            if not named or named[0].upper() != keyword:
                raise FormatError(f"line {self.line_number}: {keyword.decode()} is missing")
            arrays.append(self.whole_numbers(length, named[1:2]))
        offsets, corners = arrays
        if len(offsets) and offsets[0] != 0:
            raise FormatError(f"the first cell begins at {offsets[0]}, not at 0")
        return corners, sizes_of(offsets[1:], len(corners), "cells")

    def pass_over(self) -> None:
        """To the next section."""
        section = _SECTION.search(self._data, self._at)
        self._at = len(self._data) if section is None else section.start()
