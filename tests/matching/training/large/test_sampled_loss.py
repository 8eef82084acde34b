"""The sampled loss against the full one: by enumeration of all samples, which is exact, and in training."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from partwhole.matching import (
    Matcher,
    OrthogonalityLoss,
    PreparedPairs,
    Surface,
    TrainingConfig,
    WormholeLoss,
    refine,
    train,
)
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.training.large.sampled_loss import SampledWormholeLoss
from partwhole.matching.training.logs import read_losses
from partwhole.matching.training.losses import configured_by, loss_of

ROWS = 3


def symmetric(n: int, seed: int) -> Tensor:
    given = torch.from_numpy(np.random.default_rng(seed).random((n, n)))
    return given + given.T


def surface(areas: Tensor, **held: Any) -> Surface:
    n = len(areas)
    empty = torch.zeros((n, 0), dtype=areas.dtype)
    at = torch.zeros((n, 3), dtype=areas.dtype)
    basis = torch.zeros((n, 3, 0), dtype=areas.dtype)
    return Surface(at, at, empty, areas, torch.zeros(0, dtype=areas.dtype), empty, basis, **held)


@pytest.fixture(scope="module")
def case() -> tuple[Tensor, Surface, Surface]:
    """P, a part of 4 vertices of very different areas, a whole of 6 with a mask of its own."""
    rng = np.random.default_rng(5)
    areas = torch.tensor([0.5, 0.1, 0.25, 0.4], dtype=torch.float64)
    W = symmetric(4, 1) * (areas[:, None] * areas)
    part = surface(areas, distances=symmetric(4, 2), weights=W)
    whole = surface(torch.from_numpy(rng.random(6)), distances=symmetric(6, 3), mask=symmetric(6, 4) / 2)
    return torch.from_numpy(rng.dirichlet(np.ones(6), size=4)), part, whole


def with_gradient(loss: Any, P: Tensor) -> tuple[Tensor, Tensor]:
    P = P.clone().requires_grad_()
    found = loss(P)
    found.backward()
    assert P.grad is not None
    return found.detach(), P.grad


@pytest.mark.parametrize("sides", ["part", "both"])
def test_over_all_samples_the_mean_is_the_loss_and_the_variance_is_as_reported(case, sides) -> None:
    P, part, whole = case
    loss = SampledWormholeLoss(7.0, sides, rows=ROWS)
    probability = (part.mass / part.mass.sum()).tolist()
    value = second = reported = 0.0
    gradient = torch.zeros_like(P)
    for sample in product(range(4), repeat=ROWS):
        share = prod(probability[i] for i in sample)
        at = torch.tensor(sample)
        estimate, slope = with_gradient(lambda P, at=at: loss.of_sample(P, part, whole, at).value, P)
        value += share * float(estimate)
        second += share * float(estimate) ** 2
        reported += share * float(loss.of_sample(P, part, whole, at).variance)
        gradient += share * slope
    expected, full_gradient = with_gradient(lambda P: loss.exact(P, part, whole), P)
    assert value == pytest.approx(float(expected), rel=1e-12)
    torch.testing.assert_close(gradient, full_gradient, rtol=1e-10, atol=1e-12)
    assert reported == pytest.approx(second - value**2, rel=1e-9)
    assert reported > 0.01 * value**2


def test_the_gradient_of_one_sample_by_its_definition(case) -> None:
    """It goes to all rows, not to those of the sample alone."""
    P, part, whole = case
    loss, at = SampledWormholeLoss(2.0, rows=5), torch.tensor([2, 0, 3, 2, 1])
    _, found = with_gradient(lambda P: loss.of_sample(P, part, whole, at).value, P)
    PD = P @ whole.distances
    R = PD @ P.T - part.distances
    expected = torch.zeros_like(P)
    for i, s in product(range(4), at.tolist()):
        expected[i] += 4 * 2.0 / 5 * part.mass.sum() / part.mass[s] * part.weights[i, s] * R[i, s] * PD[s]
    torch.testing.assert_close(found, expected)


def test_a_sample_of_everything_is_the_loss(case) -> None:
    P, part, whole = case
    equal = replace(part, mass=torch.full_like(part.mass, 0.2))
    everything = torch.arange(4)
    loss = SampledWormholeLoss(rows=4)
    found = with_gradient(lambda P: loss.of_sample(P, equal, whole, everything).value, P)
    torch.testing.assert_close(found, with_gradient(lambda P: loss.exact(P, equal, whole), P))


def test_what_is_drawn_at_each_call_is_right_in_the_mean(prepared: PreparedPairs) -> None:
    part, whole = prepared.parts[0], prepared.wholes[0]
    torch.manual_seed(3)
    P = torch.softmax(3 * torch.randn(len(part), len(whole)), dim=1)
    loss = SampledWormholeLoss(rows=20)
    found = torch.stack([loss.measured(P[:, :0], P[:0].T, P, part, whole) for _ in range(400)]).double()
    estimates, variances = found.T
    exact = float(WormholeLoss()(P, part, whole))
    spread = float(estimates.std())
    assert abs(float(estimates.mean()) - exact) < 4 * spread / 20
    assert float(variances.mean()) == pytest.approx(spread**2, rel=0.4)
    counts = torch.bincount(torch.cat([loss.drawn(part) for _ in range(500)]), minlength=len(part))
    expected = 10_000 * part.mass / part.mass.sum()
    assert bool(((counts - expected).abs() < 6 * expected.sqrt()).all())


def test_training_logs_the_variance_beside_the_loss(prepared, config, tmp_path) -> None:
    config = config.with_changes(rows=15)
    run = train(prepared, config, folder=tmp_path / "run", validation=prepared)
    assert run.terms == ("distortion", "orthogonality")
    assert run.losses.shape == (12, 2)
    assert list(run.reported) == ["distortion variance"]
    rows = read_losses(tmp_path / "run")
    np.testing.assert_allclose([row["distortion variance"] for row in rows], run.reported["distortion variance"])
    np.testing.assert_allclose([row["loss"] for row in rows], run.losses.sum(axis=1))
    assert "SampledWormholeLoss(weight=1000.0, rows=15)" in run.matcher.card["loss"]
    # what decides which weights are kept is not sampled
    again = train(prepared, config, validation=prepared)
    assert again.evaluations == run.evaluations
    np.testing.assert_array_equal(again.losses, run.losses)


def test_an_interrupted_run_goes_on_as_if_nothing_had_been(prepared, config, tmp_path) -> None:
    config = config.with_changes(rows=15)
    whole = train(prepared, config)

    def stop(state: Any) -> None:
        if state.iteration >= 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(prepared, config, folder=tmp_path, heartbeat=stop)
    resumed = train(prepared, config, folder=tmp_path, resume=True)
    np.testing.assert_array_equal(resumed.losses, whole.losses)
    np.testing.assert_array_equal(resumed.reported["distortion variance"], whole.reported["distortion variance"])


def test_refinement_takes_all_rows(prepared, config) -> None:
    part, whole = prepared.surfaces(*prepared.pairs[0])
    torch.manual_seed(0)
    network = new_network(config.network)
    found = [
        refine(Matcher(network, config.with_changes(rows=rows)), part, whole, steps=2).losses for rows in (None, 8)
    ]
    assert found[0] == found[1]


def test_as_a_choice_and_as_an_object() -> None:
    config = TrainingConfig(rows=30)
    loss = loss_of(config)
    assert repr(loss) == "SampledWormholeLoss(weight=1000.0, rows=30) + OrthogonalityLoss(weight=1.0, eigenpairs=200)"
    assert loss.exact == loss_of(TrainingConfig())
    assert loss.columns == (("distortion", "distortion variance", "orthogonality"), (0, 2))
    assert configured_by(loss, TrainingConfig()) == config
    assert configured_by(loss.exact, config) == TrainingConfig()
    assert OrthogonalityLoss().exact == OrthogonalityLoss()
    both = SampledWormholeLoss(2.0, "both", rows=9)
    assert repr(both) == "SampledWormholeLoss(weight=2.0, masked_sides='both', rows=9)"
    assert both.exact == WormholeLoss(2.0, "both")


def test_what_is_refused(case) -> None:
    with pytest.raises(ValueError, match="rows=1 must be at least 2, for the variance"):
        SampledWormholeLoss(rows=1)
    with pytest.raises(ValueError, match="rows=1 must be at least 2, or None"):
        TrainingConfig(rows=1)
    P, part, whole = case
    with pytest.raises(ValueError, match="needs distances of part and whole"):
        SampledWormholeLoss()(P, replace(part, distances=None), whole)
