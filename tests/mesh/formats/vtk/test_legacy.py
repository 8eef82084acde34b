"""Legacy VTK files: both layouts of cells, text and binary, and what each defect is answered with."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.mesh.formats.common import MeshWarning

HEAD = "# vtk DataFile Version {}\ntetrahedron\n{}\nDATASET {}\n"
POINTS = "POINTS 4 float\n0 0 0 1 0 0 0 1\n0 0 0 1\n"
EMPTY = HEAD.format("3.0", "ASCII", "POLYDATA")
BEFORE_5 = EMPTY + POINTS
NEW = HEAD.format("5.1", "ASCII", "POLYDATA") + POINTS
POLYGONS = "POLYGONS 4 16\n3 0 2 1\n3 0 1 3\n3 1 2 3\n3 2 0 3\n"
NOT_ASKED_FOR = "POINT_DATA 4\nSCALARS s float 1\nLOOKUP_TABLE default\n1 2 3 4\n"
SINCE_5 = "POLYGONS 5 12\nOFFSETS vtktypeint64\n0 3 6 9 12\nCONNECTIVITY vtktypeint64\n0 2 1 0 1 3 1 2 3 2 0 3\n"
GRID = HEAD.format("4.2", "ASCII", "UNSTRUCTURED_GRID") + POINTS
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def binary(version: str) -> bytes:
    """As other programs write it: big-endian, a line for each keyword."""
    points = b"POINTS 4 double\n" + CORNERS.astype(">f8").tobytes() + b"\n"
    if version < "5":
        cells = b"POLYGONS 4 16\n" + np.c_[np.full(4, 3), FACES].astype(">i4").tobytes() + b"\n"
    else:
        cells = (
            b"METADATA\nINFORMATION 0\n\nPOLYGONS 5 12\nOFFSETS vtktypeint64\n"
            + np.arange(0, 13, 3).astype(">i8").tobytes()
        )
        cells += b"\nCONNECTIVITY vtktypeint64\n" + FACES.astype(">i8").tobytes() + b"\n"
    # what comes before the surface may be binary, too
    field = b"FIELD FieldData 1\nx 1 1 double\n" + np.full(1, 0.1, ">f8").tobytes() + b"\n"
    return (
        HEAD.format(version, "BINARY", "POLYDATA").encode() + field + points + cells + b"POINT_DATA 4\n" + b"\xff" * 9
    )


@pytest.mark.parametrize(
    "content",
    [
        BEFORE_5 + POLYGONS,
        BEFORE_5 + POLYGONS + NOT_ASKED_FOR,
        (BEFORE_5 + POLYGONS).replace("\n", "\r\n"),
        BEFORE_5.replace("ASCII", "ascii") + "METADATA\nINFORMATION 0\n\n" + POLYGONS,
        HEAD.format("5.1", "ASCII", "POLYDATA") + "FIELD FieldData 1\nx 1 1 double\n3\n" + POINTS + SINCE_5,
        GRID + POLYGONS.replace("POLYGONS", "CELLS") + "CELL_TYPES 4\n5\n5\n7\n5\n",
        binary("3.0"),
        binary("5.1"),
    ],
    ids=range(8),
)
def test_layouts(read, is_tetrahedron, content):
    assert is_tetrahedron(read(content, "x.vtk"))


def test_the_contents_tell_what_it_is(read, is_tetrahedron):
    with pytest.warns(MeshWarning, match=r"read as VTK because of its contents, although its ending is '\.ply'"):
        assert is_tetrahedron(read(BEFORE_5 + POLYGONS, "x.ply"))


def test_strips_become_triangles_that_face_one_way(read):
    mesh = read(BEFORE_5 + "TRIANGLE_STRIPS 1 5\n4 0 1 2 3\n", "x.vtk")
    assert mesh.faces.tolist() == [[0, 1, 2], [2, 1, 3]]


def test_what_is_no_surface_is_left_out_and_told(read):
    with pytest.warns(MeshWarning, match=r"2 cells of points or lines left out$"):
        mesh = read(BEFORE_5 + "VERTICES 1 2\n1 0\nLINES 1 3\n2 0 1\n" + POLYGONS, "x.vtk")
    assert mesh.faces.tolist() == FACES.tolist()


def test_cells_of_a_grid(read):
    with pytest.warns(MeshWarning) as caught:
        mesh = read(
            GRID + "CELLS 3 13\n4 0 1 2 3\n4 0 1 2 3\n2 0 1\n" + "CELL_TYPES 3\n8\n9\n3\n",
            "x.vtk",
            repair=True,
        )
    # corners of a pixel come row by row, those of a quad go round
    assert "2 polygons with more than 3 corners were triangulated" in str(caught[1].message)
    assert {(0, 1, 3), (0, 3, 2)} <= {tuple(face) for face in mesh.faces.tolist()}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("# vtk DataFile Version 3.0\nx\nASCI\n", ": line 1: a legacy VTK file begins with its version"),
        (HEAD.format("3.0", "ASCII", "STRUCTURED_POINTS"), ": line 4: 'DATASET STRUCTURED_POINTS' is not a surface"),
        (EMPTY + "CELL 3\n", ": line 5: 'CELL' is not a section of a surface"),
        (EMPTY + POLYGONS, ": the file has no POINTS"),
        (EMPTY + "POINTS\n", ": line 5: the number of points is missing"),
        (EMPTY + "POINTS x float\n", ": line 5: the number of points is 'x', not a count"),
        (EMPTY + "POINTS 4 quad\n", ": line 5: 'quad' is not a type of numbers"),
        (EMPTY + "POINTS 4\n", ": line 5: nothing is not a type of numbers"),
        (BEFORE_5.replace("\n0 0 0 1\n", "\n0 0 0\n"), ": line 5: 12 numbers should follow, there are 11"),
        (BEFORE_5.replace("\n0 0 0 1\n", "\n0 0 0 x\n"), ": line 7: 'x' is not a number"),
        (BEFORE_5 + POLYGONS.replace("4 16", "5 16"), ": line 12: there are 4 cells, the file says 5"),
        (BEFORE_5 + "POLYGONS 1 4\n4 0 1 2\n", ": entry 0 of the faces is 4, but 3 corners follow"),
        (BEFORE_5 + "POLYGONS 2 5\n1 0 2 1 2\n", ": face 0 (cell 0) has 1 corner; a face has at least 3"),
        (NEW + SINCE_5.replace("OFFSETS", "X"), ": line 9: OFFSETS is missing"),
        (NEW + SINCE_5.replace("\n0 3 6", "\n1 3 6"), ": the first cell begins at 1"),
        (NEW + SINCE_5.replace("0 3 6 9", "0 3 9 6"), ": the offsets of the cells do"),
        (NEW + SINCE_5.replace("vtktypeint64", "float"), ": line 9: 'float' is not a type"),
        (GRID + "CELLS 1 5\n4 0 1 2 3\n", ": there are 1 CELLS and 0 CELL_TYPES"),
        (GRID + "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n", ": the file holds tetrahedra; write its surface"),
        (GRID + "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n99\n", ": the file holds cells of VTK's type 99; write its surface"),
        (GRID + "CELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n8\n", ": the file holds pixels without 4 corners"),
        (BEFORE_5 + "POLYGONS 1 4\n3 0 1 4\n", ": face 0 (cell 0) uses vertex 4, the 4 vertices there are numbered 0 to 3"),
        (BEFORE_5.replace("1 0 0 0 1", "nan 0 0 0 1") + POLYGONS, ": vertex 1 (point 1) is [nan, 0.0, 0.0]"),
        (binary("3.0")[:200], ": byte"),
    ],
)  # fmt: skip
def test_defects(refused, content, said):
    assert refused(content, "x.vtk").startswith(said)


def test_damage_anywhere_is_read_or_refused(survives):
    for version in ("3.0", "5.1"):
        survives(binary(version), "x.vtk")
    survives((BEFORE_5 + POLYGONS).encode(), "x.vtk")
