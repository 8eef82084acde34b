"""A sample of a surface, and what a method is: what every method of a comparison is given, and gives back."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.embedding.estimators.inputs import GivenSurface, surface_given
from partwhole.embedding.estimators.weights import chosen_falloff
from partwhole.mesh import Mesh


@dataclass(frozen=True, eq=False)
class Sample:
    """What all methods are given.

    Attributes
    ----------
    data : (n, d) points, or a `Mesh`, whose vertices are taken for points where a method knows no surfaces
    boundary : as for `WHCIE`
    n_neighbors : of every method that has neighbours
    n_components : dimensions of the map
    seed : of methods with something random in them
    falloff : of the weights of `WHCIE` and `TCIE`
    """

    data: Any
    boundary: Any = "auto"
    n_neighbors: int = 15
    n_components: int = 2
    seed: int = 0
    falloff: float | Literal["auto"] = "auto"

    @property
    def points(self) -> Float[np.ndarray, "n d"]:
        return self.data.vertices if isinstance(self.data, Mesh) else np.asarray(self.data, dtype=np.float64)

    @property
    def distances(self) -> Float[np.ndarray, "n n"]:
        """Distances along the surface, those that `WHCIE` and `TCIE` use; infinite between components."""
        return self._measured[0].distances

    @property
    def boundary_points(self) -> Int[np.ndarray, "b"]:
        return self._measured[0].boundary

    @property
    def chosen_falloff(self) -> float:
        """The falloff, as a number."""
        return chosen_falloff(self.falloff, self._measured[0])

    @property
    def seconds(self) -> float:
        """How long it took to measure the distances and to find the boundary."""
        return self._measured[1]

    @cached_property
    def guaranteed(self) -> Bool[np.ndarray, "n n"]:
        """The pairs that the wormhole criterion guarantees."""
        from partwhole.criterion.points import criterion_of_points

        return criterion_of_points("wormhole", self.distances, self.boundary_points, self.points).mask

    @cached_property
    def _measured(self) -> tuple[GivenSurface, float]:
        from partwhole.embedding.estimators.whcie import WHCIE

        start = time.perf_counter()
        found = surface_given(WHCIE(n_neighbors=self.n_neighbors, boundary=self.boundary), self.data, None)
        return found, time.perf_counter() - start


@dataclass(frozen=True, eq=False)
class Method:
    """A way to make a map.

    Attributes
    ----------
    name : for the command line
    label : for tables and pictures
    make : from a sample to (n, n_components) places
    geodesic : whether it uses `Sample.distances`, whose time then counts as its own
    keeps_scale : False if the method normalises its axes; the affine error is then the one to look at
    """

    name: str
    label: str
    make: Callable[[Sample], Any]
    geodesic: bool = False
    keeps_scale: bool = True


def check_connected(sample: Sample) -> None:
    """Refuse a sample with pairs that no way connects."""
    from partwhole.mesh.topology import connected_labels

    reached = np.isfinite(sample.distances)
    if reached.all():
        return
    sizes = np.sort(np.bincount(connected_labels(len(reached), np.argwhere(reached))))[::-1]
    shown = ", ".join(map(str, sizes[:5].tolist())) + ", …" * (len(sizes) > 5)
    raise ValueError(
        f"the sample falls apart into {len(sizes)} components of {shown} points, with no way from one to the other: "
        f"use more than {sample.n_neighbors} neighbours, or embed each component by itself"
    )
