"""The input of an estimator, points, a mesh or distances, as distances along a surface and its boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.utils.validation import check_non_negative

from partwhole.embedding.estimators.sklearn_versions import checked_data
from partwhole.embedding.graph.boundary import boundary_points
from partwhole.embedding.graph.point_clouds import confirmed_steps, graph_distances, neighbour_graph
from partwhole.embedding.solver.pairs import checked_distances
from partwhole.geodesics import geodesic_distances
from partwhole.mesh import Mesh, as_mesh
from partwhole.mesh.surface_like import is_surface
from partwhole.store.arguments import as_array, check_whole_number

# A boundary point that is missed makes pairs seem guaranteed that are not; one too many only costs pairs. So the
# criterion is given more points than are likely to be on the boundary.
CAUTIOUS = 0.1

# Longer steps lead to so many times `n_neighbors` nearest points, where a path of shorter ones is at most so many times
# as long. Paths of the shortest steps zigzag most; on a sparse sample a narrower limit would refuse steps that are right.
_LONGER = ((2, 3.0), (4, 2.0))


@dataclass(frozen=True, eq=False)
class SurfaceInput:
    """Distances along a surface, the numbers of its boundary points, and where its points lie in space, if known.

    `along_graph` says that distances are lengths of paths from point to point, which are the less exact the longer.
    """

    distances: Float[np.ndarray, "n n"]
    boundary: Int[np.ndarray, "b"]
    points: Float[np.ndarray, "n d"] | None
    boundary_score: Float[np.ndarray, "n"] | None = None
    mesh: Mesh | None = None
    along_graph: bool = False


def checked_input(estimator: Any, X: Any, points: Any) -> SurfaceInput:
    """Validate what `fit` was given and measure distances along its surface."""
    if estimator.metric not in ("euclidean", "precomputed"):
        raise ValueError(f'metric must be "euclidean" or "precomputed", got {estimator.metric!r}')
    check_whole_number("n_components", estimator.n_components)
    check_whole_number("n_neighbors", estimator.n_neighbors)
    check_whole_number("path_neighbors", estimator.path_neighbors, or_none=True)
    precomputed = estimator.metric == "precomputed"
    if points is not None and not precomputed:
        raise ValueError('points goes with metric="precomputed"; here X has the points itself')
    if is_surface(X):
        if precomputed:
            raise ValueError('X is a mesh, so metric must be "euclidean": distances are computed along its surface')
        return _from_mesh(estimator, as_mesh(X, name="X"))
    X = checked_data(estimator, X)
    return _from_distances(estimator, X, points) if precomputed else _from_points(estimator, X)


def _from_points(estimator: Any, X: np.ndarray) -> SurfaceInput:
    points, n, k = X.astype(np.float64), len(X), estimator.n_neighbors
    if not 1 <= k < n:
        raise ValueError(f"Expected 1 <= n_neighbors < n_samples, but n_neighbors={k}, n_samples={n}")
    graph = _path_graph(estimator, points)
    score = None
    if isinstance(estimator.boundary, str):
        _check_auto(estimator.boundary)
        found = boundary_points(points, threshold=CAUTIOUS)
        boundary, score = found.indices, found.score
    else:
        boundary = _checked_boundary(estimator.boundary, n)
    return SurfaceInput(graph_distances(graph), boundary, points, score, along_graph=True)


def _path_graph(estimator: Any, points: Float[np.ndarray, "n d"]) -> Any:
    """Steps that paths are made of: those to `n_neighbors`, and by default longer ones where a path of shorter ones
    confirms them."""

    def steps(n_neighbors: int) -> Any:
        return neighbour_graph(
            points,
            n_neighbors=min(n_neighbors, len(points) - 1),
            longest_step=estimator.longest_step,
            steepest_step=estimator.steepest_step,
            dimension=max(2, estimator.n_components),
        )

    if estimator.path_neighbors is not None:
        return steps(estimator.path_neighbors)
    graph = steps(estimator.n_neighbors)
    for times, detour in _LONGER:
        graph = confirmed_steps(steps(times * estimator.n_neighbors), graph, detour=detour)
    return graph


def _from_mesh(estimator: Any, mesh: Mesh) -> SurfaceInput:
    estimator.n_features_in_ = 3
    D = geodesic_distances(mesh, method=estimator.mesh_distances, dtype=np.float32)
    if isinstance(estimator.boundary, str):
        _check_auto(estimator.boundary)
        boundary = mesh.boundary_vertices
    else:
        boundary = _checked_boundary(estimator.boundary, mesh.n_vertices)
    along_graph = estimator.mesh_distances == "dijkstra"
    return SurfaceInput(np.asarray(D), boundary, mesh.vertices, mesh=mesh, along_graph=along_graph)


def _from_distances(estimator: Any, X: np.ndarray, points: Any) -> SurfaceInput:
    check_non_negative(X, f'{type(estimator).__name__} (metric="precomputed")')
    D = checked_distances(X)
    if isinstance(estimator.boundary, str):
        raise ValueError(
            f'boundary={estimator.boundary!r} can\'t be found from distances: give metric="precomputed" the numbers or a '
            "mask of the boundary points (an empty list if there are none)"
        )
    boundary = _checked_boundary(estimator.boundary, len(D))
    if points is not None:
        points = np.asarray(points, dtype=np.float64)
        if points.ndim != 2 or len(points) != len(D) or not np.isfinite(points).all():
            raise ValueError(f"points must be {len(D)} finite places, one row each, got shape {points.shape}")
    elif estimator._kind == "wormhole" and len(boundary):
        raise ValueError(
            "the wormhole criterion needs straight lines in space: give fit the places of the samples as points=, "
            "or use TCIE, which needs none"
        )
    return SurfaceInput(D, boundary, points)


def _check_auto(boundary: str) -> None:
    if boundary != "auto":
        raise ValueError(f'boundary must be "auto", point numbers or a mask, got {boundary!r}')


def _checked_boundary(boundary: Any, n: int) -> Int[np.ndarray, "b"]:
    """Numbers or a mask of boundary points, as numbers in increasing order."""
    wanted = 'boundary must be "auto", point numbers or a mask'
    array = as_array(wanted, [] if boundary is None else boundary)
    if array.ndim == 1 and array.dtype == bool and len(array) == n:
        return np.flatnonzero(array)
    if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise ValueError(
            f"boundary must be a list of point numbers or a mask of {n} points, got {array.dtype} of shape {array.shape}"
        )
    if array.size and (array.min() < 0 or array.max() >= n):
        raise ValueError(f"boundary has points {array.min()} to {array.max()}, but they are numbered 0 to {n - 1}")
    return np.unique(array.astype(np.int64))
