"""Many symmetric systems that differ in their diagonals, solved at once with torch; no result is waited for on a GPU."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.linalg import cholesky_ex, solve_triangular


def solve_rows(
    gram: Float[Tensor, "k k"], diagonals: Float[Tensor, "r k"], right: Float[Tensor, "r k"]
) -> Float[Tensor, "r k"]:
    """c_i = (gram + diag(diagonals_i))⁻¹ right_i for every row i; gram is symmetric, and no diagonal is negative.

    Its gradient takes one more solve with the same factors: with U the rows (gram + diag)⁻¹ ∂/∂c_i, it is −UᵀC for gram,
    −U ∘ C for the diagonals and U for the right side. Whether a factor exists is not asked, since to ask is to wait for the
    GPU; the rounding of gram is added to its diagonal, so that it does.

    Examples
    --------
    >>> solve_rows(torch.eye(2), torch.tensor([[0.0, 1.0]]), torch.tensor([[3.0, 4.0]])).round(decimals=4)
    tensor([[3., 2.]])
    """
    solved: Tensor = _Rows.apply(gram, diagonals, right)
    return solved


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gram: Tensor, diagonals: Tensor, right: Tensor) -> Tensor:
        rounding = torch.finfo(gram.dtype).eps * gram.diagonal().sum()
        factors = cholesky_ex(gram + torch.diag_embed(diagonals + rounding)).L
        C = _solved(factors, right)
        ctx.save_for_backward(factors, C)
        return C

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        factors, C = ctx.saved_tensors
        U = _solved(factors, gradient)
        return -U.T @ C, -U * C, U


def _solved(factors: Tensor, right: Tensor) -> Tensor:
    half = solve_triangular(factors, right[:, :, None], upper=False)
    return solve_triangular(factors.mT, half, upper=True)[:, :, 0]
