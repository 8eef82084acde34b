"""Confidence: how sure the place of each vertex is, from what can be known without the truth.

Three things betray a wrong place. *Distortion*: distances to the vertices around, where they are guaranteed, are others on
the whole than on the part. *Bending*: part and whole curve differently, there or everywhere. *Rivals*: the same network,
shown the part turned, gives another place, and that map fits nearly as well. Each alone misses something; a body that is
taken the wrong way round has hardly any distortion, for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from partwhole.matching.headings import curvature_agreement
from partwhole.matching.surfaces import Surface
from partwhole.matching.trials import Trial

# what is near, in √area of the whole
_NEAR = 0.1
# a rival counts half as much if its score is worse by 0.3 ln 2
_SHARPNESS = 0.3
_ROWS = 512

# the place is counted as right if it is nearer to the truth than this, in √area of the whole
RIGHT = 0.05


@dataclass(frozen=True)
class Weighing:
    """e = Σ weight · sign is the error to be expected, in √area of the whole; confidence = 1 / (1 + (e / even)^slope).

    A sum, so that each sign alone is enough for doubt. The weights are fitted to errors, slope and even so that confidence is
    the share of vertices whose place is right.
    """

    distortion: float
    bending: float
    rivals: float
    misfit: float
    even: float
    slope: float


# from benchmarks/confidence.py, on training pairs of PFAUST and posed people, which nothing is tested on; rivals weigh more
# than these alone ask for, because few of them come out turned
FITTED = Weighing(distortion=1.0, bending=0.04, rivals=0.2, misfit=0.08, even=0.094, slope=1.9)


@dataclass(frozen=True, eq=False)
class Signs:
    """What betrays a wrong place, for each vertex of the part; 0 where nothing does.

    Attributes
    ----------
    distortion : mean |D_whole − D_part| to the vertices around, over guaranteed pairs, in √area of the whole
    bending : mean |H_whole − H_part| around, H the mean curvature, in its deviation over the whole
    rivals : mean distance to where other trials put the vertex, these weighed by how well they fit
    misfit : 1 − correlation of the curvature of part and whole through the map: the same for all vertices
    """

    distortion: Float[np.ndarray, "p"]
    bending: Float[np.ndarray, "p"]
    rivals: Float[np.ndarray, "p"]
    misfit: float


def signs_of(vertex_map: Int[Tensor, "p"], chosen: Trial, trials: Sequence[Trial]) -> Signs:
    """The signs of a map, which was read from the chosen one of several trials.

    Parameters
    ----------
    vertex_map : as it is given out, refined and smoothed
    chosen : the trial it comes from
    trials : all of them; what they have in common is sure
    """
    part, whole = chosen.part, chosen.whole
    distortion, bending = _around(vertex_map, part, whole)
    assert whole.distances is not None
    scores = torch.tensor([trial.score for trial in trials])
    shares = torch.softmax((scores.min() - scores) / _SHARPNESS, dim=0)
    rivals = sum(
        share * whole.distances[trial.nearest, vertex_map].float() for share, trial in zip(shares, trials, strict=True)
    )
    assert isinstance(rivals, Tensor)
    off, bent, elsewhere = (values.cpu().double().numpy() for values in (distortion, bending, rivals))
    return Signs(off, bent, elsewhere, 1 - float(curvature_agreement(vertex_map, part, whole)))


def confidence_of(signs: Signs, weighing: Weighing = FITTED) -> Float[np.ndarray, "p"]:
    """The probability that a place is right, nearer to the truth than `RIGHT`, as far as the signs tell.

    Examples
    --------
    >>> signs = Signs(np.array([0.0, 0.2]), np.array([0.1, 1.0]), np.array([0.0, 0.4]), misfit=0.2)
    >>> sure, doubtful = confidence_of(signs)
    >>> bool(sure > 0.5 > doubtful)
    True
    """
    ratio = expected_error(signs, weighing) / weighing.even
    return 1 / (1 + ratio**weighing.slope)


def expected_error(signs: Signs, weighing: Weighing = FITTED) -> Float[np.ndarray, "p"]:
    """The error to be expected, in √area of the whole."""
    return stacked(signs) @ np.array([weighing.distortion, weighing.bending, weighing.rivals, weighing.misfit])


def stacked(signs: Signs) -> Float[np.ndarray, "p 4"]:
    """The signs in the order of the weights."""
    alike = np.full_like(signs.distortion, max(signs.misfit, 0.0))
    return np.stack([signs.distortion, signs.bending, signs.rivals, alike], axis=1)


def _around(
    vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface
) -> tuple[Float[Tensor, "p"], Float[Tensor, "p"]]:
    """Distortion and difference of curvature, each a mean over what is near."""
    assert part.distances is not None
    assert part.weights is not None
    assert whole.distances is not None
    assert part.curvature is not None
    assert whole.curvature is not None
    share = whole.mass / whole.mass.sum()
    deviation = (share @ (whole.curvature - share @ whole.curvature).square()).sqrt().clamp(min=1e-12)
    differs = (part.curvature - whole.curvature[vertex_map]).abs() / deviation
    distortion, bending = [], []
    for start in range(0, len(part), _ROWS):
        rows = slice(start, start + _ROWS)
        D = part.distances[rows]
        # pairs in different pieces have weight 0, and no distance
        near = torch.exp(-((D / _NEAR) ** 2)) * (part.weights[rows] > 0)
        trusted = part.weights[rows] * near
        off = (whole.distances[vertex_map[rows]][:, vertex_map].float() - D).abs()
        distortion.append((trusted * off).sum(dim=1) / trusted.sum(dim=1).clamp(min=1e-30))
        areas = near * part.mass
        bending.append((areas * differs).sum(dim=1) / areas.sum(dim=1).clamp(min=1e-30))
    return torch.cat(distortion), torch.cat(bending)
