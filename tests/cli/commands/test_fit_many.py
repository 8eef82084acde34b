"""`partwhole fit` with many scans: every one is accounted for, and those that were fitted are compared."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from partwhole.cli.commands.fit import FITS
from partwhole.cli.main import main
from partwhole.cli.shared.batch.entries import PairEntry
from partwhole.cli.shared.batch.run import count_states, raise_failures, work_through
from partwhole.cli.shared.console import Console
from partwhole.mesh import read_mesh

QUICK = ("--read-out", "features", "--yaw-steps", 1)


def run(*words: object) -> int:
    return main([*map(str, words)])


def rows_of(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "fits.csv").open() as file:
        return {row["name"]: row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def scans(own_set: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two scans, one file that is none, and their template among them."""
    folder = tmp_path_factory.mktemp("many") / "scans"
    folder.mkdir()
    for name in ("part0.ply", "part1.ply"):
        shutil.copy(own_set / "parts" / name, folder / name)
    (folder / "bad.ply").write_text("ply\nnonsense")
    shutil.copy(own_set / "wholes/ball.ply", folder / "ball.ply")
    return folder


@pytest.fixture(scope="module")
def fitted(scans: Path, runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them fitted, with pictures and statistics."""
    folder = tmp_path_factory.mktemp("fitted") / "all"
    words = ("fit", scans, scans / "ball.ply", "-m", runs[0], *QUICK, "--no-cache", "--statistics", "-o", folder, "-q")
    assert run(*words) == 2
    return folder


def test_every_scan_is_accounted_for(fitted: Path) -> None:
    rows = rows_of(fitted)
    assert {name: row["state"] for name, row in rows.items()} == {"bad": "failed", "part0": "fitted", "part1": "fitted"}
    assert "bad.ply" in rows["bad"]["reason"]
    assert sum(float(rows["part0"][name]) for name in ("seen", "between", "unseen")) == pytest.approx(1)
    assert float(rows["part0"]["expected_error"]) > 0
    assert not (fitted / "bad").exists()
    summary = json.loads((fitted / "part1/fit.json").read_text())
    assert summary["scan"].endswith("part1.ply")
    assert summary["choices"]["read_out"] == "features"


def test_one_page_shows_all_of_them_worst_first(fitted: Path) -> None:
    page = (fitted / "gallery.html").read_text()
    assert page.index('<section id="r0" class="card failed">') < page.index('<section id="r1"')
    assert "<h2>bad " in page[page.index('id="r0"') : page.index('id="r1"')]
    # the scans and the statistics
    assert page.count("data:image/jpeg;base64,") == 3
    assert 'href="./part0/"' in page
    assert "Mean shape and principal components" in page


def test_statistics_of_what_was_fitted(fitted: Path, scans: Path) -> None:
    template, mean = read_mesh(scans / "ball.ply"), read_mesh(fitted / "statistics/mean.ply")
    assert np.array_equal(mean.faces, template.faces)
    # it stands as the template, in its units
    assert mean.area == pytest.approx(template.area, rel=0.3)
    assert {path.name for path in (fitted / "statistics").iterdir()} == {
        "mean.ply",
        *("component-1-minus.ply", "component-1-plus.ply"),
        *("components.csv", "components.npz", "components.png", "scores.csv"),
    }
    with (fitted / "statistics/scores.csv").open() as file:
        assert [row["name"] for row in csv.DictReader(file)] == ["part0", "part1"]


def test_nothing_is_written_that_is_not_declared(fitted: Path, undeclared: Callable[..., list[Path]]) -> None:
    declared = [FITS.table, *FITS.of_all, *(f"{name}/{file}" for name in ("part0", "part1") for file in FITS.writes)]
    assert undeclared(fitted, declared) == []


def test_it_goes_on_where_it_was(
    fitted: Path, scans: Path, runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "all"
    shutil.copytree(fitted, folder)
    # as if it had been killed there
    (folder / "part1/fit.json").unlink()
    words = ("fit", scans, scans / "ball.ply", "-m", runs[0], *QUICK, "-o", folder)
    assert run(*words, "--statistics", "--seen-only") == 2
    out, err = capsys.readouterr()
    assert "3 scans: 1 fitted, 1 unchanged, 1 failed" in out
    assert f"wrote {folder / 'gallery.html'}" in out
    assert "error: 1 of 3 scans could not be fitted; the first is bad:" in err
    with np.load(folder / "statistics/components.npz") as held:
        assert held["seen"].shape == (2, read_mesh(scans / "ball.ply").n_vertices)


def test_fits_that_can_not_be_compared_are_in_the_gallery_all_the_same(
    fitted: Path, scans: Path, runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "all"
    shutil.copytree(fitted, folder)
    (folder / "gallery.html").unlink()
    with np.load(folder / "part1/fit.npz") as held:
        arrays = dict(held)
    np.savez(folder / "part1/fit.npz", **{**arrays, "faces": arrays["faces"][::-1]})
    assert run("fit", scans, scans / "ball.ply", "-m", runs[0], *QUICK, "-o", folder, "--statistics", "--json") == 2
    summary = json.loads(capsys.readouterr().out)
    assert any(note.startswith("no statistics: shapes[1] has another triangulation") for note in summary["notes"])
    assert (folder / "gallery.html").is_file()


def test_a_list_with_landmarks(
    scans: Path, runs: list[Path], own_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ball = scans / "ball.ply"
    lines = ("scan,template,name", f"{scans / 'part0.ply'},{ball},first", f"{tmp_path / 'gone.ply'},{ball}")
    (tmp_path / "list.csv").write_text("\n".join(lines))
    with np.load(own_set / "maps/part0.npz") as held:
        truth = held["vertex_map"]
    (tmp_path / "marks").mkdir()
    rows = "".join(f"{vertex},{truth[vertex]}\n" for vertex in (3, 40))
    (tmp_path / "marks/part0.csv").write_text(f"scan,template\n{rows}")
    words = ("fit", "--pairs", tmp_path / "list.csv", "-m", runs[0], *QUICK, "--no-picture", "-o", tmp_path / "out")
    assert run(*words, "--landmarks", tmp_path / "marks", "--statistics", "--json") == 2
    summary = json.loads(capsys.readouterr().out)
    assert [(row["name"], row["state"]) for row in summary["scans"]] == [("first", "fitted"), ("gone", "failed")]
    assert "1 scan of 2 fitted without landmarks: no file is named like them" in summary["notes"]
    assert "no statistics: they need at least two fitted scans, and there are 1" in summary["notes"]
    assert "data:image" not in (tmp_path / "out/gallery.html").read_text()
    told = json.loads((tmp_path / "out/first/fit.json").read_text())
    assert told["landmark_files"] == [str(tmp_path / "marks/part0.csv")]
    assert "2 landmarks held" in told["notes"]


def test_what_can_not_be_asked_for(scans: Path, own_set: Path, tmp_path: Path, one_error: Callable[..., str]) -> None:
    scan, ball = scans / "part0.ply", scans / "ball.ply"
    assert "--seen-only says what counts in --statistics" in one_error("fit", scans, ball, "--seen-only")
    assert "give a folder of scans or --pairs" in one_error("fit", scan, ball, "--statistics")
    assert one_error("fit", scan) == "give a scan and a template, or --pairs with a list of them"
    assert one_error("fit", scan, ball, "--pairs", "x.csv") == "give a scan and a template, or --pairs, not both"
    (tmp_path / "list.csv").write_text(f"{scan},{ball}\n{scan},{own_set / 'parts/part1.ply'}\n")
    told = one_error("fit", "--pairs", tmp_path / "list.csv", "--statistics")
    assert "--statistics needs one template for all scans; these have" in told


def test_no_failure_stops_the_rest(scans: Path, tmp_path: Path) -> None:
    entries = [PairEntry(name, scans / f"{name}.ply", scans / "ball.ply") for name in ("part0", "part1")]

    def fails(entry: PairEntry, place: Path) -> dict[str, object]:
        raise RuntimeError("Factor is\nsingular")

    rows = work_through(entries, tmp_path, FITS, {}, fails, Console(quiet=True))
    assert [row["reason"] for row in rows] == ["unexpected RuntimeError: Factor is singular"] * 2
    assert count_states(rows, FITS) == "2 scans: 2 failed"
    with pytest.raises(
        ValueError, match="2 of 2 scans could not be fitted; the first is part0: unexpected RuntimeError"
    ):
        raise_failures(rows, FITS)
