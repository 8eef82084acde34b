"""What a run was asked for, in its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from partwhole.cli.shared.train_command import FILE, Order

from partwhole.matching.training.config import TrainingConfig


def order(**changes: Any) -> Order:
    knobs: dict[str, Any] = {
        "data": "/data/scans",
        "set": "folder",
        "preset": None,
        "config": TrainingConfig(rotation=30.0, low_pass=20),
        "validate": True,
        "watch_test": False,
        "device": "cpu",
    }
    return Order(**{**knobs, **changes})


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    order().write(tmp_path)
    assert Order.read(tmp_path) == order()


def test_a_run_is_named_after_the_set_or_the_folder() -> None:
    assert order().label == "scans"
    assert order(set="pfaust-h").label == "pfaust-h"
    assert order(set="bodies", data=None).label == "bodies"


def test_data_and_device_may_be_others(tmp_path: Path) -> None:
    assert order().moved(None, None) == order()
    assert order().moved(tmp_path, "cuda") == order(data=str(tmp_path), device="cuda")


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is not the folder of a run: it has no command\.json, which"):
        Order.read(tmp_path)


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
    held = order().to_json()
    change(held)
    (tmp_path / FILE).write_text(json.dumps(held))
    with pytest.raises(ValueError, match=r"command\.json is damaged"):
        Order.read(tmp_path)
    for text in ("[]", "no json", ""):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(ValueError, match=r"command\.json is damaged"):
            Order.read(tmp_path)
