"""Distance distortion of a map, vertex by vertex, where distances on the part are guaranteed."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from partwhole.criterion.thresholds import wormhole_criterion
from partwhole.geodesics import geodesic_distances
from partwhole.mesh import Mesh, farthest_points
from partwhole.viewer.page.scene import Scene


def distance_distortion(
    part: Mesh,
    whole: Mesh,
    vertex_map: Int[np.ndarray, "p"],
    *,
    from_boundary: Float[np.ndarray, "b p"] | None = None,
    factor: float = 1.0,
    partners: int = 64,
    seed: int = 0,
) -> Float[np.ndarray, "p"]:
    """Mean over guaranteed partners j of |d_whole(m(i), m(j)) − f · d_part(i, j)| / √(area of the whole), for each i.

    Only pairs that the wormhole criterion guarantees count: for others the distance on the part says nothing about the
    whole. NaN where a vertex has no guaranteed pair with any partner.

    Parameters
    ----------
    part, whole : in the same units, or `factor` f apart
    vertex_map : m, for each vertex of the part its vertex of the whole
    from_boundary : distances from `part.boundary_vertices` by fast marching, if they have been measured already
    factor : f, from lengths of the part to those of the whole
    partners : so many vertices of the part, spread evenly
    seed : for the first of them

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> ball = sphere(200)
    >>> float(distance_distortion(ball, ball, np.arange(200)).max())
    0.0
    """
    chosen = farthest_points(part, min(partners, len(np.unique(part.faces))), seed=seed)
    on_part = np.asarray(geodesic_distances(part, chosen, dtype=np.float32))
    if from_boundary is None:
        boundary = part.boundary_vertices
        from_boundary = (
            np.asarray(geodesic_distances(part, boundary, dtype=np.float32))
            if len(boundary)
            else np.empty((0, part.n_vertices), np.float32)
        )
    trusted = wormhole_criterion(part, on_part, rows=chosen, from_boundary=from_boundary).mask.copy()
    trusted[np.arange(len(chosen)), chosen] = False
    on_whole = np.asarray(geodesic_distances(whole, vertex_map[chosen], dtype=np.float32))[:, vertex_map]
    # a partner on another component of the whole is infinitely far: a distortion of inf, not of nothing
    off = np.abs(np.subtract(on_whole, np.float32(factor) * on_part, out=np.zeros_like(on_part), where=trusted))
    count = trusted.sum(axis=0)
    scale = whole.area**0.5 or 1.0
    return np.divide(off.sum(axis=0), count, out=np.full(part.n_vertices, np.nan), where=count > 0) / scale


def measured_on_map(scene: Scene) -> dict[str, np.ndarray]:
    """All that takes distances on the whole: distortions, and errors where the truth is known."""
    found = distortions(scene)
    if scene.truth is not None:
        found["errors"] = scene.errors[scene.part.to_full]
    return found


def distortions(scene: Scene) -> dict[str, np.ndarray]:
    """Distance distortion of the map, and of the one before refinement, on the vertices that are drawn."""
    if scene.whole is None or scene.vertex_map is None:
        raise ValueError("there is no map yet, so nothing is distorted")
    found = {"distortion": scene.vertex_map}
    if scene.vertex_map_before is not None:
        found["distortion_before"] = scene.vertex_map_before
    part, whole = scene.part.mesh, scene.whole.mesh
    return {
        name: distance_distortion(part, whole, scene.shown_map(m), factor=scene.factor) for name, m in found.items()
    }
