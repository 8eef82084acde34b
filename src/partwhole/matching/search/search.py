"""Positions: which way up, which way round and how large a part is shown to the network, where that is not known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from partwhole._ties import first_smallest
from partwhole.matching.cache.features import WholeFeatures
from partwhole.matching.matcher import Matcher
from partwhole.matching.search.orientation import UPS, rotation_to_vertical
from partwhole.matching.search.pair import SurfacePair
from partwhole.matching.search.score import curvature_agreement
from partwhole.matching.search.trials import Candidate, best, best_stretch, candidates_at, resized, rotated

# yaw_steps while the vertical is looked for; all of them once it is found
_FEW = 4
# so often the best maps are aligned at least: the place of a scan is not known, and what lies any way up lies along no axis
_ALIGNMENTS, _ANY_WAY_UP = 1, 2
# distances that differ by more than pose and noise explain; and by so much that the size they ask for is tried
STRETCHED, _OTHER_SIZE = 1.25, 1.15
# that size, or another way up than the one that was assumed, must fit better by so much: people are not of one size either
_BETTER = 0.1
# below these another way up is tried: agreement of curvature, and the share of the best score that is possible
_BENT_ALIKE, _ALIKE = 0.7, 0.9
# another size than the one that was assumed must fit better by so much: a part that fits nowhere fits any size about as badly
_CLEARLY = 1.0
# a stretch that one look at the map may correct a guessed size by
_CORRECTION = 1.35
_WHOLE_UPS = ("y", "z", "x")


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult:
    """How part and whole were shown.

    Attributes
    ----------
    pair : the surfaces in this position
    factor : by which the part was made larger
    up : the axis that was taken for the vertical one, of the part and of the whole
    trials : the maps at all yaw_steps
    chosen : the best of them
    """

    pair: SurfacePair
    factor: float
    up: tuple[str, str]
    trials: tuple[Candidate, ...]
    chosen: Candidate


def candidate_axes(up: str | None, vertical: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Axes that may be vertical, of the part and of the whole.

    Parameters
    ----------
    up : None, they stand as the network knows them, as far as that fits; an axis such as "z" or "-y"; "z:y", that of the
        part and that of the whole; "auto", not known
    vertical : of the network

    Examples
    --------
    >>> candidate_axes(None, "y"), candidate_axes("z", "y"), candidate_axes("-z:y", "y")
    ((('y',), ('y',)), (('z',), ('z',)), (('-z',), ('y',)))
    """
    if up is None:
        return (vertical,), (vertical,)
    if up == "auto":
        return UPS, _WHOLE_UPS
    of_part, colon, of_whole = str(up).partition(":")
    if of_part not in UPS or (of_whole if colon else of_part) not in UPS:
        raise ValueError(
            f"up={up!r} must be an axis ({', '.join(UPS)}), those of part and whole such as 'z:y', 'auto', or None"
        )
    return (of_part,), (of_whole if colon else of_part,)


def search(
    matcher: Matcher,
    given: SurfacePair,
    *,
    factors: Sequence[float] = (1.0,),
    others: Sequence[float] = (),
    up: str | None = None,
    yaw_steps: int = 1,
    whole_features: WholeFeatures | None = None,
) -> SearchResult:
    """The position whose map fits best, of all that are in question.

    Parameters
    ----------
    matcher : that matches
    given : the surfaces as they lie in their files
    factors : by which the part may have to be made larger
    others : the same, to be tried if distances agree neither with what is in `factors` nor with the size they ask for
    up : see `candidate_axes`
    yaw_steps : at so many the part is tried
    whole_features : gives those of the whole if they are known
    """
    of_part, of_whole = candidate_axes(up, matcher.config.vertical)
    unknown = len(of_part) * len(of_whole) > 1
    upright, any_way_up = (max(matcher.config.alignments, least) for least in (_ALIGNMENTS, _ANY_WAY_UP))
    alignments = any_way_up if unknown else upright

    def at(factor: float, up: tuple[str, str], yaw_steps: int, alignments: int = 0) -> SearchResult:
        return _at(matcher, given, factor, up, yaw_steps, whole_features, alignments)

    def best_axes(of_part: Sequence[str], of_whole: Sequence[str]) -> tuple[str, str]:
        middle = factors[len(factors) // 2]
        standing = _fittest([at(middle, (one, other), _FEW) for one in of_part for other in of_whole]).up[1]
        return _fittest([at(middle, (one, standing), _FEW, any_way_up) for one in of_part]).up

    def at_its_size(axes: tuple[str, str], alignments: int) -> SearchResult:
        found = at(factors[0], axes, yaw_steps, alignments)
        if not others or _agree(stretch := _stretch(found), _OTHER_SIZE) or not 0 < stretch < math.inf:
            return found
        return _better(found, at(factors[0] * stretch, axes, yaw_steps, alignments))

    axes = best_axes(of_part, of_whole) if unknown else (of_part[0], of_whole[0])
    if len(factors) > 1:
        found = _fittest([at(factor, axes, min(_FEW, yaw_steps)) for factor in factors])
    else:
        first = at_its_size(axes, alignments)
        if up is None and _fits_badly(first, matcher):
            first = _better(first, at_its_size(best_axes(UPS, _WHOLE_UPS), any_way_up))
        if not others or _agree(_stretch(first), STRETCHED):
            return first
        found = _fittest([at(factor, first.up, min(_FEW, yaw_steps)) for factor in others])
        if found.chosen.score > first.chosen.score - _CLEARLY:
            return first
    return _polished(found, lambda factor, up: at(factor, up, yaw_steps, alignments))


def _polished(guessed: SearchResult, at: Callable[[float, tuple[str, str]], SearchResult]) -> SearchResult:
    """The position at the size that the distances of the map ask for, if that fits better."""
    stretch = _stretch(guessed)
    correction = float(np.clip(stretch, 1 / _CORRECTION, _CORRECTION)) if math.isfinite(stretch) else 1.0
    sizes = (guessed.factor, guessed.factor * correction)
    return _fittest([at(factor, guessed.up) for factor in sizes])


def _better(first: SearchResult, other: SearchResult) -> SearchResult:
    """The first unless the other one fits better."""
    return other if other.chosen.score < first.chosen.score - _BETTER else first


def _fits_badly(position: SearchResult, matcher: Matcher) -> bool:
    """Whether curvature, and features where the network is judged by both, agree less than they do for parts that stand."""
    part, whole, nearest = position.pair.part, position.pair.whole, position.chosen.nearest
    if float(curvature_agreement(nearest, part, whole)) < _BENT_ALIKE:
        return True
    distortion, curvature, similarity = matcher.config.score_weights
    return not distortion and curvature > 0 and position.chosen.score > -_ALIKE * (curvature + similarity)


def _agree(stretch: float, limit: float) -> bool:
    return 1 / limit < stretch < limit


def _stretch(position: SearchResult) -> float:
    return best_stretch(position.chosen.nearest, position.pair.part, position.pair.whole)


def _fittest(positions: Sequence[SearchResult]) -> SearchResult:
    return positions[first_smallest([position.chosen.score for position in positions])]


def _at(
    matcher: Matcher,
    given: SurfacePair,
    factor: float,
    up: tuple[str, str],
    yaw_steps: int,
    whole_features: WholeFeatures | None,
    alignments: int,
) -> SearchResult:
    vertical = matcher.config.vertical
    part = rotated(resized(given.part, factor), rotation_to_vertical(up[0], vertical))
    whole = rotated(given.whole, rotation_to_vertical(up[1], vertical))
    of_whole = whole_features(whole, up[1], yaw_steps) if whole_features else None
    trials = candidates_at(matcher, part, whole, yaw_steps, of_whole=of_whole, alignments=alignments)
    meshes = (given.meshes[0].scaled(factor), given.meshes[1]) if factor != 1 else given.meshes
    there = replace(given, part=part, whole=whole, meshes=meshes)
    return SearchResult(there, factor, up, tuple(trials), best(trials))
