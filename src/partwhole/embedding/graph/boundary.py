"""The boundary of a point cloud: points with no neighbours on one side, detected in local tangent planes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from partwhole.embedding.graph.point_clouds import checked_points, nearest_neighbours
from partwhole.store.arguments import check_number, check_whole_number

# Directions tried around each point, one every two degrees.
_DIRECTIONS = 180

# Distances count in units of the distance to this neighbour, which a missing half plane changes little.
_UNIT_NEIGHBOUR = 6

_BLOCK_NUMBERS = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class BoundaryDetection:
    """Which points of a cloud lie on its boundary.

    Attributes
    ----------
    score : 1 where neighbours stay behind a line through the point (more where they stay behind it by some distance),
        falling to 0 and below inside the surface
    mask : whether the score is above the threshold, of the point and of at least one of its neighbours
    threshold : what the score was compared with
    """

    score: Float[np.ndarray, "n"]
    mask: Bool[np.ndarray, "n"]
    threshold: float

    def __repr__(self) -> str:
        return f"BoundaryDetection({self.mask.sum()} of {len(self.mask)} points, threshold={self.threshold:g})"

    @property
    def indices(self) -> Int[np.ndarray, "b"]:
        """The points on the boundary, in increasing order."""
        return np.flatnonzero(self.mask)


def boundary_points(X: ArrayLike, *, n_neighbors: int = 25, threshold: float = 0.44) -> BoundaryDetection:
    """s(p) = 1 − min over directions u of max over neighbours q of ⟨q − p, u⟩ / r(p), in the tangent plane at p.

    The largest ⟨q − p, u⟩ says how far the neighbours reach from p in direction u; the smallest of these, over all
    directions, is how deep p lies inside their hull. In other words: walk from p in direction u for (1 − s) r, and
    no neighbour is ahead any more; seen from there, they leave an angle gap of at least half a turn. The plain angle
    gap, seen from p itself, is the special case s ≥ 1 and misses every boundary point that has a neighbour a little farther
    out. The plane is that of the two largest principal components of the neighbours, r(p) the distance to the sixth.

    Parameters
    ----------
    X : (n, d) points on a surface in a space of any dimension, possibly with noise, d ≥ 1
    n_neighbors : how many neighbours are looked at. More stand noise better; fewer see narrower gaps: a hole or slit
        narrower than the neighbourhood is not found. All other points if there are fewer
    threshold : points with a larger score are on the boundary. The default was set on Swiss rolls of 2000 samples
        (hole, cut and whole, with and without noise)

    Examples
    --------
    >>> x, y = np.meshgrid(np.arange(12.0), np.arange(10.0))
    >>> grid = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1)
    >>> found = boundary_points(grid)
    >>> on_rim = (grid[:, 0] % 11 == 0) | (grid[:, 1] % 9 == 0)
    >>> found, bool((found.mask == on_rim).all())
    (BoundaryDetection(40 of 120 points, threshold=0.44), True)
    """
    points = checked_points(X)
    check_whole_number("n_neighbors", n_neighbors)
    check_number("threshold", threshold)
    if n_neighbors < 3:
        raise ValueError(f"n_neighbors must be at least 3 to see around a point, got {n_neighbors}")
    if not np.isfinite(threshold):
        raise ValueError(f"threshold must be finite, got {threshold}")
    _, nearest = nearest_neighbours(points, min(n_neighbors, len(points) - 1))
    score = np.empty(len(points))
    for block, flat in _tangent_neighbours(points, nearest):
        score[block] = 1 - _depth(flat)
    above = score > threshold
    # a boundary is a curve, so a point of it is never alone; where one is, the sample has a small gap by chance
    return BoundaryDetection(score=score, mask=above & above[nearest].any(axis=1), threshold=threshold)


def _tangent_neighbours(
    points: Float[np.ndarray, "n d"], nearest: Int[np.ndarray, "n k"]
) -> Iterator[tuple[slice, Float[np.ndarray, "_ k 2"]]]:
    """The neighbours of each point in its tangent plane, the point itself at the origin."""
    height = max(1, _BLOCK_NUMBERS // ((nearest.shape[1] + 1) * max(points.shape[1], _DIRECTIONS)))
    for start in range(0, len(points), height):
        block = slice(start, start + height)
        around = points[nearest[block]] - points[block, None]
        around = np.concatenate([np.zeros_like(around[:, :1]), around], axis=1)
        middle = around.mean(axis=1, keepdims=True)
        left, size, _ = np.linalg.svd(around - middle, full_matrices=False)
        flat = (left * size[:, None])[:, :, :2]
        if flat.shape[2] < 2:  # a line in space has no second direction
            flat = np.pad(flat, ((0, 0), (0, 0), (0, 1)))
        yield block, flat[:, 1:] - flat[:, :1]


def _depth(flat: Float[np.ndarray, "n k 2"]) -> Float[np.ndarray, "n"]:
    """min over u of max over q of ⟨q, u⟩, in units of the distance to the sixth neighbour; 0 where that is 0."""
    turn = 2 * np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    reach = (flat @ np.stack([np.cos(turn), np.sin(turn)])).max(axis=1).min(axis=1)
    unit = np.sort(np.linalg.norm(flat, axis=2), axis=1)[:, min(_UNIT_NEIGHBOUR, flat.shape[1]) - 1]
    return np.divide(reach, unit, out=np.zeros_like(reach), where=unit > 0)


def boundary_figure(
    X: ArrayLike, detection: BoundaryDetection, *, coordinates: Float[np.ndarray, "n c"] | None = None
) -> Any:
    """A matplotlib figure to check a detection: the points coloured by score, those on the boundary ringed.

    Parameters
    ----------
    X : the points
    detection : what `boundary_points` found
    coordinates : where to draw the points, in the plane or in space; for example an embedding. Default: `X`, its first
        three principal components where it has more than three coordinates
    """
    from matplotlib.figure import Figure

    places = _drawable(checked_points(X)) if coordinates is None else np.asarray(coordinates)
    if places.shape[0] != len(detection.mask) or places.shape[1] not in (2, 3):
        raise ValueError(
            f"coordinates must be {len(detection.mask)} places in the plane or in space, got shape {places.shape}"
        )
    figure = Figure(figsize=(8, 6), layout="constrained")
    axes: Any = figure.add_subplot(projection="3d" if places.shape[1] == 3 else None)
    drawn = axes.scatter(*places.T, c=detection.score, s=8, vmin=-0.5, vmax=1, cmap="viridis")
    axes.scatter(*places[detection.mask].T, facecolors="none", edgecolors="tab:red", s=30, linewidths=0.7)
    axes.set_title(f"{detection.mask.sum()} of {len(detection.mask)} points on the boundary")
    axes.set_aspect("equal")
    figure.colorbar(drawn, ax=axes, label="score", shrink=0.7)
    return figure


def _drawable(points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n c"]:
    if points.shape[1] == 1:
        return np.pad(points, ((0, 0), (0, 1)))
    if points.shape[1] <= 3:
        return points
    centred = points - points.mean(axis=0)
    left, size, _ = np.linalg.svd(centred, full_matrices=False)
    return (left * size)[:, :3]
