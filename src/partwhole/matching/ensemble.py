"""`Ensemble`: several networks, trained with different seeds, that match together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.matcher import Matcher
from partwhole.matching.network.surface import Surface
from partwhole.matching.training.config import Axis

Combine = Literal["average", "choose"]


class Ensemble(Matcher):
    """Several matchers with the same choices but for their seeds; can be used in the place of one.

    Networks of different seeds fail on different pairs, and where a map is wrong it distorts and bends more.

    Parameters
    ----------
    matchers : at least one, on the same device
    combine : "average", similarities are averaged over the networks, at each heading; "choose", each network gives its own
        map at each heading. Of these maps the one that distorts and bends least is taken, see
        `partwhole.matching.search.score`
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
        return self.compares and self.config.score_weights[0] > 0

    @property
    def compares(self) -> bool:
        return super().compares or (self.combine == "choose" and len(self.matchers) > 1)

    def save(self, path: str | Path) -> None:
        """Not to be: each matcher has a file of its own."""
        raise ValueError(f"an ensemble is not one file ({path}); save each of its matchers")

    def standing(self, vertical: Axis) -> Ensemble:
        return Ensemble([matcher.standing(vertical) for matcher in self.matchers], combine=self.combine)

    def features(self, surface: Surface) -> Float[Tensor, "m n f"]:
        """Features of the vertices by each network."""
        return torch.stack([matcher.features(surface) for matcher in self.matchers])

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
