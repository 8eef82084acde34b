"""Landmarks in files: what is written is read, points snap to vertices, and wrong files are refused in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partwhole.datasets import sphere
from partwhole.mesh import LandmarkPair, Mesh, read_landmark_pairs, read_landmarks, write_landmarks
from partwhole.mesh.landmarks import ENDINGS, checked_landmarks, write_landmark_pairs

BALL = sphere(200)
# away from the origin, so that reversed axes are somewhere else
SCAN = Mesh(BALL.vertices + np.array([5, 3, 0]), BALL.faces, name="scan.ply")


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_is_read(ending: str, tmp_path: Path) -> None:
    write_landmarks(tmp_path / f"a{ending}", SCAN, np.array([3, 150, 7]), ["nose", "left ear, tip", "ü <&"])
    found = read_landmarks(tmp_path / f"a{ending}", SCAN)
    assert found.vertices.tolist() == [3, 150, 7]
    assert found.labels == ("nose", "left ear, tip", "ü <&")
    assert found.notes == ()
    assert len(found) == 3
    np.testing.assert_allclose(found.away, 0, atol=1e-12)
    write_landmarks(tmp_path / f"b{ending}", SCAN, [9])
    assert read_landmarks(tmp_path / f"b{ending}", SCAN).labels == ("1",)


@pytest.mark.parametrize(
    "text",
    [
        "vertex\n5\n9\n",
        "Label;Vertex\na;5\nb;9\n",
        "label,l,p,s,defined\na,{0[0]},{0[1]},{0[2]},1\nb,{1[0]},{1[1]},{1[2]},1\n",
        "# made by hand\n{0[0]},{0[1]},{0[2]}\n{1[0]},{1[1]},{1[2]}\n",
        "a\t{0[0]}\t{0[1]}\t{0[2]}\nb\t{1[0]}\t{1[1]}\t{1[2]}\n",
        "{0[0]},{0[1]},{0[2]},a\n{1[0]},{1[1]},{1[2]},b\n",
    ],
)
def test_tables_of_one_surface(text: str, tmp_path: Path) -> None:
    path = file(tmp_path, "a.csv", text.format(*SCAN.vertices[[5, 9]].tolist()))
    found = read_landmarks(path, SCAN)
    assert found.vertices.tolist() == [5, 9]
    assert found.labels in (("", ""), ("a", "b"))


def test_pairs_of_both_surfaces_in_one_table(tmp_path: Path) -> None:
    expected = (LandmarkPair(5, 3), LandmarkPair(9, 4))
    for text in ("part,whole\n5,3\n9,4\n", "5,3\n9,4\n", "template,scan\n3,5\n4,9\n"):
        assert read_landmark_pairs(file(tmp_path, "a.csv", text), SCAN, BALL) == (expected, ())
    one, other = SCAN.vertices[5], BALL.vertices[3]
    cells = ",".join(map(str, [*one.tolist(), *other.tolist()]))
    head = "scan_x,scan_y,scan_z,template_x,template_y,template_z,name"
    path = file(tmp_path, "b.csv", f"{head}\n{cells},nose\n")
    pairs, _ = read_landmark_pairs(path, SCAN, BALL)
    assert pairs == (LandmarkPair(5, 3, "nose"),)
    write_landmark_pairs(tmp_path / "c.csv", pairs)
    assert read_landmark_pairs([tmp_path / "c.csv"], SCAN, BALL)[0] == pairs


def test_pairs_in_two_files_belong_together_by_label(tmp_path: Path) -> None:
    write_landmarks(tmp_path / "scan.mrk.json", SCAN, [1, 2, 3], ["a", "b", "c"])
    write_landmarks(tmp_path / "template.pp", BALL, [30, 10, 40], ["c", "a", "d"])
    pairs, notes = read_landmark_pairs([tmp_path / "scan.mrk.json", tmp_path / "template.pp"], SCAN, BALL)
    assert pairs == (LandmarkPair(1, 10, "a"), LandmarkPair(3, 30, "c"))
    assert [note.split(": ")[1] for note in notes] == [
        "landmark 'b' is not in the other file, and was left out",
        "landmark 'd' is not in the other file, and was left out",
    ]
    without = [file(tmp_path, name, "vertex\n7\n8\n") for name in ("a.csv", "b.csv")]
    assert read_landmark_pairs(without, SCAN, BALL)[0] == (LandmarkPair(7, 7), LandmarkPair(8, 8))


def test_points_snap_to_vertices_and_far_ones_are_told(tmp_path: Path) -> None:
    loose = Mesh(np.concatenate([SCAN.vertices, [[9.0, 9, 9]]]), SCAN.faces, name="scan.ply")
    path = file(tmp_path, "a.csv", "label,x,y,z\nnear,5,3,1.01\nfar,9,9,9\n")
    found = read_landmarks(path, loose)
    # a vertex without faces is no place
    assert found.vertices.max() < 200
    (note,) = found.notes
    assert "landmark 'far' lies" in note
    assert "√area from the nearest vertex of scan.ply" in note
    assert found.away[1] == pytest.approx(np.linalg.norm(SCAN.vertices - 9, axis=1).min() / SCAN.area**0.5)


def test_axes_of_slicer_are_reversed_where_that_is_meant(tmp_path: Path) -> None:
    turned = Mesh(SCAN.vertices * [-1, -1, 1], SCAN.faces)
    write_landmarks(tmp_path / "a.mrk.json", turned, [4, 8])
    found = read_landmarks(tmp_path / "a.mrk.json", SCAN)
    assert found.vertices.tolist() == [4, 8]
    assert "reversed (RAS and LPS)" in found.notes[0]


def test_points_that_count_for_nothing_are_left_out_and_told(tmp_path: Path) -> None:
    x, y, z = SCAN.vertices[4].tolist()
    points = f'<point x="{x}" y="{y}" z="{z}" active="{{}}" name="{{}}"/>'
    text = f"<!DOCTYPE PickedPoints><PickedPoints>{points.format(1, 'a')}{points.format(0, 'b')}</PickedPoints>"
    found = read_landmarks(file(tmp_path, "a.pp", text), SCAN)
    assert found.labels == ("a",)
    assert found.notes[0].endswith("1 point not active, left out")
    text = (
        '{"markups": [{"controlPoints": [{"label": "a", "position": [5, 3, 1]}, '
        '{"label": "b", "position": [0, 0, 0], "positionStatus": "undefined"}]}]}'
    )
    found = read_landmarks(file(tmp_path, "a.mrk.json", text), SCAN)
    assert found.labels == ("a",)
    assert found.notes[0].endswith("1 point not defined, left out")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.txt", "1,2", "landmarks are in a .csv, .mrk.json, .pp file"),
        ("a.csv", "", "has no landmarks"),
        ("a.csv", "vertex\n", "has no landmarks"),
        ("a.csv", "vertex\n200\n", "landmark 1: vertex 200 of scan.ply, which has the vertices 0 to 199"),
        ("a.csv", "vertex\n1.5\n", "row 2: '1.5' is not the number of a vertex"),
        ("a.csv", "x,y,z\n1,2,nan\n", "row 2: 'nan' is not a number"),
        ("a.csv", "a,b\nc,d\n", "it has the columns a, b; it should have vertex, or x, y, z"),
        ("a.csv", "1,2\n", "row 1: '1, 2' should be x, y, z"),
        ("a.csv", '"' + "a" * 200_000, "it is not a table"),
        ("a.mrk.json", "{}", "it is not a file of markups of 3D Slicer"),
        ("a.mrk.json", '{"markups": [{"controlPoints": [{"position": [1, 2]}]}]}', "it is not a file of markups"),
        ("a.mrk.json", '{"markups": [{"controlPoints": [{"label": "a", "position": [1, 2, NaN]}]}]}', "is not a point"),
        ("a.pp", "<PickedPoints>", "it is not a file of picked points of MeshLab"),
        ("a.pp", '<PickedPoints><point x="1"/></PickedPoints>', "it is not a file of picked points of MeshLab"),
        ("a.pp", "<!DOCTYPE a [<!ENTITY b 'c'>]><PickedPoints/>", "it defines entities"),
    ],
)
def test_wrong_files_are_refused_in_one_line(name: str, text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError) as refused:
        read_landmarks(file(tmp_path, name, text), SCAN)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_wrong_pairs_are_refused(tmp_path: Path) -> None:
    one = file(tmp_path, "one.csv", "label,vertex\na,1\na,2\n")
    two = file(tmp_path, "two.csv", "label,vertex\na,1\n")
    other = file(tmp_path, "other.csv", "label,vertex\nb,1\n")
    long, short = file(tmp_path, "long.csv", "vertex\n1\n2\n"), file(tmp_path, "short.csv", "vertex\n1\n")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\xfa")
    markups = tmp_path / "a.mrk.json"
    write_landmarks(markups, SCAN, [1])
    for paths, told in (
        ([one, two], "the label 'a' occurs twice"),
        ([two, other], "no label of"),
        ([long, short], "2 landmarks and"),
        ([markups], "holds landmarks of one surface; give two files"),
        ([], "got 0"),
        ([tmp_path / "bytes.csv"], "is not a text file"),
        ([tmp_path / "bytes.csv", two], "is not a text file"),
        ([file(tmp_path, "empty.csv", "part,whole\n")], "has no landmarks"),
        ([file(tmp_path, "wrong.csv", "part,b\n1,2\n")], "it should have whole"),
        ([file(tmp_path, "range.csv", "part,whole,label\n1,200,nose\n")], "landmark 'nose': vertex 200 of sphere"),
    ):
        with pytest.raises(ValueError, match=told):
            read_landmark_pairs(paths, SCAN, BALL)
    with pytest.raises(FileNotFoundError, match="file not found"):
        read_landmarks(tmp_path / "nothing.csv", SCAN)
    with pytest.raises(ValueError, match="pairs of landmarks are written as"):
        write_landmark_pairs(tmp_path / "a.pp", [])
    with pytest.raises(ValueError, match="labels has 1 entries for 2 vertices"):
        write_landmarks(tmp_path / "a.pp", SCAN, [1, 2], ["a"])


def test_pairs_of_a_caller_are_checked() -> None:
    assert checked_landmarks(None, SCAN, BALL) == ()
    assert checked_landmarks(np.array([[3, 4]]), SCAN, BALL) == (LandmarkPair(3, 4),)
    assert checked_landmarks([(3, np.int64(4), "nose"), LandmarkPair(1, 2)], SCAN, BALL)[0].label == "nose"
    for given, told in (
        ("points", "landmarks must be a list of"),
        ([3, 4], "got 3 as landmarks"),
        ([(1, 2, "a", 4)], "as landmarks"),
        ([(1, 2.5)], "a vertex must be a whole number, got 2.5"),
        ([(1, True)], "a vertex must be a whole number, got True"),
        ([(1, 2), (-1, 2)], r"landmarks\[1\]: vertex -1 of scan.ply, which has the vertices 0 to 199"),
    ):
        with pytest.raises(ValueError, match=told):
            checked_landmarks(given, SCAN, BALL)


@pytest.mark.parametrize(("away", "notes"), [(0.04, 0), (0.06, 1)])
def test_a_point_is_far_from_a_twentieth_of_the_size(tmp_path: Path, away: float, notes: int) -> None:
    ball = sphere(300)
    top = int(ball.vertices[:, 2].argmax())
    x, y, z = ball.vertices[top] * (1 + away * ball.area**0.5)
    found = read_landmarks(file(tmp_path, "a.csv", f"x,y,z\n{x},{y},{z}\n"), ball)
    assert found.vertices.tolist() == [top]
    assert found.away[0] == pytest.approx(away, rel=1e-6)
    assert len(found.notes) == notes
