"""Maps from a part to a whole, read from features: soft, hard, spectral, ZoomOut, lateration, registration; and scores.

Lateration: a map is a little wrong everywhere, and neighbours are wrong in different ways. Distances on the part, where they
are guaranteed, say where a vertex lies as seen from each of its neighbours; the image that fits them all is nearer to the
truth. It is what a receiver does with the distances to its satellites.

Registration: the whole is bent onto the part, and each vertex of the part has its place at the nearest point. The places lie
inside triangles, and what the map has wrong at single vertices is averaged out, since a surface can't follow it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.deformation.register import FitOptions, Guide, Registration, register
from partwhole.matching.config import ReadOut, check_read_out
from partwhole.matching.network.surface import Surface, distance_distortion
from partwhole.matching.readout.landmarks import LandmarkDistances
from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import BarycentricMap, SurfaceTree
from partwhole.store.compute import rotation_onto

# the map to begin with is known better than 20 eigenpairs can hold, where ZoomOut usually begins
_START, _STEP = 60, 10
# weights of the logarithm of the distortion, the agreement of curvature and the similarity of features; the second was
# fixed on training parts of PFAUST-H, where anything from 3 to 50 chooses equally well
SCORE_WEIGHTS = (1.0, 10.0, 0.0)


def zoomed_out(
    vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface, *, start: int = _START, step: int = _STEP
) -> Int[Tensor, "p"]:
    """C ← Φ_partᵀ A_part P Φ_whole, P ← nearest rows of Φ_part and Φ_whole Cᵀ, in turn, with ever more eigenpairs.

    Parameters
    ----------
    vertex_map : to begin with
    part, whole : surfaces
    start, step : eigenpairs of the whole to begin with, all of them if there are fewer, and to add each time
    """
    last = whole.values.shape[-1]
    weighted = part.functions * part.mass[:, None]
    for k in [*range(start, last, step), last]:
        # of a part as many as lie below the highest of the whole, since it has fewer
        rank = int((part.values < whole.values[:k].max()).sum().clamp(min=1))
        C = weighted[:, :rank].T @ whole.functions[vertex_map, :k]
        vertex_map = nearest_rows(part.functions[:, :rank], whole.functions[:, :k] @ C.T)
    return vertex_map


def less_distorted(vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface) -> Int[Tensor, "p"]:
    """The map after ZoomOut if it distorts distances less, see `distance_distortion`; else the map as it was."""
    zoomed = zoomed_out(vertex_map, part, whole)
    before, after = (distance_distortion(found, part, whole) for found in (vertex_map, zoomed))
    return torch.where(after < before, zoomed, vertex_map)


# vertices around that say where one belongs, how far they count (√area of the whole), and places that are looked at
ANCHORS, RADIUS, PLACES = 64, 0.15, 64
# every third vertex says so: as many of them reach farther, and neighbours repeat each other
EVERY = 3
STEPS = 5
_ROWS = 256


def laterated(
    vertex_map: Int[Tensor, "p"],
    part: Surface,
    whole: Surface,
    *,
    steps: int = STEPS,
    landmarks: LandmarkDistances | None = None,
) -> Int[Tensor, "p"]:
    """map i ← argmin_w Σ_j a_ij (D_whole(w, map j) − D_part(i, j))², for all vertices at once, so many times.

    j are the nearest to i of every third vertex, where the distance is guaranteed; a_ij = area_j exp(−(D_part / 0.15)²); w
    are the places around the present one.

    Parameters
    ----------
    vertex_map : to begin with
    part, whole : with distances, the part with weights
    steps : how often
    landmarks : whose distances count too, by their `pull`

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
    far = torch.where(part.guaranteed[:, some], part.distances[:, some], torch.inf)
    away, near = far.topk(min(ANCHORS, count), dim=1, largest=False)
    anchors = some[near]
    # an infinite distance has weight 0, and is left out of the sum by being 0
    weights = torch.exp(-((away / RADIUS) ** 2)) * part.mass[anchors]
    weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1e-30)
    away = torch.where(away.isfinite(), away, 0)
    around = whole.distances.topk(min(PLACES, len(whole)), dim=1, largest=False).indices
    for _ in range(steps):
        vertex_map = _moved(vertex_map, anchors, away, weights, around, whole.distances, landmarks)
    return vertex_map


def _moved(
    vertex_map: Int[Tensor, "p"],
    anchors: Int[Tensor, "p k"],
    away: Float[Tensor, "p k"],
    weights: Float[Tensor, "p k"],
    around: Int[Tensor, "n c"],
    D: Float[Tensor, "n n"],
    landmarks: LandmarkDistances | None,
) -> Int[Tensor, "p"]:
    found = []
    for start in range(0, len(vertex_map), _ROWS):
        rows = slice(start, start + _ROWS)
        places = around[vertex_map[rows]]
        there = D[vertex_map[anchors[rows]][:, :, None], places[:, None, :]].to(away.dtype)
        off = (weights[rows, :, None] * (there - away[rows, :, None]).square()).sum(dim=1)
        if landmarks is not None:
            off = off + landmarks.pulls(torch.arange(len(vertex_map), device=off.device)[rows], places)
        found.append(places.gather(1, off.argmin(dim=1, keepdim=True))[:, 0])
    return torch.cat(found)


# entries of the products of features that are held at a time
BLOCK_ENTRIES = 1 << 25


@dataclass(frozen=True, eq=False)
class Comparison:
    """Features of a part and of a whole that can be compared: the cosine of two rows says how alike two vertices are.

    Attributes
    ----------
    part, whole : features
    no_match : similarity below which a vertex of the part has no match on the whole; None: every vertex has one
    vertex_map : the map, where the method has one of its own; None: that of the most similar features
    """

    part: Float[Tensor, "p f"]
    whole: Float[Tensor, "n f"]
    no_match: float | None = None
    vertex_map: Int[Tensor, "p"] | None = None

    def nearest(self, suits: Float[Tensor, "p n"] | None = None) -> Int[Tensor, "p"]:
        """For each vertex of the part the most similar vertex of the whole, or that of the method's own map.

        Parameters
        ----------
        suits : is added to the similarities, where more than features is known
        """
        if self.vertex_map is not None:
            return self.vertex_map
        if suits is None:
            return hard_map(self.part, self.whole)
        one, other = normalize(self.part, dim=-1), normalize(self.whole, dim=-1)
        blocks = torch.arange(len(one), device=one.device).split(max(1, BLOCK_ENTRIES // len(other)))
        return torch.cat([(one[rows] @ other.T + suits[rows]).argmax(dim=1) for rows in blocks])

    def soft_map(self, temperature: float, *, absent: Float[Tensor, "n"] | None = None) -> Float[Tensor, "p n"]:
        """Row softmax of the similarities; see `soft_map`."""
        return soft_map(self.part, self.whole, temperature, absent=absent, no_match=self.no_match)


def soft_map(
    part: Float[Tensor, "p f"],
    whole: Float[Tensor, "n f"],
    temperature: float,
    *,
    absent: Float[Tensor, "n"] | None = None,
    no_match: float | None = None,
    suits: Float[Tensor, "p n"] | None = None,
) -> Float[Tensor, "p n"]:
    """P = row softmax of cos(part feature, whole feature) / τ; rows sum to one, or to less where there may be no match.

    Parameters
    ----------
    part, whole : features of the vertices
    temperature : τ; the smaller, the sharper
    absent : −inf for vertices of the whole that are not there, 0 for the others
    no_match : the cosine of "no match", a further column that is left out of the result; None: there is none
    suits : is added to the cosines, where more than features is known

    Examples
    --------
    >>> P = soft_map(torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), 0.1)
    >>> P.argmax(dim=1).tolist(), P.sum(dim=1).tolist()
    ([0, 1], [1.0, 1.0])
    >>> soft_map(torch.eye(2), torch.tensor([[1.0, 0.0]]), 0.1, no_match=0.5)[:, 0] > 0.5
    tensor([ True, False])
    """
    # the temperature goes with the smaller matrix
    sharp, other = normalize(part, dim=-1) / temperature, normalize(whole, dim=-1).T
    similar = sharp @ other if absent is None else torch.addmm(absent, sharp, other)
    if suits is not None:
        similar = similar + suits / temperature
    if no_match is None:
        return torch.softmax(similar, dim=-1)
    nothing = torch.full_like(similar[:, :1], no_match / temperature)
    return torch.softmax(torch.cat([similar, nothing], dim=-1), dim=-1)[:, :-1]


def hard_map(part: Float[Tensor, "p f"], whole: Float[Tensor, "n f"]) -> Int[Tensor, "p"]:
    """argmax_j cos(part feature i, whole feature j): where each row of the soft map is largest.

    Examples
    --------
    >>> hard_map(torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0], [0.0, 0.5]])).tolist()
    [1]
    """
    return nearest_rows(normalize(part, dim=-1), normalize(whole, dim=-1))


def functional_map_of(
    map_to_whole: Float[Tensor, "p n"] | Int[Tensor, "p"], part: Surface, whole: Surface, k: int
) -> Float[Tensor, "r k"]:
    """C = Φ_partᵀ A_part P Φ_whole, of a soft map P or of a vertex map; r < k rows if the part has fewer eigenpairs."""
    chosen = whole.functions[:, :k]
    pulled = chosen[map_to_whole] if map_to_whole.ndim == 1 else map_to_whole @ chosen
    return (part.functions[:, :k] * part.mass[:, None]).T @ pulled


def spectral_map(vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface, k: int) -> Int[Tensor, "p"]:
    """The vertex map of the functional map of a vertex map: what is smooth about it.

    For each row of Φ_part the nearest row of Φ_whole Cᵀ, with k eigenpairs of each.
    """
    C = functional_map_of(vertex_map, part, whole, k)
    return nearest_rows(part.functions[:, :k], whole.functions[:, :k] @ C.T)


def nearest_rows(queries: Float[Tensor, "q d"], points: Float[Tensor, "p d"]) -> Int[Tensor, "q"]:
    """argmin_j |q_i − p_j|, by matrix products, block by block."""
    half_squares = points.square().sum(dim=1) / 2
    rows = max(1, BLOCK_ENTRIES // len(points))
    return torch.cat([(block @ points.T - half_squares).argmax(dim=1) for block in queries.split(rows)])


def read_map(
    nearest: Int[Tensor, "p"],
    part: Surface,
    whole: Surface,
    read_out: ReadOut,
    *,
    eigenpairs: int,
    landmarks: LandmarkDistances | None = None,
) -> Int[Tensor, "p"]:
    """The map of nearest features, smoothed.

    Parameters
    ----------
    nearest : for each vertex of the part the vertex of the whole with the most similar features
    part, whole : surfaces; for ZoomOut and lateration with distances, and the part with weights
    read_out : "features", `nearest` itself; "spectral", smoothed through the eigenfunctions of both; "zoomout", then by
        ZoomOut where that distorts distances less; "lateration", then moved to where guaranteed distances to the images of
        the neighbours are right. "registration" begins with the same; bending takes meshes, see `registered_places`
    eigenpairs : of the functional map; fewer if a surface has fewer
    landmarks : are taken into account in lateration, and are at their places in the map, whatever the read-out
    """
    check_read_out(read_out)
    found = nearest
    if read_out != "features":
        found = spectral_map(nearest, part, whole, min(eigenpairs, part.values.shape[-1], whole.values.shape[-1]))
    if read_out == "zoomout":
        found = less_distorted(found, part, whole)
    if read_out in ("lateration", "registration"):
        found = laterated(found, part, whole, landmarks=landmarks)
    return found if landmarks is None else landmarks.held(found)


# --- how well a map fits, without the truth
#
# A body turned by half a turn has nearly the same geodesic distances, left and right exchanged and front and back as well, so
# distances alone can't tell the two apart. Curvature can: the belly, the heels, the nose. A map is scored by both.


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


def feature_similarity(
    vertex_map: Int[Tensor, "p"], of_part: Float[Tensor, "p f"], of_whole: Float[Tensor, "n f"], part: Surface
) -> Float[Tensor, ""]:
    """Mean cosine of the features of vertices and of their images, weighted by area."""
    cosines = (normalize(of_part, dim=-1) * normalize(of_whole, dim=-1)[vertex_map]).sum(dim=-1)
    return (part.mass * cosines).sum() / part.mass.sum()


def score(
    vertex_map: Int[Tensor, "p"],
    part: Surface,
    whole: Surface,
    *,
    weights: tuple[float, float, float] = SCORE_WEIGHTS,
    similarity: float | Tensor = 0.0,
) -> float:
    """a · log distortion − b · agreement of curvature − c · similarity, with the weights (a, b, c); the lower the better.

    Distances are taken relative to those of the part, so that maps at different scales can be compared.
    """
    distortion, curvature, alike = weights
    found = -curvature * curvature_agreement(vertex_map, part, whole) - alike * similarity
    if not distortion:
        return float(found)
    found = found + distortion * distance_distortion(vertex_map, part, whole).clamp(min=1e-12).log()
    assert part.distances is not None
    assert part.weights is not None
    size = (part.weights * part.distances.square()).sum() / part.weights.sum().clamp(min=1e-30)
    return float(found - distortion * size.clamp(min=1e-30).log())


def best_stretch(vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface) -> float:
    """argmin_s Σ W (D_whole(map i, map j) − s D_part)²: how much longer distances are on the whole than on the part."""
    assert part.distances is not None
    assert part.weights is not None
    assert whole.distances is not None
    above = below = 0.0
    # in blocks of rows: the distances between all images are a matrix as large as the part's
    for start, end in pairwise([*range(0, len(part), 512), len(part)]):
        W, D = part.weights[start:end], part.distances[start:end]
        found = whole.distances[vertex_map[start:end]][:, vertex_map]
        above += float((W * D * found).sum())
        below += float((W * D.square()).sum())
    return above / below if below > 0 else math.nan


# stiffness of each round, in √area of the whole, and iterations of each: a map is nearly right where a fit has to be found
REGISTRATION_LENGTHS, REGISTRATION_STEPS = (0.05, 0.03, 0.03), 2
# in √area of the whole: a place farther than this from where the map had it is not believed
FARTHEST = 0.1


@dataclass(frozen=True, eq=False)
class RegisteredMap:
    """A map whose places lie inside triangles.

    Attributes
    ----------
    places : for each vertex of the part; what the registration left where it was has the place that it had
    moved : share of the vertices that the registration found a place for
    stretch : how much the lengths of edges change, on average, before and after: where it rises, the map as it was is better
    """

    places: BarycentricMap
    moved: float
    stretch: tuple[float, float]

    @property
    def better(self) -> bool:
        """Whether lengths of edges change less than before."""
        return self.stretch[1] < self.stretch[0]


def registered_map(
    part: Mesh,
    whole: Mesh,
    vertex_map: Int[np.ndarray, "p"],
    confidence: Float[np.ndarray, "p"] | None = None,
    *,
    landmarks: Int[np.ndarray, "k 2"] | None = None,
) -> RegisteredMap:
    """Bend the whole onto the part, and take for each vertex of the part the nearest point on it.

    The map has to be nearly right: the whole is bent in a few steps, and no place moves far.

    Parameters
    ----------
    part, whole : in the same units, anywhere
    vertex_map : to begin with
    confidence : of the map, from 0 to 1; all the same if not given
    landmarks : rows of (vertex of the part, vertex of the whole), which are certain
    """
    guide = Guide.of(vertex_map, confidence)
    if landmarks is not None:
        guide = replace(guide, landmarks=landmarks)
    placed = aligned(part, whole, guide)
    bent = register(whole, placed, guide, options=FitOptions(steps=REGISTRATION_STEPS), lengths=REGISTRATION_LENGTHS)
    return read_places(placed, whole, guide, bent)


def registered_places(
    part: Mesh,
    whole: Mesh,
    vertex_map: Int[np.ndarray, "p"],
    *,
    landmarks: Int[np.ndarray, "k 2"] | None = None,
) -> BarycentricMap | None:
    """The places of `registered_map`; None where they would change lengths of edges more than the map does.

    Parameters
    ----------
    part, whole, vertex_map, landmarks : as in `registered_map`; the landmarks are at their places

    Examples
    --------
    >>> from scipy.spatial import cKDTree
    >>> from partwhole.datasets import sphere
    >>> ball, other = sphere(400), sphere(300, jitter=0.3)
    >>> away, nearest = cKDTree(ball.vertices).query(other.vertices)
    >>> places = registered_places(other, ball, nearest)
    >>> off = np.linalg.norm(places.positions(ball.vertices) - other.vertices, axis=1)
    >>> bool(off.mean() < away.mean() / 2)
    True
    """
    found = registered_map(part, whole, vertex_map, landmarks=landmarks)
    if not found.better:
        return None
    return found.places if landmarks is None else found.places.with_vertices(*landmarks.T)


def read_places(part: Mesh, whole: Mesh, guide: Guide, found: Registration) -> RegisteredMap:
    """The map of a registration.

    Parameters
    ----------
    part, whole, guide : as they were registered
    found : the registration
    """
    vertex_map = guide.vertex_map
    bent = Mesh(found.vertices, whole.faces, name=whole.name)
    near = SurfaceTree(bent).nearest(part.vertices, part.vertex_normals)
    triangles = whole.faces[near.faces]
    at_rest = np.einsum("pc,pcd->pd", near.weights, whole.vertices[triangles])
    unit = whole.area**0.5
    off = np.linalg.norm(at_rest - whole.vertices[vertex_map], axis=1) / unit
    trusted = near.found & (off < FARTHEST) & (near.distances < found.reach)
    triangles = np.where(trusted[:, None], triangles, vertex_map[:, None])
    weights = np.where(trusted[:, None], near.weights, [1.0, 0.0, 0.0])
    places = BarycentricMap(triangles, weights, np.ones(len(trusted), bool))
    before, after = whole.vertices[vertex_map], places.positions(whole.vertices)
    stretch = _stretch(part, before), _stretch(part, after)
    return RegisteredMap(places, float(trusted.mean()), stretch)


def _stretch(part: Mesh, images: Float[np.ndarray, "p 3"]) -> float:
    i, j = part.edges.T
    return float(np.abs(np.linalg.norm(images[i] - images[j], axis=1) - part.edge_lengths).mean())


def aligned(part: Mesh, whole: Mesh, guide: Guide) -> Mesh:
    """The part turned and moved onto its image, by least squares."""
    share = part.vertex_areas * (guide.confidence + 1e-3)
    share = share / share.sum()
    y = whole.vertices[guide.vertex_map]
    x0, y0 = share @ part.vertices, share @ y
    R = rotation_onto(part.vertices - x0, y - y0, share)
    return Mesh((part.vertices - x0) @ R.T + y0, part.faces, name=part.name)
