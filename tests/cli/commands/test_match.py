"""`partwhole match`: from files to a folder with the map."""

from __future__ import annotations

import csv
import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import partwhole as pw
from partwhole.cli.main import main
from partwhole.cli.shared.batch.entries import list_beside, pair_folders, read_list
from partwhole.mesh import Mesh, read_mesh, write_mesh

FILES = {"map.npz", "map.csv", "map.vts", "part.ply", "whole.ply", "result.json", "result.npz"} | {
    "summary.json",
    "summary.md",
}


def run(*words: object) -> int:
    return main([*map(str, words)])


@pytest.fixture(scope="session")
def matched(tmp_path_factory: pytest.TempPathFactory, own_set: Path, runs: list[Path]) -> Path:
    """A part that was matched, with pictures."""
    folder = tmp_path_factory.mktemp("matched") / "out"
    words = ("match", own_set / "parts/part0.ply", own_set / "wholes/ball.ply", "--model", runs[0])
    assert run(*words, "--output", folder, "--yaw-steps", 4, "--no-cache", "--quiet") == 0
    return folder


def test_what_is_written_belongs_together(matched: Path, own_set: Path) -> None:
    assert {file.name for file in matched.iterdir()} == FILES | {"map.png", "confidence.png"}
    part, whole = read_mesh(own_set / "parts/part0.ply"), read_mesh(own_set / "wholes/ball.ply")
    with np.load(matched / "map.npz") as held:
        arrays = {name: held[name] for name in held.files}
    p, n = part.n_vertices, whole.n_vertices
    assert arrays["vertex_map"].dtype == np.int64
    assert arrays["confidence"].dtype == np.float32
    assert arrays["doubtful"].dtype == arrays["matched"].dtype == bool
    assert all(len(arrays[name]) == p for name in ("vertex_map", "confidence", "doubtful", "matched"))
    assert 0 <= arrays["vertex_map"].min() <= arrays["vertex_map"].max() < n
    # surfaces as they were given, in the same order
    assert np.array_equal(read_mesh(matched / "part.ply").vertices, part.vertices)
    assert np.array_equal(read_mesh(matched / "whole.ply").vertices, whole.vertices)
    assert np.array_equal(read_mesh(matched / "whole.ply").faces, whole.faces)
    # and all that is known
    found = pw.load(matched)
    assert np.array_equal(found.vertex_map, arrays["vertex_map"])
    assert np.array_equal(found.confidence.astype(np.float32), arrays["confidence"])
    assert (found.part.content_hash, found.whole.content_hash) == (part.content_hash, whole.content_hash)
    assert (found.part.name, found.coarse.part is found.part) == ("part0.ply", True)
    lines = (matched / "map.vts").read_text().split()
    assert [int(line) - 1 for line in lines] == arrays["vertex_map"].tolist()
    with (matched / "map.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["part_vertex"]) for row in rows] == list(range(p))
    assert [int(row["whole_vertex"]) for row in rows] == arrays["vertex_map"].tolist()
    assert np.allclose([float(row["confidence"]) for row in rows], arrays["confidence"], atol=1e-4)
    assert [row["doubtful"] == "1" for row in rows] == arrays["doubtful"].tolist()


def test_equal_places_have_equal_colours(matched: Path) -> None:
    def colors(path: Path) -> list[bytes]:
        data = path.read_bytes()
        body = data.split(b"end_header\n", 1)[1]
        count = int(data.split(b"element vertex ")[1].split()[0])
        # three doubles and three bytes a vertex
        return [body[27 * k + 24 : 27 * k + 27] for k in range(count)]

    with np.load(matched / "map.npz") as held:
        vertex_map = held["vertex_map"]
    of_whole, of_part = colors(matched / "whole.ply"), colors(matched / "part.ply")
    assert [of_whole[place] for place in vertex_map] == of_part


def test_the_summary_says_what_was_assumed(matched: Path) -> None:
    summary = json.loads((matched / "summary.json").read_text())
    assert summary["part"].endswith("part0.ply")
    assert summary["factor"] == 1
    assert summary["units"].startswith("the same units are assumed")
    assert 0 <= summary["doubtful"] <= 1
    assert 0 < summary["guaranteed"] <= 1
    assert summary["choices"]["yaw_steps"] == 4
    assert set(summary["files"]) == FILES | {"map.png", "confidence.png"}
    text = (matched / "summary.md").read_text()
    assert "guaranteed pairs" in text
    assert "![" in text
    for warning in summary["warnings"]:
        assert warning in text


def test_json_and_words(own_set: Path, runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("match", own_set / "parts/part1.ply", own_set / "wholes/ball.ply", "-m", runs[0], "--no-pictures")
    assert run(*words, "-o", tmp_path / "a", "--json") == 0
    out, err = capsys.readouterr()
    summary = json.loads(out)
    assert err == ""
    assert not (tmp_path / "a/map.png").exists()
    assert summary["model"] == "one"
    assert run(*words, "-o", tmp_path / "b", "--refine", 1) == 0
    out, err = capsys.readouterr()
    assert "note: the same units are assumed" in err
    assert "doubtful" in out
    assert "refinement" in out
    assert f"wrote {tmp_path / 'b/map.npz'}" in out
    with np.load(tmp_path / "b/map.npz") as held:
        assert held["vertex_map_before"].shape == held["vertex_map"].shape


def test_a_report_is_one_page(own_set: Path, runs: list[Path], tmp_path: Path, one_error: Callable[..., str]) -> None:
    words = ("match", own_set / "parts/part0.ply", own_set / "wholes/ball.ply", "--model", runs[0], "--no-cache")
    assert run(*words, "--report", tmp_path / "out", "--no-pictures", "--quiet") == 0
    assert {file.name for file in (tmp_path / "out").iterdir()} == FILES | {"report.html"}
    page = (tmp_path / "out/report.html").read_text()
    assert "connect-src 'none'" in page
    assert 'id="scene"' in page
    assert json.loads((tmp_path / "out/summary.json").read_text())["files"]["report.html"].endswith("report.html")
    assert "give one of them" in one_error(*words, "--report", tmp_path / "out", "--output", tmp_path / "out")


def test_millimetres_against_metres(own_set: Path, runs: list[Path], tmp_path: Path, matched: Path) -> None:
    part = read_mesh(own_set / "parts/part0.ply")
    write_mesh(part.scaled(1000), tmp_path / "mm.ply")
    common = ("--yaw-steps", 4, "--no-cache", "--quiet", "--no-pictures", "--model", runs[0])
    for units in ("auto", "mm:m"):
        folder = tmp_path / units.replace(":", "-")
        assert (
            run("match", tmp_path / "mm.ply", own_set / "wholes/ball.ply", "--units", units, "-o", folder, *common) == 0
        )
        assert json.loads((folder / "summary.json").read_text())["factor"] == pytest.approx(0.001)
        assert (folder / "map.vts").read_text() == (matched / "map.vts").read_text()


def test_a_part_and_a_whole_that_are_swapped(
    own_set: Path, runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("match", own_set / "wholes/ball.ply", own_set / "parts/part0.ply", "--model", runs[0], "--no-pictures")
    assert run(*words, "--report", tmp_path, "--yaw-steps", 1, "--no-cache") == 0
    question = "the part has no boundary and the whole has holes; are they swapped?"
    assert f"warning: {question}" in capsys.readouterr().out
    assert question in json.loads((tmp_path / "summary.json").read_text())["warnings"]


def test_large_pictures_show_fewer_vertices(
    own_set: Path, runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from partwhole.cli.shared import match_output as match_folder

    monkeypatch.setattr(match_folder, "MOST_DRAWN", 100)
    words = ("match", own_set / "parts/part0.ply", own_set / "wholes/ball.ply", "-m", runs[0], "-q")
    assert run(*words, "-o", tmp_path / "out") == 0
    assert (tmp_path / "out/map.png").exists()


def test_the_same_question_is_answered_from_the_cache(
    own_set: Path,
    runs: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PARTWHOLE_CACHE", str(tmp_path / "cache"))
    words = ("match", own_set / "parts/part0.ply", own_set / "wholes/ball.ply", "-m", runs[0])
    said = []
    for name, extra in (("a", ()), ("b", ()), ("c", ("--no-cache",)), ("d", ("--yaw-steps", 2))):
        assert run(*words, "-o", tmp_path / name, *extra) == 0
        out, err = capsys.readouterr()
        said.append("from the cache" in out and "the map is from the cache" in err)
    assert said == [False, True, False, False]
    for file in FILES - {"result.json", "summary.json", "summary.md"} | {"map.png", "confidence.png"}:
        held = [(tmp_path / name / file).read_bytes() for name in "abc"]
        assert held[0] == held[1] == held[2]
    first, again, anew = (json.loads((tmp_path / name / "summary.json").read_text()) for name in "abc")
    assert (first["from_cache"], again["from_cache"], anew["from_cache"]) == (False, True, False)
    for name in set(first) - {"from_cache", "seconds", "files"}:
        assert first[name] == again[name] == anew[name]


# --- lists of pairs


@pytest.fixture
def listed(own_set: Path, tmp_path: Path) -> Path:
    """A list with three pairs, one of which can't be matched."""
    (tmp_path / "bad.ply").write_text("ply\nnonsense")
    path = tmp_path / "list.csv"
    whole = own_set / "wholes/ball.ply"
    path.write_text(
        f"name,part,whole\nfirst one,{own_set / 'parts/part0.ply'},{whole}\nbroken,bad.ply,{whole}\n"
        f",{own_set / 'parts/part1.ply'},{whole}\n"
    )
    return path


def test_a_list_goes_on_where_it_was(
    listed: Path, runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("match", "--pairs", listed, "--model", runs[0], "--no-pictures", "--output", tmp_path / "all")
    assert run(*words) == 2
    out, err = capsys.readouterr()
    assert "3 pairs: 2 done, 1 failed" in out
    assert "error: 1 of 3 pairs could not be matched; the first is broken:" in err
    with (tmp_path / "all/pairs.csv").open() as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert [row["state"] for row in rows.values()] == ["done", "failed", "done"]
    assert set(rows) == {"first-one", "broken", "part1-ball"}
    assert rows["broken"]["reason"]
    assert {file.name for file in (tmp_path / "all/first-one").iterdir()} >= FILES
    before = (tmp_path / "all/first-one/map.npz").stat().st_mtime_ns

    assert run(*words, "--json") == 2
    summary = json.loads(capsys.readouterr().out)
    assert [row["state"] for row in summary["pairs"]] == ["finished before", "failed", "finished before"]
    assert (tmp_path / "all/first-one/map.npz").stat().st_mtime_ns == before

    # other choices, or a result that is not whole, and it is done again
    (tmp_path / "all/part1-ball/summary.json").write_text("{")
    assert run(*words, "--json") == 2
    states = [row["state"] for row in json.loads(capsys.readouterr().out)["pairs"]]
    assert states == ["finished before", "failed", "done"]
    assert run(*words, "--json", "--read-out", "features") == 2
    states = [row["state"] for row in json.loads(capsys.readouterr().out)["pairs"]]
    assert states == ["done", "failed", "done"]


def test_lists_without_header_and_with_equal_names(own_set: Path, tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    path.write_text("a.ply, b.off\n\nsub/a.ply,b.off\nc.ply,b.off,third/../one\n")
    entries = read_list(path)
    assert [entry.name for entry in entries] == ["a-b", "a-b-2", "third-..-one"]
    assert entries[1].part == tmp_path / "sub/a.ply"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no pairs; a line is part,whole"),
        ("part,whole\n", "has a header and no pairs"),
        ("a.ply\n", "pair 1: 'a.ply' should be part,whole"),
    ],
)
def test_lists_that_are_none(tmp_path: Path, one_error: Callable[..., str], text: str, said: str) -> None:
    (tmp_path / "list.csv").write_text(text)
    assert said in one_error("match", "--pairs", tmp_path / "list.csv")


@pytest.mark.parametrize("command", ["match", "fit"])
def test_a_list_that_is_not_there(command: str, tmp_path: Path, one_error: Callable[..., str]) -> None:
    path = tmp_path / "list.csv"
    said = f"file not found: --pairs {path}; give a CSV file with the columns part,whole"
    assert one_error(command, "--pairs", path) == said


@pytest.mark.parametrize("data", [b"\xff\xfe\x00\x81", 200_000 * b"a"])
def test_a_list_that_is_no_text(tmp_path: Path, one_error: Callable[..., str], data: bytes) -> None:
    (tmp_path / "list.csv").write_bytes(data)
    assert "is not a text file; give a CSV file" in one_error("match", "--pairs", tmp_path / "list.csv")


@pytest.mark.parametrize("head", ["scan,whale", "part,hole", "a,b,c", "Whole;Name"])
def test_a_list_with_other_columns_is_told_which_it_should_have(
    head: str, tmp_path: Path, one_error: Callable[..., str]
) -> None:
    (tmp_path / "list.csv").write_text(f"{head}\nx.ply,y.off\n")
    told = one_error("match", "--pairs", tmp_path / "list.csv")
    found = ", ".join(head.replace(";", ",").split(","))
    assert f"has the columns {found}; it should have part and whole, or scan and template, and may have name" in told


def test_lists_as_tables_of_other_programs(tmp_path: Path) -> None:
    for text in ("Part;Whole\na.ply;b.off\n", "\ufeffwhole\tx\tpart\r\nb.off\t1\ta.ply\r\n", ";;\na.ply;b.off\n"):
        (tmp_path / "list.csv").write_text(text, encoding="utf-8")
        (entry,) = read_list(tmp_path / "list.csv")
        assert (entry.part.name, entry.whole.name) == ("a.ply", "b.off")


def test_names_are_folders_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(
        "a.ply,b.off,X\na.ply,b.off,x\na.ply,b.off,x-2\na.ply,b.off,x\na.ply,b.off,pairs.csv\n"
    )
    assert [entry.name for entry in read_list(tmp_path / "list.csv")] == ["X", "x-2", "x-2-2", "x-3", "pairs.csv-2"]


def test_a_folder_is_no_list(tmp_path: Path, one_error: Callable[..., str]) -> None:
    assert f"is a folder; give the list itself, such as {tmp_path / 'pairs.csv'}" in one_error(
        "match", "--pairs", tmp_path
    )


# --- folders


@pytest.fixture
def made(own_set: Path, tmp_path: Path) -> Path:
    """A set with two parts, as `partwhole dataset make` lays it out."""
    for name, file in (("parts", "part0.ply"), ("parts", "part1.ply"), ("wholes", "ball.ply")):
        (tmp_path / "set" / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(own_set / name / file, tmp_path / "set" / name / file)
    (tmp_path / "set/pairs.csv").write_text("part,whole\npart1,ball\npart0,ball.ply\n")
    return tmp_path / "set"


def states(folder: Path) -> dict[str, str]:
    with (folder / "pairs.csv").open() as file:
        return {row["name"]: row["state"] for row in csv.DictReader(file)}


def test_the_list_that_dataset_make_writes(made: Path, runs: list[Path], tmp_path: Path) -> None:
    knobs = ("-m", runs[0], "--no-pictures", "--read-out", "features", "-q", "-o", tmp_path / "out")
    assert run("match", "--pairs", made / "pairs.csv", *knobs) == 0
    assert states(tmp_path / "out") == {"part1-ball": "done", "part0-ball": "done"}
    # the same by its folders: the same pairs, by the list beside them
    assert run("match", made / "parts", made / "wholes", *knobs) == 0
    # the table says how things are, not which run did them
    assert states(tmp_path / "out") == {"part1-ball": "done", "part0-ball": "done"}


def test_a_set_that_was_made_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from partwhole.datasets import make_set, sphere, torus

    make_set({"ball": sphere(300), "ring.2": torus(n_vertices=300)}, tmp_path, recipe="holes", parts=2)
    pairs = [(entry.part.name, entry.whole.name) for entry in read_list(tmp_path / "pairs.csv")]
    assert pairs == [(f"{name}_0{k}.ply", f"{name}.ply") for name in ("ball", "ring.2") for k in (0, 1)]
    assert all(entry.part.is_file() and entry.whole.is_file() for entry in read_list(tmp_path / "pairs.csv"))


def test_a_folder_of_scans_and_one_template(made: Path, runs: list[Path], tmp_path: Path) -> None:
    (made / "parts/notes.txt").write_text("not a mesh")
    (made / "parts/.part9.ply").write_text("hidden")
    (made / "parts/deeper.ply").mkdir()
    shutil.copy(made / "wholes/ball.ply", made / "parts/template.ply")
    knobs = ("-m", runs[0], "--no-pictures", "--read-out", "features", "-q", "-o", tmp_path / "out")
    assert run("match", made / "parts", made / "parts/template.ply", *knobs) == 0
    assert states(tmp_path / "out") == {"part0-template": "done", "part1-template": "done"}


def named(parts: Path, wholes: Path) -> list[tuple[str, str, str]]:
    return [(entry.name, entry.part.name, entry.whole.name) for entry in pair_folders(parts, wholes)]


def test_which_whole_is_meant(tmp_path: Path) -> None:
    scans, wholes = tmp_path / "scans", tmp_path / "wholes"
    for folder, names in ((scans, ("a.ply", "b.stl")), (wholes, ("a.off", "b.off", "c.off"))):
        folder.mkdir()
        for name in names:
            (folder / name).touch()
    alike = [("a", "a.ply", "a.off"), ("b", "b.stl", "b.off")]
    assert named(scans, wholes) == alike
    assert named(scans / "a.ply", wholes) == alike[:1]
    (scans / "d.ply").touch()
    with pytest.raises(
        ValueError, match=r"which of the 3 meshes in .* is the whole of d\.ply\? name them alike, or give"
    ):
        named(scans, wholes)
    (scans / "d.ply").unlink()
    (wholes / "b.ply").touch()
    with pytest.raises(ValueError, match=r"is the whole of b\.stl"):
        named(scans, wholes)
    for name in ("a.off", "b.off", "b.ply"):
        (wholes / name).unlink()
    assert named(scans, wholes) == [("a-c", "a.ply", "c.off"), ("b-c", "b.stl", "c.off")]


def test_a_table_of_results_is_no_list_of_pairs(made: Path) -> None:
    assert list_beside(made / "parts", made / "wholes") == made / "pairs.csv"
    assert list_beside(made / "parts", made / "wholes/ball.ply") is None
    for head in ("name,part,whole,state", "scan,name"):
        (made / "pairs.csv").write_text(f"{head}\na,part0,ball,done\n")
        assert list_beside(made / "parts", made / "wholes") is None


def test_folders_that_hold_nothing(tmp_path: Path, own_set: Path, one_error: Callable[..., str]) -> None:
    (tmp_path / "empty").mkdir()
    whole = own_set / "wholes/ball.ply"
    assert "empty has no meshes; it should hold .off, " in one_error("match", tmp_path / "empty", whole)
    assert "empty has no meshes" in one_error("match", own_set / "parts", tmp_path / "empty")
    assert f"file not found: {tmp_path / 'gone.off'}; give a mesh or a folder" in one_error(
        "match", own_set / "parts", tmp_path / "gone.off"
    )
    assert "holds no mesh but the whole" in one_error("match", own_set / "wholes", whole)
    assert list(tmp_path.iterdir()) == [tmp_path / "empty"]


# --- a cache that is of no use


def below_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PARTWHOLE_CACHE", str(tmp_path / "file/cache"))
    return "Not a directory"


def full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("partwhole.store.storage.FolderStorage.write", no_space)
    return "No space left on device"


@pytest.mark.parametrize("trouble", [below_a_file, full_disk])
def test_a_cache_that_can_not_be_written_stops_nothing(
    trouble: Callable[..., str],
    own_set: Path,
    runs: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    reason = trouble(tmp_path, monkeypatch)
    words = ("match", own_set / "parts/part0.ply", own_set / "wholes/ball.ply", "-m", runs[0], "-o", tmp_path / "out")
    assert run(*words) == 0
    _, err = capsys.readouterr()
    assert err.count("note: nothing is kept for other runs") == 1
    assert f"can't be written ({reason})" in err
    assert {file.name for file in (tmp_path / "out").iterdir()} == FILES | {"map.png", "confidence.png"}
    assert run(*words, "--no-pictures", "--json") == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert sum("nothing is kept" in note for note in notes) == 1
    assert main([*map(str, ("evaluate", "-m", runs[0], "--data", own_set, "--json"))]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert sum("nothing is kept" in note for note in notes) == 1


# --- names of files are anything


def test_names_that_are_markup_or_no_text(own_set: Path, runs: list[Path], tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>|[a](b)\n\udcff.ply"
    try:
        shutil.copy(own_set / "parts/part0.ply", tmp_path / name)
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    knobs = ("-m", runs[0], "--read-out", "features", "--no-pictures", "--no-cache", "-o", tmp_path / "out")
    assert run("match", tmp_path / name, own_set / "wholes/ball.ply", *knobs) == 0
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["part"] == str(tmp_path / name)
    assert summary["confidence"].keys() == {"mean", "quantile_20"}
    text = (tmp_path / "out/summary.md").read_text()
    assert "<img" not in text
    assert text.splitlines()[0].startswith(f"# {tmp_path}/&lt;img src=x onerror=alert(1)&gt;\\|\\[a\\](b)  ")
    assert "](b)" not in text.replace("\\](b)", "")
    listed = tmp_path / "scans"
    listed.mkdir()
    os.replace(tmp_path / name, listed / name)
    assert run("match", listed, own_set / "wholes/ball.ply", *knobs) == 0


# --- what is wrong is one line


def test_what_is_missing(own_set: Path, runs: list[Path], tmp_path: Path, one_error: Callable[..., str]) -> None:
    part, whole = own_set / "parts/part0.ply", own_set / "wholes/ball.ply"
    assert "give a part and a whole, or --pairs" in one_error("match")
    assert "give a part and a whole, or --pairs" in one_error("match", part)
    (tmp_path / "list.csv").write_text("a.ply,b.ply\n")
    assert "not both" in one_error("match", part, whole, "--pairs", tmp_path / "list.csv")
    assert "there is no built-in model 'nobody'" in one_error("match", part, whole, "--model", "nobody")
    assert "file not found: no/where.safetensors" in one_error("match", part, whole, "--model", "no/where.safetensors")
    common = ("--model", runs[0], "-o", tmp_path / "out")
    assert "file not found: nothing.ply; give an OFF" in one_error("match", "nothing.ply", whole, *common)
    assert "units='parsec:m' must be" in one_error("match", part, whole, "--units", "parsec:m", *common)
    assert "up='sky' must be an axis" in one_error("match", part, whole, "--up", "sky", *common)
    write_mesh(read_mesh(part).scaled(1000), tmp_path / "mm.ply")
    told = one_error("match", tmp_path / "mm.ply", whole, "--units", "same", *common)
    assert "a part isn't larger than its whole" in told
    (tmp_path / "file").touch()
    assert "is a file; give a folder" in one_error(
        "match", part, whole, "--model", runs[0], "-o", tmp_path / "file", "-q"
    )
    assert not (tmp_path / "out").exists(), "nothing is left behind by what failed"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("empty.off", "", "is empty"),
        ("points.off", "OFF 3 0 0\n0 0 0\n1 0 0\n0 1 0\n", "no faces"),
        ("nan.off", "OFF 3 1 0\n0 0 0\nnan 0 0\n0 1 0\n3 0 1 2\n", "not finite"),
        ("line.off", "OFF 3 1 0\n0 0 0\n1 0 0\n2 0 0\n3 0 1 2\n", "area 0"),
    ],
)
def test_surfaces_that_are_none(
    own_set: Path, runs: list[Path], tmp_path: Path, one_error: Callable[..., str], name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    assert said in one_error(
        "match", tmp_path / name, own_set / "wholes/ball.ply", "--model", runs[0], "-o", tmp_path / "o"
    )


def test_one_triangle_is_matched_too(own_set: Path, runs: list[Path], tmp_path: Path) -> None:
    write_mesh(Mesh([[0, 0, 0], [0.4, 0, 0], [0, 0.4, 0]], [[0, 1, 2]]), tmp_path / "one.ply")
    words = ("match", tmp_path / "one.ply", own_set / "wholes/ball.ply", "--model", runs[0], "-o", tmp_path / "o", "-q")
    assert run(*words) == 0
    summary = json.loads((tmp_path / "o/summary.json").read_text())
    assert any("3 vertices is too small" in text for text in summary["warnings"])


def test_landmarks_from_files(
    own_set: Path, runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For one part a table with both, for many a folder with files named like the parts; what is missing is told."""
    part, whole = own_set / "parts/part0.ply", own_set / "wholes/ball.ply"
    both = tmp_path / "both.csv"
    both.write_text("scan,template,label\n3,7,nose\n")
    words = ("match", "--model", runs[0], "--no-cache", "--no-pictures", "--yaw-steps", 1, "--up", "y", "--json")
    assert run(*words, part, whole, "--landmarks", both, "-o", tmp_path / "one") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["landmarks"][0] | {"before": None} == {
        "label": "nose",
        "part": 3,
        "whole": 7,
        "before": None,
        "use": "sure",
    }
    assert (
        "| landmarks | 1 of 1 used; without them the error of the map there is"
        in (tmp_path / "one/summary.md").read_text()
    )
    with np.load(tmp_path / "one/map.npz") as held:
        assert held["vertex_map"][3] == 7

    folder, parts = tmp_path / "marks", tmp_path / "parts"
    folder.mkdir()
    parts.mkdir()
    for name in ("part0.ply", "part1.ply"):
        shutil.copy(own_set / "parts" / name, parts)
    (folder / "part1.csv").write_text("label,vertex\nnose,3\n")
    (tmp_path / "ball.csv").write_text("label,vertex\nnose,7\n")
    marks = ("--landmarks", folder, "--landmarks", tmp_path / "ball.csv")
    assert run(*words, parts, whole, *marks, "-o", tmp_path / "many") == 0
    assert "1 part of 2 matched without landmarks" in "".join(json.loads(capsys.readouterr().out)["notes"])
    held = [json.loads((tmp_path / f"many/part{k}-ball/summary.json").read_text())["landmarks"] for k in (0, 1)]
    assert [len(one) for one in held] == [0, 1]
    assert run(*words, parts, whole, *marks, "-o", tmp_path / "many") == 0
    states = [row["state"] for row in json.loads(capsys.readouterr().out)["pairs"]]
    assert states == ["finished before"] * 2
    (folder / "part0.csv").write_text("label,vertex\nnose,3\n")
    assert run(*words, parts, whole, *marks, "-o", tmp_path / "many") == 0
    states = [row["state"] for row in json.loads(capsys.readouterr().out)["pairs"]]
    assert states == ["done", "finished before"]

    both.write_text("scan,template\n3,100000\n")
    for given, told in (
        ((part, whole, "--landmarks", both), "vertex 100000 of ball.ply, which has the vertices 0 to"),
        ((part, whole, "--landmarks", tmp_path / "none.csv"), "file not found: --landmarks"),
        ((part, whole, *("--landmarks", both) * 3), "is given once, for part and whole, or twice"),
        ((parts, whole, "--landmarks", both), "is for one part; for many give a folder"),
    ):
        assert run(*words, *given, "-o", tmp_path / "wrong") == 2
        error = capsys.readouterr().err
        assert told in error
        assert error.count("\n") <= 1
