"""The search: a pair is matched at several orientations, and scales if unknown, and the best map is kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from partwhole.matching.config import Axis
from partwhole.matching.network.surface import Surface, SurfacePair
from partwhole.matching.readout.landmarks import LandmarkDistances
from partwhole.matching.readout.maps import Comparison, best_stretch, curvature_agreement, feature_similarity, score
from partwhole.matching.scans.prepare import Templates
from partwhole.matching.search.constants import (
    ALIGNED_CANDIDATES,
    ALIGNMENTS_ANY_WAY_UP,
    BETTER,
    CLEARLY_BETTER,
    DIFFERENT_MAPS,
    FEW_YAWS,
    HOPELESS,
    LANDMARK_SCORE,
    LARGEST_CORRECTION,
    LEAST_ALIGNMENTS,
    LOW_AGREEMENT,
    LOW_SCORE_SHARE,
    OTHER_SCALE,
    SAMPLED_VERTICES,
    STRETCHED,
    UNLIKE,
)
from partwhole.matching.search.landmarks import landmark_distances, nearness, starts
from partwhole.matching.search.method import Method, PairMethod
from partwhole.matching.search.placement import (
    all_axes,
    candidate_axes,
    placed_map,
    resized,
    rigidly_aligned,
    rotated,
    rotation_to_vertical,
    turned,
    yaws,
)
from partwhole.store.cache import Cache
from partwhole.store.compute import first_smallest
from partwhole.store.storage import hash_of

# wholes whose encodings are kept in files
SLOTS = 16


class ScoredMap(NamedTuple):
    """A map by nearest features, and its score."""

    nearest: Int[Tensor, "q"]
    score: float


@dataclass(frozen=True, eq=False, repr=False)
class Candidate:
    """One orientation of part and whole, and the map that comes of it.

    Attributes
    ----------
    part, whole : surfaces, not yet turned about the vertical
    angle, whole_angle : by which part and whole were turned about the vertical, in radians
    nearest : the map by nearest features
    score : see `partwhole.matching.readout.maps.score`; the lower the better
    aligned : the part as the network saw it after rigid alignment to the whole; None: it was not aligned
    by_features : the map and the score without landmarks; None: there are no landmarks
    compared : the features that were compared; None: not kept
    """

    part: Surface
    whole: Surface
    angle: float
    nearest: Int[Tensor, "p"]
    score: float
    whole_angle: float = 0.0
    aligned: Surface | None = None
    by_features: ScoredMap | None = None
    compared: Comparison | None = None

    def seen(self, vertical: Axis) -> tuple[Surface, Surface]:
        """Part and whole as the network saw them."""
        whole = turned(self.whole, self.whole_angle, vertical)
        return turned(self.part, self.angle, vertical) if self.aligned is None else self.aligned, whole

    @property
    def yaw(self) -> float:
        """Of the part against the whole, in radians, within a full circle."""
        return (self.angle - self.whole_angle) % (2 * math.pi)


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult:
    """The orientation and scale with the best map.

    Attributes
    ----------
    pair : the surfaces, standing upright and at this scale
    factor : by which the part was scaled
    up : the axis assumed to be vertical, of the part and of the whole
    candidates : the maps at all yaws
    chosen : the best of them
    landmarks : what landmarks say at this scale; None: there are none
    """

    pair: SurfacePair
    factor: float
    up: tuple[str, str]
    candidates: tuple[Candidate, ...]
    chosen: Candidate
    landmarks: LandmarkDistances | None = None

    @property
    def without_landmarks(self) -> Int[Tensor, "p"] | None:
        """The map of the best candidate, had there been no landmarks; None if there are none."""
        maps = [one.by_features for one in self.candidates if one.by_features is not None]
        return maps[first_smallest([one.score for one in maps])].nearest if maps else None

    @cached_property
    def stretch(self) -> float:
        """How much longer distances are on the whole than on the part."""
        return best_stretch(self.chosen.nearest, self.pair.part, self.pair.whole)


def search(
    method: Method,
    pair: SurfacePair,
    *,
    factors: Sequence[float] = (1.0,),
    others: Sequence[float] = (),
    up: str | None = None,
    yaw_steps: int | None = None,
    encodings: WholeEncodings | None = None,
    landmarks: Sequence[tuple[int, int]] = (),
) -> SearchResult:
    """The orientation and scale whose map has the best score.

    Parameters
    ----------
    method : that matches
    pair : the surfaces as they lie in their files
    factors : by which the part may have to be scaled
    others : the same, to be tried if distances agree neither with `factors` nor with the scale they ask for
    up : see `candidate_axes`; with None all axes are tried if the map fits badly
    yaw_steps : angles about the vertical at which the part is tried; None: as the method says
    encodings : gives those of the whole if they are known
    landmarks : vertices of part and whole that are the same place
    """
    return _Search(method, pair, factors, others, up, yaw_steps, encodings, landmarks).result()


class _Search:
    def __init__(
        self,
        method: Method,
        pair: SurfacePair,
        factors: Sequence[float],
        others: Sequence[float],
        up: str | None,
        yaw_steps: int | None,
        encodings: WholeEncodings | None,
        landmarks: Sequence[tuple[int, int]],
    ) -> None:
        self.method, self.pair, self.factors, self.others, self.landmarks = method, pair, factors, others, landmarks
        self.config = method.config.search
        self.axes = candidate_axes(up, self.config.vertical, upright=self.config.upright)
        self.assumed = up is None and self.config.upright
        self.yaw_steps = self.config.yaw_steps if yaw_steps is None else yaw_steps
        self.encodings = encodings
        self.any_way_up = max(self.config.alignments, ALIGNMENTS_ANY_WAY_UP)
        if not method.sees_orientation:
            self.axes, self.assumed, self.yaw_steps, self.alignments = ((self.config.vertical,),) * 2, False, 1, 0
            if isinstance(method, PairMethod):
                self.others = ()
            return
        unknown = len(self.axes[0]) * len(self.axes[1]) > 1
        self.alignments = self.any_way_up if unknown else max(self.config.alignments, LEAST_ALIGNMENTS)

    def result(self) -> SearchResult:
        """The best orientation and scale."""
        of_part, of_whole = self.axes
        axes = self.best_axes(*self.axes) if len(of_part) * len(of_whole) > 1 else (of_part[0], of_whole[0])
        if len(self.factors) > 1:
            return self.corrected(self.best_scale(self.factors, axes))
        first = self.at_its_scale(axes, self.alignments)
        if self.assumed and fits_badly(first, self.method):
            first = _better(first, self.at_its_scale(self.best_axes(*all_axes()), self.any_way_up))
        if not self.others or (_agree(first.stretch, STRETCHED) and not self.unlike(first)):
            return first
        found = self.best_scale(self.others, first.up)
        return first if found.chosen.score > first.chosen.score - CLEARLY_BETTER else self.corrected(found)

    def at(self, factor: float, up: tuple[str, str], yaw_steps: int, alignments: int = 0) -> SearchResult:
        """The best map at one scale, with given axes pointing up."""
        vertical = self.config.vertical
        part = rotated(resized(self.pair.part, factor), rotation_to_vertical(up[0], vertical))
        whole = rotated(self.pair.whole, rotation_to_vertical(up[1], vertical))
        moved = self.pair.moved(part, whole, factor)
        landmarks = landmark_distances(part, whole, self.landmarks) if self.landmarks else None
        if isinstance(self.method, PairMethod):
            chosen = _in_place(self.method, self.method.compare_pair(moved), part, whole, landmarks)
            return SearchResult(moved, factor, up, (chosen,), chosen, landmarks)
        whole_steps = self.config.whole_yaw_steps if yaw_steps > 1 else 1
        known = self.encodings(whole, up[1], whole_steps) if self.encodings else None
        candidates = candidates_at(
            self.method,
            part,
            whole,
            yaw_steps,
            whole_yaw_steps=whole_steps,
            encodings=known,
            alignments=alignments,
            landmarks=landmarks,
        )
        return SearchResult(moved, factor, up, tuple(candidates), best(candidates), landmarks)

    def best_axes(self, of_part: Sequence[str], of_whole: Sequence[str]) -> tuple[str, str]:
        """The axes that point up: that of the whole is found first, then that of the part, more thoroughly."""
        middle = self.factors[len(self.factors) // 2]
        if len(of_whole) > 1:
            tried = [self.at(middle, (one, other), FEW_YAWS) for one in of_part for other in of_whole]
            of_whole = [_best(tried).up[1]]
        return _best([self.at(middle, (one, of_whole[0]), FEW_YAWS, self.any_way_up) for one in of_part]).up

    def at_its_scale(self, axes: tuple[str, str], alignments: int) -> SearchResult:
        """At the assumed scale, or at the one that distances suggest, if that is allowed and scores better."""
        found = self.at(self.factors[0], axes, self.yaw_steps, alignments)
        if not self.others or _agree(stretch := found.stretch, OTHER_SCALE) or not 0 < stretch < math.inf:
            return found
        return _better(found, self.at(self.factors[0] * stretch, axes, self.yaw_steps, alignments))

    def unlike(self, found: SearchResult) -> bool:
        """Whether features that see no orientation find nothing similar, as they do at a wrong scale: a wrong map may have a
        stretch of about 1."""
        compared, part = found.chosen.compared, found.pair.part
        if self.method.sees_orientation or compared is None:
            return False
        return float(feature_similarity(found.chosen.nearest, compared.part, compared.whole, part)) < UNLIKE

    def best_scale(self, factors: Sequence[float], axes: tuple[str, str]) -> SearchResult:
        return _best([self.at(factor, axes, min(FEW_YAWS, self.yaw_steps)) for factor in factors])

    def corrected(self, guessed: SearchResult) -> SearchResult:
        """At a guessed scale, or at the one that the distances of its map suggest, if that scores better."""
        stretch = guessed.stretch
        correction = min(max(stretch, 1 / LARGEST_CORRECTION), LARGEST_CORRECTION) if math.isfinite(stretch) else 1.0
        scales = (guessed.factor, guessed.factor * correction)
        return _best([self.at(factor, guessed.up, self.yaw_steps, self.alignments) for factor in scales])


def _better(first: SearchResult, other: SearchResult) -> SearchResult:
    """The first unless the other one scores better."""
    return other if other.chosen.score < first.chosen.score - BETTER else first


def fits_badly(found: SearchResult, method: Method) -> bool:
    """Whether curvature, and features where the score takes both, agree less than they do for parts that stand upright."""
    part, whole, nearest = found.pair.part, found.pair.whole, found.chosen.nearest
    if float(curvature_agreement(nearest, part, whole)) < LOW_AGREEMENT:
        return True
    distortion, curvature, similarity = method.config.search.score_weights
    return not distortion and curvature > 0 and found.chosen.score > -LOW_SCORE_SHARE * (curvature + similarity)


def _agree(stretch: float, limit: float) -> bool:
    return 1 / limit < stretch < limit


def _best(results: Sequence[SearchResult]) -> SearchResult:
    return results[first_smallest([found.chosen.score for found in results])]


# --- the maps at several yaws


def candidates_at(
    method: Method,
    part: Surface,
    whole: Surface,
    yaw_steps: int,
    *,
    whole_yaw_steps: int = 1,
    encodings: Sequence[tuple[float, Tensor]] | None = None,
    alignments: int = 0,
    landmarks: LandmarkDistances | None = None,
) -> list[Candidate]:
    """The maps with the part, and the whole, rotated about the vertical, a full circle in equal steps.

    Of a large part some vertices are matched at first, and all of them at the yaws that may still be the best. The best maps
    are then refined by rigid alignment.

    Parameters
    ----------
    method : that matches
    part, whole : standing upright
    yaw_steps, whole_yaw_steps : angles of the part, and of the whole
    encodings : angles and encodings of the whole, if they are known
    alignments : so often the part of the best maps is aligned to the whole by its map, and matched again
    landmarks : steer the maps, count in their scores, and give directions in which the part is tried as well
    """
    if not method.sees_orientation:
        of_one = method.encode(whole) if encodings is None else encodings[0][1]
        return [_in_place(method, one, part, whole, landmarks) for one in method.compare(method.encode(part), of_one)]
    vertical = method.config.search.vertical
    of_part = [(angle, method.encode(seen)) for angle, seen in yaws(part, yaw_steps, vertical)]
    of_whole = encodings or [(angle, method.encode(seen)) for angle, seen in yaws(whole, whole_yaw_steps, vertical)]
    tried = [(one, other) for one in of_part for other in of_whole]
    hopeful = tried
    if len(tried) > 1 and len(part) > 2 * SAMPLED_VERTICES:
        sample = torch.linspace(0, len(part) - 1, SAMPLED_VERTICES, device=part.mass.device).round().long()
        some = _sampled(part, sample)
        of_some = None if landmarks is None else landmarks.sampled(sample)
        scores = [
            min(one.score for one in _maps(method, of[..., sample, :], other, some, whole, of_some))
            for (_, of), (_, other) in tried
        ]
        hopeful = [pair for pair, value in zip(tried, scores, strict=True) if value < min(scores) + HOPELESS]
    found = [
        Candidate(part, whole, angle, one.nearest, one.score, whole_angle, None, one.by_features, one.compared)
        for (angle, of), (whole_angle, other) in hopeful
        for one in _maps(method, of, other, part, whole, landmarks)
    ]
    if landmarks is not None:
        found += _started(method, part, whole, of_whole[0], landmarks)
    known = dict(of_whole)
    again = [
        candidate
        for begun in (sorted(found, key=lambda one: one.score)[:ALIGNED_CANDIDATES] if alignments else ())
        for candidate in _aligned(method, begun, known[begun.whole_angle], alignments, landmarks)
    ]
    return [*found, *again]


def _started(
    method: Method, part: Surface, whole: Surface, of_whole: tuple[float, Tensor], landmarks: LandmarkDistances
) -> list[Candidate]:
    """The maps with the part turned as its landmarks say."""
    whole_angle, known = of_whole
    vertical = method.config.search.vertical
    found = []
    for angle, seen in starts(part, turned(whole, whole_angle, vertical), landmarks, vertical):
        found += [
            Candidate(part, whole, angle, one.nearest, one.score, whole_angle, seen, one.by_features, one.compared)
            for one in _maps(method, method.encode(seen), known, seen, whole, landmarks)
        ]
    return found


def _in_place(
    method: Method, compared: Comparison, part: Surface, whole: Surface, landmarks: LandmarkDistances | None
) -> Candidate:
    """The map in which features and place decide, and the one without landmarks beside it."""
    if landmarks is None:
        return _placed(method, compared, part, whole)
    by_features = _placed(method, compared, part, whole)
    missed = LANDMARK_SCORE * landmarks.error(by_features.nearest, nearness(landmarks, part))
    steered = _placed(method, compared, part, whole, landmarks)
    alone = ScoredMap(by_features.nearest, by_features.score)
    return replace(steered, score=steered.score + missed, by_features=alone)


def _placed(
    method: Method, compared: Comparison, part: Surface, whole: Surface, landmarks: LandmarkDistances | None = None
) -> Candidate:
    """The map by features, place, and landmarks where there are some, or that of a method's own, with its score."""
    own, suits = compared.vertex_map, None if landmarks is None else landmarks.suits
    nearest = placed_map(compared, part, whole, suits) if own is None else own
    weights = method.config.search.score_weights
    alike = feature_similarity(nearest, compared.part, compared.whole, part)
    value = score(nearest, part, whole, weights=weights, similarity=alike)
    return Candidate(part, whole, 0.0, nearest, value, compared=compared)


def _aligned(
    method: Method,
    candidate: Candidate,
    of_whole: Float[Tensor, "*m n f"],
    steps: int,
    landmarks: LandmarkDistances | None,
) -> Iterator[Candidate]:
    """The candidate with its part aligned rigidly to the whole by its map, again and again; the best of each step."""
    for _ in range(steps):
        part, whole = candidate.seen(method.config.search.vertical)
        seen = rigidly_aligned(part, whole, candidate.nearest)
        found = _maps(method, method.encode(seen), of_whole, seen, whole, landmarks)
        one = min(found, key=lambda one: one.score)
        candidate = replace(candidate, **one._asdict(), aligned=seen)
        yield candidate


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


class _SteeredMap(NamedTuple):
    """A map with its score, and the same by features alone if landmarks steered it."""

    nearest: Int[Tensor, "q"]
    score: float
    by_features: ScoredMap | None
    compared: Comparison


def _maps(
    method: Method,
    of_part: Float[Tensor, "*m q f"],
    of_whole: Float[Tensor, "*m n f"],
    part: Surface,
    whole: Surface,
    landmarks: LandmarkDistances | None,
) -> list[_SteeredMap]:
    """Maps by nearest features with their scores: one, or several if the method gives several.

    With landmarks a map is scored by how it fits, and by how much features alone miss the landmarks.
    """
    found = []
    weights = method.config.search.score_weights

    def scored(one: Comparison, nearest: Int[Tensor, "q"]) -> ScoredMap:
        alike = feature_similarity(nearest, one.part, one.whole, part) if weights[2] else 0.0
        return ScoredMap(nearest, score(nearest, part, whole, weights=weights, similarity=alike))

    for one in method.compare(of_part, of_whole):
        plain = scored(one, one.nearest())
        if landmarks is None:
            found.append(_SteeredMap(*plain, None, one))
            continue
        missed = LANDMARK_SCORE * landmarks.error(plain.nearest, nearness(landmarks, part))
        steered = scored(one, one.nearest(landmarks.suits))
        found.append(_SteeredMap(steered.nearest, steered.score + missed, plain, one))
    return found


def best(candidates: Iterable[Candidate]) -> Candidate:
    """The one with the best score; the first of those equal up to rounding."""
    tried = list(candidates)
    return tried[first_smallest([candidate.score for candidate in tried])]


def rival(chosen: Candidate, candidates: Sequence[Candidate]) -> tuple[Candidate, float] | None:
    """The best candidate whose map is a different one, and by how much worse its score is; None if all maps are alike."""
    others = [one for one in candidates if one is not chosen and difference(chosen, one) > DIFFERENT_MAPS]
    if not others:
        return None
    second = best(others)
    return second, second.score - chosen.score


def difference(candidate: Candidate, other: Candidate) -> float:
    """Mean distance on the whole between the images of two maps, weighted by the areas of the part's vertices."""
    assert candidate.whole.distances is not None
    apart = candidate.whole.distances[candidate.nearest, other.nearest]
    return float((candidate.part.mass * apart).sum() / candidate.part.mass.sum())


# --- what is known of a whole from parts before


class WholeEncodings:
    """Angles and encodings of a whole, from memory, from the cache, or computed.

    Parameters
    ----------
    method : whose encodings they are
    whole : names the surface by its content
    templates : what is in memory
    cache : what is in files; None: nothing
    made_by : code and libraries, for the key of the cache
    """

    def __init__(
        self,
        method: Method,
        whole: str,
        templates: Templates,
        cache: Cache | None,
        *,
        made_by: Mapping[str, str] | None = None,
    ) -> None:
        self._method, self._whole, self._templates, self._cache = method, whole, templates, cache
        self._made_by = dict(made_by or {})

    def __call__(self, whole: Surface, up: str, yaw_steps: int) -> list[tuple[float, Tensor]]:
        """Angles and encodings.

        Parameters
        ----------
        whole : the surface, upright
        up : the axis assumed to be vertical
        yaw_steps : angles, full circle
        """
        what = "encodings", self._method, up, yaw_steps
        found: list[tuple[float, Tensor]] | None = self._templates.get(self._whole, what)
        if found is None:
            found = self._from_files(whole, up, yaw_steps)
            self._templates.put(self._whole, what, found)
        return found

    def _computed(self, whole: Surface, yaw_steps: int) -> list[tuple[float, Tensor]]:
        vertical = self._method.config.search.vertical
        return [(angle, self._method.encode(seen)) for angle, seen in yaws(whole, yaw_steps, vertical)]

    def _from_files(self, whole: Surface, up: str, yaw_steps: int) -> list[tuple[float, Tensor]]:
        if self._cache is None:
            return self._computed(whole, yaw_steps)
        told: dict[str, Any] = {
            "made by": self._made_by,
            "whole": self._whole,
            "model": self._method.fingerprint(),
            "up": up,
            "yaw steps": yaw_steps,
            "device": self._method.device.type,
        }
        # 10 MB for 5000 vertices: a few templates are worth it, and a later one takes the slot of an earlier one
        name = hash_of(told)
        key = {"what": "encodings of a whole", "slot": int(name, 16) % SLOTS}
        held = self._cache.get(key)
        if held is not None and held["name"].tobytes().hex() == name:
            features = torch.from_numpy(held["features"]).to(self._method.device)
            return list(zip(held["angles"].tolist(), features, strict=True))
        found = self._computed(whole, yaw_steps)
        features = torch.stack([one for _, one in found])
        angles = torch.tensor([angle for angle, _ in found], dtype=torch.float64)
        of = np.frombuffer(bytes.fromhex(name), np.uint8)
        self._cache.put(key, {"name": of, "angles": angles.numpy(), "features": features.cpu().numpy()})
        return found
