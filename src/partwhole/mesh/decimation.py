"""Fewer vertices, same surface: decimation that keeps boundaries, handles and components.

Also farthest point sampling: a few vertices, spread evenly over a surface.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from partwhole.mesh.surface import Mesh, as_mesh, edge_graph
from partwhole.mesh.surface_like import SurfaceLike
from partwhole.store.arguments import check_seed, check_whole_number
from partwhole.store.compute import first_largest


@dataclass(frozen=True, eq=False)
class Decimation:
    """A surface with fewer vertices, and how the two correspond.

    Attributes
    ----------
    mesh : the result; its vertices are vertices of the input, `mesh.vertices == input.vertices[to_fine]`
    to_fine : for each vertex of the result, its number in the input
    to_coarse : for each vertex of the input, the vertex of the result that is nearest along the input's edges
    """

    mesh: Mesh
    to_fine: Int[np.ndarray, "coarse"]
    to_coarse: Int[np.ndarray, "fine"]


def decimate(mesh: SurfaceLike, n_vertices: int, *, keep_boundary: bool = True) -> Decimation:
    """Remove vertices, those that matter least for the shape first, until `n_vertices` are left.

    The topology is kept: a manifold stays a manifold with the same number of components, boundary loops and handles.
    Vertices where the surface is not a manifold stay, and those with more than 100 triangles. Vertices without faces are
    dropped. If the surface can't have as few vertices as asked (because of its boundary, its handles or its creases), the
    result has as few as it can.

    Parameters
    ----------
    mesh : the surface
    n_vertices : how many vertices to leave; at or above the present number nothing is changed
    keep_boundary : keep every boundary vertex; otherwise the boundary is simplified too, and stays a boundary

    Examples
    --------
    >>> from partwhole.datasets.shapes.primitives import torus
    >>> fine = torus(n_vertices=2000)
    >>> coarse = decimate(fine, 500)
    >>> coarse.mesh, bool(np.all(coarse.mesh.vertices == fine.vertices[coarse.to_fine]))
    (Mesh('torus': 500 vertices, 1000 faces, 0 boundary loops, 1 components), True)
    """
    mesh = as_mesh(mesh)
    check_whole_number("n_vertices", n_vertices)
    if n_vertices < 3:
        raise ValueError(f"n_vertices={n_vertices} is too few, a surface has at least 3")
    if n_vertices >= mesh.n_vertices:
        unchanged = np.arange(mesh.n_vertices)
        return Decimation(mesh, unchanged, unchanged.copy())
    from partwhole.mesh.cpu.collapse import collapse

    boundary = np.zeros(mesh.n_vertices, bool)
    boundary[mesh.boundary_vertices] = True
    frozen = _not_manifold(mesh) | (boundary & bool(keep_boundary))
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    size = float((high - low).max())
    in_box = (mesh.vertices - low) / (size if size > 0 else 1.0)
    faces = collapse(in_box, mesh.faces, frozen, boundary, _boundary_corners(mesh), n_vertices)
    to_fine = np.unique(faces)
    result = Mesh(mesh.vertices[to_fine], np.searchsorted(to_fine, faces), name=mesh.name)
    return Decimation(result, to_fine, _nearest(mesh, to_fine))


def _not_manifold(mesh: Mesh) -> Bool[np.ndarray, "n"]:
    fixed = mesh.fans_per_vertex > 1
    fixed[mesh.edges[mesh.faces_per_edge > 2]] = True
    return fixed


def _boundary_corners(mesh: Mesh) -> Int[np.ndarray, "b 3"]:
    """Boundary edges, each with the opposite corner of its face."""
    face, corner = np.nonzero(mesh.faces_per_edge[mesh.opposite_edges] == 1)
    return np.stack([mesh.faces[face, (corner + shift) % 3] for shift in (1, 2, 0)], axis=1)


def _nearest(mesh: Mesh, to_fine: Int[np.ndarray, "coarse"]) -> Int[np.ndarray, "fine"]:
    from scipy.sparse import csgraph
    from scipy.spatial import cKDTree

    distance, _, origin = csgraph.dijkstra(edge_graph(mesh), indices=to_fine, min_only=True, return_predecessors=True)
    alone = ~np.isfinite(distance)
    if alone.any():
        # vertices without faces have no edges to follow
        origin[alone] = to_fine[cKDTree(mesh.vertices[to_fine]).query(mesh.vertices[alone])[1]]
    return np.searchsorted(to_fine, origin)


def farthest_points(
    mesh: SurfaceLike, count: int, *, first: int | None = None, seed: int | np.random.Generator = 0
) -> Int[np.ndarray, "count"]:
    """Vertices s₁, s₂, …, each the farthest from those before it: s_k = argmax_v min_{j<k} d(v, s_j).

    d is the length of the shortest path along edges. Vertices of a component without a sample are infinitely far, so
    every component gets one before any gets a second. Vertices without faces are never chosen.

    Parameters
    ----------
    mesh : the surface
    count : how many vertices, at most as many as have faces
    first : the first vertex; without it, one is drawn at random
    seed : for that draw

    Examples
    --------
    >>> path = Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [0, 1, 0]], [[0, 1, 4], [1, 2, 4], [2, 3, 4]])
    >>> farthest_points(path, 2, first=0).tolist()
    [0, 3]
    """
    mesh = as_mesh(mesh)
    check_whole_number("count", count)
    check_whole_number("first", first, or_none=True)
    check_seed(seed)
    candidates = np.unique(mesh.faces)
    if not 1 <= count <= len(candidates):
        raise ValueError(f"count={count} must lie between 1 and {len(candidates)}, the vertices with faces")
    if first is None:
        first = int(np.random.default_rng(seed).choice(candidates))
    elif first not in candidates:
        raise ValueError(f"first={first} is not a vertex with faces; vertices are numbered 0 to {mesh.n_vertices - 1}")
    from scipy.sparse import csgraph

    graph = edge_graph(mesh)
    nearest = np.full(mesh.n_vertices, -1.0)
    nearest[candidates] = np.inf
    chosen = np.empty(int(count), dtype=np.int64)
    following = int(first)
    for k in range(count):
        chosen[k] = following
        # a new sample changes nothing beyond the present covering radius: the search can stop there
        reached = csgraph.dijkstra(graph, indices=following, limit=nearest[following])
        np.minimum(nearest, reached, out=nearest)
        # a vertex at distance zero (coinciding points) may be chosen later, a chosen one never again
        nearest[following] = -1.0
        following = first_largest(nearest)
    return chosen
