"""OBJ: `v x y z` and `f a b c` lines, vertices counted from 1 (or backwards, from -1)."""

from __future__ import annotations

import re

import numpy as np
from jaxtyping import Float, Int, UInt8

from partwhole.mesh.formats.common import (
    Contents,
    FormatError,
    Row,
    content_rows,
    counted,
    parse_floats,
    parse_ints,
    shown,
)

# what a surface can do without
_PASSED_OVER = frozenset(
    b"vt vn vp g o s l p mg mtllib usemtl maplib usemap bevel c_interp d_interp lod shadow_obj trace_obj".split()
)
_FREE_FORM = frozenset(b"cstype deg bmat step curv curv2 surf parm trim hole scrv sp end con ctech stech".split())
_CORNER = re.compile(rb"[+-]?\d+(/([+-]?\d*)(/([+-]?\d+)?)?)?")


def decode(data: bytes) -> Contents:
    """Vertices and polygons; texture coordinates, normals, groups, materials, lines and points are passed over."""
    rows, lines = content_rows(data)
    if b"\\" in data:
        rows, lines = _joined(rows, lines)
    vertex_rows: list[Row] = []
    vertex_lines: list[int] = []
    face_rows: list[Row] = []
    face_lines: list[int] = []
    vertices_before: list[int] = []
    free_form = 0
    for row, line in zip(rows, lines, strict=True):
        keyword = row[0]
        if keyword == b"v":
            vertex_rows.append(row[1:])
            vertex_lines.append(line)
        elif keyword == b"f":
            face_rows.append(row[1:])
            face_lines.append(line)
            vertices_before.append(len(vertex_rows))
        elif keyword in _FREE_FORM:
            free_form += keyword in (b"curv", b"curv2", b"surf")
        elif keyword not in _PASSED_OVER:
            raise FormatError(f"line {line}: {shown(keyword)} is no keyword of OBJ")
    sizes = np.fromiter(map(len, face_rows), np.int64, len(face_rows))
    corners = parse_ints(_without_attributes(face_rows, face_lines), face_lines)
    backwards = corners < 0
    corners = corners - 1 + backwards * (1 + np.repeat(np.array(vertices_before, np.int64), sizes))
    return Contents(
        _coordinates(vertex_rows, vertex_lines),
        corners,
        sizes,
        vertex_place=lambda i: f"line {vertex_lines[i]}",
        face_place=lambda i: f"line {face_lines[i]}",
        first_number=1,
        notes=(f"{counted(free_form, 'free-form curve or surface', 'free-form curves and surfaces')} left out",)
        if free_form
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


def _joined(rows: list[Row], lines: list[int]) -> tuple[list[Row], list[int]]:
    """A backslash at the end of a line says that the next one belongs to it."""
    joined: list[Row] = []
    numbers: list[int] = []
    open_end = False
    for row, line in zip(rows, lines, strict=True):
        if not open_end:
            joined.append([])
            numbers.append(line)
        open_end = row[-1].endswith(b"\\")
        joined[-1] += [*row[:-1], *row[-1].rstrip(b"\\").split()] if open_end else row
    kept = [i for i, row in enumerate(joined) if row]
    return [joined[i] for i in kept], [numbers[i] for i in kept]


def _coordinates(rows: list[Row], lines: list[int]) -> Float[np.ndarray, "n 3"]:
    """x y z, which a weight, a colour or both may follow."""
    wrong = next((i for i, row in enumerate(rows) if len(row) not in (3, 4, 6, 7)), None)
    if wrong is not None:
        raise FormatError(f"line {lines[wrong]}: a vertex has 3 coordinates, got {counted(len(rows[wrong]), 'value')}")
    if any(len(row) > 3 for row in rows):
        parse_floats([row[3:] for row in rows], lines)
    return parse_floats([row[:3] for row in rows], lines).reshape(-1, 3)


def _without_attributes(rows: list[Row], lines: list[int]) -> list[Row]:
    """`12/7/3` becomes `12`."""
    if not any(b"/" in token for row in rows for token in row):
        return rows
    for row, line in zip(rows, lines, strict=True):
        for token in row:
            if not _CORNER.fullmatch(token):
                raise FormatError(f"line {line}: {shown(token)} is not a corner of the form 1, 1/2, 1//3 or 1/2/3")
    return [[token.partition(b"/")[0] for token in row] for row in rows]
