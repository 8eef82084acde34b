"""`partwhole mask`, from the file to the picture."""

from __future__ import annotations

import json
import os
from pathlib import Path

import matplotlib.image as image
import numpy as np
import pytest

from partwhole.cli.commands import mask as command
from partwhole.cli.main import main
from partwhole.datasets.shapes.primitives import annulus, sphere, torus
from partwhole.mesh import Mesh
from partwhole.mesh.io import write_mesh


def with_holes(whole: Mesh, *holes: tuple[float, float, float]) -> Mesh:
    """The whole without the vertices within 0.5 of each of the points."""
    keep = np.ones(whole.n_vertices, bool)
    for centre in holes:
        keep &= np.linalg.norm(whole.vertices - centre, axis=1) > 0.5
    return whole.submesh(keep)[0]


WHOLE = sphere(500)
PART = with_holes(WHOLE, (1, 0, 0), (0, 0, 1))


@pytest.fixture
def part(tmp_path: Path) -> Path:
    path = tmp_path / "part.off"
    write_mesh(PART, path)
    return path


def run_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    assert main(["mask", *map(str, arguments), "--json", "--no-figure"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", [rb"$\frac{.off", "骨\n.off".encode()])
def test_any_name_of_a_file_will_do(name: bytes, part: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        strange = part.rename(tmp_path / os.fsdecode(name))
    except OSError:
        pytest.skip("this file system does not take the name")
    assert main(["mask", strange.name, "--method", "dijkstra", "-o", "out", "--soft", "-q"]) == 0
    assert (tmp_path / "out" / "trust.png").is_file()


def test_it_writes_masks_a_figure_and_a_summary(
    part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["mask", str(part), "--method", "dijkstra"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert f"{PART.n_vertices} vertices, {PART.n_faces} faces, 2 boundary loops" in out
    assert "if the whole is a sphere" in out
    assert "proved: a guaranteed pair" in out
    folder = tmp_path / "part-trust"
    assert sorted(p.name for p in folder.iterdir()) == ["masks.npz", "summary.json", "trust.png"]
    picture = image.imread(folder / "trust.png")
    assert len(np.unique((picture[..., :3] * 255).astype(int).reshape(-1, 3), axis=0)) > 100
    summary = json.loads((folder / "summary.json").read_text())
    shares = summary["guaranteed"]
    assert 0 < shares["boundary"] <= shares["wormhole"] <= shares["same-loop"] < 1
    with np.load(folder / "masks.npz") as arrays:
        n = PART.n_vertices
        assert arrays["distances"].shape == arrays["wormhole_threshold"].shape == (n, n)
        assert arrays["distances"].dtype == np.float32
        np.testing.assert_array_equal(arrays["rows"], np.arange(n))
        np.testing.assert_array_equal(arrays["boundary_vertices"], PART.boundary_vertices)
        for name in ("boundary", "wormhole", "same_loop"):
            guaranteed = (arrays[f"{name}_mask"].sum() - n) / (n * (n - 1))
            assert guaranteed == pytest.approx(shares[name.replace("_", "-")])


def test_json_is_all_there_is_on_stdout(part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = run_json(capsys, part, "-o", tmp_path / "out", "--method", "dijkstra", "--vertex", 7, "--soft")
    assert summary["drawn_vertex"] == 7
    assert summary["vertices"] == PART.n_vertices
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["masks.npz", "soft.png", "summary.json"]
    assert (tmp_path / "out" / "soft.png").stat().st_size > 10_000
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == summary


def test_quiet_is_silent(part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mask", str(part), "-o", str(tmp_path / "out"), "--method", "dijkstra", "-q", "--no-figure"]) == 0
    assert capsys.readouterr() == ("", "")


def test_chosen_rows_are_those_of_all_pairs(part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    knobs = ["--method", "dijkstra", "--dtype", "float64"]
    run_json(capsys, part, "-o", tmp_path / "all", *knobs)
    summary = run_json(capsys, part, "-o", tmp_path / "some", *knobs, "--rows", 20, "--vertex", 11, "--seed", 3)
    assert summary["rows"] == 20
    with np.load(tmp_path / "all" / "masks.npz") as every, np.load(tmp_path / "some" / "masks.npz") as some:
        assert some["rows"][0] == 11
        assert len(np.unique(some["rows"])) == 20
        for name in ("distances", "boundary_threshold", "wormhole_threshold", "same_loop_threshold"):
            np.testing.assert_allclose(some[name], every[name][some["rows"]], rtol=1e-12)


def test_rows_are_sampled_and_said_when_all_pairs_do_not_fit(
    part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "free_memory", lambda: 2 << 20)
    summary = run_json(capsys, part, "-o", tmp_path / "out", "--method", "dijkstra")
    assert 1 <= summary["rows"] < PART.n_vertices
    assert "spread evenly" in summary["notes"][0]
    monkeypatch.setattr(command, "free_memory", lambda: 100)
    assert main(["mask", str(part), "-o", str(tmp_path / "none")]) == 2
    assert "a single row" in capsys.readouterr().err
    # whoever asks for rows is told, too, before memory is gone
    assert main(["mask", str(part), "-o", str(tmp_path / "none"), "--rows", "20"]) == 2
    assert "part.off: 20 rows, and the distances from" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["fast_marching", "exact"])
def test_other_distances(method: str, part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = run_json(capsys, part, "-o", tmp_path / "out", "--method", method)
    sound = run_json(capsys, part, "-o", tmp_path / "out", "--method", method, "--sound")
    for kind, value in sound["guaranteed"].items():
        assert value <= plain["guaranteed"][kind]
    assert plain["what_holds"].startswith("not proved")
    assert sound["what_holds"].startswith("proved" if method == "exact" else "not proved")


def test_a_bound_that_is_too_cautious_is_still_proved(
    part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run_json(capsys, part, "-o", tmp_path / "out", "--method", "exact", "--sound", "--metric-bound", 0.5)
    assert found["what_holds"].startswith("proved")
    assert all(said.startswith("proved") for said in found["statements"].values())


@pytest.mark.parametrize("method", ["fast_marching", "dijkstra", "exact"])
def test_a_part_that_no_manifold_has(method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tip = PART.faces.max() + 1
    fin = Mesh(np.vstack([PART.vertices, [[0, 0, 9]]]), np.vstack([PART.faces, [[*PART.faces[0, :2], tip]]]))
    write_mesh(fin, tmp_path / "fin.off")
    found = run_json(capsys, tmp_path / "fin.off", "-o", tmp_path / "out", "--method", method, "--sound")
    assert found["what_holds"].startswith("not proved")
    assert all("the whole is not a manifold" in said for said in found["statements"].values())


def test_closed_surfaces_beside_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = Mesh(np.vstack([WHOLE.vertices, WHOLE.vertices + 5]), np.vstack([WHOLE.faces, WHOLE.faces + 500]))
    write_mesh(two, tmp_path / "two.off")
    assert main(["mask", str(tmp_path / "two.off"), "-o", str(tmp_path / "out"), "--no-figure"]) == 0
    assert "nothing is missing, every pair at a finite distance is guaranteed" in capsys.readouterr().out


def test_a_smaller_metric_bound_guarantees_less(part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shares = [
        run_json(capsys, part, "-o", tmp_path / "out", "--method", "dijkstra", "--metric-bound", c)["guaranteed"]
        for c in (0, 0.5, 1)
    ]
    assert shares[0]["wormhole"] == shares[0]["boundary"]
    assert shares[0]["wormhole"] <= shares[1]["wormhole"] <= shares[2]["wormhole"]


def test_the_whole_is_checked(part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    knobs = ["--method", "dijkstra", "-o", str(tmp_path / "out"), "--no-figure"]
    write_mesh(WHOLE, tmp_path / "whole.ply")
    assert main(["mask", str(part), "--whole", str(tmp_path / "whole.ply"), *knobs]) == 0
    assert "the whole is a sphere: checked" in capsys.readouterr().out
    for other, reason in ((torus(n_vertices=300), "Euler characteristic 0"), (PART, "has 2 boundary loops")):
        write_mesh(other, tmp_path / "other.ply")
        assert main(["mask", str(part), "--whole", str(tmp_path / "other.ply"), *knobs]) == 0
        out, err = capsys.readouterr()
        assert "note: C_L does not apply: the whole, other.ply" in err
        assert reason in err
        assert "same-loop" not in out


def test_a_part_with_a_handle_does_without_the_same_loop_criterion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_mesh(with_holes(torus(n_vertices=600), (1.4, 0, 0)), tmp_path / "torus.off")
    summary = run_json(capsys, tmp_path / "torus.off", "-o", tmp_path / "out", "--method", "dijkstra")
    assert list(summary["guaranteed"]) == ["boundary", "wormhole"]
    assert "handles" in summary["not_applied"]["same-loop"]


def test_nothing_is_missing_from_a_closed_surface(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_mesh(sphere(200), tmp_path / "ball.off")
    for more in ([], ["--rows", "5"]):
        assert (
            main(["mask", str(tmp_path / "ball.off"), "-o", str(tmp_path / "out"), "--method", "dijkstra", *more]) == 0
        )
        assert "every pair at a finite distance is guaranteed" in capsys.readouterr().out
    assert set(json.loads((tmp_path / "out" / "summary.json").read_text())["guaranteed"].values()) == {1.0}


def test_two_components_are_no_obstacle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ring = annulus(n_vertices=150)
    both = Mesh(
        np.vstack([ring.vertices, ring.vertices + np.array([0, 0, 3.0])]),
        np.vstack([ring.faces, ring.faces + ring.n_vertices]),
    )
    write_mesh(both, tmp_path / "two.off")
    summary = run_json(capsys, tmp_path / "two.off", "-o", tmp_path / "out", "--method", "dijkstra")
    assert "2 components" in summary["not_applied"]["same-loop"]
    assert 0 < summary["guaranteed"]["wormhole"] < 1


def test_repair_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.off"
    text = f"OFF\n{PART.n_vertices} {PART.n_faces + 1} 0\n"
    text += "\n".join(" ".join(map(repr, row)) for row in PART.vertices.tolist()) + "\n"
    text += "\n".join("3 " + " ".join(map(str, row)) for row in [*PART.faces.tolist(), PART.faces[0].tolist()]) + "\n"
    path.write_text(text)
    knobs = ["-o", str(tmp_path / "out"), "--method", "dijkstra", "--no-figure"]
    assert main(["mask", str(path), *knobs]) == 2
    assert "occurs twice" in capsys.readouterr().err
    assert main(["mask", str(path), *knobs, "--repair"]) == 0
    assert "note: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--vertex", "99999"], "--vertex must be auto or a number from 0 to"),
        (["--vertex", "top"], "--vertex must be auto"),
        (["--metric-bound", "1.5"], "--metric-bound must lie between 0 and 1"),
        (["--whole", "gone.off"], "gone.off does not exist"),
    ],
)
def test_bad_options_are_one_line(
    more: list[str], message: str, part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mask", str(part), "-o", str(tmp_path / "out"), *more]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize("text", ["", "OFF\n3 1 0\n0 0 0\n", "solid nothing", "\0\1\2", "OFF\n1 0 0\n0 0 nan\n"])
def test_broken_files_are_one_line(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.off"
    path.write_text(text)
    assert main(["mask", str(path), "-o", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert "broken.off" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_interruption_leaves_nothing_half_written(
    part: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command.np, "savez_compressed", interrupted)
    assert main(["mask", str(part), "-o", str(tmp_path / "out"), "--method", "dijkstra"]) == 130
    assert capsys.readouterr().err.strip() == "error: interrupted; nothing half-written was left behind"
    assert list((tmp_path / "out").iterdir()) == []
