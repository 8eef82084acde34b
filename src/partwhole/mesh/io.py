"""Reading and writing meshes: the format is detected, the contents are checked, and errors say where in the file they are."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, Int, UInt8
from numpy.typing import ArrayLike

from partwhole.mesh.formats import glb, obj, off, ply, stl
from partwhole.mesh.formats.common import Contents, MeshWarning, counted, fan_note, fans
from partwhole.mesh.formats.vtk import legacy, xml
from partwhole.mesh.repair import repair as repair_arrays
from partwhole.mesh.surface import Mesh, as_mesh
from partwhole.mesh.surface_like import SurfaceLike, surface_arrays
from partwhole.mesh.topology import degenerate_faces, duplicate_faces
from partwhole.store.arguments import as_array, checked_path, displayable
from partwhole.store.storage import atomic_write

# what is written
WRITABLE = ("off", "obj", "ply", "stl", "glb")


def read_mesh(path: str | os.PathLike[str], *, name: str | None = None, repair: bool = False) -> Mesh:
    """The surface in an OFF, OBJ, PLY, STL, GLB or VTK file, its vertices in the order of the file.

    Nothing is dropped, merged or repaired silently: a defect raises a ValueError that names the file and the place in
    it; polygons with more than three corners are triangulated as fans, with a `MeshWarning`. STL stores no vertices,
    only corners: those that coincide exactly become one vertex, in order of first appearance. GLB: the triangles of all
    nodes, moved to where the nodes show them. VTK: legacy files, VTP and VTU, their polygons and triangle strips; cells of
    volumes are refused.

    Parameters
    ----------
    path : the file; the format is that of its ending, or, with a warning, that of its contents if they disagree
    name : what to call the surface in messages; the name of the file unless given
    repair : apply `repair` to what was read, and warn with what it did

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "corner.off"
    >>> _ = path.write_text("OFF 3 1 0\\n0 0 0\\n1 0 0\\n0 1 0\\n3 0 1 2\\n")
    >>> read_mesh(path)
    Mesh('corner.off': 3 vertices, 1 faces, 1 boundary loops, 1 components)
    """
    path = checked_path("path", path)
    mesh, notes = decode_mesh(file_contents(path), path, name=name, repair=repair)
    for note in notes:
        warnings.warn(note, MeshWarning, stacklevel=2)
    return mesh


def mesh_from(given: object, name: str) -> tuple[Mesh, list[str]]:
    """The surface in a file or an object, see `as_mesh`, and what there is to warn of."""
    if isinstance(given, str | os.PathLike):
        path = checked_path(name, given)
        return decode_mesh(file_contents(path), path)
    found = surface_arrays(given, name)
    return Mesh(found.vertices, found.faces, name=name), list(found.notes)


def decode_mesh(data: bytes, path: Path, *, name: str | None = None, repair: bool = False) -> tuple[Mesh, list[str]]:
    """The surface in the contents of a file, and what `read_mesh` warns of; `path` says the ending and the name alone."""
    label = displayable(str(path))
    contents, said = decoded(data, path)
    mesh, notes = _judged(contents, label, displayable(path.name) if name is None else name, repair)
    return mesh, [f"{label}: {message}" for message in said + notes]


def write_mesh(
    mesh: SurfaceLike, path: str | os.PathLike[str], *, colors: ArrayLike | None = None, ascii: bool = False
) -> None:
    """Write a surface as OFF, OBJ, PLY, STL or GLB, by the ending of `path`; the file is written atomically.

    OFF, OBJ and PLY keep every coordinate exactly (float64), and vertex order. GLB keeps the order, and float32
    coordinates. STL keeps float32 corners only: read again, vertices are numbered by first appearance, and those that
    coincide in float32 are one.

    Parameters
    ----------
    mesh : the surface
    path : the file
    colors : (n, 3), red, green and blue of each vertex, as uint8 or as numbers from 0 to 1; not for STL
    ascii : PLY as text instead of binary
    """
    mesh = as_mesh(mesh)
    path = checked_path("path", path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in WRITABLE:
        raise ValueError(f"{path}: unsupported ending {path.suffix!r}; use .{', .'.join(WRITABLE)}")
    if ascii and kind != "ply":
        raise ValueError(f"{path}: ascii=True is for PLY; OFF and OBJ are text anyway, STL and GLB are written binary")
    rgb = None if colors is None else _checked_colors(colors, mesh.n_vertices)
    if kind in ("stl", "glb") and np.abs(mesh.vertices).max() > np.finfo(np.float32).max:
        raise ValueError(f"{path}: coordinates up to {np.abs(mesh.vertices).max():.3g} don't fit float32; write PLY")
    if kind == "stl":
        if rgb is not None:
            raise ValueError(f"{path}: STL has no colours; write PLY, OBJ, OFF or GLB")
        loose = mesh.n_vertices - len(np.unique(mesh.faces))
        if loose:
            warnings.warn(
                f"{path}: {counted(loose, 'vertex', 'vertices')} without faces left out, STL has only triangles",
                MeshWarning,
                stacklevel=2,
            )
        data = stl.encode(mesh.vertices, mesh.faces)
    elif kind == "ply":
        data = ply.encode(mesh.vertices, mesh.faces, rgb, ascii=ascii)
    else:
        encode = {"off": off.encode, "obj": obj.encode, "glb": glb.encode}[kind]
        data = encode(mesh.vertices, mesh.faces, rgb)
    with atomic_write(path) as file:
        file.write(data)


def _judged(contents: Contents, label: str, name: str, repair: bool) -> tuple[Mesh, list[str]]:
    """The surface, and what has to be said about how it came out of the file."""
    faces, polygon, notes = triangles_of(contents, label)
    if repair:
        try:
            repaired = repair_arrays(contents.vertices, faces, name=name)
        except ValueError as error:
            raise ValueError(f"{label}{str(error).removeprefix(name)}") from None
        if not repaired.report.is_clean:
            notes.append(f"repaired: {repaired.summary()}")
        return repaired.mesh, notes
    _check_vertices(contents, label)
    _check_range(contents, label)
    try:
        return Mesh(contents.vertices, faces, name=name), notes
    except ValueError as error:
        detail = str(error).removeprefix(name)
    bad = np.flatnonzero(degenerate_faces(faces) | duplicate_faces(faces))
    if len(bad) == 0:
        raise ValueError(f"{label}{detail}")
    at = int(polygon[bad[0]])
    problem = "uses a vertex twice" if degenerate_faces(faces[bad[:1]])[0] else "occurs twice"
    corners = (faces[bad[0]] + contents.first_number).tolist()
    raise ValueError(
        f"{label}: face {at} ({contents.face_place(at)}) {problem}: {corners} ({counted(len(bad), 'such face')}); "
        "read_mesh(path, repair=True) removes them"
    )


def _check_vertices(contents: Contents, label: str) -> None:
    bad = np.flatnonzero(~np.isfinite(contents.vertices).all(axis=1))
    if len(bad):
        at = int(bad[0])
        raise ValueError(
            f"{label}: vertex {at + contents.first_number} ({contents.vertex_place(at)}) is "
            f"{contents.vertices[at].tolist()} ({counted(len(bad), 'vertex is', 'vertices are')} not finite); "
            "read_mesh(path, repair=True) leaves out the faces there"
        )


def _check_range(contents: Contents, label: str) -> None:
    n = len(contents.vertices)
    bad = np.flatnonzero((contents.corners < 0) | (contents.corners >= n))
    if len(bad):
        first = contents.first_number
        at = int(np.searchsorted(np.cumsum(contents.sizes), bad[0], side="right"))
        raise ValueError(
            f"{label}: face {at} ({contents.face_place(at)}) uses vertex {contents.corners[bad[0]] + first}, "
            f"the {counted(n, 'vertex there is', 'vertices there are')} numbered {first} to {n - 1 + first}; "
            "read_mesh(path, repair=True) leaves such faces out"
        )


def _checked_colors(colors: ArrayLike, n: int) -> UInt8[np.ndarray, "n 3"]:
    array = as_array(f"colors must have shape ({n}, 3), one row a vertex", colors)
    if array.shape != (n, 3):
        raise ValueError(f"colors must have shape ({n}, 3), one row a vertex, got {array.shape}")
    if array.dtype == np.uint8:
        return array
    if not np.issubdtype(array.dtype, np.floating):
        raise ValueError(f"colors must be uint8 or numbers from 0 to 1, got {array.dtype}")
    if not (np.isfinite(array).all() and array.min() >= 0 and array.max() <= 1):
        raise ValueError(f"colors must lie between 0 and 1, got {array.min():.3g} to {array.max():.3g}")
    scaled: Float[np.ndarray, "n 3"] = np.rint(255.0 * array)
    return scaled.astype(np.uint8)


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
