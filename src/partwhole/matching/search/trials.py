"""Trials: the maps of one pair with the part turned, stood upright or scaled in several ways, and how well each fits.

Nothing here knows the truth: a map is judged by how it distorts guaranteed distances and by how the curvature of part and
whole agree, see `partwhole.matching.search.score`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from partwhole._ties import first_smallest
from partwhole.matching.matcher import HOPEFUL, Matcher
from partwhole.matching.network.surface import Surface, signatures
from partwhole.matching.readout.soft_map import hard_map
from partwhole.matching.search.score import SCORE_WEIGHTS, rigidly_aligned, score, similarity, turned, turned_by
from partwhole.matching.training.config import Axis
from partwhole.spectral import Eigenpairs

# two maps that differ by this much on average, in √area of the whole, are not two readings of one map
APART = 0.15
# vertices that tell which yaw_steps are worth a closer look, and by how much a score must then be worse to be given up
_SAMPLE, _HOPELESS = 700, 1.0


@dataclass(frozen=True, eq=False, repr=False)
class Candidate:
    """One way to show the part to the network, and the map that comes of it.

    Attributes
    ----------
    part, whole : surfaces as they were shown, but not yet turned
    angle, whole_angle : by which part and whole were turned about the vertical, in radians
    nearest : the map by nearest features
    score : see `score_of`; the lower the better
    laid : the part as it was seen where its map had laid it onto the whole; None: it was not aligned
    """

    part: Surface
    whole: Surface
    angle: float
    nearest: Int[Tensor, "p"]
    score: float
    whole_angle: float = 0.0
    laid: Surface | None = None

    def seen(self, vertical: Axis) -> tuple[Surface, Surface]:
        """Part and whole as the network saw them."""
        whole = turned(self.whole, self.whole_angle, vertical) if self.whole_angle else self.whole
        if self.laid is not None:
            return self.laid, whole
        return turned(self.part, self.angle, vertical) if self.angle else self.part, whole

    @property
    def turn(self) -> float:
        """Of the part against the whole, in radians, within a full circle."""
        return (self.angle - self.whole_angle) % (2 * math.pi)


def candidates_at(
    matcher: Matcher,
    part: Surface,
    whole: Surface,
    yaw_steps: int,
    *,
    of_whole: Sequence[tuple[float, Tensor]] | None = None,
    alignments: int = 0,
) -> list[Candidate]:
    """The maps with the part turned about the vertical of the network, full circle in so many steps.

    If several are tried, and the network asks for it, the whole is turned as well. Of a large part some vertices are matched
    at first, and all of them at the yaw_steps that may still be the best. The best maps are then aligned.

    Parameters
    ----------
    matcher : that matches
    part, whole : as they stand
    yaw_steps : of the part
    of_whole : `features_at` the yaw_steps of the whole, if they are known
    alignments : so often the part of the best maps is laid onto the whole by its map, and matched again
    """
    of_part = features_at(matcher, part, yaw_steps)
    of_whole = of_whole or features_at(matcher, whole, whole_yaw_steps(matcher, yaw_steps))
    tried = [(one, other) for one in of_part for other in of_whole]
    hopeful = tried
    if len(tried) > 1 and len(part) > 2 * _SAMPLE:
        sample = torch.linspace(0, len(part) - 1, _SAMPLE, device=part.mass.device).round().long()
        some = _sampled(part, sample)
        scores = [
            min(value for _, value in _tried(matcher, one[..., sample, :], other, some, whole))
            for (_, one), (_, other) in tried
        ]
        hopeful = [pair for pair, score in zip(tried, scores, strict=True) if score < min(scores) + _HOPELESS]
    trials = [
        Candidate(part, whole, angle, nearest, value, whole_angle)
        for (angle, one), (whole_angle, other) in hopeful
        for nearest, value in _tried(matcher, one, other, part, whole)
    ]
    known = dict(of_whole)
    again = [
        trial
        for begun in (sorted(trials, key=lambda trial: trial.score)[:HOPEFUL] if alignments else ())
        for trial in _aligned(matcher, begun, known[begun.whole_angle], alignments)
    ]
    return [*trials, *again]


def _aligned(matcher: Matcher, trial: Candidate, of_whole: Float[Tensor, "*m n f"], steps: int) -> Iterator[Candidate]:
    """The trial with its part laid onto the whole by its map, again and again; the best of each step."""
    for _ in range(steps):
        part, whole = trial.seen(matcher.config.vertical)
        seen = rigidly_aligned(part, whole, trial.nearest)
        found = _tried(matcher, matcher.features(seen), of_whole, seen, whole)
        nearest, value = min(found, key=lambda one: one[1])
        trial = replace(trial, nearest=nearest, score=value, laid=seen)
        yield trial


def whole_yaw_steps(matcher: Matcher, yaw_steps: int) -> int:
    """At how many yaw_steps the whole is tried, if the part is tried at so many."""
    return matcher.config.whole_yaw_steps if yaw_steps > 1 else 1


def features_at(matcher: Matcher, surface: Surface, yaw_steps: int) -> list[tuple[float, Tensor]]:
    """Angles, full circle, and the features of the surface turned by each."""
    angles = [2 * math.pi * number / yaw_steps for number in range(yaw_steps)]
    vertical = matcher.config.vertical
    return [(angle, matcher.features(turned(surface, angle, vertical) if angle else surface)) for angle in angles]


def _sampled(part: Surface, sample: Int[Tensor, "s"]) -> Surface:
    """Some vertices of a part, as far as scores need them."""
    assert part.distances is not None
    assert part.weights is not None
    assert part.curvature is not None
    return Surface(
        points=part.points[sample],
        normals=part.normals[sample],
        signatures=part.signatures[sample],
        mass=part.mass[sample],
        values=part.values,
        functions=part.functions[sample],
        basis=part.basis[sample],
        distances=part.distances[sample][:, sample],
        weights=part.weights[sample][:, sample],
        curvature=part.curvature[sample],
    )


def _tried(
    matcher: Matcher,
    of_part: Float[Tensor, "*m q f"],
    of_whole: Float[Tensor, "*m n f"],
    part: Surface,
    whole: Surface,
) -> list[tuple[Int[Tensor, "q"], float]]:
    """Maps by nearest features with their scores: one, or for an ensemble that chooses one of each network."""
    found = []
    for one, other in matcher.compared(of_part, of_whole):
        nearest = hard_map(one, other)
        sure = similarity(nearest, one, other, part) if matcher.config.score_weights[2] else 0.0
        found.append((nearest, score_of(nearest, part, whole, weights=matcher.config.score_weights, similar=sure)))
    return found


def score_of(
    vertex_map: Int[Tensor, "p"],
    part: Surface,
    whole: Surface,
    *,
    weights: tuple[float, float, float] = SCORE_WEIGHTS,
    similar: float | Tensor = 0.0,
) -> float:
    """`yaw_steps.score` with distances relative to those of the part, so that scales can be compared."""
    found = score(vertex_map, part, whole, weights=weights, similar=similar)
    if not weights[0]:
        return float(found)
    assert part.distances is not None
    assert part.weights is not None
    size = (part.weights * part.distances.square()).sum() / part.weights.sum().clamp(min=1e-30)
    return float(found - weights[0] * size.clamp(min=1e-30).log())


def best(trials: Iterable[Candidate]) -> Candidate:
    """The one that fits best; the first of those equal up to rounding."""
    tried = list(trials)
    return tried[first_smallest([trial.score for trial in tried])]


def difference(trial: Candidate, other: Candidate) -> float:
    """Mean distance on the whole between the places that two maps give, by the areas of the part's vertices."""
    assert trial.whole.distances is not None
    apart = trial.whole.distances[trial.nearest, other.nearest]
    return float((trial.part.mass * apart).sum() / trial.part.mass.sum())


def rival(chosen: Candidate, trials: Sequence[Candidate]) -> tuple[Candidate, float] | None:
    """The best trial whose map is another one, and by how much worse its score is; None if all maps are alike."""
    others = [trial for trial in trials if trial is not chosen and difference(chosen, trial) > APART]
    if not others:
        return None
    second = best(others)
    return second, second.score - chosen.score


# --- other positions and sizes of a surface, as far as network and losses see it


def rotated(surface: Surface, R: Float[np.ndarray, "3 3"]) -> Surface:
    """The surface in another position."""
    if np.array_equal(R, np.eye(3)):
        return surface
    return turned_by(surface, torch.as_tensor(R, dtype=surface.points.dtype, device=surface.points.device))


def resized(surface: Surface, factor: float) -> Surface:
    """The surface with all lengths times a factor: λ / s², φ / s, ∇φ / s², areas · s²; nothing is computed anew."""
    if factor == 1:
        return surface
    s = float(factor)
    basis = surface.basis / s
    basis[:, 1:] /= s
    values, functions, mass = surface.values / s**2, surface.functions / s, surface.mass * s**2
    known = Eigenpairs(*(tensor.cpu().double().numpy() for tensor in (values, functions, mass)))
    return replace(
        surface,
        points=surface.points * s,
        signatures=torch.from_numpy(signatures(known)).to(surface.signatures),
        mass=mass,
        values=values,
        functions=functions,
        basis=basis,
        distances=None if surface.distances is None else surface.distances * s,
        weights=None if surface.weights is None else surface.weights * s**4,
        curvature=None if surface.curvature is None else surface.curvature / s,
    )


def best_stretch(vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface) -> float:
    """argmin_s Σ W (D_whole(map i, map j) − s D_part)²: how much longer distances are on the whole than on the part."""
    assert part.distances is not None
    assert part.weights is not None
    assert whole.distances is not None
    above = below = 0.0
    # in blocks of rows: the distances between all images are a matrix as large as the part's
    for start, end in pairwise([*range(0, len(part), 512), len(part)]):
        W, D = part.weights[start:end], part.distances[start:end]
        found = whole.distances[vertex_map[start:end]][:, vertex_map]
        above += float((W * D * found).sum())
        below += float((W * D.square()).sum())
    return above / below if below > 0 else math.nan
