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

import numpy as np
import pytest

from partwhole.cli.commands.mask import MASKS
from partwhole.cli.main import main
from partwhole.cli.shared.batch.kind import kind_at
from partwhole.cli.shared.batch.measured import MeasureEntry, MeasureSettings, MeasureWork
from partwhole.cli.shared.batch.meshes import mesh_entries
from partwhole.cli.shared.console import Console
from partwhole.datasets import FolderPairs
from partwhole.experiments.matching.method_rows import methods_of_rows

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


# --- errors of methods


def table_of(folder: Path) -> list[list[str]]:
    """The rows of a comparison without what is a measurement of the run: seconds and memory."""
    lines = json.loads((folder / "summary.json").read_text())["table"]
    return [line[:-2] for line in lines]


def rows_without_times(file: Path) -> list[dict[str, str]]:
    with file.open() as held:
        return [{k: v for k, v in row.items() if k not in ("seconds", "megabytes")} for row in csv.DictReader(held)]


@pytest.mark.slow
@pytest.mark.parametrize("engine", [pytest.param(PROCESSES, id="processes"), DASK])
def test_a_comparison_is_the_same(own_set: Path, tmp_path: Path, engine: tuple[str, ...]) -> None:
    words = (
        "benchmark",
        "--data",
        own_set,
        "--methods",
        "descriptors,fsp",
        "--distances",
        "dijkstra",
        "--no-cache",
        "-q",
    )
    assert run(*words, "-o", tmp_path / "serial") == 0
    assert run(*words, "-o", tmp_path / "others", *engine) == 0
    assert table_of(tmp_path / "others") == table_of(tmp_path / "serial")
    of_pairs = rows_without_times(tmp_path / "serial/pairs.csv")
    assert rows_without_times(tmp_path / "others/pairs.csv") == of_pairs
    assert len(of_pairs) == 8


@pytest.mark.slow
@pytest.mark.parametrize("engine", [pytest.param(PROCESSES, id="processes"), DASK])
def test_errors_are_the_same(own_set: Path, tmp_path: Path, runs: list[Path], engine: tuple[str, ...]) -> None:
    words = (
        "evaluate",
        "--data",
        own_set,
        "--split",
        "all",
        "-m",
        runs[0],
        "-m",
        runs[1],
        "--read-out",
        "both",
        "--average",
    )
    words += ("--no-cache", "-q")
    assert run(*words, "-o", tmp_path / "serial") == 0
    assert run(*words, "-o", tmp_path / "others", *engine) == 0
    for name in ("table.txt", "table.md", "table.tex", "pck.png"):
        assert (tmp_path / "others" / name).read_bytes() == (tmp_path / "serial" / name).read_bytes()
    name = "pairs-one-features.csv"
    assert rows_without_times(tmp_path / "others" / name) == rows_without_times(tmp_path / "serial" / name)


def test_the_work_of_another_process_is_the_same(own_set: Path, tmp_path: Path) -> None:
    arguments = {"names": ["descriptors"], "device": "cpu"}
    settings = MeasureSettings(
        "partwhole.experiments.matching.method_rows:methods_of_rows",
        arguments,
        "dijkstra",
        0,
        "cpu",
        str(tmp_path / "c"),
    )
    here = MeasureWork(settings, methods_of_rows(arguments), Console(quiet=True))
    make, given = here.__reduce__()
    there = make(*given)
    assert there.settings == settings
    first, second = FolderPairs(own_set)[:2]
    for pair in (first, second):
        entry = MeasureEntry("descriptors", pair, ("features",), "hash")
        for work, place in ((here, tmp_path / "here"), (there, tmp_path / "there")):
            said = work(entry, place / entry.name)
            assert (said["pair"], said["part"], said["read_outs"]) == (pair.name, pair.part.name, ["features"])
        with (
            np.load(tmp_path / "here" / entry.name / "result.npz") as one,
            np.load(tmp_path / "there" / entry.name / "result.npz") as other,
        ):
            assert one["errors_0"].tolist() == other["errors_0"].tolist()
            assert one["vertex_map_0"].tolist() == other["vertex_map_0"].tolist()


EVALUATE = ("--split", "all", "--read-out", "features", "--yaw-steps", 1, "--no-cache")


def test_what_is_kept_is_what_is_measured_without_a_folder(
    own_set: Path, tmp_path: Path, runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("evaluate", "--data", own_set, "-m", runs[0], *EVALUATE, "--json")
    tables = []
    for more in ((), ("-o", tmp_path / "out")):
        assert run(*words, *more) == 0
        tables.append(json.loads(capsys.readouterr().out)["table"])
    assert tables[0] == tables[1]


def test_shards_of_an_evaluation(
    own_set: Path, tmp_path: Path, runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("evaluate", "--data", own_set, "-m", runs[0], *EVALUATE)
    out = tmp_path / "out"
    assert run(*words, "-q", "-o", tmp_path / "serial") == 0
    assert run(*words, "-o", out, "--shard", "1/3") == 0
    told = capsys.readouterr()
    assert "4 maps: 1 measured before, 3 not yet" in told.out
    assert "3 of 4 maps are for other shards to measure; the last one writes the tables" in told.err
    assert not (out / "table.txt").exists()
    assert run(*words, "-o", out, "--shard", "0/3", "--json") == 0
    assert json.loads(capsys.readouterr().out)["complete"] is False
    before = {path: path.stat().st_mtime_ns for path in out.rglob("result.npz")}
    assert len(before) == 3
    assert run(*words, "-o", out, "--shard", "2/3", "-q") == 0
    assert (out / "table.txt").read_bytes() == (tmp_path / "serial/table.txt").read_bytes()
    (out / "table.txt").unlink()
    assert run(*words, "-o", out, "-q") == 0
    assert (out / "table.txt").exists()
    assert {path: path.stat().st_mtime_ns for path in before} == before, "what is measured is not measured again"


def test_a_result_that_is_damaged_is_measured_again(
    own_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("benchmark", "--data", own_set, "--methods", "descriptors", "--distances", "dijkstra", "--no-cache", "-q")
    assert run(*words, "-o", tmp_path / "out") == 0
    wanted, place = table_of(tmp_path / "out"), sorted(tmp_path.rglob("result.npz"))
    place[0].write_bytes(place[0].read_bytes()[:-20])
    place[1].unlink()
    assert run(*words, "-o", tmp_path / "out") == 2
    assert "2 of the results in" in (told := capsys.readouterr().err)
    assert "run the same command again to measure them" in told
    assert run(*words, "-o", tmp_path / "out") == 0
    assert table_of(tmp_path / "out") == wanted


def test_a_pair_that_can_not_be_measured_does_not_stop_the_others(
    own_set: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from partwhole.matching.methods import DescriptorMaps

    original = DescriptorMaps.functional_map
    broken = ["part2"]

    def fails(self: DescriptorMaps, pair: object) -> object:
        if pair.meshes[0].name in broken:  # type: ignore[attr-defined]
            raise ValueError("nothing fits; give another part")
        return original(self, pair)

    monkeypatch.setattr(DescriptorMaps, "functional_map", fails)
    words = ("benchmark", "--data", own_set, "--methods", "descriptors", "--distances", "dijkstra", "--no-cache")
    assert run(*words, "-o", tmp_path / "out") == 2
    told = capsys.readouterr()
    assert "4 maps: 3 measured, 1 failed" in told.out
    assert "1 of 4 maps could not be measured; the first is descriptors/part2-ball-" in told.err
    assert "nothing fits; give another part" in told.err
    assert not (tmp_path / "out/table.txt").exists()
    broken.clear()
    assert run(*words, "-o", tmp_path / "out") == 0
    assert "4 maps: 1 measured, 3 measured before" in capsys.readouterr().out


def test_engines_need_a_folder(own_set: Path, runs: list[Path], one_error: Callable[..., str]) -> None:
    for option in (("--engine", "processes"), ("--shard", "0/2")):
        told = one_error("evaluate", "--data", own_set, "-m", runs[0], *option)
        assert told == "--engine and --shard keep the result of each pair in a folder: name it with --output"


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


@pytest.mark.parametrize("engine", [(), pytest.param(PROCESSES, marks=pytest.mark.slow)])
def test_a_disk_that_fills_up(
    parts: Path,
    engine: tuple[str, ...],
    small_disk: Callable[[str], Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    (parts / "bad.ply").unlink()
    serial = made_in("serial", *MASK)
    out = small_disk("size=4m") / "out"
    sizes = [len(serial[f"part{k}/masks.npz"]) for k in range(4)]
    # two of the masks find room, with what is written beside them
    filled = shutil.disk_usage(out.parent).free - 2 * max(sizes) - min(sizes) // 2 - 40_000
    assert min(sizes) > 100_000, "or others fit too"
    (out.parent / "filled").write_bytes(bytes(filled))
    assert run(*MASK, "-o", out, *engine) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {out} can't be written ([Errno 28] No space left on device")
    assert "of 4 shapes are finished and kept: make room, and run the same command again" in err
    assert err.count("\n") == 1
    done = [path.parent.name for path in out.glob("*/summary.json")]
    assert done
    assert all((out / name / "masks.npz").read_bytes() == serial[f"{name}/masks.npz"] for name in done)
    small_disk("ro")
    assert run(*MASK, "-o", out, *engine) == 2
    err = capsys.readouterr().err
    assert "can't be written" in err
    assert err.count("\n") == 1
    small_disk("rw,size=16m")
    assert run(*MASK, "-o", out, *engine) == 0
    assert {name: data for name, data in contents(out).items() if name.endswith("npz")} == {
        name: data for name, data in serial.items() if name.endswith("npz")
    }


def test_masks_do_not_depend_on_what_is_free(parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import partwhole.cli.commands.mask as command

    for name in ("bad.ply", "part1.ply", "part2.ply", "part3.ply"):
        (parts / name).unlink()
    monkeypatch.setattr(command, "free_memory", lambda: 1 << 20)
    assert run(*MASK, "-o", "out") == 0
    summary = json.loads(Path("out/part0/summary.json").read_text())
    assert summary["rows"] == summary["vertices"]
    monkeypatch.setattr(command, "free_memory", lambda: 1000)
    assert run(*MASK, "-o", "other") == 2
    assert not Path("other/part0/summary.json").exists()


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
