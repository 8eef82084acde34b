"""The wormhole loss estimated from some rows, without bias, and how far such an estimate is off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from partwhole.matching.network.surface import Surface
from partwhole.matching.training.losses import Loss, WormholeLoss
from partwhole.store.arguments import check_whole_number

# from fewer the variance can't be estimated
_FEWEST = 2


class Estimate(NamedTuple):
    """What a sample says of the loss.

    Attributes
    ----------
    value : estimate of the loss
    variance : estimate of the variance of `value`; it has no gradient
    """

    value: Float[Tensor, ""]
    variance: Float[Tensor, ""]


@dataclass(frozen=True, repr=False)
class SampledWormholeLoss(WormholeLoss):
    """weight · 1/r Σ_s (ΣA / A_s) Σ_i W_is R²_is, R = P D_whole Pᵀ − D_part, with r vertices s of the part drawn ∝ A.

    An estimate of `WormholeLoss`, L = weight · Σ_is W_is R²_is with W_is = M_is A_i A_s, from the pairs of all vertices i
    with r vertices s, drawn anew at each call, each independently of the others with probability A_s / ΣA.

    It has no bias: the expectation of each of the r terms is Σ_s (A_s / ΣA) (ΣA / A_s) Σ_i W_is R²_is = L / weight.

    Neither has its gradient, which is 4 weight / r Σ_s (ΣA / A_s) W_is R_is (P D_whole)_s in row i: the mean of it over the
    samples is 4 weight · (W ∘ R) (P D_whole), the gradient of L. It is not the derivative of the estimate itself. That one
    gives half of this to every row i, and the other half, with the roles of i and s exchanged, to the rows of the sample
    alone; by symmetry both halves have the same mean, but the second needs P D_whole in all rows and scatters much more.

    All this holds for M = M_part and for M_part ∘ (P M_whole Pᵀ). r n² + 2 r n p multiplications replace p n² + 2 p² n.

    The r terms are independent, so the sum of squares of what they are off their mean, / (r (r − 1)), estimates the variance
    of the value without bias. It is `reported` beside the value.

    Parameters
    ----------
    weight, masked_sides : see `WormholeLoss`
    rows : r, at least 2

    Examples
    --------
    >>> SampledWormholeLoss(rows=300)
    SampledWormholeLoss(weight=1000.0, rows=300)
    >>> SampledWormholeLoss(rows=300).exact
    WormholeLoss(weight=1000.0)
    """

    rows: int = 500

    # a sample is drawn at each step
    can_be_recorded = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole_number("rows", self.rows)
        if self.rows < _FEWEST:
            raise ValueError(f"rows={self.rows} must be at least {_FEWEST}, for the variance to be estimated")

    def __repr__(self) -> str:
        return f"Sampled{super().__repr__()[:-1]}, rows={self.rows})"

    @property
    def reported(self) -> tuple[str, ...]:
        return ("distortion variance",)

    @property
    def exact(self) -> Loss:
        return WormholeLoss(self.weight, self.masked_sides)

    def __call__(self, P: Float[Tensor, "p n"], part: Surface, whole: Surface) -> Float[Tensor, ""]:
        return self.of_sample(P, part, whole, self.drawn(part)).value

    def measured(
        self,
        of_part: Float[Tensor, "p f"],
        of_whole: Float[Tensor, "n f"],
        P: Float[Tensor, "p n"],
        part: Surface,
        whole: Surface,
    ) -> Float[Tensor, "2"]:
        return torch.stack(self.of_sample(P, part, whole, self.drawn(part)))

    def drawn(self, part: Surface) -> Int[Tensor, "r"]:
        """Vertices of the part, independent of each other, each with the probability of its area."""
        return torch.multinomial(part.mass, self.rows, replacement=True)

    def of_sample(self, P: Float[Tensor, "p n"], part: Surface, whole: Surface, sample: Int[Tensor, "r"]) -> Estimate:
        """The estimate from these vertices.

        Parameters
        ----------
        P, part, whole : of all vertices
        sample : r of the part's, at least 2; the same one may be among them more than once
        """
        D_part, W, D_whole, M_whole = self.seen(part, whole)
        chosen = W[:, sample] * (part.mass.sum() / part.mass[sample])
        if M_whole is not None:
            chosen = chosen * _pulled_back_columns(P, M_whole, sample)
        value, variance = _SampledDistortion.apply(P, sample, D_part[:, sample], D_whole, chosen)
        return Estimate(self.weight * value, self.weight**2 * variance)


def _pulled_back_columns(
    P: Float[Tensor, "p n"], M_whole: Float[Tensor, "n n"], sample: Int[Tensor, "r"]
) -> Float[Tensor, "p r"]:
    """Columns of P M_whole Pᵀ, a constant; see `pulled_back`."""
    rows = P.detach()
    return rows @ (rows[sample].to(M_whole.dtype) @ M_whole).to(rows.dtype).T


class _SampledDistortion(torch.autograd.Function):
    """The mean over s of h_s = Σ_i W_is R²_is, and the variance of this mean; the gradient is 4/r (W ∘ R) (P_S D)."""

    @staticmethod
    def forward(
        ctx: Any, P: Tensor, sample: Tensor, D_part: Tensor, D_whole: Tensor, W: Tensor
    ) -> tuple[Tensor, Tensor]:
        PD = (P[sample].to(D_whole.dtype) @ D_whole).to(P.dtype)
        R = torch.addmm(D_part, P, PD.T, beta=-1)
        G = W * R
        terms = (G * R).sum(dim=0)
        variance = terms.var() / len(terms)
        ctx.save_for_backward(G, PD)
        ctx.mark_non_differentiable(variance)
        return terms.mean(), variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_value: Tensor, of_variance: Tensor) -> tuple[Tensor, None, None, None, None]:
        G, PD = ctx.saved_tensors
        return G @ PD * (4 * of_value / len(PD)), None, None, None, None
