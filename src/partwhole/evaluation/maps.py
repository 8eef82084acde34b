"""Measures of a map that need no ground truth: how much of the whole it covers, and how rough it is."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from partwhole.mesh import Mesh, SurfaceLike, as_mesh
from partwhole.store.arguments import as_array


def coverage(vertex_map: Int[np.ndarray, "p"], whole: SurfaceLike) -> float:
    """The share of the whole's area that belongs to vertices which some vertex of the part is mapped to.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> round(coverage(np.array([1, 1, 3]), square), 6)
    0.333333
    """
    whole = as_mesh(whole, name="whole")
    reached = np.unique(_checked(vertex_map, whole))
    if whole.area == 0:
        raise ValueError(f"{whole.name} has area 0; no share of it can be covered")
    return float(whole.vertex_areas[reached].sum() / whole.area)


def roughness(vertex_map: Int[np.ndarray, "p"], part: SurfaceLike, whole: SurfaceLike) -> float:
    """Σ |x(m(i)) − x(m(j))|² / Σ |x(i) − x(j)|² over the edges (i, j) of the part; m is the map, x are coordinates.

    The Dirichlet energy of the mapped coordinates with equal weights for all edges, so that slivers do no harm. 1 for a
    rigid copy, about 1 for a map onto another pose; a tear adds the square of its width, a map to one vertex has 0.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> roughness(np.array([0, 1, 2, 3]), square, square), roughness(np.array([0, 0, 0, 0]), square, square)
    (1.0, 0.0)
    """
    part, whole = as_mesh(part, name="part"), as_mesh(whole, name="whole")
    mapped = _checked(vertex_map, whole)
    if len(mapped) != part.n_vertices:
        raise ValueError(f"vertex_map has {len(mapped)} entries, {part.name} has {part.n_vertices} vertices")
    before = float(np.sum(part.edge_lengths**2))
    if before == 0:
        raise ValueError(f"{part.name} has no edge of positive length")
    ends = whole.vertices[mapped[part.edges]]
    return float(np.sum((ends[:, 1] - ends[:, 0]) ** 2) / before)


def _checked(vertex_map: Int[np.ndarray, "p"], whole: Mesh) -> Int[np.ndarray, "p"]:
    given = as_array("vertex_map must be a list of vertex numbers", vertex_map)
    if given.ndim != 1 or len(given) == 0 or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"vertex_map must be a list of vertex numbers, got shape {given.shape} of {given.dtype}")
    if given.min() < 0 or given.max() >= whole.n_vertices:
        worst = given.min() if given.min() < 0 else given.max()
        raise ValueError(
            f"vertex_map: there is no vertex {worst}, {whole.name} has vertices 0 to {whole.n_vertices - 1}"
        )
    return given
