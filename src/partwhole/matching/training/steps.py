"""One step of training on one pair: the loss of its soft map, and a step of Adam down that loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from partwhole.matching.config import TrainingConfig
from partwhole.matching.network.diffusion_net import Network
from partwhole.matching.network.surface import Surface
from partwhole.matching.readout.maps import soft_map
from partwhole.matching.training.augmentation import augmented
from partwhole.matching.training.losses import Loss
from partwhole.matching.training.prepared_pairs import PreparedPairs
from partwhole.matching.training.stream import PairStream


def learning_rate(iteration: int, n_pairs: int, config: TrainingConfig) -> float:
    """η_T + (η_0 − η_T)(1 + cos π s) / 2, s the share of the half cosine that is over: by iterations, or by whole passes.

    Examples
    --------
    >>> config = TrainingConfig(iterations=100, cosine_epochs=None)
    >>> [round(learning_rate(i, 10, config), 6) for i in (0, 50, 100)]
    [0.001, 0.00055, 0.0001]
    """
    if config.optimisation.cosine_epochs is None:
        share = iteration / config.optimisation.iterations
    else:
        share = min(1.0, iteration // n_pairs / config.optimisation.cosine_epochs)
    high, low = config.optimisation.learning_rate, config.optimisation.final_learning_rate
    return low + (high - low) * (1 + math.cos(math.pi * share)) / 2


def random_seed(*numbers: int) -> int:
    """A seed for torch that belongs to these numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)


# one step on (number of the part, number of the whole), which gives the terms of the loss
Step = Callable[[int, int], Tensor]


def losses_of_pair(
    network: Network,
    loss: Loss,
    part: Surface,
    whole: Surface,
    config: TrainingConfig,
    *,
    augment: bool = True,
    both: Surface | None = None,
) -> Tensor:
    """The terms of the loss for one pair, each a number.

    Parameters
    ----------
    augment : False shows the network the surfaces as they are
    both : part and whole as a batch of one size, which a GPU gets through in half the time; as many vertices of each count
        as `part` and `whole` have
    """
    seen = (lambda surface: augmented(surface, config)) if augment else (lambda surface: surface)
    if both is None:
        of_part, of_whole = (network.encode(seen(surface)) for surface in (part, whole))
    else:
        features = network.encode(seen(both))
        of_part, of_whole = features[0, : len(part)], features[1, : len(whole)]
    P = soft_map(*network.pair(of_part, of_whole), config.loss.temperature, absent=whole.absent)
    return torch.stack([term(P, part, whole) for term in loss.terms()])


def plain_steps(
    network: Network,
    optimiser: torch.optim.Optimizer,
    loss: Loss,
    stock: PreparedPairs | PairStream,
    config: TrainingConfig,
) -> Step:
    """The step as it is meant; `captured_steps` does the same faster."""

    def step(part: int, whole: int) -> Tensor:
        terms = losses_of_pair(network, loss, *stock.surfaces(part, whole), config)
        descend(network, optimiser, terms, config)
        return terms.detach()

    return step


def descend(network: Network, optimiser: torch.optim.Optimizer, terms: Tensor, config: TrainingConfig) -> None:
    """One step of the optimiser down the sum of the terms, with the gradient clipped."""
    optimiser.zero_grad()
    terms.sum().backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), config.optimisation.gradient_norm)
    optimiser.step()
    network.after_step()


def adam(network: Network, config: TrainingConfig, device: str) -> torch.optim.Adam:
    """Adam, with its state there from the start, so that it can be saved and put back like the weights."""
    on_gpu = device != "cpu"
    rate = (
        torch.tensor(config.optimisation.learning_rate, device=device) if on_gpu else config.optimisation.learning_rate
    )
    optimiser = torch.optim.Adam(network.parameters(), lr=rate, fused=on_gpu, capturable=on_gpu)
    for weight in network.parameters():
        optimiser.state[weight] = {
            "step": torch.zeros((), device=weight.device),
            "exp_avg": torch.zeros_like(weight),
            "exp_avg_sq": torch.zeros_like(weight),
        }
    return optimiser


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    for group in optimiser.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


@contextmanager
def reproducibly(config: TrainingConfig, device: str) -> Iterator[None]:
    """Torch's generators and precision are ours inside, and as they were afterwards."""
    before = torch.get_float32_matmul_precision()
    devices = [torch.cuda.current_device()] if device == "cuda" else []
    with torch.random.fork_rng(devices):
        exact = config.optimisation.precision == "float32" or device == "cpu"
        torch.set_float32_matmul_precision("highest" if exact else "high")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)
