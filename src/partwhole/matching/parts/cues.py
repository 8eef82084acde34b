"""What speaks for a vertex of one part being on the other too, without the truth: cues at each vertex of both parts."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from partwhole.matching.parts.constants import (
    CLOSE,
    ECHO_REACH,
    ECHO_TEMPERATURE,
    FAR,
    NEAR,
    SMALLEST_LENGTH,
)
from partwhole.matching.parts.sides import OneWay, Side, agreed_share, gap
from partwhole.matching.readout.maps import soft_map
from partwhole.matching.search.placement import distance_tolerance

# cues of a vertex; they are averaged over what is close and over what is near, too
LOCAL = (
    "unlike",
    "rival",
    "disagreement",
    "cycle",
    "echo",
    "residual",
    "gap_near",
    "gap_far",
    "inconsistency",
    "trust",
    "received",
    "image_to_boundary",
    "to_boundary",
)
# what the pair as a whole shows; the first is of this part, the second of the other
PAIR = ("agreed_here", "agreed_there", "inconsistency_of_trusted", "curvature", "unlike_of_trusted")
NAMES = (
    *LOCAL,
    *(f"{name}_close" for name in LOCAL),
    *(f"{name}_around" for name in LOCAL),
    *PAIR,
)

_ROWS = 512


def cues_of(
    one: Side, other: Side, there: OneWay, back: OneWay, boundaries: tuple[Int[Tensor, "r"], Int[Tensor, "s"]]
) -> Float[Tensor, "a c"]:
    """The cues of the vertices of one part, a column for each of `NAMES`.

    Parameters
    ----------
    one, other : the parts
    there, back : the map to the other part, and from there
    boundaries : the vertices on the boundary of each
    """
    S = one.features @ other.features.T
    gaps = _gaps(one, other, there)
    to_boundary = [_to_boundary(side, boundary) for side, boundary in zip((one, other), boundaries, strict=True)]
    local = torch.stack(
        [
            1 - there.cosine,
            S.max(dim=1).values - there.cosine,
            1 - there.agreement,
            _log(there.trip),
            1 - _echo(one, other),
            _log(there.residual),
            _log(gaps[:, 0]),
            _log(gaps[:, 1]),
            gaps[:, 2],
            1 - there.trust,
            _received(one, back),
            _log(to_boundary[1][there.vertex_map]),
            _log(to_boundary[0]),
        ],
        dim=1,
    )
    pair = _pair_cues(one, other, there, back, gaps[:, 2])
    around = (averaged(local, one, reach) for reach in (CLOSE, NEAR))
    return torch.cat([local, *around, pair.expand(len(one), len(pair))], dim=1)


def _pair_cues(
    one: Side, other: Side, there: OneWay, back: OneWay, inconsistency: Float[Tensor, "a"]
) -> Float[Tensor, "g"]:
    """What the map shows as a whole, by the vertices that are trusted."""
    agreed = torch.tensor([agreed_share(there, one), agreed_share(back, other)]).clamp(min=1e-4).log()
    share = one.surface.mass * (there.trust + 1e-6)
    share = share / share.sum()
    assert one.surface.curvature is not None
    assert other.surface.curvature is not None
    x, y = one.surface.curvature, other.surface.curvature[there.vertex_map]
    x, y = x - share @ x, y - share @ y
    alike = share @ (x * y) / ((share @ x.square()) * (share @ y.square())).sqrt().clamp(min=1e-12)
    return torch.stack([*agreed, share @ inconsistency, 1 - alike, share @ (1 - there.cosine)])


def averaged(values: Float[Tensor, "a c"], side: Side, reach: float) -> Float[Tensor, "a c"]:
    """Means over what is near: Σ_j area_j exp(−(D_ij / r)²) v_j / Σ_j area_j exp(−(D_ij / r)²)."""
    found = []
    for rows in torch.arange(len(side)).split(_ROWS):
        weights = torch.exp(-((side.most[rows] / reach) ** 2)) * side.surface.mass
        found.append(weights @ values / weights.sum(dim=1, keepdim=True).clamp(min=1e-30))
    return torch.cat(found)


def _log(lengths: Float[Tensor, "a"]) -> Float[Tensor, "a"]:
    # a way that does not exist is as long as any
    return lengths.clamp(SMALLEST_LENGTH, 1.0).log()


def _to_boundary(side: Side, boundary: Int[Tensor, "r"]) -> Float[Tensor, "n"]:
    if len(boundary) == 0:
        return torch.full((len(side),), torch.inf)
    return side.most[:, boundary].min(dim=1).values


def _echo(one: Side, other: Side) -> Float[Tensor, "a"]:
    """Σ_k (P_ab P_ba)_ik exp(−(D_ik / r)²): the share of the soft round trip that ends near where it began."""
    there = soft_map(one.features, other.features, ECHO_TEMPERATURE)
    back = soft_map(other.features, one.features, ECHO_TEMPERATURE)
    near = torch.exp(-((one.most / ECHO_REACH) ** 2))
    return ((there @ back) * near).sum(dim=1)


def _received(one: Side, back: OneWay) -> Float[Tensor, "a"]:
    """1 − the trust of the vertices of the other part that lie near, averaged over what is near here."""
    came = torch.zeros(len(one)).scatter_reduce(0, back.vertex_map, back.trust, "amax")
    return 1 - averaged(came[:, None], one, CLOSE)[:, 0]


def _gaps(one: Side, other: Side, there: OneWay) -> Float[Tensor, "a 3"]:
    """Mean gap between distances here and there to the trusted vertices near and far, and the share that contradicts."""
    found = []
    share = one.surface.mass * (there.trust + 1e-6)
    T = there.vertex_map
    for rows in torch.arange(len(one)).split(_ROWS):
        apart = gap(one.least[rows], one.most[rows], other.least[T[rows]][:, T], other.most[T[rows]][:, T]).clamp(
            max=1.0
        )
        columns = []
        for reach in (NEAR, FAR):
            weights = torch.exp(-((one.most[rows] / reach) ** 2)) * share
            columns.append((weights * apart).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-30))
        agree = torch.exp((apart / distance_tolerance(one.distances[rows])).square() / -2)
        columns.append(1 - agree @ share / share.sum())
        found.append(torch.stack(columns, dim=1))
    return torch.cat(found)
