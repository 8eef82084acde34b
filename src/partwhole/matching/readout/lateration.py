"""Lateration: a vertex belongs where its distances to the places around are those of the part.

A map is a little wrong everywhere, and neighbours are wrong in different ways. Distances on the part, where they are
guaranteed, say where a vertex lies as seen from each of its neighbours; the place that fits them all is nearer to the truth
than its own. It is what a receiver does with the distances to its satellites, with satellites that move as well.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from partwhole.matching.network.surface import Surface, guaranteed_pairs

# vertices around that say where one belongs, how far they count (√area of the whole), and places that are looked at
ANCHORS, RADIUS, PLACES = 64, 0.15, 64
# every third vertex says so: as many of them reach farther, and neighbours repeat each other
EVERY = 3
STEPS = 5
_ROWS = 256


def laterated(vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface, *, steps: int = STEPS) -> Int[Tensor, "p"]:
    """map i ← argmin_w Σ_j a_ij (D_whole(w, map j) − D_part(i, j))², for all vertices at once, so many times.

    j are the nearest to i of every third vertex, where the distance is guaranteed; a_ij = area_j exp(−(D_part / 0.15)²); w
    are the places around the present one.

    Parameters
    ----------
    vertex_map : to begin with
    part, whole : with distances, the part with weights
    steps : how often

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> from partwhole.matching.network.surface import distances_of, pair_weights, surface_of
    >>> ball = sphere(400).scaled(0.28)
    >>> D = distances_of(ball, method="dijkstra", device="cpu")
    >>> surface = surface_of(ball, eigenpairs=10)
    >>> surface = surface.with_loss(D, pair_weights(ball, D, surface.mass, criterion="none"))
    >>> wrong = torch.arange(400)
    >>> wrong[7] = D[7].topk(9, largest=False).indices[8]
    >>> int((laterated(wrong, surface, surface) != torch.arange(400)).sum())
    0
    """
    if part.distances is None or part.weights is None or whole.distances is None:
        raise ValueError("distances of part or whole are not known; give them with Surface.with_loss")
    count = min(len(part), max(len(part) // EVERY, 4 * ANCHORS))
    some = torch.linspace(0, len(part) - 1, count, device=part.mass.device).round().long()
    far = torch.where(guaranteed_pairs(part)[:, some], part.distances[:, some], torch.inf)
    away, near = far.topk(min(ANCHORS, count), dim=1, largest=False)
    anchors = some[near]
    # an infinite distance has weight 0, and is left out of the sum by being 0
    weights = torch.exp(-((away / RADIUS) ** 2)) * part.mass[anchors]
    weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1e-30)
    away = torch.where(away.isfinite(), away, 0)
    around = whole.distances.topk(min(PLACES, len(whole)), dim=1, largest=False).indices
    for _ in range(steps):
        vertex_map = _moved(vertex_map, anchors, away, weights, around, whole.distances)
    return vertex_map


def _moved(
    vertex_map: Int[Tensor, "p"],
    anchors: Int[Tensor, "p k"],
    away: Float[Tensor, "p k"],
    weights: Float[Tensor, "p k"],
    around: Int[Tensor, "n c"],
    D: Float[Tensor, "n n"],
) -> Int[Tensor, "p"]:
    found = []
    for start in range(0, len(vertex_map), _ROWS):
        rows = slice(start, start + _ROWS)
        places = around[vertex_map[rows]]
        there = D[vertex_map[anchors[rows]][:, :, None], places[:, None, :]].to(away.dtype)
        off = (weights[rows, :, None] * (there - away[rows, :, None]).square()).sum(dim=1)
        found.append(places.gather(1, off.argmin(dim=1, keepdim=True))[:, 0])
    return torch.cat(found)
