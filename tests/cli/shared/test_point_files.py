"""Files of points, good and bad."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partwhole.cli.shared.point_files import read_boundary, read_points

POINTS = np.array([[0.0, 1.5, -2e-3], [1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "0,1.5,-2e-3\n1,2,3\n4,5,6\n"),
        ("names.csv", "x,y,z\n0,1.5,-2e-3\n1,2,3\n4,5,6"),
        ("marked.csv", "\ufeffx;y;z\r\n0;1.5;-2e-3\r\n1;2;3\r\n4;5;6\r\n"),
        ("a.tsv", "0\t1.5\t-2e-3\n1\t2\t3\n4\t5\t6\n"),
        ("a.xyz", "# three points\n0 1.5  -2e-3\n\n1 2 3\n 4 5 6\n"),
    ],
)
def test_rows_of_text(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    np.testing.assert_array_equal(read_points(tmp_path / name), POINTS)


def test_a_column_that_counts_the_rows_is_left_out_and_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(",x,y,z\n0,0,1.5,-2e-3\n1,1,2,3\n2,4,5,6\n")
    with pytest.warns(UserWarning, match="first column has no name and counts the rows"):
        np.testing.assert_array_equal(read_points(path), POINTS)
    path.write_text(",y,z\n0,1.5,-2e-3\n1,2,3\n4,5,6\n")  # no name, but no numbering either
    np.testing.assert_array_equal(read_points(path), POINTS)


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.float64])
def test_arrays(dtype: type, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", POINTS.astype(dtype))
    np.testing.assert_array_equal(read_points(tmp_path / "a.npy"), POINTS.astype(dtype).astype(float))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no numbers"),
        ("x,y\n", "holds no numbers"),
        ("1,2\n3,4,5\n", "line 2 has 3 numbers, those before have 2"),
        ("1,2\nthree,4\n", "line 2 is no row of numbers: 'three,4'"),
        ("a,b\nc,d\n1,2\n", "line 2 is no row of numbers"),
        ("1,2\n3,\n5,6\n", "point 1 .* NaN or infinite; remove"),
        ("nan,2\n3,inf\n5,6\n", "point 0 .* and so have 1 others"),
    ],
)
def test_text_that_holds_no_points(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"bad\.csv.*{message}"):
        read_points(path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(ValueError, match="is no text"):
        read_points(path)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(4), r"got an array of shape \(4,\)"),
        (np.zeros((2, 3, 4)), r"shape \(2, 3, 4\)"),
        (np.array([["a", "b"]]), "real numbers"),
        (np.zeros((2, 2), complex), "real numbers"),
    ],
)
def test_arrays_that_hold_no_points(array: np.ndarray, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "bad.npy", array)
    with pytest.raises(ValueError, match=message):
        read_points(tmp_path / "bad.npy")


def test_files_that_are_no_arrays(tmp_path: Path) -> None:
    path = tmp_path / "bad.npy"
    path.write_bytes(b"not numpy")
    with pytest.raises(ValueError, match=r"is no whole \.npy file"):
        read_points(path)
    with path.open("wb") as file:  # more numbers than any memory holds
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**10, 1000)})
    with pytest.raises(ValueError, match=r"is no whole \.npy file"):
        read_points(path)
    np.savez(tmp_path / "several.npz", a=POINTS)
    (tmp_path / "several.npz").rename(path)
    with pytest.raises(ValueError, match="holds several arrays"):
        read_points(path)


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "bad.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="plain numbers"):
        read_points(tmp_path / "bad.npy")


def test_boundaries(tmp_path: Path) -> None:
    path, array = tmp_path / "rim.txt", tmp_path / "rim.npy"
    path.write_text("3\n0\n")
    assert read_boundary(path, 5).tolist() == [3, 0]
    path.write_text("1\n0\n0\n1\n0\n")
    assert read_boundary(path, 5).tolist() == [True, False, False, True, False]
    np.save(array, np.array([False, True]))
    assert read_boundary(array, 2).tolist() == [False, True]
    np.save(array, np.array([4, 2]))
    assert read_boundary(array, 5).tolist() == [4, 2]


@pytest.mark.parametrize(
    ("held", "message"),
    [
        (np.array([True, False]), "a mask of 2 points, but there are 5"),
        (np.array([0.5, 1.0]), "should hold numbers of points"),
        (np.array([0, 5]), "points 0 to 5, but they are numbered 0 to 4"),
        (np.array([-1, 2]), "points -1 to 2"),
    ],
)
def test_boundaries_that_are_none(held: np.ndarray, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "rim.npy", held)
    with pytest.raises(ValueError, match=message):
        read_boundary(tmp_path / "rim.npy", 5)
