"""Marching tetrahedra: the zero set of a function on a grid as a closed, manifold triangle mesh."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from jaxtyping import Float, Int

from partwhole.datasets.shapes.bodies.implicit import Grid

# The six tetrahedra of a cube, each a way from corner 000 to corner 111 along the three axes in some order. A corner is
# a number of three bits, x + 2 y + 4 z; neighbouring cubes agree on the diagonals of their common face.
_TETRAHEDRA = np.array([np.cumsum([0, *(1 << axis for axis in order)]) for order in permutations(range(3))])
_CORNERS = np.array([[corner >> axis & 1 for axis in range(3)] for corner in range(8)])


def march(grid: Grid) -> tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "m 3"]]:
    """Vertices and faces of {f = 0}, seen from f > 0 counter-clockwise. f > 0 is asked for on the grid's outside.

    A vertex lies on an edge of a tetrahedron where f changes sign, and is known by the edge's lower grid node and its
    direction, so that faces of neighbouring tetrahedra share it.
    """
    shape = np.array(grid.values.shape)
    strides = np.array([shape[1] * shape[2], shape[2], 1])
    inside = grid.values < 0
    cells = _mixed_cells(inside)
    nodes = cells[:, None] + _CORNERS @ strides
    values = grid.values.reshape(-1)[nodes]
    triangles = []
    for corners in _TETRAHEDRA:
        triangles += _cut(nodes[:, corners], values[:, corners] < 0)
    ends = np.concatenate(triangles)
    low, high = ends.min(axis=2), ends.max(axis=2)
    keys, faces = np.unique(low * grid.values.size + high, return_inverse=True)
    low, high = keys // grid.values.size, keys % grid.values.size
    f_low, f_high = grid.values.reshape(-1)[low], grid.values.reshape(-1)[high]
    # kept off the ends, so that no triangle is without area
    share = np.clip(f_low / (f_low - f_high), 0.05, 0.95)[:, None]
    steps = (1 - share) * np.stack(np.unravel_index(low, shape), 1) + share * np.stack(np.unravel_index(high, shape), 1)
    return grid.origin + grid.spacing * steps, _oriented(steps, faces.reshape(-1, 3), ends, inside, shape)


def _mixed_cells(inside: np.ndarray) -> Int[np.ndarray, "c"]:
    """Lowest node of every cell that has nodes on both sides."""
    a, b, c = (n - 1 for n in inside.shape)
    count = np.zeros((a, b, c), np.int8)
    for x, y, z in _CORNERS:
        count += inside[x : x + a, y : y + b, z : z + c]
    cells = np.nonzero((count > 0) & (count < 8))
    return np.ravel_multi_index(cells, inside.shape)


def _cut(nodes: Int[np.ndarray, "c 4"], inside: np.ndarray) -> list[Int[np.ndarray, "_ 3 2"]]:
    """The triangles in which the zero set cuts each tetrahedron; each corner of one as the edge (inside, outside)."""
    triangles = []
    count = inside.sum(axis=1)
    # inside nodes first
    order = np.argsort(~inside, axis=1, kind="stable")
    nodes = np.take_along_axis(nodes, order, axis=1)
    for number, corners in (
        (1, [[(0, 1), (0, 2), (0, 3)]]),
        (3, [[(0, 3), (1, 3), (2, 3)]]),
        (2, [[(0, 2), (0, 3), (1, 3)], [(0, 2), (1, 3), (1, 2)]]),
    ):
        chosen = nodes[count == number]
        triangles += [chosen[:, np.array(triangle)] for triangle in corners]
    return triangles


def _oriented(
    steps: Float[np.ndarray, "n 3"],
    faces: Int[np.ndarray, "m 3"],
    ends: Int[np.ndarray, "m 3 2"],
    inside: np.ndarray,
    shape: Int[np.ndarray, "3"],
) -> Int[np.ndarray, "m 3"]:
    """Turn the faces whose normal points from outside to inside."""
    outwards = sum(
        np.stack(np.unravel_index(ends[:, k, 1], shape), 1) - np.stack(np.unravel_index(ends[:, k, 0], shape), 1)
        for k in range(3)
    )
    a, b, c = (steps[faces[:, k]] for k in range(3))
    inward = np.einsum("mi,mi->m", np.cross(b - a, c - a), outwards) < 0
    return np.where(inward[:, None], faces[:, ::-1], faces)
