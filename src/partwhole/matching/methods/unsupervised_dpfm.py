"""`UnsupervisedDPFM`: features whose functional maps are inverse to each other and keep areas, up to the partial rank."""

from __future__ import annotations

from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from partwhole.matching.config import TrainingConfig
from partwhole.matching.methods.learned import LearnedMethod
from partwhole.matching.network.surface import SurfacePair
from partwhole.matching.readout.maps import Comparison
from partwhole.matching.training.losses import Loss
from partwhole.matching.training.spectral_losses import MapSolve, SpectralLoss
from partwhole.spectral import partial_rank

_SOLVE = MapSolve(50)


class UnsupervisedDPFM(LearnedMethod):
    """‖C C′ − J_r‖² + ‖C Cᵀ − J_r‖², C and C′ the maps that features determine in both directions on 50 eigenfunctions.

    The unsupervised form of DPFM (Attaiki, Pai and Ovsjanikov 2021) was not released; this reading of its loss is the one
    that other authors' code attributes to it.

    Examples
    --------
    >>> UnsupervisedDPFM().loss()
    SpectralLoss(solve=MapSolve(eigenpairs=50, weight=100.0, penalty='resolvent'), bijective=1.0, orthogonal=1.0, coupled=0.0)
    """

    name: ClassVar[str] = "unsupervised-dpfm"
    published: ClassVar[TrainingConfig] = TrainingConfig(
        features=128, map_eigenpairs=50, learning_rate=1e-3, final_learning_rate=1e-3, cosine_epochs=None
    )

    def own_loss(self) -> Loss:
        return SpectralLoss(_SOLVE)

    def functional_map(self, compared: Comparison, pair: SurfacePair) -> Float[Tensor, "r k"]:
        C = _SOLVE(compared.whole, compared.part, pair.whole, pair.part)
        values = (surface.values[: len(C)].cpu().numpy() for surface in (pair.part, pair.whole))
        return C[: partial_rank(*values)]
