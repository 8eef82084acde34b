"""Cues beside true errors, to fit the rule of confidence; see benchmarks/confidence.py."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole.datasets.pairs import Pair
from partwhole.evaluation import geodesic_errors
from partwhole.matching.confidence.cues import cues_of
from partwhole.matching.confidence.rule import NAMES, Cues
from partwhole.matching.config import MatchOptions
from partwhole.matching.pipeline import found_map, surfaces_of
from partwhole.matching.scans.prepare import Scans, prepare_scans
from partwhole.matching.search.method import Method
from partwhole.store.cache import Cache


def cues_and_errors(pair: Pair, method: Method, *, cache: Cache | None = None) -> tuple[Cues, Float[np.ndarray, "g"]]:
    """Cues and errors, in √area of the whole, at the vertices of a pair whose truth is known, matched as `match` does it.

    Parameters
    ----------
    pair : with ground truth; few enough vertices that nothing is decimated
    method : that matches
    cache : where eigenpairs are kept
    """
    if pair.ground_truth is None or len(pair.ground_truth) == 0:
        raise ValueError(f"{pair.name} has no ground truth, so its errors can't be measured; leave it out")
    scans = prepare_scans(Scans(pair.part, pair.whole, (), {}))
    if scans.part.decimated or scans.whole.decimated:
        raise ValueError(f"{pair.name} is too large: cues are at the vertices as they are matched; decimate it first")
    found = found_map(method, surfaces_of(scans, method, cache=cache), MatchOptions(), scans=scans)
    cues = cues_of(found.vertex_map, found.search, method, moved=found.vertex_map)
    distances = found.search.pair.whole.distances
    assert distances is not None
    vertex_map = found.vertex_map.cpu().numpy().astype(np.int64)
    errors = geodesic_errors(vertex_map, pair.ground_truth, distances.cpu().numpy(), area=pair.whole.area)
    rows = pair.ground_truth.part_vertices
    return Cues(**{name: getattr(cues, name)[rows] for name in NAMES}), errors
