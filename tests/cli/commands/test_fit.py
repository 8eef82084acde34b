"""`partwhole fit`: from files to a folder with the fitted template."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from partwhole.cli.main import main
from partwhole.cli.shared.fit_output import WRITES
from partwhole.mesh import Mesh, read_mesh, write_mesh


def run(*words: object) -> int:
    return main([*map(str, words)])


def test_a_template_is_fitted(own_set: Path, runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    scan, template, out = own_set / "parts/part0.ply", own_set / "wholes/ball.ply", tmp_path / "out"
    words = ("fit", scan, template, "--model", runs[0], "--yaw-steps", 2, "--hold", "rest")
    assert run(*words, "--output", out, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert {file.name for file in out.iterdir()} == {*WRITES} - {"report.html"}
    assert np.array_equal(read_mesh(out / "fitted.ply").faces, read_mesh(template).faces)
    assert summary["vertices"] == read_mesh(template).n_vertices
    assert any("--hold rest" in text for text in summary["notes"])
    assert "fitted to" in (out / "summary.md").read_text()
    # what is known of the template is carried to the scan, by the places inside triangles of the fitted template
    np.save(tmp_path / "heights.npy", read_mesh(template).vertices[:, 1])
    assert run("transfer", out, tmp_path / "heights.npy", "--output", tmp_path / "carried", "--json") == 0
    assert len(np.load(tmp_path / "carried" / "heights.npy")) == read_mesh(scan).n_vertices
    assert 0 < json.loads(capsys.readouterr().out)["files"][0]["covered"] <= 1
    # once more without a picture: the old one does not stay; but with the page
    assert run(*words, "--report", out, "--no-picture") == 0
    assert {file.name for file in out.iterdir()} == {*WRITES} - {"fit.png"}
    assert 'id="scene"' in (out / "report.html").read_text()
    assert "seen" in capsys.readouterr().out


def test_what_is_read_is_not_overwritten(own_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    scan = tmp_path / "fitted.ply"
    scan.write_bytes((own_set / "parts/part0.ply").read_bytes())
    assert run("fit", scan, own_set / "wholes/ball.ply", "--output", tmp_path) == 2
    assert "would overwrite" in capsys.readouterr().err


def test_a_file_that_is_not_there(own_set: Path, capsys: pytest.CaptureFixture) -> None:
    assert run("fit", own_set / "parts/part9.ply", own_set / "wholes/ball.ply") == 2
    assert "file not found" in capsys.readouterr().err


def written_off(path: Path, vertices: np.ndarray, faces: np.ndarray) -> Path:
    """Also what `write_mesh` refuses."""
    rows = [f"{len(vertices)} {len(faces)} 0", *(" ".join(map(str, v)) for v in vertices)]
    path.write_text("\n".join(["OFF", *rows, *("3 " + " ".join(map(str, f)) for f in faces)]) + "\n")
    return path


def damaged(kind: str, folder: Path, scan: Mesh, template: Mesh) -> Path:
    vertices, faces = np.array(scan.vertices), np.array(scan.faces)
    if kind == "nan":
        vertices[5] = np.nan
    elif kind == "points":
        faces = np.empty((0, 3), np.int64)
    elif kind == "inside out":
        vertices = vertices * [-1, 1, 1]
    elif kind == "two pieces":
        vertices, faces = np.concatenate([vertices, vertices + 9]), np.concatenate([faces, faces + len(vertices)])
    elif kind == "millimetres":
        vertices = 1000 * vertices
    elif kind == "the template":
        vertices, faces = template.vertices, template.faces
    elif kind == "larger":
        vertices, faces = 1.5 * template.vertices, template.faces
    return written_off(folder / "scan.off", vertices, faces)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("nan", "1 vertex is not finite"),
        ("points", "is a point cloud, and was triangulated"),
        ("inside out", "the part was inside out"),
        ("two pieces", "the part has 2 pieces"),
        ("millimetres", "as from mm to m"),
        ("the template", "the same surface"),
        ("larger", "times the area of the whole"),
    ],
)
def test_scans_that_are_not_as_they_should_be(
    kind: str, said: str, own_set: Path, runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    template = own_set / "wholes/ball.ply"
    scan = damaged(kind, tmp_path, read_mesh(own_set / "parts/part0.ply"), read_mesh(template))
    words = ("fit", scan, template, "--model", runs[0], "--yaw-steps", 2, "--no-picture", "--json")
    assert run(*words, "--output", tmp_path / "out") == 0
    told = json.loads(capsys.readouterr().out)
    assert any(said in text for text in [*told["notes"], *told["warnings"]])
    assert np.isfinite(read_mesh(tmp_path / "out/fitted.ply").vertices).all()


def test_what_can_not_be_fitted(own_set: Path, tmp_path: Path, one_error: Callable[..., str]) -> None:
    scan, template, empty = own_set / "parts/part0.ply", own_set / "wholes/ball.ply", tmp_path / "empty.ply"
    empty.touch()
    assert one_error("fit", empty, template).endswith("empty.ply: the file is empty")
    assert one_error("fit", scan, empty).endswith("empty.ply: the file is empty")
    write_mesh(Mesh(read_mesh(scan).vertices * 1000, read_mesh(scan).faces), tmp_path / "mm.ply")
    assert "a part isn't larger than its whole" in one_error("fit", tmp_path / "mm.ply", template, "--units", "m:m")
    (tmp_path / "marks.csv").write_text("scan,template\n0,999999\n")
    told = one_error("fit", scan, template, "--landmarks", tmp_path / "marks.csv")
    assert "landmark 1: vertex 999999 of" in told
