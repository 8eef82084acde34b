"""Two parts, each with what is known of its distances on the whole, and a map each way on which both sides agree.

Of a pair of vertices of one part two bounds are known: on the whole it is as far apart as on the part, or nearer, but not
nearer than the criterion says. The same holds for the images on the other part, and both are bounds of one distance. So what
contradicts a map is the gap between two intervals; where both distances are guaranteed, it is their difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.network.surface import Surface, distance_bounds
from partwhole.matching.parts.constants import ANCHORS, CYCLE, RADIUS, STEPS
from partwhole.matching.parts.constants import PLACES as PLACES_AROUND
from partwhole.matching.readout.maps import Comparison
from partwhole.matching.search.constants import (
    AGREEMENT_SHARPNESS,
    AGREEMENT_STEPS,
    AGREEMENT_WEIGHT,
    PLACE_STEPS,
    PLACE_WEIGHT,
    PLACE_WIDTH,
    PLACES,
    SAMPLE_WEIGHT,
    SAMPLES,
)
from partwhole.matching.search.method import Method
from partwhole.matching.search.placement import (
    distance_tolerance,
    farthest_points,
    likely_places,
    resized,
    rotation_for,
)

# so that a part without anything similar still has an alignment
_LEAST_MASS = 1e-12
_ROWS = 256


@dataclass(frozen=True, eq=False, repr=False)
class Side:
    """A part at a size that is assumed for its whole.

    Attributes
    ----------
    surface : with distances D and weights by a criterion with the threshold K
    features : of unit length
    least, most : bounds of the distances on the whole: min(K, D) and D
    """

    surface: Surface
    features: Float[Tensor, "n f"]
    least: Float[Tensor, "n n"]
    most: Float[Tensor, "n n"]

    def __len__(self) -> int:
        return len(self.surface)

    @property
    def distances(self) -> Float[Tensor, "n n"]:
        """D; 0 between pieces."""
        assert self.surface.distances is not None
        return self.surface.distances

    @property
    def guaranteed(self) -> Bool[Tensor, "n n"]:
        """Pairs whose distance is that on the whole."""
        return self.surface.guaranteed


def sides_of(a: Surface, b: Surface, method: Method, factor: float) -> tuple[Side, Side]:
    """Two parts, their lengths times a factor, with features that can be compared.

    Parameters
    ----------
    a, b : with distances and weights
    method : gives the features
    factor : so that the whole has area 1
    """
    sized = resized(a, factor), resized(b, factor)
    compared = method.compare(*(method.encode(surface.to(method.device)) for surface in sized))[0]
    first, second = (
        Side(surface, normalize(features.cpu(), dim=-1), *distance_bounds(surface, torch.arange(len(surface))))
        for surface, features in zip(sized, (compared.part, compared.whole), strict=True)
    )
    return first, second


@dataclass(frozen=True, eq=False, repr=False)
class OneWay:
    """A map from one part to the other, whether or not a vertex has a partner there.

    Attributes
    ----------
    vertex_map : the likeliest place of each vertex
    cosine : of the features there
    agreement : how well distances to vertices all over the part agree, from 0 to 1
    trip : the length of the way there and back, see `round_trip`
    trust : how far features, distances and the way back speak for the place, from 0 to 1
    residual : by how much distances to trusted vertices around are off, in √area
    """

    vertex_map: Int[Tensor, "n"]
    cosine: Float[Tensor, "n"]
    agreement: Float[Tensor, "n"]
    trip: Float[Tensor, "n"]
    trust: Float[Tensor, "n"]
    residual: Float[Tensor, "n"]


def gap(
    least: Float[Tensor, "*#any"],
    most: Float[Tensor, "*#any"],
    other_least: Float[Tensor, "*#any"],
    other_most: Float[Tensor, "*#any"],
) -> Float[Tensor, "..."]:
    """max(least − other_most, other_least − most, 0): how far two intervals of one distance are apart.

    Examples
    --------
    >>> one = torch.tensor([1.0, 1.0]), torch.tensor([2.0, 1.0])
    >>> gap(*one, torch.tensor([1.5, 3.0]), torch.tensor([4.0, 3.0])).tolist()
    [0.0, 2.0]
    """
    return torch.maximum(least - other_most, other_least - most).clamp(min=0)


def guaranteed_on_both(vertex_map: Int[Tensor, "a"], one: Side, other: Side) -> Bool[Tensor, "a a"]:
    """Pairs of vertices whose distance is guaranteed, and that of their images too: the two must then be equal."""
    return one.guaranteed & other.guaranteed[vertex_map][:, vertex_map]


def maps_of(one: Side, other: Side) -> tuple[OneWay, OneWay]:
    """A map each way: features, then what distances agree on, then lateration by the vertices that both ways trust."""
    S = one.features @ other.features.T
    there, back = _placed(one, other), _placed(other, one)
    for step in range(STEPS + 1):
        cosines = _chosen(S, there[0]), _chosen(S.T, back[0])
        trips = round_trip(there[0], back[0], one), round_trip(back[0], there[0], other)
        trusts = _trust(cosines[0], there[1], trips[0]), _trust(cosines[1], back[1], trips[1])
        moved = _laterated(there[0], one, other, trusts[0]), _laterated(back[0], other, one, trusts[1])
        if step == STEPS:
            break
        there, back = (moved[0][0], there[1]), (moved[1][0], back[1])
    return (
        OneWay(there[0], cosines[0], there[1], trips[0], trusts[0], moved[0][1]),
        OneWay(back[0], cosines[1], back[1], trips[1], trusts[1], moved[1][1]),
    )


def round_trip(there: Int[Tensor, "a"], back: Int[Tensor, "b"], one: Side) -> Float[Tensor, "a"]:
    """D(i, back(there(i))): how far from where it started a vertex comes back; infinite on another piece."""
    ends = back[there]
    start = torch.arange(len(there))
    return torch.where(one.most[start, ends].isinf(), torch.inf, one.distances[start, ends])


def agreed_share(way: OneWay, one: Side, reach: float = CYCLE) -> float:
    """Σ area · trust / Σ area: how much of a part the maps agree on.

    Parameters
    ----------
    way : from there
    one : the part
    reach : how near a round trip has to end; to compare sizes that are assumed, the same length on the part in all of them
    """
    trust = way.trust if reach == CYCLE else _trust(way.cosine, way.agreement, way.trip, reach)
    return float((one.surface.mass * trust).sum() / one.surface.mass.sum())


def _chosen(S: Float[Tensor, "a b"], vertex_map: Int[Tensor, "a"]) -> Float[Tensor, "a"]:
    return S.gather(1, vertex_map[:, None])[:, 0]


def _trust(
    cosine: Float[Tensor, "a"], agreement: Float[Tensor, "a"], trip: Float[Tensor, "a"], reach: float = CYCLE
) -> Float[Tensor, "a"]:
    return cosine.clamp(min=0) ** 4 * agreement.square() * torch.exp(-((trip / reach) ** 2))


# --- placement, with bounds on both sides; see `partwhole.matching.search.placement`


def _placed(one: Side, other: Side) -> tuple[Int[Tensor, "a"], Float[Tensor, "a"]]:
    """The map in which features, distances and place decide, and how well its distances agree."""
    likely = likely_places(Comparison(one.features, other.features), other.surface)
    values = likely.similar
    sample = farthest_points(one.distances, SAMPLES)
    tolerance = distance_tolerance(one.distances[sample])
    for _ in range(PLACE_STEPS):
        top = values.topk(min(PLACES, values.shape[1]), dim=1)
        places = likely.vertices.gather(1, top.indices)
        agreed, weights = _agreed(top.values[sample], places[sample], one, other, sample, tolerance)
        agreement = torch.zeros_like(top.values)
        for k, (place, weight) in enumerate(zip(agreed, weights, strict=True)):
            i = sample[k]
            apart = gap(
                one.least[i, :, None], one.most[i, :, None], other.least[place][places], other.most[place][places]
            )
            agreement += weight * torch.exp((apart / tolerance[k, :, None]).square() / -2)
        best = (top.values + AGREEMENT_WEIGHT * agreement).argmax(dim=1, keepdim=True)
        vertex_map, agrees = places.gather(1, best)[:, 0], agreement.gather(1, best)[:, 0]
        cosine = (one.features * other.features[vertex_map]).sum(dim=1)
        x = _aligned(one, other, vertex_map, cosine.clamp(min=0) ** 4 * agrees.square())
        away = (x[:, None] - other.surface.points[likely.vertices]).square().sum(dim=2)
        values = likely.similar + PLACE_WEIGHT * torch.exp(away / (-2 * PLACE_WIDTH**2))
    return vertex_map, agrees


def _agreed(
    values: Float[Tensor, "k c"],
    places: Int[Tensor, "k c"],
    one: Side,
    other: Side,
    sample: Int[Tensor, "k"],
    tolerance: Float[Tensor, "k n"],
) -> tuple[Int[Tensor, "k"], Float[Tensor, "k"]]:
    """One of several places for each of some vertices, by mean field, as `agreed_places` finds it for a whole."""
    k, c = places.shape
    flat = places.reshape(-1)
    there = (bound[flat][:, flat].reshape(k, c, k, c) for bound in (other.least, other.most))
    here = (bound[sample][:, sample][:, None, :, None] for bound in (one.least, one.most))
    agree = torch.exp((gap(*here, *there) / tolerance[:, sample][:, None, :, None]).square() / -2)
    diagonal = torch.arange(k)
    agree[diagonal, :, diagonal, :] = 0
    agree = agree.reshape(k * c, k * c)
    q, w = torch.softmax(values / AGREEMENT_SHARPNESS, dim=1), torch.ones(k)
    for _ in range(AGREEMENT_STEPS):
        support = (agree @ (q * w[:, None]).reshape(-1)).reshape(k, c) / w.sum().clamp(min=1e-30)
        q = torch.softmax((values + SAMPLE_WEIGHT * support) / AGREEMENT_SHARPNESS, dim=1)
        w = (q * support).sum(dim=1).square()
    best = q.argmax(dim=1, keepdim=True)
    w = support.gather(1, best)[:, 0].square() + _LEAST_MASS
    return places.gather(1, best)[:, 0], w / w.sum()


def _aligned(one: Side, other: Side, vertex_map: Int[Tensor, "a"], sure: Float[Tensor, "a"]) -> Float[Tensor, "a 3"]:
    """Positions of one part, moved rigidly to where its sure vertices lie on the other (Kabsch)."""
    share = (one.surface.mass * sure + _LEAST_MASS).double()
    share = share / share.sum()
    x, y = one.surface.points.double(), other.surface.points[vertex_map].double()
    x_mean, y_mean = share @ x, share @ y
    R = rotation_for((share[:, None] * (x - x_mean)).T @ (y - y_mean))
    return ((x - x_mean) @ R.T + y_mean).to(one.surface.points)


# --- lateration, by the vertices that are trusted


def _laterated(
    vertex_map: Int[Tensor, "a"], one: Side, other: Side, trust: Float[Tensor, "a"]
) -> tuple[Int[Tensor, "a"], Float[Tensor, "a"]]:
    """map i ← argmin_w Σ_j a_ij gap_ijw², and the root of the least mean gap².

    j are the trusted vertices near i, a_ij = area_j trust_j exp(−(D_ij / r_i)²), r_i larger where none is near; the gap is
    that between the bounds of D_ij and those of the distance from w to the image of j.
    """
    anchors = torch.topk(trust, min(len(trust), max(4 * ANCHORS, len(trust) // 3))).indices
    away = one.most[:, anchors]
    some, near = away.topk(min(ANCHORS, len(anchors)), dim=1, largest=False)
    chosen = anchors[near]
    reach = RADIUS + some[:, :1].clamp(max=1.0)
    weights = torch.exp(-((some / reach) ** 2)) * one.surface.mass[chosen] * (trust[chosen] + 1e-6)
    weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1e-30)
    around = other.most.topk(min(PLACES_AROUND, len(other)), dim=1, largest=False).indices
    moved, residual = [], []
    for rows in torch.arange(len(vertex_map)).split(_ROWS):
        places = around[vertex_map[rows]]
        ends = vertex_map[chosen[rows]][:, :, None]
        bounds = (bound[ends, places[:, None, :]] for bound in (other.least, other.most))
        here = (bound[rows[:, None], chosen[rows]][:, :, None] for bound in (one.least, one.most))
        off = (weights[rows, :, None] * gap(*here, *bounds).square().nan_to_num(nan=1.0, posinf=1.0)).sum(dim=1)
        least, best = off.min(dim=1, keepdim=True)
        moved.append(places.gather(1, best)[:, 0])
        residual.append(least[:, 0].sqrt())
    return torch.cat(moved), torch.cat(residual)


def promise(one: Side, other: Side, reach: float) -> float:
    """Σ area cos⁺⁴ exp(−(round trip)² / reach²) of nearest features, over both areas: how much there is to agree on."""
    S = one.features @ other.features.T
    there, back = S.argmax(dim=1), S.argmax(dim=0)
    total = area = 0.0
    for side, way, home, cosine in ((one, there, back, S.max(dim=1).values), (other, back, there, S.max(dim=0).values)):
        ends = torch.exp(-((round_trip(way, home, side) / reach) ** 2))
        total += float((side.surface.mass * cosine.clamp(min=0) ** 4 * ends).sum())
        area += float(side.surface.mass.sum())
    return total / area


def agreement_of_guaranteed(
    vertex_map: Int[Tensor, "a"], one: Side, other: Side, shared: Bool[Tensor, "a"]
) -> tuple[float, float]:
    """The share of pairs of shared vertices that are guaranteed on both sides, and the mean |D − D'| over these."""
    chosen = shared.nonzero()[:, 0]
    ends = vertex_map[chosen]
    trusted = guaranteed_on_both(vertex_map, one, other)[chosen][:, chosen]
    trusted.fill_diagonal_(False)
    pairs = len(chosen) * (len(chosen) - 1)
    if not trusted.any():
        return 0.0, float("nan")
    off = (one.distances[chosen][:, chosen] - other.distances[ends][:, ends]).abs()
    return float(trusted.sum()) / pairs, float(off[trusted].mean())
