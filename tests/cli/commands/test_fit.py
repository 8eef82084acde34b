"""`partwhole fit`: from files to a folder with the fitted template."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from partwhole.cli.main import main
from partwhole.cli.shared.fit_output import WRITES
from partwhole.mesh import read_mesh


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
