"""Maps between functions on two surfaces, and the vertex maps they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from partwhole.spectral.eigen import Eigenpairs
from partwhole.store.arguments import as_array, check_whole_number

# entries of the products of features that are held at a time
BLOCK_ENTRIES = 1 << 22


def functional_map(map_to_whole: Any, part: Eigenpairs, whole: Eigenpairs) -> Float[np.ndarray, "k_part k_whole"]:
    """C = Φ_partᵀ A_part P Φ_whole: takes functions on the whole to functions on the part, both as coefficients.

    P is the soft map; for a vertex map it has a 1 in row i at `vertex_map[i]`, and P f = f[vertex_map].

    Parameters
    ----------
    map_to_whole : a vertex map, one whole number for each vertex of the part; or a soft map (n_part, n_whole), dense or
        sparse, whose rows sum to one
    part, whole : eigenpairs; `first(k)` of them sets the size of C

    Examples
    --------
    >>> from partwhole.datasets import plane
    >>> from partwhole.spectral import eigenpairs
    >>> basis = eigenpairs(plane(100), k=5)
    >>> bool(np.allclose(functional_map(np.arange(100), basis, basis), np.eye(5)))
    True
    """
    if getattr(map_to_whole, "ndim", 0) == 2:
        return part.project(_checked_soft_map(map_to_whole, part, whole) @ whole.functions)
    return part.project(whole.functions[_checked_vertex_map(map_to_whole, part, whole)])


def vertex_map_from_functional_map(
    C: Float[np.ndarray, "k_part k_whole"], part: Eigenpairs, whole: Eigenpairs
) -> Int[np.ndarray, "n_part"]:
    """For each row of Φ_part the nearest row of Φ_whole Cᵀ: C takes the one vertex, as a peak of a function, to the other.

    Rows of C beyond the rank of the map hold no information; leave them out (`partial_rank`).

    Parameters
    ----------
    C : takes coefficients on the whole to coefficients on the part
    part, whole : at least as many eigenpairs as C has rows and columns; the first are used
    """
    if np.ndim(C) != 2 or C.shape[0] > len(part) or C.shape[1] > len(whole) or C.size == 0:
        raise ValueError(
            f"C has shape {np.shape(C)}, but there are {len(part)} eigenpairs of the part (rows) and {len(whole)} of the "
            "whole (columns); compute more of them or pass C[:k_part, :k_whole]"
        )
    if not np.isfinite(C).all():
        raise ValueError("C has entries that are not finite; compute it with functional_map")
    k_part, k_whole = C.shape
    return nearest_rows(part.functions[:, :k_part], whole.functions[:, :k_whole] @ C.T)


def partial_rank(part_values: Float[np.ndarray, "k_part"], whole_values: Float[np.ndarray, "k_whole"]) -> int:
    """r = #{λ_part < max λ_whole}, at least 1: how many rows of C a part fills (Rodolà et al. 2017).

    A part has fewer frequencies below a bound than its whole, in proportion to its area (Weyl's law), so C is slanted:
    C Cᵀ is the identity up to row r, and rows beyond hold nothing.

    Examples
    --------
    >>> partial_rank(np.array([0.0, 2.0, 4.0, 6.0]), np.array([0.0, 1.0, 2.0, 3.0, 5.0]))
    3
    """
    return max(1, int(np.count_nonzero(part_values < np.max(whole_values))))


@dataclass(frozen=True, eq=False)
class ZoomOut:
    """A refined map, in both forms.

    Attributes
    ----------
    vertex_map : for each vertex of the part its vertex of the whole
    functional_map : C, of the largest size used, from which the vertex map was read
    """

    vertex_map: Int[np.ndarray, "n_part"]
    functional_map: Float[np.ndarray, "k_part k_whole"]


def zoomout(
    start_map: Any,
    part: Eigenpairs,
    whole: Eigenpairs,
    *,
    start: int = 20,
    stop: int | None = None,
    step: int = 5,
) -> ZoomOut:
    """C ← Φ_partᵀ A_part P Φ_whole, P ← nearest rows of Φ_part and Φ_whole Cᵀ, in turn, with ever more eigenpairs.

    Spectral upsampling (Melzi et al. 2019), for parts as well: with k eigenpairs of the whole go `partial_rank` of the part.
    Both surfaces must be in the same units (scale the whole to area 1, and the part by the same factor), or the ranks mean
    nothing.

    Parameters
    ----------
    start_map : a vertex map, or a functional map
    part, whole : eigenpairs
    start, stop, step : eigenpairs of the whole to begin with, to end with (included; all if None), and to add each time

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> from partwhole.spectral import eigenpairs
    >>> basis = eigenpairs(sphere(300).scaled(0.3), k=60)
    >>> refined = zoomout(np.arange(300), basis, basis, start=10, step=10)
    >>> refined.functional_map.shape, float(np.mean(refined.vertex_map == np.arange(300)))
    ((59, 60), 1.0)
    """
    check_whole_number("start", start)
    check_whole_number("stop", stop, or_none=True)
    check_whole_number("step", step)
    last = len(whole) if stop is None else stop
    if not 1 <= start <= last <= len(whole):
        raise ValueError(
            f"start={start} and stop={stop} must satisfy 1 ≤ start ≤ stop ≤ {len(whole)}, the whole's number of eigenpairs"
        )
    if step < 1:
        raise ValueError(f"step={step} must be at least 1")
    if getattr(start_map, "ndim", 0) == 2:
        vertex_map = vertex_map_from_functional_map(start_map, part, whole)
    else:
        vertex_map = _checked_vertex_map(start_map, part, whole)
    for k in [*range(start, last, step), last]:
        rank = partial_rank(part.values, whole.values[:k])
        C = functional_map(vertex_map, part.first(rank), whole.first(k))
        vertex_map = vertex_map_from_functional_map(C, part, whole)
    return ZoomOut(vertex_map, C)


def nearest_rows(queries: Float[np.ndarray, "q d"], points: Float[np.ndarray, "p d"]) -> Int[np.ndarray, "q"]:
    """argmin_j |q_i − p_j|, the first of equal ones: by matrix products, which in many dimensions beat every search tree."""
    half_squares = 0.5 * np.einsum("pd,pd->p", points, points)
    nearest = np.empty(len(queries), np.int64)
    rows = max(1, BLOCK_ENTRIES // len(points))
    for first in range(0, len(queries), rows):
        block = slice(first, first + rows)
        nearest[block] = np.argmax(queries[block] @ points.T - half_squares, axis=1)
    return nearest


def _checked_vertex_map(vertex_map: Any, part: Eigenpairs, whole: Eigenpairs) -> Int[np.ndarray, "n_part"]:
    given = as_array("the map must be a vertex of the whole for each vertex of the part", vertex_map)
    n_part, n_whole = len(part.mass), len(whole.mass)
    if given.shape != (n_part,) or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(
            f"the map has shape {given.shape} and type {given.dtype}; give a whole number for each of the part's {n_part} "
            f"vertices, or a soft map of shape ({n_part}, {n_whole})"
        )
    if given.min() < 0 or given.max() >= n_whole:
        raise ValueError(
            f"vertex_map has entries from {given.min()} to {given.max()}, but the whole's vertices are numbered 0 to "
            f"{n_whole - 1}; are part and whole swapped?"
        )
    return given


def _checked_soft_map(soft_map: Any, part: Eigenpairs, whole: Eigenpairs) -> Any:
    expected = (len(part.mass), len(whole.mass))
    if soft_map.shape != expected:
        raise ValueError(f"soft_map has shape {soft_map.shape}, but part and whole have {expected} vertices")
    sums = np.asarray(soft_map.sum(axis=1)).reshape(-1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if not np.abs(sums - 1).max() <= 1e-3:
        raise ValueError(f"row {worst} of soft_map sums to {sums[worst]:.4g}; divide each row by its sum")
    return soft_map
