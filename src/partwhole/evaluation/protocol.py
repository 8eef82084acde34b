"""`Protocol`: how an error was measured. Every table prints it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from partwhole.geodesics.distances import DistanceMethod

Truth = Literal["vertices", "barycentric", "barycentric, rounded"]
Weights = Literal["final", "validated", "best-on-test", "none"]

_DISTANCES = {"dijkstra": "Dijkstra", "fast_marching": "fast marching", "exact": "exact"}
_TRUTH = {
    "vertices": "true vertices",
    "barycentric": "true points in triangles, Σ w D",
    "barycentric, rounded": "true points rounded to the nearest vertex",
}
_WEIGHTS = {
    "final": "final weights",
    "validated": "weights validated on held-out training shapes",
    "best-on-test": "weights picked on the test set",
    "none": "nothing learned",
}


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How an error was measured.

    Attributes
    ----------
    data : which pairs
    distances : how distances on the whole were computed
    ground_truth : what a prediction is compared with
    read_out : how the map was read: "features", "spectral", or in the words of the method
    refined : steps of refinement on each pair, 0 for none
    weights : which weights of a training run; "none" for methods that learn nothing
    seeds : of the training runs

    Examples
    --------
    >>> Protocol(data="PFAUST-H test", distances="dijkstra", read_out="spectral", weights="final", seeds=(0, 1, 2)).statement
    'PFAUST-H test; Dijkstra distances, true vertices; spectral read-out, unrefined; final weights, seeds 0, 1, 2'
    """

    data: str
    distances: DistanceMethod = "fast_marching"
    ground_truth: Truth = "vertices"
    read_out: str = "features"
    refined: int = 0
    weights: Weights = "final"
    seeds: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name, known in (("distances", _DISTANCES), ("ground_truth", _TRUTH), ("weights", _WEIGHTS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {getattr(self, name)!r}")
        if self.refined < 0:
            raise ValueError(f"refined={self.refined} must be a number of steps, 0 for none")

    @property
    def statement(self) -> str:
        """The choices in one line."""
        refined = f"refined by {self.refined} steps" if self.refined else "unrefined"
        seeds = f", seed{'s' * (len(self.seeds) > 1)} {', '.join(map(str, self.seeds))}" if self.seeds else ""
        return (
            f"{self.data}; {_DISTANCES[self.distances]} distances, {_TRUTH[self.ground_truth]}; {self.read_out} read-out, "
            f"{refined}; {_WEIGHTS[self.weights]}{seeds}"
        )


def joined(protocols: Iterable[Protocol]) -> Protocol:
    """The protocol of several runs that differ in nothing but their seeds; their seeds together."""
    every = list(protocols)
    if not every or len({replace(p, seeds=()) for p in every}) != 1:
        raise ValueError(f"{len(every)} runs can be averaged only if they differ in nothing but seeds, got {every}")
    return replace(every[0], seeds=tuple(seed for p in every for seed in p.seeds))
