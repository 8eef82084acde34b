from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import partwhole.matching.training.prepared_pairs as preparation
import partwhole.matching.training.run_folder as run_folder
import partwhole.matching.training.steps as steps
import partwhole.matching.training.train as training
from partwhole.datasets import Pair, Pairs, cut_balls, cut_plane
from partwhole.matching import (
    Benchmark,
    CorrespondenceLoss,
    Matcher,
    OrthogonalityLoss,
    PreparedPairs,
    TrainingConfig,
    WormholeLoss,
    prepare_pairs,
    preset,
    soft_map,
    train,
)
from partwhole.matching.network.diffusion_net import inputs_of, new_network
from partwhole.matching.training.losses import Loss, loss_of
from partwhole.matching.training.steps import adam, learning_rate, losses_of_pair, plain_steps, set_rate
from partwhole.matching.training.train import mean_loss

STILL: dict[str, Any] = {"dropout": 0.0, "rotation": 0.0, "noise": 0.0, "scaling": (1.0, 1.0)}


def same_weights(one: Matcher, two: Matcher) -> bool:
    theirs = two.network.state_dict()
    return all(torch.equal(weight, theirs[name]) for name, weight in one.network.state_dict().items())


class Explosive(Loss):
    """Becomes infinite in one call."""

    def __init__(self, call: int, value: float) -> None:
        self.left, self.value = call, value

    name = "explosive"

    def __call__(self, P: Any, part: Any, whole: Any) -> torch.Tensor:
        self.left -= 1
        return P.square().sum() * (self.value if self.left == 0 else 1.0)


def test_a_seed_decides_everything(prepared, config) -> None:
    one, two, other = (train(prepared, config.with_changes(seed=seed)) for seed in (0, 0, 1))
    assert repr(one) == "TrainingRun(12 iterations, 0 evaluations)"
    assert one.losses.shape == (12, 2)
    assert one.terms == ("distortion", "orthogonality")
    np.testing.assert_array_equal(one.losses, two.losses)
    assert same_weights(one.matcher, two.matcher)
    assert not same_weights(one.matcher, other.matcher)
    assert one.seconds > 0


def test_pairs_are_as_good_as_prepared_ones(pairs: Pairs, prepared, config, cache) -> None:
    told: list[tuple[str, int, int]] = []
    run = train(pairs, config, cache=cache, progress=lambda *what: told.append(what))
    np.testing.assert_array_equal(run.losses, train(prepared, config).losses)
    assert [what for what, done, total in told if done == total] == [
        "reading",
        "eigenfunctions",
        "distances",
        "training",
    ]


def test_how_often_one_looks_changes_nothing(prepared, config, pairs, cache, monkeypatch) -> None:
    plain = train(prepared, config)
    monkeypatch.setattr(run_folder, "FLUSH_ITERATIONS", 1)
    told: list[int] = []
    watch = {"balls": Benchmark(pairs[:2], keep=True, cache=cache)}
    looked = train(
        prepared,
        config,
        validation=prepared,
        watch=watch,
        progress=lambda what, done, total: told.append(done) if what == "training" else None,
        heartbeat=lambda state: None,
    )
    assert same_weights(plain.matcher, looked.matcher)
    np.testing.assert_array_equal(plain.losses, looked.losses)
    assert told == list(range(1, 13))


def test_torch_is_left_as_it_was(prepared, config, monkeypatch) -> None:
    before = torch.get_float32_matmul_precision()
    try:
        for precision in ("medium", "highest"):
            torch.set_float32_matmul_precision(precision)
            torch.manual_seed(1)
            expected = torch.rand(3)
            torch.manual_seed(1)
            train(prepared, config.with_changes(iterations=2))
            assert torch.equal(torch.rand(3), expected)
            assert torch.get_float32_matmul_precision() == precision
            torch.manual_seed(1)
            monkeypatch.setattr(steps, "losses_of_pairs", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                train(prepared, config)
            monkeypatch.undo()
            assert torch.equal(torch.rand(3), expected)
            assert torch.get_float32_matmul_precision() == precision
    finally:
        torch.set_float32_matmul_precision(before)


def test_the_loss_falls(prepared, config) -> None:
    run = train(prepared, config.with_changes(iterations=100, learning_rate=1e-2, cosine_epochs=None, **STILL))
    total = run.losses.sum(axis=1)
    # first pass and last
    assert total[-5:].mean() < 0.7 * total[:5].mean()


def test_losses_of_a_pair_are_the_loss_of_its_soft_map(prepared, config) -> None:
    torch.manual_seed(0)
    network = new_network(config.network).eval()
    part, whole = prepared.parts[2], prepared.wholes[1]
    features = [network(inputs_of(surface, "xyz"), surface.operators) for surface in (part, whole)]
    P = soft_map(*features, config.loss.temperature)
    loss = WormholeLoss(2.0) + OrthogonalityLoss(3.0, 20)
    found = losses_of_pair(network, loss, part, whole, config, augment=False)
    assert found.tolist() == pytest.approx([term(P, part, whole).item() for term in loss.terms()])
    assert losses_of_pair(network, loss, part, whole, config).tolist() != found.tolist()


def test_a_batch_has_the_mean_loss_of_its_pairs_and_takes_the_next_ones(prepared, config) -> None:
    quiet = config.with_changes(iterations=3, batch=2, learning_rate=1e-12, final_learning_rate=1e-12, **STILL)
    alone = train(prepared, quiet.with_changes(iterations=6, batch=1)).losses
    np.testing.assert_allclose(train(prepared, quiet).losses, alone.reshape(3, 2, -1).mean(axis=1), rtol=1e-4)
    # the learning rate falls with the passes over the pairs, of which there are twice as many
    passes = config.with_changes(cosine_epochs=4)
    assert learning_rate(6, 6, passes.with_changes(batch=2)) == learning_rate(12, 6, passes)


def test_a_step_is_a_step_of_adam_along_the_clipped_gradient(prepared, config) -> None:
    quiet = config.with_changes(gradient_norm=1e-3, **STILL)
    torch.manual_seed(0)
    network = new_network(quiet.network)
    torch.manual_seed(0)
    twin = new_network(quiet.network)
    loss, rate = loss_of(quiet), quiet.optimisation.learning_rate
    step = plain_steps(network, adam(network, quiet, "cpu"), loss, prepared, quiet)
    reference = torch.optim.Adam(twin.parameters(), lr=rate)
    for part, whole in prepared.pairs:
        found = step((part, whole))
        reference.zero_grad()
        terms = losses_of_pair(twin, loss, prepared.parts[part], prepared.wholes[whole], quiet)
        terms.sum().backward()
        norm = torch.sqrt(sum(weight.grad.square().sum() for weight in twin.parameters()))
        assert norm > 1e-3
        for weight in twin.parameters():
            weight.grad *= 1e-3 / norm
        reference.step()
        twin.after_step()
        torch.testing.assert_close(found, terms.detach(), rtol=1e-4, atol=1e-4)
        assert not found.requires_grad
    for one, two in zip(network.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-4)


def test_times_stay_positive(prepared, config) -> None:
    run = train(prepared, config.with_changes(learning_rate=0.1))
    times = torch.stack([block.time for block in run.matcher.network.blocks])
    assert (times > 0).all()
    assert (times > 1e-6).any()


def test_the_rate_is_the_one_that_is_used(prepared, config, monkeypatch) -> None:
    used = []
    real = set_rate

    def watched(optimiser: torch.optim.Optimizer, rate: float) -> None:
        real(optimiser, rate)
        used.append(optimiser.param_groups[0]["lr"])

    monkeypatch.setattr(training, "set_rate", watched)
    few = config.with_changes(cosine_epochs=2)
    train(prepared, few)
    assert used == [learning_rate(i, len(prepared), few) for i in range(12)]
    assert len(set(used)) == 3


def test_weights_are_validated_on_pairs_that_are_not_trained_on(prepared, pairs, config, cache, tmp_path) -> None:
    held_out = prepare_pairs(pairs[2:4], config, cache=cache)
    rough = config.with_changes(learning_rate=0.05, evaluate_every=2, iterations=20, temperature=0.05)
    run = train(prepared, rough, validation=held_out, folder=tmp_path / "run")
    losses = [row["loss"] for row in run.evaluations]
    assert [row["iteration"] for row in run.evaluations] == list(range(2, 21, 2))
    assert {row["data"] for row in run.evaluations} == {"validation"}
    best = int(np.argmin(losses))
    # or this test shows nothing
    assert best < 9
    assert run.validated.card["weights"] == "validated"
    assert run.validated.card["iterations"] == 2 * (best + 1)
    assert run.matcher.card["weights"] == "final"
    assert run.matcher.card["iterations"] == 20
    loss = loss_of(rough)
    assert mean_loss(run.validated.network, loss, held_out, rough) == pytest.approx(losses[best], rel=1e-5)
    assert mean_loss(run.matcher.network, loss, held_out, rough) == pytest.approx(losses[-1], rel=1e-5)
    # the same weights as at that time
    shorter = train(prepared, rough.with_changes(iterations=2 * (best + 1), cosine_epochs=300))
    assert same_weights(shorter.matcher, run.validated)
    assert same_weights(Matcher.load(tmp_path / "run" / "validated.safetensors"), run.validated)
    assert same_weights(Matcher.load(tmp_path / "run" / "model.safetensors"), run.matcher)


def test_the_mean_loss_is_that_of_each_pair(prepared, config) -> None:
    torch.manual_seed(0)
    network, loss = new_network(config.network).eval(), loss_of(config)
    each = [
        losses_of_pair(network, loss, prepared.parts[p], prepared.wholes[w], config, augment=False).sum().item()
        for p, w in prepared.pairs
    ]
    assert mean_loss(network, loss, prepared, config) == pytest.approx(np.mean(each), rel=1e-5)


def test_watched_pairs_are_examined(prepared, pairs, config, cache) -> None:
    examination = Benchmark(pairs[:4], cache=cache)
    run = train(prepared, config, watch={"mine": pairs[:4], "prepared": examination}, cache=cache)
    assert [(row["iteration"], row["data"]) for row in run.evaluations] == [
        (i, name) for i in (5, 10, 12) for name in ("mine", "prepared")
    ]
    last = examination.of(run.matcher, read_out="spectral").measures()
    for row in run.evaluations[-2:]:
        assert row["macro"] == pytest.approx(last["macro"])
        assert row["% above 0.15"] == pytest.approx(last["% above 0.15"])
    assert run.validated is None


def test_watched_pairs_need_ground_truth(prepared, pairs, config) -> None:
    with pytest.raises(ValueError, match="have no ground truth"):
        train(prepared, config, watch={"mine": pairs})


@pytest.mark.parametrize("value", [math.inf, math.nan])
@pytest.mark.parametrize("every", [1, 250])
def test_a_loss_that_is_no_number(prepared, config, monkeypatch, value, every) -> None:
    monkeypatch.setattr(run_folder, "FLUSH_ITERATIONS", every)
    with pytest.raises(
        ValueError, match="the loss is not a finite number in iteration 4; lower learning_rate, or check for"
    ):
        train(prepared, config, loss=Explosive(4, value))


def test_a_loss_of_ones_own(prepared, config) -> None:
    run = train(prepared, config, loss=Explosive(-1, 0.0) + OrthogonalityLoss(1.0, 10))
    assert run.terms == ("explosive", "orthogonality")
    assert run.losses.shape == (12, 2)


def test_the_loss_of_a_config() -> None:
    assert repr(loss_of(preset("pfaust-m"))) == (
        "WormholeLoss(weight=5000.0) + OrthogonalityLoss(weight=1.0, eigenpairs=200)"
    )
    assert loss_of(TrainingConfig(orthogonality_weight=0.0)) == WormholeLoss(1e3)
    assert loss_of(TrainingConfig(distortion_weight=0.0, map_eigenpairs=9)) == OrthogonalityLoss(1.0, 9)
    with pytest.raises(ValueError, match="all terms of the loss are 0: there is nothing to train for"):
        loss_of(TrainingConfig(orthogonality_weight=0.0, distortion_weight=0.0))
    supervised = TrainingConfig(correspondence_weight=2.0)
    assert loss_of(supervised).terms()[-1] == CorrespondenceLoss(2.0)
    assert loss_of(supervised, supervised=False) == loss_of(TrainingConfig())


def test_ground_truth_is_learned_from_where_it_is_asked_for(pairs, config, cache) -> None:
    known = [pair for pair in pairs if pair.ground_truth is not None]
    alone = {"distortion_weight": 0.0, "orthogonality_weight": 0.0, "correspondence_weight": 1.0}
    run = train(
        known, config.with_changes(**alone, iterations=60, dropout=0.0, rotation=0.0, learning_rate=0.01), cache=cache
    )
    assert run.terms == ("correspondence",)
    assert run.losses[-8:].mean() < 0.8 * run.losses[:8].mean()
    assert run.matcher.card["protocol"].startswith("supervised")
    with pytest.raises(ValueError, match="has no ground truth, which the correspondence loss needs"):
        train(pairs, config.with_changes(correspondence_weight=1.0), cache=cache)


def test_a_loss_says_what_is_prepared_for_it(pairs, config, cache, tmp_path) -> None:
    """Masks of the wholes and the ground truth, whatever the config says, which then says the same."""
    known, few = [pair for pair in pairs if pair.ground_truth is not None], config.with_changes(iterations=2)
    loss = WormholeLoss(2.0, masked_sides="both") + CorrespondenceLoss(3.0)
    run = train(known, few, loss=loss, cache=cache, folder=tmp_path / "run")
    assert run.terms == ("distortion", "correspondence")
    assert run.matcher.config.loss.masked_sides == "both"
    assert run.matcher.config.loss.correspondence_weight == 3
    assert loss_of(run.matcher.config) == loss
    assert Matcher.load(tmp_path / "run/model.safetensors").config.loss.masked_sides == "both"
    # refinement takes the loss of training, so it needs the same masks
    torn = cut_balls(pairs[0].whole, [0], 0.1).part
    assert len(run.matcher.match(pairs[0].part, torn, up="y", refine=2).losses) == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"criterion": "none"},
        {"masked_sides": "both", "low_pass": 10},
        {"criterion": "same_loop", "mask": "binary"},
        {"criterion": "boundary"},
        {"low_pass": 10},
        {"inputs": "signatures"},
        {"inputs": "xyz+signatures"},
    ],
)
def test_every_choice_trains(pairs, config, cache, changes) -> None:
    run = train(pairs[:2], config.with_changes(iterations=3, **changes), cache=cache)
    assert np.isfinite(run.losses).all()
    assert run.matcher.match(pairs[0].part, pairs[0].whole, up="y").vertex_map.max() < 110


def test_prepared_pairs_without_distances(pairs, config, cache) -> None:
    with pytest.raises(ValueError, match="needs distances of part and whole"):
        train(prepare_pairs(pairs, config, for_loss=False, cache=cache), config)


def test_distances_are_measured_only_if_something_asks_for_them(pairs, config, cache, monkeypatch) -> None:
    known = [pair for pair in pairs if pair.ground_truth is not None]
    alone = {"distortion_weight": 0.0, "correspondence_weight": 1.0, "iterations": 2}
    monkeypatch.setattr(preparation, "distances_of", None)
    assert train(known, config.with_changes(**alone), cache=cache).terms == ("orthogonality", "correspondence")
    with pytest.raises(TypeError, match="not callable"):
        train(known, config, cache=cache)


def test_weights_to_start_with_are_turned_to_where_shapes_stand(prepared, config) -> None:
    start = train(prepared, config.with_changes(iterations=2, vertical="y")).matcher
    still = config.with_changes(iterations=1, vertical="z", learning_rate=1e-12, final_learning_rate=1e-12)
    after = train(prepared, still, start=start).matcher
    torch.testing.assert_close(after.network.first.weight, start.standing("z").network.first.weight)


def test_devices(prepared, config) -> None:
    with pytest.raises(ValueError, match="device must be 'cpu' or 'cuda', got 'abacus'"):
        train(prepared, config, device="abacus")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="device='cuda' needs a CUDA device, and torch finds none"):
            train(prepared, config, device="cuda")


def test_surfaces_of_any_number_of_eigenpairs(small, config) -> None:
    """A part with fewer vertices than eigenpairs were asked for."""
    ball = small.lopsided(60)
    made = [Pair.of_cut(cut_plane(ball, (0, 0, height), (0, 0, 1))) for height in (0.0, 0.5)]
    few = config.with_changes(map_eigenpairs=40, diffusion_eigenpairs=30, iterations=4)
    run = train(made, few)
    assert np.isfinite(run.losses).all()


def test_prepared_pairs_are_what_was_said(prepared: PreparedPairs, tmp_path: Path, config) -> None:
    card = train(prepared, config, folder=tmp_path / "ball run").matcher.card
    assert card["name"] == "ball run"
    assert card["data"]["pairs"] == 5
    assert card["data"]["parts"] == 4
    assert card["data"]["wholes"] == 2
    assert card["seed"] == 0
    assert card["loss"] == repr(loss_of(config))
    assert "no ground truth" in card["protocol"]
    assert {"torch", "numpy", "partwhole"} <= card["versions"].keys()


def test_small_surfaces_are_trained_on_by_one_thread(pairs, config, cache) -> None:
    seen = []
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        train(pairs, config, cache=cache, heartbeat=lambda state: seen.append(torch.get_num_threads()))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {1}
