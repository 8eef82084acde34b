"""`EmbeddingTask`, the data and settings that every compared method gets, and `EmbeddingMethod`, one of the methods."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.embedding.estimators.inputs import SurfaceInput, checked_input
from partwhole.embedding.estimators.weights import chosen_falloff
from partwhole.mesh import Mesh


@dataclass(frozen=True, eq=False)
class EmbeddingTask:
    """Data and settings that all methods get.

    Attributes
    ----------
    data : (n, d) points, or a `Mesh`, whose vertices are used as points by methods that have no notion of a surface
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
    def _measured(self) -> tuple[SurfaceInput, float]:
        from partwhole.embedding.estimators.whcie import WHCIE

        start = time.perf_counter()
        found = checked_input(WHCIE(n_neighbors=self.n_neighbors, boundary=self.boundary), self.data, None)
        return found, time.perf_counter() - start


@dataclass(frozen=True, eq=False)
class EmbeddingMethod:
    """A method that makes a map.

    Attributes
    ----------
    name : for the command line
    label : for tables and pictures
    make : from a task to (n, n_components) places
    geodesic : whether it uses `EmbeddingTask.distances`, whose time then counts as its own
    keeps_scale : False if the method normalises its axes; the affine error is then the one to look at
    """

    name: str
    label: str
    make: Callable[[EmbeddingTask], Any]
    geodesic: bool = False
    keeps_scale: bool = True


def check_connected(task: EmbeddingTask) -> None:
    """Raise a ValueError if some pairs of points have no path between them."""
    from partwhole.mesh.topology import connected_labels

    reached = np.isfinite(task.distances)
    if reached.all():
        return
    sizes = np.sort(np.bincount(connected_labels(len(reached), np.argwhere(reached))))[::-1]
    shown = ", ".join(map(str, sizes[:5].tolist())) + ", …" * (len(sizes) > 5)
    raise ValueError(
        f"the sample falls apart into {len(sizes)} components of {shown} points, with no path from one to the other: "
        f"use more than {task.n_neighbors} neighbours, or embed each component by itself"
    )
