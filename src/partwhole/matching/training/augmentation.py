"""Augmentation: random rotations, noise and stretching of what the network sees in training."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.config import Axis, TrainingConfig
from partwhole.matching.network.surface import Surface
from partwhole.matching.search.orientation import axis_rotations


def augmented(surface: Surface, config: TrainingConfig) -> Surface:
    """x ↦ S (R x + noise), normal ↦ S⁻¹ R normal at length 1: R a turn about the vertical and a tilt, S a stretch along the
    axes.

    Distances, operators and signatures stay those of the surface itself. Draws from torch's generator of the device.
    """
    points, choices, vertical = surface.points, config.augmentation, config.search.vertical
    batch = points.shape[:-2]
    limit = math.radians(choices.rotation)
    angle = (2 * torch.rand(batch, device=points.device) - 1) * limit
    R = axis_rotations(angle, vertical)
    if choices.tilt:
        R = _tilts(choices.tilt, vertical, batch, points.device) @ R
    low, high = choices.scaling
    stretch = low + (high - low) * torch.rand((*batch, 1, 3), device=points.device)
    noise = (choices.noise * torch.randn_like(points)).clamp(-choices.noise_limit, choices.noise_limit)
    return replace(
        surface,
        points=stretch * (points @ R.transpose(-1, -2) + noise),
        normals=normalize(surface.normals @ R.transpose(-1, -2) / stretch, dim=-1),
    )


def _tilts(limit: float, vertical: Axis, batch: torch.Size, device: torch.device) -> Float[Tensor, "*batch 3 3"]:
    """Rotations by a random angle about a random horizontal axis: one of the axes, turned about the vertical."""
    angle = (2 * torch.rand(batch, device=device) - 1) * math.radians(limit)
    horizontal: Axis = "z" if vertical != "z" else "x"
    direction = axis_rotations(2 * math.pi * torch.rand(batch, device=device), vertical)
    return direction @ axis_rotations(angle, horizontal) @ direction.transpose(-1, -2)
