"""OFF: a header with counts, one line a vertex, one line a face."""

from __future__ import annotations

import re

import numpy as np
from jaxtyping import Float, Int, UInt8

from partwhole.mesh.formats.common import (
    Contents,
    FormatError,
    Words,
    check_widths,
    counted,
    parse_count,
    shown,
    split_words,
)

_KEYWORD = re.compile(rb"(ST)?(C)?(N)?(4)?(n)?OFF(\d*)")


def decode(data: bytes) -> Contents:
    """Vertices and polygons of OFF, COFF, NOFF and STOFF text; colours, normals and textures are passed over."""
    rows = split_words(data)
    first = rows.row(0) if len(rows) else []
    keyword = _KEYWORD.fullmatch(first[0]) if first else None
    if keyword is None:
        raise FormatError(f"line {rows.lines[0] if len(rows) else 1}: an OFF file begins with the word OFF")
    if keyword[4] or keyword[5] or first[1:2] == [b"BINARY"]:
        kind = shown(b" ".join(first[:2]))
        raise FormatError(f"line {rows.lines[0]}: {kind} files are not supported; write 3-D text OFF")
    n_vertices, n_faces, start = _counts(rows, keyword[6])
    said = f"the header says {counted(n_vertices, 'vertex', 'vertices')} and {counted(n_faces, 'face')}"
    found, end = len(rows) - start, start + n_vertices + n_faces
    if found < n_vertices + n_faces:
        raise FormatError(f"line {rows.lines[-1]}: the file ends after {counted(found, 'row')}, {said}")
    if len(rows) > end:
        raise FormatError(f"line {rows.lines[end]}: {counted(len(rows) - end, 'row')} too many, {said}")
    points, polygons = rows.block(start, start + n_vertices), rows.block(start + n_vertices, end)
    extra = (3 if keyword[3] else 0) + (2 if keyword[1] else 0)
    width = check_widths(points, [3 + extra + c for c in ((3, 4) if keyword[2] else (0,))], "the vertex")
    corners, sizes = _polygons(polygons)
    return Contents(
        points.floats().reshape(-1, width)[:, :3],
        corners,
        sizes,
        vertex_place=lambda i: f"line {points.lines[i]}",
        face_place=lambda i: f"line {polygons.lines[i]}",
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
    head = ["OFF" if colors is None else "COFF", f"{len(vertices)} {len(faces)} 0"]
    return "\n".join([*head, *body, *map("3 %d %d %d".__mod__, map(tuple, faces.tolist())), ""]).encode()


def _counts(rows: Words, glued: bytes) -> tuple[int, int, int]:
    """Number of vertices, number of faces, and the row after; some writers glue them to the keyword, `OFF8 6 0`."""
    words = [glued] * bool(glued) + rows.row(0)[1:]
    row = 0
    if not words:
        row = 1
        if len(rows) == 1:
            raise FormatError(f"line {rows.lines[0]}: the file ends before the numbers of vertices and faces")
        words = rows.row(1)
    line = int(rows.lines[row])
    if len(words) not in (2, 3):
        raise FormatError(f"line {line}: expected the numbers of vertices, faces and edges, got {len(words)} words")
    n_vertices, n_faces, *_ = (
        parse_count(word, line, what) for word, what in zip(words, ("vertices", "faces", "edges"), strict=False)
    )
    return n_vertices, n_faces, row + 1


def _polygons(rows: Words) -> tuple[Int[np.ndarray, "_"], Int[np.ndarray, "_"]]:
    sizes = rows.columns(0, 1).ints()
    spare = rows.widths - 1 - sizes
    # after the corners a face may carry a colour: one number of a map, or three or four parts
    bad = np.flatnonzero((sizes < 0) | ~np.isin(spare, (0, 1, 3, 4)))
    if len(bad):
        at = int(bad[0])
        raise FormatError(
            f"line {rows.lines[at]}: face {at} says it has {counted(int(sizes[at]), 'corner')}, "
            f"and {counted(int(rows.widths[at]) - 1, 'value')} follow"
        )
    if spare.any():
        rows.columns(1 + sizes).floats()
    return rows.columns(1, 1 + sizes).ints(), sizes
