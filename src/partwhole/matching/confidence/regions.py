"""Doubts about a map that are more than a number at a vertex: regions, mirror images, surfaces that were swapped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.matching.confidence.constants import COLLAPSED
from partwhole.mesh import Mesh
from partwhole.mesh.topology import connected_labels


@dataclass(frozen=True)
class DoubtfulRegion:
    """A connected piece of the part whose places are doubtful.

    Attributes
    ----------
    vertices : how many
    area_share : of the part's area
    confidence : mean over its vertices
    vertex : the one in it that is least sure
    centre : mean of its vertices, in the coordinates of the part
    """

    vertices: int
    area_share: float
    confidence: float
    vertex: int
    centre: tuple[float, float, float]


def doubtful_regions(
    mesh: Mesh, doubtful: Bool[np.ndarray, "n"], confidence: Float[np.ndarray, "n"], *, least_share: float = 0.001
) -> tuple[DoubtfulRegion, ...]:
    """The connected pieces of what is doubtful, largest area first; those below a share of the area are left out.

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> ball = sphere(500)
    >>> low = np.abs(ball.vertices[:, 2]) > 0.8
    >>> [round(region.area_share, 1) for region in doubtful_regions(ball, low, 1.0 - low)]
    [0.1, 0.1]
    """
    inside = doubtful[mesh.edges].all(axis=1)
    labels = connected_labels(mesh.n_vertices, mesh.edges[inside])
    areas = np.bincount(labels, weights=mesh.vertex_areas)
    found = []
    for label in np.unique(labels[doubtful]):
        if areas[label] < least_share * mesh.area:
            continue
        members = np.flatnonzero(labels == label)
        x, y, z = mesh.vertices[members].mean(axis=0).tolist()
        least = int(members[confidence[members].argmin()])
        sure = float(confidence[members].mean())
        found.append(DoubtfulRegion(len(members), float(areas[label] / mesh.area), sure, least, (x, y, z)))
    return tuple(sorted(found, key=lambda region: -region.area_share))


def swapped_question(part: Mesh, whole: Mesh) -> str | None:
    """What to ask where the part has no boundary and the whole has one, as if they were swapped; None where they are not.

    Examples
    --------
    >>> from partwhole.datasets import cut_plane, sphere
    >>> ball = sphere(200)
    >>> half = cut_plane(ball, (0, 0, 0), (0, 0, 1)).part
    >>> swapped_question(ball, half)
    'the part has no boundary and the whole has holes; are they swapped?'
    >>> swapped_question(half, ball) is None
    True
    """
    if part.is_closed and not whole.is_closed:
        return "the part has no boundary and the whole has holes; are they swapped?"
    return None


def reversed_share(vertex_map: Int[np.ndarray, "p"], part: Mesh, whole: Mesh) -> float:
    """The share of the part's area whose triangles come out with the other orientation: near 1 in a mirror image.

    Both in the same units, faces outwards. Triangles that collapse to an edge or a point are not counted; nan if all do.

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> ball = sphere(400)
    >>> reversed_share(np.arange(400), ball, ball)
    0.0
    >>> from scipy.spatial import cKDTree
    >>> mirrored = cKDTree(ball.vertices).query(ball.vertices * [-1, 1, 1])[1]
    >>> reversed_share(mirrored, ball, ball) > 0.8
    True
    """
    images = vertex_map[part.faces]
    a, b, c = (whole.vertices[images[:, corner]] for corner in range(3))
    normal = np.cross(b - a, c - a)
    along = np.einsum("ij,ij->i", normal, whole.vertex_normals[images].sum(axis=1)) / 6
    area = part.face_areas
    counted = np.abs(along) > COLLAPSED * area
    if not counted.any():
        return float("nan")
    return float(area[counted & (along < 0)].sum() / area[counted].sum())
