"""Refinement on one pair: the loss never rises, and what was given stays as it was."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from partwhole.datasets import Pairs, make_body, random_cuts
from partwhole.datasets.pairs import Pair
from partwhole.matching import (
    Benchmark,
    Matcher,
    PreparedPairs,
    Surface,
    TrainingConfig,
    WormholeLoss,
    evaluate,
    hard_map,
    prepare_pairs,
    train,
)
from partwhole.matching.network.diffusion_net import inputs_of, new_network
from partwhole.matching.readout.maps import score
from partwhole.matching.training import refine as refinement
from partwhole.matching.training.losses import loss_of
from partwhole.matching.training.refine import Refined, refine
from partwhole.matching.training.train import mean_loss

CONFIG = TrainingConfig(
    width=16,
    blocks=2,
    features=16,
    map_eigenpairs=30,
    diffusion_eigenpairs=20,
    temperature=0.05,
    rotation=30.0,
    iterations=30,
    distances="dijkstra",
)


def spectral(matcher: Matcher, part: Surface, whole: Surface) -> torch.Tensor:
    """The map of these surfaces as they stand."""
    return matcher.read(hard_map(matcher.encode(part), matcher.encode(whole)), part, whole, "spectral")


@pytest.fixture(scope="module")
def hands() -> Pairs:
    body = make_body("hand", 500, seed=3)
    cuts = [random_cuts(body.pose(k), recipe="pfaust-m", seed=k) for k in range(2)]
    made = [Pair.of_cut(cut, centre="whole", name=f"hand {k}") for k, cut in enumerate(cuts)]
    return Pairs.from_list(made, name="hands")


@pytest.fixture(scope="module")
def prepared_hands(hands: Pairs) -> PreparedPairs:
    return prepare_pairs(hands, CONFIG)


@pytest.fixture(scope="module")
def trained(prepared_hands: PreparedPairs) -> Matcher:
    return train(prepared_hands, CONFIG).matcher


@pytest.fixture(scope="module")
def surfaces(prepared_hands: PreparedPairs) -> tuple[Any, Any]:
    return prepared_hands.parts[0], prepared_hands.wholes[0]


def weights_of(matcher: Matcher) -> dict[str, torch.Tensor]:
    return {name: weight.clone() for name, weight in matcher.network.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def loss_on(matcher: Matcher, prepared: PreparedPairs) -> float:
    first = replace(prepared, pairs=prepared.pairs[:1])
    return mean_loss(matcher.network, loss_of(matcher.config), first, matcher.config)


@pytest.mark.parametrize("as_in_training", [False, True])
def test_the_loss_falls_and_the_matcher_stays_as_it_was(trained, prepared_hands, surfaces, as_in_training) -> None:
    before = weights_of(trained)
    found = refine(trained, *surfaces, steps=8, augmentation=as_in_training, dropout=as_in_training, patience=None)
    assert same(before, weights_of(trained))
    assert not trained.network.training
    assert not any(weight.requires_grad for weight in trained.network.parameters())
    assert "refined" not in trained.card
    assert found.matcher is not trained
    assert found.matcher.config == trained.config
    assert found.steps_taken == 8
    assert found.loss_before == pytest.approx(loss_on(trained, prepared_hands))
    assert found.loss_after == pytest.approx(loss_on(found.matcher, prepared_hands))
    assert found.loss_after == min(found.losses)
    assert found.improved
    assert not same(before, weights_of(found.matcher))
    assert found.matcher.card["refined"] == found.kept_step
    assert not found.matcher.network.training
    assert not any(weight.requires_grad for weight in found.matcher.network.parameters())
    assert torch.equal(found.vertex_map, spectral(found.matcher, *surfaces))
    assert repr(found).startswith(f"Refined(loss {found.loss_before:.4g} → ")


def test_the_first_step_is_one_of_adam(trained, surfaces, prepared_hands) -> None:
    """By hand: every weight moves by the learning rate against the sign of its gradient."""
    rate = 1e-5
    found = refine(trained, *surfaces, steps=1, learning_rate=rate)
    assert found.kept_step == 1
    before, after = weights_of(trained), weights_of(found.matcher)
    network = new_network(CONFIG.network)
    network.load_state_dict(before)
    part, whole = surfaces
    features = [network.eval()(inputs_of(s, "xyz"), s.operators) for s in surfaces]
    unit = [f / f.norm(dim=1, keepdim=True) for f in features]
    P = torch.softmax(unit[0] @ unit[1].T / CONFIG.loss.temperature, dim=1)
    loss_of(CONFIG)(P, part, whole).backward()
    moved = {name: after[name] - before[name] for name in before}
    for name, weight in network.named_parameters():
        clear = weight.grad.abs() > 1e-3 * weight.grad.abs().max()
        # times of diffusion are kept positive
        if clear.any() and "time" not in name:
            expected = -rate * weight.grad.sign()[clear]
            torch.testing.assert_close(moved[name][clear], expected, rtol=0.05, atol=2e-7)


def test_without_a_lower_loss_the_start_is_returned(trained, surfaces) -> None:
    """A rate at which every step is far too long."""
    found = refine(trained, *surfaces, steps=4, learning_rate=10.0)
    assert not found.improved
    assert (found.kept_step, found.loss_after) == (0, found.loss_before)
    assert found.steps_taken == 4
    assert same(weights_of(trained), weights_of(found.matcher))
    assert torch.equal(found.vertex_map, spectral(trained, *surfaces))
    assert repr(found) == "Refined(no lower loss was found, 4 steps)"


def test_it_stops_early(trained, surfaces) -> None:
    for patience in (1, 3):
        found = refine(trained, *surfaces, steps=10, learning_rate=10.0, patience=patience)
        assert found.steps_taken == patience
        assert found.loss_after == found.loss_before
    assert refine(trained, *surfaces, steps=10, learning_rate=10.0, patience=None).steps_taken == 10


@pytest.mark.parametrize("at_once", [16, 4, 3])
@pytest.mark.parametrize(("rate", "steps_taken"), [(1e-4, 6), (10.0, 2)])
def test_steps_as_a_gpu_takes_them(trained, surfaces, monkeypatch, rate, steps_taken, at_once) -> None:
    """Part and whole as a batch, and nobody asks after each step whether it was worth it."""
    plain = refine(trained, *surfaces, steps=6, learning_rate=rate, patience=2)
    monkeypatch.setattr(refinement, "runs_on_gpu", lambda matcher: True)
    monkeypatch.setattr(refinement, "STEPS_AT_ONCE", at_once)
    found = refine(trained, *surfaces, steps=6, learning_rate=rate, patience=2)
    assert found.steps_taken == plain.steps_taken == steps_taken
    assert found.kept_step == plain.kept_step
    np.testing.assert_allclose(found.losses[: 1 + found.kept_step], plain.losses[: 1 + plain.kept_step], rtol=1e-3)
    assert (found.vertex_map == plain.vertex_map).float().mean() > 0.95


@pytest.mark.gpu
def test_recorded_steps_of_a_gpu_are_its_plain_steps(trained, surfaces, monkeypatch) -> None:
    trained = Matcher(deepcopy(trained.network).cuda(), trained.config)
    on_gpu = [surface.to("cuda") for surface in surfaces]
    recorded = refine(trained, *on_gpu, steps=8, patience=None)
    monkeypatch.setattr(refinement, "taken_by_gpu", lambda step, optimiser, matcher: step)
    plain = refine(trained, *on_gpu, steps=8, patience=None)
    np.testing.assert_allclose(recorded.losses, plain.losses, rtol=1e-3)
    assert recorded.kept_step == plain.kept_step
    assert (recorded.vertex_map == plain.vertex_map).float().mean() > 0.95


def test_it_stops_where_the_loss_is_no_number(trained, surfaces) -> None:
    found = refine(trained, *surfaces, steps=10, learning_rate=1e30)
    assert not math.isfinite(found.losses[-1])
    assert found.steps_taken < 5
    assert not found.improved
    assert same(weights_of(trained), weights_of(found.matcher))


def test_the_same_seed_gives_the_same(trained, surfaces) -> None:
    def once(seed: int) -> Refined:
        return refine(trained, *surfaces, steps=3, augmentation=True, dropout=True, seed=seed)

    one, two, other = once(0), once(0), once(1)
    assert one.losses == two.losses
    assert same(weights_of(one.matcher), weights_of(two.matcher))
    assert torch.equal(one.vertex_map, two.vertex_map)
    assert other.losses[0] == one.losses[0]
    assert other.losses[1:] != one.losses[1:]


@pytest.mark.parametrize("augmentation", [False, True])
@pytest.mark.parametrize("dropout", [False, True])
def test_torch_is_left_as_it_was(trained, surfaces, augmentation, dropout) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    with torch.no_grad():
        found = refine(trained, *surfaces, steps=2, augmentation=augmentation, dropout=dropout)
        assert not torch.is_grad_enabled()
    assert torch.equal(torch.rand(3), expected)
    assert found.steps_taken == 2


def test_another_loss(trained, surfaces) -> None:
    found = refine(trained, *surfaces, steps=3, loss=WormholeLoss(2.0))
    twice = refine(trained, *surfaces, steps=3, loss=WormholeLoss(4.0))
    assert twice.loss_before == pytest.approx(2 * found.loss_before)
    assert found.loss_after < found.loss_before


def test_read_outs(trained, surfaces) -> None:
    for read_out in ("features", "spectral", "zoomout"):
        found = refine(trained, *surfaces, steps=2, read_out=read_out)
        part, whole = surfaces
        compared = found.matcher.compare(found.matcher.encode(part), found.matcher.encode(whole))[0]
        assert torch.equal(found.vertex_map, found.matcher.read(compared.nearest(), part, whole, read_out))


def test_of_several_the_map_is_taken_that_distorts_and_bends_least(trained, surfaces) -> None:
    torch.manual_seed(1)
    untrained = Matcher(new_network(CONFIG.network), CONFIG)
    each = [refine(one, *surfaces, steps=2) for one in (untrained, trained)]
    scores = [score(one.vertex_map, *surfaces) for one in each]
    best = scores.index(min(scores))
    found = refine([untrained, trained], *surfaces, steps=2)
    assert found.model == best == 1
    assert found.losses == each[best].losses
    assert torch.equal(found.vertex_map, each[best].vertex_map)
    assert refine([trained], *surfaces, steps=2).losses == found.losses


def test_match_and_evaluate(trained, hands, cache) -> None:
    pair = hands[0]
    before = weights_of(trained)
    plain = trained.match(pair.part, pair.whole, cache=cache)
    refined = trained.match(pair.part, pair.whole, refine=3, cache=cache)
    assert plain.losses == ()
    assert len(refined.losses) == 4
    assert min(refined.losses) < refined.losses[0]
    assert refined.vertex_map.shape == plain.vertex_map.shape
    errors = evaluate(trained, hands, refine=3, method="dijkstra", cache=cache)
    assert errors.protocol.refined == 3
    assert "registration read-out, refined by 3 steps" in errors.protocol.statement
    benchmark = Benchmark(hands, method="dijkstra", cache=cache)
    again = benchmark.of(trained, refine=3)
    for one, two in zip(errors.pairs, again.pairs, strict=True):
        np.testing.assert_array_equal(one.errors, two.errors)
    assert errors.pairs[0].seconds > 0
    assert benchmark.of(trained).protocol.refined == 0
    assert same(before, weights_of(trained))


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"steps": 0}, r"steps=0 must be at least 1; match without refinement with refine=0"),
        ({"steps": -1}, "steps=-1 must be at least 1"),
        ({"learning_rate": 0.0}, r"learning_rate=0\.0 must be positive, such as 1e-4"),
        ({"learning_rate": math.nan}, "learning_rate=nan must be positive"),
        ({"learning_rate": math.inf}, "learning_rate=inf must be positive"),
        ({"patience": 0}, "patience=0 must be at least 1, or None to take all steps"),
    ],
)
def test_knobs_that_make_no_sense(trained, surfaces, knobs: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        refine(trained, *surfaces, **knobs)


def test_what_is_missing_is_said(trained, hands, surfaces, cache) -> None:
    part, whole = surfaces
    remedy = r"refinement needs distances of part and whole, .* prepared, or give them with Surface\.with_loss"
    for given in (
        (part.with_loss(None), whole),
        (part.with_loss(part.distances), whole),
        (part, whole.with_loss(None)),
    ):
        with pytest.raises(ValueError, match=remedy):
            refine(trained, *given)
    with pytest.raises(ValueError, match="there is no matcher to refine"):
        refine([], part, whole)
    with pytest.raises(ValueError, match="refine=-3 must be at least 0"):
        trained.match(hands[0].part, hands[0].whole, refine=-3, cache=cache)


def test_matchers_that_need_other_surfaces(trained, surfaces, prepared_hands) -> None:
    make: Callable[..., Matcher] = lambda **changes: Matcher(trained.network, trained.config.with_changes(**changes))  # noqa: E731
    with pytest.raises(ValueError, match="the matchers differ in criterion \\('wormhole' and 'boundary'\\)"):
        refine([trained, make(criterion="boundary")], *surfaces)
    with pytest.raises(ValueError, match=r"differ in diffusion_eigenpairs \(20 and 16\), so they can't share surfaces"):
        refine([trained, make(diffusion_eigenpairs=16)], *surfaces)
