"""Models, devices, memory and the cache; and no command overwrites a file that it reads."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from partwhole.cli.commands import dataset, embed, evaluate, mask
from partwhole.cli.main import main
from partwhole.cli.shared import match_output as match_folder
from partwhole.cli.shared.console import Console
from partwhole.cli.shared.options import (
    RUN_FILES,
    below,
    check_file,
    check_folder,
    check_torch,
    free_memory,
    load_model,
    load_models,
    model_file,
    open_cache,
    output_folder,
    written,
)
from partwhole.datasets import sphere
from partwhole.mesh.io import write_mesh


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- the mechanism: ways to reach the file `scans/a.dat` as `result.dat` in a folder of results


def plain(root: Path) -> Path:
    os.replace(root / "scans/a.dat", root / "scans/result.dat")
    return root / "scans"


def linked_folder(root: Path) -> Path:
    plain(root)
    (root / "results").symlink_to(root / "scans")
    return root / "results"


def linked_file(root: Path) -> Path:
    (root / "results").mkdir()
    (root / "results/result.dat").symlink_to("../scans/a.dat")
    return root / "results"


def hard_link(root: Path) -> Path:
    (root / "results").mkdir()
    os.link(root / "scans/a.dat", root / "results/result.dat")
    return root / "results"


def round_about(root: Path) -> Path:
    plain(root)
    (root / "results").mkdir()
    return root / "results/../scans"


WAYS = [plain, linked_folder, linked_file, hard_link, round_about]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pattern", ["result.dat", "res*.dat", "*"])
def test_a_file_is_known_by_whatever_name(way: Callable[[Path], Path], pattern: str, tmp_path: Path) -> None:
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans/a.dat").write_text("mine")
    folder = way(tmp_path)
    read = next((tmp_path / "scans").iterdir())
    for reads in ([None, read], [tmp_path / "scans"]):
        with pytest.raises(
            ValueError, match=rf"^--output {folder} would overwrite .*\.dat, which is read; give another f"
        ):
            check_folder(folder, [pattern], reads)
    with pytest.raises(ValueError, match=r"^--export .* would overwrite .*, which is read; give another name$"):
        check_file(folder / "result.dat", [read], option="--export")
    check_folder(folder, ["other.dat", "deeper/*"], [read])
    check_folder(folder, [pattern], [tmp_path / "gone", tmp_path / "other"])


def test_a_path_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans/a.dat").touch()
    monkeypatch.chdir(tmp_path / "scans")
    with pytest.raises(ValueError, match=r"--output . would overwrite ../scans/a.dat"):
        check_folder(Path("."), ["a.dat"], [Path("../scans/a.dat")])


def test_a_file_is_no_folder_for_results(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="file is a file; give a folder"):
        check_folder(tmp_path / "file", [])
    with pytest.raises(ValueError, match=r"--report .*/below/it would lie below the file .*/file; give a folder"):
        check_folder(tmp_path / "file/below/it", [], option="--report")
    check_folder(tmp_path / "new/folder", ["*", "a/*"])


# --- each command: what it reads lies where it would write, and is still there afterwards


@pytest.fixture
def place(tmp_path: Path, own_set: Path, runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a part, a whole, points, a list and a model, each called as some result is, and a set of pairs."""
    root = tmp_path / "place"
    shutil.copytree(own_set, root / "set")
    for name, source in (("part.ply", "parts/part0.ply"), ("whole.ply", "wholes/ball.ply")):
        shutil.copy(own_set / source, root / name)
    for name in ("pairs.csv", "fits.csv"):
        (root / name).write_text("part,whole\npart.ply,whole.ply\n")
    shutil.copy(root / "part.ply", root / "fitted.ply")
    (root / "labels.csv").write_text("label\n1\n")
    (root / "found").mkdir()
    (root / "found/map.npz").touch()
    (root / "found/result.json").write_text('{"file": "arrays.npz", "surfaces": {"scan.ply": []}}')
    for name in ("arrays.npz", "scan.ply"):
        (root / "found" / name).touch()
    np.savetxt(root / "coordinates.csv", np.random.default_rng(0).normal(size=(40, 3)), delimiter=",")
    shutil.copy(runs[0] / "model.safetensors", root / "model.safetensors")
    (root / "results").mkdir()
    monkeypatch.chdir(root)
    return root


COMMANDS = {
    "match": "match part.ply whole.ply -o {}",
    "match, report": "match part.ply whole.ply --report {}",
    "match, list": "match --pairs pairs.csv -o {}",
    "fit": "fit fitted.ply whole.ply -o {}",
    "fit, report": "fit fitted.ply whole.ply --report {}",
    "fit, list": "fit --pairs fits.csv -o {}",
    "transfer": "transfer found labels.csv -o {}",
    "embed": "embed coordinates.csv -o {}",
    "train": "train --data set --start model.safetensors -o {}",
    "train, teacher": "train --data set --teacher model.safetensors -o {}",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("way", ["plain", "linked folder", "linked file", "hard link", "round about"])
def test_a_command_refuses_before_anything_is_done(
    command: str, way: str, place: Path, one_error: Callable[..., str]
) -> None:
    names = [path.name for path in place.iterdir() if path.is_file()]
    folder = {"plain": ".", "linked folder": "link", "round about": "results/../../place"}.get(way, "results")
    if way == "linked folder":
        (place / "link").symlink_to(".")
    for name in names:
        if way == "linked file":
            (place / "results" / name).symlink_to(place / name)
        if way == "hard link":
            os.link(place / name, place / "results" / name)
    before = contents(place)
    told = one_error(*command.format(folder).split(), "--quiet")
    assert f"{folder} would overwrite " in told
    assert told.endswith("which is read; give another folder")
    assert contents(place) == before


LINKED = {
    "mask": ("mask part.ply --whole whole.ply -o results", "masks.npz", "whole.ply"),
    "embed, boundary": ("embed coordinates.csv --boundary rim.txt -o results", "coordinates.npy", "rim.txt"),
    "match, weights": ("match part.ply whole.ply -m model.safetensors -o results", "map.npz", "model.safetensors"),
    "match, folder": ("match set/parts whole.ply -o results", "part1-whole/part.ply", "set/parts/part1.ply"),
    "match, another pair": ("match set/parts whole.ply -o results", "part1-whole/part.ply", "set/parts/part0.ply"),
    "match, list in a folder": ("match --pairs pairs.csv -o results", "part-whole/map.csv", "pairs.csv"),
    "fit, landmarks": ("fit part.ply whole.ply --landmarks labels.csv -o results", "fit.json", "labels.csv"),
    "fit, page": ("fit part.ply whole.ply --report results", "report.html", "whole.ply"),
    "fit, folder": ("fit set/parts whole.ply -o results", "part1/fitted.ply", "set/parts/part0.ply"),
    "fit, gallery": ("fit set/parts whole.ply -o results", "gallery.html", "whole.ply"),
    "fit, statistics": ("fit set/parts whole.ply -o results", "statistics/mean.ply", "whole.ply"),
    "fit, weights": ("fit part.ply whole.ply -m model.safetensors -o results", "fit.npz", "model.safetensors"),
    "transfer, map": ("transfer found labels.csv -o results", "transfer.json", "found/map.npz"),
    "transfer, saved": ("transfer found labels.csv -o results", "labels.csv", "found/arrays.npz"),
    "transfer, surface": ("transfer found labels.csv -o results", "labels.csv", "found/scan.ply"),
    "transfer, picture": ("transfer found worn.obj -o results", "worn.png", "skin/wool.png"),
    "transfer, materials": ("transfer found worn.obj -o results", "worn.mtl", "skin/worn.mtl"),
    "transfer, coordinates": ("transfer found labels.csv --uv worn.obj -o results", "transfer.json", "skin/worn.mtl"),
    "dataset make": ("dataset make --from set/wholes -o results", "wholes/x.ply", "set/wholes/ball.ply"),
    "evaluate": ("evaluate -m model.safetensors --data set -o results", "summary.json", "set/maps/part0.npz"),
    "evaluate, report": ("evaluate -m model.safetensors --data set --report results", "report.md", "model.safetensors"),
    "train": ("train --data set -o results", "losses.csv", "set/parts/part0.ply"),
    "demo": ("demo -m model.safetensors -o results", "match/map.csv", "model.safetensors"),
    "figures": ("reproduce figures -m model.safetensors -o results", "maps-x.png", "model.safetensors"),
    "pfaust": ("reproduce pfaust --data set -m model.safetensors -o results", "pfaust-m.txt", "model.safetensors"),
    "pfaust, runs": (
        "reproduce pfaust --data set -o results",
        "pfaust-m/seed-0/state.safetensors",
        "set/maps/part1.npz",
    ),
    "ablation": (
        "reproduce ablation --set pfaust-h --data set -o results",
        "soft-c_w/seed-1/losses.csv",
        "set/maps/part1.npz",
    ),
    "consistent pairs": ("reproduce consistent-pairs --data set -o results", "results.jsonl", "set/maps/part1.npz"),
    "view": ("view part.ply whole.ply --export results/page.html", "page.html", "whole.ply"),
    "view, truth": ("view part.ply --truth truth.vts --export results/page.html", "page.html", "truth.vts"),
    "view, saved": ("view found --export results/page.html", "page.html", "found/arrays.npz"),
    "view, model": ("view part.ply whole.ply -m model.safetensors --export a.html", "../a.html", "model.safetensors"),
}


@pytest.mark.parametrize(("command", "written_as", "read"), LINKED.values(), ids=LINKED)
@pytest.mark.parametrize("way", ["link", "hard link"])
def test_results_that_are_links_to_what_is_read(
    command: str, written_as: str, read: str, way: str, place: Path, one_error: Callable[..., str]
) -> None:
    (place / "rim.txt").write_text("0\n1\n")
    (place / "truth.vts").write_text("1\n")
    (place / "skin").mkdir()
    (place / "skin/wool.png").touch()
    (place / "skin/worn.mtl").write_text("newmtl wool\nmap_Kd -clamp on wool.png\n")
    (place / "worn.obj").write_text("mtllib skin/worn.mtl\n")
    target = place / "results" / written_as
    target.parent.mkdir(parents=True, exist_ok=True)
    if way == "link":
        target.symlink_to(place / read)
    else:
        os.link(place / read, target)
    before = contents(place)
    told = one_error(*command.split(), "--quiet")
    assert " would overwrite " in told
    assert Path(read).name + ", which is read; give another " in told
    assert contents(place) == before


def test_a_result_is_not_matched_into_itself(place: Path, one_error: Callable[..., str]) -> None:
    (place / "scan-match").mkdir()
    shutil.copy("part.ply", "scan-match/part.ply")
    told = one_error("match", "scan-match/part.ply", "whole.ply", "-o", "scan-match")
    assert told == "--output scan-match would overwrite scan-match/part.ply, which is read; give another folder"


def test_the_folder_of_a_run_may_hold_its_results(place: Path, runs: list[Path]) -> None:
    """Weights are read there, and nothing that is written is called as they are."""
    shutil.copytree(runs[0], place / "run")
    words = ["match", "part.ply", "whole.ply", "-m", "run", "-o", "run", "--no-pictures", "-q", "--no-cache"]
    for _ in range(2):
        assert main(words) == 0


# --- what is declared is what is written; commands that take long are run by tests of their own, which look at this too


def test_what_commands_write_is_declared(
    place: Path, runs: list[Path], tmp_path: Path, undeclared: Callable[..., list[Path]]
) -> None:
    out = tmp_path / "out"

    def ran(command: str, writes: Sequence[str], *more: str) -> None:
        shutil.rmtree(out, ignore_errors=True)
        assert main([*command.split(), *more, "-q"]) == 0
        assert undeclared(out, writes) == []
        assert list(written(out, writes)), "something was written"

    ran(f"mask part.ply --soft -o {out}", mask.WRITES)
    ran(f"embed coordinates.csv -o {out}", embed.WRITES)
    ran(f"match part.ply whole.ply -m model.safetensors --report {out} --refine 1", match_folder.WRITES)
    ran(
        f"match --pairs pairs.csv -m model.safetensors -o {out}",
        ("pairs.csv", *below("part-whole", match_folder.WRITES)),
    )
    ran(f"evaluate -m model.safetensors --data set --report {out}", evaluate.WRITES)
    write_mesh(sphere(300), place / "results/ball.ply")
    ran(f"dataset make --from results --recipe holes -o {out}", dataset.WRITES)
    assert undeclared(runs[0], RUN_FILES) == []


def test_undeclared_files_are_found(tmp_path: Path, undeclared: Callable[..., list[Path]]) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a/x.txt", "b.txt"):
        (tmp_path / name).touch()
    assert undeclared(tmp_path, ["*.txt"]) == [tmp_path / "a/x.txt"]


# --- models, devices, memory, the cache


def test_there_is_some_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert free_memory() > 1 << 20

    def unreadable(*_: object, **__: object) -> str:
        raise OSError

    monkeypatch.setattr(Path, "read_text", unreadable)
    assert free_memory() == 4 << 30


def test_torch_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    check_torch("cpu")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r'networks need torch: .* -m pip install "torch>='):
        check_torch("cpu")


def test_a_device_that_is_not_there_is_named_as_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"^--device cuda needs a CUDA device.*use --device cpu$"):
        check_torch("cuda")


def test_the_cache_is_that_of_the_user_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARTWHOLE_CACHE", "somewhere")
    console = Console(quiet=True)
    found = open_cache(True, console)
    assert found is not None
    assert found.folder.name == "somewhere"
    assert open_cache(False, console) is None
    assert console.notes == []


def test_a_cache_without_a_place_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARTWHOLE_CACHE", "~/kept")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as where nobody knows the user
    console = Console(quiet=True)
    assert open_cache(True, console) is None
    assert console.notes == [
        "nothing is cached for other runs: there is no folder for the cache, since you have no home folder; "
        "set PARTWHOLE_CACHE"
    ]


def test_a_run_stands_for_its_weights(runs: list[Path]) -> None:
    assert model_file(runs[0]) == runs[0] / "model.safetensors"
    assert model_file(runs[0] / "validated.safetensors") == runs[0] / "validated.safetensors"
    loaded = load_models([*runs, runs[0] / "validated.safetensors"], "cpu")
    assert list(loaded) == ["one", "two", "one/validated"]
    assert [matcher.card["weights"] for matcher in loaded.values()] == ["final", "final", "validated"]
    assert [matcher.config.optimisation.seed for matcher in loaded.values()] == [0, 1, 0]


def test_what_is_no_model_is_said(runs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"state\.safetensors is for resuming a run; give its folder"):
        model_file(runs[0] / "state.safetensors")
    with pytest.raises(ValueError, match=r"has no model\.safetensors; give the folder of a run"):
        model_file(tmp_path)
    (tmp_path / "state.safetensors").touch()
    with pytest.raises(ValueError, match="is not complete; resume it: partwhole train --resume"):
        model_file(tmp_path)
    with pytest.raises(ValueError, match=r"model\.safetensors is given twice"):
        load_models([runs[0], runs[0] / "model.safetensors"], "cpu")


def test_one_model_is_called_as_its_file_or_run(runs: list[Path]) -> None:
    assert load_model(str(runs[1]), "cpu").card["name"] == "two"
    assert load_model(str(runs[0] / "validated.safetensors"), "cpu").card["name"] == "one/validated"
    with pytest.raises(ValueError, match="there is no built-in model 'nobody'"):
        load_model("nobody", "cpu")


def test_the_output_folder_is_made_and_a_file_is_refused(tmp_path: Path) -> None:
    assert output_folder(tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"--output .*file is a file; give a folder"):
        output_folder(tmp_path / "file")
