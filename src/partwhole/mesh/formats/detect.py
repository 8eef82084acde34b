"""Which format a file has, and its contents before they are checked: points and triangles, good or bad."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Int

from partwhole.mesh.formats import glb, obj, off, ply, stl
from partwhole.mesh.formats.common import Contents, counted, fan_note, fans
from partwhole.mesh.formats.vtk import legacy, xml
from partwhole.store.arguments import displayable

Format = Literal["off", "obj", "ply", "stl", "glb", "vtk", "vtp", "vtu"]
FORMATS: tuple[Format, ...] = ("off", "obj", "ply", "stl", "glb", "vtk", "vtp", "vtu")

_DECODERS = {
    "off": off.decode,
    "obj": obj.decode,
    "ply": ply.decode,
    "stl": stl.decode,
    "glb": glb.decode,
    "vtk": legacy.decode,
    "vtp": xml.decode,
    "vtu": xml.decode,
}
_VTK_XML = re.compile(rb"<VTKFile\b[^>]*\btype\s*=\s*[\"'](PolyData|UnstructuredGrid)[\"']")


def file_contents(path: Path) -> bytes:
    """The bytes of a file that should hold a mesh."""
    if path.is_dir():
        raise ValueError(f"{displayable(str(path))} is a folder, not a mesh file")
    if not path.exists():
        raise FileNotFoundError(f"{displayable(str(path))} does not exist")
    return path.read_bytes()


def decoded(data: bytes, path: Path) -> tuple[Contents, list[str]]:
    """What is in a file, and what there is to say about it; `path` says the ending and the name alone."""
    label = displayable(str(path))
    if not data.strip():
        raise ValueError(f"{label}: the file is empty")
    kind, note = _format_of(path, data)
    try:
        contents = _DECODERS[kind](data)
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None
    return contents, [note] * bool(note) + list(contents.notes)


def triangles_of(contents: Contents, label: str) -> tuple[Int[np.ndarray, "t 3"], Int[np.ndarray, "t"], list[str]]:
    """The polygons as triangles, the polygon of each triangle, and what there is to say about it."""
    if len(contents.vertices) == 0:
        raise ValueError(f"{label} has no vertices")
    small = np.flatnonzero(contents.sizes < 3)
    if len(small):
        at = int(small[0])
        raise ValueError(
            f"{label}: face {at} ({contents.face_place(at)}) has {counted(int(contents.sizes[at]), 'corner')}; "
            "a face has at least 3"
        )
    faces, polygon = fans(contents.corners, contents.sizes)
    return faces, polygon, fan_note(contents.sizes)


def _format_of(path: Path, data: bytes) -> tuple[Format, str]:
    """The format, and what to say if it is not the one that the name of the file promises."""
    ending = path.suffix.lower().removeprefix(".")
    named = next((f for f in FORMATS if f == ending), None)
    found = _sniffed(data)
    if found is None or found == named or (named is not None and found in ("obj", "stl")):
        if named is None:
            raise ValueError(
                f"{displayable(str(path))}: neither the ending {path.suffix!r} nor the contents are those of a "
                f"supported format; use .{', .'.join(FORMATS)}"
            )
        return named, ""
    return found, f"read as {found.upper()} because of its contents, although its ending is {path.suffix!r}"


def _sniffed(data: bytes) -> Format | None:
    """The format by the first bytes; OBJ and STL have no certain mark, so they are guesses."""
    head = data[:4096].removeprefix(b"\xef\xbb\xbf")
    if head.startswith(b"glTF"):
        return "glb"
    if head.startswith(b"# vtk DataFile"):
        return "vtk"
    if found := _VTK_XML.search(head):
        return "vtp" if found[1] == b"PolyData" else "vtu"
    if re.match(rb"ply[ \t]*[\r\n]", head):
        return "ply"
    text = re.sub(rb"#[^\r\n]*", b"", head).lstrip()
    if re.match(rb"(ST)?C?N?4?n?OFF(BINARY|[\d\s]|$)", text):
        return "off"
    if stl.fits(data) or head.lstrip()[:5].lower() == b"solid":
        return "stl"
    return "obj" if re.search(rb"(^|[\r\n])v[ \t]+[-+.\d]", head) else None
