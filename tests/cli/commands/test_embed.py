"""`partwhole embed`, from the file to the picture."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import matplotlib.image as image
import numpy as np
import pytest

from partwhole.cli.commands import embed as command
from partwhole.cli.commands.embed import read_boundary, read_points
from partwhole.cli.main import main
from partwhole.cli.shared.options import MapMethod
from partwhole.datasets import sphere, swiss_roll
from partwhole.embedding import TCIE, WHCIE
from partwhole.embedding.methods.baselines import METHODS
from partwhole.embedding.methods.quality import procrustes_error
from partwhole.mesh import Mesh
from partwhole.mesh.io import write_mesh

ROLL = swiss_roll(600, variant="hole", width=20.0, seed=1)


@pytest.fixture
def points(tmp_path: Path) -> Path:
    path = tmp_path / "roll.csv"
    np.savetxt(path, ROLL.points, delimiter=",", header="x,y,z", comments="", fmt="%.17g")
    return path


def run_json(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    assert main(["embed", *map(str, words), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def test_the_methods_are_those_of_the_library() -> None:
    assert get_args(MapMethod) == tuple(method.name for method in METHODS)


def test_it_writes_coordinates_a_picture_and_a_summary(
    points: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["embed", str(points), "--neighbors", "10"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert f"WHCIE: {len(ROLL.points)} points in 3 dimensions, mapped to 2" in out
    assert "% of all pairs are guaranteed" in out
    folder = tmp_path / "roll-map"
    assert sorted(p.name for p in folder.iterdir()) == ["coordinates.csv", "coordinates.npy", "map.png", "summary.json"]
    places = np.load(folder / "coordinates.npy")
    np.testing.assert_allclose(places, WHCIE(n_neighbors=10).fit_transform(ROLL.points), atol=1e-6)
    assert procrustes_error(places, ROLL.flat) < 0.06
    assert (folder / "coordinates.csv").read_text().splitlines()[0] == "x1,x2"
    np.testing.assert_allclose(np.loadtxt(folder / "coordinates.csv", delimiter=",", skiprows=1), places, rtol=1e-6)
    assert image.imread(folder / "map.png").shape[2] == 4
    summary = json.loads((folder / "summary.json").read_text())
    assert 0 < summary["guaranteed"] < 1
    assert 0 < summary["stress"] < 0.1
    assert summary["boundary_points"] > 20
    assert summary["falloff"] == 5


def test_boundaries_from_a_file(points: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "rim.npy", ROLL.boundary)
    knobs = [points, "--neighbors", 10, "--no-figure", "--output", tmp_path / "out"]
    told = run_json(capsys, *knobs, "--method", "tcie", "--boundary", tmp_path / "rim.npy")
    assert told["boundary_points"] == ROLL.boundary.sum()
    assert not (tmp_path / "out/map.png").exists()
    expected = TCIE(n_neighbors=10, boundary=ROLL.boundary).fit_transform(ROLL.points)
    np.testing.assert_allclose(np.load(tmp_path / "out/coordinates.npy"), expected, atol=1e-6)
    told = run_json(capsys, *knobs, "--boundary", "none")
    assert told["boundary_points"] == 0
    assert told["guaranteed"] == 1


def test_other_methods_and_dimensions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "roll.npy", ROLL.points.astype(np.float32))
    told = run_json(capsys, tmp_path / "roll.npy", "--method", "pca", "--components", 3, "--output", tmp_path / "out")
    assert "guaranteed" not in told
    assert told["notes"] == []
    assert np.load(tmp_path / "out/coordinates.npy").shape == (len(ROLL.points), 3)
    assert (
        main(["embed", str(tmp_path / "roll.npy"), "--method", "pca", "--boundary", "none", "-o", str(tmp_path)]) == 0
    )
    out, err = capsys.readouterr()
    assert err == "note: --boundary has no effect on PCA\n"
    assert "PCA: 502 points" in out


def test_a_mesh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ball = sphere(300)
    cap, _ = ball.submesh(ball.vertices[:, 2] < 0.5)
    write_mesh(cap, tmp_path / "cap.ply")
    told = run_json(capsys, tmp_path / "cap.ply", "--output", tmp_path / "out")
    assert told["boundary_points"] == len(cap.boundary_vertices)
    assert told["points"] == cap.n_vertices
    assert told["falloff"] == 0
    falling = run_json(capsys, tmp_path / "cap.ply", "--falloff", 2, "--output", tmp_path / "out")
    assert falling["falloff"] == 2


def test_quiet(points: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["embed", str(points), "--method", "pca", "--quiet", "-o", str(tmp_path / "out")]) == 0
    assert capsys.readouterr() == ("", "")


def test_bad_files(tmp_path: Path, one_error: Callable[..., str]) -> None:
    assert "is a folder" in one_error("embed", tmp_path)
    assert "No such file" in one_error("embed", tmp_path / "none.csv")
    assert "does not exist" in one_error("embed", tmp_path / "none.ply")
    (tmp_path / "a.csv").write_text("1,2\n3,nan\n")
    assert "point 1 (counted from 0) has a coordinate that is NaN" in one_error("embed", tmp_path / "a.csv")
    np.save(tmp_path / "a.npy", np.zeros((4, 3, 2)))
    assert "got an array of shape (4, 3, 2)" in one_error("embed", tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.random.default_rng(0).random((12, 3)))
    assert "12 points, too few for 15 neighbours: give --neighbors less than 12" in one_error(
        "embed", tmp_path / "a.npy"
    )
    (tmp_path / "one.csv").write_text("1,2,3\n")
    assert "holds 1 point; a map needs at least 3" in one_error("embed", tmp_path / "one.csv")
    assert "--components must be less than the number of points, 12" in one_error(
        "embed", tmp_path / "a.npy", "--neighbors", 5, "--components", 12
    )
    assert "No such file" in one_error("embed", tmp_path / "a.npy", "--neighbors", 5, "--boundary", tmp_path / "no.txt")


def test_meshes_with_defects_are_told_the_remedy(tmp_path: Path, one_error: Callable[..., str]) -> None:
    (tmp_path / "bad.off").write_text("OFF 4 2 0\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n3 0 1 2\n3 1 1 2\n")
    assert "--repair" in one_error("embed", tmp_path / "bad.off")


@pytest.mark.parametrize("method", ["whcie", "tcie", "mds"])
def test_points_in_several_components(method: str, tmp_path: Path, one_error: Callable[..., str]) -> None:
    near = np.random.default_rng(0).random((90, 3))
    np.save(tmp_path / "two.npy", np.concatenate([near, near + 100]))
    told = one_error("embed", tmp_path / "two.npy", "--neighbors", 6, "--method", method, "-o", tmp_path / "out")
    assert "2 components of 90, 90 points" in told
    assert "use more than 6 neighbours" in told


def test_a_mesh_in_several_components(tmp_path: Path, one_error: Callable[..., str]) -> None:
    ball = sphere(100)
    n = ball.n_vertices
    two = Mesh(np.concatenate([ball.vertices, ball.vertices + 5]), np.concatenate([ball.faces, ball.faces + n]))
    write_mesh(two, tmp_path / "two.off")
    assert "has 2 components" in one_error("embed", tmp_path / "two.off")


def test_methods_that_fail(points: Path, tmp_path: Path, one_error: Callable[..., str]) -> None:
    words = ("embed", points, "--method", "hessian-lle", "--neighbors", 4, "-o", tmp_path / "out")
    assert one_error(*words).startswith("Hessian LLE: ")


def test_too_many_points(points: Path, monkeypatch: pytest.MonkeyPatch, one_error: Callable[..., str]) -> None:
    monkeypatch.setattr(command, "free_memory", lambda: 1 << 20)
    assert "take a sample of the points" in one_error("embed", points)


# --- files of points, good and bad

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
        ("1,2\nthree,4\n", "line 2 is not a row of numbers: 'three,4'"),
        ("a,b\nc,d\n1,2\n", "line 2 is not a row of numbers"),
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
    with pytest.raises(ValueError, match="is not a text file"):
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
    with pytest.raises(ValueError, match=r"is not a complete \.npy file"):
        read_points(path)
    with path.open("wb") as file:  # more numbers than any memory holds
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**10, 1000)})
    with pytest.raises(ValueError, match=r"is not a complete \.npy file"):
        read_points(path)
    np.savez(tmp_path / "several.npz", a=POINTS)
    (tmp_path / "several.npz").rename(path)
    with pytest.raises(ValueError, match="holds several arrays"):
        read_points(path)


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "bad.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"is not a complete \.npy file of numbers"):
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
