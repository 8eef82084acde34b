"""`GroundTruth`: where vertices of a part lie on the whole, as vertices there or as points inside its triangles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

Kind = Literal["vertices", "barycentric"]

# files hold weights with six digits or more
_WEIGHT_SLACK = 1e-4


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """Row i: vertex `part_vertices[i]` of the part lies at Σ_c weights[i, c] · x(corners[i, c]) on the whole.

    One corner a row where the truth is a vertex, three where it is a point of a triangle. A vertex of the part may
    occur in several rows, or in none: some data sets compare through a template that knows only some of the vertices,
    or knows two places for one. Errors are counted by row.

    Attributes
    ----------
    part_vertices : vertex of the part, for each row
    corners : vertices of the whole, one or three a row
    weights : of the corners, not negative; each row sums to one

    Examples
    --------
    >>> GroundTruth.of_map([4, 2, 7]).whole_vertices.tolist()
    [4, 2, 7]
    >>> halfway = GroundTruth.in_triangles([0], [[0.5, 0.5, 0.0]], faces=[[8, 9, 3]])
    >>> halfway.kind, halfway.corners.tolist()
    ('barycentric', [[8, 9, 3]])
    """

    part_vertices: Int[np.ndarray, "g"]
    corners: Int[np.ndarray, "g c"]
    weights: Float[np.ndarray, "g c"]

    def __init__(self, part_vertices: ArrayLike, corners: ArrayLike, weights: ArrayLike) -> None:
        rows = _checked_numbers(part_vertices, "part_vertices", 1)
        ends = _checked_numbers(corners, "corners", 2)
        shares = np.array(weights, dtype=np.float64)
        if ends.shape[1] not in (1, 3):
            raise ValueError(f"corners must have 1 or 3 columns, got {ends.shape[1]}")
        if shares.shape != ends.shape or len(rows) != len(ends):
            raise ValueError(
                f"part_vertices {rows.shape}, corners {ends.shape} and weights {shares.shape} must have one row each "
                "for every point"
            )
        sums = shares.sum(axis=1)
        bad = np.flatnonzero(~((shares.min(axis=1) >= -_WEIGHT_SLACK) & (np.abs(sums - 1) <= _WEIGHT_SLACK)))
        if len(bad):
            raise ValueError(
                f"weights of row {bad[0]} are {shares[bad[0]].tolist()} ({len(bad)} such rows); "
                "barycentric weights are not negative and sum to one"
            )
        # what rounding in a file left over or below zero is put right, so that the points lie in their triangles
        shares = np.maximum(shares, 0)
        shares /= shares.sum(axis=1, keepdims=True)
        for name, array in (("part_vertices", rows), ("corners", ends), ("weights", shares)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def at_vertices(cls, part_vertices: ArrayLike, whole_vertices: ArrayLike) -> GroundTruth:
        """Vertex of the part ↔ vertex of the whole, row by row."""
        ends = _checked_numbers(whole_vertices, "whole_vertices", 1)[:, None]
        return cls(part_vertices, ends, np.ones(ends.shape))

    @classmethod
    def of_map(cls, vertex_map: ArrayLike) -> GroundTruth:
        """A vertex of the whole for every vertex of the part."""
        ends = _checked_numbers(vertex_map, "vertex_map", 1)
        return cls.at_vertices(np.arange(len(ends)), ends)

    @classmethod
    def in_triangles(
        cls, triangles: ArrayLike, weights: ArrayLike, *, faces: ArrayLike, part_vertices: ArrayLike | None = None
    ) -> GroundTruth:
        """A point in a triangle of the whole for every vertex of the part, or for `part_vertices`.

        Parameters
        ----------
        triangles : rows of `faces`, counted from 0
        weights : (g, 3), of the corners in the order of `faces`
        faces : the triangles that the numbers speak of: those of the file, where a mesh made from it has fewer
        part_vertices : default 0, 1, 2, ...
        """
        rows = _checked_numbers(triangles, "triangles", 1)
        table = _checked_numbers(faces, "faces", 2)
        if rows.size and rows.max() >= len(table):
            raise ValueError(f"triangles reach to {rows.max()}, faces are numbered 0 to {len(table) - 1}")
        return cls(np.arange(len(rows)) if part_vertices is None else part_vertices, table[rows], weights)

    def __len__(self) -> int:
        return len(self.part_vertices)

    @property
    def kind(self) -> Kind:
        return "vertices" if self.corners.shape[1] == 1 else "barycentric"

    @property
    def whole_vertices(self) -> Int[np.ndarray, "g"]:
        """The true vertex of the whole, for each row."""
        if self.kind == "barycentric":
            raise ValueError(
                "barycentric ground truth lies between vertices; ground_truth.rounded(whole.vertices) picks them"
            )
        return self.corners[:, 0]

    def points(self, vertices: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "g 3"]:
        """The true places, given the coordinates of the whole."""
        return np.einsum("gc,gcd->gd", self.weights, vertices[self.corners])

    def rounded(self, vertices: Float[np.ndarray, "n 3"]) -> GroundTruth:
        """The corner nearest to each point instead of the point, given the coordinates of the whole."""
        if self.kind == "vertices":
            return self
        away = np.linalg.norm(vertices[self.corners] - self.points(vertices)[:, None], axis=2)
        nearest = np.take_along_axis(self.corners, away.argmin(axis=1)[:, None], axis=1)[:, 0]
        return GroundTruth.at_vertices(self.part_vertices, nearest)


def _checked_numbers(values: ArrayLike, name: str, ndim: int) -> Int[np.ndarray, "..."]:
    given = np.asarray(values)
    if given.ndim != ndim or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(
            f"{name} must be whole numbers in {ndim} dimension(s), got shape {given.shape} of {given.dtype}"
        )
    if given.size and given.min() < 0:
        raise ValueError(f"{name} holds {given.min()}; vertices and triangles are counted from 0")
    return np.array(given, dtype=np.int64)
