"""Which pairs are read, whether they fit in memory, and which are held out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from partwhole.cli.shared import data_options
from partwhole.cli.shared.console import Console, StageProgress
from partwhole.cli.shared.data_options import (
    check_memory,
    guess_set,
    hold_out,
    pairs_from,
    read_pairs,
    with_ground_truth,
)
from partwhole.datasets import Pair, Pairs, cut_balls, random_cuts, sphere
from partwhole.mesh.io import write_mesh


def own_folder(folder: Path, parts: int = 2) -> Path:
    for name in ("wholes", "parts", "maps"):
        (folder / name).mkdir(parents=True)
    whole = sphere(150)
    write_mesh(whole, folder / "wholes/ball.ply")
    for k in range(parts):
        cut = cut_balls(whole, [10 * k], 0.5)
        write_mesh(cut.part, folder / f"parts/part{k}.ply")
        np.savez(folder / f"maps/part{k}.npz", vertex_map=cut.vertex_map)
    return folder


@pytest.mark.parametrize(
    ("marks", "name"),
    [
        (["parts", "wholes"], "folder"),
        (["train/parts", "train/wholes"], "folder"),
        (["pfaust/PFAUST-M", "faust_r"], "pfaust-m"),
        (["PFAUST-H"], "pfaust-h"),
        (["PFAUST/PFAUST_H/masks"], "pfaust-h"),
        (["PFAUST_M/masks"], "pfaust-m"),
        (["null", "cuts"], "shrec16-cuts"),
        (["shrec16/null", "shrec16/holes"], "shrec16-holes"),
    ],
)
def test_a_set_is_known_by_its_folders(tmp_path: Path, marks: list[str], name: str) -> None:
    for mark in marks:
        (tmp_path / mark).mkdir(parents=True)
    said: list[str] = []
    assert guess_set(tmp_path, None, note=said.append) == name
    assert said == [f"{tmp_path} is read as --set {name}"]


def test_a_folder_of_the_bundle_says_its_level_in_its_name(tmp_path: Path) -> None:
    for name in ("PFAUST_H", "anything"):
        (tmp_path / name / "masks").mkdir(parents=True)
    assert guess_set(tmp_path / "PFAUST_H", None) == "pfaust-h"
    with pytest.raises(ValueError, match="--set pfaust-m, --set pfaust-h"):
        guess_set(tmp_path / "anything", None)


def test_a_name_that_is_given_is_not_questioned(tmp_path: Path) -> None:
    said: list[str] = []
    assert guess_set(tmp_path, "pfaust-h", note=said.append) == "pfaust-h"
    assert said == []


def test_what_can_not_be_guessed_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no pairs: give a folder with parts/ and wholes/"):
        pairs_from(tmp_path, None, "train")
    for mark in ("pfaust/PFAUST-M", "pfaust/PFAUST-H", "cuts"):
        (tmp_path / mark).mkdir(parents=True)
    with pytest.raises(ValueError, match=r"several data sets; .*--set pfaust-m, --set pfaust-h, --set shrec16-cuts"):
        pairs_from(tmp_path, None, "train")
    with pytest.raises(ValueError, match="--data is missing"):
        pairs_from(None, None, "train")
    with pytest.raises(ValueError, match=r"folder not found: --data .*nowhere"):
        pairs_from(tmp_path / "nowhere", "folder", "train")


def test_missing_files_are_named_with_their_source(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"has no pfaust/PFAUST-M/off, no faust_r.*is published by"):
        pairs_from(tmp_path, "pfaust-m", "train")
    with pytest.raises(FileNotFoundError, match="has no null, no holes: SHREC'16 is published at"):
        pairs_from(tmp_path, "shrec16-holes", "test")
    with pytest.raises(FileNotFoundError, match="has no wholes, no parts"):
        pairs_from(tmp_path, "folder", "all")


def test_a_folder_without_a_split_is_taken_whole(tmp_path: Path) -> None:
    folder = own_folder(tmp_path / "mine")
    said: list[str] = []
    pairs = pairs_from(folder, None, "test", note=said.append)
    assert (len(pairs), pairs.name) == (2, "mine")
    assert said[1] == f"{folder} is not split into train/ and test/, so all its pairs are used"
    said.clear()
    assert len(pairs_from(folder, "folder", "all", note=said.append)) == 2
    assert said == []


def test_a_folder_may_be_split(tmp_path: Path) -> None:
    own_folder(tmp_path / "mine/train", 3)
    own_folder(tmp_path / "mine/test", 1)
    pairs = {split: pairs_from(tmp_path / "mine", None, split) for split in ("train", "test")}
    assert {split: (len(p), p.name) for split, p in pairs.items()} == {
        "train": (3, "mine train"),
        "test": (1, "mine test"),
    }
    assert pairs["test"][0].ground_truth is not None
    with pytest.raises(ValueError, match=r"is split into train/ and test/: choose one with --split"):
        pairs_from(tmp_path / "mine", None, "all")


def shrec16(folder: Path, numbers: range) -> Path:
    for name in ("null", "cuts"):
        (folder / name).mkdir(parents=True)
    write_mesh(sphere(150), folder / "null/cat.off")
    for k in numbers:
        cut = cut_balls(sphere(150), [3], 0.5)
        write_mesh(cut.part, folder / f"cuts/cuts_cat_shape_{k}.off")
        np.savetxt(folder / f"cuts/cuts_cat_shape_{k}.vts", cut.vertex_map + 1, fmt="%d")
    return folder


def test_shrec16_has_a_training_split_or_is_taken_whole(tmp_path: Path) -> None:
    folder = shrec16(tmp_path / "training", range(8, 12))
    assert [len(pairs_from(folder, None, split)) for split in ("train", "test", "all")] == [2, 2, 4]
    contest = shrec16(tmp_path / "contest", range(11, 15))
    assert len(pairs_from(contest, None, "all")) == 4
    with pytest.raises(ValueError, match="--split all for all"):
        pairs_from(contest, None, "test")
    only_tests = shrec16(tmp_path / "tests", range(10, 12))
    with pytest.raises(ValueError, match="has no cuts of the train split"):
        pairs_from(only_tests, None, "train")


def test_bodies_for_tests_are_not_trained_on(tmp_path: Path) -> None:
    train, test, every = (pairs_from(None, "bodies", split) for split in ("train", "test", "all"))
    assert not {part.body for part, _ in train.keys} & {part.body for part, _ in test.keys}
    assert {*train.keys, *test.keys} == {*every.keys}
    assert "test" in test.name
    with pytest.raises(ValueError, match="needs no --data"):
        pairs_from(tmp_path, "bodies", "train")


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["pfaust-m", "pfaust-h", "shrec16-cuts", "shrec16-holes"])
def test_published_sets(data_root: Path, name: str) -> None:
    sizes = [len(pairs_from(data_root, name, split)) for split in ("train", "test", "all")]
    assert sizes[0] > sizes[1] > 0
    assert sizes[0] + sizes[1] == sizes[2]


def test_a_tenth_of_the_parts_is_held_out_with_all_their_pairs() -> None:
    pairs = Pairs([(p, w) for p in range(40) for w in range(3)], lambda p, w: None, name="some")
    kept, validation = hold_out(pairs, seed=1)
    assert len(validation) == 12
    assert {*kept.keys, *validation.keys} == {*pairs.keys}
    assert not {p for p, _ in kept.keys} & {p for p, _ in validation.keys}
    assert hold_out(pairs, seed=1)[1].keys == validation.keys != hold_out(pairs, seed=2)[1].keys


def test_something_is_left_on_both_sides() -> None:
    two = Pairs([(0, 0), (1, 0)], lambda p, w: None, name="two")
    assert [len(side) for side in hold_out(two)] == [1, 1]
    assert [len(side) for side in hold_out(two, share=0.99)] == [1, 1]
    with pytest.raises(ValueError, match=r"one has 1 part\(s\)"):
        hold_out(Pairs([(0, 0), (0, 1)], lambda p, w: None, name="one"))
    with pytest.raises(ValueError, match=r"share=1\.5 of the parts"):
        hold_out(two, share=1.5)


def noted_pairs(*notes: str) -> list[Pair]:
    cut = random_cuts(sphere(200), seed=1)
    made = Pair.of_cut(cut)
    return [Pair(made.part, made.whole, made.ground_truth, name=f"pair {k}", notes=(n,)) for k, n in enumerate(notes)]


def test_notes_of_pairs_are_said_once() -> None:
    console = Console(quiet=True)
    held = read_pairs(Pairs.from_list(noted_pairs("a", "b", "a"), name="three"), console, StageProgress())
    assert [pair.name for pair in held] == ["pair 0", "pair 1", "pair 2"]
    assert console.notes == ["a", "b"]


def test_pairs_without_truth_are_counted() -> None:
    console = Console(quiet=True)
    known, other = noted_pairs("", "")
    bare = Pair(other.part, other.whole, name="bare")
    assert with_ground_truth([known, bare], "two", console) == [known]
    assert console.notes == ["two: 1 of 2 pairs have no ground truth and are left out"]
    with pytest.raises(ValueError, match="one: none of the 1 pairs has ground truth"):
        with_ground_truth([bare], "one", console)


def test_each_surface_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair.of_cut(random_cuts(sphere(200), seed=1))
    part, whole = pair.part.n_vertices, pair.whole.n_vertices
    for_loss, for_errors = 4 * (2 * part**2 + 11 * whole**2), 4 * 11 * whole**2
    monkeypatch.setattr(data_options, "free_memory", lambda: for_loss)
    with pytest.raises(ValueError, match="GiB are free in memory"):
        check_memory([pair, pair], device="cpu", for_loss=True, whole_masks=True)
    for needed, wanted in ((for_loss, True), (for_errors, False)):
        monkeypatch.setattr(data_options, "free_memory", lambda needed=needed: needed)
        check_memory([pair, pair], device="cpu", for_loss=wanted)
        monkeypatch.setattr(data_options, "free_memory", lambda needed=needed: needed - 1)
        with pytest.raises(ValueError, match=r"GiB are free in memory; take fewer pairs, or smaller meshes"):
            check_memory([pair, pair], device="cpu", for_loss=wanted)


def test_on_a_gpu_its_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair.of_cut(random_cuts(sphere(200), seed=1))
    monkeypatch.setattr(data_options, "free_gpu_memory", lambda: 100)
    with pytest.raises(ValueError, match=r"distances on 1 part and 1 whole take .* free on the GPU"):
        check_memory([pair], device="cuda", for_loss=True)
    check_memory([pair], device="cuda", for_loss=False)


def test_training_and_evaluation_ask(
    own_set: Path,
    runs: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    one_error: Callable[..., str],
) -> None:
    monkeypatch.setattr(data_options, "free_memory", lambda: 100)
    assert "4 parts and 1 whole take" in one_error("train", "--data", own_set, "-o", tmp_path / "run")
    assert "distances on 1 whole take" in one_error("evaluate", "--data", own_set, "-m", runs[0])
