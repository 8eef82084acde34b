"""Which way a part faces, where the network can't tell: it is tried at several yaw_steps, and the best map is taken.

A body turned by half a turn has nearly the same geodesic distances, left and right exchanged and front and back with them,
so no loss on distances alone can tell. What differs is how the surface bends: the belly, the heels, the nose. A map is
judged by both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from partwhole._ties import first_smallest
from partwhole.matching.network.surface import Surface
from partwhole.matching.training.augmentation import turns
from partwhole.matching.training.config import Axis

# how much the logarithm of the distortion, the agreement of curvature and the similarity of features count; the second was
# fixed on training parts of PFAUST-H, where anything from 3 to 50 chooses equally well
SCORE_WEIGHTS = (1.0, 10.0, 0.0)
# vertices among which distances are compared: the sum over all pairs is known well enough from some
_SAMPLE = 700


def turned(surface: Surface, angle: float, axis: Axis) -> Surface:
    """The surface turned about an axis, as far as the network sees it."""
    R = turns(torch.tensor(angle, device=surface.points.device), axis)
    return replace(surface, points=surface.points @ R.T, normals=surface.normals @ R.T)


def curvature_agreement(vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface) -> Float[Tensor, ""]:
    """Correlation, weighted by area, of the mean curvature of the part with that of the whole read through the map."""
    if part.curvature is None or whole.curvature is None:
        raise ValueError("the curvature of part or whole is not known; prepare them with surface_of")
    share = part.mass / part.mass.sum()
    one = part.curvature - share @ part.curvature
    other = whole.curvature[vertex_map]
    other = other - share @ other
    spread = ((share @ one.square()) * (share @ other.square())).sqrt()
    # nothing can be said about a part that bends the same everywhere
    return (share * one) @ other / spread.clamp(min=1e-12)


def distance_distortion(vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface) -> Float[Tensor, ""]:
    """Σ W_ij (D_whole(map i, map j) − D_part(i, j))² / Σ W_ij, over a sample of the vertices."""
    if part.distances is None or part.weights is None or whole.distances is None:
        raise ValueError("distances of part or whole are not known; give them with Surface.with_loss")
    # evenly through the numbers of the vertices: the same ones each time, from everywhere
    sample = torch.linspace(0, len(part) - 1, min(_SAMPLE, len(part)), device=part.mass.device).round().long()
    ends = vertex_map[sample]
    W = part.weights[sample][:, sample]
    found = whole.distances[ends][:, ends].to(W.dtype)
    return (W * (found - part.distances[sample][:, sample]).square()).sum() / W.sum()


def score(
    vertex_map: Int[Tensor, "p"],
    part: Surface,
    whole: Surface,
    *,
    weights: tuple[float, float, float] = SCORE_WEIGHTS,
    similar: float | Tensor = 0.0,
) -> Float[Tensor, ""]:
    """a · log distortion − b · agreement of curvature − c · similarity, with the weights (a, b, c); the lower the better."""
    distortion, curvature, similarity = weights
    found = -curvature * curvature_agreement(vertex_map, part, whole) - similarity * similar
    if distortion:
        found = found + distortion * distance_distortion(vertex_map, part, whole).clamp(min=1e-12).log()
    return found


def similarity(
    vertex_map: Int[Tensor, "p"], of_part: Float[Tensor, "p f"], of_whole: Float[Tensor, "n f"], part: Surface
) -> Float[Tensor, ""]:
    """Mean cosine of the features of vertices and of their places, by area: how sure the network is."""
    cosines = (normalize(of_part, dim=-1) * normalize(of_whole, dim=-1)[vertex_map]).sum(dim=-1)
    return (part.mass * cosines).sum() / part.mass.sum()


def best_heading(vertex_maps: list[Int[Tensor, "p"]], part: Surface, whole: Surface) -> int:
    """argmin over the maps of their `score`."""
    return first_smallest([score(found, part, whole).item() for found in vertex_maps])


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """One way to show part and whole to a network, and the map that comes of it.

    Attributes
    ----------
    part, whole : surfaces, turned as they were shown
    heading, whole_heading : numbers of the yaw_steps that it began with
    nearest : the map by nearest features
    score : see `score`; the lower the better
    aligned : how often the part was laid onto the whole by its map and matched again
    """

    part: Surface
    whole: Surface
    heading: int
    whole_heading: int
    nearest: Int[Tensor, "p"]
    score: float
    aligned: int = 0


def rigidly_aligned(part: Surface, whole: Surface, vertex_map: Int[Tensor, "p"]) -> Surface:
    """The part moved as a rigid body, so that its vertices lie nearest to their places on the whole; for the network alone.

    argmin over rotations R and shifts t of Σ area |R x + t − y|², y the places.

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
    middle, place = share @ x, share @ y
    U, _, Vt = torch.linalg.svd((share[:, None] * (x - middle)).T @ (y - place))
    # a mirror image is no rotation: the least stretched axis is turned back
    flip = torch.ones(3, dtype=torch.float64, device=x.device)
    flip[2] = torch.linalg.det(U @ Vt).sign()
    R = (Vt.T * flip) @ U.T
    points = (x - middle) @ R.T + place
    return replace(part, points=points.to(part.points), normals=part.normals @ R.T.to(part.normals))


def turned_by(surface: Surface, R: Float[Tensor, "3 3"]) -> Surface:
    """The surface in another position, as far as the network sees it."""
    return replace(surface, points=surface.points @ R.T, normals=surface.normals @ R.T)


def orientations(yaw_steps: int, axis: Axis, *, upright: bool = True) -> Float[Tensor, "r 3 3"]:
    """Rotations about an axis, full circle in so many steps; or, for what may lie any way up, those of a cube onto itself.

    Examples
    --------
    >>> orientations(4, "y").shape, orientations(1, "y", upright=False).shape
    (torch.Size([4, 3, 3]), torch.Size([24, 3, 3]))
    """
    if upright:
        return turns(2 * math.pi * torch.arange(yaw_steps) / yaw_steps, axis)
    quarter = math.pi / 2 * torch.arange(4)
    sides = torch.cat([turns(quarter, "x"), turns(quarter[1::2], "z")])
    return (sides[:, None] @ turns(quarter, "y")).flatten(0, 1)
