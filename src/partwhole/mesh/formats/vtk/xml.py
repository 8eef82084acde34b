"""VTK's XML files, VTP and VTU: arrays as text, in base64, or behind the XML, plain or compressed by zlib."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
from jaxtyping import Num

from partwhole.mesh.formats.common import Contents, FormatError, as_float64, parse_count, shown, split_words
from partwhole.mesh.formats.vtk.cells import LINES, POINTS, POLYGON, STRIP, Cells, sizes_of, surface_of

_TYPES = {
    **{f"Int{8 * size}": f"i{size}" for size in (1, 2, 4, 8)},
    **{f"UInt{8 * size}": f"u{size}" for size in (1, 2, 4, 8)},
    **{f"Float{8 * size}": f"f{size}" for size in (4, 8)},
}
_APPENDED = re.compile(rb"<AppendedData\s+encoding=\"(raw|base64)\"\s*>\s*_")
_POLYDATA = {"Verts": POINTS, "Lines": LINES, "Polys": POLYGON, "Strips": STRIP}
# zlib makes a thousand times as much of nothing, and any number of pieces may show the same bytes; no surface shrinks so far
_LARGEST_RATIO, _ALWAYS = 100, 1 << 24


def decode(data: bytes) -> Contents:
    """Points and polygons of all pieces; what is known at points and cells is passed over."""
    file = _File.of(data)
    grids = [child for child in file.root if child.tag == file.root.get("type")]
    points, cells, n_points = [np.empty((0, 3))], [], 0
    for piece in (piece for grid in grids for piece in grid.findall("Piece")):
        own = file.array(piece.find("Points"), None, "the points")
        if own.size % 3:
            raise FormatError(f"the points have {own.size} coordinates; each has 3")
        points.append(as_float64(own).reshape(-1, 3))
        for found in file.cells(piece):
            cells.append(Cells(found.kinds, found.sizes, found.corners + n_points))
        n_points += len(points[-1])
    return surface_of(np.concatenate(points), Cells.joined(cells))


@dataclass(frozen=True, eq=False)
class _File:
    """The XML of a file, what lies behind it, and how numbers are written."""

    root: ElementTree.Element
    behind: bytes
    is_raw: bool
    order: str
    head: np.dtype
    is_compressed: bool
    room: list[int]  # bytes that the arrays may still take, as float64 or int64

    @classmethod
    def of(cls, data: bytes) -> _File:
        mark = _APPENDED.search(data)
        text = data if mark is None else data[: mark.start()] + b"</VTKFile>"
        if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
            raise FormatError("the file has a DOCTYPE, which VTK files do not have")
        try:
            root = ElementTree.fromstring(text)
        except (ElementTree.ParseError, ValueError, LookupError) as error:
            raise FormatError(f"the XML is damaged: {' '.join(str(error).split())}") from None
        kind, packed = root.get("type"), root.get("compressor")
        if root.tag != "VTKFile" or kind not in ("PolyData", "UnstructuredGrid"):
            raise FormatError(f"a {_said(kind or root.tag)} is not a surface; write PolyData (.vtp)")
        if packed not in (None, "", "vtkZLibDataCompressor"):
            raise FormatError(f"the arrays are packed by {_said(packed)}; write them with zlib, or without compression")
        head, order = root.get("header_type", "UInt32"), root.get("byte_order", "LittleEndian")
        if head not in ("UInt32", "UInt64") or order not in ("LittleEndian", "BigEndian"):
            raise FormatError(f"header_type {_said(head)} or byte_order {_said(order)} is none of VTK's")
        sign = "<" if order == "LittleEndian" else ">"
        behind = b"" if mark is None else data[mark.end() :]
        is_raw = mark is not None and mark[1] == b"raw"
        room = [_LARGEST_RATIO * len(data) + _ALWAYS]
        return cls(root, behind, is_raw, sign, np.dtype(sign + _TYPES[head]), bool(packed), room)

    def cells(self, piece: ElementTree.Element) -> list[Cells]:
        """The cells of a piece: of a surface by kind, of a grid with the kind of each."""
        if self.root.get("type") == "PolyData":
            places = [(piece.find(name), name, kind) for name, kind in _POLYDATA.items()]
            return [
                Cells.of_kind(kind, *self._corners(place, name)) for place, name, kind in places if place is not None
            ]
        place = piece.find("Cells")
        corners, sizes = self._corners(place, "cells")
        kinds = self.array(place, "types", "the types of the cells").astype(np.int64)
        if len(kinds) != len(sizes):
            raise FormatError(f"there are {len(sizes)} cells and {len(kinds)} types of cells")
        return [Cells(kinds, sizes, corners)]

    def _corners(self, place: ElementTree.Element | None, what: str) -> tuple[np.ndarray, np.ndarray]:
        corners = self.array(place, "connectivity", f"the corners of the {what}").astype(np.int64)
        ends = self.array(place, "offsets", f"the offsets of the {what}").astype(np.int64)
        return corners, sizes_of(ends, len(corners), what)

    def array(self, place: ElementTree.Element | None, name: str | None, what: str) -> Num[np.ndarray, "_"]:
        """An array by its name, or the only one."""
        listed = [] if place is None else place.findall("DataArray")
        found = next((one for one in listed if name is None or one.get("Name") == name), None)
        if found is None:
            # a piece without cells need not list their arrays
            if place is not None and name is not None and not listed:
                return np.empty(0, np.int64)
            raise FormatError(f"{what} are missing")
        kind = _TYPES.get(found.get("type", ""))
        if kind is None or (name is not None and kind[0] == "f"):
            raise FormatError(f"{what} are of type {_said(found.get('type'))}")
        if found.get("format", "ascii") == "ascii":
            words = split_words((found.text or "").encode(), comment=None)
            return words.floats() if kind[0] == "f" else words.ints()
        data = self._bytes(found, what, int(kind[1:]))
        if len(data) % int(kind[1:]):
            raise FormatError(f"{what} have {len(data)} bytes, which are not numbers of type {found.get('type')}")
        return np.frombuffer(data, self.order + kind)

    def _bytes(self, found: ElementTree.Element, what: str, item: int) -> bytes:
        """The bytes of an array, each number `item` of them, behind a head that says how many there are."""
        size = self.head.itemsize
        if found.get("format") == "appended":
            offset = parse_count(found.get("offset", "").encode(), 1, "bytes before an array")
            held = memoryview(self.behind)[offset:]
            stream = _Raw(held) if self.is_raw else _Base64(held)
        elif found.get("format") == "binary":
            stream = _Base64(memoryview("".join((found.text or "").split()).encode()))
        else:
            raise FormatError(f"{what} are in the format {_said(found.get('format'))}")
        (first,) = self._heads(stream.peek(size, what), 1)
        if not self.is_compressed:
            self._take(first, item, what)
            return stream.peek(size + first, what)[size:]
        if first == 0:
            return b""
        n_blocks = first
        head = self._heads(stream.read(size * (3 + n_blocks), what), 3 + n_blocks)
        whole, last, packed = head[1], head[2] or head[1], head[3:]
        self._take(whole * (n_blocks - 1) + last, item, what)
        blocks, data, at = [], stream.read(sum(packed), what), 0
        for number, length in enumerate(packed):
            wanted = last if number == n_blocks - 1 else whole
            if wanted == 0:  # for zlib: as much as there is
                raise FormatError(f"{what} are damaged: a block is empty")
            try:
                block = zlib.decompressobj().decompress(data[at : at + length], wanted)
            except zlib.error as error:
                raise FormatError(f"{what} are damaged: {error}") from None
            if len(block) != wanted:
                raise FormatError(f"{what} are damaged: a block has {len(block)} bytes, not {wanted}")
            blocks.append(block)
            at += length
        return b"".join(blocks)

    def _take(self, n_bytes: int, item: int, what: str) -> None:
        """Raise FormatError if the numbers in these bytes need more memory than such a file may take."""
        self.room[0] -= n_bytes // item * 8
        if self.room[0] < 0:
            raise FormatError(f"{what} would be more than {_LARGEST_RATIO} times as large as the file")

    def _heads(self, data: bytes, count: int) -> list[int]:
        found: list[int] = np.frombuffer(data, self.head, count).tolist()
        return found


class _Raw:
    """Bytes, read from the first on."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def peek(self, size: int, what: str) -> bytes:
        """The next bytes, which stay the next ones."""
        found = bytes(self._data[self._at : self._at + size])
        if len(found) != size:
            raise FormatError(f"the file ends within {what}")
        return found

    def read(self, size: int, what: str) -> bytes:
        """The next bytes."""
        found = self.peek(size, what)
        self._at += size
        return found


class _Base64:
    """Bytes in base64; what is read at once was written at once, and is padded by itself."""

    def __init__(self, text: memoryview) -> None:
        self._text, self._at = text, 0

    def peek(self, size: int, what: str) -> bytes:
        """The next bytes, which stay the next ones."""
        text = bytes(self._text[self._at : self._at + 4 * -(-size // 3)])
        try:
            found = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)[:size]
        except binascii.Error as error:
            raise FormatError(f"{what} are not base64: {error}") from None
        if len(found) != size:
            raise FormatError(f"the file ends within {what}")
        return found

    def read(self, size: int, what: str) -> bytes:
        """The next bytes."""
        found = self.peek(size, what)
        self._at += 4 * -(-size // 3)
        return found


def _said(text: str | None) -> str:
    return "nothing" if text is None else shown(text.encode("ascii", "backslashreplace"))
