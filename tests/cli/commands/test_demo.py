"""`partwhole demo`, end to end on a small body."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib.image as image
import numpy as np
import pytest
import torch

from partwhole.cli.commands.demo import WRITES
from partwhole.cli.main import main
from partwhole.datasets import make_body, random_cuts
from partwhole.geodesics import geodesic_distances
from partwhole.matching import Matcher, TrainingConfig
from partwhole.matching.network.diffusion_net import new_network
from partwhole.mesh.io import read_mesh
from partwhole.store.arguments import how_to_install


def test_the_demo_leaves_pictures_a_summary_and_both_meshes_and_the_same_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "demo"
    command = ["demo", "--vertices", "500", "--seed", "2", "--plan", "quadruped", "--no-match"]
    assert main([*command, "-o", str(folder)]) == 0
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

    assert main([*command, "-o", str(tmp_path / "again"), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again.keys() == summary.keys()
    for key in summary.keys() - {"seconds", "files"}:
        assert again[key] == summary[key]
    assert (folder / "trust.png").read_bytes() == (tmp_path / "again" / "trust.png").read_bytes()


def test_a_file_in_the_way_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("")
    assert main(["demo", "-o", str(tmp_path / "taken")]) == 2
    assert "is a file; give a folder" in capsys.readouterr().err


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    config = TrainingConfig(width=8, blocks=1, features=8, map_eigenpairs=20, diffusion_eigenpairs=20)
    Matcher(new_network(config.network), config, {"name": "random"}).save(tmp_path / "random.safetensors")
    return tmp_path / "random.safetensors"


def test_the_part_is_matched_and_compared_with_the_truth(
    tmp_path: Path, weights: Path, capsys: pytest.CaptureFixture[str], undeclared: Callable[..., list[Path]]
) -> None:
    folder = tmp_path / "demo"
    assert main(["demo", "-o", str(folder), "--vertices", "500", "--plan", "hand", "--model", str(weights)]) == 0
    out, _ = capsys.readouterr()
    assert "Matched to its whole in another pose by the model 'random'" in out
    assert f"try: partwhole view {folder / 'match'}" in out
    summary = json.loads((folder / "summary.json").read_text())
    found = summary["match"]
    with np.load(folder / "match" / "map.npz") as arrays:
        vertex_map = arrays["vertex_map"]
    assert len(vertex_map) == summary["part_vertices"]
    # the body at rest has the vertices of the pose that the part was cut from, so the error can be had in another way
    body = make_body("hand", n_vertices=500, seed=0)
    truth = random_cuts(body.pose(0), "pfaust-h", seed=0).vertex_map
    D = geodesic_distances(body.rest) / body.rest.area**0.5
    assert found["error"] == pytest.approx(100 * D[vertex_map, truth].mean(), rel=1e-4)
    assert found["error"] > 1, "random weights know nothing"
    assert undeclared(folder, WRITES) == []
    assert "(match/map.png)" in (folder / "summary.md").read_text()
    assert (folder / "match" / "map.png").stat().st_size > 1000


def test_without_a_model_the_rest_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("partwhole.matching.network.weights.model_names", lambda: ())
    assert main(["demo", "-o", str(tmp_path / "a"), "--vertices", "500"]) == 0
    assert "no match is computed, since this installation has no built-in model" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["demo", "-o", str(tmp_path / "b"), "--vertices", "500"]) == 0
    assert how_to_install("torch") in capsys.readouterr().err
    assert json.loads((tmp_path / "b" / "summary.json").read_text())["match"] is None
