"""`torchrun -m partwhole train`: two processes end with the weights of one that adds up the same gradients."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from partwhole.cli.main import main
from partwhole.cli.shared.console import StageProgress
from partwhole.matching.training.logs import read_evaluations, read_losses


def torchrun(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Two processes on this machine, which meet at a free port of the loopback."""
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run(
        [*start, "-m", "partwhole", *map(str, words)], capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    return run


def check_same_runs(one: Path, other: Path) -> None:
    from partwhole.matching.network.weights import read_tensors

    for name in ("model.safetensors", "validated.safetensors", "state.safetensors"):
        ours, theirs = read_tensors(one / name)[0], read_tensors(other / name)[0]
        assert ours.keys() == theirs.keys()
        assert all((ours[key] == theirs[key]).all() for key in ours)
    for read in (read_losses, read_evaluations):
        rows = [[{k: v for k, v in row.items() if k != "elapsed"} for row in read(run)] for run in (one, other)]
        assert str(rows[0]) == str(rows[1])


@pytest.fixture(scope="module")
def words(own_set: Path, small_network: list[str]) -> list[str]:
    """Three batches a step, so that one process has more to do than the other, with dropout, augmentation and samples."""
    more = ["accumulate=3", "dropout=0.3", "rows=30", "evaluate_every=3"]
    chosen = [word for choice in more for word in ("--with", choice)]
    return ["train", "--data", str(own_set), "--iterations", "6", *small_network, *chosen, "--validate"]


@pytest.fixture(scope="module")
def alone(words: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("alone") / "run"
    assert main([*words, "-q", "-o", str(run)]) == 0
    return run


def test_two_processes_are_as_good_as_one(words: list[str], alone: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    told = torchrun(*words, "-o", run).stdout
    check_same_runs(alone, run)
    # one of them speaks
    assert told.count("6 iterations in") == 1


@pytest.mark.slow
def test_two_processes_go_on_with_a_run_of_one(
    words: list[str], alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from partwhole.matching.training import run_folder

    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "FLUSH_SECONDS", -1.0)
        patch.setattr(StageProgress, "detail", lambda *_: signal.raise_signal(signal.SIGINT))
        assert main([*words, "-o", str(run)]) == 130
    capsys.readouterr()
    assert 1 <= len(read_losses(run)) < 6
    torchrun("train", "--resume", run)
    check_same_runs(alone, run)
