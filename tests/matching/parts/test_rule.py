"""The rule of overlap: heads, their mean, and the region that is expected to agree best with the truth."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from partwhole.matching.parts.constants import LEAST_SHARED, SHARED
from partwhole.matching.parts.rule import Head, OverlapRule, overlap_rule


def test_the_mean_of_two_heads_gives_the_mean_of_their_odds() -> None:
    one = Head(((1.0, 0.5), (0.2, -1.0)), (0.1, 0.0), (2.0, -1.0), 0.5)
    other = Head(((-0.3, 0.8),), (0.4,), (1.5,), -1.0)
    z = torch.tensor([[0.3, -0.2], [1.0, 2.0], [0.0, 0.0]])
    expected = (one.odds(z) + other.odds(z)) / 2
    assert torch.allclose(Head.mean(one, other).odds(z), expected, atol=1e-3)


def test_the_threshold_is_that_of_the_largest_expected_iou() -> None:
    generator = torch.Generator().manual_seed(3)
    for _ in range(5):
        overlap, mass = torch.rand(40, generator=generator) ** 2, 0.5 + torch.rand(40, generator=generator)
        overlap, mass = overlap.double(), mass.double()

        def expected(t: float, o: torch.Tensor = overlap, a: torch.Tensor = mass) -> float:
            taken = o >= t
            return float((a * o)[taken].sum() / (a[taken].sum() + (a * o)[~taken].sum()))

        best = max(overlap.tolist(), key=expected)
        found = OverlapRule.threshold(overlap, mass)
        assert found == pytest.approx(min(max(best, LEAST_SHARED), SHARED))


def test_where_nothing_is_probable_little_is_taken() -> None:
    assert OverlapRule.threshold(torch.full((10,), 0.05), torch.ones(10)) == LEAST_SHARED
    assert OverlapRule.threshold(torch.zeros(10), torch.ones(10)) == LEAST_SHARED


def test_the_rule_goes_through_json_and_presupposes_its_cues() -> None:
    rule = overlap_rule()
    assert OverlapRule.from_json(rule.to_json()) == rule
    assert len(rule.shared.shift) == 2 * len(rule.anything.shift)
    with pytest.raises(ValueError, match=r"overlap.json was fitted with other constants or cues than those"):
        replace(rule, presupposes="others")
