"""Geodesic errors: how far, along the whole, a predicted vertex is from the true one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from partwhole.datasets.pairs import GroundTruth
from partwhole.geodesics import geodesic_distances
from partwhole.geodesics.distances import DistanceMethod
from partwhole.mesh import SurfaceLike, as_mesh
from partwhole.store.arguments import as_array, check_instance, check_number

# distances between all vertices of the whole, or a function that gives the rows of chosen vertices
Distances = np.ndarray | Callable[[np.ndarray], np.ndarray]

# entries of D held at a time when rows are asked for
BLOCK_ENTRIES = 1 << 23


def distance_rows(mesh: SurfaceLike, *, method: DistanceMethod = "fast_marching") -> Callable[[np.ndarray], np.ndarray]:
    """Distances from chosen vertices, computed when asked for: what to give as `D_whole` where the matrix is too large."""
    surface = as_mesh(mesh)
    return lambda sources: np.asarray(geodesic_distances(surface, sources, method=method))


def geodesic_errors(
    vertex_map: Int[np.ndarray, "p"], ground_truth: GroundTruth, D_whole: Distances, *, area: float = 1.0
) -> Float[np.ndarray, "g"]:
    """D(predicted, true) / √area for each row of the ground truth.

    Where the truth is barycentric, D is Σ_c w_c D(predicted, corner c). This sum is exact where distances grow evenly
    over the triangle, and never too small on a flat one; round the ground truth for distances between vertices. A
    prediction on another component than the truth is inf away.

    Parameters
    ----------
    vertex_map : for each vertex of the part the predicted vertex of the whole
    ground_truth : where they truly lie
    D_whole : (n, n) distances on the whole, or a function from vertex numbers to their rows, such as `distance_rows` gives
    area : of the whole; 1 in the units of `Pair`

    Examples
    --------
    >>> D = np.abs(np.arange(4.0)[:, None] - np.arange(4.0))
    >>> geodesic_errors(np.array([0, 3, 3]), GroundTruth.of_map([0, 1, 3]), D).tolist()
    [0.0, 2.0, 0.0]
    """
    check_number("area", area)
    if not area > 0:
        raise ValueError(f"area={area} must be positive: the area of the whole")
    predicted = _predicted(vertex_map, ground_truth)
    return _weighted(ground_truth.weights, _entries(D_whole, predicted, ground_truth.corners)) / area**0.5


def flip_share(
    vertex_map: Int[np.ndarray, "p"],
    ground_truth: GroundTruth,
    symmetry: Int[np.ndarray, "n"],
    D_whole: Distances,
    *,
    area: float = 1.0,
    apart: float = 0.1,
) -> float:
    """The share of predictions that are nearer to the mirror image of the truth than to the truth.

    Counted are rows whose true place is more than `apart` · √area from its mirror image, since near the plane of symmetry
    the two can't be told apart; nan if there are none.

    Parameters
    ----------
    vertex_map, ground_truth, D_whole, area : as in `geodesic_errors`
    symmetry : for each vertex of the whole its mirror image
    apart : how far a place and its mirror image must be from each other to be counted
    """
    image = np.asarray(symmetry)
    n = len(image)
    if image.size == 0 or image.min() < 0 or image.max() >= n or ground_truth.corners.max(initial=0) >= n:
        raise ValueError(f"symmetry must give a vertex of the whole for each of its vertices, got {n} entries")
    corners, weights = ground_truth.corners, ground_truth.weights
    main = np.take_along_axis(corners, weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    counted = _entries(D_whole, main, image[main][:, None])[:, 0] > apart * area**0.5
    if not counted.any():
        return float("nan")
    predicted = _predicted(vertex_map, ground_truth)[counted]
    to_truth = _weighted(weights[counted], _entries(D_whole, predicted, corners[counted]))
    to_image = _weighted(weights[counted], _entries(D_whole, predicted, image[corners[counted]]))
    return float(np.mean(to_image < to_truth))


def _predicted(vertex_map: Int[np.ndarray, "p"], ground_truth: GroundTruth) -> Int[np.ndarray, "g"]:
    check_instance("ground_truth", ground_truth, GroundTruth, "make one with GroundTruth.of_map(vertex_map)")
    given = as_array("vertex_map must be a list of vertex numbers", vertex_map)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"vertex_map must be a list of vertex numbers, got shape {given.shape} of {given.dtype}")
    if len(ground_truth) == 0:
        raise ValueError("ground_truth has no rows, there is nothing to compare with")
    if ground_truth.part_vertices.max() >= len(given):
        raise ValueError(
            f"vertex_map has {len(given)} entries, the ground truth refers to vertex {ground_truth.part_vertices.max()} "
            "of the part; give one entry for each vertex of the part"
        )
    return given[ground_truth.part_vertices].astype(np.int64)


def _entries(D: Distances, sources: Int[np.ndarray, "g"], targets: Int[np.ndarray, "g c"]) -> Float[np.ndarray, "g c"]:
    """D[sources[i], targets[i, c]], with only the rows that are needed, a block at a time."""
    if not callable(D):
        matrix = as_array("D_whole must be (n, n), all distances on the whole", D)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"D_whole must be (n, n), all distances on the whole, got shape {matrix.shape}")
        _check_range(sources, targets, len(matrix))
        return np.asarray(matrix[sources[:, None], targets], dtype=np.float64)
    rows, position = np.unique(sources, return_inverse=True)
    found = np.empty(targets.shape)
    n = D(rows[:1]).shape[1]
    _check_range(sources, targets, n)
    height = max(1, BLOCK_ENTRIES // n)
    for start in range(0, len(rows), height):
        block = D(rows[start : start + height])
        here = np.flatnonzero((position >= start) & (position < start + height))
        found[here] = block[(position[here] - start)[:, None], targets[here]]
    return found


def _check_range(sources: Int[np.ndarray, "g"], targets: Int[np.ndarray, "g c"], n: int) -> None:
    for name, numbers in (("vertex_map", sources), ("ground_truth", targets)):
        if numbers.min() < 0 or numbers.max() >= n:
            worst = numbers.min() if numbers.min() < 0 else numbers.max()
            raise ValueError(f"{name} refers to vertex {worst} of the whole, D_whole has 0 to {n - 1}")


def _weighted(weights: Float[np.ndarray, "g c"], distances: Float[np.ndarray, "g c"]) -> Float[np.ndarray, "g"]:
    # a corner of weight zero doesn't count, even if it can't be reached: 0 · inf is nan
    return np.where(weights > 0, weights * np.where(weights > 0, distances, 0), 0).sum(axis=1)
