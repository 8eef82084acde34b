"""Losses of the functional map that features determine, of the methods that learn through `regularised_map`.

They see features and not the soft map alone, see `FeatureLoss`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from partwhole.matching.network.surface import Surface
from partwhole.matching.readout.maps import functional_map_of
from partwhole.matching.training.losses import FeatureLoss, partial_identity
from partwhole.spectral.regularised import Penalty, regularised_map
from partwhole.store.arguments import check_number


@dataclass(frozen=True)
class MapSolve:
    """C = argmin ‖C F − G‖² + weight Σ D_ij C_ij² of features on k eigenfunctions, see `regularised_map`.

    Attributes
    ----------
    eigenpairs : k; fewer if a surface has fewer
    weight, penalty : see `regularised_map`
    """

    eigenpairs: int
    weight: float = 100.0
    penalty: Penalty = "resolvent"

    def __call__(
        self, of_source: Float[Tensor, "n f"], of_target: Float[Tensor, "p f"], source: Surface, target: Surface
    ) -> Float[Tensor, "k k"]:
        """C, which takes coefficients on the source to those on the target."""
        k = min(self.eigenpairs, source.values.shape[-1], target.values.shape[-1])
        with _unrounded():
            F, G = (
                (surface.functions[:, :k] * surface.mass[:, None]).T @ features
                for surface, features in ((source, of_source), (target, of_target))
            )
        return regularised_map(G, F, target.values[:k], source.values[:k], weight=self.weight, penalty=self.penalty)


@contextmanager
def _unrounded() -> Iterator[None]:
    """Matrix products of float32 without rounding of their factors on a GPU: solving a system makes much of a small error,
    and these products are small."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@dataclass(frozen=True)
class MapLoss(FeatureLoss):
    """weight · ‖C − C_true‖²_F, C the map that features determine, C_true = Φ_part†Φ_whole[truth].

    Vertices whose truth is not known are left out of C_true.
    """

    solve: MapSolve
    weight: float = 1.0

    takes_distances: ClassVar[bool] = False
    takes_truth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("weight", self.weight)

    @property
    def name(self) -> str:
        return "functional map"

    def on_features(
        self,
        of_part: Float[Tensor, "p f"],
        of_whole: Float[Tensor, "n f"],
        P: Float[Tensor, "p n"],
        part: Surface,
        whole: Surface,
    ) -> Float[Tensor, ""]:
        if part.truth is None or part.truth_shares is None:
            raise ValueError("the loss of the functional map needs the ground truth of the part: Surface.with_truth")
        C = self.solve(of_whole, of_part, whole, part)
        rows, columns = C.shape
        known = part.mass * (part.truth_shares > 0)
        true = (part.functions[:, :rows] * known[:, None]).T @ whole.functions[part.truth, :columns]
        return self.weight * (C - true).square().sum()


@dataclass(frozen=True)
class SpectralLoss(FeatureLoss):
    """bijective · ‖C C′ − J_r‖² + orthogonal · ‖C Cᵀ − J_r‖² + coupled · ‖C − Φ_part†P Φ_whole‖².

    C takes the whole to the part and C′ the part to the whole; both are determined by the features. P is their soft map. J_r
    is the identity up to the partial rank. Without the last term it is the loss of Unsupervised DPFM, with it that of
    RobustFMNet.
    """

    solve: MapSolve
    bijective: float = 1.0
    orthogonal: float = 1.0
    coupled: float = 0.0

    takes_distances: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("bijective", "orthogonal", "coupled"):
            check_number(name, getattr(self, name))

    @property
    def name(self) -> str:
        return "spectral"

    def on_features(
        self,
        of_part: Float[Tensor, "p f"],
        of_whole: Float[Tensor, "n f"],
        P: Float[Tensor, "p n"],
        part: Surface,
        whole: Surface,
    ) -> Float[Tensor, ""]:
        C = self.solve(of_whole, of_part, whole, part)
        back = self.solve(of_part, of_whole, part, whole)
        k = len(C)
        J = partial_identity(part, whole, k).to(C)
        loss = self.bijective * (C @ back - J).square().sum() + self.orthogonal * (C @ C.T - J).square().sum()
        if self.coupled:
            loss = loss + self.coupled * (C - functional_map_of(P, part, whole, k)).square().sum()
        return loss
