"""What methods that learn nothing have in common: eigenpairs and descriptors of both surfaces, and a map between them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from partwhole.matching.config import TrainingConfig
from partwhole.matching.network.surface import Surface, SurfacePair
from partwhole.matching.readout.maps import Comparison
from partwhole.matching.search.method import PairMethod
from partwhole.spectral import Eigenpairs, shot, vertex_map_from_functional_map
from partwhole.store.arguments import check_whole_number
from partwhole.store.storage import hash_of

# eigenpairs of a network that there is none of
_NO_DIFFUSION = 1
# area of a body of TOSCA, in whose units the weights of several methods were published
TOSCA_AREA = 1.93e4


class AxiomaticMethod(PairMethod):
    """A functional map from the geometry of two surfaces alone. A subclass gives `functional_map`.

    Parameters
    ----------
    name : of the method, for tables
    eigenpairs : of each surface, at most
    choices : all other parameters, which its maps depend on
    """

    def __init__(self, name: str, *, eigenpairs: int, **choices: Any) -> None:
        check_whole_number("eigenpairs", eigenpairs)
        config = TrainingConfig(map_eigenpairs=eigenpairs, diffusion_eigenpairs=_NO_DIFFUSION)
        super().__init__(config, {"name": name, "weights": "none", **choices})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.config.loss.map_eigenpairs} eigenpairs)"

    def fingerprint(self) -> str:
        return hash_of({"card": self.card, "config": self.config.to_json()})

    @abstractmethod
    def functional_map(self, pair: SurfacePair) -> Float[np.ndarray, "r k"]:
        """C, which takes coefficients on the whole to the first r coefficients on the part."""

    def compare_pair(self, pair: SurfacePair) -> Comparison:
        return spectral_comparison(self.functional_map(pair), pair)

    def bases(self, pair: SurfacePair) -> tuple[Eigenpairs, Eigenpairs]:
        """The eigenpairs of part and whole that this method uses, in double precision."""
        k = self.config.loss.map_eigenpairs
        return basis_of(pair.part, k), basis_of(pair.whole, k)


def basis_of(surface: Surface, k: int) -> Eigenpairs:
    """The first k eigenpairs of a surface, or all if it has fewer, in double precision."""
    arrays = [array.detach().cpu().double().numpy() for array in (surface.values, surface.functions, surface.mass)]
    return Eigenpairs(arrays[0][:k], np.ascontiguousarray(arrays[1][:, :k]), arrays[2])


def rescaled(basis: Eigenpairs, area: float, wanted: float) -> Eigenpairs:
    """The same of surfaces scaled such that what had this area has the wanted one.

    Examples
    --------
    >>> unit = Eigenpairs(np.array([0.0, 4.0]), np.ones((3, 2)), np.ones(3))
    >>> large = rescaled(unit, 1.0, 4.0)
    >>> large.values.tolist(), large.functions[0].tolist(), large.mass.tolist()
    ([0.0, 1.0], [0.5, 0.5], [4.0, 4.0, 4.0])
    """
    unit = (wanted / area) ** 0.5
    return Eigenpairs(basis.values / unit**2, basis.functions / unit, basis.mass * unit**2)


def spectral_comparison(C: Float[np.ndarray, "r k"], pair: SurfacePair) -> Comparison:
    """Rows of Φ_part and of Φ_whole Cᵀ, the nearest of which make the map."""
    rank, k = C.shape
    part, whole = basis_of(pair.part, rank), basis_of(pair.whole, k)
    found = vertex_map_from_functional_map(C, part, whole)
    of_part, of_whole, vertex_map = (
        torch.tensor(array, device=pair.part.mass.device)
        for array in (part.functions.astype(np.float32), (whole.functions @ C.T).astype(np.float32), found)
    )
    return Comparison(of_part, of_whole, vertex_map=vertex_map)


def shot_descriptors(
    pair: SurfacePair, *, radius: float, bins: int
) -> tuple[Float[np.ndarray, "p d"], Float[np.ndarray, "n d"]]:
    """SHOT on part and whole, within `radius` · √area of the whole."""
    part, whole = pair.meshes
    reach = radius * whole.area**0.5
    return shot(part, radius=reach, bins=bins), shot(whole, radius=reach, bins=bins)
