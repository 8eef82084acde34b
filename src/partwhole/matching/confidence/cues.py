"""Cues of a wrong place, seen without the truth: distances, curvature, features and other maps that disagree with it.

Each alone misses something. A body that is taken the wrong way round has hardly any distortion, but curves otherwise, and has
rivals; a limb that slides along itself keeps its distances, but the network is less sure of its place.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.confidence.rule import NAMES, Cues
from partwhole.matching.matcher import Matcher
from partwhole.matching.network.surface import Surface
from partwhole.matching.readout.lateration import guaranteed_pairs, laterated
from partwhole.matching.readout.soft_map import nearest_rows, soft_map
from partwhole.matching.search.score import curvature_agreement
from partwhole.matching.search.search import SearchResult

# what is close, near and far, in √area of the whole
_CLOSE, _NEAR, _FAR = 0.06, 0.12, 0.25
# of cosines, for the places that are thought possible
_TEMPERATURE = 0.02
# a rival counts half as much if its score is worse by 0.3 ln 2
_SHARPNESS = 0.3
_ROWS = 512


def cues_of(
    vertex_map: Int[Tensor, "p"],
    position: SearchResult,
    matcher: Matcher,
    *,
    smooth: Int[Tensor, "p"] | None = None,
    moved: Int[Tensor, "p"] | None = None,
    of_whole: Float[Tensor, "*m n f"] | None = None,
) -> Cues:
    """The signs of a map that was read in a position.

    Parameters
    ----------
    vertex_map : as it is given out, refined and smoothed
    position : in which it was found, with all trials: what they have in common is sure
    matcher : whose features are compared
    smooth, moved : the map by the spectral read-out, and by lateration, if they are known
    of_whole : features of the whole as it was seen in the chosen trial, if they are known
    """
    part, whole = position.pair.part, position.pair.whole
    D = whole.distances
    assert D is not None
    smooth = matcher.read(position.chosen.nearest, part, whole, "spectral") if smooth is None else smooth
    moved = laterated(smooth, part, whole) if moved is None else moved
    spread, cycle, unlike = _of_features(vertex_map, position, matcher, of_whole)
    smoothing = D[position.chosen.nearest, vertex_map].float()
    local = torch.stack([spread, smoothing, D[smooth, moved].float(), cycle, unlike], dim=1)
    distortions, averaged = _around(vertex_map, part, whole, local)
    misfit = max(1 - float(curvature_agreement(vertex_map, part, whole)), 0.0)
    columns = [*distortions.unbind(1), _rivals(vertex_map, position), *averaged.unbind(1)]
    found = [column.cpu().double().numpy() for column in columns]
    return Cues(**dict(zip(NAMES, [*found, np.full(len(part), misfit)], strict=True)))


def _rivals(vertex_map: Int[Tensor, "p"], position: SearchResult) -> Float[Tensor, "p"]:
    D = position.pair.whole.distances
    assert D is not None
    scores = torch.tensor([trial.score for trial in position.trials])
    shares = torch.softmax((scores.min() - scores) / _SHARPNESS, dim=0).tolist()
    found = torch.zeros(len(vertex_map), device=D.device)
    for share, trial in zip(shares, position.trials, strict=True):
        found += share * D[trial.nearest, vertex_map].float()
    return found


def _of_features(
    vertex_map: Int[Tensor, "p"],
    position: SearchResult,
    matcher: Matcher,
    of_whole: Float[Tensor, "*m n f"] | None,
) -> tuple[Float[Tensor, "p"], Float[Tensor, "p"], Float[Tensor, "p"]]:
    """Spread, cycle and unlikeness of each vertex."""
    seen, seen_whole = position.chosen.seen(matcher.config.vertical)
    of_whole = matcher.features(seen_whole) if of_whole is None else of_whole
    one, other = matcher.compared(matcher.features(seen), of_whole)[0]
    one, other = normalize(one, dim=-1), normalize(other, dim=-1)
    D, D_part = position.pair.whole.distances, position.pair.part.distances
    assert D is not None
    assert D_part is not None
    spread = torch.cat(
        [
            (soft_map(one[rows], other, _TEMPERATURE) * D[vertex_map[rows]]).sum(dim=1)
            for rows in torch.arange(len(one), device=one.device).split(_ROWS)
        ]
    )
    there = other[vertex_map]
    back = nearest_rows(there, one)
    return spread, D_part[torch.arange(len(one), device=one.device), back], 1 - (one * there).sum(dim=1)


def _around(
    vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface, local: Float[Tensor, "p s"]
) -> tuple[Float[Tensor, "p 4"], Float[Tensor, "p s"]]:
    """Distortions: close, near, and of guaranteed pairs near and far; and numbers at vertices averaged over what is close."""
    assert part.distances is not None
    assert part.weights is not None
    assert whole.distances is not None
    guaranteed = guaranteed_pairs(part)
    found, averaged = [], []
    for rows in torch.arange(len(part), device=part.mass.device).split(_ROWS):
        D = part.distances[rows]
        # pairs in different pieces have weight 0, and no distance
        joined = (part.weights[rows] > 0) * part.mass
        off = (whole.distances[vertex_map[rows]][:, vertex_map].float() - D).abs()
        close, near, far = (torch.exp(-((D / reach) ** 2)) * joined for reach in (_CLOSE, _NEAR, _FAR))
        trusted = guaranteed[rows]
        weights = (close, near, near * trusted, far * trusted)
        found.append(torch.stack([_mean(weight, off) for weight in weights], dim=1))
        averaged.append((close @ local) / close.sum(dim=1, keepdim=True).clamp(min=1e-30))
    return torch.cat(found), torch.cat(averaged)


def _mean(weights: Float[Tensor, "r p"], values: Float[Tensor, "r p"]) -> Float[Tensor, "r"]:
    return (weights * values).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-30)
