"""One step of training on a pair or a few: augmentation, the loss of its soft map, and a step of Adam down that loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.config import Axis, TrainingConfig
from partwhole.matching.network.diffusion_net import Network
from partwhole.matching.network.surface import Surface
from partwhole.matching.readout.maps import soft_map
from partwhole.matching.search.placement import axis_rotations
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
        passes = iteration * config.optimisation.accumulate * config.optimisation.batch // n_pairs
        share = min(1.0, passes / config.optimisation.cosine_epochs)
    high, low = config.optimisation.learning_rate, config.optimisation.final_learning_rate
    return low + (high - low) * (1 + math.cos(math.pi * share)) / 2


def random_seed(*numbers: int) -> int:
    """A seed for torch that belongs to these numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)


# one step on pairs (number of the part, number of the whole), which gives the terms of their mean loss
Step = Callable[..., Tensor]


def losses_of_pairs(
    network: Network,
    loss: Loss,
    pairs: Sequence[tuple[Surface, Surface]],
    config: TrainingConfig,
    *,
    augment: bool = True,
    together: Sequence[Surface] = (),
) -> Tensor:
    """The terms of the loss, each a number, and what they report beside it (`Loss.columns`): the mean over the pairs.

    Parameters
    ----------
    augment : False shows the network the surfaces as they are
    together : all parts, then all wholes, in batches of one size, which a GPU gets through in less time; as many vertices
        of each count as the surface in `pairs` has
    """
    seen = (lambda surface: augmented(surface, config)) if augment else (lambda surface: surface)
    surfaces = [part for part, _ in pairs] + [whole for _, whole in pairs]
    if together:
        encoded = [row for batch in together for row in network.encode(seen(batch))]
        features = [row[: len(surface)] for row, surface in zip(encoded, surfaces, strict=True)]
    else:
        features = [network.encode(seen(surface)) for surface in surfaces]
    terms = []
    for (part, whole), of_part, of_whole in zip(pairs, features[: len(pairs)], features[len(pairs) :], strict=True):
        present = [(part.mass > 0, whole.mass > 0)] if together else []
        on_part, on_whole = network.pair(of_part, of_whole, *present)
        (on_part, part_in_loss), (on_whole, whole_in_loss) = part.in_loss(on_part), whole.in_loss(on_whole)
        P = soft_map(on_part, on_whole, config.loss.temperature, absent=whole_in_loss.absent)
        seen_by_loss = on_part, on_whole, P, part_in_loss, whole_in_loss
        terms.append(torch.cat([term.measured(*seen_by_loss) for term in loss.terms()]))
    return terms[0] if len(terms) == 1 else torch.stack(terms).mean(dim=0)


def losses_of_pair(
    network: Network, loss: Loss, part: Surface, whole: Surface, config: TrainingConfig, **options: Any
) -> Tensor:
    """`losses_of_pairs` of one pair."""
    return losses_of_pairs(network, loss, [(part, whole)], config, **options)


def plain_steps(
    network: Network,
    optimiser: torch.optim.Optimizer,
    loss: Loss,
    prepared: PreparedPairs | PairStream,
    config: TrainingConfig,
) -> Step:
    """The step as it is meant; `captured_steps` does the same faster."""

    def step(*pairs: tuple[int, int]) -> Tensor:
        terms = losses_of_pairs(network, loss, [prepared.surfaces(*pair) for pair in pairs], config)
        descend(network, optimiser, terms, config)
        return terms.detach()

    return step


def descend(network: Network, optimiser: torch.optim.Optimizer, terms: Tensor, config: TrainingConfig) -> None:
    """One step of the optimiser down the sum of the terms, with the gradient clipped."""
    optimiser.zero_grad()
    terms.sum().backward()
    step_down(network, optimiser, config)


def step_down(network: Network, optimiser: torch.optim.Optimizer, config: TrainingConfig) -> None:
    """One step of the optimiser along the gradient that the weights have, clipped."""
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


# --- augmentation: random rotations, bending, noise and stretching of what the network sees

# eigenfunctions that make up a smooth displacement, and the eigenvalue from which on they count less
_BENDING_MODES, _BENDING_VALUE = 48, 60.0


def augmented(surface: Surface, config: TrainingConfig) -> Surface:
    """x ↦ S (R (x + u) + noise), normal ↦ S⁻¹ R normal at length 1: u a smooth displacement, R a turn about the vertical and
    a tilt, S a stretch along the axes.

    Distances, operators and signatures stay those of the surface itself. Draws from torch's generator of the device.
    """
    points, choices, vertical = surface.points, config.augmentation, config.search.vertical
    batch = points.shape[:-2]
    limit = math.radians(choices.rotation)
    angle = (2 * torch.rand(batch, device=points.device) - 1) * limit
    R = axis_rotations(angle, vertical)
    if choices.tilt:
        R = _tilts(choices.tilt, vertical, batch, points.device) @ R
    normals = surface.normals
    if choices.bending:
        points, normals = _bent(surface, choices.bending)
    low, high = choices.scaling
    stretch = low + (high - low) * torch.rand((*batch, 1, 3), device=points.device)
    noise = (choices.noise * torch.randn_like(points)).clamp(-choices.noise_limit, choices.noise_limit)
    return replace(
        surface,
        points=stretch * (points @ R.transpose(-1, -2) + noise),
        normals=normalize(normals @ R.transpose(-1, -2) / stretch, dim=-1),
    )


def _bent(surface: Surface, most: float) -> tuple[Float[Tensor, "*batch n 3"], Float[Tensor, "*batch n 3"]]:
    """x + u and its normals, u = Σ_k c_k φ_k a smooth random displacement, c_k ~ N(0, s² / (1 + λ_k / λ_0)²), s ≤ `most`.

    The normal turns with the tangents ∂x + ∂u; their frames are those of the gradients of the eigenfunctions.
    """
    few = min(_BENDING_MODES, surface.basis.shape[-1])
    values, basis = surface.values[..., :few], surface.basis[..., :few]
    amount = most * torch.rand((*values.shape[:-1], 1), device=values.device)
    spread = (amount / (1 + values / _BENDING_VALUE))[..., None]
    coefficients = spread * torch.randn((*values.shape, 3), device=values.device)
    moved = (basis @ coefficients[..., None, :, :]).unbind(-2)
    of_points = basis[..., 0, :].transpose(-1, -2) @ (surface.mass[..., None] * surface.points)
    _, along, across = (basis @ of_points[..., None, :, :]).unbind(-2)
    before = torch.linalg.cross(along, across)
    after = torch.linalg.cross(along + moved[1], across + moved[2])
    return surface.points + moved[0], surface.normals + after - before


def _tilts(limit: float, vertical: Axis, batch: torch.Size, device: torch.device) -> Float[Tensor, "*batch 3 3"]:
    """Rotations by a random angle about a random horizontal axis: one of the axes, turned about the vertical."""
    angle = (2 * torch.rand(batch, device=device) - 1) * math.radians(limit)
    horizontal: Axis = "z" if vertical != "z" else "x"
    direction = axis_rotations(2 * math.pi * torch.rand(batch, device=device), vertical)
    return direction @ axis_rotations(angle, horizontal) @ direction.transpose(-1, -2)
