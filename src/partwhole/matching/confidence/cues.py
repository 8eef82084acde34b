"""Cues of a wrong map at each vertex, without the truth: distances, curvature, features and other maps that disagree.

Each alone misses something. A body matched back to front has hardly any distortion, but its curvature disagrees, and other
maps score about as well; a limb that slides along itself keeps its distances, but the network is less sure of it.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.confidence.constants import CLOSE, FAR, NEAR, RIVAL_SHARPNESS, SPREAD_TEMPERATURE
from partwhole.matching.confidence.rule import NAMES, Cues
from partwhole.matching.network.surface import Surface
from partwhole.matching.readout.maps import curvature_agreement, laterated, nearest_rows, read_map, soft_map
from partwhole.matching.search.method import Method
from partwhole.matching.search.search import SearchResult

_ROWS = 512


def cues_of(
    vertex_map: Int[Tensor, "p"],
    found: SearchResult,
    method: Method,
    *,
    smooth: Int[Tensor, "p"] | None = None,
    moved: Int[Tensor, "p"] | None = None,
) -> Cues:
    """The cues of a map.

    Parameters
    ----------
    vertex_map : refined and smoothed
    found : the search that found it, with all candidates: what they have in common is sure
    method : whose features are compared
    smooth, moved : the map by the spectral read-out, and by lateration, if they are known
    """
    part, whole = found.pair.part, found.pair.whole
    D = whole.distances
    assert D is not None
    if smooth is None:
        k = method.config.loss.map_eigenpairs
        smooth = read_map(found.chosen.nearest, part, whole, "spectral", eigenpairs=k)
    moved = laterated(smooth, part, whole) if moved is None else moved
    spread, cycle, unlike = _of_features(vertex_map, found, method)
    smoothing = D[found.chosen.nearest, vertex_map].float()
    local = torch.stack([spread, smoothing, D[smooth, moved].float(), cycle, unlike], dim=1)
    distortions, averaged = _around(vertex_map, part, whole, local)
    misfit = max(1 - float(curvature_agreement(vertex_map, part, whole)), 0.0)
    columns = [*distortions.unbind(1), _rivals(vertex_map, found), *averaged.unbind(1)]
    arrays = [column.cpu().double().numpy() for column in columns]
    return Cues(**dict(zip(NAMES, [*arrays, np.full(len(part), misfit)], strict=True)))


def _rivals(vertex_map: Int[Tensor, "p"], found: SearchResult) -> Float[Tensor, "p"]:
    D = found.pair.whole.distances
    assert D is not None
    scores = torch.tensor([candidate.score for candidate in found.candidates])
    shares = torch.softmax((scores.min() - scores) / RIVAL_SHARPNESS, dim=0).tolist()
    away = torch.zeros(len(vertex_map), device=D.device)
    for share, candidate in zip(shares, found.candidates, strict=True):
        away += share * D[candidate.nearest, vertex_map].float()
    return away


def _of_features(
    vertex_map: Int[Tensor, "p"], found: SearchResult, method: Method
) -> tuple[Float[Tensor, "p"], Float[Tensor, "p"], Float[Tensor, "p"]]:
    """Spread, cycle and unlikeness of each vertex."""
    compared = found.chosen.compared
    if compared is None:
        compared = method.compare(*map(method.encode, found.chosen.seen(method.config.search.vertical)))[0]
    one, other = normalize(compared.part, dim=-1), normalize(compared.whole, dim=-1)
    D, D_part = found.pair.whole.distances, found.pair.part.distances
    assert D is not None
    assert D_part is not None
    suits = None if found.landmarks is None else found.landmarks.suits
    spread = torch.cat(
        [
            (_possible(one, other, rows, suits) * D[vertex_map[rows]]).sum(dim=1)
            for rows in torch.arange(len(one), device=one.device).split(_ROWS)
        ]
    )
    there = other[vertex_map]
    back = nearest_rows(there, one)
    return spread, D_part[torch.arange(len(one), device=one.device), back], 1 - (one * there).sum(dim=1)


def _possible(
    one: Float[Tensor, "p f"], other: Float[Tensor, "n f"], rows: Int[Tensor, "r"], suits: Float[Tensor, "p n"] | None
) -> Float[Tensor, "r n"]:
    """The places that features, and landmarks, think possible for some vertices."""
    return soft_map(one[rows], other, SPREAD_TEMPERATURE, suits=None if suits is None else suits[rows])


def _around(
    vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface, local: Float[Tensor, "p s"]
) -> tuple[Float[Tensor, "p 4"], Float[Tensor, "p s"]]:
    """Distortions: close, near, and of guaranteed pairs near and far; and numbers at vertices averaged over what is close."""
    assert part.distances is not None
    assert part.weights is not None
    assert whole.distances is not None
    guaranteed = part.guaranteed
    found, averaged = [], []
    for rows in torch.arange(len(part), device=part.mass.device).split(_ROWS):
        D = part.distances[rows]
        # pairs in different pieces have weight 0, and no distance
        joined = (part.weights[rows] > 0) * part.mass
        off = (whole.distances[vertex_map[rows]][:, vertex_map].float() - D).abs()
        close, near, far = (torch.exp(-((D / reach) ** 2)) * joined for reach in (CLOSE, NEAR, FAR))
        trusted = guaranteed[rows]
        weights = (close, near, near * trusted, far * trusted)
        found.append(torch.stack([_mean(weight, off) for weight in weights], dim=1))
        averaged.append((close @ local) / close.sum(dim=1, keepdim=True).clamp(min=1e-30))
    return torch.cat(found), torch.cat(averaged)


def _mean(weights: Float[Tensor, "r p"], values: Float[Tensor, "r p"]) -> Float[Tensor, "r"]:
    return (weights * values).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-30)
