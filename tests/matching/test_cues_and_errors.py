"""Confidence beside errors that are known."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
import torch

from partwhole.datasets import Pair
from partwhole.evaluation import geodesic_errors
from partwhole.geodesics import geodesic_distances
from partwhole.matching import Matcher, TrainingConfig
from partwhole.matching.evaluation import cues_and_errors
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.session import match


@pytest.fixture(scope="module")
def matcher(config: TrainingConfig) -> Matcher:
    torch.manual_seed(1)
    return Matcher(new_network(config.network), config)


def test_as_match_does_it(small: ModuleType, matcher: Matcher) -> None:
    pair = small.pairs()[1]
    cues, errors = cues_and_errors(pair, matcher)
    assert pair.ground_truth is not None
    assert len(cues) == len(errors) == len(pair.ground_truth.part_vertices)
    found = match(pair.part, pair.whole, model=matcher)
    expected = geodesic_errors(
        found.vertex_map, pair.ground_truth, geodesic_distances(pair.whole, method="dijkstra"), area=pair.whole.area
    )
    assert np.allclose(errors, expected, atol=1e-5)


def test_the_truth_must_be_known(small: ModuleType, matcher: Matcher) -> None:
    pair = small.pairs()[0]
    with pytest.raises(ValueError, match="has no ground truth, so its errors can't be measured"):
        cues_and_errors(Pair(pair.part, pair.whole, name="unknown"), matcher)
