"""DiffusionNet (Sharp et al. 2022): features of vertices, as a function of inputs there and of the surface's operators.

A block lets each channel diffuse over the surface for a time that it learns, compares the gradients of channels, and mixes
the three at each vertex. It knows the surface through its operators alone, so triangulations do not matter.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from partwhole.matching.network.diffusion import diffused_with_features

# diffusion times stay above this: negative ones would make heat flow back
_SHORTEST = 1e-8


class Operators(NamedTuple):
    """What a network needs to know of a surface. There may be leading dimensions: a batch of surfaces of one size.

    Attributes
    ----------
    mass : vertex areas; 0 for vertices that only fill up a batch
    values : λ, the lowest eigenvalues of the Laplacian
    basis : Φ, gx Φ and gy Φ: the eigenfunctions, and their gradients in the frame of each vertex
    """

    mass: Float[Tensor, "*batch n"]
    values: Float[Tensor, "*batch k"]
    basis: Float[Tensor, "*batch n 3 k"]


class DiffusionNet(nn.Module):
    """Features (n, `outputs`) of vertices from inputs (n, `inputs`) there.

    Parameters
    ----------
    inputs, outputs : channels
    width : channels inside
    blocks : how many
    dropout : share of channels left out in the MLPs while training

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> from partwhole.matching import surface_of
    >>> ball = surface_of(sphere(100), eigenpairs=20)
    >>> network = DiffusionNet(6, 16, width=8, blocks=2)
    >>> network(torch.cat([ball.points, ball.normals], dim=1), ball.operators).shape
    torch.Size([100, 16])
    """

    def __init__(self, inputs: int, outputs: int, *, width: int = 128, blocks: int = 4, dropout: float = 0.5) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList([Block(width, dropout) for _ in range(blocks)])
        self.last = nn.Linear(width, outputs)

    def forward(self, inputs: Float[Tensor, "*batch n c"], operators: Operators) -> Float[Tensor, "*batch n f"]:
        if inputs.shape[-1] != self.first.in_features:
            raise ValueError(
                f"the inputs have {inputs.shape[-1]} channels, the network was made for {self.first.in_features}; "
                "prepare the surfaces with the inputs it was trained on"
            )
        x = self.first(inputs)
        for block in self.blocks:
            x = block(x, operators)
        return self.last(x)

    def keep_times_positive(self) -> None:
        """Move diffusion times that a step has made negative back to (almost) 0; after each step of training."""
        with torch.no_grad():
            for block in self.blocks:
                block.time.clamp_(min=_SHORTEST)


class Block(nn.Module):
    """x + MLP(x, diffused x, gradient features of diffused x)"""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.time = nn.Parameter(torch.full((width,), _SHORTEST))
        self.rotation = ComplexLinear(width)
        self.mix = nn.Sequential(
            nn.Linear(3 * width, width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, width),
        )

    def forward(self, x: Float[Tensor, "*batch n c"], operators: Operators) -> Float[Tensor, "*batch n c"]:
        learned = self.time, self.rotation.real.weight, self.rotation.imaginary.weight
        return x + self.mix(torch.cat([x, *diffused_with_features(x, *learned, *operators)], dim=-1))


class ComplexLinear(nn.Module):
    """z ↦ A z without offset, A complex: (Re A gx − Im A gy) + i (Im A gx + Re A gy) for z = gx + i gy."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.real = nn.Linear(width, width, bias=False)
        self.imaginary = nn.Linear(width, width, bias=False)

    def forward(self, gx: Float[Tensor, "*n c"], gy: Float[Tensor, "*n c"]) -> tuple[Tensor, Tensor]:
        return self.real(gx) - self.imaginary(gy), self.imaginary(gx) + self.real(gy)


def diffuse(
    x: Float[Tensor, "*batch n c"], time: Float[Tensor, "c"], operators: Operators
) -> tuple[Float[Tensor, "*batch n c"], Float[Tensor, "*batch n c"], Float[Tensor, "*batch n c"]]:
    """u = Φ exp(−λ t) Φᵀ A x, channel by channel with its own t, and ∇u = (gx Φ, gy Φ) exp(−λ t) Φᵀ A x.

    The gradients of eigenfunctions were taken once and for all, so those of u cost no more than u itself.
    """
    mass, values, basis = operators
    coefficients = basis[..., 0, :].transpose(-1, -2) @ (mass[..., None] * x)
    decayed = torch.exp(-values[..., None] * time) * coefficients
    u, gx, gy = (basis @ decayed[..., None, :, :]).unbind(-2)
    return u, gx, gy


def gradient_features(
    gx: Float[Tensor, "*n c"], gy: Float[Tensor, "*n c"], rotation: ComplexLinear
) -> Float[Tensor, "*n c"]:
    """tanh Re(z̄ ⊙ A z), z = gx + i gy: angles between the gradients of channels. The frame at a vertex does not matter:
    turned by θ, z and A z are both multiplied by e^{iθ}, which z̄ ⊙ A z does not see."""
    real, imaginary = rotation(gx, gy)
    return torch.tanh(gx * real + gy * imaginary)
