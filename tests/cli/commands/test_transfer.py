from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from partwhole.cli.main import main
from partwhole.datasets import cut_balls, sphere
from partwhole.datasets.cutting.cuts import Cut
from partwhole.mesh.io import write_mesh
from partwhole.mesh.textured import Skin, Texture, TexturedMesh, read_textured, write_textured

CUT = cut_balls(sphere(200), [5], 0.6)


def written_result(folder: Path, cut: Cut) -> Path:
    folder.mkdir()
    write_mesh(cut.part, folder / "part.ply")
    write_mesh(cut.whole, folder / "whole.ply")
    np.savez(folder / "map.npz", vertex_map=cut.vertex_map, matched=np.ones(cut.part.n_vertices, bool))
    return folder


@pytest.fixture
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What `partwhole match --output` leaves, in the working folder."""
    monkeypatch.chdir(tmp_path)
    return written_result(tmp_path / "found", CUT)


def run(capsys: pytest.CaptureFixture[str], *words: object) -> dict:
    assert main(["transfer", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def labels(n: int) -> str:
    return "vertex,segment,height\n" + "".join(f"{k},{k // 50},{k / 2}\n" for k in range(n))


def test_values_labels_and_landmarks(result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost = int(np.setdiff1d(np.arange(200), CUT.vertex_map)[0])
    Path("labels.csv").write_text(labels(200))
    Path("parts.json").write_text(json.dumps({"low": list(range(100))}))
    Path("marks.csv").write_text(f"label,vertex\nhere,{CUT.vertex_map[3]}\nlost,5\nalso lost,{lost}\n")
    said = run(capsys, result, "labels.csv", "parts.json", "marks.csv")
    out = tmp_path / "found-transfer"
    rows = (out / "labels.csv").read_text().splitlines()
    assert rows[0] == "vertex,segment,height"
    assert rows[4] == f"3,{CUT.vertex_map[3] // 50},{CUT.vertex_map[3] / 2}"
    assert json.loads((out / "parts.json").read_text())["low"] == np.flatnonzero(CUT.vertex_map < 100).tolist()
    assert (out / "marks.csv").read_text().splitlines()[1].startswith("here,3,")
    kinds = [(one["what"], one["covered"]) for one in said["files"]]
    assert kinds[:2] == [("2 columns", 1.0), ("1 segment", 1.0)]
    assert "landmarks without a place on the part, left out: lost" in said["files"][2]["notes"][-1]
    assert json.loads((out / "transfer.json").read_text())["to"] == "part"


def test_back_to_the_whole(result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], one_error) -> None:
    n = CUT.part.n_vertices
    np.save("heat.npy", CUT.part.vertices[:, 2])
    Path("flow.csv").write_text("".join("0.5,1,2\n" for _ in range(n)))
    Path("labels.csv").write_text(labels(n))
    said = run(capsys, result, "heat.npy", "--to", "whole", "--output", "out")
    heat = np.load("out/heat.npy")
    np.testing.assert_allclose(heat[CUT.vertex_map], CUT.part.vertices[:, 2], atol=1e-9)
    assert np.isnan(heat).sum() == said["files"][0]["uncovered"] > 0
    run(capsys, result, "flow.csv", "--to", "whole", "--kind", "vector", "--missing", "0", "--output", "out")
    assert np.loadtxt("out/flow.csv", delimiter=",").shape == (200, 3)
    told = one_error("transfer", result, "labels.csv", "--to", "whole", "--output", "out")
    assert told.endswith("are not covered, and labels have no nan; give --missing")
    run(capsys, result, "labels.csv", "--to", "whole", "--missing=-1", "--output", "out")
    assert ",-1," in Path("out/labels.csv").read_text()
    told = one_error("transfer", result, "labels.csv", "--to", "whole", "--missing", "none", "--output", "out")
    assert told == "--missing none is not a value of type int64; give a number"
    # a text is for labels; numbers beside them have nan
    Path("names.csv").write_text("side\n" + "".join("left\n" for _ in range(n)))
    run(capsys, result, "heat.npy", "names.csv", "--to", "whole", "--missing", "none", "--output", "out")
    assert np.array_equal(np.load("out/heat.npy"), heat, equal_nan=True)
    assert Path("out/names.csv").read_text().count("none") == np.isnan(heat).sum()


def test_a_texture_and_a_skeleton(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ball = CUT.whole
    red = np.zeros((4, 4, 4), np.uint8) + np.array([200, 10, 10, 255], np.uint8)
    texture = Texture(np.zeros((1, 2)), np.zeros((ball.n_faces, 3), np.int64), (red,), np.zeros(ball.n_faces, np.int64))
    rest = np.tile(np.eye(4), (2, 1, 1))
    up = np.clip(ball.vertices[:, 2] + 0.5, 0, 1)
    skin = Skin(("root", "top"), (None, 0), rest, sparse.csr_matrix(np.stack([1 - up, up], axis=1)))
    write_textured(TexturedMesh(ball, texture, skin), "template.glb")
    write_textured(TexturedMesh(ball, texture), "plain.obj")
    said = run(capsys, result, "template.glb", "plain.obj", "--size", "64", "--output", "out")
    assert [one["what"] for one in said["files"]] == ["texture and skeleton", "texture"]
    found = read_textured("out/template.glb")
    assert found.skin is not None
    n = CUT.part.n_vertices
    np.testing.assert_allclose(found.skin.weights.toarray()[:n, 1], up[CUT.vertex_map], atol=1e-6)
    assert read_textured("out/plain.obj").mesh.content_hash == CUT.part.content_hash
    assert found.texture is not None
    assert (found.texture.images[0] == red[0, 0]).all()
    back = run(
        capsys, result, "out/plain.obj", "--to", "whole", "--uv", "plain.obj", "--size", "64", "--output", "back"
    )
    assert back["files"][0]["covered"] < 1
    assert "--uv" not in capsys.readouterr().err
    Path("labels.csv").write_text(labels(200))
    main(["transfer", str(result), "labels.csv", "--uv", "plain.obj", "--output", "labelled"])
    assert "--uv is not used: none of the files has a texture to transfer" in capsys.readouterr().err


def test_one_bad_file_does_not_stop_the_rest(result: Path, one_error: Callable[..., str]) -> None:
    Path("labels.csv").write_text(labels(200))
    Path("bad.csv").write_text("1\n2\n")
    told = one_error("transfer", result, "bad.csv", "labels.csv", "--output", "out", "--quiet")
    assert told.startswith("bad.csv: the table has 2 rows, the surface 200 vertices")
    assert told.endswith("(1 of 2 files could not be transferred)")
    assert Path("out/labels.csv").is_file()


def test_what_is_refused(result: Path, one_error: Callable[..., str]) -> None:
    Path("labels.csv").write_text(labels(200))
    assert "would overwrite labels.csv, which is read" in one_error("transfer", result, "labels.csv", "--output", ".")
    assert "two files would be written as labels.csv" in one_error("transfer", result, "labels.csv", "labels.csv")
    assert "has neither map.npz nor" in one_error("transfer", ".", "labels.csv")
    Path("flat.csv").write_text("".join("1,2\n" for _ in range(200)))
    told = one_error("transfer", result, "flat.csv", "--kind", "vector", "--output", "out")
    assert told == "--kind vector needs a table of 3 columns of numbers, got column 1, column 2"
    Path("marks.csv").write_text("label,vertex\nlost,5\n")
    told = one_error("transfer", result, "marks.csv", "--output", "out")
    assert told == "marks.csv: none of 1 landmark has a place on the part"
    write_textured(TexturedMesh(CUT.whole), "bare.glb")
    told = one_error("transfer", result, "bare.glb", "--output", "out")
    assert told == "bare.glb has neither a texture nor a skeleton"
    rest = np.eye(4)[None]
    skin = Skin(("root",), (None,), rest, sparse.csr_matrix(np.ones((CUT.part.n_vertices, 1))))
    write_textured(TexturedMesh(CUT.part, None, skin), "scan.glb")
    told = one_error("transfer", result, "scan.glb", "--to", "whole", "--output", "out")
    assert told == "scan.glb has a skeleton, which is transferred to the part only, and no texture"


def test_a_map_that_is_damaged(result: Path, one_error: Callable[..., str]) -> None:
    Path("labels.csv").write_text(labels(200))
    np.savez(result / "map.npz", confidence=np.ones(3))
    assert one_error("transfer", result, "labels.csv").endswith("map.npz: it has no vertex_map")
    np.savez(result / "map.npz", vertex_map=np.full(CUT.part.n_vertices, 900))
    assert "the map refers to vertex 900" in one_error("transfer", result, "labels.csv")
    for file in ("map.npz", "result.json"):
        (result / file).unlink(missing_ok=True)
    assert "has neither map.npz nor result.json" in one_error("transfer", result, "labels.csv")


def test_a_map_between_vertices(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    triangles = np.repeat(CUT.vertex_map[:, None], 3, axis=1)
    weights = np.tile([0.5, 0.25, 0.25], (len(triangles), 1))
    np.savez(result / "map.npz", triangles=triangles, weights=weights, covered=np.arange(len(triangles)) > 0)
    np.save("height.npy", CUT.whole.vertices[:, 2])
    run(capsys, result, "height.npy", "--output", "out")
    np.testing.assert_allclose(np.load("out/height.npy")[1:], CUT.part.vertices[1:, 2])
