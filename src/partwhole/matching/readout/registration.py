"""The read-out `registration`: the whole is bent onto the part by a map, and the nearest points on it are a better one.

They lie inside triangles, and what the map has wrong at single vertices is averaged out, since a surface can't follow it.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from partwhole.deformation.read_out import registered_map
from partwhole.matching.readout.landmarks import LandmarkDistances
from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import BarycentricMap


def registered_places(
    vertex_map: Int[Tensor, "p"], part: Mesh, whole: Mesh, *, landmarks: LandmarkDistances | None = None
) -> BarycentricMap | None:
    """The nearest points on the whole bent onto the part; None where these would change lengths of edges more than the map.

    Parameters
    ----------
    vertex_map : to begin with
    part, whole : in the same units
    landmarks : those that are sure are at their places

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> ball, other = sphere(400), sphere(300, jitter=0.3)
    >>> away = torch.cdist(torch.tensor(other.vertices), torch.tensor(ball.vertices))
    >>> places = registered_places(away.argmin(dim=1), other, ball)
    >>> off = np.linalg.norm(places.positions(ball.vertices) - other.vertices, axis=1)
    >>> bool(off.mean() < away.amin(dim=1).mean() / 2)
    True
    """
    marks = np.empty((0, 2), np.int64)
    if landmarks is not None:
        marks = torch.stack([landmarks.part, landmarks.whole], dim=1)[landmarks.sure].cpu().numpy().astype(np.int64)
    found = registered_map(part, whole, vertex_map.cpu().numpy().astype(np.int64), landmarks=marks)
    return found.places.with_vertices(*marks.T) if found.better else None
