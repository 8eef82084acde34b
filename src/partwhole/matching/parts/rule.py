"""How probable it is that a vertex is on both parts, that its partner is right, and that two parts share anything at all.

Fitted by `benchmarks/parts.py` to generated pairs of parts whose truth is known; the numbers are in overlap.json, with what
they were fitted to.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from partwhole.matching.parts import constants
from partwhole.matching.parts.constants import LEAST_SHARED, MOST_UNUSUAL, SHARED, SMOOTHING
from partwhole.matching.parts.cues import NAMES, PAIR, averaged
from partwhole.matching.parts.sides import Side
from partwhole.store.storage import hash_of

RULE = "overlap.json"
# constants that cues depend on
_OF_CUES = ("CYCLE", "ANCHORS", "RADIUS", "PLACES", "STEPS", "CLOSE", "NEAR", "FAR", "ECHO_TEMPERATURE", "ECHO_REACH")


@dataclass(frozen=True)
class Head:
    """odds = u · tanh(M z + s) + o, z the cues in standard deviations from their mean: the logarithm of p / (1 − p).

    Attributes
    ----------
    inner, shift, outer, offset : M, s, u and o
    """

    inner: tuple[tuple[float, ...], ...]
    shift: tuple[float, ...]
    outer: tuple[float, ...]
    offset: float

    @classmethod
    def mean(cls, *heads: Head) -> Head:
        """One that gives the mean of the odds of several."""
        share = 1 / len(heads)
        return cls(
            sum((one.inner for one in heads), ()),
            sum((one.shift for one in heads), ()),
            tuple(float(f"{share * value:.4g}") for one in heads for value in one.outer),
            float(f"{share * sum(one.offset for one in heads):.4g}"),
        )

    def odds(self, z: Float[Tensor, "n c"]) -> Float[Tensor, "n"]:
        """The logarithm of the odds of each vertex."""
        inner, shift, outer = (torch.tensor(held) for held in (self.inner, self.shift, self.outer))
        return torch.tanh(z @ inner.T + shift) @ outer + self.offset


@dataclass(frozen=True)
class OverlapRule:
    """From the cues of a vertex to probabilities.

    Attributes
    ----------
    mean, deviation : of the cues, over the vertices that the rule was fitted to
    shared : that it is on both parts, if they share anything
    anything : the same, fitted with pairs that share nothing as well: what says whether two parts share anything
    right : that its partner is right, if it is
    belongs : weights of what `seen_of` gives, and an offset: that the parts share anything
    presupposes : hash of the cues and of the constants that they depend on
    card : what it was fitted to
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    shared: Head
    anything: Head
    right: Head
    belongs: tuple[float, ...]
    presupposes: str
    card: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.presupposes != presupposed():
            raise ValueError(
                f"{RULE} was fitted with other constants or cues than those of this version; fit it again with "
                "benchmarks/parts.py"
            )

    def standardised(self, cues: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
        """The cues in standard deviations from their mean."""
        z = (cues - torch.tensor(self.mean)) / torch.tensor(self.deviation)
        return z.clamp(-MOST_UNUSUAL, MOST_UNUSUAL)

    def overlap(self, cues: Float[Tensor, "n c"], side: Side) -> Float[Tensor, "n"]:
        """That a vertex is on both parts, if they share anything; odds are averaged over what is near, as overlaps have short
        borders."""
        odds = self.shared.odds(self.standardised(cues))
        return torch.sigmoid(averaged(odds[:, None], side, SMOOTHING)[:, 0])

    def correctness(self, cues: Float[Tensor, "n c"], side: Side) -> Float[Tensor, "n"]:
        """That the partner of a vertex is right, if it has one."""
        odds = self.right.odds(self.standardised(cues))
        return torch.sigmoid(averaged(odds[:, None], side, SMOOTHING)[:, 0])

    def shared_area(self, cues: Float[Tensor, "n c"], mass: Float[Tensor, "n"]) -> float:
        """The share of a part, by area, that is probably on both, before odds are averaged."""
        return float((mass * torch.sigmoid(self.anything.odds(self.standardised(cues)))).sum() / mass.sum())

    def seen_of(
        self, cues: tuple[Float[Tensor, "a c"], Float[Tensor, "b c"]], masses: tuple[Tensor, Tensor]
    ) -> list[float]:
        """What says whether two parts share anything: cues of the pair, mean of both ways, and the shares.

        Parameters
        ----------
        cues : of the vertices of both
        masses : areas of the vertices of both
        """
        each = [self.standardised(held[:1])[0, -len(PAIR) :] for held in cues]
        shares = sorted(self.shared_area(held, mass) for held, mass in zip(cues, masses, strict=True))
        return [*((each[0] + each[1]) / 2).tolist()[1:], *shares]

    def shares_something(self, seen: list[float]) -> float:
        """The probability that two parts share anything, from what `seen_of` gives."""
        *weights, offset = self.belongs
        odds = sum(weight * value for weight, value in zip(weights, seen, strict=True)) + offset
        return 1 / (1 + math.exp(-odds))

    @staticmethod
    def threshold(overlap: Float[Tensor, "n"], mass: Float[Tensor, "n"]) -> float:
        """t with the largest expected IoU, Σ_{o≥t} a o / (Σ_{o≥t} a + Σ_{o<t} a o), between `LEAST_SHARED` and `SHARED`.

        Parameters
        ----------
        overlap : o, that each vertex is on both parts
        mass : a, its area

        Examples
        --------
        Where all is sure it does not matter; where little is, taking more than what is probable is better:

        >>> ones = torch.ones(4)
        >>> OverlapRule.threshold(torch.tensor([1.0, 1.0, 0.0, 0.0]), ones)
        0.5
        >>> round(OverlapRule.threshold(torch.tensor([0.6, 0.45, 0.4, 0.0]), ones), 6)
        0.4
        """
        falling = overlap.double().argsort(descending=True)
        a, o = mass.double()[falling], overlap.double()[falling]
        both = (a * o).cumsum(0)
        expected = both / (a.cumsum(0) + both[-1] - both).clamp(min=1e-30)
        return min(max(float(o[expected.argmax()]), LEAST_SHARED), SHARED)

    @classmethod
    def from_json(cls, held: Mapping[str, Any]) -> OverlapRule:
        """What `dataclasses.asdict` gave."""

        def row(values: Any) -> tuple[float, ...]:
            return tuple(map(float, values))

        heads = {
            name: Head(tuple(map(row, one["inner"])), row(one["shift"]), row(one["outer"]), float(one["offset"]))
            for name, one in ((name, held[name]) for name in ("shared", "anything", "right"))
        }
        return cls(
            row(held["mean"]),
            row(held["deviation"]),
            **heads,
            belongs=row(held["belongs"]),
            presupposes=held["presupposes"],
            card=held["card"],
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@cache
def presupposed() -> str:
    """Hash of the names of the cues and of the constants that they depend on."""
    return hash_of({"cues": list(NAMES), **{name: getattr(constants, name) for name in _OF_CUES}})


@cache
def overlap_rule() -> OverlapRule:
    """The rule that comes with the library."""
    text = files("partwhole.matching.parts").joinpath(RULE).read_text(encoding="utf-8")
    return OverlapRule.from_json(json.loads(text))
