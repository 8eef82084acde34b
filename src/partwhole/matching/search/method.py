"""`Method`: what matches a part to a whole, as the search, evaluation and the command line know it.

`Matcher`, a trained network, is one; so is `Ensemble`. Another method is a class that encodes a surface and compares two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from partwhole.matching.config import ReadOut, TrainingConfig, check_read_out
from partwhole.matching.network.surface import Surface, surface_of
from partwhole.matching.readout.lateration import laterated
from partwhole.matching.readout.soft_map import Comparison, spectral_map
from partwhole.matching.readout.zoomout import less_distorted
from partwhole.mesh import Mesh
from partwhole.store.cache import CacheGiven, hash_of


class Method(ABC):
    """Matches parts to wholes.

    A subclass gives `encode`, `compare` and, where there is something to learn, `fit`. Everything else, from files to a map
    with its confidence, is the same for all methods: `partwhole.match(part, whole, model=method)`,
    `partwhole.evaluate(method, pairs)`.

    Parameters
    ----------
    config : how many eigenpairs a surface has, which criterion and distances, and the search
    card : what else is known: name, data, protocol, measured errors, versions
    """

    def __init__(self, config: TrainingConfig, card: Mapping[str, Any] | None = None) -> None:
        if not isinstance(config, TrainingConfig):
            raise ValueError(f"config must be a TrainingConfig, got {type(config).__name__}")
        self.config = config
        self.card = dict(card or {})

    @property
    def name(self) -> str:
        """What the method is called."""
        return str(self.card.get("name", "a model"))

    @property
    def device(self) -> torch.device:
        """Where surfaces must be."""
        return torch.device("cpu")

    @abstractmethod
    def encode(self, surface: Surface) -> Float[Tensor, "*models n f"]:
        """What is known of the vertices of one surface by itself: features, or whatever `compare` needs."""

    @abstractmethod
    def compare(
        self, of_part: Float[Tensor, "*models p f"], of_whole: Float[Tensor, "*models n f"]
    ) -> list[Comparison]:
        """Part and whole seen together: features whose similarity makes a map; several where several maps are possible."""

    def fingerprint(self) -> str:
        """SHA-256 of all that its maps depend on: the key of what is kept in the cache."""
        return hash_of({"method": type(self).__name__, "config": self.config.to_json(), "card": self.card})

    def fit(self, pairs: Any, **options: Any) -> Method:
        """This method trained on pairs; options are those of `train`."""
        raise ValueError(f"{type(self).__name__} has nothing to learn; use it as it is")

    def surface(self, mesh: Mesh, *, cache: CacheGiven = None) -> Surface:
        """What this method needs of a mesh in the units of `Pair`, on its device; without distances."""
        k, few = self.config.eigenpairs, self.config.network.diffusion_eigenpairs
        return surface_of(mesh, eigenpairs=k, diffusion_eigenpairs=few, cache=cache).to(self.device)

    def read(
        self, nearest: Int[Tensor, "p"], part: Surface, whole: Surface, read_out: ReadOut = "lateration"
    ) -> Int[Tensor, "p"]:
        """The map of nearest features, smoothed.

        Parameters
        ----------
        nearest : for each vertex of the part the vertex of the whole with the most similar features
        part, whole : surfaces; for ZoomOut and lateration with distances, and the part with weights
        read_out : "features", `nearest` itself; "spectral", smoothed through the eigenfunctions of both; "zoomout", then by
            ZoomOut where that distorts distances less; "lateration", then moved to where guaranteed distances to the images
            of the neighbours are right
        """
        check_read_out(read_out)
        if read_out == "features":
            return nearest
        k = min(self.config.loss.map_eigenpairs, part.values.shape[-1], whole.values.shape[-1])
        smooth = spectral_map(nearest, part, whole, k)
        if read_out == "spectral":
            return smooth
        return (less_distorted if read_out == "zoomout" else laterated)(smooth, part, whole)


def check_method(given: object, name: str = "matcher") -> None:
    """Raise ValueError, with the remedy, unless this is a `Method`."""
    if not isinstance(given, Method):
        is_path = isinstance(given, str) or hasattr(given, "__fspath__")
        remedy = f"use pw.Matcher.load({str(given)!r})" if is_path else "train one"
        raise ValueError(f"{name} must be a Matcher, got {type(given).__name__}; {remedy}")
