"""`Method`: what matches a part to a whole, as the search, evaluation and the command line know it.

`Matcher`, a trained network, is one; so is `Ensemble`. Another method is a class that encodes a surface and compares two:
everything else, from files to a map with its confidence, is the same for all methods, see
`partwhole.match(part, whole, model=method)` and `partwhole.evaluate(method, pairs)`. A `PairMethod` sees part and whole at
once, and gives the map itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from partwhole.matching.config import TrainingConfig
from partwhole.matching.network.surface import Surface, SurfacePair
from partwhole.matching.readout.maps import Comparison
from partwhole.store.storage import hash_of


class Method(ABC):
    """Matches parts to wholes. A subclass gives `encode`, `compare` and, where there is something to learn, `fit`.

    Parameters
    ----------
    config : how many eigenpairs a surface has, which criterion and distances, and the search
    card : what else is known: name, data, protocol, measured errors, versions
    """

    config: TrainingConfig
    card: dict[str, Any]

    def __init__(self, config: TrainingConfig, card: Mapping[str, Any] | None = None) -> None:
        self.config, self.card = config, dict(card or {})

    @property
    def device(self) -> torch.device:
        """Where surfaces must be."""
        return torch.device("cpu")

    @property
    def sees_orientation(self) -> bool:
        """Whether encodings depend on how a surface lies in space; if not, no orientation is searched."""
        return True

    @property
    def sees_signatures(self) -> bool:
        """Whether `encode` uses `Surface.signatures`; if not, they are not computed."""
        return True

    @abstractmethod
    def encode(self, surface: Surface) -> Float[Tensor, "*models n f"]:
        """What is known of the vertices of one surface by itself: features, or whatever `compare` needs."""

    @abstractmethod
    def compare(
        self, of_part: Float[Tensor, "*models p f"], of_whole: Float[Tensor, "*models n f"]
    ) -> list[Comparison]:
        """Part and whole seen together: features whose similarity makes a map; several where several maps are possible."""

    def fingerprint(self) -> str:
        """A hash of everything that its maps depend on, for the keys of the cache."""
        return hash_of({"method": type(self).__qualname__, "config": self.config.to_json(), "card": self.card})

    def fit(self, pairs: Any, **options: Any) -> Method:
        """This method trained on pairs; options are those of `train`."""
        raise ValueError(f"{type(self).__name__} has nothing to learn; use it as it is")


class PairMethod(Method):
    """A method that sees part and whole at once, and gives the map itself. A subclass gives `compare_pair`.

    Nothing is searched for it but the scale, where that is not known: no orientation, and the part is not aligned to the
    whole. So the map before its read-out is the one that the method is published with.
    """

    @property
    def sees_orientation(self) -> bool:
        return False

    @abstractmethod
    def compare_pair(self, pair: SurfacePair) -> Comparison:
        """Features of part and whole, and the map in `Comparison.vertex_map`."""

    def encode(self, surface: Surface) -> Float[Tensor, "n f"]:
        raise ValueError(f"{type(self).__name__} sees part and whole at once; use compare_pair")

    def compare(self, of_part: Float[Tensor, "p f"], of_whole: Float[Tensor, "n f"]) -> list[Comparison]:
        raise ValueError(f"{type(self).__name__} sees part and whole at once; use compare_pair")


def check_method(given: object, name: str = "matcher") -> None:
    """Raise ValueError, with the remedy, unless this is a `Method`."""
    if not isinstance(given, Method):
        is_path = isinstance(given, str) or hasattr(given, "__fspath__")
        remedy = f"use pw.Matcher.load({str(given)!r})" if is_path else "train one"
        raise ValueError(f"{name} must be a Matcher, got {type(given).__name__}; {remedy}")
