from __future__ import annotations

import struct

import numpy as np
import pytest

from partwhole.mesh.formats.common import MeshWarning

POINTS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
FACES = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]


PLY_TEXT = (
    "ply\nformat ascii 1.0\ncomment by hand\nobj_info x\nelement vertex 4\nproperty float x\nproperty float y\n"
    "property float z\nelement face 4\nproperty list uchar int vertex_indices\nend_header\n"
    "0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 1 2 3\n3 2 0 3\n"
)


def binary_ply(order="<", faces=FACES, kinds=("f4", "u1", "i4"), extra=False) -> bytes:
    """The tetrahedron with other types, other properties and another element, as asked."""
    names = {
        "f4": "float",
        "f8": "double",
        "u1": "uchar",
        "i4": "int",
        "u4": "uint",
        "u2": "ushort",
        "i2": "short",
        "i1": "char",
    }
    xyz, count, index = kinds
    head = ["ply", f"format binary_{'little' if order == '<' else 'big'}_endian 1.0"]
    head += ["element camera 1", "property float fov", "property list uchar float lens"] if extra else []
    head += ["element vertex 4", *(f"property {names[xyz]} {a}" for a in "xyz")]
    head += ["property uchar red", "property list uchar short ring"] if extra else []
    head += [f"element face {len(faces)}"]
    head += ["property float quality"] if extra else []
    head += [f"property list {names[count]} {names[index]} vertex_index", "end_header", ""]
    body = [struct.pack(order + "fB2f", 1, 2, 3, 4)] if extra else []
    for number, point in enumerate(POINTS):
        body.append(np.array(point, order + xyz).tobytes())
        body.append(struct.pack(order + f"BB{number}h", 9, number, *range(number)) if extra else b"")
    for face in faces:
        body.append(struct.pack(order + "f", 0.5) if extra else b"")
        body += [np.array(len(face), order + count).tobytes(), np.array(face, order + index).tobytes()]
    return "\n".join(head).encode() + b"".join(body)


class TestPly:
    @pytest.mark.parametrize(
        "text",
        [
            PLY_TEXT,
            PLY_TEXT.replace("\n", "\r\n"),
            PLY_TEXT.replace("vertex_indices", "vertex_index"),
            PLY_TEXT.rstrip(),
            PLY_TEXT.replace("float", "float64").replace("uchar int", "uint8 uint32"),
            PLY_TEXT.replace("element face", "property uchar red\nelement face")
            .replace("0 0\n0 1 0\n", "0 0 1\n0 1 0 1\n")
            .replace("header\n0 0 0\n", "header\n0 0 0 9\n").replace("0 0 1\n3", "0 0 1 7\n3"),
            PLY_TEXT.replace("end_header", "property int material\nend_header").replace("2 1\n", "2 1 5\n")
            .replace("0 1 3\n", "0 1 3 5\n").replace("1 2 3\n", "1 2 3 5\n").replace("2 0 3\n", "2 0 3 5\n"),
            PLY_TEXT.replace("end_header", "element edge 2\nproperty int a\nproperty int b\nend_header") + "0 1\n1 2\n",
            PLY_TEXT.replace("end_header", "element edge 0\nend_header"),
        ],
    )  # fmt: skip
    def test_text_forms(self, is_tetrahedron, read, text):
        assert is_tetrahedron(read(text, "x.ply"))

    @pytest.mark.parametrize("order", "<>")
    @pytest.mark.parametrize("kinds", [("f4", "u1", "i4"), ("f8", "i4", "u2"), ("i2", "u4", "u1"), ("f8", "i1", "i1")])
    @pytest.mark.parametrize("extra", [False, True])
    def test_binary_forms(self, is_tetrahedron, read, order, kinds, extra):
        assert is_tetrahedron(read(binary_ply(order, kinds=kinds, extra=extra), "x.ply"))

    def test_binary_with_lists_of_several_lengths(self, read):
        with pytest.warns(MeshWarning, match="1 polygon"):
            mesh = read(binary_ply(faces=[[0, 2, 1], [0, 1, 3, 2], [1, 2, 3]]), "x.ply")
        assert mesh.faces.tolist() == [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]

    def test_binary_may_end_in_a_line_break(self, is_tetrahedron, read):
        assert is_tetrahedron(read(binary_ply() + b"\n", "x.ply"))

    def test_faces_before_vertices(self, is_tetrahedron, read):
        head, body = PLY_TEXT.split("end_header\n")
        start, vertex, face = head[: head.index("element v")], *head[head.index("element v") :].split("element face")
        lines = body.splitlines()
        swapped = start + "element face" + face + vertex + "end_header\n" + "\n".join(lines[4:] + lines[:4])
        assert is_tetrahedron(read(swapped, "x.ply"))

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("ply\n", "plx\n", "line 1: a PLY file begins with a line 'ply'"),
            ("end_header", "end_heade", "line 1: the header has no line 'end_header'"),
            ("format ascii 1.0\n", "", "line 2: the header does not say its format"),
            ("format ascii 1.0", "format ascii 2.0", "line 2: 'format ascii 2.0' is not valid here"),
            ("comment", "remark", "line 3: 'remark by hand' is not valid here"),
            ("element vertex 4", "element vertex x", "line 5: the number of vertex rows is 'x', not a count"),
            ("element vertex 4", "element vertex -4", "line 5: the number of vertex rows is '-4', not a count"),
            ("element vertex 4", "element vertex 5", "line 19: the file ends after 8 rows, the header says 9"),
            ("element vertex 4", "element vertex 3", "line 19: 1 row more than the header says"),
            ("element vertex 4", "element vertex 5\nelement vertex 4", "is not valid here"),
            ("element vertex", "element points", "there is no element vertex (elements: 'points', 'face')"),
            ("element face", "element faces", "there is no element face"),
            ("float x", "float w", "line 5: element vertex has no property x, or it is a list"),
            ("float x", "list uchar float x", "line 5: element vertex has no property x, or it is a list"),
            ("float x", "floaty x", "line 6: 'property floaty x' is not a property of a type that PLY has"),
            ("float y", "float x", "line 7: element vertex has two properties called 'x'"),
            ("vertex_indices", "corners", "line 9: element face needs a list of whole numbers called vertex_indices"),
            ("uchar int", "uchar float", "line 9: element face needs a list of whole numbers"),
            ("uchar int", "float int", "is not a property of a type that PLY has"),
            ("end_header", "element edge 3\nend_header", "line 11: element 'edge' has no properties"),
            ("1 0 0\n", "1 0\n", "line 13: vertex 1 ends before its z does, after 2 values"),
            ("1 0 0\n", "1 0 0 0\n", "line 13: vertex 1 has 4 values, expected 3"),
            ("1 0 0\n", "1 0 x\n", "line 13: 'x' is not a number"),
            ("1 0 0\n", "1 0 inf\n", "vertex 1 (line 13) is [1.0, 0.0, inf]"),
            ("3 0 1 3", "3 0 1", "line 17: face 1 ends before its vertex_indices does, after 3 values"),
            ("3 0 1 3", "3 0 1 3 3", "line 17: face 1 has 5 values, expected 4"),
            ("3 0 1 3", "-1 0 1 3", "line 17: face 1 has a list of length -1"),
            ("3 0 1 3", "3 0 1 9", "face 1 (line 17) uses vertex 9"),
            ("3 0 1 3", "3.0 0 1 3", "line 17: '3.0' is not a whole number"),
            ("3 0 1 3", "2 0 1", "face 1 (line 17) has 2 corners"),
        ],
    )
    def test_text_defects(self, refused, old, new, message):
        assert message in refused(PLY_TEXT.replace(old, new), "x.ply")

    def test_endless_header(self, refused):
        more = "".join(f"property int p{i}\n" for i in range(2000))
        message = "line 1: the header has 2006 elements and properties; at most 1000 are supported"
        assert message in refused(PLY_TEXT.replace("end_header", more + "end_header"), "x.ply")

    def test_what_is_passed_over_must_be_numbers(self, refused):
        text = PLY_TEXT.replace("end_header", "element edge 1\nproperty int a\nproperty int b\nend_header") + "0 b\n"
        assert "line 23: 'b' is not a number" in refused(text, "x.ply")

    @pytest.mark.parametrize("extra", [False, True])
    def test_binary_cut_short_anywhere(self, read, extra):
        data = binary_ply(extra=extra)
        for length in range(4, len(data)):
            with pytest.raises(ValueError, match=r"x\.ply: (line|byte) \d+"):
                read(data[:length], "x.ply")

    def test_binary_defects(self, refused):
        data = binary_ply()
        start = data.index(b"end_header\n") + 11
        assert f": byte {len(data)}: 3 bytes more than the header says" in refused(data + b"abc", "x.ply")
        huge = data.replace(b"element vertex 4", b"element vertex 400000000000")
        assert "400000000000 vertex rows take at least 4800000000000 bytes" in refused(huge, "x.ply")
        lists = data[:-13] + bytes([200]) + data[-12:]
        assert f"byte {len(data) - 13}: the file ends within vertex_index of face 3" in refused(lists, "x.ply")
        bad_index = data[:-4] + struct.pack("<i", -7)
        assert f"face 3 (byte {len(data) - 13}) uses vertex -7" in refused(bad_index, "x.ply")
        nan = data[: start + 12] + struct.pack("<f", np.nan) + data[start + 16 :]
        assert f"vertex 1 (byte {start + 12}) is [nan, 0.0, 0.0]" in refused(nan, "x.ply")
        negative = binary_ply(kinds=("f8", "i1", "i1"))
        assert "face 3 has a list of length -3" in refused(negative[:-4] + b"\xfd" + negative[-3:], "x.ply")

    def test_binary_cut_within_a_plain_property(self, refused):
        data = binary_ply(faces=[[0, 1, 2], [0, 1, 3], [1, 2, 3]])
        data = data.replace(b"end_header", b"property float quality\nend_header")
        start = data.index(b"end_header") + 11 + 48
        rows = b"".join(data[start + 13 * i : start + 13 * i + 13] + b"\0\0\x80\x3f" for i in range(3))
        message = f"byte {start + 48}: the file ends within face 2"
        assert message in refused(data[:start] + rows[:-3], "x.ply")
