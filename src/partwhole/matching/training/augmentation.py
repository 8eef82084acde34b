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
