"""How wrong a map is as a whole: what its vertices expect on average, and what only all of them together show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from partwhole.matching.result import Fit

# so that a map without a torn edge has a logarithm
_LEAST_TORN = 0.01
# an error that is expected is not less than this
_LEAST_ERROR = 1e-3


@dataclass(frozen=True)
class MapRule:
    """log e = offset + a log (mean expected error) + b (1 − similarity) + c log (torn + 0.01) + d reversed.

    e is the mean error to be expected of a map, in √area of the whole; similarity, torn and reversed are those of `Fit`. No
    weight is negative: nothing that speaks against a map lowers the error.

    Attributes
    ----------
    expected, similarity, torn, reversed : a, b, c and d
    offset : for vertices that expect 1, and nothing else against the map but log 0.01
    """

    expected: float
    similarity: float
    torn: float
    reversed: float
    offset: float

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not math.isfinite(value) or (name != "offset" and value < 0):
                raise ValueError(f"of_map has {name}={value}; weights are finite and not negative")

    def error(self, expected: float, fit: Fit) -> float:
        """The mean error to be expected.

        Parameters
        ----------
        expected : the mean of what the vertices expect
        fit : of the map

        Examples
        --------
        >>> rule = MapRule(expected=1.0, similarity=2.0, torn=0.0, reversed=0.0, offset=0.0)
        >>> fit = Fit(0.5, "wormhole", 0.01, 1.0, 0.9, 0.0, None, None, similarity=0.5)
        >>> round(rule.error(0.1, fit) / 0.1, 3) == round(math.e, 3)
        True
        """
        weights = self.expected, self.similarity, self.torn, self.reversed
        return math.exp(self.offset + float(np.dot(weights, map_cues(expected, fit))))

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> MapRule:
        """What `dataclasses.asdict` gave."""
        return cls(**values)


def map_cues(expected: float, fit: Fit) -> tuple[float, float, float, float]:
    """log (mean expected error), 1 − similarity, log (torn + 0.01) and reversed: the larger, the worse.

    What is not known of a map speaks neither for nor against it: its cue is that of a good one.
    """
    turned = 0.0 if math.isnan(fit.reversed) else fit.reversed
    unlike = 0.0 if math.isnan(fit.similarity) else 1 - fit.similarity
    return math.log(max(expected, _LEAST_ERROR)), unlike, math.log(fit.torn + _LEAST_TORN), turned
