from __future__ import annotations

import pytest

from partwhole.mesh.formats.common import MeshWarning


class TestObj:
    TEXT = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"

    @pytest.mark.parametrize(
        "text",
        [
            TEXT,
            TEXT.replace("v 1 0 0", "v 1 0 0 1.0").replace("v 0 1 0", "v 0 1 0 0.5 0.5 0.5"),
            TEXT.replace("f 1 3 2", "f 1/1 3/7 2/9").replace("f 1 2 4", "f 1//3 2//3 4//4")
            .replace("f 3 1", "f 3/1/1 1/2/1"),
            TEXT.replace("f 1 3 2", "f -4 -2 -3"),
            "mtllib a.mtl\no thing\ng a b\ns off\nvt 0 0\nvn 0 0 1\nusemtl m # red\nl 1 2\np 1\n" + TEXT,
            TEXT.replace("f 1 3 2", "f 1 \\\n 3 2"),
            TEXT.replace("f 1 3 2", "f 1\\\r\n3 \\\n2"),
            "f 1 3 2\n" + TEXT.replace("f 1 3 2\n", ""),  # forward references
            "\ufeff" + TEXT,
            "# " + 1_000_000 * "a" + "\\\nstill a comment\n" + TEXT,  # minutes, if each letter began a search
            400_000 * "\\\n" + "\n" + TEXT,
        ],
    )  # fmt: skip
    def test_forms(self, is_tetrahedron, read, text):
        assert is_tetrahedron(read(text, "x.obj"))

    def test_backwards_counts_from_where_it_stands(self, read):
        mesh = read("v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 5 0 0\nv 6 0 0\nv 5 1 0\nf -3 -2 -1\n", "x.obj")
        assert mesh.faces.tolist() == [[0, 1, 2], [3, 4, 5]]

    def test_polygons(self, read):
        with pytest.warns(MeshWarning, match="2 polygons with more than 3 corners were triangulated as fans"):
            mesh = read("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nf 1 2 3 4\nf 5 1 2 4\nf 1 5 3", "x.obj")
        assert mesh.n_faces == 5

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("f 1 2 4", "f 1 2 5", "face 1 (line 6) uses vertex 5, the 4 vertices there are numbered 1 to 4"),
            ("f 1 2 4", "f 0 2 4", "face 1 (line 6) uses vertex 0"),
            ("f 1 2 4", "f -9 2 4", "face 1 (line 6) uses vertex -4"),
            ("f 1 2 4", "f 1 2", "face 1 (line 6) has 2 corners"),
            ("f 1 2 4", "f", "face 1 (line 6) has 0 corners"),
            ("f 1 2 4", "f 1 2 4/x", "line 6: '4/x' is not a corner of the form"),
            ("f 1 2 4", "f 1 2 /4", "line 6: '/4' is not a corner"),
            ("f 1 2 4", "f 1 2 four", "line 6: 'four' is not a whole number"),
            ("f 1 2 4", "face 1 2 4", "line 6: 'face' is not a keyword of OBJ"),
            ("v 0 0 1", "v 0 0", "line 4: a vertex has 3 coordinates, got 2 values"),
            ("v 0 0 1", "v 0 0 y", "line 4: 'y' is not a number"),
            ("v 0 0 1", "v 0 0 1 y", "line 4: 'y' is not a number"),
            ("v 0 0 1", "v 0 0 nan", "vertex 4 (line 4) is [0.0, 0.0, nan]"),
            ("f 1 3 2\nf 1 2 4", "f 1 \\\n 3 2\nf 1 2 x", "line 7: 'x' is not a whole number"),
            ("f 1 3 2\nf 1 2 4", "f 1 3 2 \\\n\nf 1 2 x", "line 7: 'x' is not a whole number"),
        ],
    )
    def test_defects(self, refused, old, new, message):
        assert message in refused(self.TEXT.replace(old, new), "x.obj")

    def test_no_vertices(self, refused):
        assert refused("f 1 2 3\n", "x.obj") == " has no vertices"

    def test_free_form_is_said(self, is_tetrahedron, read):
        with pytest.warns(MeshWarning, match="1 free-form curve or surface left out"):
            assert is_tetrahedron(read(self.TEXT + "cstype bezier\ndeg 3\ncurv 0 1 1 2 3 4\nend\n", "x.obj"))
