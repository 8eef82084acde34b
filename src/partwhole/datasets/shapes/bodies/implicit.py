"""The skin of a body as the zero set of a function: the smooth union of its flesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole.datasets.shapes.bodies.skeleton import Flesh

_FAR = 1e3


@dataclass(frozen=True)
class Grid:
    """Values of a function at the nodes origin + spacing · (i, j, k)."""

    values: Float[np.ndarray, "a b c"]
    origin: Float[np.ndarray, "3"]
    spacing: float


def distance_to(piece: Flesh, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n"]:
    """Signed distance min over s in [0, L] of |p − c(s)| − r(s), negative inside; about that if the piece is pressed flat."""
    start, end = np.array(piece.start), np.array(piece.end)
    if piece.flat_axis is not None:
        axis = np.array(piece.flat_axis) / np.linalg.norm(piece.flat_axis)
        stretch = np.eye(3) + (1 / piece.flat - 1) * np.outer(axis, axis)
        middle = (start + end) / 2
        points, start, end = ((x - middle) @ stretch for x in (points, start, end))
    along = end - start
    length = float(np.linalg.norm(along))
    relative = points - start
    if length == 0:
        return (np.linalg.norm(relative, axis=1) - piece.radius_start) * piece.flat**0.5
    t = relative @ (along / length)
    away = np.sqrt(np.maximum(np.einsum("ni,ni->n", relative, relative) - t**2, 0))
    # where the derivative by s is zero, the ball of radius r(s) touches; the sum is convex, so clipping is exact
    slope = np.clip((piece.radius_start - piece.radius_end) / length, -0.99, 0.99)
    s = np.clip(t - away * slope / np.sqrt(1 - slope**2), 0, length)
    radius = piece.radius_start + (piece.radius_end - piece.radius_start) * s / length
    return (np.hypot(t - s, away) - radius) * piece.flat**0.5


def smooth_minimum(a: Float[np.ndarray, "*n"], b: Float[np.ndarray, "*n"], width: float) -> Float[np.ndarray, "*n"]:
    """min(a, b) − width/6 · max(1 − |a − b| / width, 0)³: a minimum without a crease.

    >>> smooth_minimum(np.array([1.0, 0.0]), np.array([3.0, 0.0]), 0.6).round(6).tolist()
    [1.0, -0.1]
    """
    return np.minimum(a, b) - width / 6 * np.maximum(1 - np.abs(a - b) / width, 0) ** 3


def field(flesh: Sequence[Flesh], points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n"]:
    """Negative inside the body, zero on its skin."""
    total = np.full(len(points), _FAR)
    for piece in flesh:
        total = smooth_minimum(total, distance_to(piece, points), piece.blend)
    return total


def gradient(flesh: Sequence[Flesh], points: Float[np.ndarray, "n 3"], step: float) -> Float[np.ndarray, "n 3"]:
    """By differences along the four directions to the corners of a regular tetrahedron."""
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / 3**0.5
    values = field(flesh, (points + step * corners[:, None]).reshape(-1, 3)).reshape(4, -1)
    return 0.75 / step * values.T @ corners


def field_on_grid(flesh: Sequence[Flesh], spacing: float) -> Grid:
    """The field at the nodes of a grid around the body; far from the body just a large number."""
    reach = [max(piece.radius_start, piece.radius_end) + piece.blend + 3 * spacing for piece in flesh]
    ends = np.array([[piece.start, piece.end] for piece in flesh])
    lows = ends.min(axis=1) - np.array(reach)[:, None]
    highs = ends.max(axis=1) + np.array(reach)[:, None]
    origin = lows.min(axis=0)
    shape = np.ceil((highs.max(axis=0) - origin) / spacing).astype(int) + 1
    values = np.full(shape, _FAR)
    for piece, low, high in zip(flesh, lows, highs, strict=True):
        first = np.floor((low - origin) / spacing).astype(int)
        last = np.minimum(np.ceil((high - origin) / spacing).astype(int) + 1, shape)
        box = tuple(slice(a, b) for a, b in zip(first, last, strict=True))
        axes = [origin[k] + spacing * np.arange(first[k], last[k]) for k in range(3)]
        nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        local = distance_to(piece, nodes).reshape(values[box].shape)
        values[box] = smooth_minimum(values[box], local, piece.blend)
    return Grid(values, origin, spacing)
