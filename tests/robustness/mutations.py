"""Damaged meshes: files of every format and arrays, from a small healthy corpus, the same for the same seed.

Tests get this module as the fixture `mutations`. The use of it: `for name, data in mutated_files("ply", 100, seed=0)`,
write `data` to a file called `name`, and hand it to `read_or_refuse`, which reads it and asserts what must hold for any
file at all; it gives the mesh, or None if the file was refused properly. `broken_surfaces` and `damaged_arrays` do the
same for arrays.
"""

from __future__ import annotations

import json
import re
import signal
import struct
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from partwhole.mesh.formats.common import MeshWarning
from partwhole.mesh.io import read_mesh, write_mesh
from partwhole.mesh.surface import Mesh

FORMATS = ("off", "obj", "ply", "stl", "glb")
SECONDS = 10  # what one small file may take; it takes milliseconds

# --- healthy files


def healthy_surfaces() -> dict[str, Mesh]:
    tetrahedron = Mesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]], name="tetrahedron"
    )
    k = 5
    number = np.arange(k * k).reshape(k, k)
    a, b, c, d = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
    faces = np.concatenate([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
    points = np.c_[np.stack(np.divmod(np.arange(k * k), k), axis=1) / 3, np.cos(np.arange(k * k))]
    sheet = Mesh(points, np.delete(faces, [5, 21], axis=0), name="sheet with holes")
    return {"tetrahedron": tetrahedron, "sheet": sheet}


def healthy_files(kind: str) -> list[bytes]:
    """Files of one format that read well: as the library writes them, and as others do."""
    files = []
    with tempfile.TemporaryDirectory() as folder:
        for mesh in healthy_surfaces().values():
            path = Path(folder) / f"x.{kind}"
            colors = None if kind == "stl" else np.linspace(0, 1, mesh.vertices.size).reshape(-1, 3)
            for options in ({}, {"colors": colors}, *([{"ascii": True}] if kind == "ply" else [])):
                write_mesh(mesh, path, **options)
                files.append(path.read_bytes())
    return files + [make() for make in _FOREIGN[kind]]


def _off_with_comments() -> bytes:
    head = b"# a file\nOFF 5 3 0\n0 0 0\n1 0 0 # right\n\n1 1 0\n0 1 0\n.5 .5 1e0\n"
    return head + b"4 3 2 1 0\n3 0 1 4 0.5 0.5 0.5\n3 1 2 4 7\n"


def _obj_with_attributes() -> bytes:
    head = b"mtllib a.mtl\no box\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1 0.5 0.5 0.5\nvt 0 0\nvn 0 0 1\ns off\n"
    return head + b"f 4/1/1 3/1/1 2/1/1 1/1/1\nf 1//1 2//1 5//1\nusemtl red\nf -4 -3 \\\n -1\nf 3 4 5\nl 1 2\n"


def _big_endian_ply() -> bytes:
    head = b"ply\nformat binary_big_endian 1.0\ncomment x\nelement vertex 4\nproperty float x\nproperty double y\n"
    head += b"property short z\nproperty list uchar int ring\nelement face 3\nproperty uchar flag\n"
    head += b"property list ushort uint vertex_index\nelement edge 1\nproperty int a\nproperty int b\nend_header\n"
    body = b"".join(
        struct.pack(f">fdhB{i}i", *p, i, *range(i)) for i, p in enumerate([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    )
    body += b"".join(struct.pack(f">BH{len(f)}I", 9, len(f), *f) for f in ([0, 2, 1], [0, 1, 3, 2], [1, 2, 3]))
    return head + body + struct.pack(">2i", 0, 1)


def _text_ply_with_more() -> bytes:
    head = b"ply\r\nformat ascii 1.0\r\nobj_info y\r\nelement vertex 5\r\nproperty uchar red\r\nproperty float x\r\n"
    head += b"property float y\r\nproperty float z\r\nelement face 3\r\nproperty list uchar int vertex_indices\r\n"
    head += b"property list uchar float texcoord\r\nend_header\r\n"
    return head + (
        b"1 0 0 0\r\n2 1 0 0\r\n3 1 1 0\r\n4 0 1 0\r\n5 .5 .5 1\r\n4 3 2 1 0 0\r\n3 0 1 4 2 .5 .5\r\n3 1 2 4 1 0\r\n"
    )


def _text_stl() -> bytes:
    text = b""
    for solid in (0, 5):
        text += b"solid part\n"
        for face in ((0, 1, 2), (0, 2, 3)):
            corners = b"".join(b"vertex %d %d %g\n" % (solid + (v in (1, 2)), v > 1, 0.25 * v) for v in face)
            text += b"facet normal 0 0 1\nouter loop\n" + corners + b"endloop\nendfacet\n"
        text += b"endsolid part\n"
    return text


def _glb(document: dict, binary: bytes) -> bytes:
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def _glb_with_nodes() -> bytes:
    points = b"".join(struct.pack("<3fI", *p, 7) for p in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)))
    indices = bytes([0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3])
    document = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [
            {"children": [1, 2], "translation": [1, 2, 3]},
            {"mesh": 0, "rotation": [0, 0.6, 0, 0.8], "scale": [1, 2, -1]},
            {"mesh": 1, "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 9, 0, 0, 1]},
        ],
        "meshes": [
            {"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]},
            {"primitives": [{"attributes": {"POSITION": 0}, "mode": 5}]},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "byteOffset": 0, "componentType": 5121, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 64, "byteStride": 16},
            {"buffer": 0, "byteOffset": 64, "byteLength": 12},
        ],
        "buffers": [{"byteLength": 76}],
    }
    return _glb(document, points + indices)


_FOREIGN = {
    "off": (_off_with_comments,),
    "obj": (_obj_with_attributes,),
    "ply": (_big_endian_ply, _text_ply_with_more),
    "stl": (_text_stl,),
    "glb": (_glb_with_nodes,),
}

# --- damage to files

_NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?")
_VALUES = (
    b"nan -nan inf 1e400 -1 0 1 2 3 4 7 255 65536 2147483648 4294967295 99999999999 9223372036854775808 1e308 -1e308 1e-320 "
    b'0x10 1_0 1.5 3.0 +1 -0 --1 .. , 1,5 abc \xff\xfe \xd9\xa3 true null [] {} "x"'
).split()


def _position(data: bytes, rng: np.random.Generator) -> int:
    # half of all damage goes to the first bytes, where headers are
    return int(rng.integers(0, max(1, min(len(data), 200) if rng.random() < 0.5 else len(data))))


def flip_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        changed[_position(data, rng)] ^= 1 << int(rng.integers(0, 8))
    return bytes(changed)


def set_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    at, value = _position(data, rng), (b"\x00", b"\xff", b"\x7f", b" ", b"\n", b"9", b"-")[rng.integers(0, 7)]
    length = int(rng.integers(1, 9))
    return data[:at] + value * length + data[at + length :]


def truncate(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: _position(data, rng)]


def insert(data: bytes, rng: np.random.Generator) -> bytes:
    at = _position(data, rng)
    piece = rng.bytes(int(rng.integers(1, 20))) if rng.random() < 0.5 else _VALUES[rng.integers(0, len(_VALUES))] + b" "
    return data[:at] + piece + data[at:]


def delete(data: bytes, rng: np.random.Generator) -> bytes:
    at = _position(data, rng)
    return data[:at] + data[at + int(rng.integers(1, 30)) :]


def repeat_section(data: bytes, rng: np.random.Generator) -> bytes:
    at, length = _position(data, rng), int(rng.integers(1, max(2, len(data) // 2)))
    return data[: at + length] + data[at : at + length] + data[at + length :]


def swap_lines(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.integers(0, len(lines), 2)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def drop_or_repeat_line(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.split(b"\n")
    i = int(rng.integers(0, len(lines)))
    lines[i : i + 1] = [] if rng.random() < 0.5 else [lines[i]] * int(rng.integers(2, 4))
    return b"\n".join(lines)


def replace_number(data: bytes, rng: np.random.Generator) -> bytes:
    """Another number, or none: a count, a coordinate, an index, whatever it was."""
    found = list(_NUMBER.finditer(data))
    if not found:
        return insert(data, rng)
    hit = found[int(rng.integers(0, min(len(found), 12) if rng.random() < 0.3 else len(found)))]
    return data[: hit.start()] + _VALUES[rng.integers(0, len(_VALUES))] + data[hit.end() :]


def nudge_number(data: bytes, rng: np.random.Generator) -> bytes:
    """Whole numbers changed by one: counts and indices that are nearly right."""
    found = [m for m in _NUMBER.finditer(data) if m[1] is None and m[2] is None]
    if not found:
        return insert(data, rng)
    hit = found[int(rng.integers(0, len(found)))]
    return data[: hit.start()] + b"%d" % (int(hit[0][:18]) + int(rng.choice([-1, 1]))) + data[hit.end() :]


def replace_word(data: bytes, rng: np.random.Generator) -> bytes:
    """Four bytes of a binary file taken as a number and changed: counts, coordinates and indices again."""
    if len(data) < 8:
        return insert(data, rng)
    at = 4 * int(rng.integers(0, len(data) // 4 - 1))
    choices = (
        struct.pack("<I", 2**32 - 1),
        struct.pack("<f", np.nan),
        struct.pack("<f", np.inf),
        struct.pack("<i", -1),
    )
    choices += (struct.pack("<I", int(rng.integers(0, 50))), struct.pack(">I", int(rng.integers(0, 50))))
    return data[:at] + choices[rng.integers(0, len(choices))] + data[at + 4 :]


MUTATIONS = (
    flip_bytes, set_bytes, truncate, insert, delete, repeat_section, swap_lines, drop_or_repeat_line, replace_number,
    nudge_number, replace_word,
)  # fmt: skip


def mutated_files(kind: str, count: int, *, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Names and contents of damaged files of one format; most have one damage, some have up to four."""
    rng = np.random.default_rng([seed, FORMATS.index(kind)])
    originals = healthy_files(kind)
    for number in range(count):
        data = originals[int(rng.integers(0, len(originals)))]
        for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
            if data:
                data = MUTATIONS[int(rng.integers(0, len(MUTATIONS)))](data, rng)
        if kind == "glb" and len(data) > 12 and rng.random() < 0.7:
            data = _mended_lengths(data)
        yield f"damaged{number}.{kind}", data


def _mended_lengths(data: bytes) -> bytes:
    """The lengths of a GLB file put right again, so that damage inside reaches the reader of its contents."""
    text_end = data.find(b"BIN\0") - 4
    if data[:4] != b"glTF" or text_end < 20:
        return data
    text, binary = data[20:text_end], data[text_end + 8 :]
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


# --- damaged arrays


def broken_surfaces() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The defects that scans and exports have, one by one, as vertices and faces."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
    five = np.concatenate([points, [[-1, -1, -1]]])
    with_nan = five.copy()
    with_nan[4, 1] = np.nan
    n = 8
    angle = 2 * np.pi * np.arange(n) / n
    strip = np.concatenate([np.c_[np.cos(angle), np.sin(angle), 0.2 * s * np.cos(angle / 2)] for s in (-1, 1)])
    ahead = [(i + 1, n + i + 1) if i + 1 < n else (n, 0) for i in range(n)]
    moebius = np.array([f for i, (c, d) in enumerate(ahead) for f in ([i, c, d], [i, d, n + i])])
    return {
        "healthy": (points, faces),
        "no faces": (points, np.empty((0, 3), int)),
        "no vertices": (np.empty((0, 3)), faces),
        "not finite": (with_nan, np.concatenate([faces, [[0, 1, 4]]])),
        "not finite, unused": (with_nan, faces),
        "out of range": (points, np.concatenate([faces, [[0, 1, 4]]])),
        "negative": (points, np.concatenate([faces, [[0, 1, -1]]])),
        "degenerate": (points, np.concatenate([faces, [[0, 0, 1]]])),
        "only degenerate": (points, np.array([[1, 1, 1]])),
        "repeated": (points, np.concatenate([faces, faces[:2, ::-1]])),
        "loose vertex": (five, faces),
        "fin": (five, np.concatenate([faces, [[0, 1, 4]]])),
        "bow tie": (np.concatenate([points, -points[1:]]), np.array([[0, 1, 2], [0, 4, 5]])),
        "two solids at a vertex": (
            np.concatenate([points, -points[1:]]),
            np.concatenate([faces, np.where(faces == 0, 0, faces + 3)]),
        ),
        "two components": (np.concatenate([points, points + 3]), np.concatenate([faces, faces + 4])),
        "inside out": (points, faces[:, ::-1]),
        "mixed orientation": (points, np.concatenate([faces[:1, ::-1], faces[1:]])),
        "moebius strip": (strip, moebius),
        "all at one point": (np.zeros((4, 3)), faces),
        "on a line": (np.arange(4)[:, None] * np.ones(3), faces),
        "coincident vertices": (
            np.concatenate([points, points]),
            np.array([[0, 2, 1], [4, 5, 3], [1, 6, 7], [6, 4, 7]]),
        ),
        "huge": (points * 1e99, faces),
        "overflow": (points * 1e200, faces),
        "tiny": (points * 1e-160, faces),
        "large": (points * 1e60, faces),
        "small": (points * 1e-60, faces),
        "one vertex far away": (points * [[1], [1], [1], [1e40]], faces),
        "far away": (points + 1e9, faces),
        "sliver": (points * [1, 1e-12, 1], faces),
    }


def damaged_arrays(count: int, *, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Vertices and faces of random surfaces with random damage, from none to hopeless."""
    rng = np.random.default_rng([seed, 99])
    surfaces = [(m.vertices, m.faces) for m in healthy_surfaces().values()] + list(broken_surfaces().values())
    for _ in range(count):
        points, faces = (a.copy() for a in surfaces[int(rng.integers(0, len(surfaces)))])
        for _ in range(int(rng.integers(0, 4))):
            points, faces = _damaged(points, faces, rng)
        yield points, faces


def _damaged(points: np.ndarray, faces: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    n, m = len(points), len(faces)
    if n == 0 or m == 0:
        return points, faces
    match rng.integers(0, 11):
        case 0:
            points[rng.integers(n), rng.integers(3)] = rng.choice(
                [np.nan, np.inf, -np.inf, 1e101, 1e-310, 0.0, 1e60, 1e20, 1e5]
            )
        case 1:
            faces[rng.integers(m), rng.integers(3)] = rng.choice([-1, n, 2**40, -(2**62), 0, n - 1])
        case 2:
            faces[rng.integers(m), rng.integers(3)] = rng.integers(n)
        case 3:
            faces = np.concatenate([faces, rng.integers(0, n, (int(rng.integers(1, 10)), 3))])
        case 4:
            faces = np.concatenate([faces, faces[rng.integers(0, m, 2)][:, rng.permutation(3)]])
        case 5:
            faces = faces[rng.random(m) < 0.7]
        case 6:
            turned = rng.random(m) < 0.5
            faces[turned] = faces[turned][:, ::-1]
        case 7:
            points = np.concatenate([points, points[rng.integers(0, n, 2)]])
        case 8:
            points[rng.integers(n)] = points[rng.integers(n)]
        case 9:
            points[:, 2] = 0.0
        case _:
            order = rng.permutation(n)
            known = (faces >= 0) & (faces < n)
            points, faces = points[np.argsort(order)], np.where(known, order[np.where(known, faces, 0)], faces)
    return points, faces


# --- what must hold for any file


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Fail if the block takes more seconds of the processor, where the system counts them; others may keep it busy."""
    if not hasattr(signal, "SIGVTALRM"):
        yield
        return

    def ring(*_: object) -> None:
        raise AssertionError(f"it took more than {seconds} s")

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def read_or_refuse(path: Path, *, repair: bool = False) -> Mesh | None:
    """Read a file that may be damaged: a sound mesh with nothing lost, or one ValueError of one line with the file's name."""
    with warnings.catch_warnings(record=True) as caught, time_limit(SECONDS):
        warnings.simplefilter("always")
        mesh, text = None, ""
        try:
            mesh = read_mesh(path, repair=repair)
        except ValueError as error:
            text = str(error)
    strange = [w for w in caught if w.category is not MeshWarning]
    assert not strange, [str(w.message) for w in strange]
    if mesh is None:
        assert str(path) in text, text
        assert "\n" not in text, text
        assert len(text) < 400 + len(str(path)), text
        return None
    assert_sound(mesh)
    if not repair:
        said = " ".join(str(w.message) for w in caught)
        assert_nothing_lost(mesh, path, said)
    return mesh


def assert_sound(mesh: Mesh) -> None:
    """What `Mesh` promises, checked the plain way."""
    assert mesh.vertices.dtype == np.float64
    assert mesh.faces.dtype == np.int64
    assert mesh.n_vertices >= 3
    assert mesh.n_faces >= 1
    assert np.isfinite(mesh.vertices).all()
    assert mesh.faces.min() >= 0
    assert mesh.faces.max() < mesh.n_vertices
    ordered = {tuple(sorted(face)) for face in mesh.faces.tolist()}
    assert len(ordered) == mesh.n_faces
    assert all(a < b < c for a, b, c in ordered)


def assert_nothing_lost(mesh: Mesh, path: Path, said: str) -> None:
    """The mesh has as many vertices and faces as the file says it has, read here in another and simpler way."""
    declared = None if "read as" in said or "left out" in said else _declared(path.suffix[1:], path.read_bytes())
    if declared is None:
        return
    n_vertices, n_polygons = declared
    if n_vertices is not None:
        assert mesh.n_vertices == n_vertices, (mesh.n_vertices, n_vertices)
    if "triangulated" in said:
        assert mesh.n_faces > n_polygons, (mesh.n_faces, n_polygons)
    else:
        assert mesh.n_faces == n_polygons, (mesh.n_faces, n_polygons)


def _declared(kind: str, data: bytes) -> tuple[int | None, int] | None:
    lines = [line.split(b"#")[0].strip() for line in re.split(rb"\r\n|\n|\r", data)]
    match kind:
        case "off":
            counts = re.search(rb"OFF\s*(\d+)\s+(\d+)", b"\n".join(lines))
            return (int(counts[1]), int(counts[2])) if counts else None
        case "obj" if b"\\" not in data:
            return tuple(sum(re.match(k + rb"(\s|$)", line) is not None for line in lines) for k in (b"v", b"f"))
        case "ply":
            head = b"\n" + data.split(b"end_header")[0].replace(b"\r", b"\n")
            vertex, face = (re.search(rb"\n\s*element\s+" + k + rb"\s+(\d+)", head) for k in (b"vertex", b"face"))
            return int(vertex[1]), int(face[1])
        case "stl":
            if len(data) == 84 + 50 * int.from_bytes(data[80:84], "little"):
                return None, int.from_bytes(data[80:84], "little")
            return None, sum(line.lower().startswith(b"facet") for line in lines)
        case "glb":
            return _declared_in_glb(json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")]))
        case _:
            return None


def _declared_in_glb(document: dict) -> tuple[int, int]:
    counts = [entry.get("count") for entry in document["accessors"]]
    vertices = faces = 0
    for node in document.get("nodes", [{"mesh": i} for i in range(len(document["meshes"]))]):
        primitives = document["meshes"][node["mesh"]]["primitives"] if "mesh" in node else []
        vertices += sum(counts[i] for i in {p["attributes"]["POSITION"] for p in primitives})
        for p in primitives:
            corners = counts[p.get("indices", p["attributes"]["POSITION"])]
            faces += corners // 3 if p.get("mode", 4) == 4 else corners - 2
    return vertices, faces
