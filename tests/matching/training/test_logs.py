from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from partwhole.matching.training.logs import RunLog, read_evaluations, read_losses


def tables(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.csv")}


def train(log: RunLog, first: int, last: int) -> None:
    """What a training logs: losses by tens, an evaluation on two data sets at each thirtieth iteration."""
    for start in range(first, last + 1, 10):
        block = range(start, start + 10)
        log.losses(block, {"loss": [1 / i for i in block], "learning_rate": 1e-3, "elapsed": [i / 8 for i in block]})
        if block[-1] % 30 == 0:
            for data in ("PFAUST-H", 'mine, "new"'):
                log.evaluation(block[-1], data, {"macro": 100 / start, "% flipped": math.nan, "elapsed": block[-1] / 8})


def test_rows_come_back(tmp_path):
    with RunLog(tmp_path / "runs" / "first") as log:
        log.losses(1, {"loss": 0.1, "learning_rate": 1e-3})
        log.losses([2, 3], {"learning_rate": 1e-4, "loss": [math.inf, math.nan]})
        log.evaluation(3, "PFAUST-M", {"macro": 1 / 3})
    first, second, third = read_losses(tmp_path / "runs" / "first")
    assert list(first) == ["iteration", "loss", "learning_rate", "elapsed"]
    assert (first["iteration"], first["loss"], first["learning_rate"]) == (1, 0.1, 1e-3)
    assert (second["iteration"], second["loss"], second["learning_rate"]) == (2, math.inf, 1e-4)
    assert math.isnan(third["loss"])
    assert 0 <= first["elapsed"] <= third["elapsed"] < 100
    [row] = read_evaluations(tmp_path / "runs" / "first")
    assert list(row) == ["iteration", "data", "macro", "elapsed"]
    assert (row["iteration"], row["data"], row["macro"]) == (3, "PFAUST-M", 1 / 3)


def test_rows_are_in_the_files_at_once(tmp_path):
    log = RunLog(tmp_path)
    log.losses(1, {"loss": 0.5})
    log.evaluation(1, "a", {"macro": 2.0})
    assert len(read_losses(tmp_path)) == len(read_evaluations(tmp_path)) == 1
    log.close()
    log.close()


def test_arrays_and_their_scalars(tmp_path):
    with RunLog(tmp_path) as log:
        log.losses(np.arange(3), {"loss": np.float32([0.1, 0.2, 0.3]), "rate": np.float32(0.5)})
        log.evaluation(np.int64(3), "a", {"macro": np.float32(0.25)})
    assert [row["loss"] for row in read_losses(tmp_path)] == [float(np.float32(x)) for x in (0.1, 0.2, 0.3)]
    assert [row["rate"] for row in read_losses(tmp_path)] == [0.5] * 3
    assert read_evaluations(tmp_path)[0]["macro"] == 0.25


def test_tensors(tmp_path):
    torch = pytest.importorskip("torch")
    with RunLog(tmp_path) as log:
        log.losses(torch.arange(3), {"loss": torch.tensor([0.5, 1.0, 2.0], requires_grad=True)})
        log.evaluation(3, "a", {"macro": torch.tensor(0.25)})
    assert [row["loss"] for row in read_losses(tmp_path)] == [0.5, 1.0, 2.0]
    assert read_evaluations(tmp_path)[0]["macro"] == 0.25


def test_no_rows_no_table(tmp_path):
    with RunLog(tmp_path) as log:
        log.losses([], {"loss": []})
    assert tables(tmp_path) == {}
    assert read_losses(tmp_path) == read_evaluations(tmp_path) == []
    RunLog(tmp_path).close()


@pytest.mark.parametrize("at", [-1, 0, 29, 30, 57, 90, 1000])
def test_rows_up_to_the_checkpoint_are_kept(tmp_path, at):
    with RunLog(tmp_path) as log:
        train(log, 1, 90)
    before = {name: table.splitlines() for name, table in tables(tmp_path).items()}
    RunLog(tmp_path, resume_at=at).close()
    assert [row["iteration"] for row in read_losses(tmp_path)] == list(range(1, min(at, 90) + 1))
    evaluated = [i for i in (30, 60, 90) if i <= at]
    assert [row["iteration"] for row in read_evaluations(tmp_path)] == [i for i in evaluated for _ in range(2)]
    for name, table in tables(tmp_path).items():
        assert before[name][: len(table.splitlines())] == table.splitlines()


@pytest.mark.parametrize("at", [-1, 0, 10, 30, 60, 80, 90])
def test_resumed_run_ends_with_the_files_of_one_that_never_stopped(tmp_path, at):
    for name in ("whole", "killed"):
        with RunLog(tmp_path / name) as log:
            train(log, 1, 90)
    with RunLog(tmp_path / "killed", resume_at=at) as log:
        train(log, max(at, 0) + 1, 90)
    assert tables(tmp_path / "killed") == tables(tmp_path / "whole")


def test_torn_files_are_mended(tmp_path):
    for name in ("whole", "torn"):
        with RunLog(tmp_path / name) as log:
            train(log, 1, 60)
    torn = tmp_path / "torn"
    for path in (torn / "losses.csv", torn / "evaluations.csv"):
        path.write_bytes(path.read_bytes()[:-3])
    # what a reader sees before the run goes on
    assert [row["iteration"] for row in read_losses(torn)] == list(range(1, 60))
    with RunLog(torn, resume_at=50) as log:
        train(log, 51, 60)
    assert tables(torn) == tables(tmp_path / "whole")


def test_a_torn_heading_is_no_table(tmp_path):
    (tmp_path / "losses.csv").write_bytes(b"iteration,lo")
    with RunLog(tmp_path) as log:
        log.losses(1, {"loss": 0.5})
    assert [row["loss"] for row in read_losses(tmp_path)] == [0.5]


def test_the_clock_goes_on_where_the_kept_rows_end(tmp_path):
    with RunLog(tmp_path) as log:
        log.losses([1, 2], {"loss": 0.5, "elapsed": [1000.0, 5000.0]})
    with RunLog(tmp_path, resume_at=1) as log:
        log.losses(2, {"loss": 0.5})
    assert 1000 <= read_losses(tmp_path)[-1]["elapsed"] < 2000


def test_notes_stay(tmp_path):
    with RunLog(tmp_path) as log:
        log.note("48 pairs, 2 wholes")
        log.losses([1, 2, 3], {"loss": 0.5})
    with RunLog(tmp_path, resume_at=2) as log:
        log.note("größer")
    texts = [line.split(" ", 2)[2] for line in (tmp_path / "notes.txt").read_text(encoding="utf-8").splitlines()]
    RunLog(tmp_path, resume_at=-1).close()
    assert (
        (tmp_path / "notes.txt")
        .read_text(encoding="utf-8")
        .endswith(" begun again; lines of later iterations dropped: 2\n")
    )
    assert texts == ["48 pairs, 2 wholes", "resumed after iteration 2; lines of later iterations dropped: 1", "größer"]


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is none of Windows")
def test_a_run_killed_at_any_moment_goes_on(tmp_path):
    """A process logs as fast as it can and is killed, three times; each goes on from its last "checkpoint"."""
    child = """
import itertools, sys
from pathlib import Path
from partwhole.matching.training.logs import RunLog
folder, at = Path(sys.argv[1]), int(sys.argv[2])
log = RunLog(folder, resume_at=at)
for start in itertools.count(at + 1, 50):
    log.losses(range(start, start + 50), {"loss": [1 / i for i in range(start, start + 50)]})
    log.evaluation(start + 49, "a", {"macro": 1 / start})
    print(start + 49, flush=True)
"""
    at = 0
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", child, str(tmp_path), str(at)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for _ in range(5):
            at = int(process.stdout.readline())
        time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    with RunLog(tmp_path, resume_at=at) as log:
        log.losses(at + 1, {"loss": 0.0})
    assert [row["iteration"] for row in read_losses(tmp_path)] == list(range(1, at + 2))
    assert [row["iteration"] for row in read_evaluations(tmp_path)] == list(range(50, at + 1, 50))


def test_a_folder_that_holds_a_run_is_not_begun_again(tmp_path):
    with RunLog(tmp_path) as log:
        log.evaluation(0, "a", {"macro": 2.0})
    before = tables(tmp_path)
    with pytest.raises(ValueError, match="holds the record of a run; give resume_at"):
        RunLog(tmp_path)
    assert tables(tmp_path) == before


def test_columns_stay(tmp_path):
    with RunLog(tmp_path) as log:
        log.losses(1, {"loss": 0.5, "rate": 1.0})
        with pytest.raises(ValueError, match=r"losses.csv has the columns .*'rate'.* the new row .*; they must agree"):
            log.losses(2, {"loss": 0.5})
    with RunLog(tmp_path, resume_at=1) as log, pytest.raises(ValueError, match="they must agree"):
        log.losses(2, {"loss": 0.5, "rate": 1.0, "more": 2.0})
    assert len(read_losses(tmp_path)) == 1


def test_columns_are_free_again_once_nothing_is_kept(tmp_path):
    with RunLog(tmp_path) as log:
        log.losses(1, {"loss": 0.5})
    with RunLog(tmp_path, resume_at=0) as log:
        log.losses(1, {"other": 0.5})
    assert "other" in read_losses(tmp_path)[0]


@pytest.mark.parametrize("iterations", [[-1], [1, 1], [2, 1]])
def test_iterations_grow(tmp_path, iterations):
    with RunLog(tmp_path) as log, pytest.raises(ValueError, match=r"iteration -?\d comes after -?\d; they must grow"):
        log.losses(iterations, {"loss": 0.5})
    assert tables(tmp_path) == {}


def test_an_evaluation_is_logged_once_for_each_data_set(tmp_path):
    with RunLog(tmp_path) as log:
        log.evaluation(5, "a", {"macro": 2.0})
        log.evaluation(5, "b", {"macro": 2.0})
    with RunLog(tmp_path, resume_at=5) as log, pytest.raises(ValueError, match="iteration 5 comes after 5"):
        log.evaluation(5, "a", {"macro": 2.0})


def test_as_many_values_as_iterations(tmp_path):
    with (
        RunLog(tmp_path) as log,
        pytest.raises(ValueError, match="loss has 2 values for 3 iterations; give one for each"),
    ):
        log.losses([1, 2, 3], {"loss": [0.5, 0.5]})


@pytest.mark.parametrize("name", ["iteration", "data", "two\nlines"])
def test_names_that_the_tables_cannot_hold(tmp_path, name):
    message = re.escape(f"{name!r} can't be a name in the log")
    with RunLog(tmp_path) as log:
        with pytest.raises(ValueError, match=message):
            log.losses(1, {name: 0.5})
        with pytest.raises(ValueError, match=message):
            log.evaluation(1, "a", {name: 0.5})
        with pytest.raises(ValueError, match=message):
            log.evaluation(1, name, {"macro": 0.5})


def test_a_closed_log_takes_no_rows(tmp_path):
    with RunLog(tmp_path) as log:
        pass
    with pytest.raises(ValueError, match="is closed; open it again with resume_at"):
        log.losses(1, {"loss": 0.5})
    assert tables(tmp_path) == {}


@pytest.mark.parametrize("line", ["2,0.5", "2,a,0.1", '2,"0.5,0.1', "", "two,0.5,0.1", "\0\0\0", "2,0.5,0.1,"])
def test_damaged_lines_are_named(tmp_path, line):
    with RunLog(tmp_path) as log:
        log.losses([1, 2, 3], {"loss": 0.5})
    path = tmp_path / "losses.csv"
    lines = path.read_text().split("\n")
    path.write_text("\n".join([*lines[:2], line, *lines[3:]]))
    before = tables(tmp_path)
    with pytest.raises(ValueError, match=r"line 3 of .*losses.csv is damaged: .*; correct or delete it"):
        read_losses(tmp_path)
    with pytest.raises(ValueError, match="line 3"):
        RunLog(tmp_path, resume_at=2)
    assert tables(tmp_path) == before


def test_a_table_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "evaluations.csv").write_text("pair,mean\na,1\n")
    with pytest.raises(
        ValueError,
        match=r"evaluations.csv has the columns \['pair', 'mean'\], not .*: it is not the log of a run; move it away",
    ):
        RunLog(tmp_path, resume_at=-1)
    assert (tmp_path / "evaluations.csv").exists()
