"""Steps of several batches in one process; two processes are tested beside the command, in test_train_processes.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from partwhole.matching import PairStream, train
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.training.large.shared_steps import accumulated_steps
from partwhole.matching.training.losses import loss_of
from partwhole.matching.training.steps import adam, learning_rate, losses_of_pair

STILL: dict[str, Any] = {"dropout": 0.0, "rotation": 0.0, "noise": 0.0, "scaling": (1.0, 1.0)}


def test_the_gradient_is_the_mean_of_those_of_the_batches(prepared, config) -> None:
    config = config.with_changes(accumulate=3, gradient_norm=1e9, **STILL)
    torch.manual_seed(0)
    network, slow = new_network(config.network), new_network(config.network)
    slow.load_state_dict(network.state_dict())
    loss = loss_of(config)
    step = accumulated_steps(network, adam(network, config, "cpu"), loss, prepared, config)
    terms = step(4)
    pairs = [prepared.surfaces(*prepared.pair_at(12 + k, config.optimisation.seed)) for k in range(3)]
    expected = torch.stack([losses_of_pair(slow, loss, *pair, config) for pair in pairs]).mean(dim=0)
    expected.sum().backward()
    torch.testing.assert_close(terms, expected.detach())
    for one, other in zip(network.parameters(), slow.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-5)
        assert not torch.equal(one, other)


def test_as_many_batches_as_a_batch_has_pairs_see_the_same_pairs(prepared, config) -> None:
    config = config.with_changes(iterations=3, **STILL)
    one = train(prepared, config.with_changes(accumulate=2))
    other = train(prepared, config.with_changes(batch=2))
    np.testing.assert_allclose(one.losses, other.losses, rtol=1e-3)


def test_the_rate_falls_with_the_passes_over_the_pairs(config) -> None:
    passes = config.with_changes(cosine_epochs=4, accumulate=3, batch=2)
    assert learning_rate(5, 10, passes) == learning_rate(30, 10, config.with_changes(cosine_epochs=4))


def test_a_stream_is_drawn_from_once_a_batch(hands, hand_blocks) -> None:
    from partwhole.matching import TrainingConfig

    few: dict[str, Any] = {"map_eigenpairs": 12, "diffusion_eigenpairs": 12, "width": 8, "blocks": 1, "features": 8}
    only = {"distortion_weight": 0.0, "orthogonality_weight": 0.0, "correspondence_weight": 1.0, "cosine_epochs": None}
    config = TrainingConfig(iterations=4, accumulate=2, **few, **only)
    with PairStream(hands, config, blocks=3, first=1, every=4, workers=0, folder=hand_blocks) as stream:
        assert stream.blocks == 2
        assert train(stream, config).losses.shape == (4, 1)
        assert len(stream.pairs) == 2


def test_more_processes_than_batches_are_refused(prepared, config) -> None:
    network = new_network(config.network)
    given = network, adam(network, config, "cpu"), loss_of(config), prepared, config.with_changes(accumulate=2)
    with pytest.raises(
        ValueError, match="accumulate=2 batches a step can't be shared out among 3 processes; use accumul"
    ):
        accumulated_steps(*given, processes=(0, 3))
