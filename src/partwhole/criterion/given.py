"""The distances a criterion is given, checked once: all pairs, or chosen rows together with those from the boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from partwhole.criterion.assumptions import why_not_proved
from partwhole.criterion.border import Border, bound_of
from partwhole.criterion.min_plus import Device, min_plus
from partwhole.criterion.result import ROUNDING, Criterion, Kind
from partwhole.geodesics.metrics import Metric
from partwhole.mesh.surface import Mesh, check_mesh
from partwhole.store.arguments import as_array, check_number

Array = Any
"""A NumPy array, or a torch tensor where distances are on a CUDA device."""


def given_distances(
    mesh: Mesh, D: ArrayLike, rows: ArrayLike | None, from_boundary: ArrayLike | None, device: Device
) -> GivenDistances:
    check_mesh(mesh)
    if device == "cuda":
        from partwhole.criterion.cuda.given import DeviceDistances

        return DeviceDistances.check(mesh, D, rows, from_boundary)
    if device != "cpu":
        raise ValueError(f'device must be "cpu" or "cuda", got {device!r}')
    return GivenDistances.check(mesh, D, rows, from_boundary)


@dataclass(frozen=True, eq=False)
class GivenDistances:
    """`distances[k]` are those of vertex `rows[k]` (of vertex k without rows); `from_boundary` has every vertex.

    The methods are the little algebra that thresholds are written in; a subclass does the same on a CUDA device.
    """

    distances: Array
    from_boundary: Array
    rows: Int[np.ndarray, "r"] | None

    def of_rows(self, values: Array) -> Array:
        """The columns of an array over all vertices that belong to the chosen rows."""
        return values if self.rows is None else values[..., self.rows]

    def border(self, mesh: Mesh, metric_bound: float | Metric, sound: bool) -> Border:
        rounding = ROUNDING[self.distances.dtype.itemsize] * self.largest() if sound else 0.0
        return Border.of(mesh, self.between_boundary(mesh), metric_bound, sound, rounding=rounding)

    def largest(self) -> float:
        """The longest distance from the boundary that is finite; 0 if there is none."""
        return float(self.from_boundary.max(initial=0, where=np.isfinite(self.from_boundary)))

    def between_boundary(self, mesh: Mesh) -> Float[np.ndarray, "b b"]:
        """Distances among the boundary vertices."""
        return self.from_boundary[:, mesh.boundary_vertices].astype(np.float64)

    def to_boundary(self, slack: Float[np.ndarray, "b"]) -> Float[np.ndarray, "b n"]:
        """[d(i, b) − h(b)]₊"""
        if not slack.any():
            return self.from_boundary
        shorter = self.from_boundary - slack[:, None].astype(self.from_boundary.dtype)
        return np.maximum(shorter, 0, out=shorter)

    def smallest(self, to_boundary: Float[np.ndarray, "b n"]) -> Float[np.ndarray, "n"]:
        """Over the boundary; inf if there is none."""
        return to_boundary.min(axis=0, initial=np.inf)

    def outer_sum(self, left: Float[np.ndarray, "r"], right: Float[np.ndarray, "n"]) -> Float[np.ndarray, "r n"]:
        with np.errstate(over="ignore"):  # beyond the largest float, K is above every finite D
            return np.add.outer(left, right)

    def by_the_boundary(self, to_boundary: Array) -> Array:
        """K_ij = d(i, B) + d(j, B)"""
        nearest = self.smallest(to_boundary)
        return self.outer_sum(self.of_rows(nearest), nearest)

    def across_what_is_missing(self, to_boundary: Array, across: Float[np.ndarray, "b b"]) -> Array:
        """K = to_boundaryᵀ ⊗ across ⊗ to_boundary"""
        return self.min_plus(self.min_plus(self.of_rows(to_boundary).T, self.like_distances(across)), to_boundary)

    def like_distances(self, array: Float[np.ndarray, "b b"]) -> Float[np.ndarray, "b b"]:
        with np.errstate(over="ignore"):  # beyond the largest float, K is above every finite D
            return array.astype(self.distances.dtype)

    def min_plus(self, a: Float[np.ndarray, "m k"], b: Float[np.ndarray, "k n"]) -> Float[np.ndarray, "m n"]:
        return min_plus(a, b)

    made: ClassVar[type[Criterion]] = Criterion

    def criterion(
        self, kind: Kind, mesh: Mesh, threshold: Array, *, sound: bool, rtol: float | None, metric_bound: float | Metric
    ) -> Criterion:
        if rtol is None:
            rtol = 1e-5 if self.distances.dtype.itemsize == 4 else 1e-9
        check_number("rtol", rtol)
        if not 0 <= rtol < np.inf:
            raise ValueError(f"rtol must be finite and at least 0, got {rtol}")
        unproved = why_not_proved(
            mesh, self.between_boundary(mesh), metric_bound, sound=sound, straight=kind != "boundary"
        )
        return self.made(
            kind=kind,
            distances=self.distances,
            threshold=threshold,
            rows=self.rows,
            sound=sound,
            rtol=rtol,
            metric_bound=bound_of(metric_bound),
            in_space=not isinstance(metric_bound, Metric) and metric_bound == 1,
            closed=mesh.is_closed,
            unproved=unproved,
        )

    @classmethod
    def check(cls, mesh: Mesh, D: ArrayLike, rows: ArrayLike | None, from_boundary: ArrayLike | None) -> GivenDistances:
        n, b = mesh.n_vertices, len(mesh.boundary_vertices)
        distances = cls.checked("D", D)
        chosen = None if rows is None else _checked_rows(rows, n)
        shape = tuple(distances.shape)
        all_pairs = shape == (n, n) and (chosen is None or from_boundary is None or len(chosen) != n)
        if not all_pairs:
            if chosen is None or shape != (len(chosen), n):
                raise ValueError(
                    f"D has shape {shape}, but {mesh.name} has {n} vertices: give all pairs, {(n, n)}, "
                    "or one row for each vertex in rows, with from_boundary"
                )
            if from_boundary is None:
                raise ValueError(
                    "D holds chosen rows only: give the distances from mesh.boundary_vertices too, as from_boundary"
                )
        if from_boundary is None:
            boundary_rows = distances[mesh.boundary_vertices]
        else:
            boundary_rows = cls.checked("from_boundary", from_boundary)
            if tuple(boundary_rows.shape) != (b, n) or boundary_rows.dtype != distances.dtype:
                raise ValueError(
                    f"from_boundary must have shape {(b, n)} (rows in the order of mesh.boundary_vertices) and the "
                    f"type of D, {distances.dtype}; got {tuple(boundary_rows.shape)} and {boundary_rows.dtype}"
                )
        if all_pairs and chosen is not None:
            distances = distances[chosen]
        return cls(cls.kept(distances, D), boundary_rows, chosen)

    @staticmethod
    def checked(name: str, given: ArrayLike) -> Array:
        return checked_distances(name, given)

    @staticmethod
    def kept(distances: Array, given: ArrayLike) -> Array:
        """Distances that nobody else changes: what masks are made from when they are asked for."""
        if isinstance(given, np.ndarray) and distances is not given and distances.base is None:
            distances.setflags(write=False)  # chosen rows, which are a copy already
        return unchanging(distances)


def unchanging(array: Float[np.ndarray, "*_"]) -> Float[np.ndarray, "*_"]:
    """The array if nobody can write to it or to what it is a view of, else a copy that nobody can write to.

    >>> D = np.zeros((2, 2))
    >>> unchanging(D) is D, unchanging(unchanging(D)) is D
    (False, False)
    >>> D.setflags(write=False)
    >>> unchanging(D) is D
    True
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            array = array.copy()
            array.setflags(write=False)
            return array
        owner = owner.base
    return array


def checked_distances(name: str, given: ArrayLike) -> Float[np.ndarray, "_ n"]:
    array = as_array(f"{name} must be a matrix of float32 or float64", given)
    if array.dtype not in (np.float32, np.float64) or array.ndim != 2:
        raise ValueError(
            f"{name} must be a matrix of float32 or float64, got {array.dtype} of shape {array.shape}: use astype"
        )
    # the smallest entry is NaN if any is, and then the comparison fails as well
    if array.size and not array.min() >= 0:
        raise ValueError(f"{name} contains {array.min()}; distances are at least 0, and inf where there is no way")
    return array


def _checked_rows(rows: ArrayLike, n: int) -> Int[np.ndarray, "r"]:
    array = as_array("rows must be a list of vertex numbers", rows)
    if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise ValueError(f"rows must be a list of vertex numbers, got {array.dtype} of shape {array.shape}")
    array = array.astype(np.int64)
    if array.size and (array.min() < 0 or array.max() >= n):
        raise ValueError(f"rows has vertices {array.min()} to {array.max()}, but they are numbered 0 to {n - 1}")
    return array
