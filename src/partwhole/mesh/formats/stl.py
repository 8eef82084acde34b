"""STL: triangles one by one, each with its own corners; corners that coincide exactly become one vertex."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from partwhole.mesh.formats.common import Contents, FormatError, as_float64, check_widths, counted, shown, split_words
from partwhole.mesh.topology import coincident_points

_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attributes", "<u2")])
_HEAD = 84
_NAMES = (b"solid", b"endsolid", b"facet", b"outer", b"vertex", b"endloop", b"endfacet")
_ROLES = {name: number for number, name in enumerate(_NAMES)}
_SOLID, _END, _FACET, _OUTER, _VERTEX, _END_LOOP, _END_FACET = range(7)
_CYCLE = np.array([_FACET, _OUTER, _VERTEX, _VERTEX, _VERTEX, _END_LOOP, _END_FACET])


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
        as_float64(triangles["corners"].reshape(-1, 3)),
        lambda face: f"byte {_HEAD + _TRIANGLE.itemsize * face}",
    )


def _decode_text(data: bytes) -> Contents:
    rows = split_words(data, comment=None)
    role = np.fromiter((_ROLES.get(word.lower(), -1) for word in rows.first()), np.int64, len(rows))
    # what must stand on each row: solid, then seven rows a triangle, then endsolid, and perhaps all that again
    is_frame = (role == _SOLID) | (role == _END)
    frame = np.flatnonzero(is_frame)
    expected = np.where(np.arange(len(frame)) % 2, _END, _SOLID)
    since_frame = np.arange(len(rows)) - np.maximum.accumulate(np.where(is_frame, np.arange(len(rows)), 0)) - 1
    wanted = _CYCLE[since_frame % 7]
    wanted[frame] = expected
    within = np.cumsum(is_frame) % 2 == 1
    wanted[~is_frame & ~within] = _SOLID
    # a frame may only close after whole triangles
    cut = frame[1:][(since_frame[frame[1:] - 1] + 1) % 7 != 0]
    wanted[cut] = _CYCLE[(since_frame[cut - 1] + 1) % 7]
    bad = np.flatnonzero(role != wanted)
    if len(bad):
        at = int(bad[0])
        raise FormatError(
            f"line {rows.lines[at]}: expected {_NAMES[wanted[at]].decode()!r}, got {shown(rows.row(at)[0])}"
        )
    if len(frame) % 2:
        raise FormatError(f"line {rows.lines[-1]}: the file ends before 'endsolid'")
    corners = rows.rows(role == _VERTEX)
    check_widths(corners, [4], "the line of a vertex")
    facets = rows.lines[role == _FACET]
    return _joined(corners.columns(1).floats().reshape(-1, 3), lambda face: f"line {facets[face]}")


def _joined(points: Float[np.ndarray, "k 3"], place: Callable[[int], str]) -> Contents:
    first, number = coincident_points(points)
    return Contents(
        points[first],
        number,
        np.full(len(points) // 3, 3, np.int64),
        vertex_place=lambda i: place(int(first[i]) // 3),
        face_place=place,
    )
