"""Diffusion and gradient features of a block in one piece, with the gradient written out.

Automatic differentiation gives the same, in more than twice as many operations: on a GPU these are so small that their
number is what takes the time. `network.diffuse` and `network.gradient_features` say what is computed; this is how.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

# long thin products are quicker in pieces, which all of a GPU can work on
_PIECES = 16


def diffused_with_features(
    x: Float[Tensor, "*batch n c"],
    time: Float[Tensor, "c"],
    real: Float[Tensor, "c c"],
    imaginary: Float[Tensor, "c c"],
    mass: Float[Tensor, "*batch n"],
    values: Float[Tensor, "*batch k"],
    basis: Float[Tensor, "*batch n 3 k"],
) -> tuple[Float[Tensor, "*batch n c"], Float[Tensor, "*batch n c"]]:
    """u = Φ exp(−λ t) Φᵀ A x, and tanh Re(z̄ ⊙ M z) with z = gx + i gy the gradient of u and M = real + i imaginary.

    Parameters
    ----------
    x : channels at the vertices
    time, real, imaginary : what is learned
    mass, values, basis : see `Operators`
    """
    return _Diffused.apply(x, time, real, imaginary, mass, values, basis)


class _Diffused(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, time: Tensor, real: Tensor, imaginary: Tensor, mass: Tensor, values: Tensor, basis: Tensor
    ) -> tuple[Tensor, Tensor]:
        width = x.shape[-1]
        coefficients = _summed(basis[..., 0, :], mass[..., None] * x)
        decay = torch.exp(-values[..., None] * time)
        # row i: u, gx and gy at vertex i, side by side
        spread = (basis.flatten(-3, -2) @ (decay * coefficients)).view(*x.shape[:-1], 3 * width)
        gradient = spread[..., width:]
        turn = torch.cat([torch.cat([real, -imaginary], dim=1), torch.cat([imaginary, real], dim=1)])
        turned = torch.nn.functional.linear(gradient, turn)
        features = torch.tanh((gradient * turned).unflatten(-1, (2, width)).sum(dim=-2))
        ctx.save_for_backward(mass, values, basis, coefficients, decay, spread, turn, turned, features)
        return spread[..., :width].clone(), features

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_u: Tensor, of_features: Tensor) -> tuple[Tensor | None, ...]:
        mass, values, basis, coefficients, decay, spread, turn, turned, features = ctx.saved_tensors
        width = features.shape[-1]
        gradient = spread[..., width:]
        # of the argument of tanh, the same for both components
        slope = (of_features * (1 - features * features))[..., None, :]
        of_turned = (gradient.unflatten(-1, (2, width)) * slope).flatten(-2)
        of_gradient = (turned.unflatten(-1, (2, width)) * slope).flatten(-2)
        of_gradient = of_gradient + of_turned @ turn
        of_turn = _summed(of_turned, gradient)
        while of_turn.ndim > 2:
            of_turn = of_turn.sum(dim=0)
        of_real = of_turn[:width, :width] + of_turn[width:, width:]
        of_imaginary = of_turn[width:, :width] - of_turn[:width, width:]

        of_spread = torch.cat([of_u, of_gradient], dim=-1).view(*basis.shape[:-1], width)
        of_decayed = _summed(basis.flatten(-3, -2), of_spread.flatten(-3, -2))
        of_coefficients = decay * of_decayed
        of_time = -(values[..., None] * of_coefficients * coefficients).sum(dim=tuple(range(values.ndim)))
        of_x = mass[..., None] * (basis[..., 0, :] @ of_coefficients)
        return of_x, of_time, of_real, of_imaginary, None, None, None


def _summed(left: Float[Tensor, "*batch n k"], right: Float[Tensor, "*batch n c"]) -> Float[Tensor, "*batch k c"]:
    """leftᵀ right, in pieces of the long side."""
    n = left.shape[-2]
    if n % _PIECES:
        return left.transpose(-1, -2) @ right
    pieces = (_PIECES, n // _PIECES)
    return (left.unflatten(-2, pieces).transpose(-1, -2) @ right.unflatten(-2, pieces)).sum(dim=-3)
