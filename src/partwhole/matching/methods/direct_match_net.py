"""`DirectMatchNet`: features whose soft map keeps distances, all of them alike."""

from __future__ import annotations

from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from partwhole.matching.config import PRESETS, TrainingConfig
from partwhole.matching.methods.learned import LearnedMethod, of_nearest_features
from partwhole.matching.network.surface import SurfacePair
from partwhole.matching.readout.maps import Comparison
from partwhole.matching.training.losses import Loss, LowPassAreaLoss, WormholeLoss, loss_of


class DirectMatchNet(LearnedMethod):
    """10³ Σ_ij a_i a_j ((P D_whole Pᵀ)_ij − (D_part)_ij)² + ‖C Cᵀ − J_r‖², C the functional map of the soft map P.

    Unsupervised (Bracha, Dagès and Kimmel 2024): the wormhole loss with every pair counted, which is `criterion="none"`. With
    `low_pass` in its config the loss sees P through so many eigenfunctions: one reading of its form LPF, see also
    `DirectMatchNetLPF`.

    Examples
    --------
    >>> DirectMatchNet().config.loss.criterion, DirectMatchNet().loss()
    ('none', WormholeLoss(weight=1000.0) + OrthogonalityLoss(weight=1.0, eigenpairs=200))
    """

    name: ClassVar[str] = "direct-match-net"
    published: ClassVar[TrainingConfig] = TrainingConfig(criterion="none")

    @classmethod
    def published_for(cls, data: str | None) -> TrainingConfig:
        """The choices of the paper's preset of the data set, with the criterion of this method."""
        return PRESETS.get(data or "", cls.published).with_changes(criterion=cls.published.loss.criterion)

    def own_loss(self) -> Loss:
        return loss_of(self.config.with_changes(synchronous_weight=0.0))

    def functional_map(self, compared: Comparison, pair: SurfacePair) -> Float[Tensor, "k k"]:
        return of_nearest_features(compared, pair, self.config.loss.map_eigenpairs)


class DirectMatchNetLPF(DirectMatchNet):
    """10³ Σ_ij a_i a_j ((P D_whole Pᵀ)_ij − (D_part)_ij)² + ‖Φ†(P A_whole⁻¹ Pᵀ A_part − I) Φ‖², Φ 50 eigenfunctions.

    The other reading of the form LPF, whose formula is not public: a regulariser that keeps areas through a low-pass filter
    and needs no functional map. The map is read from the functional map of nearest features all the same.

    Examples
    --------
    >>> DirectMatchNetLPF().loss()
    WormholeLoss(weight=1000.0) + LowPassAreaLoss(weight=1.0, eigenpairs=50)
    """

    name: ClassVar[str] = "direct-match-net-lpf"

    def own_loss(self) -> Loss:
        return WormholeLoss(self.config.loss.distortion_weight) + LowPassAreaLoss()


class Wormhole(DirectMatchNet):
    """10³ Σ_ij M_ij a_i a_j ((P D_whole Pᵀ)_ij − (D_part)_ij)² + ‖C Cᵀ − J_r‖², M the soft mask of the wormhole criterion.

    Unsupervised (Bracha, Dagès and Kimmel 2024): the same as DirectMatchNet, but that only distances which can be trusted
    count. Trained as the presets of the data sets have it; read and adapted like the other methods.

    Examples
    --------
    >>> Wormhole().config.loss.criterion, Wormhole.published_for("pfaust-m").loss.distortion_weight
    ('wormhole', 5000.0)
    """

    name: ClassVar[str] = "wormhole"
    published: ClassVar[TrainingConfig] = TrainingConfig()
