"""`DPFM`, deep partial functional maps: part and whole attend to each other, and say where they overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, normalize, scaled_dot_product_attention

from partwhole.matching.config import NetworkConfig, TrainingConfig
from partwhole.matching.methods.learned import LearnedMethod
from partwhole.matching.network.diffusion_net import Network, new_network
from partwhole.matching.network.surface import Surface, SurfacePair
from partwhole.matching.readout.maps import Comparison
from partwhole.matching.training.losses import FeatureLoss, Loss
from partwhole.matching.training.spectral_losses import MapLoss, MapSolve
from partwhole.spectral import partial_rank

_HEADS = 4
_TEMPERATURE, _MATCHES = 0.07, 512
# a vertex of the whole overlaps with the part if a true image is so near, in mean distances between vertices of the part
_REACH = 0.75
# distances by matrix products would lose all digits of small ones where a GPU rounds the factors to 11 bits
_UNROUNDED = "donot_use_mm_for_euclid_dist"


class Attention(nn.Module):
    """x + MLP(x, softmax(q(x) k(y)ᵀ / √d) v(y)), with four heads: what x sees of y."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.merge = (nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(2 * width, 2 * width), nn.Linear(2 * width, width)

    def forward(
        self,
        x: Float[Tensor, "p f"],
        y: Float[Tensor, "n f"],
        of_x: Bool[Tensor, "p"] | None = None,
        of_y: Bool[Tensor, "n"] | None = None,
    ) -> Float[Tensor, "p f"]:
        """What x sees of y; `of_x` and `of_y` say which rows are there, and do not only fill up."""
        q, k, v = (
            layer(of).unflatten(-1, (_HEADS, -1)).transpose(0, 1)[None]
            for layer, of in ((self.query, x), (self.key, y), (self.value, y))
        )
        seen = None if of_y is None else of_y.expand(1, 1, len(x), -1)
        message = self.merge(scaled_dot_product_attention(q, k, v, attn_mask=seen)[0].transpose(0, 1).flatten(1))
        hidden = self.wide(torch.cat([x, message], dim=1))
        # every channel with mean 0 and variance 1 over the surface
        shares = torch.ones_like(hidden[:, :1]) if of_x is None else of_x.to(hidden.dtype)[:, None]
        shares = shares / shares.sum()
        hidden = hidden - (shares * hidden).sum(dim=0)
        hidden = hidden / ((shares * hidden.square()).sum(dim=0) + 1e-5).sqrt()
        return x + self.narrow(torch.relu(hidden))


class Parts(NamedTuple):
    """The columns of what the network gives a vertex."""

    plain: Tensor
    attended: Tensor
    overlap: Tensor

    @classmethod
    def of(cls, features: Float[Tensor, "n f"]) -> Parts:
        """Features before and after attention, and the logit of overlap."""
        width = (features.shape[-1] - 1) // 2
        return cls(features[..., :width], features[..., width:-1], features[..., -1])


class DPFMNetwork(Network):
    """DiffusionNet, one attention between part and whole, the second with the first one's result, and the overlap."""

    takes_batches: ClassVar[bool] = True

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        width = config.features
        if width % _HEADS:
            raise ValueError(f"features={width} must be a multiple of {_HEADS}, the heads of the attention")
        self.features = new_network(config)
        self.before, self.attention = nn.Linear(width, width), Attention(width)
        self.overlap = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def encode(self, surface: Surface) -> Float[Tensor, "*batch n f"]:
        return self.features.encode(surface)

    def pair(
        self,
        of_part: Float[Tensor, "p f"],
        of_whole: Float[Tensor, "n f"],
        present: tuple[Bool[Tensor, "p"], Bool[Tensor, "n"]] | None = None,
    ) -> tuple[Float[Tensor, "p g"], Float[Tensor, "n g"]]:
        on_part, on_whole = (None, None) if present is None else present
        part, whole = self.before(of_part), self.before(of_whole)
        whole = self.attention(whole, part, on_whole, on_part)
        part = self.attention(part, whole, on_part, on_whole)
        return self._joined(of_part, part), self._joined(of_whole, whole)

    def _joined(self, plain: Float[Tensor, "n f"], attended: Float[Tensor, "n f"]) -> Float[Tensor, "n g"]:
        return torch.cat([plain, attended, self.overlap(normalize(attended, dim=-1))], dim=1)

    def after_step(self) -> None:
        self.features.after_step()


@dataclass(frozen=True)
class DPFMLoss(FeatureLoss):
    """‖C − C_true‖² + BCE(overlap on the whole) + contrast · NCE of matched features.

    In BCE vertices that overlap are weighed by the share of those that don't, and the other way round. NCE is the cross
    entropy of −‖f_i − g_j‖ / 0.07 over 512 true matches.

    Attributes
    ----------
    solve : of C
    attended : whether C is that of the features after attention
    contrast : weight of NCE
    """

    solve: MapSolve
    attended: bool
    contrast: float

    takes_distances: ClassVar[bool] = False
    takes_truth: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "dpfm"

    def on_features(
        self,
        of_part: Float[Tensor, "p f"],
        of_whole: Float[Tensor, "n f"],
        P: Float[Tensor, "p n"],
        part: Surface,
        whole: Surface,
    ) -> Float[Tensor, ""]:
        one, other = Parts.of(of_part), Parts.of(of_whole)
        loss = MapLoss(self.solve).on_features(*self.for_map(one, other), P, part, whole)
        loss = loss + _overlap_loss(other.overlap, overlap_of(part, whole), whole)
        return loss + self.contrast * _contrast_loss(one.attended, other.attended, part) if self.contrast else loss

    def for_map(self, part: Parts, whole: Parts) -> tuple[Tensor, Tensor]:
        """The features that C is made of."""
        return (part.attended, whole.attended) if self.attended else (part.plain, whole.plain)


def overlap_of(part: Surface, whole: Surface) -> Bool[Tensor, "n"]:
    """Which vertices of the whole lie near the true image of a vertex of the part."""
    if part.truth is None or part.truth_shares is None:
        raise ValueError("the overlap needs the ground truth of the part: Surface.with_truth")
    apart = torch.cdist(whole.points, whole.points[part.truth], compute_mode=_UNROUNDED)
    nearest = apart.masked_fill(part.truth_shares <= 0, torch.inf).amin(dim=1)
    reach = _REACH * (part.mass.sum() / (part.mass > 0).sum()).sqrt()
    return (nearest <= reach) & (whole.mass > 0)


# In both losses a choice of vertices is a mask: for the number of those that are chosen a GPU would have to be waited for.


def _overlap_loss(logits: Float[Tensor, "n"], covered: Bool[Tensor, "n"], whole: Surface) -> Float[Tensor, ""]:
    """Mean cross entropy over the vertices of the whole; those that overlap count by the share of the others."""
    there = (whole.mass > 0).to(logits.dtype)
    share = covered.sum() / there.sum()
    weights = there * torch.where(covered, 1 - share, share)
    entropy = binary_cross_entropy_with_logits(logits, covered.to(logits.dtype), weights, reduction="sum")
    return entropy / there.sum()


def _contrast_loss(of_part: Float[Tensor, "p f"], of_whole: Float[Tensor, "n f"], part: Surface) -> Float[Tensor, ""]:
    """Mean cross entropy of −‖f_i − g_j‖ / 0.07 over at most 512 true matches, drawn at random."""
    assert part.truth is not None
    assert part.truth_shares is not None
    known = part.truth_shares > 0
    drawn = torch.rand(len(known), device=known.device).masked_fill(~known, -1.0)
    some = drawn.topk(min(_MATCHES, len(known))).indices
    real = known[some]
    apart = torch.cdist(of_part[some], of_whole[part.truth[some]], compute_mode=_UNROUNDED)
    logits = (-apart / _TEMPERATURE).masked_fill(~real, -torch.inf)
    own = torch.where(real, logits.diagonal(), 0.0)
    # rows that only fill up have numbers too, and no weight
    entropy = torch.where(real, torch.logsumexp(logits, dim=1) - own, 0.0)
    return entropy.sum() / real.sum()


class DPFM(LearnedMethod):
    """‖C − C_true‖² + weighted BCE of the overlap, C of the features before attention on 50 eigenfunctions: as for cuts.

    Supervised (Attaiki, Pai and Ovsjanikov 2021). `DPFMHoles` has the choices for holes.

    Examples
    --------
    >>> DPFM().loss().attended, DPFMHoles().loss().attended
    (False, True)
    """

    name: ClassVar[str] = "dpfm"
    published: ClassVar[TrainingConfig] = TrainingConfig(
        features=128,
        map_eigenpairs=50,
        learning_rate=1e-3,
        final_learning_rate=2.5e-4,
        cosine_epochs=None,
    )
    setting: ClassVar[DPFMLoss] = DPFMLoss(MapSolve(50), attended=False, contrast=0.0)

    @classmethod
    def network_of(cls, config: TrainingConfig) -> Network:
        return DPFMNetwork(config.network)

    def own_loss(self) -> Loss:
        return self.setting

    def functional_map(self, compared: Comparison, pair: SurfacePair) -> Float[Tensor, "r k"]:
        of_part, of_whole = self.setting.for_map(Parts.of(compared.part), Parts.of(compared.whole))
        C = self.setting.solve(of_whole, of_part, pair.whole, pair.part)
        values = (surface.values[: len(C)].cpu().numpy() for surface in (pair.part, pair.whole))
        return C[: partial_rank(*values)]


class DPFMHoles(DPFM):
    """The same with C of the features after attention on 30 eigenfunctions, and NCE with weight 1: as for holes."""

    name: ClassVar[str] = "dpfm-holes"
    published: ClassVar[TrainingConfig] = DPFM.published.with_changes(map_eigenpairs=30)
    setting: ClassVar[DPFMLoss] = DPFMLoss(MapSolve(30), attended=True, contrast=1.0)
