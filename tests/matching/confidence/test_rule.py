"""Confidence, from cues."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from partwhole.matching import Matcher
from partwhole.matching.confidence.constants import LARGEST_ERROR, RIGHT
from partwhole.matching.confidence.rule import (
    NAMES,
    Cues,
    MapRule,
    Rule,
    confidence_of,
    expected_error,
    fitted_rule,
    judged,
    map_cues,
    presupposed,
    remark_on,
    rule_for,
    stacked,
)
from partwhole.matching.result import Fit

FIT = Fit(0.5, "wormhole", 0.01, 1.0, 0.9, 0.1, None, None, similarity=0.8, torn=0.02)
RULE = MapRule(expected=0.5, similarity=2.0, torn=0.1, reversed=1.0, offset=-2.0)


def random_cues(count: int, seed: int = 0) -> Cues:
    rng = np.random.default_rng(seed)
    return Cues(**{name: rng.uniform(0, 0.3, count) for name in NAMES})


@pytest.mark.parametrize(
    "place",
    [
        "confidence.constants.CLOSE",
        "confidence.constants.NEAR",
        "confidence.constants.FAR",
        "readout.maps.RADIUS",
        "network.surface.CURVATURE_TIME",
        "search.constants.HOPELESS",
        "search.constants.PLACE_WIDTH",
    ],
)
def test_a_rule_is_refused_with_constants_it_was_not_fitted_with(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = fitted_rule().to_json()
    before = presupposed()
    monkeypatch.setattr(f"partwhole.matching.{place}", 0.3)
    presupposed.cache_clear()
    try:
        assert presupposed() != before
        with pytest.raises(ValueError, match="was fitted with other constants"):
            Rule.from_json(told)
    finally:
        presupposed.cache_clear()


@pytest.mark.parametrize("name", ["REGISTRATION_LENGTHS", "REGISTRATION_STEPS", "FARTHEST"])
def test_a_rule_for_registration_presupposes_its_constants(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_lateration = fitted_rule()
    told = replace(by_lateration, read_out="registration", presupposes=presupposed("registration")).to_json()
    assert Rule.from_json(told).read_out == "registration"
    with pytest.raises(ValueError, match="was fitted with other constants"):
        Rule.from_json({**told, "read_out": "lateration"})
    monkeypatch.setattr(f"partwhole.matching.readout.maps.{name}", 0.3)
    presupposed.cache_clear()
    try:
        with pytest.raises(ValueError, match="was fitted with other constants"):
            Rule.from_json(told)
        assert Rule.from_json(by_lateration.to_json()) == by_lateration
    finally:
        presupposed.cache_clear()


def test_a_rule_of_an_earlier_version_is_for_lateration() -> None:
    told = fitted_rule().to_json()
    del told["read_out"]
    assert Rule.from_json(told).read_out == "lateration"


def test_more_cues_less_confidence() -> None:
    low = random_cues(200)
    assert len(low) == 200
    before = confidence_of(low)
    for name in NAMES:
        assert (confidence_of(replace(low, **{name: getattr(low, name) + 0.2})) <= before).all()
    nothing = confidence_of(Cues(**dict.fromkeys(NAMES, np.zeros(1))))
    everything = confidence_of(Cues(**dict.fromkeys(NAMES, np.full(1, 2.0))))
    assert nothing[0] > 0.8
    assert everything[0] < 0.2


def test_the_rule_that_was_fitted_counts_every_cue() -> None:
    rule = fitted_rule()
    assert (np.array(rule.inner) >= 0).all()
    assert (np.array(rule.outer) >= 0).all()
    assert (np.array(rule.outer) @ np.array(rule.inner) > 0).all()
    assert 0.5 * RIGHT < rule.even < 4 * RIGHT
    assert Rule.from_json(rule.to_json()) == rule
    with pytest.raises(ValueError, match="the rule is for other cues than"):
        Rule.from_json({**rule.to_json(), "cues": ["width"]})
    with pytest.raises(ValueError, match="was fitted with other constants of search and cues; fit it again"):
        Rule.from_json({**rule.to_json(), "presupposes": "0" * 64})
    with pytest.raises(ValueError, match="for another read-out than lateration or registration; fit it again"):
        Rule.from_json({**rule.to_json(), "read_out": "features"})
    strange: list[dict[str, object]] = [
        {"inner": 3.0}, {"outer_": []}, {"even": 0.0}, {"slope": float("nan")}, {"offset": "1"}, {"mean": [0.0]},
        {"deviation": [0.0] * len(NAMES)}, {"outer": [-1.0] * len(rule.outer)}, {"shift": [1e400] * len(rule.shift)},
        {"inner": [[0.0] * 3]}, {"offset": [1.0]}, {"even": 10**400}, {"outer": [1e300] * len(rule.outer)},
    ]  # fmt: skip
    for damaged in strange:
        with pytest.raises(ValueError, match="the rule of confidence is damaged"):
            Rule.from_json({**rule.to_json(), **damaged})


def test_a_model_may_have_a_rule_of_its_own() -> None:
    other = replace(fitted_rule(), even=0.1)
    assert rule_for({"name": "mine"}) is fitted_rule()
    card = json.loads(json.dumps({"name": "mine", "confidence": other.to_json()}))
    assert rule_for(card) == other
    assert remark_on(card) == remark_on({"name": "upright"}) == ()
    assert "with mine its ranking is meaningful" in remark_on({"name": "mine"})[0]


def test_a_rule_by_hand() -> None:
    zero = (0.0,) * len(NAMES)
    rule = Rule(zero, (1.0,) * len(NAMES), (zero,), (0.0,), (1.0,), float(np.log(0.05)), even=0.05, slope=3.0)
    cues = random_cues(4)
    assert expected_error(cues, rule) == pytest.approx(0.05)
    assert confidence_of(cues, rule) == pytest.approx(0.5)
    assert stacked(cues).shape == (4, len(NAMES))
    place = NAMES.index("misfit")
    assert np.array_equal(stacked(cues)[:, place], cues.misfit)
    inner = tuple(float(number == place) for number in range(len(NAMES)))
    by_misfit = replace(rule, inner=(inner,))
    assert expected_error(cues, by_misfit) == pytest.approx(0.05 * np.exp(np.tanh(cues.misfit)))


def test_what_speaks_against_a_map_raises_the_error() -> None:
    at = RULE.error(0.03, FIT)
    assert at == pytest.approx(math.exp(-2 + 0.5 * math.log(0.03) + 2 * 0.2 + 0.1 * math.log(0.03) + 0.1))
    worse = [replace(FIT, similarity=0.5), replace(FIT, torn=0.3), replace(FIT, reversed=0.4)]
    assert all(RULE.error(0.03, one) > at for one in worse)
    assert RULE.error(0.06, FIT) > at


def test_what_is_not_known_speaks_neither_for_nor_against() -> None:
    unknown = replace(FIT, similarity=math.nan, reversed=math.nan)
    assert map_cues(0.03, unknown) == map_cues(0.03, replace(FIT, similarity=1.0, reversed=0.0))


@pytest.mark.parametrize("changes", [{"torn": -0.1}, {"offset": math.nan}, {"similarity": 1e3}])
def test_weights_are_bounded_and_not_negative(changes: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="weights are at most 100, and not negative"):
        replace(RULE, **changes)


def test_no_error_is_expected_beyond_half_of_the_size_of_the_whole() -> None:
    wild = Cues(**dict.fromkeys(NAMES, np.full(3, 50.0)))
    areas = np.ones(3)
    hopeless = replace(rule_for({}), offset=5.0)
    assert judged(wild, FIT, areas, hopeless)[1].expected_error == 0.5
    assert judged(wild, FIT, areas, replace(hopeless, of_map=replace(RULE, offset=9.0)))[1].expected_error == 0.5


@pytest.mark.parametrize("name", ["misfit", "unlike"])
def test_a_cue_counts_up_to_four_deviations(name: str) -> None:
    rule = fitted_rule()
    at = NAMES.index(name)
    usual = Cues(**dict.fromkeys(NAMES, np.full(4, 0.01)))
    deviations = np.array([3.0, 3.9, 4.1, 9.0])
    three, below, above, far = expected_error(
        replace(usual, **{name: rule.mean[at] + deviations * rule.deviation[at]}), rule
    )
    assert three < below < above
    assert above == far


def test_vertices_expect_on_average_what_their_map_does() -> None:
    plain, cues = replace(rule_for({}), even=0.05), random_cues(50)
    areas = np.linspace(1, 2, 50)
    confidence, fit = judged(cues, FIT, areas, plain)
    expected = expected_error(cues, plain)
    mean = np.average(np.minimum(expected, LARGEST_ERROR), weights=areas)
    assert np.array_equal(confidence, confidence_of(cues, plain))
    assert fit.expected_error == pytest.approx(mean)
    assert not fit.judged
    knowing = replace(plain, of_map=RULE)
    sure, told = judged(cues, FIT, areas, knowing)
    assert told.judged
    assert told.expected_error == pytest.approx(RULE.error(mean, FIT))
    factor = told.expected_error / mean
    assert np.allclose(1 / sure - 1, (1 / confidence - 1) * factor**plain.slope)


def test_vertices_that_expect_no_error_at_all_are_sure() -> None:
    """As by a rule that somebody changed."""
    without = replace(rule_for({}), offset=-1e6, of_map=RULE)
    sure, _ = judged(random_cues(50), FIT, np.ones(50), without)
    assert (sure == 1).all()


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
