"""`Ensemble`: several networks, trained with different seeds, that match together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.config import Axis
from partwhole.matching.matcher import Matcher
from partwhole.matching.network.surface import Surface
from partwhole.matching.readout.soft_map import Comparison
from partwhole.matching.search.method import Method
from partwhole.store.cache import hash_of

Combine = Literal["average", "choose"]


class Ensemble(Method):
    """Several matchers with the same choices but for their seeds.

    Networks of different seeds fail on different pairs, and wrong maps have worse scores.

    Parameters
    ----------
    matchers : at least one, on the same device
    combine : "average", similarities are averaged over the networks; "choose", each network gives its own map, and the one
        with the best score is taken, see `partwhole.matching.search`
    """

    def __init__(self, matchers: Sequence[Matcher], *, combine: Combine = "average") -> None:
        if not matchers:
            raise ValueError("an ensemble has at least one matcher")
        if combine not in get_args(Combine):
            raise ValueError(f"combine must be one of {', '.join(map(repr, get_args(Combine)))}, got {combine!r}")
        first = matchers[0]
        for number, other in enumerate(matchers):
            for name, value in other.config.with_changes(seed=first.config.optimisation.seed).choices.items():
                ours = first.config.choices[name]
                if value != ours:
                    raise ValueError(
                        f"the matchers of an ensemble differ in their seeds only; number {number} has {name}={value!r}, "
                        f"the first {ours!r}"
                    )
        super().__init__(first.config, {**first.card, "matchers": len(matchers)})
        self.matchers = tuple(matchers)
        self.combine: Combine = combine

    def __repr__(self) -> str:
        return f"Ensemble({len(self.matchers)} matchers, {self.combine}, on {self.device})"

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.matchers[0].device

    def fingerprint(self) -> str:
        return hash_of({"matchers": [one.fingerprint() for one in self.matchers], "combine": self.combine})

    def with_choices(self, **changes: object) -> Ensemble:
        """The same networks, searched in another way; see `Matcher.with_choices`."""
        return Ensemble([one.with_choices(**changes) for one in self.matchers], combine=self.combine)

    def standing(self, vertical: Axis) -> Ensemble:
        """The same for shapes whose vertical is another axis."""
        return Ensemble([matcher.standing(vertical) for matcher in self.matchers], combine=self.combine)

    def encode(self, surface: Surface) -> Float[Tensor, "m n f"]:
        """Features of the vertices by each network."""
        return torch.stack([matcher.encode(surface) for matcher in self.matchers])

    def compare(self, of_part: Float[Tensor, "m p f"], of_whole: Float[Tensor, "m n f"]) -> list[Comparison]:
        """The features of all networks side by side, or of each by itself."""
        each = [m.compare(one, other)[0] for m, one, other in zip(self.matchers, of_part, of_whole, strict=True)]
        if self.combine == "choose":
            return each
        of_parts, of_wholes = (torch.stack([getattr(one, side) for one in each]) for side in ("part", "whole"))
        return [Comparison(_side_by_side(of_parts), _side_by_side(of_wholes))]


def _side_by_side(features: Float[Tensor, "m n f"]) -> Float[Tensor, "n mf"]:
    """Rows whose cosine is the mean of the cosines of the networks' features."""
    return normalize(features, dim=-1).transpose(0, 1).flatten(1)
