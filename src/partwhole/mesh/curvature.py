"""Mean curvature, from the angles between neighbouring triangles."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole.mesh.surface import Mesh


def integrated_mean_curvature(mesh: Mesh) -> Float[np.ndarray, "n"]:
    """¼ Σ |e| θ_e over the edges e at each vertex that have two triangles: the integral of (κ₁ + κ₂) / 2 around it.

    θ_e is the angle between the normals of the two triangles, positive where the surface bends away from them. Edges
    on the boundary count 0, and so do those where orientations disagree or more than two triangles meet: neither says
    how the surface bends.

    Examples
    --------
    On a sphere of radius r the mean curvature is 1 / r, and its integral 4 π r:

    >>> from partwhole.datasets import sphere
    >>> f"{integrated_mean_curvature(sphere(2000, radius=3.0)).sum() / (4 * np.pi * 3):.2f}"
    '1.00'
    """
    face = np.repeat(np.arange(mesh.n_faces), 3)
    edge = mesh.opposite_edges.ravel()
    # corner c is opposite to the edge from corner c + 1 to corner c + 2
    start, end = np.roll(mesh.faces, -1, axis=1).ravel(), np.roll(mesh.faces, -2, axis=1).ravel()
    order = np.argsort(edge, kind="stable")
    twos = np.flatnonzero(mesh.faces_per_edge == 2)
    first = order[np.searchsorted(edge[order], twos)]
    second = order[np.searchsorted(edge[order], twos) + 1]
    agree = (start[first] == end[second]) & (end[first] == start[second])
    twos, first, second = twos[agree], first[agree], second[agree]

    one, other = mesh.face_normals[face[first]], mesh.face_normals[face[second]]
    along = mesh.vertices[end[first]] - mesh.vertices[start[first]]
    length = np.linalg.norm(along, axis=1)
    unit = np.divide(along, length[:, None], out=np.zeros_like(along), where=length[:, None] > 0)
    # sin θ has the sign of the turn about the edge, seen along it from the first triangle
    sine = np.einsum("ei,ei->e", np.cross(one, other), unit)
    angle = np.arctan2(sine, np.einsum("ei,ei->e", one, other))
    share = length * angle / 4
    ends = mesh.edges[twos]
    # without any edge, bincount forgets that weights are numbers with a point
    return np.bincount(ends.ravel(), weights=np.repeat(share, 2), minlength=mesh.n_vertices).astype(np.float64)
