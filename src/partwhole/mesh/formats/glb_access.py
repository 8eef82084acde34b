"""The container of GLB, and its JSON read with every type and range checked: chunks, lists, numbers, accessors."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np
from jaxtyping import Float

from partwhole.mesh.formats.common import FormatError, counted

Json = dict[str, Any]
_COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


def read_container(data: bytes) -> tuple[Json, bytes]:
    """The JSON of the file, and the buffer embedded in it."""
    if len(data) < 20 or data[:4] != b"glTF":
        raise FormatError(f"byte {min(len(data), 20)}: a GLB file begins with 'glTF' and 20 bytes of header")
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise FormatError(f"byte 4: glTF version {version} is not supported; write version 2")
    if length != len(data):
        raise FormatError(f"byte 8: the header says {length} bytes, the file has {len(data)}")
    chunks: list[tuple[bytes, bytes]] = []
    at = 12
    while at < len(data):
        if at + 8 > len(data):
            raise FormatError(f"byte {at}: the file ends within the header of a chunk")
        size, kind = struct.unpack_from("<I4s", data, at)
        if at + 8 + size > len(data):
            raise FormatError(f"byte {at}: the chunk says {size} bytes, {len(data) - at - 8} are left")
        chunks.append((kind, data[at + 8 : at + 8 + size]))
        at += 8 + size
    if chunks[0][0] != b"JSON":
        raise FormatError("byte 12: the first chunk must be JSON")
    document = _parse(chunks[0][1])
    embedded = chunks[1][1] if len(chunks) > 1 and chunks[1][0] == b"BIN\0" else b""
    buffers = items(document, "buffers", of=dict)
    if not buffers:
        return document, b""
    if "uri" in buffers[0]:
        raise FormatError("buffers[0]: the buffer lies in another file; only an embedded one is read")
    wanted = whole(buffers[0], "byteLength", "buffers[0]")
    if wanted > len(embedded):
        raise FormatError(f"buffers[0]: the header says {wanted} bytes, {len(embedded)} are embedded")
    return document, embedded[:wanted]


def items(owner: Json, key: str, *, of: type = object) -> list[Any]:
    """A list in the document (empty if it is not there) whose entries are all of one type."""
    found = owner.get(key, [])
    if not isinstance(found, list):
        raise FormatError(f"{key}: expected a list")
    wrong = None if of is object else next((i for i, one in enumerate(found) if not isinstance(one, of)), None)
    if wrong is not None:
        raise FormatError(f"{key}[{wrong}]: expected an object")
    return found


def whole(owner: Json, key: str, where: str, *, default: int | None = None) -> int:
    """A number of things, or the number of a thing: 0, 1, 2, ..."""
    value = owner.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise FormatError(f"{where}: {key} must be a whole number, got {json.dumps(value)[:40]}")
    return value


def floats(
    owner: Json, key: str, count: int, where: str, *, default: tuple[float, ...] | None = None
) -> Float[np.ndarray, "_"]:
    """A list of finite numbers."""
    values = owner.get(key, default)
    if (
        not isinstance(values, list | tuple)
        or len(values) != count
        or not all(isinstance(v, int | float) and not isinstance(v, bool) and _is_finite(v) for v in values)
    ):
        raise FormatError(f"{where}: {key} must be {count} finite numbers")
    return np.array(values, np.float64)


def entry(document: Json, key: str, index: int) -> Json:
    """One object of a list in the document; the others are not looked at, since there may be many."""
    entries = items(document, key)
    if index >= len(entries):
        raise FormatError(f"{key}[{index}] does not exist; the file has {len(entries)}")
    if not isinstance(entries[index], dict):
        raise FormatError(f"{key}[{index}]: expected an object")
    return entries[index]


def accessor(document: Json, buffer: bytes, index: int, shape: str, kinds: dict[int, str]) -> np.ndarray:
    """The values of an accessor, (count, components), in the type they are stored in."""
    where = f"accessors[{index}]"
    found = entry(document, "accessors", index)
    if "sparse" in found or "bufferView" not in found:
        raise FormatError(f"{where}: sparse accessors are not supported; write the values in full")
    kind = found.get("componentType")
    if found.get("type") != shape or not isinstance(kind, int) or kind not in kinds:
        allowed = ", ".join(map(str, kinds))
        raise FormatError(f"{where}: expected {shape} of component type {allowed}")
    count = whole(found, "count", where)
    if count == 0:
        raise FormatError(f"{where}: count is 0")
    view_index = whole(found, "bufferView", where)
    view = entry(document, "bufferViews", view_index)
    in_view = f"bufferViews[{view_index}]"
    if whole(view, "buffer", in_view) != 0:
        raise FormatError(f"{in_view}: buffer {view['buffer']} is not embedded; only the embedded one is read")
    begin, size = whole(view, "byteOffset", in_view, default=0), whole(view, "byteLength", in_view)
    if begin + size > len(buffer):
        raise FormatError(f"{in_view}: ends at byte {begin + size} of the buffer, which has {len(buffer)}")
    dtype = np.dtype(kinds[kind])
    width = _COMPONENTS[shape] * dtype.itemsize
    stride = whole(view, "byteStride", in_view, default=width)
    offset = whole(found, "byteOffset", where, default=0)
    if stride < width:
        raise FormatError(f"{in_view}: byteStride {stride} is less than the {width} bytes of one entry")
    if offset + (count - 1) * stride + width > size:
        raise FormatError(
            f"{where}: {counted(count, 'entry', 'entries')} do not fit into the {size} bytes of {in_view}"
        )
    return np.ndarray(
        (count, _COMPONENTS[shape]), dtype, buffer, begin + offset, strides=(stride, dtype.itemsize)
    ).copy()


def _parse(text: bytes) -> Json:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        detail = str(error).splitlines()[0] if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise FormatError(f"byte 20: the JSON can't be read: {detail[:100]}") from None
    if not isinstance(document, dict):
        raise FormatError("byte 20: the JSON must be an object")
    return document


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
