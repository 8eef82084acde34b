"""Rows of vertices and the strips of triangles between them: what the flat and the turned surfaces are made of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from partwhole.mesh import Mesh

# Largest shift of a vertex, in rows, at jitter 1: rows stay apart and no triangle turns over.
_LARGEST_SHIFT = 0.2

Profile = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def rectangle(
    counts: Int[np.ndarray, "r"],
    width: float,
    height: float,
    jitter: float,
    rng: np.random.Generator,
    name: str = "plane",
) -> Mesh:
    rows, faces, points = len(counts), [], []
    starts = [0, *np.cumsum(counts).tolist()]
    equal = bool(np.all(counts == counts[0]))
    positions = []
    for i, count in enumerate(counts):
        # in a regular grid columns are straight; otherwise odd rows are shifted by half a step
        shift = 0.0 if equal and name == "plane" else 0.5 * (i % 2)
        inside = (np.arange(1, count - 1) - (shift if count > 2 else 0.0)) / (count - 1)
        along = np.concatenate([[0.0], inside, [1.0]])
        along[1:-1] += _LARGEST_SHIFT * jitter * rng.uniform(-1, 1, max(count - 2, 0)) / (count - 1)
        up = np.full(count, i / (rows - 1))
        if 0 < i < rows - 1:
            up += _LARGEST_SHIFT * jitter * rng.uniform(-1, 1, count) / (rows - 1)
        positions.append(along)
        points.append(np.stack([width * along, height * up, np.zeros(count)], axis=1))
    for i in range(rows - 1):
        faces.append(strip(positions[i], positions[i + 1], starts[i], starts[i + 1]))
    return Mesh(np.concatenate(points), np.concatenate(faces), name=name)


def revolve(
    name: str,
    profile: Profile,
    rows: int,
    n_vertices: int,
    *,
    fixed: tuple[int, ...],
    jitter: float,
    rng: np.random.Generator,
    wraps: bool = False,
) -> Mesh:
    """Turn a profile t ↦ (distance from the z axis, z), t = 0 … rows − 1, about the z axis.

    Each row is a ring with a share of the vertices proportional to its radius, or one vertex where the profile meets
    the axis. Faces look to the right of the profile's direction, seen with the axis on the left and +z up.
    """
    radius, _ = profile(np.arange(rows, dtype=float))
    pole = radius == 0
    counts = np.ones(rows, dtype=np.int64)
    counts[~pole] = share_out(radius[~pole], n_vertices - int(pole.sum()), minimum=3)
    starts = [0, *np.cumsum(counts).tolist()]
    turns, points = [], []
    for i, count in enumerate(counts):
        turn = (np.arange(count) + 0.5 * (i % 2)) / count
        t = np.full(count, float(i))
        if count > 1:
            turn += _LARGEST_SHIFT * jitter * rng.uniform(-1, 1, count) / count
            if i not in fixed:
                t += _LARGEST_SHIFT * jitter * rng.uniform(-1, 1, count)
        r, z = profile(t)
        points.append(np.stack([r * np.cos(2 * np.pi * turn), r * np.sin(2 * np.pi * turn), z], axis=1))
        turns.append(turn)
    faces = []
    for i in range(rows if wraps else rows - 1):
        j = (i + 1) % rows
        faces.append(ring_strip(turns[i], turns[j], starts[i], starts[j]))
    return Mesh(np.concatenate(points), np.concatenate(faces), name=name)


def strip(
    lower: Float[np.ndarray, "p"], upper: Float[np.ndarray, "q"], lower_start: int, upper_start: int
) -> Int[np.ndarray, "_ 3"]:
    """Triangles between two rows of vertices with increasing positions, counter-clockwise when `upper` is above.

    Going along, each triangle takes one step on one of the rows: the one whose next step has its middle first.

    >>> strip(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 0, 2).tolist()
    [[0, 1, 2], [1, 3, 2]]
    """
    middles = np.concatenate([(lower[1:] + lower[:-1]) / 2, (upper[1:] + upper[:-1]) / 2])
    on_lower = np.arange(len(middles)) < len(lower) - 1
    order = np.argsort(middles, kind="stable")
    step_lower = on_lower[order]
    i = np.cumsum(step_lower) - step_lower + lower_start
    j = np.cumsum(~step_lower) - ~step_lower + upper_start
    return np.stack([i, np.where(step_lower, i + 1, j + 1), j], axis=1)


def ring_strip(
    lower: Float[np.ndarray, "p"], upper: Float[np.ndarray, "q"], lower_start: int, upper_start: int
) -> Int[np.ndarray, "_ 3"]:
    """Triangles between two rings with increasing positions in turns; a ring of one vertex gives a fan."""
    if len(lower) == 1 or len(upper) == 1:
        around = np.arange(max(len(lower), len(upper)))
        following = np.roll(around, -1)
        if len(lower) == 1:
            return np.stack([np.full_like(around, lower_start), following + upper_start, around + upper_start], axis=1)
        return np.stack([around + lower_start, following + lower_start, np.full_like(around, upper_start)], axis=1)
    faces = strip(np.append(lower, lower[0] + 1), np.append(upper, upper[0] + 1), 0, len(lower) + 1)
    wrapped = np.concatenate([lower_start + np.arange(len(lower) + 1), upper_start + np.arange(len(upper) + 1)])
    wrapped[len(lower)], wrapped[-1] = lower_start, upper_start
    return wrapped[faces]


def share_out(weights: Float[np.ndarray, "r"], total: int, *, minimum: int) -> Int[np.ndarray, "r"]:
    """Whole numbers nearly proportional to `weights`, none below `minimum`, that sum to `total`.

    >>> share_out(np.array([1.0, 2.0, 3.0]), 13, minimum=3).tolist()
    [3, 4, 6]
    """
    counts = np.maximum(np.floor(weights * total / weights.sum()).astype(np.int64), minimum)
    while (missing := total - int(counts.sum())) != 0:
        # spread what is missing evenly over the rows, not over the first ones
        rows = np.arange(len(counts)) if missing > 0 else np.flatnonzero(counts > minimum)
        chosen = rows[np.unique(np.linspace(0, len(rows) - 1, min(abs(missing), len(rows))).round().astype(np.int64))]
        counts[chosen] += np.sign(missing)
    return counts
