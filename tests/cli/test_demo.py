"""`partwhole demo`, end to end on a small body."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.image as image
import numpy as np
import pytest

from partwhole.cli.main import main
from partwhole.mesh.io import read_mesh


def test_the_demo_leaves_pictures_a_summary_and_both_meshes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "demo"
    assert main(["demo", "-o", str(folder), "--vertices", "500", "--seed", "1", "--plan", "biped"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for name in ("trust.png", "shares.png", "summary.md", "summary.json", "part.ply", "whole.ply"):
        assert f"wrote {folder / name}" in out
        assert (folder / name).stat().st_size > 200
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["guaranteed_not_consistent"] == {"boundary": 0, "wormhole": 0, "same-loop": 0}
    shares = summary["guaranteed"]
    assert 0 < shares["boundary"] <= shares["wormhole"] <= shares["same-loop"] <= summary["consistent"] <= 1
    assert read_mesh(folder / "part.ply").n_vertices == summary["part_vertices"] < summary["whole_vertices"]
    assert read_mesh(folder / "whole.ply").is_closed
    text = (folder / "summary.md").read_text()
    assert "| boundary C_T |" in text
    assert "(trust.png)" in text
    assert np.unique(image.imread(folder / "trust.png")[..., :3].reshape(-1, 3), axis=0).shape[0] > 100


def test_the_same_seed_gives_the_same_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summaries = []
    for name in ("a", "b"):
        arguments = ["demo", "-o", str(tmp_path / name), "--vertices", "500", "--seed", "2", "--plan", "quadruped"]
        assert main([*arguments, "--json"]) == 0
        summary = json.loads(capsys.readouterr().out)
        summaries.append({key: value for key, value in summary.items() if key not in ("seconds", "files")})
    assert summaries[0] == summaries[1]
    assert (tmp_path / "a" / "trust.png").read_bytes() == (tmp_path / "b" / "trust.png").read_bytes()


def test_a_file_in_the_way_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("")
    assert main(["demo", "-o", str(tmp_path / "taken")]) == 2
    assert "is a file; give a folder" in capsys.readouterr().err
