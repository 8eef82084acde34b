"""`reproduce pfaust --methods` and `shrec16 --methods` from end to end, on small sets laid out like the published ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from partwhole.cli.main import main
from partwhole.experiments.matching import study
from partwhole.experiments.matching.all_methods import WRITES, MethodChoices, jobs_of, parsed_turns
from partwhole.experiments.matching.jobs import PARENT, end_with_parent, last_line, log_of, shared_out
from partwhole.experiments.matching.method_rows import curve_of, read_rows
from partwhole.experiments.matching.training_runs import WRITES as RUNS

QUICK = [
    *("--with", "width=8", "--with", "features=8", "--with", "blocks=1", "--with", "diffusion_eigenpairs=10"),
    *("--with", "map_eigenpairs=15", "--iterations", "2", "--workers", "1"),
]
SHREC16 = {"shrec16-cuts": ("shrec16-cuts", "shrec16-holes"), "shrec16-holes": ("shrec16-cuts", "shrec16-holes")}


@pytest.fixture
def words(published_sets: Path, tmp_path: Path) -> Callable[..., list[str]]:
    def make(what: str, methods: str, *more: object) -> list[str]:
        place = ["--data", str(published_sets), "-o", str(tmp_path / "out")]
        return ["reproduce", what, "--methods", methods, *place, *QUICK, *map(str, more)]

    return make


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


def test_from_training_to_table(
    words: Callable[..., list[str]],
    tmp_path: Path,
    trainings: list[str],
    undeclared: Callable[..., list[Path]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = words(
        "shrec16",
        "dpfm-holes,descriptors",
        "--set",
        "holes",
        "--seeds",
        "0,1",
        "--turn-parts",
        "--no-refined",
        "--most",
        "1",
    )
    assert main(command) == 0
    text = capsys.readouterr().out
    assert trainings == ["dpfm-holes-on-shrec16-holes/seed-0", "dpfm-holes-on-shrec16-holes/seed-1"]
    out = tmp_path / "out"
    assert undeclared(out, (*WRITES, *RUNS)) == []
    assert (
        "SHREC'16 HOLES training split, test (a split of the contest's training shapes, not its test shapes), 1 pairs"
        in text
    )
    assert "features read-out, unrefined; final weights" in text
    found = json.loads((out / "methods.json").read_text())
    assert found["incomplete"] == []
    rows = {row["method"]: row for row in found["sets"]["shrec16-holes"]["rows"]}
    assert list(rows) == ["descriptors", "dpfm-holes"]
    assert rows["dpfm-holes"]["published"] == 13.1
    assert rows["dpfm-holes"]["seeds"] == [0, 1]
    assert {name: len(values) for name, values in rows["dpfm-holes"]["micro"].items()} == {"as given": 2, "-turned": 2}
    written = read_rows(out / "rows/shrec16-holes/dpfm-holes-on-shrec16-holes-seed-1.csv")
    assert len(written) == 1
    curve = curve_of(written[:1])
    assert curve.shares[-1] >= curve.shares[0]
    assert 0 <= curve.area <= 1
    assert "parts turned at random" in read_rows(out / "rows/shrec16-holes-turned/descriptors.csv")[0].protocol

    # what is there is neither trained nor measured again, and one row that is gone is measured alone
    file = out / "rows/shrec16-holes/descriptors.csv"
    lines = file.read_text().splitlines(keepends=True)
    before = {path: path.read_text() for path in out.glob("rows/*/*.csv") if path != file}
    # killed in the middle of a line
    file.write_text("".join(lines[:-1]) + lines[-1][:9])
    assert main([*command, "--quiet"]) == 0
    assert len(trainings) == 2
    assert file.read_text().splitlines()[:-1] == [line.strip() for line in lines[:-1]]
    assert len(read_rows(file)) == 1
    assert {path: path.read_text() for path in before} == before
    assert main([*command, "--quiet", "--with", "rotation=10"]) == 2
    assert "had rotation=90.0, now it is 10.0" in capsys.readouterr().err


@pytest.mark.slow
def test_shrec16_is_crossed_and_turned(
    words: Callable[..., list[str]], tmp_path: Path, trainings: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = words("shrec16", "robust-fmnet", "--seeds", "3", "--augmentation", "30", "--most", "1")
    assert main([*command, "--steps", "runs"]) == 0
    assert "published" not in capsys.readouterr().out
    assert trainings == [
        "robust-fmnet-on-shrec16-cuts-turned-30/seed-3",
        "robust-fmnet-on-shrec16-holes-turned-30/seed-3",
    ]
    assert main([*command, "--steps", "tables"]) == 0
    rows = json.loads((tmp_path / "out/methods.json").read_text())["sets"]["shrec16-holes"]["rows"]
    assert [(row["method"], row["published"]) for row in rows] == [
        ("robust-fmnet, ±30°, trained on CUTS", None),
        ("robust-fmnet, ±30° → adapted, trained on CUTS", None),
        ("robust-fmnet, ±30°, trained on HOLES", 23.5),
        ("robust-fmnet, ±30° → adapted, trained on HOLES", 18.8),
    ]
    assert "a split of the contest's training shapes" in capsys.readouterr().out


def test_tables_of_what_is_there(
    words: Callable[..., list[str]], tmp_path: Path, trainings: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words("pfaust", "descriptors", "--set", "M", "--most", "1")) == 0
    assert (
        main(words("pfaust", "descriptors,dpfm", "--set", "M", "--most", "1", "--seeds", "0", "--steps", "tables")) == 0
    )
    out, err = capsys.readouterr()
    assert err == "note: dpfm-on-pfaust-m-seed-0 is not complete\n"
    assert "1 of 2 jobs are not complete; run the same command again to go on" in out
    assert trainings == []


def test_a_run_that_fails_does_not_lose_the_others(
    words: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(*arguments: Any, **knobs: Any) -> Any:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(study, "train", train)
    command = words("shrec16", "geomfmaps,descriptors", "--set", "cuts", "--most", "1", "--seeds", "0", "--no-refined")
    assert main(command) == 1
    out, err = capsys.readouterr()
    assert "geomfmaps-on-shrec16-cuts-seed-0 is not complete: all 1 runs failed" in err
    assert "descriptors" in out


@pytest.mark.slow
def test_runs_of_their_own_come_to_the_same(
    words: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = words(
        "pfaust", "geomfmaps,descriptors", "--set", "M", "--seeds", "0,1", "--no-refined", "--own-area", "--most", "2"
    )
    assert main([*command, "--parallel", "2", "--quiet"]) == 0
    apart = json.loads((tmp_path / "out/methods.json").read_text())["sets"]["pfaust-m"]["rows"]
    assert {path.name for path in (tmp_path / "out/logs").iterdir()} == {
        "descriptors.log",
        # both seeds in one process, since there are more jobs than processes
        "geomfmaps-on-pfaust-m-seed-0-1.log",
    }
    assert main([*command, "--quiet", "-o", str(tmp_path / "other")]) == 0
    together = json.loads((tmp_path / "other/methods.json").read_text())["sets"]["pfaust-m"]["rows"]
    for one, other in zip(apart, together, strict=True):
        assert one["micro"]["as given"] == pytest.approx(other["micro"]["as given"], abs=0.5)


def test_which_jobs_share_a_process(tmp_path: Path) -> None:
    jobs = jobs_of(MethodChoices(methods="descriptors,dpfm,geomfmaps", seeds=(0, 1, 2)), SHREC16, tmp_path)

    def logs(parallel: int) -> list[str]:
        return [log_of(hand) for hand in shared_out(jobs, parallel)]

    assert len(jobs) == 13
    assert sorted(logs(13)) == sorted(f"{job.key}.log" for job in jobs)
    assert logs(4)[:2] == ["descriptors.log", "dpfm-on-shrec16-cuts-seed-0-1-2.log"]
    assert len(logs(4)) == 5
    assert sorted(job.key for hand in shared_out(jobs, 8) for job in hand) == sorted(job.key for job in jobs)
    assert max(map(len, shared_out(jobs, 8))) == 2


def test_a_run_is_measured_before_the_next_one_begins(
    words: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tmp_path / "out/rows/shrec16-holes/geomfmaps-on-shrec16-holes-seed-0.csv"
    there: list[bool] = []
    really = study.train

    def train(*arguments: Any, **knobs: Any) -> Any:
        there.append(rows.is_file())
        return really(*arguments, **knobs)

    monkeypatch.setattr(study, "train", train)
    more = ("--set", "holes", "--seeds", "0,1", "--no-refined", "--most", "1", "--quiet", "--steps", "runs")
    assert main(words("shrec16", "geomfmaps", *more)) == 0
    assert there == [False, True]


def test_which_jobs_there_are(tmp_path: Path) -> None:
    every = jobs_of(MethodChoices(methods="all", seeds=(0, 1)), SHREC16, tmp_path)
    keys = [job.key for job in every]
    assert len(set(keys)) == len(keys)
    assert {job.name for job in every if job.planned is None} >= {"descriptors", "fsp", "pfm", "any-pose", "upright"}
    # each form of DPFM where it is published
    assert "dpfm-on-shrec16-cuts-seed-1" in keys
    assert "dpfm-on-shrec16-holes-seed-1" not in keys
    assert "dpfm-holes-on-shrec16-holes-seed-0" in keys
    configs = {job.name: job.planned.config for job in every if job.planned and "holes-seed-0" in job.key}
    assert configs["wormhole"].loss.criterion == "wormhole"
    assert configs["direct-match-net"].loss.criterion == "none"
    assert {configs[name].loss.temperature for name in ("wormhole", "direct-match-net", "robust-fmnet")} == {0.07}
    assert {config.search.vertical for config in configs.values()} == {"z"}
    alone = jobs_of(MethodChoices(methods="dpfm", seeds=(0,), augmentation=(30.0, 90.0)), SHREC16, tmp_path)
    assert [job.planned.config.augmentation.rotation for job in alone if job.planned] == [30.0, 90.0, 30.0, 90.0]


def test_a_process_ends_with_the_one_that_began_it(monkeypatch: pytest.MonkeyPatch) -> None:
    end_with_parent()
    monkeypatch.setenv(PARENT, "1234567890")
    with pytest.raises(KeyboardInterrupt):
        end_with_parent()


def test_what_a_log_ends_with(tmp_path: Path) -> None:
    assert last_line(tmp_path / "none.log") == "it said nothing"
    (tmp_path / "a.log").write_text("begun\nerror: no memory\n\n")
    assert last_line(tmp_path / "a.log") == "error: no memory"


def test_wrong_words(words: Callable[..., list[str]], one_error: Callable[..., str]) -> None:
    assert "there is no method 'dpm'; give all, learned, axiomatic, or some of descriptors" in one_error(
        *words("pfaust", "dpm")
    )
    assert "--augmentation takes degrees" in one_error(*words("pfaust", "dpfm", "--augmentation", "a lot"))
    assert "--presets does not go with --methods" in one_error(*words("pfaust", "dpfm", "--presets", "pfaust-h"))
    assert "--model does not go with --methods" in one_error(*words("pfaust", "dpfm", "--model", "default"))
    without = ["reproduce", "shrec16"]
    assert "--parallel is for a comparison of methods; add --methods" in one_error(*without, "--parallel", "2")
    with pytest.raises(ValueError, match="degrees from 0 to 180"):
        parsed_turns("-3")
