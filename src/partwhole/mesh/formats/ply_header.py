"""The header of PLY: which elements follow, how many of each, and of what properties."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from partwhole.mesh.formats.common import FormatError, shown
from partwhole.mesh.formats.words import parse_count

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
        raise FormatError("line 1: the header has no line 'end_header'; the file is cut off or is no PLY")
    lines = data[: end.end()].splitlines()
    said = sum(line.lstrip().startswith((b"element", b"property")) for line in lines)
    if said > _MOST_LINES:
        raise FormatError(
            f"line 1: the header has {said} elements and properties, more than {_MOST_LINES} are not read"
        )
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
                raise FormatError(f"line {number}: {shown(line.strip())} can't stand here in a PLY header")
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
            raise FormatError(f"line {line}: {text} is not a property with types that PLY has")
    if element.find(added.name) is not None:
        raise FormatError(f"line {line}: element {element.name} has two properties called {shown(added.name.encode())}")
    return Element(element.name, element.count, element.line, (*element.properties, added))
