"""The distances a criterion is given, checked once: all pairs, or chosen rows together with those from the boundary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from partwhole.mesh.surface import Mesh


@dataclass(frozen=True, eq=False)
class GivenDistances:
    """`distances[k]` are those of vertex `rows[k]` (of vertex k without rows); `from_boundary` has every vertex."""

    distances: Float[np.ndarray, "r n"]
    from_boundary: Float[np.ndarray, "b n"]
    rows: Int[np.ndarray, "r"] | None

    def of_rows(self, values: Float[np.ndarray, "*_ n"]) -> Float[np.ndarray, "*_ r"]:
        """The columns of an array over all vertices that belong to the chosen rows."""
        return values if self.rows is None else values[..., self.rows]

    @classmethod
    def check(cls, mesh: Mesh, D: ArrayLike, rows: ArrayLike | None, from_boundary: ArrayLike | None) -> GivenDistances:
        n, b = mesh.n_vertices, len(mesh.boundary_vertices)
        distances = checked_distances("D", D)
        chosen = None if rows is None else _checked_rows(rows, n)
        all_pairs = distances.shape == (n, n) and (chosen is None or from_boundary is None or len(chosen) != n)
        if not all_pairs:
            if chosen is None or distances.shape != (len(chosen), n):
                raise ValueError(
                    f"D has shape {distances.shape}, but {mesh.name} has {n} vertices: give all pairs, {(n, n)}, "
                    "or one row for each vertex in rows, with from_boundary"
                )
            if from_boundary is None:
                raise ValueError(
                    "D holds chosen rows only: give the distances from mesh.boundary_vertices too, as from_boundary"
                )
        if from_boundary is None:
            boundary_rows = distances[mesh.boundary_vertices]
        else:
            boundary_rows = checked_distances("from_boundary", from_boundary)
            if boundary_rows.shape != (b, n) or boundary_rows.dtype != distances.dtype:
                raise ValueError(
                    f"from_boundary must have shape {(b, n)} (rows in the order of mesh.boundary_vertices) and the "
                    f"type of D, {distances.dtype}; got {boundary_rows.shape} and {boundary_rows.dtype}"
                )
        if all_pairs and chosen is not None:
            distances = distances[chosen]
        return cls(distances, boundary_rows, chosen)


def checked_distances(name: str, given: ArrayLike) -> Float[np.ndarray, "_ n"]:
    array = np.asarray(given)
    if array.dtype not in (np.float32, np.float64) or array.ndim != 2:
        raise ValueError(
            f"{name} must be a matrix of float32 or float64, got {array.dtype} of shape {array.shape}: use astype"
        )
    # the smallest entry is NaN if any is, and then the comparison fails as well
    if array.size and not array.min() >= 0:
        raise ValueError(f"{name} contains {array.min()}; distances are at least 0, and inf where there is no way")
    return array


def _checked_rows(rows: ArrayLike, n: int) -> Int[np.ndarray, "r"]:
    array = np.asarray(rows)
    if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise ValueError(f"rows must be a list of vertex numbers, got {array.dtype} of shape {array.shape}")
    array = array.astype(np.int64)
    if array.size and (array.min() < 0 or array.max() >= n):
        raise ValueError(f"rows has vertices {array.min()} to {array.max()}, but they are numbered 0 to {n - 1}")
    return array
