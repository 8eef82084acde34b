"""Reading and writing: what each format may look like, what comes back, and what each defect is answered with."""

from __future__ import annotations

import os
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from partwhole.mesh.formats.common import MeshWarning
from partwhole.mesh.io import read_mesh, write_mesh
from partwhole.mesh.surface import Mesh

TETRAHEDRON = Mesh(
    [[0.1, 0.2, 0.3], [1, 0, 0], [0, 1 / 3, 0], [0, 0, 1e-17]], [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
)
OFF = "OFF\n4 4 6\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 1 2 3\n3 2 0 3\n"
FACES = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
POINTS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]


class TestRoundTrip:
    @pytest.mark.parametrize("ending", ["off", "obj", "ply"])
    @settings(deadline=None, max_examples=40)
    @given(points=arrays(np.float64, (5, 3), elements=st.floats(-1e69, 1e69)))
    def test_every_bit_of_the_coordinates(self, tmp_path_factory, ending, points):
        path = tmp_path_factory.mktemp("trip") / f"x.{ending}"
        # two more points, because a surface as small as the smallest numbers is refused
        mesh = Mesh(np.concatenate([points, [[0, 0, 0], [1, 0, 0]]]), [[0, 1, 2], [2, 1, 4]])
        for ascii in {False, ending == "ply"}:
            write_mesh(mesh, path, ascii=ascii)
            again = read_mesh(path)
            assert again.vertices.tobytes() == mesh.vertices.tobytes()
            assert np.array_equal(again.faces, mesh.faces)
            assert again.name == path.name

    def test_glb_keeps_order_and_float32(self, tmp_path):
        write_mesh(TETRAHEDRON, tmp_path / "x.glb")
        again = read_mesh(tmp_path / "x.glb")
        assert np.array_equal(again.vertices, TETRAHEDRON.vertices.astype(np.float32))
        assert np.array_equal(again.faces, TETRAHEDRON.faces)

    def test_stl_keeps_triangles_in_float32(self, tmp_path):
        write_mesh(TETRAHEDRON, tmp_path / "x.stl")
        again = read_mesh(tmp_path / "x.stl")
        wanted = TETRAHEDRON.vertices.astype(np.float32)[TETRAHEDRON.faces]
        assert np.array_equal(again.vertices[again.faces], wanted)
        assert again.faces.tolist() == [[0, 1, 2], [0, 2, 3], [2, 1, 3], [1, 0, 3]]  # by first appearance

    @pytest.mark.parametrize("ending", ["off", "obj", "ply", "glb"])
    @pytest.mark.parametrize("ascii", [False, True])
    @pytest.mark.parametrize("kind", ["uint8", "float"])
    def test_colors_are_written(self, tmp_path, ending, ascii, kind):
        if ascii and ending != "ply":
            return
        path = tmp_path / f"x.{ending}"
        colors = np.arange(12, dtype=np.uint8).reshape(4, 3) * 20
        write_mesh(TETRAHEDRON, path, colors=colors if kind == "uint8" else colors / 255, ascii=ascii)
        again = read_mesh(path)
        assert np.array_equal(again.faces, TETRAHEDRON.faces)
        data = path.read_bytes()
        shown = {
            "off": b"0.0 1e-17 180 200 220 255\n",
            "obj": b"1e-17 0.705882 0.784314 0.862745\n",
            "ply": b"1e-17 180 200 220\n" if ascii else struct.pack("<d3B", 1e-17, 180, 200, 220),
            "glb": struct.pack("4B", 180, 200, 220, 255),
        }
        assert shown[ending] in data

    def test_loose_vertices_are_kept_where_the_format_can(self, tmp_path):
        mesh = Mesh([*POINTS, [5, 5, 5]], FACES)
        for ending in ("off", "obj", "ply", "glb"):
            write_mesh(mesh, tmp_path / f"x.{ending}")
            assert read_mesh(tmp_path / f"x.{ending}").n_vertices == 5
        with pytest.warns(MeshWarning, match="1 vertex without faces left out"):
            write_mesh(mesh, tmp_path / "x.stl")

    def test_refused(self, tmp_path):
        with pytest.raises(ValueError, match=r"unsupported ending '.xyz'; use .off, .obj"):
            write_mesh(TETRAHEDRON, tmp_path / "a.xyz")
        with pytest.raises(ValueError, match="ascii=True is for PLY"):
            write_mesh(TETRAHEDRON, tmp_path / "a.stl", ascii=True)
        with pytest.raises(ValueError, match="STL has no colours"):
            write_mesh(TETRAHEDRON, tmp_path / "a.stl", colors=np.zeros((4, 3)))
        with pytest.raises(ValueError, match=r"colors must have shape \(4, 3\)"):
            write_mesh(TETRAHEDRON, tmp_path / "a.ply", colors=np.zeros((4, 4)))
        with pytest.raises(ValueError, match="colors must be uint8"):
            write_mesh(TETRAHEDRON, tmp_path / "a.ply", colors=np.zeros((4, 3), np.int32))
        with pytest.raises(ValueError, match="colors must lie between 0 and 1, got 0 to 255"):
            write_mesh(TETRAHEDRON, tmp_path / "a.ply", colors=np.array([[0.0, 255.0, 3.0]] * 4))
        with pytest.raises(ValueError, match="don't fit float32"):
            write_mesh(TETRAHEDRON.scaled(1e60), tmp_path / "a.glb")
        assert list(tmp_path.iterdir()) == []


class TestAnyFile:
    def test_missing(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no\.off does not exist$"):
            read_mesh(tmp_path / "no.off")

    def test_folder(self, tmp_path):
        with pytest.raises(ValueError, match="is a folder, not a mesh file"):
            read_mesh(tmp_path)

    @pytest.mark.parametrize("ending", ["off", "obj", "ply", "stl", "glb"])
    @pytest.mark.parametrize("content", [b"", b" \n\n"])
    def test_empty(self, refused, ending, content):
        assert refused(content, f"x.{ending}") == ": the file is empty"

    def test_unknown(self, refused):
        assert "neither the ending '.xyz' nor the contents" in refused("hello", "x.xyz")
        assert "neither the ending '' nor the contents" in refused("hello", "x")

    def test_blank_lines_do_not_take_long(self, refused):
        assert "neither the ending" in refused("\n \n" * 3000 + "hello", "x.xyz")

    def test_name(self, read):
        assert read(OFF).name == "x.off"
        assert read(OFF, name="body.off").name == "body.off"

    @pytest.mark.parametrize("source", ["off", "obj", "ply", "stl", "glb"])
    @pytest.mark.parametrize("ending", ["", ".dat", ".off", ".ply"])
    def test_contents_tell_where_the_ending_does_not(self, read, tmp_path, source, ending):
        write_mesh(TETRAHEDRON, tmp_path / f"a.{source}")
        data = (tmp_path / f"a.{source}").read_bytes()
        if ending == f".{source}":
            assert read(data, f"b{ending}").n_faces == 4
        elif ending in (".off", ".ply") and source in ("obj", "stl"):
            with pytest.raises(ValueError, match="begins with"):
                read(data, f"b{ending}")
        else:
            with pytest.warns(MeshWarning, match=f"read as {source.upper()} because of its contents"):
                assert read(data, f"b{ending}").n_faces == 4

    def test_name_of_caller_is_not_in_place_of_the_file(self, tmp_path):
        (tmp_path / "x.off").write_text(OFF.replace("3 0 2 1", "3 0 2 2"))
        with pytest.raises(ValueError, match=r"x\.off: face 0 \(line 7\) uses a vertex twice"):
            read_mesh(tmp_path / "x.off", name="somebody")

    def test_read_again_after_write_is_atomic(self, tmp_path):
        write_mesh(TETRAHEDRON, tmp_path / "x.ply")
        assert os.listdir(tmp_path) == ["x.ply"]

    def test_thousand_vertices_in_a_chain_of_warnings(self, read):
        with pytest.warns(MeshWarning, match=r"x\.off: 1 polygon with more than 3 corners was triangulated as a fan$"):
            mesh = read("OFF\n5 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n0 0 1\n4 0 1 2 3\n3 0 1 4\n")
        assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 1, 4]]

    def test_repair_on_request(self, is_tetrahedron, read):
        broken = OFF.replace("4 4 6", "5 7 0").replace("3 0 2 1", "9 9 9\n3 0 2 1") + "3 0 0 1\n3 1 2 0\n3 0 1 77\n"
        with pytest.warns(
            MeshWarning,
            match="repaired: 1 out-of-range face dropped, 1 degenerate face dropped, 1 duplicate face dropped, "
            "1 unreferenced vertex dropped",
        ):
            assert is_tetrahedron(read(broken, repair=True))

    def test_repair_says_nothing_when_there_is_nothing(self, is_tetrahedron, read):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert is_tetrahedron(read(OFF, repair=True))

    def test_repair_of_nothing_usable(self, refused):
        text = refused("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 0 1\n", repair=True)
        assert text == " has no usable face (1 degenerate face); there is nothing to repair"


class TestJudgement:
    """Defects that every format can have, said with their place."""

    def test_degenerate(self, refused):
        text = refused(OFF.replace("3 0 2 1", "3 0 2 2"))
        assert text == (
            ": face 0 (line 7) uses a vertex twice: [0, 2, 2] (1 such face); read_mesh(path, repair=True) removes them"
        )

    def test_duplicate(self, refused):
        assert ": face 3 (line 10) occurs twice: [3, 0, 1]" in refused(OFF.replace("3 2 0 3", "3 3 0 1"))

    def test_place_of_a_polygon_is_that_in_the_file(self, refused):
        text = "OFF\n5 3 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n0 0 1\n4 0 1 2 3\n3 0 1 4\n3 1 1 2\n"
        assert ": face 2 (line 10) uses a vertex twice" in refused(text)

    def test_out_of_range(self, refused):
        text = refused(OFF.replace("3 1 2 3", "3 1 2 4"))
        assert ": face 2 (line 9) uses vertex 4, the 4 vertices there are numbered 0 to 3" in text
        assert "face 2 (line 9) uses vertex -1" in refused(OFF.replace("3 1 2 3", "3 1 2 -1"))

    @pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400", "NaN", "Infinity"])
    def test_not_finite(self, refused, value):
        text = refused(OFF.replace("0 1 0\n", f"0 {value} 0\n"))
        assert ": vertex 2 (line 5) is [0.0, " in text
        assert "(1 vertex is not finite)" in text

    def test_too_large(self, refused):
        assert "overflow when squared" in refused(OFF.replace("0 1 0\n", "0 1e200 0\n"))

    def test_few_corners(self, refused):
        assert ": face 1 (line 8) has 2 corners; a face has at least 3" in refused(OFF.replace("3 0 1 3", "2 0 1"))
        assert ": face 1 (line 8) has 0 corners" in refused(OFF.replace("3 0 1 3", "0"))

    def test_no_vertices_no_faces(self, refused):
        assert refused("OFF 0 0 0\n") == " has no vertices"
        assert " has no faces; a point cloud is not a surface" in refused("OFF 1 0 0\n0 0 0\n")


def test_names_that_are_not_utf_8_can_be_shown(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/sc\xffan\n.off"))
    try:
        path.write_text("OFF 3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    assert read_mesh(path).name == r"sc\xffan\n.off"
    path.write_text("OFF 3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 9\n")
    for damaged in (path, path.with_name(path.name + "x"), path.parent / (path.stem + "\udcfe")):
        with pytest.raises((ValueError, FileNotFoundError)) as raised:
            read_mesh(damaged)
        assert str(raised.value).isprintable()
