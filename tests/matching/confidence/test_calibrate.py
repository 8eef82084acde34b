"""Confidence beside errors that are known."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
import torch

from partwhole.datasets import Pair
from partwhole.matching import Matcher, TrainingConfig
from partwhole.matching.confidence.calibrate import calibration_of, cues_and_errors, judged
from partwhole.matching.matcher import new_network
from partwhole.matching.pipeline import match


@pytest.fixture(scope="module")
def matcher(config: TrainingConfig) -> Matcher:
    torch.manual_seed(1)
    return Matcher(new_network(config), config)


def test_as_match_does_it(small: ModuleType, matcher: Matcher) -> None:
    pair = small.pairs()[1]
    judgement = judged(pair, matcher)
    assert pair.ground_truth is not None
    rows = pair.ground_truth.part_vertices
    assert len(judgement.signs) == len(judgement.errors) == len(rows)
    found = match(pair.part, pair.whole, model=matcher, units="same")
    assert np.allclose(judgement.confidence, found.confidence[rows], atol=1e-5)


def test_all_pairs_together(small: ModuleType, matcher: Matcher) -> None:
    pairs = list(small.pairs())[:4]
    steps: list[int] = []
    found = calibration_of(matcher, pairs, most=2, progress=lambda what, done, total: steps.append(done))
    assert steps == [0, 1, 2]
    assert 0 <= found.carried <= found.possible <= 1
    both = [cues_and_errors(pairs[k], matcher) for k in (0, 3)]
    assert found.error.mean() == pytest.approx(np.mean(np.concatenate([off for _, off in both])), rel=0.05)


def test_the_truth_must_be_known(small: ModuleType, matcher: Matcher) -> None:
    pair = small.pairs()[0]
    with pytest.raises(ValueError, match="has no ground truth, so its errors can't be measured"):
        cues_and_errors(Pair(pair.part, pair.whole, name="unknown"), matcher)
