"""A training run in words, and its request in the folder of the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from partwhole.cli.shared.config_options import TrainRequest, choice_rows, chosen_config, preset_rows, written
from partwhole.cli.shared.options import REQUEST
from partwhole.matching.config import PRESETS, TrainingConfig


def test_every_default_can_be_written_and_read_again() -> None:
    default = TrainingConfig()
    assert chosen_config(None, [f"{name}={written(value)}" for name, value in default.choices.items()]) == default
    assert chosen_config(None, [f"{name}={value}" for name, value, _ in choice_rows()]) == default
    assert [name.partition(".")[2] for name, _, _ in choice_rows()] == list(default.choices)


def test_presets_are_where_choices_begin() -> None:
    for name, config in PRESETS.items():
        assert chosen_config(name) == config
    assert chosen_config("pfaust-m", ["distortion-weight=7"]).loss.distortion_weight == 7
    assert chosen_config(None, seed=3) == TrainingConfig(seed=3)
    assert [name for name, _ in preset_rows()] == list(PRESETS)
    assert ("pfaust-h", "the defaults") in preset_rows()


def test_a_run_of_any_length_may_be_evaluated_as_often() -> None:
    assert chosen_config(None, iterations=700) == TrainingConfig(iterations=700)
    assert chosen_config(None, iterations=700, evaluations=10) == TrainingConfig(iterations=700, evaluate_every=70)
    assert chosen_config(None, ["iterations=7"], evaluations=10).optimisation.evaluate_every == 1
    assert (
        chosen_config(None, ["evaluate_every=300"], iterations=700, evaluations=10).optimisation.evaluate_every == 300
    )
    assert chosen_config(None, evaluations=10) == TrainingConfig()


@pytest.mark.parametrize(
    ("change", "name", "value"),
    [
        ("low_pass=30", "low_pass", 30),
        ("loss.low_pass=30", "low_pass", 30),
        ("search.yaw-steps=8", "yaw_steps", 8),
        ("low_pass=None", "low_pass", None),
        ("cosine_epochs=none", "cosine_epochs", None),
        ("noise=1e-3", "noise", 1e-3),
        (" mask = binary ", "mask", "binary"),
        ("scaling=(0.5, 2)", "scaling", (0.5, 2.0)),
        ("iterations=20_000", "iterations", 20_000),
    ],
)
def test_values(change: str, name: str, value: object) -> None:
    assert chosen_config(None, [change]).choices[name] == value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("rotation", "--with takes a setting and its value, such as --with rotation=30, got 'rotation'"),
        ("=3", "--with takes a setting and its value"),
        ("rotation=much", "--with rotation=much: rotation is a number"),
        ("width=8.5", "--with width=8.5: width is a whole number"),
        ("low_pass=few", "--with low_pass=few: low_pass is a whole number, or none"),
        ("mask=hard", "--with mask=hard: mask is soft, binary"),
        ("scaling=1", "--with scaling=1: scaling is 2 numbers with a comma between them"),
        ("wdith=8", "did you mean 'width'?"),
        ("loss.width=8", "did you mean network.width?"),
        ("width=0", "width=0 must be at least 1"),
    ],
)
def test_mistakes(change: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        chosen_config(None, [change])
    assert message in str(caught.value)


def test_nothing_is_said_twice() -> None:
    with pytest.raises(ValueError, match="--seed and --with seed say the same; give one"):
        chosen_config(None, ["seed=1"], seed=2)


# --- the request, in the folder of the run


def request(**changes: Any) -> TrainRequest:
    knobs: dict[str, Any] = {
        "data": "/data/scans",
        "set": "folder",
        "preset": None,
        "config": TrainingConfig(rotation=30.0, low_pass=20),
        "validate": True,
        "watch_test": False,
        "device": "cpu",
    }
    return TrainRequest(**{**knobs, **changes})


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    request().write(tmp_path)
    assert TrainRequest.read(tmp_path) == request()


def test_a_run_is_named_after_the_set_or_the_folder() -> None:
    assert request().label == "scans"
    assert request(set="pfaust-h").label == "pfaust-h"
    assert request(set="bodies", data=None).label == "bodies"


def test_data_and_device_may_be_others(tmp_path: Path) -> None:
    assert request().moved(None, None) == request()
    assert request().moved(tmp_path, "cuda") == request(data=str(tmp_path), device="cuda")


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is not the folder of a run: it has no command\.json, which"):
        TrainRequest.read(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda held: held.pop("config"),
        lambda held: held.pop("set"),
        lambda held: held.update(more=1),
        lambda held: held["config"].update(wdith=3),
        lambda held: held["config"].update(width=0),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, change: Any) -> None:
    held = request().to_json()
    change(held)
    (tmp_path / REQUEST).write_text(json.dumps(held))
    with pytest.raises(ValueError, match=r"command\.json is damaged"):
        TrainRequest.read(tmp_path)
    for text in ("[]", "no json", ""):
        (tmp_path / REQUEST).write_text(text)
        with pytest.raises(ValueError, match=r"command\.json is damaged"):
            TrainRequest.read(tmp_path)


def test_the_assets_of_a_recipe_may_move(tmp_path: Path, one_error: Callable[..., str]) -> None:
    asked = request(data=None, set=None, recipe="default", assets="/before", blocks=4)
    assert asked.moved(None, None, tmp_path).assets == str(tmp_path)
    with pytest.raises(ValueError, match="--data does not go with --recipe default"):
        asked.moved(tmp_path, None)
    asked.write(tmp_path)
    held = json.loads((tmp_path / REQUEST).read_text())
    (tmp_path / REQUEST).write_text(json.dumps({**held, "recipe": "secret"}))
    assert "is damaged" in one_error("train", "--resume", tmp_path)
