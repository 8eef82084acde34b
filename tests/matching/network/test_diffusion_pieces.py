"""Diffusion and gradient features in one piece, against their definitions and automatic differentiation."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from partwhole.matching.network.diffusion_net import (
    ComplexLinear,
    Operators,
    diffuse,
    diffused_with_features,
    gradient_features,
)


def given(n: int, k: int, c: int, batch: tuple[int, ...] = ()) -> tuple[list[Tensor], Operators]:
    """What is learned and what is known of a surface; random, in double precision."""
    generator = torch.Generator().manual_seed(n + k + c)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    learned = [normal(*batch, n, c), normal(c).abs(), normal(c, c), normal(c, c)]
    known = Operators(normal(*batch, n).abs(), normal(*batch, k).abs(), 0.3 * normal(*batch, n, 3, k))
    return [tensor.requires_grad_() for tensor in learned], known


def defined(x: Tensor, time: Tensor, real: Tensor, imaginary: Tensor, known: Operators) -> tuple[Tensor, Tensor]:
    rotation = ComplexLinear(len(time)).double()
    u, gx, gy = diffuse(x, time, known)

    def turn(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return a @ real.T - b @ imaginary.T, a @ imaginary.T + b @ real.T

    rotation.forward = turn  # type: ignore[method-assign]
    return u, gradient_features(gx, gy, rotation)


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("n", [13, 32])  # as one product, and in pieces
def test_values_and_gradients_are_those_of_the_definition(n: int, batch: tuple[int, ...]) -> None:
    learned, known = given(n, 7, 5, batch)
    expected = defined(*learned, known)
    found = diffused_with_features(*learned, *known)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    weights = [torch.randn_like(output) for output in expected]
    gradients = [
        torch.autograd.grad(sum((w * o).sum() for w, o in zip(weights, outputs, strict=True)), learned)
        for outputs in (found, expected)
    ]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_gradients_by_differences() -> None:
    learned, known = given(8, 4, 3)
    assert torch.autograd.gradcheck(lambda *tensors: diffused_with_features(*tensors, *known), learned)
