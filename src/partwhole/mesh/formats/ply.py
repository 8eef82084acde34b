"""PLY, text and binary: the header with its elements and properties, the rows that it describes, and writing."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8

from partwhole.mesh.formats.common import (
    Contents,
    FormatError,
    Words,
    as_float64,
    counted,
    parse_count,
    shown,
    split_words,
)

_KINDS = {
    **dict.fromkeys(("char", "int8"), "i1"),
    **dict.fromkeys(("uchar", "uint8"), "u1"),
    **dict.fromkeys(("short", "int16"), "i2"),
    **dict.fromkeys(("ushort", "uint16"), "u2"),
    **dict.fromkeys(("int", "int32"), "i4"),
    **dict.fromkeys(("uint", "uint32"), "u4"),
    **dict.fromkeys(("float", "float32"), "f4"),
    **dict.fromkeys(("double", "float64"), "f8"),
}
_MOST_LINES = 1000
_BYTE_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}


@dataclass(frozen=True, eq=False)
class Property:
    """One value a row, or a list of them preceded by its length."""

    name: str
    kind: str
    count_kind: str = ""

    @property
    def is_list(self) -> bool:
        return bool(self.count_kind)

    @property
    def item_size(self) -> int:
        return int(self.kind[1])

    @property
    def count_size(self) -> int:
        return int(self.count_kind[1])

    def length_at(self, data: bytes, at: int, byte_order: str) -> int:
        return int.from_bytes(
            data[at : at + self.count_size],
            "little" if byte_order == "<" else "big",
            signed=self.count_kind[0] == "i",
        )


@dataclass(frozen=True)
class Element:
    name: str
    count: int
    line: int
    properties: tuple[Property, ...]

    def find(self, name: str) -> Property | None:
        return next((p for p in self.properties if p.name == name), None)

    @property
    def smallest_row(self) -> int:
        """Bytes of a row whose lists are all empty."""
        return sum(p.count_size if p.is_list else p.item_size for p in self.properties)


@dataclass(frozen=True)
class Header:
    byte_order: str
    elements: tuple[Element, ...]
    length: int
    n_lines: int

    def element(self, name: str) -> Element:
        found = next((e for e in self.elements if e.name == name), None)
        if found is None:
            have = ", ".join(shown(e.name.encode()) for e in self.elements[:8]) or "none"
            raise FormatError(f"line {self.n_lines}: there is no element {name} (elements: {have})")
        return found


def read_header(data: bytes) -> Header:
    """Everything up to and with the line `end_header`."""
    if not re.match(rb"ply[ \t]*[\r\n]", data):
        raise FormatError("line 1: a PLY file begins with a line 'ply'")
    end = re.search(rb"[\r\n]end_header[ \t]*(\r\n|\r|\n)", data)
    if end is None:
        raise FormatError("line 1: the header has no line 'end_header'; the file is truncated or not a PLY file")
    lines = data[: end.end()].splitlines()
    said = sum(line.lstrip().startswith((b"element", b"property")) for line in lines)
    if said > _MOST_LINES:
        raise FormatError(f"line 1: the header has {said} elements and properties; at most {_MOST_LINES} are supported")
    byte_order: str | None = None
    elements: list[Element] = []
    for number, line in enumerate(lines[1:-1], 2):
        words = line.decode("ascii", "backslashreplace").split()
        match words:
            case [] | ["comment", *_] | ["obj_info", *_]:
                pass
            case ["format", kind, "1.0"] if kind in _BYTE_ORDERS and byte_order is None and not elements:
                byte_order = _BYTE_ORDERS[kind]
            case ["element", name, count] if all(e.name != name for e in elements):
                elements.append(Element(name, parse_count(count.encode(), number, f"{name} rows"), number, ()))
            case ["property", *_] if elements:
                elements[-1] = _with_property(elements[-1], words, number)
            case _:
                raise FormatError(f"line {number}: {shown(line.strip())} is not valid here in a PLY header")
    if byte_order is None:
        raise FormatError("line 2: the header does not say its format: 'format ascii 1.0' or one of the binary ones")
    empty = next((e for e in elements if e.count and not e.properties), None)
    if empty is not None:
        raise FormatError(f"line {empty.line}: element {shown(empty.name.encode())} has no properties")
    return Header(byte_order, tuple(elements), end.end(), len(lines))


def _with_property(element: Element, words: list[str], line: int) -> Element:
    match words[1:]:
        case ["list", count_kind, kind, name] if np.dtype(_KINDS.get(count_kind, "f4")).kind != "f" and kind in _KINDS:
            added = Property(name, _KINDS[kind], _KINDS[count_kind])
        case [kind, name] if kind in _KINDS:
            added = Property(name, _KINDS[kind])
        case _:
            text = shown(" ".join(words).encode())
            raise FormatError(f"line {line}: {text} is not a property of a type that PLY has")
    if element.find(added.name) is not None:
        raise FormatError(f"line {line}: element {element.name} has two properties called {shown(added.name.encode())}")
    return Element(element.name, element.count, element.line, (*element.properties, added))


_LIST_NAMES = ("vertex_indices", "vertex_index")


@dataclass(frozen=True)
class _Body:
    vertices: Float[np.ndarray, "n 3"]
    corners: Int[np.ndarray, "c"]
    sizes: Int[np.ndarray, "m"]
    places: dict[str, Int[np.ndarray, "_"]]


def decode(data: bytes) -> Contents:
    """Vertices and polygons; every other property and element is passed over, but must be there."""
    header = read_header(data)
    vertex, face = header.element("vertex"), header.element("face")
    for axis in "xyz":
        found = vertex.find(axis)
        if found is None or found.is_list:
            raise FormatError(f"line {vertex.line}: element vertex has no property {axis}, or it is a list")
    corner_list = next((p for name in _LIST_NAMES if (p := face.find(name)) is not None), None)
    if corner_list is None or not corner_list.is_list or np.dtype(corner_list.kind).kind == "f":
        raise FormatError(f"line {face.line}: element face needs a list of whole numbers called vertex_indices")
    body = _text_body(data, header, corner_list) if header.byte_order == "" else _binary_body(data, header, corner_list)
    unit = "line" if header.byte_order == "" else "byte"
    return Contents(
        body.vertices,
        body.corners,
        body.sizes,
        vertex_place=lambda i: f"{unit} {body.places['vertex'][i]}",
        face_place=lambda i: f"{unit} {body.places['face'][i]}",
    )


def encode(
    vertices: Float[np.ndarray, "n 3"],
    faces: Int[np.ndarray, "m 3"],
    colors: UInt8[np.ndarray, "n 3"] | None,
    *,
    ascii: bool,
) -> bytes:
    """Binary little endian with float64 coordinates, or text with the shortest decimals that read back the same."""
    head = ["ply", f"format {'ascii' if ascii else 'binary_little_endian'} 1.0", f"element vertex {len(vertices)}"]
    head += [f"property double {axis}" for axis in "xyz"]
    head += [f"property uchar {color}" for color in ("red", "green", "blue") if colors is not None]
    head += [f"element face {len(faces)}", "property list uchar int vertex_indices", "end_header", ""]
    start = "\n".join(head).encode()
    if ascii:
        if colors is None:
            body = map("%r %r %r".__mod__, map(tuple, vertices.tolist()))
        else:
            body = map("%r %r %r %d %d %d".__mod__, zip(*vertices.T.tolist(), *colors.T.tolist(), strict=True))
        rows = [*body, *map("3 %d %d %d".__mod__, map(tuple, faces.tolist())), ""]
        return start + "\n".join(rows).encode()
    points = np.zeros(len(vertices), [("xyz", "<f8", 3), *([("rgb", "u1", 3)] if colors is not None else [])])
    points["xyz"] = vertices
    if colors is not None:
        points["rgb"] = colors
    triangles = np.zeros(len(faces), [("size", "u1"), ("corners", "<i4", 3)])
    triangles["size"], triangles["corners"] = 3, faces
    return start + points.tobytes() + triangles.tobytes()


# --- text


def _text_body(data: bytes, header: Header, corner_list: Property) -> _Body:
    rows = split_words(data[header.length :], comment=None, first_line=header.n_lines + 1)
    wanted = sum(element.count for element in header.elements)
    if len(rows) < wanted:
        last = rows.lines[-1] if len(rows) else header.n_lines
        raise FormatError(f"line {last}: the file ends after {counted(len(rows), 'row')}, the header says {wanted}")
    if len(rows) > wanted:
        raise FormatError(f"line {rows.lines[wanted]}: {counted(len(rows) - wanted, 'row')} more than the header says")
    places: dict[str, Int[np.ndarray, "_"]] = {}
    start = 0
    for element in header.elements:
        own = rows.block(start, start + element.count)
        start += element.count
        places[element.name] = own.lines
        if len(element.properties) > (3 if element.name == "vertex" else 1):
            own.floats()  # what is passed over must be numbers too
        if element.name == "vertex":
            columns = [_text_column(element, own, p)[0].floats() for p in map(element.find, "xyz") if p]
            vertices = np.stack(columns, axis=1)
        elif element.name == "face":
            polygons, sizes = _text_column(element, own, corner_list)
            corners = polygons.ints()
        else:
            _text_column(element, own, None)
    return _Body(vertices, corners, sizes, places)


def _text_column(element: Element, rows: Words, wanted: Property | None) -> tuple[Words, Int[np.ndarray, "m"]]:
    """The words of one property, and how many each row has; all rows are checked to be as long as they say."""
    widths = rows.widths
    at = np.zeros(len(rows), np.int64)
    found, found_sizes = rows, widths
    for p in element.properties:
        sizes = np.ones_like(at)
        if p.is_list:
            _check_room(element, rows, at + 1, p)
            sizes = rows.column(at).ints()
            negative = np.flatnonzero(sizes < 0)
            if len(negative):
                row = int(negative[0])
                raise FormatError(f"line {rows.lines[row]}: {element.name} {row} has a list of length {sizes[row]}")
            at = at + 1
        _check_room(element, rows, at + sizes, p)
        if p is wanted:
            found, found_sizes = rows.columns(at, at + sizes), sizes
        at = at + sizes
    spare = np.flatnonzero(at != widths)
    if len(spare):
        row = int(spare[0])
        raise FormatError(
            f"line {rows.lines[row]}: {element.name} {row} has {counted(int(widths[row]), 'value')}, expected {at[row]}"
        )
    return found, found_sizes


def _check_room(element: Element, rows: Words, end: Int[np.ndarray, "m"], p: Property) -> None:
    short = np.flatnonzero(end > rows.widths)
    if len(short):
        row = int(short[0])
        raise FormatError(
            f"line {rows.lines[row]}: {element.name} {row} ends before its {p.name} does, "
            f"after {counted(int(rows.widths[row]), 'value')}"
        )


# --- binary


def _binary_body(data: bytes, header: Header, corner_list: Property) -> _Body:
    at = header.length
    places: dict[str, Int[np.ndarray, "_"]] = {}
    for element in header.elements:
        starts = _row_starts(data, at, element, header.byte_order)
        places[element.name] = starts
        if element.name == "vertex":
            axes = [p for p in map(element.find, "xyz") if p]
            columns = [as_float64(_gather(data, starts, element, p, header.byte_order)[0]) for p in axes]
            vertices = np.stack(columns, axis=1)
        elif element.name == "face":
            corners, sizes = _gather(data, starts, element, corner_list, header.byte_order)
        at = int(starts[-1])
    if data[at:].strip():
        raise FormatError(f"byte {at}: {counted(len(data) - at, 'byte')} more than the header says")
    return _Body(vertices, corners.astype(np.int64), sizes, places)


def _row_starts(data: bytes, at: int, element: Element, byte_order: str) -> Int[np.ndarray, "_"]:
    """Byte at which each row begins, and the byte after the last one."""
    count, smallest = element.count, element.smallest_row
    if count * smallest > len(data) - at:
        raise FormatError(
            f"byte {at}: {counted(count, element.name + ' row')} take at least {count * smallest} bytes, "
            f"the file has {len(data) - at} more"
        )
    lists = [p for p in element.properties if p.is_list]
    if not lists or count == 0:
        return at + smallest * np.arange(count + 1)
    # the usual case, all rows as long as the first, is checked at once
    width = _row_end(data, at, element, byte_order, 0) - at
    if count * width <= len(data) - at:
        starts = at + width * np.arange(count + 1)
        if all(
            len(set(_list_lengths(data, starts[:-1] + offset, p, byte_order).tolist())) == 1
            for p, offset in _first_row_offsets(data, at, element, byte_order)
        ):
            return starts
    starts = np.empty(count + 1, np.int64)
    starts[0] = here = at
    for row in range(count):
        starts[row + 1] = here = _row_end(data, here, element, byte_order, row)
    return starts


def _row_end(data: bytes, at: int, element: Element, byte_order: str, row: int) -> int:
    for p in element.properties:
        if not p.is_list:
            at += p.item_size
            continue
        at, before = at + p.count_size, at
        if at <= len(data):
            length = p.length_at(data, before, byte_order)
            if length < 0:
                raise FormatError(f"byte {before}: {element.name} {row} has a list of length {length}")
            at += length * p.item_size
        if at > len(data):
            raise FormatError(f"byte {before}: the file ends within {p.name} of {element.name} {row}")
    if at > len(data):
        raise FormatError(f"byte {len(data)}: the file ends within {element.name} {row}")
    return at


def _first_row_offsets(data: bytes, at: int, element: Element, byte_order: str) -> list[tuple[Property, int]]:
    """The lists of the element, and how far from the start of the first row each begins."""
    found, here = [], at
    for p in element.properties:
        if p.is_list:
            found.append((p, here - at))
            here += p.count_size + p.length_at(data, here, byte_order) * p.item_size
        else:
            here += p.item_size
    return found


def _list_lengths(data: bytes, offsets: Int[np.ndarray, "k"], p: Property, byte_order: str) -> Int[np.ndarray, "k"]:
    return _values(data, offsets, byte_order + p.count_kind).astype(np.int64)


def _gather(
    data: bytes, starts: Int[np.ndarray, "_"], element: Element, wanted: Property, byte_order: str
) -> tuple[np.ndarray, Int[np.ndarray, "m"]]:
    """The values of one property, row after row, and how many each row has."""
    at = starts[:-1].copy()
    for p in element.properties:
        sizes = np.ones_like(at)
        if p.is_list:
            sizes = _list_lengths(data, at, p, byte_order)
            at += p.count_size
        if p is wanted:
            within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            return _values(data, np.repeat(at, sizes) + within * p.item_size, byte_order + p.kind), sizes
        at += sizes * p.item_size
    raise AssertionError(f"{wanted.name} is a property of {element.name}")


def _values(data: bytes, offsets: Int[np.ndarray, "k"], kind: str) -> np.ndarray:
    """Values of one type at any byte offsets."""
    dtype = np.dtype(kind)
    raw = np.frombuffer(data, np.uint8)
    return raw[offsets[:, None] + np.arange(dtype.itemsize)].view(dtype).reshape(-1)
