"""`GeomFMaps`: features are learned such that the functional map they determine is the true one."""

from __future__ import annotations

from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from partwhole.matching.config import TrainingConfig
from partwhole.matching.methods.learned import LearnedMethod
from partwhole.matching.network.surface import SurfacePair
from partwhole.matching.readout.maps import Comparison
from partwhole.matching.training.losses import Loss
from partwhole.matching.training.spectral_losses import MapLoss, MapSolve

_SOLVE = MapSolve(30, weight=1e-3, penalty="difference")


class GeomFMaps(LearnedMethod):
    """mean over the entries of (C − C_true)², C = argmin ‖C F − G‖² + 10⁻³ Σ (μ_i − λ_j)² C_ij² on 30 eigenfunctions.

    Supervised (Donati, Sharma and Ovsjanikov 2020), with DiffusionNet as its network.

    Examples
    --------
    >>> GeomFMaps().loss()
    MapLoss(solve=MapSolve(eigenpairs=30, weight=0.001, penalty='difference'), weight=0.0011111111111111111)
    """

    name: ClassVar[str] = "geomfmaps"
    published: ClassVar[TrainingConfig] = TrainingConfig(
        features=128,
        map_eigenpairs=30,
        learning_rate=1e-3,
        final_learning_rate=1e-3,
        cosine_epochs=None,
        rotation=180.0,
        scaling=(1.0, 1.0),
        noise=0.0,
    )

    def own_loss(self) -> Loss:
        return MapLoss(_SOLVE, weight=1 / _SOLVE.eigenpairs**2)

    def functional_map(self, compared: Comparison, pair: SurfacePair) -> Float[Tensor, "k k"]:
        return _SOLVE(compared.whole, compared.part, pair.whole, pair.part)
