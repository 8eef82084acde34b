"""Confidence where the truth is known: signs and errors side by side, to fit it and to see what it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole.datasets.pairs import Pair
from partwhole.evaluation import Calibration, calibration, geodesic_errors
from partwhole.matching.confidence.cues import cues_of
from partwhole.matching.confidence.fit import fit_of, limited
from partwhole.matching.confidence.rule import NAMES, RIGHT, Cues, confidence_of, rule_for
from partwhole.matching.matcher import Matcher
from partwhole.matching.search.pair import surface_pair
from partwhole.matching.search.search import search
from partwhole.matching.training.prepared_pairs import Report
from partwhole.store.cache import Cache


def cues_and_errors(pair: Pair, matcher: Matcher, *, cache: Cache | None = None) -> tuple[Cues, Float[np.ndarray, "g"]]:
    """Cues and errors, in √area of the whole, of the vertices of a pair whose truth is known; see `judged`."""
    found = judged(pair, matcher, cache=cache)
    return found.signs, found.errors


@dataclass(frozen=True, eq=False)
class Judged:
    """Cues, confidence and errors, in √area of the whole, of the vertices of a pair whose truth is known."""

    signs: Cues
    confidence: Float[np.ndarray, "g"]
    errors: Float[np.ndarray, "g"]


def judged(pair: Pair, matcher: Matcher, *, cache: Cache | None = None) -> Judged:
    """A pair whose truth is known, matched as `match` does it.

    Parameters
    ----------
    pair : with ground truth
    matcher : that matches
    cache : where eigenpairs are kept
    """
    if pair.ground_truth is None or len(pair.ground_truth) == 0:
        raise ValueError(f"{pair.name} has no ground truth, so its errors can't be measured; leave it out")
    given = surface_pair(pair.part, pair.whole, 1.0, matcher, cache=cache)
    position = search(matcher, given, yaw_steps=matcher.config.yaw_steps)
    part, whole = position.pair.part, position.pair.whole
    vertex_map = matcher.read(position.chosen.nearest, part, whole, "lateration")
    signs = cues_of(vertex_map, position, matcher, moved=vertex_map)
    assert whole.distances is not None
    found = vertex_map.cpu().numpy().astype(np.int64)
    errors = geodesic_errors(found, pair.ground_truth, whole.distances.cpu().numpy(), area=pair.whole.area)
    rows = pair.ground_truth.part_vertices
    sure = limited(confidence_of(signs, rule_for(matcher.card)), fit_of(vertex_map, position), position)
    return Judged(Cues(**{name: getattr(signs, name)[rows] for name in NAMES}), sure[rows], errors)


def calibration_of(
    matcher: Matcher,
    pairs: Sequence[Pair],
    *,
    most: int = 24,
    cache: Cache | None = None,
    progress: Report | None = None,
) -> Calibration:
    """How errors go with confidence, over all vertices of some pairs.

    Parameters
    ----------
    matcher : that matches
    pairs : with ground truth
    most : so many of them, evenly through the list
    cache : where eigenpairs are kept
    progress : called with ("confidence", pairs done, pairs in all)
    """
    chosen = [pairs[int(k)] for k in np.unique(np.linspace(0, len(pairs) - 1, min(most, len(pairs))).round())]
    sure, errors = [], []
    for done, pair in enumerate(chosen):
        if progress is not None:
            progress("confidence", done, len(chosen))
        found = judged(pair, matcher, cache=cache)
        sure.append(found.confidence)
        errors.append(found.errors)
    if progress is not None:
        progress("confidence", len(chosen), len(chosen))
    return calibration(np.concatenate(sure), np.concatenate(errors), limit=RIGHT)
