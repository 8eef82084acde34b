"""The distances that a criterion works with, and the threshold K that is computed from them.

Shortest paths are matrix products over the (min, +) algebra: `min_plus`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from partwhole.criterion.result import ROUNDING, Criterion
from partwhole.mesh.surface import Mesh
from partwhole.store.arguments import as_array
from partwhole.store.compute import available_cores

Array = Any
"""A NumPy array, or a torch tensor where distances are on a CUDA device."""

Device = Literal["cpu", "cuda"]

# below this many additions the start of a thread costs more than it saves
_WORTH_A_THREAD = 5_000_000


def threshold(
    from_i: Float[np.ndarray, "b r"], from_j: Float[np.ndarray, "b n"], across: Float[np.ndarray, "b b"] | None = None
) -> Float[np.ndarray, "r n"]:
    """K_ij = min over b₁, b₂ of d(b₁, i) + across(b₁, b₂) + d(b₂, j): the shortest path through the missing region.

    Parameters
    ----------
    from_i, from_j : distances from each boundary vertex to the vertices i, and to the vertices j
    across : a lower bound of the length outside the part; None for 0, then K_ij = d(i, B) + d(j, B)

    Examples
    --------
    >>> from_boundary = np.array([[0.0, 1.0, 3.0], [3.0, 2.0, 0.0]])
    >>> threshold(from_boundary[:, [0]], from_boundary)
    array([[0., 1., 0.]])
    >>> threshold(from_boundary[:, [0]], from_boundary, np.array([[0.0, 2.0], [2.0, 0.0]]))
    array([[0., 1., 2.]])
    """
    with np.errstate(over="ignore"):  # beyond the largest float, K is above every finite D
        if across is None:
            return np.add.outer(from_i.min(axis=0, initial=np.inf), from_j.min(axis=0, initial=np.inf))
        return min_plus(min_plus(from_i.T, across.astype(from_i.dtype, copy=False)), from_j)


def min_plus(a: ArrayLike, b: ArrayLike, *, device: Device = "cpu") -> Float[np.ndarray, "m n"]:
    """C_ij = min_k a_ik + b_kj, written C = a ⊗ b.

    If a and b hold lengths of steps, C holds the lengths of the shortest paths of two steps. The result is that of NumPy's
    `(a[:, :, None] + b[None]).min(axis=1)`, without the large intermediate array; it is inf if there is no k.

    Parameters
    ----------
    a, b : (m, k) and (k, n) matrices of one type, float32 or float64; inf is allowed, NaN and −inf are not
    device : "cpu" uses all the cores the process may run on; "cuda" needs PyTorch with a GPU

    Examples
    --------
    >>> steps = np.array([[0.0, 1.0, np.inf], [1.0, 0.0, 2.0], [np.inf, 2.0, 0.0]])
    >>> min_plus(steps, steps)
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """
    a, b = np.asarray(a), np.asarray(b)
    _check_factors(a, b)
    if device == "cuda":
        from partwhole.criterion.cuda.distances import min_plus_arrays as min_plus_cuda

        return min_plus_cuda(a, b)
    if device != "cpu":
        raise ValueError(f'device must be "cpu" or "cuda", got {device!r}')
    return _min_plus_cpu(a, b)


def _min_plus_cpu(a: Float[np.ndarray, "m k"], b: Float[np.ndarray, "k n"]) -> Float[np.ndarray, "m n"]:
    from partwhole.criterion.cpu.min_plus import min_plus_rows

    # one memory layout, so that one kernel is compiled; the copy it may cost is small beside the product
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    out = np.empty((len(a), b.shape[1]), a.dtype)
    workers = available_cores()
    if workers == 1 or len(a) * b.size < _WORTH_A_THREAD:
        min_plus_rows(a, b, out, 0, len(a))
        return out
    # a few blocks for each worker, so that one held up by other work does not hold up the rest
    bounds = np.linspace(0, len(a), 4 * workers + 1).astype(int)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda start, stop: min_plus_rows(a, b, out, start, stop), bounds[:-1], bounds[1:]))
    return out


def _check_factors(a: np.ndarray, b: np.ndarray) -> None:
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(f"min_plus needs shapes (m, k) and (k, n), got {a.shape} and {b.shape}")
    if a.dtype != b.dtype or a.dtype not in (np.float32, np.float64):
        raise ValueError(f"min_plus needs two float32 or two float64 matrices, got {a.dtype} and {b.dtype}: use astype")
    for name, factor in (("a", a), ("b", b)):
        # the smallest entry is NaN if any is, and then the comparison fails as well
        if factor.size and not factor.min() > -np.inf:
            raise ValueError(f"min_plus: {name} contains {factor.min()}; entries must be finite or +inf")


def part_distances(
    mesh: Mesh, D: ArrayLike, rows: ArrayLike | None, from_boundary: ArrayLike | None, device: Device
) -> PartDistances:
    """The distances that a criterion is given, checked, on the device where it is computed."""
    if device == "cuda":
        from partwhole.criterion.cuda.distances import CudaDistances

        return CudaDistances.check(mesh, D, rows, from_boundary)
    if device != "cpu":
        raise ValueError(f'device must be "cpu" or "cuda", got {device!r}')
    return PartDistances.check(mesh, D, rows, from_boundary)


@dataclass(frozen=True, eq=False)
class PartDistances:
    """Distances on a part; a subclass does the same on a CUDA device.

    Attributes
    ----------
    distances : row k holds the distances of vertex `rows[k]`, or of vertex k if `rows` is None
    from_boundary : the distances from each boundary vertex to every vertex
    rows : the vertices that rows belong to, or None
    """

    distances: Array
    from_boundary: Array
    rows: Int[np.ndarray, "r"] | None

    result_type: ClassVar[type[Criterion]] = Criterion

    @property
    def rounding(self) -> float:
        """The error that distances may have by rounding: relative to the longest finite one from the boundary."""
        return ROUNDING[self.distances.dtype.itemsize] * self.longest()

    def of_rows(self, values: Array) -> Array:
        """The columns of an array over all vertices that belong to the chosen rows."""
        return values if self.rows is None else values[..., self.rows]

    def longest(self) -> float:
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

    def threshold(self, to_boundary: Array, across: Float[np.ndarray, "b b"] | None = None) -> Array:
        """K of the chosen rows and all vertices; see `threshold`."""
        return threshold(self.of_rows(to_boundary), to_boundary, across)

    @classmethod
    def check(cls, mesh: Mesh, D: ArrayLike, rows: ArrayLike | None, from_boundary: ArrayLike | None) -> PartDistances:
        n, b = mesh.n_vertices, len(mesh.boundary_vertices)
        distances = cls.checked("D", D)
        chosen = None if rows is None else checked_rows(rows, n)
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
        """Distances that nobody else changes, since masks are computed from them later, when they are asked for."""
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
        raise ValueError(f"{name} contains {array.min()}; distances are at least 0, and inf where there is no path")
    return array


def checked_rows(rows: ArrayLike, n: int) -> Int[np.ndarray, "r"]:
    array = as_array("rows must be a list of vertex numbers", rows)
    if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise ValueError(f"rows must be a list of vertex numbers, got {array.dtype} of shape {array.shape}")
    array = array.astype(np.int64)
    if array.size and (array.min() < 0 or array.max() >= n):
        raise ValueError(f"rows has vertices {array.min()} to {array.max()}, but they are numbered 0 to {n - 1}")
    return array
