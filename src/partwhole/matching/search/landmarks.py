"""Landmarks in the search: bounds of distances from them, which ones contradict the others, and rigid starts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from partwhole.matching.config import Axis
from partwhole.matching.network.surface import Surface, distance_bounds, outside
from partwhole.matching.readout.landmarks import LandmarkDistances
from partwhole.matching.search.constants import (
    LANDMARK_CONTRADICTS,
    LANDMARK_NORMALS,
    LANDMARK_PULL,
    LANDMARK_REACH,
    LANDMARK_SPREAD,
    LANDMARK_WEIGHT,
)
from partwhole.matching.search.placement import axis_rotations, distance_tolerance, rotation_for


def landmark_distances(part: Surface, whole: Surface, pairs: Sequence[tuple[int, int]]) -> LandmarkDistances:
    """What landmarks say of a part and a whole, with distances on both, and weights on the part.

    Parameters
    ----------
    part, whole : at the same scale
    pairs : vertices of part and whole
    """
    assert part.distances is not None
    assert whole.distances is not None
    i, j = torch.tensor(pairs, device=part.mass.device).T
    least, most = distance_bounds(part, i)
    on_whole = whole.distances[j].float()
    tolerance = distance_tolerance(part.distances[i].float())
    pull = LANDMARK_PULL * torch.exp(-((most / LANDMARK_REACH) ** 2))
    off = outside(on_whole[:, j], least[:, i], most[:, i])
    contradicting = off > LANDMARK_CONTRADICTS * tolerance[:, i]
    alone = _alone(contradicting)
    ambiguous = (contradicting & ~alone & ~alone[:, None]).any(dim=1)
    worst = torch.where(contradicting, off, 0).amax(dim=1)
    return LandmarkDistances(
        i, j, least, most, on_whole, tolerance, pull, ~(alone | ambiguous), worst, alone, LANDMARK_WEIGHT
    )


def _alone(contradicting: Bool[Tensor, "k k"]) -> Bool[Tensor, "k"]:
    """Landmarks to leave out, one after the other, as long as one contradicts more of the others than any other does."""
    left_out = torch.zeros(len(contradicting), dtype=torch.bool, device=contradicting.device)
    while True:
        counts = (contradicting & ~left_out & ~left_out[:, None]).sum(dim=1)
        most = counts.amax()
        if not most or int((counts == most).sum()) > 1:
            return left_out
        left_out[counts.argmax()] = True


def nearness(landmarks: LandmarkDistances, part: Surface) -> Float[Tensor, "k p"]:
    """area · exp(−(distance / reach)²): which vertices of the part show whether a map has a landmark where it belongs."""
    return part.mass * torch.exp(-((landmarks.most / LANDMARK_REACH) ** 2))


def starts(
    part: Surface, whole: Surface, landmarks: LandmarkDistances, vertical: Axis
) -> Iterator[tuple[float, Surface]]:
    """The part moved to where its landmarks lie nearest to those of the whole, and its turn about the vertical.

    It is turned about the vertical alone; then, if three landmarks or more are not on a line, freely. Normals at the
    landmarks count a little, so that one landmark says something of the direction too.
    """
    used = ~landmarks.alone
    i, j = landmarks.part[used], landmarks.whole[used]
    x, y = part.points[i].double(), whole.points[j].double()
    n, m = part.normals[i].double(), whole.normals[j].double()
    x_mean, y_mean = x.mean(dim=0), y.mean(dim=0)
    u = torch.cat([x - x_mean, LANDMARK_NORMALS * n])
    v = torch.cat([y - y_mean, LANDMARK_NORMALS * m])
    angle = _angle(u, v, vertical)
    yield angle, _moved(part, axis_rotations(x.new_tensor(angle), vertical), x_mean, y_mean)
    if len(i) >= 3 and float(torch.linalg.svdvals(x - x_mean)[1]) > LANDMARK_SPREAD:
        R = rotation_for(u.T @ v)
        yield _angle(torch.eye(3).to(R), R.T, vertical), _moved(part, R, x_mean, y_mean)


def _angle(u: Float[Tensor, "k 3"], v: Float[Tensor, "k 3"], vertical: Axis) -> float:
    """argmax Σ v · R u over the angles of rotations R about an axis."""
    axis = "xyz".index(vertical)
    across = torch.linalg.cross(u, v).sum(dim=0)[axis]
    along = (u * v).sum() - u[:, axis] @ v[:, axis]
    return math.atan2(float(across), float(along))


def _moved(part: Surface, R: Float[Tensor, "3 3"], x_mean: Float[Tensor, "3"], y_mean: Float[Tensor, "3"]) -> Surface:
    points = (part.points.double() - x_mean) @ R.T + y_mean
    return replace(part, points=points.to(part.points), normals=part.normals @ R.T.to(part.normals))
