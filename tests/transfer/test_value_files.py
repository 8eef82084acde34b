from __future__ import annotations

import json

import numpy as np
import pytest

from partwhole.transfer.value_files import read_values, write_values


def test_a_table_with_names_and_numbered_rows(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("vertex;segment;name;height\n0;3;arm;1.5\n1;4;leg;\n2;3;arm;-2\n")
    held = read_values(path, 3)
    assert {name: column.dtype.kind for name, column in held.columns.items()} == {
        "segment": "i",
        "name": "U",
        "height": "f",
    }
    write_values(path, held.with_columns({name: column[[1, 0]] for name, column in held.columns.items()}))
    assert path.read_text() == "vertex,segment,name,height\n0,4,leg,\n1,3,arm,1.5\n"


def test_a_table_without_names(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1,2.5\n3,4\n")
    held = read_values(path, 2)
    write_values(path, held)
    assert path.read_text() == "1,2.5\n3,4.0\n"


def test_an_array(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(6, dtype=np.float32).reshape(3, 2))
    held = read_values(path, 3)
    write_values(path, held)
    assert np.load(path).dtype == np.float32
    assert held.form == "array"


def test_labels_and_segments(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('["a", "b"]')
    write_values(path, read_values(path, 2).with_columns({"labels": np.array(["b"])}))
    assert json.loads(path.read_text()) == ["b"]
    path.write_text('{"hand": [2, 0], "foot": []}')
    held = read_values(path, 3)
    assert held.columns["hand"].tolist() == [True, False, True]
    write_values(path, held)
    assert json.loads(path.read_text()) == {"hand": [0, 2], "foot": []}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.csv", "1\n2\n3\n4\n5\n", "the table has 5 rows, the surface 3 vertices"),
        ("x.csv", "a,b\n1,2\n1\n2,3\n", "row 3 has 1 cell, the first 2"),
        ("x.csv", "a,a\n1,2\n1,2\n2,3\n", "two columns are called 'a'"),
        ("x.csv", "vertex,a\n1,2\n2,2\n3,3\n", "column 'vertex' must count the vertices from 0 to 2"),
        ("x.csv", "vertex\n0\n1\n2\n", "it has no column besides 'vertex'"),
        ("x.json", "[1, 2]", "must hold a list of 3 labels"),
        ("x.json", '[1, "a", 2]', "labels must be all text or all whole numbers"),
        ("x.json", '{"hand": [3]}', "'hand' must be a list of vertices, whole numbers from 0 to 2"),
        ("x.json", "[" * 100_000, "lists are nested too deep"),
        ("x.json", "[1,", "Expecting value"),
        ("x.txt", "1", "values are read from .csv, .npy, .json, not '.txt'"),
        ("x.npy", "", "the file is empty"),
    ],
)
def test_what_is_refused(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=said) as caught:
        read_values(tmp_path / name, 3)
    assert name in str(caught.value)


def test_arrays_that_do_not_fit_and_files_that_are_not_there(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(4))
    with pytest.raises(ValueError, match=r"the array has shape \(4,\), the surface 3 vertices"):
        read_values(tmp_path / "x.npy", 3)
    np.save(tmp_path / "x.npy", np.zeros(3, complex))
    with pytest.raises(ValueError, match="it is not an array of numbers"):
        read_values(tmp_path / "x.npy", 3)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_values(tmp_path / "y.npy", 3)
