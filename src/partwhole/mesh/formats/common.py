"""What the file formats share: the contents of a file, errors that say where it is damaged, and text split into words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from jaxtyping import Bool, Float, Int, Num


class MeshWarning(UserWarning):
    """Something about a mesh was changed or left out, and the result is still usable."""


class FormatError(ValueError):
    """A defect of a file, with its place; `read_mesh` adds the name of the file."""


@dataclass(frozen=True)
class Contents:
    """The contents of a file before they are checked: points, polygons, and where in the file each one is."""

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
    return f"'{text if len(text) <= 40 else text[:37] + '...'}'"


def counted(number: int, one: str, many: str | None = None) -> str:
    """
    >>> counted(1, "vertex", "vertices"), counted(3, "face")
    ('1 vertex', '3 faces')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def percent(share: float) -> str:
    """In whole per cent where that says something, else with two digits.

    >>> percent(0.4261), percent(0.0123), percent(0.99999), percent(0)
    ('43 %', '1.2 %', '100 %', '0 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.095 or share == 0 else f"{100 * share:.2g} %"


def as_float64(values: np.ndarray) -> Float[np.ndarray, "..."]:
    """Values in float64; a signalling nan becomes a quiet one without a warning, since it is judged with its vertex."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


_BLANK = np.zeros(256, bool)
_BLANK[list(b" \t\n\r\x0b\x0c")] = True


@dataclass(frozen=True, eq=False)
class Words:
    """The words of a text: row i has words[begin[i]:begin[i + 1]] and stands on line lines[i] of the file."""

    words: list[bytes]
    begin: Int[np.ndarray, "_"]
    lines: Int[np.ndarray, "_"]

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def widths(self) -> Int[np.ndarray, "_"]:
        """How many words each row has."""
        return np.diff(self.begin)

    def row(self, index: int) -> list[bytes]:
        return self.words[self.begin[index] : self.begin[index + 1]]

    def first(self) -> list[bytes]:
        """The first word of each row; every row must have one."""
        return [self.words[i] for i in self.begin[:-1].tolist()]

    def block(self, start: int, stop: int) -> Words:
        """Rows from start up to stop."""
        begin = self.begin[start : stop + 1]
        return Words(self.words[begin[0] : begin[-1]], begin - begin[0], self.lines[start:stop])

    def rows(self, keep: Bool[np.ndarray, "_"]) -> Words:
        """Some of the rows."""
        widths = self.widths
        words = list(compress(self.words, np.repeat(keep, widths).tolist()))
        return Words(words, _ends(widths[keep]), self.lines[keep])

    def columns(self, start: Int[np.ndarray, "_"] | int, stop: Int[np.ndarray, "_"] | int | None = None) -> Words:
        """Of each row the words from start up to stop, which may differ from row to row and must lie within it."""
        widths = self.widths
        column = np.arange(len(self.words)) - np.repeat(self.begin[:-1] - self.begin[0], widths)
        low = np.broadcast_to(start, widths.shape)
        high = widths if stop is None else np.broadcast_to(stop, widths.shape)
        keep = (column >= np.repeat(low, widths)) & (column < np.repeat(high, widths))
        return Words(list(compress(self.words, keep.tolist())), _ends(high - low), self.lines)

    def column(self, index: Int[np.ndarray, "_"]) -> Words:
        """Of each row one word, which every row must have."""
        words = [self.words[i] for i in (self.begin[:-1] + index).tolist()]
        return Words(words, np.arange(len(words) + 1), self.lines)

    def floats(self) -> Float[np.ndarray, "_"]:
        """All words as numbers; nan and inf pass, they are judged with their vertex."""
        return self._numbers(float, np.float64, "a number")

    def ints(self) -> Int[np.ndarray, "_"]:
        """All words as whole numbers."""
        return self._numbers(int, np.int64, "a whole number of at most 18 digits")

    def _numbers(self, kind: Callable[[bytes], float], dtype: type, what: str) -> np.ndarray:
        try:
            # Python reads b"1_000" as a thousand; in a file it is damage
            if b"_" in b" ".join(self.words):
                raise ValueError
            return np.fromiter(map(kind, self.words), dtype, len(self.words))
        except (ValueError, OverflowError):
            index, word = next((i, w) for i, w in enumerate(self.words) if not _readable(w, kind))
            row = int(np.searchsorted(self.begin, index, side="right")) - 1
            raise FormatError(f"line {self.lines[row]}: {shown(word)} is not {what}") from None


def split_words(data: bytes, *, comment: bytes | None = b"#", first_line: int = 1) -> Words:
    """The words of every line that has any.

    >>> text = split_words(b"OFF # a file\\n\\n3 1 0\\n")
    >>> [text.row(i) for i in range(len(text))], text.lines.tolist()
    ([[b'OFF'], [b'3', b'1', b'0']], [1, 3])
    """
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]  # the byte-order mark that some editors put before text
    if comment is not None and comment in data:
        data = re.sub(re.escape(comment) + rb"[^\r\n]*", b"", data)
    raw = np.frombuffer(data, np.uint8)
    blank = _BLANK[raw]
    starts = ~blank
    starts[1:] &= blank[:-1]
    newline = (raw == 10) | (raw == 13)
    newline[1:] &= ~((raw[1:] == 10) & (raw[:-1] == 13))  # the two bytes that end a line on Windows are one end
    words_before_end = np.searchsorted(np.flatnonzero(starts), np.flatnonzero(newline))
    words = data.split()
    widths = np.diff(words_before_end, prepend=0, append=len(words))
    lines = np.flatnonzero(widths)
    return Words(words, _ends(widths[lines]), lines + first_line)


def parse_count(word: bytes, line: int, what: str) -> int:
    """A number of things, as a header gives it."""
    if not word.isdigit() or len(word) > 18:
        raise FormatError(f"line {line}: the number of {what} is {shown(word)}, not a count")
    return int(word)


def check_widths(rows: Words, allowed: Sequence[int], what: str) -> int:
    """The number of words that every row has; it must be one of those allowed."""
    widths = rows.widths
    if len(widths) == 0:
        return allowed[0]
    width = int(widths[0])
    if width not in allowed:
        expected = " or ".join(map(str, allowed))
        raise FormatError(f"line {rows.lines[0]}: {what} has {counted(width, 'value')}, expected {expected}")
    other = np.flatnonzero(widths != width)
    if len(other):
        found = counted(int(widths[other[0]]), "value")
        raise FormatError(f"line {rows.lines[other[0]]}: {what} has {found}, expected {width}")
    return width


def _ends(widths: Int[np.ndarray, "_"]) -> Int[np.ndarray, "_"]:
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)


def _readable(word: bytes, kind: Callable[[bytes], float]) -> bool:
    try:
        value = kind(word)
    except ValueError:
        return False
    return b"_" not in word and (isinstance(value, float) or abs(value) < 2**63)


def fans(
    corners: Int[np.ndarray, "c"], sizes: Int[np.ndarray, "m"]
) -> tuple[Int[np.ndarray, "t 3"], Int[np.ndarray, "t"]]:
    """Each polygon (a, b, c, d, ...) as triangles (a, b, c), (a, c, d), ..., and the polygon of each triangle."""
    begin = np.cumsum(sizes) - sizes
    polygon = np.repeat(np.arange(len(sizes)), sizes - 2)
    step = np.arange(len(polygon)) - np.repeat(np.cumsum(sizes - 2) - (sizes - 2), sizes - 2)
    first = begin[polygon]
    return np.stack([corners[first], corners[first + step + 1], corners[first + step + 2]], axis=1), polygon


def unpadded(numbers: Num[np.ndarray, "_"]) -> tuple[Int[np.ndarray, "c"], Int[np.ndarray, "m"]]:
    """Polygons one after the other, each behind its size: their corners, and their sizes.

    >>> corners, sizes = unpadded(np.array([3, 0, 1, 2, 4, 2, 1, 3, 4]))
    >>> corners.tolist(), sizes.tolist()
    ([0, 1, 2, 2, 1, 3, 4], [3, 4])
    """
    numbers = numbers.astype(np.int64)
    first = int(numbers[0]) if len(numbers) else 3
    if first >= 1 and len(numbers) % (first + 1) == 0 and (numbers[:: first + 1] == first).all():
        table = numbers.reshape(-1, first + 1)  # all of one size, as they mostly are
        return table[:, 1:].reshape(-1), np.full(len(table), first)
    listed, heads, at = numbers.tolist(), [], 0
    while at < len(listed):
        if not 0 <= listed[at] < len(listed) - at:
            raise FormatError(f"entry {at} of the faces is {listed[at]}, but {len(listed) - at - 1} corners follow")
        heads.append(at)
        at += listed[at] + 1
    return np.delete(numbers, heads), numbers[heads]


def fan_note(sizes: Int[np.ndarray, "m"]) -> list[str]:
    """What there is to say about the polygons that `fans` makes triangles of."""
    large = int((sizes > 3).sum())
    if large == 0:
        return []
    what = counted(large, "polygon with more than 3 corners was", "polygons with more than 3 corners were")
    return [f"{what} triangulated as fans" if large > 1 else f"{what} triangulated as a fan"]
