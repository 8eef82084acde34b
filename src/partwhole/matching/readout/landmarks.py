"""`LandmarkDistances`: what landmarks say of where the vertices of a part lie, by their distances from the landmarks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from partwhole.matching.network.surface import consistency, outside

_ROWS = 1024


@dataclass(frozen=True, eq=False, repr=False)
class LandmarkDistances:
    """A vertex of the part lies as far from a landmark on the whole as on the part, give or take what poses change.

    The distance on the part is the true one if it is guaranteed; else it is an upper bound, and the criterion gives a lower
    one. A place on the whole is off by as much as its distance from the landmark lies outside of these bounds.

    Attributes
    ----------
    part, whole : vertices of the landmarks
    least, most : between which the distance of each vertex of the part from each landmark lies
    on_whole : distance of each vertex of the whole from each landmark
    tolerance : by how much distances may be off, for each landmark and each vertex of the part
    pull : how much each landmark counts in lateration, for each vertex of the part
    sure : landmarks that contradict no other; only these are places of the map
    contradictions : for each landmark the largest difference of distances to one that it contradicts; 0 without one
    alone : landmarks that are wrong, as all others agree; they are not used
    weight : how much a landmark counts beside a cosine of features
    """

    part: Int[Tensor, "k"]
    whole: Int[Tensor, "k"]
    least: Float[Tensor, "k p"]
    most: Float[Tensor, "k p"]
    on_whole: Float[Tensor, "k n"]
    tolerance: Float[Tensor, "k p"]
    pull: Float[Tensor, "k p"]
    sure: Bool[Tensor, "k"]
    contradictions: Float[Tensor, "k"]
    alone: Bool[Tensor, "k"]
    weight: float

    @property
    def _used(self) -> list[int]:
        return [number for number, wrong in enumerate(self.alone.tolist()) if not wrong]

    @property
    def sure_pairs(self) -> Int[Tensor, "s 2"]:
        """Rows of (vertex of the part, vertex of the whole) for the landmarks that are sure."""
        return torch.stack([self.part, self.whole], dim=1)[self.sure]

    def gaps(self, number: int, rows: Int[Tensor, "r"], places: Int[Tensor, "*r"]) -> Float[Tensor, "*r"]:
        """By how much places for some vertices of the part are off, as one landmark has it.

        Parameters
        ----------
        number : of the landmark
        rows : vertices of the part
        places : on the whole, one for each of them or a row of several
        """
        shape = (-1,) + (1,) * (places.ndim - 1)
        least, most = self.least[number, rows].view(shape), self.most[number, rows].view(shape)
        return outside(self.on_whole[number][places], least, most)

    def pulls(self, rows: Int[Tensor, "r"], places: Int[Tensor, "r c"]) -> Float[Tensor, "r c"]:
        """Σ_l pull · gap² of places for some vertices of the part."""
        total = torch.zeros(places.shape, device=places.device)
        for number in self._used:
            total += self.pull[number, rows, None] * self.gaps(number, rows, places).square()
        return total

    @cached_property
    def suits(self) -> Float[Tensor, "p n"]:
        """weight · Σ_l exp(−gap² / 2 tolerance²): how well a place suits a vertex, to be added to a cosine of features."""
        found = torch.zeros((self.most.shape[1], self.on_whole.shape[1]), device=self.most.device)
        for number in self._used:
            there = self.on_whole[number]
            for rows in torch.arange(len(found), device=found.device).split(_ROWS):
                least, most, width = (of[number, rows, None] for of in (self.least, self.most, self.tolerance))
                found[rows] += self.weight * consistency(there, least, most, width)
        return found

    def error(self, vertex_map: Int[Tensor, "p"], weights: Float[Tensor, "k p"]) -> float:
        """Σ_l mean_p (1 − exp(−gap² / 2 tolerance²)) of a map, the mean with weights: what a candidate is scored by."""
        total = 0.0
        for number in self._used:
            there = self.on_whole[number][vertex_map]
            fits = consistency(there, self.least[number], self.most[number], self.tolerance[number])
            share = weights[number] / weights[number].sum().clamp(min=1e-30)
            total += float((share * (1 - fits)).sum())
        return total

    def held(self, vertex_map: Int[Tensor, "p"]) -> Int[Tensor, "p"]:
        """The map with the landmarks that are sure at their places."""
        vertex_map = vertex_map.clone()
        vertex_map[self.part[self.sure]] = self.whole[self.sure].to(vertex_map)
        return vertex_map

    def residuals(self, vertex_map: Int[Tensor, "p"]) -> Float[Tensor, "k"]:
        """Distances on the whole from where a map has the landmarks to where they belong."""
        return self.on_whole.gather(1, vertex_map[self.part][:, None])[:, 0]

    def sampled(self, sample: Int[Tensor, "s"]) -> LandmarkDistances:
        """The same for some vertices of the part; landmarks need not be among them."""
        of_part = {name: getattr(self, name)[:, sample] for name in ("least", "most", "tolerance", "pull")}
        return replace(self, **of_part)
