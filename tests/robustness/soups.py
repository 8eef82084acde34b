"""Triangles thrown together on a small grid: coinciding points, triangles without area, edges with many faces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from partwhole.mesh.surface import Mesh

# an earlier version of the exact distances never came back from this one
FIVE_POINTS_ON_THREE = Mesh(
    [(2, 3, -1), (2, 3, -1), (2, 1, 0), (2, 3, -1), (2, -3, -1)],
    [(1, 3, 4), (0, 1, 4), (0, 3, 4), (0, 1, 3), (0, 2, 3), (0, 1, 2), (0, 2, 4)],
    name="five points on three places",
)


def triangle_soups(count: int, *, seed: int = 0) -> Iterator[Mesh]:
    """Up to 20 different triangles between 3 to 12 points with whole coordinates from −3 to 3, often coinciding."""
    for number in range(count):
        rng = np.random.default_rng([seed, 7, number])
        n = int(rng.integers(3, 13))
        points = rng.integers(-3, 4, (n, 3)).astype(float)
        if rng.random() < 0.3:  # all in a plane, or on a line: overlapping and flat triangles throughout
            points[:, int(rng.integers(1, 3)) :] = 1.0
        again = rng.random(n) < rng.choice([0.0, 0.2, 0.5])
        points[again] = points[rng.integers(0, n, int(again.sum()))]
        faces = rng.permuted(np.tile(np.arange(n), (int(rng.integers(1, 21)), 1)), axis=1)[:, :3]
        _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
        yield Mesh(points, faces[np.sort(first)], name=f"soup {seed}/{number}")
