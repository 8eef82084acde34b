"""`--engine` and `--shard`: whatever runs a command, and however often it is stopped, its files are the same."""

from __future__ import annotations

import csv
import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from partwhole.cli.commands.mask import MASKS
from partwhole.cli.main import main
from partwhole.cli.shared.batch.kind import kind_at
from partwhole.cli.shared.batch.meshes import mesh_entries

PROCESSES = ("--engine", "processes", "--workers", "2")
DASK = pytest.param(("--engine", "dask", "--workers", "2"), marks=pytest.mark.slow, id="dask")


def run(*words: object) -> int:
    return main([*map(str, words)])


def contents(folder: Path) -> dict[str, bytes]:
    """All files but the notes of shards, which are in folders with a dot."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    named = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {name: data for name, data in named.items() if not name.startswith(".")}


def states(table: Path) -> list[str]:
    with table.open() as file:
        return [row["state"] for row in csv.DictReader(file)]


@pytest.fixture
def parts(own_set: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with four parts and a file that is none; the current folder is the one above."""
    shutil.copytree(own_set / "parts", tmp_path / "parts")
    shutil.copy(own_set / "wholes/ball.ply", tmp_path / "ball.ply")
    (tmp_path / "parts/bad.ply").write_text("ply\nnonsense")
    monkeypatch.chdir(tmp_path)
    return Path("parts")


MASK = ("mask", "parts", "--method", "dijkstra", "--no-figure", "-q")


def made_in(name: str, *words: object, code: int = 0) -> dict[str, bytes]:
    """The files that a command writes into `out` in a folder of its own, which has what this one has."""
    here = Path.cwd()
    place = here / name
    place.mkdir()
    for path in list(here.iterdir()):
        if path.name in ("parts", "ball.ply"):
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, place / path.name)
    os.chdir(place)
    try:
        assert run(*words, "-o", "out") == code
        return contents(Path("out"))
    finally:
        os.chdir(here)


@pytest.mark.parametrize("engine", [pytest.param(PROCESSES, id="processes"), DASK])
def test_masks_are_the_same(parts: Path, engine: tuple[str, ...]) -> None:
    serial = made_in("serial", *MASK, code=2)
    assert made_in("others", *MASK, *engine, code=2) == serial
    assert {f"part{k}/masks.npz" for k in range(4)} < serial.keys()
    assert states(Path("serial/out/masks.csv")) == ["failed", *["done"] * 4]
    assert "seconds" not in json.loads(serial["part0/summary.json"])


@pytest.mark.slow
@pytest.mark.parametrize("engine", [pytest.param(PROCESSES, id="processes"), DASK])
def test_matches_are_the_same(parts: Path, runs: list[Path], engine: tuple[str, ...]) -> None:
    (parts / "bad.ply").unlink()
    words = ("match", "parts", "ball.ply", "-m", runs[0].resolve(), "--read-out", "features", "--yaw-steps", 1)
    words += ("--no-pictures", "--no-cache", "-q")
    serial = made_in("serial", *words)
    assert made_in("others", *words, *engine) == serial
    assert states(Path("others/out/pairs.csv")) == ["done"] * 4


@pytest.mark.slow
@pytest.mark.parametrize("engine", [pytest.param(PROCESSES, id="processes"), DASK])
def test_sets_are_the_same(parts: Path, engine: tuple[str, ...]) -> None:
    words = ("dataset", "make", "--from", "parts", "--recipe", "holes", "--parts", 2, "-q")
    serial = made_in("serial", *words)
    assert made_in("others", *words, *engine) == serial
    assert "bad.ply" in json.loads(serial["set.json"])["skipped"]


def test_shards_make_the_same_together(parts: Path) -> None:
    serial = made_in("serial", *MASK, code=2)
    codes = [run(*MASK, "--shard", f"{k}/3", "-o", "out") for k in range(2)]
    assert codes == [2, 0], "the file that is none is in the first"
    assert states(Path("out/masks.csv")) == ["failed", "done", "not yet", "done", "done"]
    assert run(*MASK, "--shard", "2/3", "-o", "out") == 0
    assert contents(Path("out")) == serial


def test_shards_of_a_set(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("dataset", "make", "--from", "parts", "--recipe", "holes", "--parts", 2)
    serial = made_in("serial", *words)
    capsys.readouterr()
    assert run(*words, "--shard", "1/2", "-o", "out") == 0
    assert "of other shards are not done; the last shard completes the set" in capsys.readouterr().out
    assert json.loads(Path("out/set.json").read_text())["complete"] is False
    assert run(*words, "--shard", "0/2", "-o", "out", "--json") == 0
    assert json.loads(capsys.readouterr().out)["complete"] is True
    assert contents(Path("out")) == serial


@pytest.mark.slow
def test_shards_of_fits_are_compared_by_the_last(
    parts: Path, runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("bad.ply", "part2.ply", "part3.ply"):
        (parts / name).unlink()
    words = ("fit", "parts", "ball.ply", "-m", runs[0].resolve(), "--read-out", "features", "--yaw-steps", 1)
    words += ("--no-picture", "-o", "out")
    assert run(*words, "--shard", "0/2") == 0
    assert "1 scan of other shards are not yet fitted" in capsys.readouterr().err
    assert not Path("out/gallery.html").exists()
    assert run(*words, "--shard", "1/2") == 0
    assert Path("out/gallery.html").exists()
    assert states(Path("out/fits.csv")) == ["fitted", "fitted"]


# --- what goes wrong


def test_a_full_disk_ends_the_run_in_one_line(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (parts / "bad.ply").unlink()
    assert run("mask", parts / "part0.ply", "--no-figure", "-q", "-o", "one") == 0
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # no file may be as large as masks are
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        code = run(*MASK, "-o", "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert code == 2
    err = capsys.readouterr().err
    assert err.startswith("error: out can't be written (")
    assert "0 of 4 shapes are finished and kept: make room, and run the same command again" in err
    assert err.count("\n") == 1
    assert run(*MASK, "-o", "out") == 0


def test_a_folder_that_becomes_read_only(
    parts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (parts / "bad.ply").unlink()
    import partwhole.cli.shared.console as module

    write = module.atomic_write

    def refused(path: Path) -> object:
        if "part2" in str(path):
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return write(path)

    monkeypatch.setattr(module, "atomic_write", refused)
    assert run(*MASK, "-o", "out") == 2
    assert "2 of 4 shapes are finished and kept" in capsys.readouterr().err
    assert states(Path("out/masks.csv")) == ["done", "done"]
    monkeypatch.undo()
    os.chdir(parts.resolve().parent)


def test_for_one_shape_there_is_no_engine(parts: Path, one_error: Callable[..., str]) -> None:
    for option in (("--engine", "processes"), ("--shard", "0/2"), ("--workers", 2), ("--scheduler", "tcp://x:1")):
        told = one_error("mask", parts / "part0.ply", *option)
        assert told.startswith(f"{option[0]} is for many shapes; give a folder of meshes")
    told = one_error("match", parts / "part0.ply", "ball.ply", "--shard", "0/2")
    assert told == "--shard is for many shapes; give a folder of parts, or --pairs with a list"
    told = one_error("mask", parts, "--scheduler", "tcp://x:1")
    assert told == "--scheduler tcp://x:1 is for --engine dask, not for --engine serial; leave it out"
    assert "--shard must be i/n with i from 0 to n - 1" in one_error("mask", parts, "--shard", "3/3")


def test_lists_of_meshes(parts: Path, tmp_path: Path, one_error: Callable[..., str]) -> None:
    Path("list.csv").write_text("name,mesh\na,parts/part1.ply\nb,part0\nc,parts/part1.ply\n")
    entries = mesh_entries(Path("list.csv"), None, MASKS)
    assert [(entry.name, entry.mesh.name) for entry in entries] == [("part1", "part1.ply"), ("part0", "part0.ply")]
    Path("plain.txt").write_text("parts/part2.ply\nparts/part3.ply\n")
    assert [entry.name for entry in mesh_entries(Path("plain.txt"), None, MASKS)] == ["part2", "part3"]
    Path("empty.txt").write_text("\n")
    Path("bytes.txt").write_bytes(b"\xff\xfe\x00\x81")
    Path("nothing").mkdir()
    assert "names no meshes; give one in each line" in one_error("mask", "empty.txt")
    assert "is not a text file" in one_error("mask", "bytes.txt")
    assert "file not found: gone.txt" in one_error("mask", "gone.txt")
    assert "nothing has no meshes" in one_error("mask", "nothing")
    assert kind_at(MASKS.home) is MASKS


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on(parts: Path) -> None:
    """The whole run and its workers, again and again: all results are there, and the same as if nothing had happened."""
    (parts / "bad.ply").unlink()
    for k in range(40):
        shutil.copy(parts / f"part{k % 4}.ply", parts / f"more{k}.ply")
    words = MASK[:-1]
    serial = made_in("serial", *words)
    command = [sys.executable, "-m", "partwhole", *words, "-o", "out", *PROCESSES]
    for _ in range(3):
        killed = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        begun = len(list(Path("out").glob("*/summary.json")))
        while killed.poll() is None and len(list(Path("out").glob("*/summary.json"))) < begun + 5:
            time.sleep(0.05)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    before = {path: path.stat().st_mtime_ns for path in Path("out").glob("*/summary.json")}
    assert len(before) < 44, "it was killed before it was done"
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert contents(Path("out")) == serial
    assert all(path.stat().st_mtime_ns == time for path, time in before.items()), "what was done is not done again"


@pytest.mark.slow
def test_three_shards_at_once(parts: Path) -> None:
    (parts / "bad.ply").unlink()
    serial = made_in("serial", *MASK)
    command = [sys.executable, "-m", "partwhole", *MASK, "-o", "out", "--shard"]
    shards = [subprocess.Popen([*command, f"{k}/3"]) for k in range(3)]
    assert [shard.wait() for shard in shards] == [0, 0, 0]
    assert contents(Path("out")) == serial
