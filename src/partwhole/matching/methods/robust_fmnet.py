"""`RobustFMNet`: features whose functional maps are nearly orthogonal, and agree with their own soft map."""

from __future__ import annotations

from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from partwhole.matching.config import TrainingConfig
from partwhole.matching.methods.learned import LearnedMethod, of_nearest_features
from partwhole.matching.network.surface import SurfacePair
from partwhole.matching.readout.maps import Comparison
from partwhole.matching.training.losses import Loss
from partwhole.matching.training.spectral_losses import MapSolve, SpectralLoss

_SOLVE = MapSolve(200)


class RobustFMNet(LearnedMethod):
    """‖C C′ − J_r‖² + ‖C Cᵀ − J_r‖² + ‖C − Φ_part†P Φ_whole‖² on 200 eigenfunctions, P the soft map of features.

    Unsupervised (Cao, Roetzer and Bernard 2023). The map is read from the functional map of nearest features; `adapt=15` is
    the published test-time adaptation.

    Examples
    --------
    >>> RobustFMNet().loss().coupled, RobustFMNet().config.loss.temperature
    (1.0, 0.07)
    """

    name: ClassVar[str] = "robust-fmnet"
    published: ClassVar[TrainingConfig] = TrainingConfig(temperature=0.07, map_eigenpairs=200)

    def own_loss(self) -> Loss:
        return SpectralLoss(_SOLVE, coupled=1.0)

    def functional_map(self, compared: Comparison, pair: SurfacePair) -> Float[Tensor, "k k"]:
        return of_nearest_features(compared, pair, _SOLVE.eigenpairs)
