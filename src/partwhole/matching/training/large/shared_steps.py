"""A step of several batches: one after the other in one process, or shared out among the processes of torchrun.

Batch k of iteration t is decided by (seed, t, k) alone, whichever process takes it, and gradients are added up in the order
of the batches. So every number of processes ends with the same weights, bit by bit, where they compute alike: on one kind
of processor, with the same number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, distributed

from partwhole.matching.config import TrainingConfig
from partwhole.matching.network.diffusion_net import Network
from partwhole.matching.training.losses import Loss
from partwhole.matching.training.prepared_pairs import PreparedPairs
from partwhole.matching.training.run_folder import RunState, state_tensors
from partwhole.matching.training.steps import losses_of_pairs, random_seed, step_down
from partwhole.matching.training.stream import PairStream

# the first process prepares and evaluates while the others wait; one that died is noticed by torchrun, not by this
_PATIENCE = timedelta(days=7)


def accumulated_steps(
    network: Network,
    optimiser: torch.optim.Optimizer,
    loss: Loss,
    prepared: PreparedPairs | PairStream,
    config: TrainingConfig,
    processes: tuple[int, int] = (0, 1),
) -> Callable[[int], Tensor]:
    """A function from an iteration to the terms of its loss, which takes a step down the mean of `accumulate` batches.

    Parameters
    ----------
    network, optimiser, loss, prepared, config : of the run
    processes : the number of this one, and how many there are
    """
    (rank, count), choices = processes, config.optimisation
    batches = choices.accumulate
    if batches < count:
        raise ValueError(
            f"accumulate={batches} batches a step can't be shared out among {count} processes; use accumulate={count}, or a "
            "multiple of it"
        )
    weights = [weight for weight in network.parameters() if weight.requires_grad]

    def of_batch(iteration: int, k: int) -> Tensor:
        """The gradient of one batch, and then the terms of its loss, in one row."""
        torch.manual_seed(random_seed(choices.seed, 1, iteration, k))
        pairs = prepared.batch_at(iteration * batches + k, choices.seed, choices.batch)
        terms = losses_of_pairs(network, loss, [prepared.surfaces(*pair) for pair in pairs], config)
        optimiser.zero_grad()
        terms.sum().backward()
        gradients = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights]
        return torch.cat([gradient.flatten() for gradient in gradients] + [terms.detach()])

    def at(iteration: int) -> Tensor:
        mine = (of_batch(iteration, k) for k in range(rank, batches, count))
        mean = _added_up(mine if count == 1 else _from_all(list(mine), batches, count)) / batches
        sizes = [weight.numel() for weight in weights]
        *gradients, terms = mean.split([*sizes, len(mean) - sum(sizes)])
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient.view_as(weight)
        step_down(network, optimiser, config)
        return terms

    return at


def _added_up(rows: Any) -> Float[Tensor, "w"]:
    """Their sum, one after the other: the order decides the rounding."""
    total = None
    for row in rows:
        total = row if total is None else total + row
    assert total is not None
    return total


def _from_all(mine: Sequence[Tensor], batches: int, count: int) -> list[Tensor]:
    """The rows of all processes in the order of the batches: batch k is row k // count of process k % count."""
    most = -(-batches // count)
    held = torch.zeros((most, len(mine[0])), dtype=mine[0].dtype, device=mine[0].device)
    held[: len(mine)] = torch.stack(list(mine))
    found = [torch.empty_like(held) for _ in range(count)]
    distributed.all_gather(found, held)
    return [found[k % count][k // count] for k in range(batches)]


def share_state(network: Network, optimiser: torch.optim.Optimizer, state: RunState) -> None:
    """Weights, optimiser and iteration of the first process, in all: only that one reads and writes the folder of the run."""
    device = next(network.parameters()).device
    done = torch.tensor([state.iteration], device=device)
    for tensor in (done, *(tensor for _, tensor in state_tensors(network, optimiser))):
        distributed.broadcast(tensor, src=0)
    state.iteration = int(done)


@contextmanager
def joined(device: str) -> Iterator[int]:
    """Meet the other processes that torchrun started, and give the number of this one.

    Parameters
    ----------
    device : "cuda" takes the GPU of the number that torchrun gives, and NCCL; "cpu" Gloo
    """
    if device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    distributed.init_process_group("nccl" if device == "cuda" else "gloo", timeout=_PATIENCE)
    try:
        yield distributed.get_rank()
    finally:
        distributed.destroy_process_group()


@contextmanager
def first_alone() -> Iterator[None]:
    """The block, in the first process and then in the others, which find in the cache what that one has computed."""
    rank = distributed.get_rank()
    if rank:
        distributed.barrier()
    yield
    if not rank:
        distributed.barrier()
