"""`Ensemble`: several networks, trained with different seeds, that match together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.headings import best_heading, similarity
from partwhole.matching.matcher import Matcher
from partwhole.matching.soft_maps import ReadOut, hard_map
from partwhole.matching.surfaces import Surface

Combine = Literal["average", "choose"]


class Ensemble(Matcher):
    """Several matchers with the same choices but for their seeds; can be used in the place of one.

    Networks of different seeds fail on different pairs, and where a map is wrong it distorts and bends more.

    Parameters
    ----------
    matchers : at least one, on the same device
    combine : "average", similarities are averaged over the networks, at each heading; "choose", each network gives its own
        map at each heading. Of these maps the one that distorts and bends least is taken, see
        `partwhole.matching.headings`
    """

    def __init__(self, matchers: Sequence[Matcher], *, combine: Combine = "average") -> None:
        if not matchers:
            raise ValueError("an ensemble has at least one matcher")
        if combine not in get_args(Combine):
            raise ValueError(f"combine must be one of {', '.join(map(repr, get_args(Combine)))}, got {combine!r}")
        first = matchers[0]
        for number, other in enumerate(matchers):
            for name, value in other.config.with_changes(seed=first.config.seed).to_json().items():
                ours = first.config.to_json()[name]
                if value != ours:
                    raise ValueError(
                        f"the matchers of an ensemble differ in their seeds only; number {number} has {name}={value!r}, "
                        f"the first {ours!r}"
                    )
        super().__init__(first.network, first.config, {**first.card, "matchers": len(matchers)})
        self.matchers = tuple(matchers)
        self.combine: Combine = combine

    def __repr__(self) -> str:
        return f"Ensemble({len(self.matchers)} matchers, {self.combine}, on {self.device})"

    @property
    def needs_distances(self) -> bool:
        return super().needs_distances or (self.combine == "choose" and len(self.matchers) > 1)

    def save(self, path: str | Path) -> None:
        """Not to be: each matcher has a file of its own."""
        raise ValueError(f"an ensemble is not one file ({path}); save each of its matchers")

    def features(self, surface: Surface) -> Float[Tensor, "m n f"]:
        """Features of the vertices by each network."""
        return torch.stack([matcher.features(surface) for matcher in self.matchers])

    def vertex_map(
        self,
        part: Surface,
        whole: Surface,
        *,
        read_out: ReadOut = "spectral",
        features: tuple[list[Tensor], list[Tensor]] | None = None,
    ) -> Int[Tensor, "p"]:
        """See `Matcher.vertex_map`."""
        of_part, of_whole = features or (self.part_features(part), self.whole_features(whole))
        turns = [(one, other) for one in of_part for other in of_whole]
        tried = [by for one, other in turns for by in self.compared(one, other)]
        maps = [hard_map(*by) for by in tried]
        number = 0
        if len(maps) > 1:
            sure = [similarity(found, *by, part) for found, by in zip(maps, tried, strict=True)]
            number = best_heading(maps, part, whole, weights=self.config.judged_by, similarities=sure)
        return self.read(maps[number], part, whole, read_out)

    def compared(
        self, of_part: Float[Tensor, "m p f"], of_whole: Float[Tensor, "m n f"]
    ) -> list[tuple[Float[Tensor, "p _"], Float[Tensor, "n _"]]]:
        """Features whose cosines make maps: of all networks side by side, or of each by itself."""
        if self.combine == "average":
            return [(_side_by_side(of_part), _side_by_side(of_whole))]
        return list(zip(of_part, of_whole, strict=True))


def _side_by_side(features: Float[Tensor, "m n f"]) -> Float[Tensor, "n mf"]:
    """Rows whose cosine is the mean of the cosines of the networks' features."""
    return normalize(features, dim=-1).transpose(0, 1).flatten(1)
