"""What the formats share: what a file contained, how a defect in it is said, and numbers from text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from jaxtyping import Float, Int

Row = list[bytes]


class MeshWarning(UserWarning):
    """Something about a mesh was changed or left out, and the result is still usable."""


class FormatError(ValueError):
    """A defect and its place; `read_mesh` adds the name of the file."""


@dataclass(frozen=True)
class Contents:
    """What a file says, before any of it is judged: points, polygons, and where in the file each one stands."""

    vertices: Float[np.ndarray, "n 3"]
    corners: Int[np.ndarray, "c"]
    sizes: Int[np.ndarray, "m"]
    vertex_place: Callable[[int], str]
    face_place: Callable[[int], str]
    first_number: int = 0
    notes: tuple[str, ...] = ()


def shown(token: bytes) -> str:
    """A token of the file as it can stand in a one-line message."""
    text = token.decode("ascii", "backslashreplace")
    text = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    return repr(text if len(text) <= 40 else text[:37] + "...")


def counted(number: int, one: str, many: str | None = None) -> str:
    """
    >>> counted(1, "vertex", "vertices"), counted(3, "face")
    ('1 vertex', '3 faces')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def content_rows(data: bytes, comment: bytes | None = b"#") -> tuple[list[Row], list[int]]:
    """The words of each line that has any, and the number of that line, counted from 1.

    >>> content_rows(b"OFF # a file\\n\\n3 1 0\\n")
    ([[b'OFF'], [b'3', b'1', b'0']], [1, 3])
    """
    lines = data.removeprefix(b"\xef\xbb\xbf").splitlines()
    if comment is not None and comment in data:
        lines = [line.partition(comment)[0] for line in lines]
    split = [line.split() for line in lines]
    numbers = [number for number, row in enumerate(split, 1) if row]
    return [row for row in split if row], numbers


def parse_floats(rows: Sequence[Row], lines: Sequence[int]) -> Float[np.ndarray, "_"]:
    """All words of the rows as one float64 array; nan and inf pass, they are judged with their vertex."""
    try:
        _refuse_underscores(rows)
        return np.fromiter(map(float, chain.from_iterable(rows)), np.float64)
    except ValueError:
        raise _unreadable(rows, lines, float, "a number") from None


def parse_ints(rows: Sequence[Row], lines: Sequence[int]) -> Int[np.ndarray, "_"]:
    """All words of the rows as one int64 array."""
    try:
        _refuse_underscores(rows)
        return np.fromiter(map(int, chain.from_iterable(rows)), np.int64)
    except (ValueError, OverflowError):
        raise _unreadable(rows, lines, _int64, "a whole number of at most 18 digits") from None


def parse_count(token: bytes, line: int, what: str) -> int:
    """A number of things, as a header gives it."""
    if not token.isdigit() or len(token) > 18:
        raise FormatError(f"line {line}: the number of {what} is {shown(token)}, not a count")
    return int(token)


def check_widths(rows: Sequence[Row], lines: Sequence[int], widths: Sequence[int], what: str) -> None:
    """Every row must have as many words as the first, and that many must be allowed."""
    if not rows or (len(rows[0]) in widths and len(set(map(len, rows))) == 1):
        return
    width = len(rows[0])
    if width not in widths:
        raise FormatError(
            f"line {lines[0]}: {what} has {counted(width, 'value')}, expected {' or '.join(map(str, widths))}"
        )
    index = next(i for i, row in enumerate(rows) if len(row) != width)
    raise FormatError(
        f"line {lines[index]}: {what} has {counted(len(rows[index]), 'value')}, the first one has {width}"
    )


def _int64(token: bytes) -> int:
    value = int(token)
    if abs(value) >= 10**18:
        raise ValueError
    return value


def _refuse_underscores(rows: Sequence[Row]) -> None:
    # Python reads b"1_000" as a thousand; in a file it is damage
    if b"_" in b" ".join(chain.from_iterable(rows)):
        raise ValueError


def _unreadable(rows: Sequence[Row], lines: Sequence[int], kind: Callable[[bytes], object], what: str) -> FormatError:
    """The first word that could not be read; found the slow way, since it is looked for once."""
    for row, line in zip(rows, lines, strict=True):
        for token in row:
            try:
                if b"_" in token:
                    raise ValueError
                kind(token)
            except ValueError:
                return FormatError(f"line {line}: {shown(token)} is not {what}")
    raise AssertionError("every word can be read")
