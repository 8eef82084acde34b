"""OBJ: `v x y z` and `f a b c` lines, vertices counted from 1 (or backwards, from -1)."""

from __future__ import annotations

import re
from itertools import chain

import numpy as np
from jaxtyping import Float, Int, UInt8

from partwhole.mesh.formats.common import Contents, FormatError, Words, counted, shown, split_words

# what a surface can do without
_PASSED_OVER = b"vt vn vp g o s l p mg mtllib usemtl maplib usemap bevel c_interp d_interp lod shadow_obj trace_obj"
_FREE_FORM = b"cstype deg bmat step parm trim hole scrv sp end con ctech stech"
_VERTEX, _FACE, _OTHER, _CURVED, _UNKNOWN = range(5)
_ROLES = {
    b"v": _VERTEX,
    b"f": _FACE,
    **dict.fromkeys((_PASSED_OVER + b" " + _FREE_FORM).split(), _OTHER),
    **dict.fromkeys((b"curv", b"curv2", b"surf"), _CURVED),
}
_CONTINUED, _LINE_END = re.compile(rb"\\[ \t]*\r?\n"), re.compile(rb"[\r\n]")
_CORNER = re.compile(rb"[+-]?\d+(/([+-]?\d*)(/([+-]?\d+)?)?)?")


def decode(data: bytes) -> Contents:
    """Vertices and polygons; texture coordinates, normals, groups, materials, lines and points are passed over."""
    rows = split_rows(data)
    role = np.fromiter((_ROLES.get(word, _UNKNOWN) for word in rows.first()), np.int64, len(rows))
    unknown = np.flatnonzero(role == _UNKNOWN)
    if len(unknown):
        at = int(unknown[0])
        raise FormatError(f"line {rows.lines[at]}: {shown(rows.row(at)[0])} is not a keyword of OBJ")
    points, polygons = rows.rows(role == _VERTEX).columns(1), rows.rows(role == _FACE).columns(1)
    sizes = polygons.widths
    numbers = _without_attributes(polygons).ints()
    vertices_before = np.cumsum(role == _VERTEX)[role == _FACE]
    corners = np.where(numbers < 0, numbers + np.repeat(vertices_before, sizes), numbers - 1)
    curved = int((role == _CURVED).sum())
    return Contents(
        _coordinates(points),
        corners,
        sizes,
        vertex_place=lambda i: f"line {points.lines[i]}",
        face_place=lambda i: f"line {polygons.lines[i]}",
        first_number=1,
        notes=(f"{counted(curved, 'free-form curve or surface', 'free-form curves and surfaces')} left out",)
        if curved
        else (),
    )


def encode(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], colors: UInt8[np.ndarray, "n 3"] | None
) -> bytes:
    """Coordinates as the shortest decimals that read back to the same float64; colours from 0 to 1 after them."""
    if colors is None:
        body = map("v %r %r %r".__mod__, map(tuple, vertices.tolist()))
    else:
        joined = np.concatenate([vertices, colors / 255.0], axis=1)
        body = map("v %r %r %r %.6g %.6g %.6g".__mod__, map(tuple, joined.tolist()))
    return "\n".join([*body, *map("f %d %d %d".__mod__, map(tuple, (faces + 1).tolist())), ""]).encode()


def split_rows(data: bytes) -> Words:
    """The words of every line, where a line that ends in a backslash goes on in the next."""
    return split_words(_with_joined_lines(data))


def _with_joined_lines(data: bytes) -> bytes:
    """A line that ends in a backslash goes on in the next; its break is put after the joined line, to keep the count.

    Step by step, so that no single call keeps other threads waiting, however many such lines there are.
    """
    joined, waiting, at = bytearray(), 0, 0
    for found in chain(_CONTINUED.finditer(data), [None]):
        stop = len(data) if found is None else found.start()
        if waiting and (end := _LINE_END.search(data, at, stop)):
            joined += data[at : end.start()] + b"\n" * waiting
            waiting, at = 0, end.start()
        joined += data[at:stop]
        if found is not None:
            joined += b" "
            waiting, at = waiting + 1, found.end()
    return bytes(joined)


def _coordinates(rows: Words) -> Float[np.ndarray, "n 3"]:
    """x y z, which a weight, a colour or both may follow."""
    wrong = np.flatnonzero(~np.isin(rows.widths, (3, 4, 6, 7)))
    if len(wrong):
        found = counted(int(rows.widths[wrong[0]]), "value")
        raise FormatError(f"line {rows.lines[wrong[0]]}: a vertex has 3 coordinates, got {found}")
    if (rows.widths > 3).any():
        rows.columns(3).floats()
        rows = rows.columns(0, 3)
    return rows.floats().reshape(-1, 3)


def _without_attributes(rows: Words) -> Words:
    """`12/7/3` becomes `12`."""
    if not any(b"/" in word for word in rows.words):
        return rows
    wrong = next((i for i, word in enumerate(rows.words) if not _CORNER.fullmatch(word)), None)
    if wrong is not None:
        row = int(np.searchsorted(rows.begin, wrong, side="right")) - 1
        raise FormatError(
            f"line {rows.lines[row]}: {shown(rows.words[wrong])} is not a corner of the form 1, 1/2, 1//3 or 1/2/3"
        )
    return Words([word.partition(b"/")[0] for word in rows.words], rows.begin, rows.lines)
