"""`partwhole dataset make`, from the folder of meshes to the pairs."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from partwhole.cli.main import main
from partwhole.datasets import FolderPairs, sphere, torus
from partwhole.evaluation import evaluate_map
from partwhole.mesh import Mesh
from partwhole.mesh.io import write_mesh

DOCS = Path(__file__).parents[3] / "docs"
BALL = sphere(300)
EGG = Mesh(BALL.vertices * [0.9, 1, 1.1], BALL.faces)


@pytest.fixture
def scans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scans").mkdir()
    for name, mesh in (("ball.off", BALL), ("egg.ply", EGG), ("ring.stl", torus(n_vertices=300))):
        write_mesh(mesh, tmp_path / "scans" / name)
    return tmp_path / "scans"


def run_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    assert main(["dataset", "make", *map(str, arguments), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["dataset", "make", *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def assert_exact(folder: Path, n_pairs: int) -> None:
    pairs = FolderPairs(folder)
    assert len(pairs) == n_pairs
    for pair in pairs:
        assert evaluate_map(pair, pair.ground_truth.whole_vertices, method="dijkstra").errors.max() == 0


def test_from_a_folder(scans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dataset", "make", "--from", str(scans), "--recipe", "pfaust-h", "--parts", "2"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "6 parts of 3 wholes, 6 pairs, with exact ground truth\nparts keep " in out
    assert out.endswith("wrote scans-pfaust-h\n")
    assert_exact(tmp_path / "scans-pfaust-h", 6)
    assert main(["dataset", "make", "--from", str(scans), "--recipe", "pfaust-h", "--parts", "2"]) == 0
    assert "note: 6 of 6 parts exist already and are kept" in capsys.readouterr().err


def test_json_and_pairs_of_poses(scans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = run_json(capsys, "--from", scans, "--recipe", "cuts", "--pairs", "all", "--seed", 4, "-o", "out")
    assert (summary["n_parts"], summary["n_wholes"], summary["n_pairs"], summary["n_kept"]) == (3, 3, 5, 0)
    assert (summary["recipe"], summary["pairs"], summary["seed"], summary["parts"]) == ("cuts", "all", 4, 1)
    assert summary["files"]["folder"] == "out"
    share = summary["area_share"]
    assert 0.4 <= share["least"] <= share["mean"] <= share["most"] <= 0.8
    assert_exact(tmp_path / "out", 5)
    for name in ("ball.off", "egg.ply"):
        (scans / name).unlink()
    alone = run_json(capsys, "--from", scans, "--pairs", "all", "-o", "alone")
    assert alone["notes"] == ["no two meshes share their faces, so each part is matched to its own mesh only"]


def test_quiet_is_silent(scans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dataset", "make", "--from", str(scans), "-q"]) == 0
    assert capsys.readouterr() == ("", "")


def test_bodies(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    knobs = ["--bodies", 1, "--plan", "hand", "--poses", 1, "--vertices", 500, "--recipe", "holes"]
    summary = run_json(capsys, *knobs)
    assert (summary["bodies"], summary["source"], summary["pairs"], summary["n_pairs"]) == (1, None, "others", 2)
    assert_exact(tmp_path / "hand-holes", 2)
    assert run_json(capsys, *knobs, "--pairs", "all", "-o", "all")["n_pairs"] == 4


def test_bad_files_are_named_and_counted(scans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (scans / "empty.off").write_text("")
    (scans / "twice.off").write_text("OFF 4 3 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n3 1 2 0\n")
    assert main(["dataset", "make", "--from", str(scans), "-o", "out"]) == 0
    out, err = capsys.readouterr()
    assert "left out: 2\n" in out
    assert "note: left out empty.off: the file is empty\n" in err
    assert "--repair removes them" in err
    assert "error: empty.off: the file is empty" in refusal(capsys, "--from", scans, "-o", "strict", "--strict")
    for k in range(12):
        (scans / f"empty{k}.off").write_text("")
    assert main(["dataset", "make", "--from", str(scans), "-o", "more"]) == 0
    out, err = capsys.readouterr()
    assert "left out: 14\n" in out
    assert err.count("\n") == 11
    assert "and 4 more such notes, in more/set.json" in err


def test_repair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scans").mkdir()
    faces = [*BALL.faces.tolist(), BALL.faces[0].tolist()]
    lines = [f"v {x} {y} {z}" for x, y, z in BALL.vertices] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    (tmp_path / "scans/ball.obj").write_text("\n".join(lines))
    knobs = ["--from", tmp_path / "scans", "-o", tmp_path / "out"]
    assert "none of the meshes can be used: ball.obj: face" in (said := refusal(capsys, *knobs))
    assert "--repair removes them" in said
    assert run_json(capsys, *knobs, "--repair")["notes"] == ["ball.obj: repaired: 1 duplicate face dropped"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either --from, a folder with meshes, or --bodies"),
        (["--from", "scans", "--bodies", "2"], "give either --from, a folder with meshes, or --bodies"),
        (["--from", "scans", "--plan", "hand"], "--plan is for --bodies, not for --from"),
        (["--from", "scans", "--poses", "2"], "--poses is for --bodies"),
        (["--from", "scans", "--vertices", "600"], "--vertices is for --bodies"),
        (["--bodies", "1", "--plan", "table"], "--plan must be one of biped, quadruped, hand, "),
        (["--bodies", "1", "--repair"], "--repair is for --from"),
        (["--bodies", "0"], "--bodies: "),
        (["--from", "nowhere"], "nowhere is not a folder"),
        (["--from", "scans", "--recipe", "torn"], "--recipe: 'torn' is not one of"),
        (["--from", "scans", "-o", "scans"], "none is overwritten; give a new or an empty folder"),
        (["--from", "single", "--pairs", "others"], "--pairs others needs meshes that share their faces"),
    ],
)
def test_one_line_for_what_is_wrong(
    arguments: list[str], message: str, scans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (scans.parent / "single").mkdir()
    write_mesh(BALL, scans.parent / "single" / "ball.ply")
    assert message in refusal(capsys, *arguments)


def test_a_killed_run_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scans").mkdir()
    for name in "abcdef":
        write_mesh(sphere(1000), tmp_path / "scans" / f"{name}.ply")
    knobs = ["--from", str(tmp_path / "scans"), "--recipe", "holes", "--parts", "8", "-o", str(tmp_path / "out")]
    run = subprocess.Popen([sys.executable, "-m", "partwhole", "dataset", "make", *knobs], stdout=subprocess.DEVNULL)
    parts = tmp_path / "out" / "parts"
    while not (parts.is_dir() and len(list(parts.iterdir())) >= 3):
        assert run.poll() is None
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert 3 <= len(list(parts.iterdir())) < 48
    summary = run_json(capsys, *knobs)
    # of the last pair only the part may be there, and it is made again
    assert 2 <= summary["n_kept"] < summary["n_parts"] == 48
    assert len(FolderPairs(tmp_path / "out")) == 48


@pytest.mark.parametrize("command", [["dataset"], ["dataset", "make"]], ids=" ".join)
def test_help_has_an_example(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--help"]) == 0
    assert "Example: partwhole dataset make" in " ".join(capsys.readouterr().out.split())


def test_the_commands_of_the_page_on_data_run(scans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = re.findall(r"^\$ partwhole (dataset .*)$", (DOCS / "data.md").read_text(), re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        # as it is written, but smaller where it makes bodies to be cut in pairs
        less = ["--bodies", "1", "--vertices", "500"] if "--bodies 4" in command else []
        assert main([*shlex.split(command), *less]) == 0
    made = re.findall(r"wrote (.*)", capsys.readouterr().out)
    assert made[:3] == ["scans-pfaust-h", "poses", "hands"]
    assert len(made) == 5
