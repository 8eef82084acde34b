"""A map read from a registration: each vertex of the part at the nearest point of the whole that was bent onto it.

The points lie inside triangles, and what the map has wrong at single vertices is averaged out, since a surface can't follow
it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from partwhole.deformation.register import FitOptions, Guide, Registration, register
from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import BarycentricMap, SurfaceTree

# stiffness of each round, in √area of the whole, and iterations of each: a map is nearly right where a fit has to be found
_LENGTHS, _STEPS = (0.05, 0.03, 0.03), 2
# in √area of the whole: a place farther than this from where the map had it is not believed
_FARTHEST = 0.1


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
    bent = register(whole, placed, guide, options=FitOptions(steps=_STEPS), lengths=_LENGTHS)
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
    trusted = near.found & (off < _FARTHEST) & (near.distances < found.reach)
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
    from partwhole.deformation.elastic import nearest_rotations

    share = part.vertex_areas * (guide.confidence + 1e-3)
    share = share / share.sum()
    y = whole.vertices[guide.vertex_map]
    x0, y0 = share @ part.vertices, share @ y
    R = nearest_rotations(((share[:, None] * (y - y0)).T @ (part.vertices - x0))[None])[0]
    return Mesh((part.vertices - x0) @ R.T + y0, part.faces, name=part.name)
