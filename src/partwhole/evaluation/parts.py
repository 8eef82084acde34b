"""How well the overlap of two parts is found, and the partners in it: mIoU, geodesic errors, and who shares nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.datasets.pairs import GroundTruth
from partwhole.datasets.part_pairs import PartPair
from partwhole.geodesics import geodesic_distances
from partwhole.mesh import Mesh

# pairs that share less than this of both parts are not counted as overlapping, and those that share less than that, not as
# sharing anything; pairs between the two are in neither
OVERLAPPING, NOTHING = 0.1, 0.005
# vertices of a part whose errors are measured: distances on a whole of ten thousand vertices take their time
_SAMPLED = 300


@dataclass(frozen=True)
class PartsErrors:
    """How well one pair was matched.

    Attributes
    ----------
    name : of the pair
    shares : of the vertices of a and of b that are truly shared
    iou : |found ∩ true| / |found ∪ true| of the shared vertices, mean of both parts; nan if nothing is shared nor found
    on_whole, on_part : geodesic errors of truly shared vertices, both ways: on the true whole; and on the part that is mapped
        to, as EchoMatch counts, where ways around what is missing are counted. In √area of the whole, or of the part that is
        mapped to where no whole is known
    belongs : the probability that the pair shares anything, as it was found
    """

    name: str
    shares: tuple[float, float]
    iou: float
    on_whole: Float[np.ndarray, "k"]
    on_part: Float[np.ndarray, "k"]
    belongs: float

    @property
    def overlapping(self) -> bool:
        """Whether the larger of the shares is at least 10 %."""
        return max(self.shares) >= OVERLAPPING

    @property
    def apart(self) -> bool:
        """Whether nothing is shared, or next to nothing."""
        return max(self.shares) < NOTHING


@dataclass(frozen=True)
class PartsScores:
    """A table row: overlapping pairs, and how well those that share nothing are told apart from them.

    Attributes
    ----------
    overlapping, apart : numbers of pairs; those in between are not counted
    miou : mean of the pairs' IoU, in per cent
    on_whole, on_part : errors × 100: (mean over pairs of the mean, mean over all vertices)
    auc : of the probability that a pair shares anything; nan if all do
    """

    overlapping: int
    apart: int
    miou: float
    on_whole: tuple[float, float]
    on_part: tuple[float, float]
    auc: float


def overlap_iou(
    found: Bool[np.ndarray, "n"], true: Bool[np.ndarray, "n"], known: Bool[np.ndarray, "n"] | None = None
) -> float:
    """|found ∩ true| / |found ∪ true|, of vertices of which the truth is known; nan if both are empty.

    Examples
    --------
    >>> overlap_iou(np.array([True, True, False]), np.array([False, True, True])) == 1 / 3
    True
    """
    counted = np.ones(len(true), bool) if known is None else known
    union = ((found | true) & counted).sum()
    return float((found & true & counted).sum() / union) if union else float("nan")


def parts_errors(
    pair: PartPair,
    maps: tuple[Int[np.ndarray, "n"], Int[np.ndarray, "m"]],
    shared: tuple[Bool[np.ndarray, "n"], Bool[np.ndarray, "m"]],
    belongs: float,
    *,
    seed: int = 0,
) -> PartsErrors:
    """The errors of a pair; geodesic errors of at most 300 truly shared vertices of each part, drawn by the seed.

    Parameters
    ----------
    pair : with the truth
    maps : vertex maps, from a to b and back
    shared : which vertices were found to be shared
    belongs : see `PartsErrors`
    """
    rng = np.random.default_rng(seed)
    ious, on_whole, on_part = [], [], []
    for k, truth in enumerate((pair.a_to_b, pair.b_to_a)):
        ious.append(overlap_iou(shared[k], truth.shared, truth.known))
        rows = np.flatnonzero(truth.shared)
        rows = np.sort(rng.choice(rows, min(_SAMPLED, len(rows)), replace=False))
        if len(rows) == 0:
            continue
        other = (pair.b, pair.a)[k]
        scale = other.area**-0.5
        if pair.whole is not None and pair.on_whole is not None:
            scale = pair.whole.area**-0.5
            here, there = (_vertices_on(pair.whole, pair.on_whole[side], (pair.a, pair.b)[side]) for side in (k, 1 - k))
            on_whole.append(scale * _between(pair.whole, here[rows], there[maps[k][rows]]))
        on_part.append(scale * _between(other, truth.vertex_map[rows], maps[k][rows]))
    none = np.zeros(0)
    return PartsErrors(
        pair.name,
        (pair.a_to_b.share, pair.b_to_a.share),
        float(np.nanmean(ious)) if not np.isnan(ious).all() else float("nan"),
        np.concatenate(on_whole) if on_whole else none,
        np.concatenate(on_part) if on_part else none,
        belongs,
    )


def parts_scores(errors: Sequence[PartsErrors]) -> PartsScores:
    """What the errors of pairs come to.

    Examples
    --------
    >>> one = PartsErrors("near", (0.5, 0.4), 0.8, np.array([0.02, 0.04]), np.array([0.02, 0.06]), 0.9)
    >>> other = PartsErrors("apart", (0.0, 0.0), 0.0, np.zeros(0), np.zeros(0), 0.2)
    >>> scores = parts_scores([one, other])
    >>> scores.miou, scores.auc, scores.on_whole
    (80.0, 1.0, (3.0, 3.0))
    """
    overlapping, apart = [one for one in errors if one.overlapping], [one for one in errors if one.apart]
    return PartsScores(
        len(overlapping),
        len(apart),
        100 * float(np.mean([one.iou for one in overlapping])) if overlapping else float("nan"),
        _means([one.on_whole for one in overlapping]),
        _means([one.on_part for one in overlapping]),
        _auc([one.belongs for one in overlapping], [one.belongs for one in apart]),
    )


def _means(errors: list[np.ndarray]) -> tuple[float, float]:
    """Macro and micro, × 100; infinite errors, of places with no way between them, stay infinite."""
    some = [one for one in errors if len(one)]
    if not some:
        return float("nan"), float("nan")
    return 100 * float(np.mean([one.mean() for one in some])), 100 * float(np.concatenate(some).mean())


def _auc(of_pairs: list[float], of_others: list[float]) -> float:
    """The chance that a pair that overlaps has a larger value than one that does not; ties count half."""
    if not of_pairs or not of_others:
        return float("nan")
    one, other = np.array(of_pairs)[:, None], np.array(of_others)
    return float(((one > other) + 0.5 * (one == other)).mean())


def _between(mesh: Mesh, starts: Int[np.ndarray, "k"], ends: Int[np.ndarray, "k"]) -> Float[np.ndarray, "k"]:
    """Geodesic distances from each start to its end."""
    sources, row = np.unique(starts, return_inverse=True)
    D = np.asarray(geodesic_distances(mesh, sources, method="fast_marching", dtype=np.float32))
    return D[row, ends].astype(np.float64)


def _vertices_on(whole: Mesh, truth: GroundTruth, part: Mesh) -> Int[np.ndarray, "n"]:
    """The corner of the whole nearest to each vertex of a part; of a vertex whose place is not known, that of the nearest."""
    from scipy.spatial import cKDTree

    at = truth.rounded(whole.vertices)
    known = np.unique(at.part_vertices, return_index=True)
    nearest = cKDTree(part.vertices[known[0]]).query(part.vertices)[1]
    return at.whole_vertices[known[1][nearest]]
