"""`RefinedMethod`: the map of any method, refined by ZoomOut or by the product manifold filter (PMF)."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from partwhole.matching.methods.axiomatic import basis_of, spectral_comparison
from partwhole.matching.network.surface import Surface, SurfacePair
from partwhole.matching.readout.maps import Comparison, functional_map_of, zoomed_out
from partwhole.matching.search.method import Method, PairMethod
from partwhole.matching.search.search import search
from partwhole.mesh import farthest_points
from partwhole.spectral import functional_map, kernel_matching
from partwhole.store.arguments import check_whole_number
from partwhole.store.storage import hash_of

Refinement = Literal["zoomout", "pmf"]
# farthest points of the whole that all but the last assignment of PMF are made between
_SAMPLES = 1000
# of ZoomOut: eigenpairs of the whole to begin with, and to add each time
_START, _STEP = 20, 5


class RefinedMethod(PairMethod):
    """A method, and what is done with its maps.

    "zoomout" is ZoomOut in its form for parts, from 20 eigenpairs on, as `partwhole.spectral.zoomout`; it makes a map smooth.
    "pmf" takes no two vertices of the part to the same place (`partwhole.spectral.kernel_matching`).

    Parameters
    ----------
    method : any method; a network matches with the search that belongs to it
    by : the refinement
    eigenpairs : of the whole, at most

    Examples
    --------
    >>> from partwhole.matching.methods import DescriptorMaps
    >>> RefinedMethod(DescriptorMaps(), by="zoomout").card["name"]
    'descriptors+zoomout'
    """

    def __init__(self, method: Method, *, by: Refinement, eigenpairs: int = 150) -> None:
        if by not in get_args(Refinement):
            raise ValueError(f"by must be one of {', '.join(map(repr, get_args(Refinement)))}, got {by!r}")
        check_whole_number("eigenpairs", eigenpairs)
        self.method, self.by, self._eigenpairs = method, by, eigenpairs
        most = max(eigenpairs, method.config.loss.map_eigenpairs)
        card = {**method.card, "name": f"{method.card.get('name', 'network')}+{by}"}
        super().__init__(method.config.with_changes(map_eigenpairs=most), card)

    def __repr__(self) -> str:
        return f"RefinedMethod({self.method!r}, by={self.by!r})"

    @property
    def device(self) -> torch.device:
        """Where surfaces must be."""
        return self.method.device

    def fingerprint(self) -> str:
        return hash_of({"method": self.method.fingerprint(), "by": self.by, "eigenpairs": self._eigenpairs})

    def compare_pair(self, pair: SurfacePair) -> Comparison:
        nearest = self._started(pair)
        if self.by == "zoomout":
            return _zoomed(nearest, *(_first(surface, self._eigenpairs) for surface in (pair.part, pair.whole)))
        start = nearest.cpu().numpy().astype(np.int64)
        part, whole = basis_of(pair.part, self._eigenpairs), basis_of(pair.whole, self._eigenpairs)
        samples = _samples(pair)
        matched = kernel_matching(start, part, whole, part_samples=samples[0], whole_samples=samples[1]).vertex_map
        compared = spectral_comparison(functional_map(matched, part, whole), pair)
        return replace(compared, vertex_map=torch.tensor(matched, device=pair.part.mass.device))

    def _started(self, pair: SurfacePair) -> Int[Tensor, "p"]:
        """The map of the method."""
        if isinstance(self.method, PairMethod):
            return self.method.compare_pair(pair).nearest()
        return search(self.method, pair).chosen.nearest


def _first(surface: Surface, k: int) -> Surface:
    """The same with its first k eigenpairs."""
    return replace(surface, values=surface.values[:k], functions=surface.functions[:, :k].contiguous())


def _zoomed(nearest: Int[Tensor, "p"], part: Surface, whole: Surface) -> Comparison:
    """The map after ZoomOut, and the functions on both surfaces that it goes by; where the surfaces are, on a GPU too."""
    k = whole.values.shape[-1]
    vertex_map = zoomed_out(nearest, part, whole, start=min(_START, k), step=_STEP)
    rank = max(1, int((part.values < whole.values.max()).sum()))
    C = functional_map_of(vertex_map, part, whole, k)[:rank]
    return Comparison(part.functions[:, :rank], whole.functions @ C.T, vertex_map=vertex_map)


def _samples(pair: SurfacePair) -> tuple[Int[np.ndarray, "s"], Int[np.ndarray, "t"]]:
    """Farthest points of part and whole, in proportion to their areas, as far as there are so many."""
    part, whole = pair.meshes
    of_whole = min(_SAMPLES, len(np.unique(whole.faces)))
    of_part = max(1, round(of_whole * part.area / whole.area))
    return farthest_points(part, min(of_part, len(np.unique(part.faces)))), farthest_points(whole, of_whole)
