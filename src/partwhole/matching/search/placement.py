"""Where a part lies: orientations and rigid alignment; maps in which features, distances and positions decide.

Features that do not depend on orientation may confuse left and right, or two limbs, where they differ little. What most of
the part agrees on then decides: guaranteed distances between vertices must be those between their images, other distances
must lie within the bounds of the criterion, and the part, aligned to the whole, shows about where a vertex belongs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.config import UPS, Axis, check_up
from partwhole.matching.network.surface import Surface, consistency, distance_bounds, signatures
from partwhole.matching.readout.maps import Comparison
from partwhole.matching.search.constants import (
    AGREEMENT_SHARPNESS,
    AGREEMENT_STEPS,
    AGREEMENT_WEIGHT,
    DISTANCE_TOLERANCE,
    PLACE_STEPS,
    PLACE_WEIGHT,
    PLACE_WIDTH,
    PLACES,
    REGIONS,
    SAMPLE_WEIGHT,
    SAMPLES,
)
from partwhole.spectral import Eigenpairs

_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
_WHOLE_UPS = ("y", "z", "x")


def candidate_axes(up: str | None, vertical: str, *, upright: bool = True) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Axes that may point up, of the part and of the whole.

    Parameters
    ----------
    up : None, they stand as the network knows them; an axis such as "z" or "-y"; "z:y", that of the part and that of the
        whole; "auto", unknown
    vertical : of the network
    upright : False if `up=None` says nothing about the part

    Examples
    --------
    >>> candidate_axes(None, "y"), candidate_axes("z", "y"), candidate_axes("-z:y", "y")
    ((('y',), ('y',)), (('z',), ('z',)), (('-z',), ('y',)))
    """
    check_up(up)
    if up is None:
        return ((vertical,) if upright else UPS), (vertical,)
    if up == "auto":
        return UPS, _WHOLE_UPS
    of_part, colon, of_whole = up.partition(":")
    return (of_part,), (of_whole if colon else of_part,)


def all_axes() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Every axis that may point up, of the part and of the whole: a whole is rarely upside down."""
    return UPS, _WHOLE_UPS


def rotation_to_vertical(up: str, vertical: str) -> Float[np.ndarray, "3 3"]:
    """The rotation that takes the axis `up` ("z", "-y", …) to the positive axis `vertical`, by the smallest angle.

    Examples
    --------
    >>> (rotation_to_vertical("z", "y") @ [0.0, 0.0, 1.0]).round(6).tolist()
    [0.0, 1.0, 0.0]
    >>> (rotation_to_vertical("-y", "y") @ [0.0, -1.0, 0.0]).round(6).tolist()
    [0.0, 1.0, 0.0]
    """
    if up not in UPS:
        raise ValueError(f"up must be one of {', '.join(map(repr, UPS))}, got {up!r}")
    sign = -1.0 if up.startswith("-") else 1.0
    start, end = sign * np.array(_AXES[up[-1]], float), np.array(_AXES[vertical], float)
    axis = np.cross(start, end)
    if not axis.any():
        # half a turn about a horizontal axis, or none
        across = np.array(_AXES["x" if vertical != "x" else "y"], float)
        return np.eye(3) if start @ end > 0 else 2 * np.outer(across, across) - np.eye(3)
    K = np.cross(np.eye(3), axis)
    return np.eye(3) + K + K @ K


def axis_rotations(angle: Float[Tensor, "*batch"], axis: Axis) -> Float[Tensor, "*batch 3 3"]:
    """Rotations by an angle about a coordinate axis.

    Examples
    --------
    >>> axis_rotations(torch.tensor(math.pi / 2), "z").round().int().tolist()
    [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    """
    zero, one = torch.zeros_like(angle), torch.ones_like(angle)
    c, s = angle.cos(), angle.sin()
    entries = {
        "x": (one, zero, zero, zero, c, -s, zero, s, c),
        "y": (c, zero, s, zero, one, zero, -s, zero, c),
        "z": (c, -s, zero, s, c, zero, zero, zero, one),
    }[axis]
    return torch.stack(entries, dim=-1).unflatten(-1, (3, 3))


def yaws(surface: Surface, steps: int, vertical: Axis) -> Iterator[tuple[float, Surface]]:
    """Yaw angles, a full circle in equal steps, and the surface rotated by each."""
    for number in range(steps):
        angle = 2 * math.pi * number / steps
        yield angle, turned(surface, angle, vertical)


def turned(surface: Surface, angle: float, axis: Axis) -> Surface:
    """The surface turned about an axis, as far as the network sees it."""
    return (
        rotated(surface, axis_rotations(torch.tensor(angle, device=surface.points.device), axis)) if angle else surface
    )


def rotated(surface: Surface, R: Float[Tensor, "3 3"] | Float[np.ndarray, "3 3"]) -> Surface:
    """The surface in another orientation, as far as the network sees it."""
    if isinstance(R, np.ndarray):
        if np.array_equal(R, np.eye(3)):
            return surface
        R = torch.as_tensor(R, dtype=surface.points.dtype, device=surface.points.device)
    return replace(surface, points=surface.points @ R.T, normals=surface.normals @ R.T)


def rigidly_aligned(part: Surface, whole: Surface, vertex_map: Int[Tensor, "p"]) -> Surface:
    """The part moved rigidly so that its vertices lie nearest to their images on the whole (Kabsch); for the network alone.

    argmin over rotations R and translations t of Σ area |R x + t − y|², y the images.

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> from partwhole.matching import surface_of
    >>> ball = surface_of(sphere(200).scaled(0.28), eigenpairs=5)
    >>> away = turned(replace(ball, points=ball.points + 3), 1.0, "y")
    >>> rigidly_aligned(away, ball, torch.arange(200)).points.allclose(ball.points, atol=1e-5)
    True
    """
    share = (part.mass / part.mass.sum()).double()
    x, y = part.points.double(), whole.points[vertex_map].double()
    x_mean, y_mean = share @ x, share @ y
    R = rotation_for((share[:, None] * (x - x_mean)).T @ (y - y_mean))
    points = (x - x_mean) @ R.T + y_mean
    return replace(part, points=points.to(part.points), normals=part.normals @ R.T.to(part.normals))


def rotation_for(H: Float[Tensor, "3 3"]) -> Float[Tensor, "3 3"]:
    """argmax over rotations R of trace(R H): with H = Σ x yᵀ the one that takes all x nearest to their y (Kabsch)."""
    U, _, Vt = torch.linalg.svd(H)
    # a reflection is not a rotation: the axis of the smallest singular value is turned back
    flip = torch.ones(3, dtype=H.dtype, device=H.device)
    flip[2] = torch.linalg.det(U @ Vt).sign()
    return (Vt.T * flip) @ U.T


def resized(surface: Surface, factor: float) -> Surface:
    """The surface with all lengths times a factor: λ / s², φ / s, ∇φ / s², areas · s²; nothing is computed anew."""
    if factor == 1:
        return surface
    s = float(factor)
    basis = surface.basis / s
    basis[:, 1:] /= s
    values, functions, mass = surface.values / s**2, surface.functions / s, surface.mass * s**2
    seen = surface.signatures
    if seen.shape[-1]:
        known = Eigenpairs(*(tensor.cpu().double().numpy() for tensor in (values, functions, mass)))
        seen = torch.from_numpy(signatures(known)).to(seen)
    return replace(
        surface,
        points=surface.points * s,
        signatures=seen,
        mass=mass,
        values=values,
        functions=functions,
        basis=basis,
        distances=None if surface.distances is None else surface.distances * s,
        weights=None if surface.weights is None else surface.weights * s**4,
        curvature=None if surface.curvature is None else surface.curvature / s,
    )


# rows of the part that are compared with the whole at a time
_ROWS = 512
# so that a part without any similar features still has a place
_LEAST_MASS = 1e-12
# the first of the vertices that are as far away as the farthest up to rounding is taken
_TIE = 1e-5


class LikelyPlaces(NamedTuple):
    """The most similar vertex of the whole in each of its regions, for each vertex of the part.

    Attributes
    ----------
    vertices : of the whole
    similar : cosine of the features, and what else is known of a place
    """

    vertices: Int[Tensor, "p r"]
    similar: Float[Tensor, "p r"]


def likely_places(
    compared: Comparison, whole: Surface, suits: Float[Tensor, "p n"] | None = None, *, regions: int = REGIONS
) -> LikelyPlaces:
    """The whole is divided into regions around farthest points, and each offers the vertex with the most similar features.

    Parameters
    ----------
    compared : features of part and whole
    whole : with distances
    suits : is added to the cosines, where more than features is known
    regions : how many; all vertices if there are fewer
    """
    assert whole.distances is not None
    one, other = normalize(compared.part, dim=-1), normalize(compared.whole, dim=-1)
    members = _members(whole.distances[farthest_points(whole.distances, regions)])
    found = []
    for rows in torch.arange(len(one), device=one.device).split(_ROWS):
        similar = one[rows] @ other.T
        if suits is not None:
            similar = similar + suits[rows]
        best = similar[:, members].max(dim=2)
        vertices = members.expand(len(rows), *members.shape).gather(2, best.indices[:, :, None])[:, :, 0]
        found.append(LikelyPlaces(vertices, best.values))
    return LikelyPlaces(*(torch.cat(of) for of in zip(*found, strict=True)))


def _members(away: Float[Tensor, "r n"]) -> Int[Tensor, "r m"]:
    """The vertices nearest to each of some points, row by row; a row with fewer than others repeats its first."""
    region = away.argmin(dim=0)
    order = region.argsort(stable=True)
    counts = torch.bincount(region, minlength=len(away))
    counts, starts = counts[counts > 0], (counts.cumsum(0) - counts)[counts > 0]
    column = torch.arange(int(counts.max()), device=away.device)
    return order[starts[:, None] + torch.where(column < counts[:, None], column, 0)]


def farthest_points(D: Float[Tensor, "n n"], count: int) -> Int[Tensor, "k"]:
    """Vertices that are far from each other: the first, then the one farthest from all before, and so on.

    Pieces without a way between them have distance 0 in D, and are as far from each other as can be.

    Examples
    --------
    >>> points = torch.tensor([0.0, 1.0, 2.0, 10.0])
    >>> farthest_points((points[:, None] - points).abs(), 3).tolist()
    [0, 3, 2]
    """
    number = torch.arange(len(D), device=D.device)
    chosen = number[:1]
    nearest = torch.full((len(D),), torch.inf, device=D.device, dtype=D.dtype)
    while True:
        row = D[chosen[-1]]
        nearest = torch.minimum(nearest, torch.where((row == 0) & (number != chosen[-1]), torch.inf, row))
        if len(chosen) == min(count, len(D)):
            return chosen
        farthest = (nearest >= (1 - _TIE) * nearest.max()).to(torch.int8).argmax()
        chosen = torch.cat([chosen, farthest[None]])


def placed_map(
    compared: Comparison, part: Surface, whole: Surface, suits: Float[Tensor, "p n"] | None = None
) -> Int[Tensor, "p"]:
    """argmax_j cos(f_i, g_j) + a exp(−|R x_i + t − y_j|² / 2 b²) + c Σ_k w_k exp(−gap_ijk² / 2 t_ik²), over likely places.

    R and t align the part to the whole by its map, and b is as large as limbs move from pose to pose; this is left out in
    the first of the steps. k are vertices all over the part, with the places and the weights that they agree on, see
    `agreed_places`, and the gap is by how much the distance on the whole from there to j lies outside of the bounds of that
    on the part.

    Parameters
    ----------
    compared : the features f and g
    part, whole : with positions and distances
    suits : is added to the cosines, where more than features is known
    """
    likely = likely_places(compared, whole, suits)
    cosines = likely.similar if suits is None else likely.similar - suits.gather(1, likely.vertices)
    values = likely.similar
    for _ in range(PLACE_STEPS):
        top = values.topk(min(PLACES, values.shape[1]), dim=1)
        vertices = likely.vertices.gather(1, top.indices)
        agreement = _agreement(top.values, vertices, part, whole)
        chosen = (top.values + AGREEMENT_WEIGHT * agreement).argmax(dim=1, keepdim=True)
        nearest = vertices.gather(1, chosen)[:, 0]
        cosine = cosines.gather(1, top.indices.gather(1, chosen))[:, 0]
        sure = cosine.clamp(min=0) ** 4 * agreement.gather(1, chosen)[:, 0].square()
        x = rigidly_aligned(replace(part, mass=part.mass * sure + _LEAST_MASS), whole, nearest).points
        away = (x[:, None] - whole.points[likely.vertices]).square().sum(dim=2)
        values = likely.similar + PLACE_WEIGHT * torch.exp(away / (-2 * PLACE_WIDTH**2))
    return nearest


def _agreement(
    values: Float[Tensor, "p c"], places: Int[Tensor, "p c"], part: Surface, whole: Surface
) -> Float[Tensor, "p c"]:
    """Σ_k w_k exp(−gap² / 2 t²) of places for all vertices of a part, between 0 and 1."""
    assert part.distances is not None
    assert whole.distances is not None
    sample = farthest_points(part.distances, SAMPLES)
    least, most = distance_bounds(part, sample)
    tolerance = distance_tolerance(part.distances[sample].float())
    between = least[:, sample], most[:, sample], tolerance[:, sample]
    agreed, weights = agreed_places(values[sample], places[sample], whole.distances, *between)
    total = torch.zeros_like(values)
    for k, (place, weight) in enumerate(zip(agreed, weights, strict=True)):
        there = whole.distances[place].float()[places]
        total += weight * consistency(there, least[k, :, None], most[k, :, None], tolerance[k, :, None])
    return total


def agreed_places(
    values: Float[Tensor, "k c"],
    places: Int[Tensor, "k c"],
    D: Float[Tensor, "n n"],
    least: Float[Tensor, "k k"],
    most: Float[Tensor, "k k"],
    tolerance: Float[Tensor, "k k"],
) -> tuple[Int[Tensor, "k"], Float[Tensor, "k"]]:
    """One of several places for each of some vertices, so that most of the distances between them are right.

    The probabilities q_ka ∝ exp((value_ka + d s_ka) / τ) of places, and their support s_ka = Σ_lb w_l q_lb c_kalb, are
    computed in turn (mean field); c = exp(−gap² / 2 t²) says how well two places agree, and w ∝ (Σ_a q_ka s_ka)², that
    vertices which others contradict say less.

    Parameters
    ----------
    values : the larger, the likelier a place
    places : on the whole
    D : distances on the whole
    least, most : bounds of the distances between the vertices on the whole
    tolerance : t

    Returns
    -------
    places, and their weights w, which sum to one

    Examples
    --------
    >>> D = (torch.arange(5.0)[:, None] - torch.arange(5.0)).abs()
    >>> true = D[:4, :4]  # four points on a line; to the second, the far end looks likelier
    >>> places = torch.tensor([[0, 0], [4, 1], [2, 2], [3, 3]])
    >>> values = torch.tensor([[0.9, 0.9], [0.9, 0.8], [0.9, 0.9], [0.9, 0.9]])
    >>> agreed_places(values, places, D, true, true, 0.1 + 0 * true)[0].tolist()
    [0, 1, 2, 3]
    """
    k, c = places.shape
    flat = places.reshape(-1)
    there = D[flat][:, flat].float().reshape(k, c, k, c)
    agree = consistency(there, *(of[:, None, :, None] for of in (least, most, tolerance)))
    diagonal = torch.arange(k, device=places.device)
    agree[diagonal, :, diagonal, :] = 0
    agree = agree.reshape(k * c, k * c)
    q = torch.softmax(values / AGREEMENT_SHARPNESS, dim=1)
    w = torch.ones(k, device=places.device)
    for _ in range(AGREEMENT_STEPS):
        support = (agree @ (q * w[:, None]).reshape(-1)).reshape(k, c) / w.sum().clamp(min=1e-30)
        q = torch.softmax((values + SAMPLE_WEIGHT * support) / AGREEMENT_SHARPNESS, dim=1)
        w = (q * support).sum(dim=1).square()
    best = q.argmax(dim=1, keepdim=True)
    w = support.gather(1, best)[:, 0].square() + 1e-12
    return places.gather(1, best)[:, 0], w / w.sum()


def distance_tolerance(D: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """√(a² + (b d)²): by how much distances d on the part may be off, since poses change them."""
    base, rate = DISTANCE_TOLERANCE
    return (base**2 + (rate * D).square()).sqrt()
