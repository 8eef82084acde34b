from __future__ import annotations

import numpy as np
import pytest

from partwhole.mesh.io import write_mesh
from partwhole.mesh.surface import Mesh

POINTS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
FACES = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
TETRAHEDRON = Mesh(POINTS, FACES)


class TestStl:
    TEXT = "solid a\n" + "".join(
        "facet normal 0 0 0\n outer loop\n"
        + "".join(f"  vertex {' '.join(map(str, POINTS[v]))}\n" for v in face)
        + " endloop\nendfacet\n"
        for face in FACES
    )
    TEXT += "endsolid a\n"

    def test_text(self, read):
        mesh = read(self.TEXT, "x.stl")
        assert mesh.n_vertices == 4
        assert np.array_equal(mesh.vertices[mesh.faces], np.array(POINTS, float)[FACES])
        assert read(self.TEXT.upper(), "x.stl").faces.tolist() == mesh.faces.tolist()
        shifted = self.TEXT.replace("vertex ", "vertex 9")
        assert read(self.TEXT + shifted, "x.stl").n_faces == 8

    def test_binary_that_begins_with_solid(self, read, tmp_path):
        write_mesh(TETRAHEDRON, tmp_path / "a.stl")
        data = (tmp_path / "a.stl").read_bytes()
        assert read(b"solid" + data[5:], "x.stl").n_faces == 4

    def test_signalling_nan(self, refused, tmp_path):
        write_mesh(TETRAHEDRON, tmp_path / "a.stl")
        data = (tmp_path / "a.stl").read_bytes()
        assert "vertex 0 (byte 84) is [nan" in refused(data[:96] + b"\x01\x00\x80\x7f" + data[100:], "x.stl")

    def test_zero_has_no_sign(self, read):
        assert read(self.TEXT.replace("vertex 0 0 0", "vertex -0 0 0", 1), "x.stl").n_vertices == 4

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("endsolid a\n", "", "line 29: the file ends before 'endsolid'"),
            ("  vertex 0 1 0\n", "", "line 6: expected 'vertex', got 'endloop'"),
            (" outer loop\n", "", "line 3: expected 'outer', got 'vertex'"),
            ("endfacet\nends", "ends", "line 29: expected 'endfacet', got 'endsolid'"),
            ("endsolid a\n", "endsolid a\nfacet\n", "line 31: expected 'solid', got 'facet'"),
            ("facet normal 0 0 0\n", "solid b\n", "line 2: expected 'endsolid', got 'solid'"),
            ("vertex 0 1 0", "vertex 0 1", "the line of a vertex has 3 values, expected 4"),
            ("vertex 0 1 0", "vertex 0 1 x", "line 5: 'x' is not a number"),
            ("vertex 0 1 0", "vertex 0 1 nan", "(line 2) is [0.0, 1.0, nan]"),
        ],
    )
    def test_text_defects(self, refused, old, new, message):
        assert message in refused(self.TEXT.replace(old, new), "x.stl")

    def test_text_cut_short_anywhere(self, read):
        lines = self.TEXT.splitlines()
        for stop in range(1, len(lines)):
            with pytest.raises(ValueError, match=r"x\.stl"):
                read("\n".join(lines[:stop]), "x.stl")

    def test_binary_defects(self, refused, tmp_path):
        write_mesh(TETRAHEDRON, tmp_path / "a.stl")
        data = (tmp_path / "a.stl").read_bytes()
        assert "byte 40: the file ends within the header" in refused(data[:40], "x.stl")
        assert "byte 80: the header says 4 triangles, so 284 bytes; the file has 283" in refused(data[:-1], "x.stl")
        assert "so 284 bytes; the file has 286" in refused(data + b"ab", "x.stl")
        huge = data[:80] + b"\xff" * 4 + data[84:]
        assert "the header says 4294967295 triangles" in refused(huge, "x.stl")
        same = data[:134] + data[84:134] + data[184:]
        assert "face 1 (byte 134) occurs twice" in refused(same, "x.stl")
