"""`partwhole reproduce pfaust` and `shrec16` from end to end, on small sets laid out like the published ones."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwhole.cli.main import main
from partwhole.experiments.matching import study
from partwhole.experiments.matching.benchmarks import described, parsed_seeds, preset_series
from partwhole.experiments.matching.training_runs import WRITES
from partwhole.matching import PRESETS
from partwhole.store.arguments import how_to_install


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders of the runs that were trained, as SERIES/seed-K."""
    seen: list[str] = []
    really = study.train

    def train(*arguments: Any, **knobs: Any) -> Any:
        seen.append("/".join(Path(knobs["folder"]).parts[-2:]))
        return really(*arguments, **knobs)

    monkeypatch.setattr(study, "train", train)
    return seen


@pytest.fixture
def words(small_network: list[str], published_sets: Path) -> Callable[..., list[str]]:
    def make(what: str, *more: object) -> list[str]:
        few = ["--iterations", "4", "--with", "evaluate_every=2", "--workers", "1"]
        return ["reproduce", what, "--data", str(published_sets), *few, *small_network, *map(str, more)]

    return make


def cells(text: str, label: str) -> list[list[str]]:
    """The lines of a printed table that begin with this label, as cells."""
    rows = [line.strip() for line in text.splitlines() if line.strip().startswith(f"{label}  ")]
    return [[cell.strip() for cell in re.split(r"\s{2,}", row)] for row in rows]


def test_pfaust_from_end_to_end(
    words: Callable[..., list[str]],
    tmp_path: Path,
    trainings: list[str],
    capsys: pytest.CaptureFixture[str],
    undeclared: Callable[..., list[Path]],
) -> None:
    out = tmp_path / "out"
    command = words("pfaust", "--presets", "pfaust-h", "--set", "H", "--seeds", "0,1", "-o", out)
    assert main(command) == 0
    text, err = capsys.readouterr()
    assert err == ""
    assert trainings == ["pfaust-h/seed-0", "pfaust-h/seed-1"]
    assert undeclared(out, WRITES) == []

    # every evaluation: a line an iteration, two columns a seed
    assert "pfaust-h: every evaluation on PFAUST-H test; errors × 100, spectral" in text
    found = {int(row[0]): row[1:] for row in [*cells(text, "2"), *cells(text, "4")]}
    assert sorted(found) == [2, 4]
    assert all(len(row) == 4 for row in found.values())

    # the published rows first, then ours by what they are
    assert cells(text, "Wormhole, unsupervised") == [["Wormhole, unsupervised", "6.70", "–", "–", "–", "–", "[1]"]]
    spectral, features, best = (
        cells(text, f"pfaust-h, {what}")[0] for what in ("spectral", "features", "spectral, best-on-test")
    )
    assert text.index("Wormhole, unsupervised") < text.index("pfaust-h, spectral  ")
    finals = [float(found[4][column]) for column in (0, 2)]
    assert float(spectral[1].split(" ± ")[0]) == pytest.approx(np.mean(finals), abs=0.01)
    bests = [min(float(found[k][column]) for k in found) for column in (0, 2)]
    assert float(best[1].split(" ± ")[0]) == pytest.approx(np.mean(bests), abs=0.01)
    assert len({row[-1] for row in (spectral, features, best)}) == 3
    assert "spectral read-out, unrefined; final weights, seeds 0, 1" in text
    assert "spectral read-out, unrefined; weights picked on the test set, seeds 0, 1" in text
    assert "pfaust-h: the paper's settings, here with width=8" in text

    names = {"pfaust-h.txt", "pfaust-h.md", "pfaust-h.tex", "pfaust-h-pck.png", "pfaust-h-evaluations.csv"}
    assert {path.name for path in out.iterdir() if path.is_file()} == {*names, "summary.json"}
    assert {path.name for path in (out / "pfaust-h-pairs").iterdir()} == {
        f"pfaust-h-seed-{seed}-{read_out}.csv" for seed in (0, 1) for read_out in ("spectral", "features")
    }
    assert len((out / "pfaust-h-pairs/pfaust-h-seed-1-features.csv").read_text().splitlines()) == 41
    assert "best-on-test" in (out / "pfaust-h.md").read_text()
    assert len((out / "pfaust-h-evaluations.csv").read_text().splitlines()) == 5

    # with one seed more, that is all that is left to do; what was there is read, and found the same
    before = json.loads((out / "summary.json").read_text())["sets"]["pfaust-h"]["rows"]
    assert main([*command, "--seeds", "0,1,5", "--json"]) == 0
    said, err = capsys.readouterr()
    assert err == ""
    summary = json.loads(said)
    assert trainings[2:] == ["pfaust-h/seed-5"]
    assert (summary["complete"], summary["failed"]) == (True, [])
    assert [(run["seed"], run["trained"]) for run in summary["runs"]] == [(0, False), (1, False), (5, True)]
    assert all(run["seconds"] > 0 for run in summary["runs"])
    of_set = summary["sets"]["pfaust-h"]
    assert (of_set["test"], of_set["pairs"]) == ("PFAUST-H test", 40)
    assert [(row["weights"], row["read_out"], row["seeds"]) for row in of_set["rows"]] == [
        ("final", "spectral", [0, 1, 5]),
        ("final", "features", [0, 1, 5]),
        ("best-on-test", "spectral", [0, 1, 5]),
    ]
    for row, earlier in zip(of_set["rows"], before, strict=True):
        assert row["measures"]["macro"]["values"][:2] == earlier["measures"]["macro"]["values"]
    micro = of_set["rows"][0]["measures"]["micro"]
    assert micro["mean"] == pytest.approx(np.mean(micro["values"]))
    assert micro["deviation"] == pytest.approx(np.std(micro["values"], ddof=1))
    evaluations = [(e["seed"], e["iteration"]) for e in of_set["evaluations"]]
    assert evaluations == [(seed, iteration) for seed in (0, 1, 5) for iteration in (2, 4)]
    assert of_set["published"]["Wormhole, unsupervised"] == {"micro": 6.7}


def test_shrec16_is_tested_both_ways_and_called_a_split(
    words: Callable[..., list[str]], tmp_path: Path, trainings: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    presets = "shrec16-cuts,shrec16-holes"
    assert main(words("shrec16", "--presets", presets, "--seeds", "0", "-o", tmp_path / "out")) == 0
    text, err = capsys.readouterr()
    assert err == ""
    assert trainings == ["shrec16-cuts/seed-0", "shrec16-holes/seed-0"]
    holes = text[text.index("SHREC'16 HOLES training split, test (a split of the contest's training shapes") :]
    for table, published in ((text, "6.90"), (holes, "10.90")):
        rows = cells(table, "Wormhole, unsupervised [official test shapes]")
        assert rows[0][1] == published
    for trained in ("shrec16-cuts, trained on CUTS", "shrec16-holes, trained on HOLES"):
        for what in ("spectral", "features", "spectral, best-on-test"):
            assert len(cells(text, f"{trained}, {what}")) == 2
    assert "Published: the official test shapes of the contest, which are other shapes." in text
    assert "refined" not in "".join(line for line in text.splitlines() if "[official test shapes]" in line)
    for name in ("shrec16-cuts", "shrec16-holes"):
        assert "a split of the contest's training shapes" in (tmp_path / f"out/{name}.md").read_text()
    # one seed has no deviation
    assert (
        json.loads((tmp_path / "out/summary.json").read_text())["sets"]["shrec16-cuts"]["rows"][0]["measures"]["micro"][
            "deviation"
        ]
        is None
    )


def test_an_interrupted_study_goes_on(
    words: Callable[..., list[str]], tmp_path: Path, trainings: list[str], capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = words("shrec16", "--set", "holes", "--presets", "shrec16-holes", "--seeds", "0,1", "-o", tmp_path / "out")
    really = study.train

    def stops_in_the_second_run(*arguments: Any, heartbeat: Any, **knobs: Any) -> Any:
        def beat(state: Any) -> None:
            heartbeat(state)
            if "seed-1" in str(knobs["folder"]):
                raise KeyboardInterrupt

        return really(*arguments, heartbeat=beat, **knobs)

    with monkeypatch.context() as patch:
        patch.setattr(study, "train", stops_in_the_second_run)
        assert main([*command, "--json"]) == 130
    said = json.loads(capsys.readouterr().out)
    assert (said["complete"], said["runs_done"]) == (False, 1)
    assert "run the same command again to resume" in said["notes"][-1]
    assert (tmp_path / "out/shrec16-holes/seed-1/state.safetensors").exists()
    trainings.clear()
    assert main(command) == 0
    assert trainings == ["shrec16-holes/seed-1"]
    text = capsys.readouterr().out
    assert "run 1 of 2: shrec16-holes, trained on HOLES, seed 0, finished before" in text
    assert "run 2 of 2: shrec16-holes, trained on HOLES, seed 1, 4 iterations in" in text
    before = (tmp_path / "out/shrec16-holes.md").read_text()
    assert main([*command, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "out/shrec16-holes.md").read_text() == before
    assert len(trainings) == 1

    # other choices would be another study
    assert main([*command, "--with", "rotation=30"]) == 2
    assert "seed-0 had rotation=90.0, now it is 30.0; use the same settings" in capsys.readouterr().err


def test_one_failed_run_does_not_lose_the_others(
    words: Callable[..., list[str]], tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = study.train
    lost = {"seed-0"}

    def train(*arguments: Any, **knobs: Any) -> Any:
        if Path(knobs["folder"]).name in lost:
            raise RuntimeError("CUDA out of memory.\nTried to allocate more than there is")
        return really(*arguments, **knobs)

    monkeypatch.setattr(study, "train", train)
    command = words("shrec16", "--set", "holes", "--presets", "shrec16-holes", "--seeds", "0,1", "-o", tmp_path / "out")
    assert main(command) == 1
    text, err = capsys.readouterr()
    reason = "RuntimeError: CUDA out of memory. Tried to allocate more than there is"
    assert err == f"note: run 1 of 2 failed (shrec16-holes, trained on HOLES, seed 0): {reason}\n"
    assert "final weights, seed 1" in text
    assert "1 runs failed and are not in the tables" in text
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["failed"] == [{"series": "shrec16-holes", "seed": 0, "reason": reason}]

    lost.add("seed-2")
    assert main([*command, "--seeds", "0,2"]) == 2
    assert f"all 2 runs failed; the first one: {reason}" in capsys.readouterr().err
    lost.clear()
    with monkeypatch.context() as patch:
        patch.setattr("partwhole.cli.shared.data_options.free_memory", lambda: 1000)
        # what is there needs no distances
        assert main([*command, "--seeds", "1", "--quiet"]) == 0
        assert main([*command, "--seeds", "2"]) == 2
        assert "all 1 runs failed; the first one: distances on 2 parts and 1 whole take" in capsys.readouterr().err
    assert main([*command, "--quiet"]) == 0


def test_models_that_are_there_are_taken(
    words: Callable[..., list[str]], tmp_path: Path, trainings: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = words("shrec16", "--set", "holes", "--presets", "shrec16-holes", "--seeds", "0,1", "-o", tmp_path / "out")
    assert main([*command, "--quiet"]) == 0
    runs = [tmp_path / f"out/shrec16-holes/seed-{seed}" for seed in (0, 1)]
    trainings.clear()
    given = [*command[:4], "--model", str(runs[0]), "--model", str(runs[1]), "-o", str(tmp_path / "given")]
    assert main([*given, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["sets"]["shrec16-holes"]["rows"]
    assert trainings == []
    assert [(row["label"], row["seeds"]) for row in rows] == [
        ("seed-0, seed-1, spectral", [0, 1]),
        ("seed-0, seed-1, features", [0, 1]),
    ]
    trained = json.loads((tmp_path / "out/summary.json").read_text())["sets"]["shrec16-holes"]["rows"]
    assert rows[0]["measures"]["macro"] == trained[0]["measures"]["macro"]

    assert main([*given[:-1], str(runs[0] / "model.safetensors")]) == 2
    assert "is a file; give a folder" in capsys.readouterr().err
    assert main([*given, "--iterations", "3"]) == 2
    assert "--iterations is for training, and --model trains nothing" in capsys.readouterr().err
    again = tmp_path / "again.safetensors"
    again.write_bytes((runs[0] / "model.safetensors").read_bytes())
    assert main([*given, "--model", str(again)]) == 2
    assert "two were trained in the same way with the same seed" in capsys.readouterr().err


def test_ablation_from_end_to_end(
    words: Callable[..., list[str]], tmp_path: Path, trainings: list[str], capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepared = []
    really = study.prepare_pairs
    monkeypatch.setattr(study, "prepare_pairs", lambda *a, **k: prepared.append(1) or really(*a, **k))
    command = words("ablation", "--set", "shrec16-holes", "--seeds", "0,1")
    assert main(command) == 0
    text, err = capsys.readouterr()
    assert err == ""
    rows = ["no-mask", *(f"{mask}-{by}" for mask in ("binary", "soft") for by in ("c_t", "c_w", "c_l"))]
    assert trainings == [f"{row}/seed-{seed}" for row in rows for seed in (0, 1)]
    # distances and operators depend neither on the seed nor on the mask
    assert len(prepared) == 1
    for label, error in {"no mask": "11.40", "binary C_T": "18.80", "soft C_W": "10.90"}.items():
        assert cells(text, f"{label}, paper [official test shapes]")[0][1] == error
        assert len(cells(text, f"{label}, spectral")) == 1
    assert "no mask: every pair counts, which is the loss of DirectMatchNet." in text
    summary = json.loads(Path("reproduce-ablation-shrec16-holes/summary.json").read_text())
    assert len(summary["sets"]["shrec16-holes"]["rows"]) == 21
    assert all(line in text for line in summary["verdict"])
    assert main([*command, "--quiet"]) == 0
    assert len(trainings) == 14


def test_presets_are_found_by_the_name_of_their_set(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {**PRESETS, "pfaust-h-ours": PRESETS["pfaust-h"].with_changes(rotation=30.0)}
    monkeypatch.setattr("partwhole.experiments.matching.benchmarks.PRESETS", ours)
    monkeypatch.setattr("partwhole.matching.config.PRESETS", ours)
    found = preset_series({"pfaust-h": ("pfaust-h",)}, "pfaust-h-ours,pfaust-h", (), 7)
    assert [(s.name, s.label, s.trained_on, s.config.augmentation.rotation) for s in found] == [
        ("pfaust-h-ours", "pfaust-h-ours", "pfaust-h", 30.0),
        ("pfaust-h", "pfaust-h", "pfaust-h", 90.0),
    ]
    every = preset_series({"pfaust-h": ("pfaust-h",)}, None, (), 7)
    assert {s.name for s in every} >= {"pfaust-h", "pfaust-h-ours"}
    assert all(s.name.startswith("pfaust-h") for s in every)
    assert described("pfaust-h-ours", found[0].config) == (
        "pfaust-h-ours: our settings: pfaust-h with rotation=30, here with iterations=7"
    )
    with pytest.raises(ValueError, match=r"--presets pfaust-m: there is no preset 'pfaust-m' for pfaust-h; there are"):
        preset_series({"pfaust-h": ("pfaust-h",)}, "pfaust-m", (), None)


@pytest.mark.parametrize("text", ["", "0,0", "1,x", "-1", "0;1"])
def test_seeds_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="--seeds takes different whole numbers"):
        parsed_seeds(text)


def test_what_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_error: Callable[..., str], published_sets: Path
) -> None:
    monkeypatch.delenv("PARTWHOLE_DATA", raising=False)
    assert one_error("reproduce", "pfaust").startswith("--data is missing, and PARTWHOLE_DATA is not set")
    monkeypatch.setenv("PARTWHOLE_DATA", str(tmp_path))
    assert "has no pfaust/PFAUST-M/off, no faust_r" in one_error("reproduce", "pfaust")
    assert "has no null, no holes" in one_error("reproduce", "ablation", "--set", "shrec16-holes")
    nowhere = tmp_path / "nowhere"
    assert one_error("reproduce", "shrec16", "--data", nowhere) == f"folder not found: --data {nowhere}"
    wrong = ("reproduce", "ablation", "--set", "pfaust-h", "--data", published_sets, "--preset", "pfaust-m")
    assert one_error(*wrong).startswith("--preset pfaust-m is not for pfaust-h; there are pfaust-h")


@pytest.mark.parametrize("command", [["pfaust"], ["shrec16"], ["ablation", "--set", "pfaust-h"]], ids=lambda c: c[0])
def test_without_torch_one_line_says_so(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["reproduce", *command, "--data", "nowhere"]) == 2
    assert capsys.readouterr().err == f"error: networks need torch: {how_to_install('torch')}\n"
