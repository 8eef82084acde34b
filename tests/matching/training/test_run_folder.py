"""Runs that are stopped, at any moment and in any way, and go on as if they had not been."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import partwhole.matching.training.run_folder as run_folder
import partwhole.matching.training.train as training
from partwhole.datasets import Pairs
from partwhole.evaluation import Evaluation, PairResult, Protocol
from partwhole.matching import Benchmark, Matcher, OrthogonalityLoss, PreparedPairs, TrainingConfig, TrainingRun, train
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.network.weights import read_tensors, write_tensors
from partwhole.matching.training.logs import read_evaluations, read_losses
from partwhole.matching.training.run_folder import RunState
from partwhole.store.cache import Cache

OFTEN, NEVER = -1.0, 1e9


class Stopped(Exception):
    """As if somebody had pressed Ctrl-C."""


@pytest.fixture(scope="module")
def rough(config: TrainingConfig) -> TrainingConfig:
    """With a rate at which the best weights are not the last."""
    return config.with_changes(learning_rate=0.03, iterations=15, evaluate_every=4)


@pytest.fixture(scope="module")
def examination(pairs: Pairs, config: TrainingConfig, cache: Cache) -> Benchmark:
    return Benchmark(pairs[:2], keep=True, cache=cache)


@pytest.fixture(scope="module")
def uninterrupted(
    prepared: PreparedPairs, rough: TrainingConfig, examination: Benchmark, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, TrainingRun]:
    folder = tmp_path_factory.mktemp("whole") / "run"
    return folder, train(prepared, rough, validation=prepared, watch={"balls": examination}, folder=folder)


def without_clock(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "elapsed"} for row in rows]


def as_text(rows: Any) -> str:
    # numbers to their last digit, and nan equal to nan
    return json.dumps(rows)


def assert_same_run(folder: Path, other: Path) -> None:
    """Bit by bit in weights, losses, evaluations and logs; but not in time."""
    for name in ("model.safetensors", "validated.safetensors", "state.safetensors"):
        assert (folder / name).exists() == (other / name).exists()
        if not (folder / name).exists():
            continue
        (tensors, card), (expected, expected_card) = read_tensors(folder / name), read_tensors(other / name)
        assert tensors.keys() == expected.keys()
        for key in tensors:
            assert torch.equal(tensors[key], expected[key]), key
        for given in (card, expected_card):
            given.pop("seconds", None)
        assert as_text(card) == as_text(expected_card)
    assert as_text(without_clock(read_losses(folder))) == as_text(without_clock(read_losses(other)))
    assert as_text(without_clock(read_evaluations(folder))) == as_text(without_clock(read_evaluations(other)))
    assert json.loads((folder / "run.json").read_text()) == json.loads((other / "run.json").read_text())


def stopping_at(iteration: int) -> Any:
    """In place of `PreparedPairs.pair_at`: stops before this iteration."""
    real = PreparedPairs.pair_at

    def stop(prepared: PreparedPairs, number: int, seed: int) -> tuple[int, int]:
        if number == iteration:
            raise Stopped
        return real(prepared, number, seed)

    return stop


def test_what_a_folder_holds(uninterrupted, rough, prepared) -> None:
    folder, run = uninterrupted
    assert {path.name for path in folder.iterdir()} == {
        "state.safetensors",
        "model.safetensors",
        "validated.safetensors",
        "run.json",
        "losses.csv",
        "evaluations.csv",
    }
    assert not list(folder.rglob("*.p*kl*"))
    rows = read_losses(folder)
    assert [row["iteration"] for row in rows] == list(range(1, 16))
    np.testing.assert_array_equal([[row["distortion"], row["orthogonality"]] for row in rows], run.losses)
    np.testing.assert_allclose([row["loss"] for row in rows], run.losses.sum(axis=1))
    assert [row["learning_rate"] for row in rows] == [training.learning_rate(i, 5, rough) for i in range(15)]
    evaluated = read_evaluations(folder)
    assert [(row["iteration"], row["data"]) for row in evaluated] == [
        (i, data) for i in (4, 8, 12, 15) for data in ("validation", "balls")
    ]
    assert all(math.isnan(row["loss"]) == (row["data"] == "balls") for row in evaluated)
    assert all(math.isnan(row["macro"]) == (row["data"] == "validation") for row in evaluated)
    card = json.loads((folder / "run.json").read_text())
    assert TrainingConfig.from_json(card["config"]) == rough
    assert (card["name"], card["iterations"], card["weights"]) == ("run", 15, "final")
    assert Matcher.load(folder / "model.safetensors").config == rough
    assert len(prepared) == card["data"]["pairs"]


@pytest.mark.parametrize("save_seconds", [OFTEN, NEVER])
@pytest.mark.parametrize("stop", [0, 1, 3, 4, 5, 11, 14])
def test_a_run_that_was_stopped_goes_on(
    prepared, rough, examination, uninterrupted, tmp_path, monkeypatch, stop, save_seconds
) -> None:
    """Losses are fetched seldom here, so that there are some that are not yet fetched when the state is saved."""
    options = {"validation": prepared, "watch": {"balls": examination}, "folder": tmp_path / "run"}
    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "SAVE_SECONDS", save_seconds)
        patch.setattr(PreparedPairs, "pair_at", stopping_at(stop))
        with pytest.raises(Stopped):
            train(prepared, rough, **options)
    saved = stop if save_seconds == OFTEN else stop - stop % 4
    assert (tmp_path / "run" / "state.safetensors").exists() == (saved > 0)
    assert len(read_losses(tmp_path / "run")) == saved
    run = train(prepared, rough, resume=True, **options)
    assert_same_run(tmp_path / "run", uninterrupted[0])
    np.testing.assert_array_equal(run.losses, uninterrupted[1].losses)
    assert as_text(run.evaluations) == as_text(uninterrupted[1].evaluations)


def test_stopped_again_and_again(prepared, rough, examination, uninterrupted, tmp_path, monkeypatch) -> None:
    """By what looks at its progress, after every iteration."""
    monkeypatch.setattr(run_folder, "SAVE_SECONDS", OFTEN)
    options = {"validation": prepared, "watch": {"balls": examination}, "folder": tmp_path / "run"}
    for last in range(2, 15):

        def progress(what: str, done: int, total: int, last: int = last) -> None:
            if what == "training" and done == last:
                raise Stopped

        with pytest.raises(Stopped):
            train(prepared, rough, resume=last > 2, progress=progress, **options)
    run = train(prepared, rough, resume=True, **options)
    assert_same_run(tmp_path / "run", uninterrupted[0])
    assert run.seconds > 0


def test_what_a_heartbeat_stops_is_saved_first(
    prepared, rough, examination, uninterrupted, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(run_folder, "FLUSH_ITERATIONS", 1)
    options = {"validation": prepared, "watch": {"balls": examination}, "folder": tmp_path / "run"}

    def heartbeat(state: RunState) -> None:
        if state.iteration in (3, 8):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(prepared, rough, heartbeat=heartbeat, **options)
    assert len(read_losses(tmp_path / "run")) == 3
    with pytest.raises(KeyboardInterrupt):
        train(prepared, rough, heartbeat=heartbeat, resume=True, **options)
    assert len(read_losses(tmp_path / "run")) == 8
    train(prepared, rough, resume=True, **options)
    assert_same_run(tmp_path / "run", uninterrupted[0])


@pytest.mark.parametrize("where", ["evaluation", "state", "model"])
def test_stopped_while_something_else_is_done(
    prepared, rough, examination, uninterrupted, tmp_path, monkeypatch, where
) -> None:
    """Between the logs and the state that belong together, in an evaluation, after the last iteration."""
    options = {"validation": prepared, "watch": {"balls": examination}, "folder": tmp_path / "run"}

    def stop(*_: Any, **__: Any) -> None:
        raise Stopped

    with monkeypatch.context() as patch:
        if where == "evaluation":
            patch.setattr(Benchmark, "of", stop)
        elif where == "state":
            patch.setattr(run_folder, "write_tensors", stop)
        else:
            patch.setattr(Matcher, "save", stop)
        with pytest.raises(Stopped):
            train(prepared, rough, **options)
    train(prepared, rough, resume=True, **options)
    assert_same_run(tmp_path / "run", uninterrupted[0])


def test_a_finished_run_stays_as_it_is(prepared, rough, examination, uninterrupted, tmp_path) -> None:
    options = {"validation": prepared, "watch": {"balls": examination}, "folder": tmp_path / "run"}
    first = train(prepared, rough, **options)
    again = train(prepared, rough, resume=True, **options)
    assert_same_run(tmp_path / "run", uninterrupted[0])
    np.testing.assert_array_equal(first.losses, again.losses)
    assert again.validated is not None


KILLED = """
    import sys, time
    import torch
    import partwhole.matching.training.run_folder as run_folder
    import partwhole.matching.training.train as training
    from partwhole.store.cache import Cache

    tests, folder, cache, enough = sys.argv[1:]
    sys.path.insert(0, tests)
    import small

    def tell(what, done, total):
        print(what, done, flush=True)
        if what == "training" and done > int(enough) + 10:
            time.sleep(60)  # whoever is to kill this process is late

    torch.set_num_threads(1)
    run_folder.SAVE_SECONDS = -1.0
    options = {"cache": Cache(cache), "workers": 1}
    training.train(small.pairs(), small.config(iterations=50), folder=folder, progress=tell, **options)
"""


def test_a_process_that_is_killed_goes_on(prepared, small, cache, tmp_path) -> None:
    """It saves all the time, so that it may well be killed while it does."""
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(KILLED))
    folder, tests = tmp_path / "killed" / "run", Path(__file__).parents[1]
    # eigenpairs of the prepared are in the cache now, and the same for all processes
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    # a run that was resumed is no other when it is killed: `test_stopped_again_and_again`
    enough = 20
    command = [sys.executable, script, tests, folder, cache.folder, str(enough)]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=environment)
    try:
        for line in process.stdout:
            what, done = line.split()
            if what == "training" and int(done) >= enough:
                break
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert enough - 1 <= read_tensors(folder / "state.safetensors")[1]["iteration"] < 40
    assert not (folder / "model.safetensors").exists()
    train(prepared, small.config(iterations=50), folder=folder, resume=True)
    train(prepared, small.config(iterations=50), folder=tmp_path / "whole" / "run")
    assert_same_run(folder, tmp_path / "whole" / "run")


@pytest.fixture
def begun(prepared: PreparedPairs, config: TrainingConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run that was stopped."""
    with monkeypatch.context() as patch:
        patch.setattr(PreparedPairs, "pair_at", stopping_at(7))
        with pytest.raises(Stopped):
            train(prepared, config, folder=tmp_path / "run")
    return tmp_path / "run"


def test_a_folder_with_a_run_is_left_alone(begun, prepared, config, pairs) -> None:
    before = {path: path.read_bytes() for path in begun.rglob("*") if path.is_file()}
    with pytest.raises(
        ValueError, match=r"there is a run in .*run already; go on with it \(resume\), or choose another"
    ):
        train(prepared, config, folder=begun)
    # and that is said before anything is computed
    with pytest.raises(ValueError, match="there is a run in"):
        train(pairs, config, folder=begun, progress=lambda *_: pytest.fail("something was computed"))
    assert {path: path.read_bytes() for path in begun.rglob("*") if path.is_file()} == before


def test_other_choices_are_refused(begun, prepared, config, pairs, cache) -> None:
    with pytest.raises(ValueError, match=r"run had temperature=0\.1, now it is 0\.2; resume it with the same settings"):
        train(prepared, config.with_changes(temperature=0.2), folder=begun, resume=True)
    with pytest.raises(ValueError, match="run had iterations=12, now it is 13"):
        train(prepared, config.with_changes(iterations=13), folder=begun, resume=True)
    with pytest.raises(
        ValueError, match=r"run had distortion_weight=1000\.0, now it is 0\.0; resume it with the same settings"
    ):
        train(prepared, config, loss=OrthogonalityLoss(), folder=begun, resume=True)
    for other in (pairs[:4], pairs[::-1]):
        with pytest.raises(ValueError, match="run was made with other pairs; give it the same data to go on"):
            train(other, config, folder=begun, resume=True, cache=cache)
    # nothing of it is lost by that
    train(prepared, config, folder=begun, resume=True)
    np.testing.assert_array_equal([row["loss"] for row in read_losses(begun)][:7], _losses(prepared, config)[:7])


def _losses(prepared: PreparedPairs, config: TrainingConfig) -> np.ndarray:
    return train(prepared, config).losses.sum(axis=1)


def test_a_damaged_state(begun, prepared, config) -> None:
    state = begun / "state.safetensors"
    whole = state.read_bytes()
    for damaged in (whole[:100], whole[:-1], b"", whole[:-4] + b"\1\2\3\4"):
        state.write_bytes(damaged)
        with pytest.raises(ValueError, match="is damaged"):
            train(prepared, config, folder=begun, resume=True)
    write_tensors(state, {"w": torch.ones(2)}, {"config": config.to_json()})
    with pytest.raises(ValueError, match="is not the state of a run; begin another run in another folder"):
        train(prepared, config, folder=begun, resume=True)


def test_folders_that_can_not_be(prepared, config, tmp_path) -> None:
    with pytest.raises(ValueError, match="resume=True needs the folder of the run to resume"):
        train(prepared, config, resume=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file is a file; a run needs a folder"):
        train(prepared, config, folder=tmp_path / "file")


def test_to_resume_what_never_began_is_to_begin(prepared, config, tmp_path) -> None:
    train(prepared, config, folder=tmp_path / "new" / "run", resume=True)
    train(prepared, config, folder=tmp_path / "other" / "run")
    assert_same_run(tmp_path / "new" / "run", tmp_path / "other" / "run")


def test_losses_that_are_no_numbers_are_named() -> None:
    state = RunState(iteration=10)
    with pytest.raises(ValueError, match="not a finite number in iteration 12; lower learning_rate"):
        state.add_losses(np.array([[1.0, 2.0], [3.0, np.nan], [np.inf, 1.0]]))
    assert (state.iteration, state.losses) == (10, [])
    state.add_losses(np.array([[1.0, 2.0]]))
    assert (state.iteration, state.losses) == (11, [[1.0, 2.0]])


def test_the_lowest_loss_is_kept(config) -> None:
    state, network = RunState(), new_network(config.network)
    kept = []
    for iteration, loss in enumerate((3.0, 2.0, 2.0, math.nan, 5.0)):
        state.iteration = iteration
        network.first.bias.data.fill_(iteration)
        state.validated(loss, network)
        kept.append((state.best_iteration, float(state.best_weights["first.bias"][0])))
    assert kept == [(0, 0.0), (1, 1.0), (1, 1.0), (1, 1.0), (1, 1.0)]
    assert len(state.evaluations) == 5


def test_evaluations_hold_what_tables_show() -> None:
    state = RunState(iteration=5)
    found = Evaluation([PairResult("a", np.array([0.1, 0.3]))], Protocol(data="x"))
    state.add_evaluation("mine", found)
    [row] = state.evaluations
    assert row["iteration"] == 5
    assert row["data"] == "mine"
    assert row["macro"] == pytest.approx(20)
    assert row["% above 0.15"] == pytest.approx(50)
