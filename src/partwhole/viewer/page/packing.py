"""Arrays for the page, packed into one block of bytes that a browser reads without copying."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

# what typed arrays of a browser hold; all little-endian, as every machine that runs one is
_KINDS = {"<f4": "Float32Array", "<u4": "Uint32Array", "<i4": "Int32Array", "|u1": "Uint8Array"}


def pack(meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Length of the header, header in JSON, arrays; each starts at a multiple of 4 bytes after the header.

    The header is {"meta": ..., "arrays": {name: [kind, offset, length]}}, `kind` the name of a typed array in JavaScript
    and `offset` counted from the end of the header.

    Examples
    --------
    >>> data = pack({"name": "square"}, {"faces": np.array([[0, 1, 2]])})
    >>> unpack(data)
    ({'name': 'square'}, {'faces': array([0, 1, 2], dtype=uint32)})
    """
    table, blocks, offset = {}, [], 0
    for name, array in arrays.items():
        plain = _plain(name, array)
        block = plain.tobytes()
        table[name] = [_KINDS[plain.dtype.str], offset, plain.size]
        block += bytes(-len(block) % 4)
        blocks.append(block)
        offset += len(block)
    text = json.dumps({"meta": meta, "arrays": table}, ensure_ascii=False, allow_nan=False)
    header = text.encode(errors="backslashreplace")  # names need not be UTF-8; JSON has the same escapes
    header += b" " * (-len(header) % 4)
    return b"".join([struct.pack("<I", len(header)), header, *blocks])


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `pack` was given; arrays are flat."""
    (length,) = struct.unpack_from("<I", data)
    header = json.loads(data[4 : 4 + length])
    types = {kind: name for name, kind in _KINDS.items()}
    arrays = {
        name: np.frombuffer(data, types[kind], size, 4 + length + offset)
        for name, (kind, offset, size) in header["arrays"].items()
    }
    return header["meta"], arrays


def _plain(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "f":
        return np.ascontiguousarray(array, "<f4")
    if array.dtype.kind in "iu":
        low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
        if low >= 0 and high < 1 << 32:
            return np.ascontiguousarray(array, "<u4")
        if low >= -(1 << 31) and high < 1 << 31:
            return np.ascontiguousarray(array, "<i4")
        raise ValueError(f"{name} holds numbers from {low} to {high}, which do not fit 32 bits")
    if array.dtype.kind == "b":
        return np.ascontiguousarray(array, "|u1")
    raise ValueError(f"{name} is of type {array.dtype}; only numbers and truth values go to the page")
