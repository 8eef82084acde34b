"""Protocols say everything that a number depends on."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError, replace

import pytest

from partwhole.evaluation import Protocol
from partwhole.evaluation.protocol import joined

SOME = Protocol(
    data="HOLES training split, test", ground_truth="barycentric", weights="best-on-test", refined=15, seeds=(3,)
)


def test_every_choice_changes_the_statement() -> None:
    others = [
        replace(SOME, **change)
        for change in (
            {"data": "CUTS"},
            {"distances": "exact"},
            {"ground_truth": "barycentric, rounded"},
            {"read_out": "spectral"},
            {"refined": 0},
            {"weights": "validated"},
            {"seeds": (1, 2)},
        )
    ]
    assert len({p.statement for p in (SOME, *others)}) == 8
    assert "weights picked on the test set, seed 3" in SOME.statement
    assert "refined by 15 steps" in SOME.statement
    assert Protocol(data="x", weights="none").statement.endswith("nothing learned")


def test_runs_are_joined_by_their_seeds() -> None:
    assert joined([SOME, replace(SOME, seeds=(4, 5))]).seeds == (3, 4, 5)
    for others in ([replace(SOME, refined=0)], [replace(SOME, data="other")]):
        with pytest.raises(ValueError, match="differ in nothing but seeds"):
            joined([SOME, *others])
    with pytest.raises(ValueError, match="0 runs"):
        joined([])


def test_protocols_are_frozen_and_checked() -> None:
    with pytest.raises(FrozenInstanceError):
        SOME.refined = 3
    with pytest.raises(ValueError, match="refined=-1 must be a number of steps"):
        replace(SOME, refined=-1)
    unchecked = object.__new__(Protocol)
    for name in ("data", "distances", "ground_truth", "read_out", "refined", "weights", "seeds"):
        object.__setattr__(unchecked, name, getattr(SOME, name))
    object.__setattr__(unchecked, "weights", "lucky")
    with pytest.raises(
        ValueError, match="weights must be one of 'final', 'validated', 'best-on-test', 'none', got 'lucky'"
    ):
        inspect.unwrap(Protocol.__post_init__)(unchecked)
