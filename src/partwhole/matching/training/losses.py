"""Losses of a soft map: how much it distorts the distances that can be trusted, and how far it is from
keeping areas.

A loss is an object that is called with a soft map, the part and the whole. Losses add up: `WormholeLoss(1e3) +
OrthogonalityLoss()`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from partwhole.matching.config import LossConfig, MaskedSides, TrainingConfig
from partwhole.matching.network.surface import Surface
from partwhole.matching.readout.maps import functional_map_of
from partwhole.store.arguments import check_number

_SMALLEST = float(torch.finfo(torch.float32).tiny)


def distortion(
    P: Float[Tensor, "p n"], D_part: Float[Tensor, "p p"], D_whole: Float[Tensor, "n n"], W: Float[Tensor, "p p"]
) -> Float[Tensor, ""]:
    """Σ_ij W_ij ((P D_whole Pᵀ)_ij − (D_part)_ij)², for symmetric W and D.

    Its gradient is written out: with G = W ∘ (P D Pᵀ − D_part) it is ∂/∂P = 4 G (P D), one product beside the two of the
    value, where automatic differentiation takes five in all. With D_whole in half precision, on a GPU, so are the products.

    Examples
    --------
    >>> D = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> float(distortion(torch.eye(2), D, 3 * D, torch.ones(2, 2)))
    8.0
    """
    return _Distortion.apply(P, D_part, D_whole, W)


class _Distortion(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, P: Tensor, D_part: Tensor, D_whole: Tensor, W: Tensor) -> Tensor:
        if D_whole.dtype == torch.float16:
            return _half_forward(ctx, P, D_part, D_whole, W)
        PD = P @ D_whole
        R = torch.addmm(D_part, PD, P.T, beta=-1)
        G = W * R
        ctx.save_for_backward(G, PD, None)
        return torch.dot(G.flatten(), R.flatten())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        G, PD, unit = ctx.saved_tensors
        if unit is None:
            return G @ PD * (4 * gradient), None, None, None
        return torch.mm(G, PD, out_dtype=torch.float32) * (4 * gradient * unit), None, None, None


def _half_forward(ctx: Any, P: Tensor, D_part: Tensor, D_whole: Tensor, W: Tensor) -> Tensor:
    """The same with factors in half precision: 11 bits like TF32, but half the memory and twice the speed."""
    half = P.half()
    PD = half @ D_whole
    R = torch.mm(PD, half.T, out_dtype=torch.float32) - D_part
    G = W * R
    # products of two vertex areas are below what half precision can hold
    unit = W.amax()
    ctx.save_for_backward((G / unit).half(), PD, unit)
    return torch.dot(G.flatten(), R.flatten())


def pulled_back(P: Float[Tensor, "p n"], M_whole: Float[Tensor, "n n"]) -> Float[Tensor, "p p"]:
    """P M_whole Pᵀ, the mask of the whole at the images of the pairs of the part; a constant, it has no gradient.

    With a row of P for the probabilities of where a vertex goes, entry ij is the expectation of M_whole at the images of i
    and j, which go there independently. In half precision if M_whole is.

    Examples
    --------
    >>> swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> pulled_back(swap, torch.tensor([[1.0, 0.5], [0.5, 0.0]]))
    tensor([[0.0000, 0.5000],
            [0.5000, 1.0000]])
    """
    rows = P.detach().to(M_whole.dtype)
    if M_whole.dtype == torch.float16:
        return torch.mm(rows @ M_whole, rows.T, out_dtype=torch.float32)
    return rows @ M_whole @ rows.T


class Loss(ABC):
    """Something small where a soft map is good. Has a name, for logs, and is called with (P, part, whole)."""

    # whether geodesic distances must be known; they cost more than everything else that is prepared
    takes_distances: ClassVar[bool] = True
    # whether the ground truth of the pairs must be known
    takes_truth: ClassVar[bool] = False
    # whether a step of training with it can be recorded on a GPU, which asks that nothing waits for a result
    can_be_recorded: ClassVar[bool] = True

    @property
    @abstractmethod
    def name(self) -> str:
        """What logs call it."""

    @abstractmethod
    def __call__(self, P: Float[Tensor, "p n"], part: Surface, whole: Surface) -> Float[Tensor, ""]:
        """The value of the loss."""

    def on_features(
        self,
        of_part: Float[Tensor, "p f"],
        of_whole: Float[Tensor, "n f"],
        P: Float[Tensor, "p n"],
        part: Surface,
        whole: Surface,
    ) -> Float[Tensor, ""]:
        """The value of the loss, where features are known beside their soft map."""
        return self(P, part, whole)

    def measured(
        self,
        of_part: Float[Tensor, "p f"],
        of_whole: Float[Tensor, "n f"],
        P: Float[Tensor, "p n"],
        part: Surface,
        whole: Surface,
    ) -> Float[Tensor, "c"]:
        """The value, and then the numbers of `reported`, which have no gradient."""
        return self.on_features(of_part, of_whole, P, part, whole)[None]

    @property
    def reported(self) -> tuple[str, ...]:
        """Names of what logs have beside the value."""
        return ()

    @property
    def exact(self) -> Loss:
        """The loss that this one estimates; itself, if it is not an estimate."""
        return self

    def terms(self) -> tuple[Loss, ...]:
        """The losses that this one is the sum of."""
        return (self,)

    @property
    def columns(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """The numbers that a step of training gives, by name: of each term its value and what it reports; and where values
        are."""
        names: list[str] = []
        values = []
        for term in self.terms():
            values.append(len(names))
            names += [term.name, *term.reported]
        return tuple(names), tuple(values)

    def __add__(self, other: Loss) -> Loss:
        return LossSum((*self.terms(), *other.terms()))


class FeatureLoss(Loss):
    """A loss of features: it has `on_features`, and a soft map alone does not determine it."""

    # those of this package wait for nothing, but were not recorded on a GPU yet: `train(capture=True)` does it
    can_be_recorded: ClassVar[bool] = False

    def __call__(self, P: Float[Tensor, "p n"], part: Surface, whole: Surface) -> Float[Tensor, ""]:
        raise ValueError(f"{type(self).__name__} is a loss of features, and not of a soft map; use on_features")

    @abstractmethod
    def on_features(
        self,
        of_part: Float[Tensor, "p f"],
        of_whole: Float[Tensor, "n f"],
        P: Float[Tensor, "p n"],
        part: Surface,
        whole: Surface,
    ) -> Float[Tensor, ""]:
        """The value of the loss."""


@dataclass(frozen=True, repr=False)
class WormholeLoss(Loss):
    """weight · Σ_ij W_ij ((P D_whole Pᵀ)_ij − (D_part)_ij)², W_ij = M_ij A_i A_j, M = M_part or M_part ∘ (P M_whole Pᵀ).

    The mask M_part is that of `part.weights` (see `pair_weights`): a criterion's, soft or binary, or 1 everywhere, which is
    the loss of DirectMatchNet. It says on which pairs of the part distances are those of the complete surface.

    If the whole is incomplete too, a pair should count only as far as its distance can be trusted on both surfaces. Where
    the pair lies on the whole is what the soft map says, so the mask of the whole comes to the part by P M_whole Pᵀ.

    This mask is held constant in the gradient, which so remains 4 weight · (W ∘ R) (P D_whole), R = P D_whole Pᵀ − D_part:
    pairs are weighed anew at each step, as in iteratively reweighted least squares. Were it differentiated, the loss
    would reward a map for leading to pairs that don't count.

    Parameters
    ----------
    weight : λ_geo
    masked_sides : "part", M = M_part; "both", M = M_part ∘ (P M_whole Pᵀ), with M_whole = `whole.mask`. For a whole without
        boundary the two are the same

    Examples
    --------
    >>> WormholeLoss(5e3) + OrthogonalityLoss()
    WormholeLoss(weight=5000.0) + OrthogonalityLoss(weight=1.0, eigenpairs=200)
    >>> WormholeLoss(masked_sides="both")
    WormholeLoss(weight=1000.0, masked_sides='both')
    """

    weight: float = 1e3
    masked_sides: MaskedSides = "part"

    def __post_init__(self) -> None:
        check_number("weight", self.weight)
        if self.masked_sides not in get_args(MaskedSides):
            allowed = " or ".join(map(repr, get_args(MaskedSides)))
            raise ValueError(f"masked_sides must be {allowed}, got {self.masked_sides!r}")

    def __repr__(self) -> str:
        # a run is told from another by this, and those of earlier versions had no sides
        sides = "" if self.masked_sides == "part" else f", masked_sides={self.masked_sides!r}"
        return f"WormholeLoss(weight={self.weight!r}{sides})"

    @property
    def name(self) -> str:
        return "distortion"

    def __call__(self, P: Float[Tensor, "p n"], part: Surface, whole: Surface) -> Float[Tensor, ""]:
        D_part, W, D_whole, M_whole = self.seen(part, whole)
        if M_whole is not None:
            W = W * pulled_back(P, M_whole)
        return self.weight * distortion(P, D_part, D_whole, W)

    def seen(self, part: Surface, whole: Surface) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """D_part, W and D_whole, and M_whole if the mask of the whole counts; raises ValueError where one is missing."""
        if part.distances is None or part.weights is None or whole.distances is None:
            raise ValueError(
                "the wormhole loss needs distances of part and whole, and weights of the part: Surface.with_loss"
            )
        if self.masked_sides == "both" and whole.mask is None:
            raise ValueError(
                "masked_sides='both' needs the mask of the whole: prepare_pairs with masked_sides='both', or "
                "Surface.with_loss(distances, mask=...)"
            )
        return part.distances, part.weights, whole.distances, whole.mask if self.masked_sides == "both" else None


@dataclass(frozen=True)
class OrthogonalityLoss(Loss):
    """weight · ‖C Cᵀ − J_r‖²_F, C = Φ_partᵀ A P Φ_whole the functional map of P: areas are kept.

    J_r is the identity up to row r, the number of eigenvalues of the part below the largest of the whole; a part has no
    more frequencies than that in the range of the whole.
    """

    weight: float = 1.0
    eigenpairs: int = 200

    takes_distances: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "orthogonality"

    def __call__(self, P: Float[Tensor, "p n"], part: Surface, whole: Surface) -> Float[Tensor, ""]:
        k = min(self.eigenpairs, part.values.shape[-1], whole.values.shape[-1])
        C = functional_map_of(P, part, whole, k)
        return self.weight * (C @ C.T - partial_identity(part, whole, k).to(C)).square().sum()


def partial_identity(part: Surface, whole: Surface, k: int) -> Float[Tensor, "k k"]:
    """J_r: the identity up to row r, the number of eigenvalues of the part, of k, below the largest of those of the whole."""
    rank = (part.values[:k] < whole.values[:k].max()).sum()
    return torch.diag((torch.arange(k, device=part.values.device) < rank).to(part.values.dtype))


@dataclass(frozen=True)
class LowPassAreaLoss(Loss):
    """weight · ‖Φ†(P A_whole⁻¹ Pᵀ A_part − I) Φ‖²_F, Φ the first eigenfunctions of the part: areas are kept, seen coarsely.

    What a function on the part loses when it is spread over the whole and pulled back; nothing if P takes areas to equal
    areas. With Q = PᵀA_part Φ it is ‖Qᵀ A_whole⁻¹ Q − I‖², without a functional map.
    """

    weight: float = 1.0
    eigenpairs: int = 50

    takes_distances: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "low-pass area"

    def __call__(self, P: Float[Tensor, "p n"], part: Surface, whole: Surface) -> Float[Tensor, ""]:
        functions = part.functions[:, : self.eigenpairs]
        Q = P.T @ (functions * part.mass[:, None])
        # vertices that only fill up a batch have no area, and nothing is taken to them
        spread = Q.T @ (Q / whole.mass.clamp(min=_SMALLEST)[:, None])
        return self.weight * (spread - torch.eye(len(spread), device=P.device)).square().sum()


@dataclass(frozen=True)
class SynchronousLoss(Loss):
    """weight · ‖P H_whole Φ − H_part P Φ‖², H = Φ e^{−tΛ} Φ† the diffusion of heat for the time t on each surface.

    What is diffused on the whole and pulled back by P is what is pulled back and diffused on the part: maps become smooth.
    The norm is that of functions on the part, Φ the first eigenfunctions of the whole.
    """

    weight: float = 1.0
    time: float = 0.01
    eigenpairs: int = 64

    takes_distances: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "synchronous"

    def __call__(self, P: Float[Tensor, "p n"], part: Surface, whole: Surface) -> Float[Tensor, ""]:
        pulled = P @ whole.functions[:, : self.eigenpairs]
        first = pulled * torch.exp(-self.time * whole.values[: self.eigenpairs])
        coefficients = (part.functions * part.mass[:, None]).T @ pulled
        then = part.functions @ (torch.exp(-self.time * part.values)[:, None] * coefficients)
        return self.weight * (part.mass[:, None] * (first - then).square()).sum()


@dataclass(frozen=True)
class CorrespondenceLoss(Loss):
    """weight · Σ_i a_i (−log P_{i, truth of i}), a_i the share of vertex i in the area of those whose truth is known.

    For generated pairs, whose ground truth is exact: what distances can't tell, such as front and back, is learned from it.
    """

    weight: float = 1.0

    takes_distances: ClassVar[bool] = False
    takes_truth: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "correspondence"

    def __call__(self, P: Float[Tensor, "p n"], part: Surface, whole: Surface) -> Float[Tensor, ""]:
        if part.truth is None or part.truth_shares is None:
            raise ValueError("the correspondence loss needs the ground truth of the part: Surface.with_truth")
        chosen = P.gather(1, part.truth[:, None]).squeeze(1)
        # a soft map may be 0 in float32 where it is far from the truth; the logarithm is then that of the smallest number
        return -self.weight * torch.dot(part.truth_shares, chosen.clamp(min=_SMALLEST).log())


@dataclass(frozen=True, repr=False)
class LossSum(Loss):
    """Losses added up."""

    summands: tuple[Loss, ...]

    @property
    def name(self) -> str:
        return " + ".join(loss.name for loss in self.summands)

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.summands))

    def terms(self) -> tuple[Loss, ...]:
        return self.summands

    @property
    def exact(self) -> Loss:
        return LossSum(tuple(loss.exact for loss in self.summands))

    def __call__(self, P: Float[Tensor, "p n"], part: Surface, whole: Surface) -> Float[Tensor, ""]:
        return torch.stack([loss(P, part, whole) for loss in self.summands]).sum()

    def on_features(
        self,
        of_part: Float[Tensor, "p f"],
        of_whole: Float[Tensor, "n f"],
        P: Float[Tensor, "p n"],
        part: Surface,
        whole: Surface,
    ) -> Float[Tensor, ""]:
        return torch.stack([loss.on_features(of_part, of_whole, P, part, whole) for loss in self.summands]).sum()


def configured_by(loss: Loss, config: TrainingConfig) -> TrainingConfig:
    """The choices with the weights and sides of this loss, so that they say what a network was trained for, and what has to
    be prepared for it."""
    weights = {"distortion": 0.0, "orthogonality": 0.0, "correspondence": 0.0, "synchronous": 0.0}
    for term in loss.terms():
        if term.name in weights:
            weights[term.name] = float(getattr(term, "weight", 1.0))
    sides = {term.masked_sides for term in loss.terms() if hasattr(term, "masked_sides")}
    if sides:
        config = config.with_changes(masked_sides="both" if "both" in sides else "part")
    sampled = [int(getattr(term, "rows", 0)) for term in loss.terms()]
    config = config.with_changes(rows=max(sampled) or None)
    return config.with_changes(**{f"{name}_weight": weight for name, weight in weights.items()})


def _wormhole_loss(weights: LossConfig) -> Loss:
    """Of all rows, or estimated from some."""
    if weights.rows is None:
        return WormholeLoss(weights.distortion_weight, weights.masked_sides)
    from partwhole.matching.training.large.sampled_loss import SampledWormholeLoss

    return SampledWormholeLoss(weights.distortion_weight, weights.masked_sides, rows=weights.rows)


def loss_of(config: TrainingConfig, *, supervised: bool = True) -> Loss:
    """λ_geo WormholeLoss + λ_ortho OrthogonalityLoss + CorrespondenceLoss + SynchronousLoss, without what has weight 0.

    Parameters
    ----------
    config : the weights
    supervised : False leaves out the correspondence, for pairs whose ground truth is not known; if nothing else is left, the
        paper's weights are taken for the others
    """
    weights, size = config.loss, config.loss.map_eigenpairs
    if not (supervised or weights.distortion_weight or weights.orthogonality_weight):
        weights = LossConfig()
    terms: list[Loss] = []
    if weights.distortion_weight:
        terms.append(_wormhole_loss(weights))
    if weights.orthogonality_weight:
        terms.append(OrthogonalityLoss(weights.orthogonality_weight, size))
    if weights.correspondence_weight and supervised:
        terms.append(CorrespondenceLoss(weights.correspondence_weight))
    if not terms:
        raise ValueError("the weights of all terms of the loss are 0: there is nothing to train for")
    if weights.synchronous_weight:
        terms.append(SynchronousLoss(weights.synchronous_weight))
    return terms[0] if len(terms) == 1 else LossSum(tuple(terms))
