"""Writes GLB: collects arrays in one buffer, and puts it behind the JSON that describes them."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

from partwhole.mesh.formats.glb_access import Json

_COMPONENTS = {"|u1": 5121, "<u2": 5123, "<u4": 5125, "<f4": 5126}
_SHAPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}


class GlbWriter:
    """Collects arrays and other data; `finish` gives the file."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._views: list[Json] = []
        self._accessors: list[Json] = []
        self._size = 0

    def view(self, data: bytes) -> int:
        """Put bytes into the buffer, and give the number of their view."""
        self._views.append({"buffer": 0, "byteOffset": self._size, "byteLength": len(data)})
        padded = data + b"\0" * (-len(data) % 4)
        self._parts.append(padded)
        self._size += len(padded)
        return len(self._views) - 1

    def array(self, values: np.ndarray, *, normalized: bool = False, bounds: bool = False) -> int:
        """Put an array of entries, (n,) or (n, components), into the buffer, and give the number of its accessor."""
        components = values.size // len(values)
        accessor: dict[str, Any] = {
            "bufferView": self.view(np.ascontiguousarray(values).tobytes()),
            "componentType": _COMPONENTS[values.dtype.str],
            "count": len(values),
            "type": _SHAPES[components],
        }
        if normalized:
            accessor["normalized"] = True
        if bounds:
            accessor |= {"min": values.min(axis=0).tolist(), "max": values.max(axis=0).tolist()}
        self._accessors.append(accessor)
        return len(self._accessors) - 1

    def finish(self, document: Json) -> bytes:
        """The file, with scene 0, this document, and what was collected."""
        whole = {
            "asset": {"version": "2.0", "generator": "partwhole"},
            "scene": 0,
            **document,
            "accessors": self._accessors,
            "bufferViews": self._views,
            "buffers": [{"byteLength": self._size}],
        }
        text = json.dumps(whole, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        total = 12 + 8 + len(text) + 8 + self._size
        head = struct.pack("<4sII", b"glTF", 2, total) + struct.pack("<I4s", len(text), b"JSON")
        return b"".join([head, text, struct.pack("<I4s", self._size, b"BIN\0"), *self._parts])
