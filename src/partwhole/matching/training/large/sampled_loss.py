"""The wormhole loss estimated from some rows, without bias, and how far such an estimate is off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from partwhole.matching.network.surface import Surface
from partwhole.matching.training.losses import Loss, WormholeLoss, pulled_back
from partwhole.store.arguments import check_whole_number

# the variance is estimated from pairs of pairs without a common vertex
_FEWEST = 4


@dataclass(frozen=True, repr=False)
class SampledWormholeLoss(WormholeLoss):
    """weight · (ΣA)² / (r (r − 1)) · Σ_{a≠b} M_{s_a s_b} R²_{s_a s_b}, R = P D_whole Pᵀ − D_part, s_1 … s_r drawn ∝ A.

    An estimate of `WormholeLoss`, L = weight · Σ_ij M_ij A_i A_j R²_ij, from r vertices of the part, drawn anew at each call,
    each independently of the others with probability p_i = A_i / ΣA.

    It has no bias. For a ≠ b, s_a and s_b are independent, so the expectation of M R² at (s_a, s_b) is
    Σ_ij p_i p_j M_ij R²_ij = L / (weight (ΣA)²), pairs i = j included; there are r (r − 1) such terms. Its gradient with
    respect to P has none either, since the p_i do not depend on P: the expectation is a finite sum, and the gradient is taken
    term by term. It holds for M = M_part and for M_part ∘ (P M_whole Pᵀ), whose entry ij takes rows i and j of P alone.

    The gradient is 4 weight · G (P_S D_whole), G the r × r matrix of weights times residuals, and lands in the rows of the
    sample. r n² + r² n multiplications replace p n² + p² n.

    The value comes with an estimate of its variance, `reported`, that has no bias either (see `pair_statistics`).

    Parameters
    ----------
    weight, masked_sides : see `WormholeLoss`
    rows : r, at least 4

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
        inherited = super().__repr__()
        return f"Sampled{inherited[:-1]}, rows={self.rows})"

    @property
    def reported(self) -> tuple[str, ...]:
        return ("distortion variance",)

    @property
    def exact(self) -> Loss:
        return WormholeLoss(self.weight, self.masked_sides)

    def __call__(self, P: Float[Tensor, "p n"], part: Surface, whole: Surface) -> Float[Tensor, ""]:
        return self.of_sample(P, part, whole, self.drawn(part))[0]

    def measured(
        self,
        of_part: Float[Tensor, "p f"],
        of_whole: Float[Tensor, "n f"],
        P: Float[Tensor, "p n"],
        part: Surface,
        whole: Surface,
    ) -> Float[Tensor, "2"]:
        return self.of_sample(P, part, whole, self.drawn(part))

    def drawn(self, part: Surface) -> Int[Tensor, "r"]:
        """Vertices of the part, independent of each other, each with the probability of its area."""
        return torch.multinomial(part.mass, self.rows, replacement=True)

    def of_sample(
        self, P: Float[Tensor, "p n"], part: Surface, whole: Surface, sample: Int[Tensor, "r"]
    ) -> Float[Tensor, "2"]:
        """The estimate from these vertices, and the estimate of its variance, which has no gradient.

        Parameters
        ----------
        P, part, whole : of all vertices
        sample : r of the part's, at least 4; the same one may be among them more than once
        """
        D_part, W, D_whole, M_whole = self.seen(part, whole)
        rows, pairs = P[sample], (sample[:, None], sample)
        areas = part.mass[sample]
        M = W[pairs] / (areas[:, None] * areas)
        if M_whole is not None:
            M = M * pulled_back(rows, M_whole)
        value, variance = _SampledDistortion.apply(rows, D_part[pairs], D_whole, part.mass.sum() ** 2 * M)
        return torch.stack([self.weight * value, self.weight**2 * variance])


class _SampledDistortion(torch.autograd.Function):
    """The mean of h_ab = W_ab R²_ab over a ≠ b, and its variance; ∂/∂P_S = 4 G (P_S D) / (r (r − 1)), G = W ∘ R off the
    diagonal, 0 on it."""

    @staticmethod
    def forward(ctx: Any, P: Tensor, D_part: Tensor, D_whole: Tensor, W: Tensor) -> tuple[Tensor, Tensor]:
        PD = (P.to(D_whole.dtype) @ D_whole).to(P.dtype)
        R = torch.addmm(D_part, PD, P.T, beta=-1)
        G = (W * R).fill_diagonal_(0)
        value, variance = pair_statistics(G * R)
        ctx.save_for_backward(G, PD)
        ctx.mark_non_differentiable(variance)
        return value, variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_value: Tensor, of_variance: Tensor) -> tuple[Tensor, None, None, None]:
        G, PD = ctx.saved_tensors
        count = len(G) * (len(G) - 1)
        return G @ PD * (4 * of_value / count), None, None, None


def pair_statistics(h: Float[Tensor, "r r"]) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """U = Σ_{a≠b} h_ab / (r (r − 1)) and an estimate of its variance, for symmetric h of independent draws.

    Var U = E[U²] − θ², θ = E[h_ab]. Where a, b, c, d are all different, h_ab and h_cd are independent, so the mean of their
    products estimates θ² without bias, and with t_a = Σ_{b≠a} h_ab and T = Σ_a t_a

        V = U² − (T² − 4 Σ_a t_a² + 2 Σ_{a≠b} h_ab²) / (r (r − 1) (r − 2) (r − 3))

    estimates Var U without bias. So it may be negative; the mean over many steps tells more than one of them.

    Parameters
    ----------
    h : with zeros on the diagonal

    Examples
    --------
    >>> U, V = pair_statistics(1.0 - torch.eye(5))
    >>> float(U), round(float(V), 12)
    (1.0, 0.0)
    """
    r = len(h)
    exact = h.double()
    of_rows = exact.sum(dim=1)
    total = of_rows.sum()
    U = total / (r * (r - 1))
    products = total**2 - 4 * of_rows.square().sum() + 2 * exact.square().sum()
    V = U**2 - products / (r * (r - 1) * (r - 2) * (r - 3))
    return U.to(h.dtype), V.to(h.dtype)
