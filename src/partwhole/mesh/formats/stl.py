"""STL: triangles one by one, each with its own corners; corners that coincide exactly become one vertex."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from partwhole.mesh.formats.common import Contents, FormatError, content_rows, counted, parse_floats, shown
from partwhole.mesh.repair import coincident_points

_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attributes", "<u2")])
_HEAD = 84
_CYCLE = (b"facet", b"outer", b"vertex", b"vertex", b"vertex", b"endloop", b"endfacet")


def decode(data: bytes) -> Contents:
    """Binary or text. A binary file may begin with `solid` as well: its length, given by its count, tells."""
    is_text = data[:512].lstrip()[:5].lower() == b"solid" and not fits(data)
    return _decode_text(data) if is_text else _decode_binary(data)


def fits(data: bytes) -> bool:
    """True if the file has exactly the length that binary STL with its count would have."""
    return len(data) >= _HEAD and len(data) == _HEAD + _TRIANGLE.itemsize * struct.unpack_from("<I", data, 80)[0]


def encode(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> bytes:
    """Binary STL, float32."""
    triangles = np.zeros(len(faces), _TRIANGLE)
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    triangles["normal"] = np.divide(normals, length, out=np.zeros_like(normals), where=length > 0)
    triangles["corners"] = corners
    return b"binary STL".ljust(80) + struct.pack("<I", len(faces)) + triangles.tobytes()


def _decode_binary(data: bytes) -> Contents:
    if len(data) < _HEAD:
        raise FormatError(f"byte {len(data)}: the file ends within the header of binary STL, which has {_HEAD} bytes")
    count = struct.unpack_from("<I", data, 80)[0]
    expected = _HEAD + _TRIANGLE.itemsize * count
    if len(data) != expected:
        raise FormatError(
            f"byte 80: the header says {counted(count, 'triangle')}, so {expected} bytes; the file has {len(data)}"
        )
    triangles = np.frombuffer(data, _TRIANGLE, count, _HEAD)
    return _joined(
        triangles["corners"].reshape(-1, 3).astype(np.float64),
        lambda face: f"byte {_HEAD + _TRIANGLE.itemsize * face}",
    )


def _decode_text(data: bytes) -> Contents:
    rows, lines = content_rows(data, comment=None)
    keywords = [row[0].lower() for row in rows]
    triangle_lines: list[int] = []
    corner_rows = []
    corner_lines = []
    at = 0
    while at < len(rows):
        if keywords[at] != b"solid":
            raise FormatError(f"line {lines[at]}: expected 'solid', got {shown(rows[at][0])}")
        at += 1
        while keywords[at : at + 1] == [b"facet"]:
            found = tuple(keywords[at : at + 7])
            if found != _CYCLE:
                _complain(rows, lines, at, found)
            triangle_lines.append(lines[at])
            for row in range(at + 2, at + 5):
                corner_rows.append(rows[row][1:])
                corner_lines.append(lines[row])
            at += 7
        if keywords[at : at + 1] != [b"endsolid"]:
            _complain(rows, lines, at, tuple(keywords[at : at + 1]), expected=(b"endsolid",))
        at += 1
    wrong = next((i for i, row in enumerate(corner_rows) if len(row) != 3), None)
    if wrong is not None:
        raise FormatError(f"line {corner_lines[wrong]}: a vertex has 3 coordinates, got {len(corner_rows[wrong])}")
    points = parse_floats(corner_rows, corner_lines).reshape(-1, 3)
    return _joined(points, lambda face: f"line {triangle_lines[face]}")


def _complain(
    rows: list[list[bytes]], lines: list[int], at: int, found: tuple[bytes, ...], expected: tuple[bytes, ...] = _CYCLE
) -> None:
    for step, word in enumerate(expected):
        if step == len(found):
            raise FormatError(f"line {lines[-1]}: the file ends where {word.decode()!r} should follow")
        if found[step] != word:
            raise FormatError(f"line {lines[at + step]}: expected {word.decode()!r}, got {shown(rows[at + step][0])}")


def _joined(points: Float[np.ndarray, "k 3"], place: Callable[[int], str]) -> Contents:
    first, number = coincident_points(points)
    return Contents(
        points[first],
        number,
        np.full(len(points) // 3, 3, np.int64),
        vertex_place=lambda i: place(int(first[i]) // 3),
        face_place=place,
    )
