"""GLB (binary glTF 2): the triangles of all nodes, in one frame. `glb_access` reads and checks its JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int, UInt8

from partwhole.mesh.formats.common import Contents, FormatError, as_float64, counted
from partwhole.mesh.formats.glb_access import Json, accessor, entry, floats, items, read_container, whole
from partwhole.mesh.formats.glb_writer import GlbWriter

TRIANGLES, _STRIP, _FAN = 4, 5, 6
_UNSIGNED = {5121: "u1", 5123: "<u2", 5125: "<u4"}
# nodes and primitives may show the same bytes many times over: a small file must not fill the memory
MOST_ENTRIES, MOST_ENTRIES_PER_BYTE = 2**22, 4
_ENTRIES_OF_PRIMITIVE = 100  # a primitive of three vertices takes as long to read as so many entries
_FRAME = {"matrix", "rotation", "scale", "translation"}
_NO_GEOMETRY = ("KHR_materials_", "KHR_texture_", "KHR_lights_", "EXT_texture_", "EXT_lights_")


@dataclass(frozen=True)
class Primitive:
    """Triangles that were gathered from one primitive of a mesh.

    Attributes
    ----------
    source : as the JSON has it
    where : its place there
    skin : number of the skin that would bend it; None without one
    first_vertex, n_vertices : its vertices among all
    new : whether no primitive before it has the same vertices
    triangles : in the numbers of all vertices
    """

    source: Json
    where: str
    skin: int | None
    first_vertex: int
    n_vertices: int
    new: bool
    triangles: Int[np.ndarray, "m 3"]


@dataclass
class Gathered:
    """The triangles of all nodes, while they are gathered."""

    most_entries: int
    primitives: list[Primitive] = field(default_factory=list)
    points: list[np.ndarray] = field(default_factory=list)
    triangles: list[np.ndarray] = field(default_factory=list)
    places: list[tuple[int, int, str]] = field(default_factory=list)
    n_vertices: int = 0
    n_faces: int = 0
    n_entries: int = 0
    not_surfaces: int = 0
    stitches: int = 0
    skins: int = 0
    mirrors: int = 0

    def count(self, entries: int, where: str) -> None:
        """Vertices and indices to be read, refused as soon as they are more than such a file may show."""
        self.n_entries += entries
        if self.n_entries > self.most_entries:
            raise FormatError(
                f"{where}: nodes and primitives show the same data so often that more than {self.most_entries} vertices and "
                "indices would be read; write a file with the one surface that is meant"
            )


def decode(data: bytes) -> Contents:
    """Triangles, strips and fans of every node, moved by the transforms of the node and its parents."""
    out = gather(data)[2]
    vertices = np.concatenate(out.points) if out.points else np.empty((0, 3))
    faces = np.concatenate(out.triangles) if out.triangles else np.empty((0, 3), np.int64)
    notes = []
    if out.not_surfaces:
        notes.append(f"{counted(out.not_surfaces, 'primitive')} of points or lines left out")
    if out.stitches:
        notes.append(f"{counted(out.stitches, 'triangle')} without area that stitch strips together left out")
    if out.skins:
        notes.append(f"{counted(out.skins, 'skin')} not applied: the shape is the one at rest")
    if out.mirrors:
        notes.append(f"{counted(out.mirrors, 'mesh', 'meshes')} shown in a mirror, by the transform of a node")
    return Contents(
        vertices,
        faces.reshape(-1),
        np.full(len(faces), 3, np.int64),
        vertex_place=lambda i: next(place for v, _, place in reversed(out.places) if v <= i),
        face_place=lambda i: next(place for _, f, place in reversed(out.places) if f <= i),
        notes=tuple(notes),
    )


def gather(data: bytes) -> tuple[Json, bytes, Gathered]:
    """The JSON, the buffer, and the triangles of every node."""
    document, buffer = read_container(data)
    _refuse_extensions(document)
    out = Gathered(most_entries=max(MOST_ENTRIES, MOST_ENTRIES_PER_BYTE * len(data)))
    for mesh, frame, skin in _placed_meshes(document):
        out.skins += skin is not None
        _gather(document, buffer, mesh, frame, skin, out)
    return document, buffer, out


def encode(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], colors: UInt8[np.ndarray, "n 3"] | None
) -> bytes:
    """One node, one mesh, one primitive; float32 coordinates, 32-bit indices, colours as 8-bit RGBA."""
    writer = GlbWriter()
    attributes = {"POSITION": writer.array(vertices.astype("<f4"), bounds=True)}
    indices = writer.array(faces.astype("<u4").reshape(-1))
    if colors is not None:
        opaque = np.full((len(colors), 1), 255, np.uint8)
        attributes["COLOR_0"] = writer.array(np.concatenate([colors, opaque], axis=1), normalized=True)
    return writer.finish(
        {
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{"attributes": attributes, "indices": indices, "mode": TRIANGLES}]}],
        }
    )


def _refuse_extensions(document: Json) -> None:
    for name in items(document, "extensionsRequired"):
        if not isinstance(name, str) or not name.startswith(_NO_GEOMETRY):
            raise FormatError(f"extensionsRequired: {json.dumps(name)[:60]} is not supported; write plain glTF 2")


def _placed_meshes(document: Json) -> Iterator[tuple[int, Float[np.ndarray, "4 4"], int | None]]:
    """Every mesh that a node shows, the frame it is shown in, and the skin that would bend it."""
    nodes = items(document, "nodes", of=dict)
    if not nodes:
        # a file without nodes is a library of meshes: all of them, where they are
        yield from ((mesh, np.eye(4), None) for mesh in range(len(items(document, "meshes"))))
        return
    parent: dict[int, int] = {}
    children = [
        [whole({"child": c}, "child", f"nodes[{i}]") for c in items(n, "children")] for i, n in enumerate(nodes)
    ]
    for i, own in enumerate(children):
        for child in own:
            if child >= len(nodes) or child in parent:
                raise FormatError(f"nodes[{i}]: child {child} does not exist or has two parents")
            parent[child] = i
    # depth first and in the order of the file, without recursion: a chain of nodes may be long
    stack = [(i, np.eye(4)) for i in reversed(range(len(nodes))) if i not in parent]
    seen = 0
    while stack:
        index, above = stack.pop()
        seen += 1
        frame = above
        if not _FRAME.isdisjoint(nodes[index]):
            with np.errstate(over="ignore", invalid="ignore"):
                frame = above @ _local_frame(nodes[index], f"nodes[{index}]")
        if "mesh" in nodes[index]:
            skin = whole(nodes[index], "skin", f"nodes[{index}]") if "skin" in nodes[index] else None
            # glTF: a skinned mesh stands where its joints are, not where its node is
            yield whole(nodes[index], "mesh", f"nodes[{index}]"), frame if skin is None else np.eye(4), skin
        stack += [(child, frame) for child in reversed(children[index])]
    if seen < len(nodes):
        raise FormatError(f"nodes: {counted(len(nodes) - seen, 'node')} are their own parents, in a circle")


def _local_frame(node: Json, where: str) -> Float[np.ndarray, "4 4"]:
    if "matrix" in node:
        return floats(node, "matrix", 16, where).reshape(4, 4).T
    frame = np.eye(4)
    x, y, z, w = floats(node, "rotation", 4, where, default=(0, 0, 0, 1))
    length = float(np.hypot(np.hypot(x, y), np.hypot(z, w)))
    if not 0.5 < length < 2:
        raise FormatError(f"{where}: rotation has length {length:.3g}, a quaternion has 1")
    x, y, z, w = x / length, y / length, z / length, w / length
    rotation = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    frame[:3, :3] = np.array(rotation) * floats(node, "scale", 3, where, default=(1, 1, 1))
    frame[:3, 3] = floats(node, "translation", 3, where, default=(0, 0, 0))
    return frame


def _gather(
    document: Json, buffer: bytes, mesh: int, frame: Float[np.ndarray, "4 4"], skin: int | None, out: Gathered
) -> None:
    shared: dict[int, tuple[int, int]] = {}  # accessor -> where its points begin here, and how many they are
    with np.errstate(over="ignore", invalid="ignore"):
        mirrored = np.linalg.det(frame[:3, :3]) < 0
    out.mirrors += int(mirrored)
    for number, primitive in enumerate(items(entry(document, "meshes", mesh), "primitives", of=dict)):
        where = f"meshes[{mesh}].primitives[{number}]"
        out.count(_ENTRIES_OF_PRIMITIVE, where)
        mode = whole(primitive, "mode", where, default=TRIANGLES)
        if mode not in (TRIANGLES, _STRIP, _FAN):
            out.not_surfaces += 1
            continue
        attributes = primitive.get("attributes")
        if not isinstance(attributes, dict):
            raise FormatError(f"{where}: attributes must be an object")
        position = whole(attributes, "POSITION", where)
        out.places.append((out.n_vertices, out.n_faces, where))
        new = position not in shared
        if new:
            points = as_float64(accessor(document, buffer, position, "VEC3", {5126: "<f4"}))
            out.count(len(points), where)
            shared[position] = (out.n_vertices, len(points))
            with np.errstate(over="ignore", invalid="ignore"):
                out.points.append(points @ frame[:3, :3].T + frame[:3, 3])
            out.n_vertices += len(points)
        first, count = shared[position]
        if "indices" in primitive:
            reference = whole(primitive, "indices", where)
            indices = accessor(document, buffer, reference, "SCALAR", _UNSIGNED).reshape(-1).astype(np.int64)
        else:
            indices = np.arange(count)
        out.count(len(indices), where)
        if indices.max() >= count:
            raise FormatError(f"{where}: index {indices.max()} is out of range, there are {count} vertices")
        triangles = _as_triangles(indices, mode, where)
        if mode == _STRIP:
            area = (np.diff(np.sort(triangles, axis=1), axis=1) != 0).all(axis=1)
            out.stitches += int((~area).sum())
            triangles = triangles[area]
        triangles = first + (triangles[:, ::-1] if mirrored else triangles)
        out.triangles.append(triangles)
        out.primitives.append(Primitive(primitive, where, skin, first, count, new, triangles))
        out.n_faces += len(triangles)


def _as_triangles(indices: Int[np.ndarray, "k"], mode: int, where: str) -> Int[np.ndarray, "m 3"]:
    if (mode == TRIANGLES and len(indices) % 3) or len(indices) < 3:
        raise FormatError(f"{where}: {counted(len(indices), 'index', 'indices')} can't be split into triangles")
    if mode == TRIANGLES:
        return indices.reshape(-1, 3)
    step = np.arange(len(indices) - 2)
    if mode == _FAN:
        return np.stack([np.broadcast_to(indices[0], step.shape), indices[1:-1], indices[2:]], axis=1)
    odd = step % 2  # every second triangle of a strip runs backwards
    return np.stack([indices[step], indices[step + 1 + odd], indices[step + 2 - odd]], axis=1)
