"""How wrong a map is as a whole."""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from partwhole.matching import Matcher
from partwhole.matching.confidence.constants import LARGEST_ERROR
from partwhole.matching.confidence.map_rule import MapRule, map_cues
from partwhole.matching.confidence.rule import NAMES, Cues, Rule, confidence_of, expected_error, judged, rule_for
from partwhole.matching.result import Fit

FIT = Fit(0.5, "wormhole", 0.01, 1.0, 0.9, 0.1, None, None, similarity=0.8, torn=0.02)
RULE = MapRule(expected=0.5, similarity=2.0, torn=0.1, reversed=1.0, offset=-2.0)


def test_what_speaks_against_a_map_raises_the_error() -> None:
    at = RULE.error(0.03, FIT)
    assert at == pytest.approx(math.exp(-2 + 0.5 * math.log(0.03) + 2 * 0.2 + 0.1 * math.log(0.03) + 0.1))
    worse = [replace(FIT, similarity=0.5), replace(FIT, torn=0.3), replace(FIT, reversed=0.4)]
    assert all(RULE.error(0.03, one) > at for one in worse)
    assert RULE.error(0.06, FIT) > at


def test_what_is_not_known_speaks_neither_for_nor_against() -> None:
    unknown = replace(FIT, similarity=math.nan, reversed=math.nan)
    assert map_cues(0.03, unknown) == map_cues(0.03, replace(FIT, similarity=1.0, reversed=0.0))


@pytest.mark.parametrize("changes", [{"torn": -0.1}, {"offset": math.nan}])
def test_weights_are_finite_and_not_negative(changes: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="weights are finite and not negative"):
        replace(RULE, **changes)


def cues() -> Cues:
    rng = np.random.default_rng(0)
    return Cues(**{name: rng.uniform(0.01, 0.2, 50) for name in NAMES})


def test_vertices_expect_on_average_what_their_map_does() -> None:
    plain = replace(rule_for({}), even=0.05)
    areas = np.linspace(1, 2, 50)
    confidence, fit = judged(cues(), FIT, areas, plain)
    expected = expected_error(cues(), plain)
    mean = np.average(np.minimum(expected, LARGEST_ERROR), weights=areas)
    assert np.array_equal(confidence, confidence_of(cues(), plain))
    assert fit.expected_error == pytest.approx(mean)
    assert not fit.judged
    knowing = replace(plain, of_map=RULE)
    sure, told = judged(cues(), FIT, areas, knowing)
    assert told.judged
    assert told.expected_error == pytest.approx(RULE.error(mean, FIT))
    factor = told.expected_error / mean
    assert np.allclose(1 / sure - 1, (1 / confidence - 1) * factor**plain.slope)


def test_a_rule_keeps_what_it_knows_of_maps() -> None:
    plain = rule_for({})
    assert "of_map" not in plain.to_json()
    knowing = replace(plain, of_map=RULE)
    assert knowing.to_json()["of_map"] == asdict(RULE)
    assert Rule.from_json(knowing.to_json()) == knowing
    with pytest.raises(ValueError, match="the rule of confidence is damaged"):
        Rule.from_json({**knowing.to_json(), "of_map": {**asdict(RULE), "torn": -1.0}})
    with pytest.raises(ValueError, match="the rule of confidence is damaged"):
        Rule.from_json({**knowing.to_json(), "of_map": {"torn": 1.0}})


def test_any_pose_knows_maps() -> None:
    assert rule_for(Matcher.load("any-pose").card).of_map is not None
