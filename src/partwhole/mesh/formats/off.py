"""OFF: a header with counts, one line a vertex, one line a face."""

from __future__ import annotations

import re

import numpy as np
from jaxtyping import Float, Int, UInt8

from partwhole.mesh.formats.common import (
    Contents,
    FormatError,
    Row,
    check_widths,
    content_rows,
    counted,
    parse_count,
    parse_floats,
    parse_ints,
    shown,
)

_KEYWORD = re.compile(rb"(ST)?(C)?(N)?(4)?(n)?OFF(\d*)")


def decode(data: bytes) -> Contents:
    """Vertices and polygons of OFF, COFF, NOFF and STOFF text; colours, normals and textures are passed over."""
    rows, lines = content_rows(data)
    keyword = _KEYWORD.fullmatch(rows[0][0]) if rows else None
    if keyword is None:
        raise FormatError(f"line {lines[0] if lines else 1}: an OFF file begins with the word OFF")
    if keyword[4] or keyword[5] or rows[0][1:2] == [b"BINARY"]:
        kind = b" ".join(rows[0][:2])
        raise FormatError(f"line {lines[0]}: {shown(kind)} files are not supported; write 3-D text OFF")
    n_vertices, n_faces, start = _counts(rows, lines, keyword[6])
    found = len(rows) - start
    if found < n_vertices + n_faces:
        raise FormatError(
            f"line {lines[-1]}: the file ends after {counted(found, 'row')}, the header says "
            f"{n_vertices} vertices and {n_faces} faces"
        )
    if found > n_vertices + n_faces:
        raise FormatError(
            f"line {lines[start + n_vertices + n_faces]}: {counted(found - n_vertices - n_faces, 'row')} too many, "
            f"the header says {n_vertices} vertices and {n_faces} faces"
        )
    split = start + n_vertices
    vertex_rows, vertex_lines = rows[start:split], lines[start:split]
    extra = (3 if keyword[3] else 0) + (2 if keyword[1] else 0)
    check_widths(vertex_rows, vertex_lines, [3 + extra + c for c in ((3, 4) if keyword[2] else (0,))], "the vertex")
    values = parse_floats(vertex_rows, vertex_lines)
    width = len(vertex_rows[0]) if vertex_rows else 3
    corners, sizes = _polygons(rows[split:], lines[split:])
    return Contents(
        values.reshape(-1, width)[:, :3],
        corners,
        sizes,
        vertex_place=lambda i: f"line {lines[start + i]}",
        face_place=lambda i: f"line {lines[split + i]}",
    )


def encode(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], colors: UInt8[np.ndarray, "n 3"] | None
) -> bytes:
    """Coordinates as the shortest decimals that read back to the same float64."""
    if colors is None:
        body = map("%r %r %r".__mod__, map(tuple, vertices.tolist()))
    else:
        joined = zip(*vertices.T.tolist(), *colors.T.tolist(), strict=True)
        body = map("%r %r %r %d %d %d 255".__mod__, joined)
    head = [f"{'OFF' if colors is None else 'COFF'}", f"{len(vertices)} {len(faces)} 0"]
    return "\n".join([*head, *body, *map("3 %d %d %d".__mod__, map(tuple, faces.tolist())), ""]).encode()


def _counts(rows: list[Row], lines: list[int], glued: bytes) -> tuple[int, int, int]:
    """Number of vertices, number of faces, and the row after; some writers glue them to the keyword, `OFF8 6 0`."""
    words = [glued] * bool(glued) + rows[0][1:]
    row = 0
    if not words:
        row = 1
        if len(rows) == 1:
            raise FormatError(f"line {lines[0]}: the file ends before the numbers of vertices and faces")
        words = rows[1]
    if len(words) not in (2, 3):
        raise FormatError(
            f"line {lines[row]}: expected the numbers of vertices, faces and edges, got {len(words)} words"
        )
    n_vertices, n_faces, *_ = (
        parse_count(word, lines[row], what) for word, what in zip(words, ("vertices", "faces", "edges"), strict=False)
    )
    return n_vertices, n_faces, row + 1


def _polygons(rows: list[Row], lines: list[int]) -> tuple[Int[np.ndarray, "_"], Int[np.ndarray, "_"]]:
    sizes = parse_ints([row[:1] for row in rows], lines)
    spare = np.fromiter(map(len, rows), np.int64, len(rows)) - 1 - sizes
    # after the corners a face may carry a colour: one number of a map, or three or four parts
    bad = np.flatnonzero((sizes < 0) | ~np.isin(spare, (0, 1, 3, 4)))
    if len(bad):
        row = rows[bad[0]]
        raise FormatError(
            f"line {lines[bad[0]]}: face {bad[0]} says it has {counted(int(sizes[bad[0]]), 'corner')}, "
            f"and {counted(len(row) - 1, 'value')} follow"
        )
    if spare.any():
        parse_floats([row[1 + size :] for row, size in zip(rows, sizes.tolist(), strict=True)], lines)
    corners = parse_ints([row[1 : 1 + size] for row, size in zip(rows, sizes.tolist(), strict=True)], lines)
    return corners, sizes
