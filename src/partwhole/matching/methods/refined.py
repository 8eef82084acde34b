"""`RefinedMethod`: the map of any method, refined by ZoomOut or by the product manifold filter (PMF)."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Int

from partwhole.matching.methods.axiomatic import basis_of, spectral_comparison
from partwhole.matching.network.surface import SurfacePair
from partwhole.matching.readout.maps import Comparison
from partwhole.matching.search.method import Method, PairMethod
from partwhole.matching.search.search import search
from partwhole.mesh import farthest_points
from partwhole.spectral import functional_map, kernel_matching, zoomout
from partwhole.store.arguments import check_whole_number
from partwhole.store.storage import hash_of

Refinement = Literal["zoomout", "pmf"]
# farthest points of the whole that all but the last assignment of PMF are made between
_SAMPLES = 1000


class RefinedMethod(PairMethod):
    """A method, and what is done with its maps.

    "zoomout" is ZoomOut in its form for parts, from 20 eigenpairs on (`partwhole.spectral.zoomout`); it makes a map smooth.
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
        start = self._started(pair)
        part, whole = basis_of(pair.part, self._eigenpairs), basis_of(pair.whole, self._eigenpairs)
        if self.by == "zoomout":
            found = zoomout(start, part, whole, start=min(20, len(whole)))
            return spectral_comparison(found.functional_map, pair)
        samples = _samples(pair)
        matched = kernel_matching(start, part, whole, part_samples=samples[0], whole_samples=samples[1]).vertex_map
        compared = spectral_comparison(functional_map(matched, part, whole), pair)
        return replace(compared, vertex_map=torch.tensor(matched, device=pair.part.mass.device))

    def _started(self, pair: SurfacePair) -> Int[np.ndarray, "p"]:
        """The map of the method."""
        if isinstance(self.method, PairMethod):
            nearest = self.method.compare_pair(pair).nearest()
        else:
            nearest = search(self.method, pair).chosen.nearest
        return nearest.cpu().numpy().astype(np.int64)


def _samples(pair: SurfacePair) -> tuple[Int[np.ndarray, "s"], Int[np.ndarray, "t"]]:
    """Farthest points of part and whole, in proportion to their areas, as far as there are so many."""
    part, whole = pair.meshes
    of_whole = min(_SAMPLES, len(np.unique(whole.faces)))
    of_part = max(1, round(of_whole * part.area / whole.area))
    return farthest_points(part, min(of_part, len(np.unique(part.faces)))), farthest_points(whole, of_whole)
