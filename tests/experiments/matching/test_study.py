"""Studies: every run once, surfaces prepared once, and what is found is that of the runs alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from partwhole.datasets import Pair, Pairs, sphere
from partwhole.experiments.matching import study
from partwhole.experiments.matching.study import Failed, Run, Series, Source, Study, pairs_hash, read_run, reweighted
from partwhole.matching import Matcher, PreparedPairs, TrainingConfig, prepare_pairs, train
from partwhole.matching.training.run_folder import STATE
from partwhole.store.cache import Cache


@pytest.fixture
def make_study(small: ModuleType, pairs: Pairs, cache: Cache, tmp_path: Path) -> Callable[..., Study]:
    """Of series by name, each with changes to the choices."""
    known = [pair for pair in pairs if pair.ground_truth is not None]

    def make(
        seeds: tuple[int, ...] = (0,), *, tested_on: tuple[str, ...] = ("held",), **changes: dict[str, Any]
    ) -> Study:
        series = [
            Series(
                name=name, label=name, config=small.config(iterations=4, **of), trained_on="balls", tested_on=tested_on
            )
            for name, of in changes.items()
        ]
        sources = {"balls": Source("balls", lambda: pairs)}, {"held": Source("balls held out", lambda: known)}
        return Study(series, seeds, tmp_path, train=sources[0], test=sources[1], cache=cache, workers=1)

    return make


@pytest.fixture
def preparations(monkeypatch: pytest.MonkeyPatch) -> list[TrainingConfig]:
    seen: list[TrainingConfig] = []

    def counted(pairs: Any, config: TrainingConfig, **knobs: Any) -> PreparedPairs:
        seen.append(config)
        return prepare_pairs(pairs, config, **knobs)

    monkeypatch.setattr(study, "prepare_pairs", counted)
    return seen


def test_a_run_of_a_study_is_that_run_alone(
    make_study: Callable[..., Study],
    small: ModuleType,
    pairs: Pairs,
    prepared: PreparedPairs,
    preparations: list[TrainingConfig],
) -> None:
    found = list(make_study((0, 3), plain={}, turned={"rotation": 10.0}).results())
    assert [(run.series.name, run.seed, run.trained) for run in found if isinstance(run, Run)] == [
        ("plain", 0, True),
        ("plain", 3, True),
        ("turned", 0, True),
        ("turned", 3, True),
    ]
    assert len(preparations) == 1
    alone = train(prepared, small.config(iterations=4, rotation=10.0, seed=3))
    same = make_study((3,), turned={"rotation": 10.0})
    read = read_run(same.planned[0].folder, pairs)
    assert read is not None
    for weight, expected in zip(
        read[0].network.state_dict().values(), alone.matcher.network.state_dict().values(), strict=True
    ):
        assert torch.equal(weight, expected)


def test_finished_runs_are_read_without_preparation(
    make_study: Callable[..., Study], preparations: list[TrainingConfig]
) -> None:
    (first,) = make_study(plain={"evaluate_every": 2}).results()
    (again,) = make_study(plain={"evaluate_every": 2}).results()
    assert len(preparations) == 1
    assert isinstance(first, Run)
    assert isinstance(again, Run)
    assert (first.trained, again.trained) == (True, False)
    assert again.seconds == first.seconds > 0
    assert again.evaluations == first.evaluations
    assert [found["iteration"] for found in again.of("held")] == [2, 4]
    assert again.of("other") == []
    assert again.best_on_test("other") is None
    best = again.best_on_test("held")
    assert best is not None
    assert best["micro"] == min(found["micro"] for found in again.evaluations)
    for key, errors in first.errors.items():
        np.testing.assert_array_equal(errors.errors, again.errors[key].errors)
    # what was recorded last is what the final weights are worth
    assert again.errors["held", "spectral"].micro * 100 == pytest.approx(again.evaluations[-1]["micro"])
    assert again.errors["held", "features"].protocol.read_out == "features"


def test_without_its_state_a_finished_run_still_has_its_errors(make_study: Callable[..., Study]) -> None:
    made = make_study(plain={})
    list(made.results())
    (made.planned[0].folder / STATE).unlink()
    (again,) = make_study(plain={}).results()
    assert isinstance(again, Run)
    assert (again.evaluations, again.trained) == ((), False)


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({"criterion": "same_loop"}, False),
        ({"mask": "binary"}, False),
        ({"temperature": 0.2, "noise": 0.0, "width": 4}, False),
        ({"distances": "fast_marching"}, True),
        ({"map_eigenpairs": 15}, True),
        ({"low_pass": 10}, True),
        ({"precision": "float32"}, True),
    ],
)
def test_surfaces_are_prepared_again_only_if_they_differ(
    make_study: Callable[..., Study], preparations: list[TrainingConfig], change: dict[str, Any], again: bool
) -> None:
    assert not any(isinstance(found, Failed) for found in make_study(one={}, other=change, tested_on=()).results())
    assert len(preparations) == 1 + again


def test_other_choices_or_pairs_are_another_run(make_study: Callable[..., Study], pairs: Pairs) -> None:
    made = make_study(plain={})
    list(made.results())
    with pytest.raises(ValueError, match=r"seed-0 had width=8, now it is 9; use the same settings"):
        make_study(plain={"width": 9})
    with pytest.raises(ValueError, match="was made with other pairs"):
        read_run(made.planned[0].folder, list(pairs)[:2])
    assert read_run(made.planned[0].folder / "nothing", list(pairs)) is None


def test_an_unfinished_run_of_other_choices_is_refused_at_once(
    make_study: Callable[..., Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(state: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(make_study(plain={"evaluate_every": 2}).results(lambda run: stop))
    with pytest.raises(ValueError, match="had evaluate_every=2, now it is 3"):
        make_study(plain={"evaluate_every": 3})
    (run,) = make_study(plain={"evaluate_every": 2}).results()
    assert isinstance(run, Run)
    assert len(run.evaluations) == 2


def test_what_fails_is_reported_and_the_rest_is_done(make_study: Callable[..., Study]) -> None:
    # 1e30 overflows
    failed, done = make_study(bad={"learning_rate": 1e30, "gradient_norm": 1e30}, good={}).results()
    assert isinstance(failed, Failed)
    assert failed.reason.startswith("the loss is not a finite number")
    assert failed.planned.name == "bad, seed 0"
    assert isinstance(done, Run)


def test_progress_counts_the_iterations_of_all_runs(
    pairs: Pairs, small: ModuleType, cache: Cache, tmp_path: Path
) -> None:
    series = [Series(name=n, label=n, config=small.config(iterations=3), trained_on="a", tested_on=()) for n in "xy"]
    told: list[tuple[str, int, int]] = []
    source = {"a": Source("a", lambda: pairs)}
    made = Study(
        series, (0,), tmp_path, train=source, test={}, cache=cache, workers=1, progress=lambda *of: told.append(of)
    )
    list(made.results())
    assert [of for of in told if of[0] == "all runs"] == [("all runs", 3, 6), ("all runs", 6, 6)]
    assert ("training", 3, 3) in told


def in_two_pieces() -> Pair:
    ball = sphere(120).to_unit_area()[0]
    part = ball.submesh(np.abs(ball.vertices[:, 2]) > 0.08)[0]
    assert part.n_components == 2
    return Pair(part, ball)


@pytest.mark.parametrize(("criterion", "mask"), [("none", "soft"), ("boundary", "binary"), ("wormhole", "soft")])
def test_weights_by_another_criterion_are_those_of_preparation(
    small: ModuleType, prepared: PreparedPairs, pairs: Pairs, cache: Cache, criterion: Any, mask: Any
) -> None:
    for held in (list(pairs), [in_two_pieces()]):
        before = prepare_pairs(held, small.config(criterion="boundary", mask="soft"), cache=cache)
        config = small.config(criterion=criterion, mask=mask)
        fresh = prepare_pairs(held, config, cache=cache)
        for ours, theirs in zip(reweighted(before, config).parts, fresh.parts, strict=True):
            assert ours.weights is not None
            assert torch.equal(ours.weights, theirs.weights)
            assert torch.equal(ours.distances, theirs.distances)


def test_without_distances_there_is_nothing_to_weigh(small: ModuleType, pairs: Pairs, cache: Cache) -> None:
    plain = prepare_pairs(list(pairs)[:1], small.config(), for_loss=False, cache=cache)
    with pytest.raises(ValueError, match="the prepared pairs have no distances to weigh them by"):
        reweighted(plain, small.config())


def test_the_hash_of_pairs_is_what_runs_note(
    pairs: Pairs, prepared: PreparedPairs, small: ModuleType, tmp_path: Path
) -> None:
    train(prepared, small.config(iterations=1), folder=tmp_path / "run")
    card = Matcher.load(tmp_path / "run/model.safetensors").card
    assert card["data"]["hash"] == pairs_hash(pairs) != pairs_hash(list(pairs)[:2])
