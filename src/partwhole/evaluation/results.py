"""`PairResult`, the errors of one map, and `Evaluation`, those of a method on a set of pairs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole.datasets.pairs import Pair
from partwhole.evaluation.curves import PckCurve, mean_curve, pck_curve
from partwhole.evaluation.errors import Distances, distance_rows, flip_share, geodesic_errors
from partwhole.evaluation.maps import coverage, roughness
from partwhole.evaluation.protocol import Protocol
from partwhole.geodesics.distances import DistanceMethod
from partwhole.store.arguments import check_instance
from partwhole.store.storage import atomic_write

# an error above this is a vertex that went to another place altogether
FAR = 0.15


@dataclass(frozen=True, eq=False)
class PairResult:
    """How good the map of one pair is. Errors are divided by √area of the whole, and not yet multiplied by 100.

    Attributes
    ----------
    name : of the pair
    errors : geodesic error of each row of the ground truth
    coverage : share of the whole's area that is reached
    roughness : Dirichlet energy of the mapped coordinates relative to the part's own, see `roughness`
    flipped : share of vertices on the wrong side of the symmetry, see `flip_share`; nan where no symmetry is known
    seconds : that the map took; nan where it was not measured
    vertex_map : the map itself, where it is kept
    """

    name: str
    errors: Float[np.ndarray, "g"]
    coverage: float = field(default=float("nan"), kw_only=True)
    roughness: float = field(default=float("nan"), kw_only=True)
    flipped: float = field(default=float("nan"), kw_only=True)
    seconds: float = field(default=float("nan"), kw_only=True)
    vertex_map: Int[np.ndarray, "p"] | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if len(self.errors) == 0 or np.isnan(self.errors).any() or self.errors.min() < 0:
            raise ValueError(f"{self.name}: errors must be at least one number, none negative or nan")

    @property
    def mean(self) -> float:
        """Mean error."""
        return float(np.mean(self.errors))

    @property
    def median(self) -> float:
        """Median error."""
        return float(np.median(self.errors))

    def share_above(self, threshold: float = FAR) -> float:
        """Share of vertices off by more than the threshold."""
        return float(np.mean(self.errors > threshold))


def evaluate_map(
    pair: Pair,
    vertex_map: Int[np.ndarray, "p"],
    D_whole: Distances | None = None,
    *,
    method: DistanceMethod = "fast_marching",
    symmetry: Int[np.ndarray, "n"] | None = None,
    seconds: float = float("nan"),
) -> PairResult:
    """All measures of the map of one pair.

    Parameters
    ----------
    pair : with its ground truth
    vertex_map : for each vertex of the part the predicted vertex of the whole
    D_whole : distances on the whole, or a function that gives rows; computed by `method` if not given
    method : how they are computed
    symmetry : for each vertex of the whole its mirror image, if it has one
    seconds : that the map took

    Examples
    --------
    >>> from partwhole.datasets import Pair, cut_plane, sphere
    >>> cut = cut_plane(sphere(300), (0, 0, 0), (0, 0, 1))
    >>> result = evaluate_map(Pair.of_cut(cut), cut.vertex_map, method="dijkstra")
    >>> result.mean, round(result.roughness, 6)
    (0.0, 1.0)
    """
    check_instance("pair", pair, Pair, "make one with Pair.of(part, whole, ground_truth)")
    if pair.ground_truth is None:
        raise ValueError(f"{pair.name} has no ground truth; coverage and roughness can be measured without")
    if len(vertex_map) != pair.part.n_vertices:
        raise ValueError(
            f"vertex_map has {len(vertex_map)} entries, {pair.part.name} has {pair.part.n_vertices} vertices"
        )
    covered = coverage(vertex_map, pair.whole)
    distances = distance_rows(pair.whole, method=method) if D_whole is None else D_whole
    area = pair.whole.area
    flipped = float("nan")
    if symmetry is not None:
        flipped = flip_share(vertex_map, pair.ground_truth, symmetry, distances, area=area)
    return PairResult(
        pair.name,
        geodesic_errors(vertex_map, pair.ground_truth, distances, area=area),
        coverage=covered,
        roughness=roughness(vertex_map, pair.part, pair.whole),
        flipped=flipped,
        seconds=seconds,
        vertex_map=vertex_map,
    )


@dataclass(frozen=True)
class Evaluation:
    """The results of a method on a set of pairs, and the protocol they were measured by.

    Examples
    --------
    >>> one, two = PairResult("a", np.array([0.0, 0.1])), PairResult("b", np.array([0.3, 0.3, 0.3, 0.3]))
    >>> run = Evaluation([one, two], Protocol(data="two pairs"))
    >>> round(run.micro, 4), round(run.macro, 4), run.worst_pair.name, round(run.share_above(), 4)
    (0.2167, 0.175, 'b', 0.6667)
    """

    pairs: tuple[PairResult, ...]
    protocol: Protocol

    def __init__(self, pairs: Iterable[PairResult], protocol: Protocol) -> None:
        object.__setattr__(self, "pairs", tuple(pairs))
        object.__setattr__(self, "protocol", protocol)
        if not self.pairs:
            raise ValueError(f"an evaluation needs at least one pair ({protocol.data})")

    @property
    def errors(self) -> Float[np.ndarray, "g"]:
        """All errors of all pairs."""
        return np.concatenate([p.errors for p in self.pairs])

    @property
    def micro(self) -> float:
        """Mean over all vertices of all pairs; what the authors' code prints."""
        return float(np.mean(self.errors))

    @property
    def macro(self) -> float:
        """Mean of the pairs' means."""
        return float(np.mean([p.mean for p in self.pairs]))

    @property
    def median_pair(self) -> float:
        """Median of the pairs' means."""
        return float(np.median([p.mean for p in self.pairs]))

    @property
    def worst_pair(self) -> PairResult:
        """The pair of the largest mean."""
        return max(self.pairs, key=lambda p: p.mean)

    def share_above(self, threshold: float = FAR) -> float:
        """Share of all vertices of all pairs off by more than the threshold."""
        return float(np.mean(self.errors > threshold))

    def pck(self, *, limit: float = 0.25, steps: int = 100, average: Literal["micro", "macro"] = "micro") -> PckCurve:
        """The PCK curve of all vertices pooled, or the mean of the pairs' curves."""
        if average not in ("micro", "macro"):
            raise ValueError(f"average must be 'micro' or 'macro', got {average!r}")
        if average == "micro":
            return pck_curve(self.errors, limit=limit, steps=steps)
        return mean_curve([pck_curve(p.errors, limit=limit, steps=steps) for p in self.pairs])

    def mean_of(self, what: Literal["coverage", "roughness", "flipped", "seconds"]) -> float:
        """Mean over the pairs for which it is known; nan if it is for none."""
        values = np.array([getattr(p, what) for p in self.pairs])
        known = values[~np.isnan(values)]
        return float(known.mean()) if len(known) else float("nan")

    def measures(self) -> dict[str, float]:
        """Every number a table can show, by the name of its column; errors and shares × 100."""
        return {
            "micro": 100 * self.micro,
            "macro": 100 * self.macro,
            "median pair": 100 * self.median_pair,
            "worst pair": 100 * self.worst_pair.mean,
            "% above 0.15": 100 * self.share_above(),
            "PCK area": 100 * self.pck().area,
            "% flipped": 100 * self.mean_of("flipped"),
            "% covered": 100 * self.mean_of("coverage"),
            "roughness": self.mean_of("roughness"),
            "seconds": self.mean_of("seconds"),
        }

    def write_csv(self, path: str | Path) -> None:
        """A line a pair; errors × 100. The protocol stands in the last column."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        measured = ("mean_x100", "median_x100", "largest_x100", "share_above_0.15", "coverage", "roughness", "flipped")
        writer.writerow(["pair", "vertices", *measured, "seconds", "protocol"])
        for p in self.pairs:
            errors = (100 * p.mean, 100 * p.median, 100 * float(p.errors.max()), p.share_above())
            numbers = (*errors, p.coverage, p.roughness, p.flipped, p.seconds)
            shown = ["" if np.isnan(x) else f"{x:.6g}" for x in numbers]
            writer.writerow([p.name, len(p.errors), *shown, self.protocol.statement])
        with atomic_write(path) as file:
            file.write(text.getvalue().encode(errors="backslashreplace"))  # names need not be UTF-8
