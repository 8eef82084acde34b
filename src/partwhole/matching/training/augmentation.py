"""Random turns, noise and stretching of what the network sees, so that it does not learn where shapes happened to stand."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.network.surface import Surface
from partwhole.matching.training.config import Axis, TrainingConfig


def augmented(surface: Surface, config: TrainingConfig) -> Surface:
    """x ↦ S (R x + noise), normal ↦ S⁻¹ R normal at length 1: R a turn about the vertical and a tilt, S a stretch along the
    axes.

    Distances, operators and signatures stay those of the surface itself. Draws from torch's generator of the device.
    """
    points = surface.points
    batch = points.shape[:-2]
    limit = math.radians(config.rotation)
    angle = (2 * torch.rand(batch, device=points.device) - 1) * limit
    R = turns(angle, config.vertical)
    if config.tilt:
        R = _tilts(batch, config, points.device) @ R
    low, high = config.scaling
    stretch = low + (high - low) * torch.rand((*batch, 1, 3), device=points.device)
    noise = (config.noise * torch.randn_like(points)).clamp(-config.noise_limit, config.noise_limit)
    return replace(
        surface,
        points=stretch * (points @ R.transpose(-1, -2) + noise),
        normals=normalize(surface.normals @ R.transpose(-1, -2) / stretch, dim=-1),
    )


def _tilts(batch: torch.Size, config: TrainingConfig, device: torch.device) -> Float[Tensor, "*batch 3 3"]:
    """Rotations by a random angle about a random horizontal axis: one of the axes, turned about the vertical."""
    angle = (2 * torch.rand(batch, device=device) - 1) * math.radians(config.tilt)
    horizontal: Axis = "z" if config.vertical != "z" else "x"
    direction = turns(2 * math.pi * torch.rand(batch, device=device), config.vertical)
    return direction @ turns(angle, horizontal) @ direction.transpose(-1, -2)


def turns(angle: Float[Tensor, "*batch"], axis: Axis) -> Float[Tensor, "*batch 3 3"]:
    """Rotations by an angle about a coordinate axis.

    Examples
    --------
    >>> turns(torch.tensor(math.pi / 2), "z").round().int().tolist()
    [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    """
    zero, one = torch.zeros_like(angle), torch.ones_like(angle)
    c, s = angle.cos(), angle.sin()
    entries = {
        "x": (one, zero, zero, zero, c, -s, zero, s, c),
        "y": (c, zero, s, zero, one, zero, -s, zero, c),
        "z": (c, -s, zero, s, c, zero, zero, zero, one),
    }[axis]
    return torch.stack(entries, dim=-1).unflatten(-1, (3, 3))
