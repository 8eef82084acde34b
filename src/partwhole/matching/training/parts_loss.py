"""The wormhole loss of two parts of one whole: distances guaranteed on both sides, weighted by the overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from partwhole.matching.config import MaskedSides
from partwhole.matching.network.surface import Surface
from partwhole.matching.readout.maps import soft_map
from partwhole.matching.training.losses import FeatureLoss, distortion, pulled_back
from partwhole.store.arguments import check_number

_SMALLEST = 1e-6


@dataclass(frozen=True)
class PartsLoss(FeatureLoss):
    """Both ways: a Σ_ij W_ij ((P D_b Pᵀ)_ij − (D_a)_ij)² + b Σ_i w_i (P Q D_a²)_ii − c log Σ_i A_i o_i / Σ_i A_i.

    Vertex i of a is on b with the probability o_i, the share of its soft map that does not go to "no match", whose cosine is
    `no_match`; P is the map with rows that sum to one, Q that from b to a. W_ij = M_a,ij (P M_b Pᵀ)_ij A_i A_j o_i o_j: a
    pair counts as far as its distance can be trusted on both sides and both vertices are shared. The second term asks that
    the way there and back ends where it began, w_i = A_i o_i / Σ A; the third keeps the overlap from vanishing, which alone
    would make the others zero. All of it is taken from a to b and from b to a, and needs no ground truth.

    Masks are held constant in the gradient, as in `WormholeLoss`. No model was trained with it yet.

    Parameters
    ----------
    weight : a
    round_trip : b
    presence : c
    no_match : cosine below which a vertex has no partner
    temperature : of the soft maps

    Examples
    --------
    >>> PartsLoss().name
    'parts'
    """

    weight: float = 1e3
    round_trip: float = 1.0
    presence: float = 0.1
    no_match: float = 0.3
    temperature: float = 0.07

    # what has to be prepared: distances and masks of both
    masked_sides: ClassVar[MaskedSides] = "both"

    def __post_init__(self) -> None:
        for name in ("weight", "round_trip", "presence", "no_match", "temperature"):
            check_number(name, getattr(self, name))
        if not self.temperature > 0:
            raise ValueError(f"temperature={self.temperature} must be positive")

    @property
    def name(self) -> str:
        return "parts"

    def on_features(
        self,
        of_part: Float[Tensor, "p f"],
        of_whole: Float[Tensor, "n f"],
        P: Float[Tensor, "p n"],
        part: Surface,
        whole: Surface,
    ) -> Float[Tensor, ""]:
        """The value of the loss; `part` and `whole` are the two parts, and the soft maps are made anew."""
        if part.distances is None or part.weights is None or whole.distances is None or whole.mask is None:
            raise ValueError(
                "the loss of two parts needs distances and masks of both: prepare_pairs with masked_sides='both'"
            )
        mask = part.weights / (part.mass[:, None] * part.mass).clamp(min=torch.finfo(part.mass.dtype).tiny)
        there, on_part = self._map(of_part, of_whole)
        back, on_whole = self._map(of_whole, of_part)
        one_way = self._one_way(there, back, on_part, part, whole, (mask, whole.mask))
        return one_way + self._one_way(back, there, on_whole, whole, part, (whole.mask, mask))

    def _map(
        self, one: Float[Tensor, "p f"], other: Float[Tensor, "n f"]
    ) -> tuple[Float[Tensor, "p n"], Float[Tensor, "p"]]:
        """A soft map whose rows sum to one, and the overlap."""
        P = soft_map(one, other, self.temperature, no_match=self.no_match)
        overlap = P.sum(dim=1)
        return P / overlap.clamp(min=_SMALLEST)[:, None], overlap

    def _one_way(
        self,
        P: Float[Tensor, "a b"],
        Q: Float[Tensor, "b a"],
        overlap: Float[Tensor, "a"],
        one: Surface,
        other: Surface,
        masks: tuple[Float[Tensor, "a a"], Float[Tensor, "b b"]],
    ) -> Float[Tensor, ""]:
        assert one.distances is not None
        assert other.distances is not None
        here, there = (torch.where(D.isfinite(), D, 0) for D in (one.distances, other.distances))
        share = one.mass * overlap
        # `distortion` has no gradient by its weights: the overlap is weighed by what its pairs cost on average
        W = masks[0] * pulled_back(P, masks[1]) * (share[:, None] * share)
        with torch.no_grad():
            off = masks[0] * pulled_back(P, masks[1]) * (P @ there @ P.T - here).square()
            cost = off @ share
        of_map = distortion(P, here, there, W.detach())
        of_overlap = 2 * (torch.dot(share, cost) - torch.dot(share.detach(), cost))
        area = one.mass.sum()
        trip = (share / area * ((P @ Q) * here.square()).sum(dim=1)).sum()
        presence = (share.sum() / area).clamp(min=_SMALLEST).log()
        return self.weight * (of_map + of_overlap) + self.round_trip * trip - self.presence * presence
