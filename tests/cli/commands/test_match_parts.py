"""`partwhole match A B --both-partial` and `dataset make --both-partial`: from files to what two parts share."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

import partwhole as pw
from partwhole.cli.main import main
from partwhole.datasets import FolderPartPairs, cut_plane, sphere
from partwhole.matching import Matcher, PartnerMap, PartsMatch, TrainingConfig
from partwhole.matching.network.diffusion_net import new_network
from partwhole.mesh import Mesh
from partwhole.mesh.io import read_mesh, write_mesh


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two parts of a lopsided ball, and a small network that nobody trained."""
    monkeypatch.chdir(tmp_path)
    ball = sphere(260, jitter=0.3)
    x, y, z = ball.vertices.T
    whole = Mesh(ball.vertices * (1 + 0.2 * x + 0.3 * z * y**2)[:, None] * [1.0, 0.8, 1.4], ball.faces)
    for name, side in (("left", 1.0), ("right", -1.0)):
        write_mesh(cut_plane(whole, (-0.3 * side, 0, 0), (side, 0, 0)).part, tmp_path / f"{name}.ply")
    config = TrainingConfig(
        inputs="invariants", width=8, blocks=1, features=8, diffusion_eigenpairs=15, map_eigenpairs=15
    )
    Matcher(new_network(config.network), config, {"name": "small"}).save(tmp_path / "small.safetensors")
    return tmp_path


def test_two_parts_are_matched_into_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["match", "left.ply", "right.ply", "--both-partial", "--model", "small.safetensors", "--no-cache"]
    assert main([*words, "--json"]) == 0
    out, err = capsys.readouterr()
    summary = json.loads(out)
    assert err == ""
    place = folder / "left-right-parts"
    for file in summary["files"].values():
        assert Path(file).is_file()
    assert {path.name for path in place.iterdir()} == {Path(file).name for file in summary["files"].values()}
    found = pw.load(place)
    assert found.summary()["shared"] == summary["shared"]
    held = np.load(place / "parts.npz")
    assert np.array_equal(held["a_to_b_vertex_map"], found.a_to_b.vertex_map)
    assert np.array_equal(held["partners"], found.partners)
    lines = (place / "a_to_b.csv").read_text().splitlines()
    assert lines[0] == "a_vertex,b_vertex,overlap,confidence"
    empty = [line.split(",")[1] == "" for line in lines[1:]]
    assert np.array_equal(~np.array(empty), found.a_to_b.shared)
    assert (place / "summary.md").read_text().startswith("# left.ply | right.ply")


def test_they_are_merged_and_shown_if_that_is_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a network that nobody trained finds nothing: the truth takes the place of what it found
    def match_parts(a: Path, b: Path, **_: object) -> PartsMatch:
        one, other = read_mesh(a), read_mesh(b)
        away, partner = cKDTree(other.vertices).query(one.vertices)
        back, home = cKDTree(one.vertices).query(other.vertices)
        ways = [
            PartnerMap(ends, np.where(off < 1e-9, 0.9, 0.1), np.where(off < 1e-9, 0.8, 0.1), np.ones(len(off), bool))
            for ends, off in ((partner, away), (home, back))
        ]
        return PartsMatch(one, other, *ways, 0.9, 1.0, 0.5, 0.0, np.eye(4), 0.0, "by hand", (), (), 0.0)

    monkeypatch.setattr("partwhole.matching.parts.match.match_parts", match_parts)
    words = ["match", "left.ply", "right.ply", "--both-partial", "--no-pictures", "--no-cache", "--report", "found"]
    assert main([*words, "--merge", "both.ply"]) == 0
    merged = read_mesh("both.ply")
    assert merged.is_closed
    assert merged.n_vertices == 260
    lines = (folder / "found" / "merged.csv").read_text().splitlines()
    assert lines[0] == "part,vertex,moved"
    left = read_mesh("left.ply")
    assert len(lines) == 1 + merged.n_vertices
    assert sum(line.startswith("a,") for line in lines) == left.n_vertices
    assert all(line.startswith(("a,", "b,")) for line in lines[1:])
    summary = json.loads((folder / "found" / "summary.json").read_text())
    assert summary["files"]["merged"] == "both.ply"
    assert "<title>partwhole</title>" in (folder / "found" / "report.html").read_text()
    # the folder can be looked at
    assert main(["view", "found", "--export", "page.html"]) == 0
    assert (folder / "page.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["left.ply", "right.ply", "--merge", "right.ply"], "--merge right.ply"),
        (
            ["left.ply", "right.ply", "--merge", "both.vtk"],
            "--merge both.vtk: unsupported ending 'vtk'; use .off, .obj",
        ),
        (["left.ply", "right.ply", "--refine", "3"], "--refine is for a part and its whole, not for --both-partial"),
        (["left.ply"], "--both-partial takes two files: partwhole match A B --both-partial"),
        (["left.ply", "nowhere.ply"], "file not found: nowhere.ply"),
        (["left.ply", "right.ply", "--model", "upright"], "can't compare two parts"),
        (["left.ply", "right.ply", "--output", "left.ply"], "is a file; give a folder"),
    ],
)
def test_what_is_refused(folder: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", *words, "--both-partial", "--no-cache"]) == 2
    assert said in capsys.readouterr().err


def test_a_merge_is_for_two_parts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", "left.ply", "right.ply", "--merge", "both.ply"]) == 2
    assert "--merge is for two parts; use it with --both-partial" in capsys.readouterr().err


def test_a_set_of_pairs_of_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scans").mkdir()
    write_mesh(sphere(300), tmp_path / "scans" / "ball.off")
    words = ["dataset", "make", "--from", str(tmp_path / "scans"), "--both-partial", "--recipe", "cuts"]
    assert main([*words, "--overlap", "0.3", "--overlap", "0.6", "--output", str(tmp_path / "set"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["n_pairs"] == 2
    pairs = FolderPartPairs(tmp_path / "set")
    assert [pair.name for pair in pairs] == ["ball_30_0_a | ball_30_0_b", "ball_60_0_a | ball_60_0_b"]
    assert pairs[0].a_to_b.share < pairs[1].a_to_b.share
    for more, said in (
        (["--strict"], "--strict is for parts and wholes, not for --both-partial"),
        (["--recipe", "holes"], "--both-partial cuts by --recipe cuts or views, got holes"),
    ):
        assert main([*words, *more, "--output", str(tmp_path / "other")]) == 2
        assert said in capsys.readouterr().err
    assert main(["dataset", "make", "--bodies", "1", "--overlap", "0.5"]) == 2
    assert "--overlap is for --both-partial" in capsys.readouterr().err
