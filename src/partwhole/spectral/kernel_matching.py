"""Product manifold filter: a map refined so that it takes heat on the part to heat on the whole, one vertex to one vertex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import linear_sum_assignment

from partwhole.spectral.eigen import Eigenpairs
from partwhole.spectral.functional_maps import functional_map

# of heat, in areas of the whole: from 500 to 10 on a body of TOSCA, of area 1.93 · 10⁴
TIMES = np.geomspace(500, 10, 10) / 1.93e4


@dataclass(frozen=True, eq=False)
class KernelMatch:
    """A map that takes no two matched vertices to the same place.

    Attributes
    ----------
    vertex_map : for each vertex of the part its vertex of the whole
    matched : the vertices of the part that have a place of their own: all, unless the whole has fewer vertices. The others
        are where heat agrees best
    """

    vertex_map: Int[np.ndarray, "n_part"]
    matched: Bool[np.ndarray, "n_part"]


def kernel_matching(
    start_map: Int[np.ndarray, "n_part"],
    part: Eigenpairs,
    whole: Eigenpairs,
    *,
    times: Sequence[float] | Float[np.ndarray, "t"] = TIMES,
    part_samples: Int[np.ndarray, "p"] | None = None,
    whole_samples: Int[np.ndarray, "n"] | None = None,
) -> KernelMatch:
    """Π ← argmax ⟨Π, K_part^t Π K_whole^t⟩ over partial permutations, for ever shorter times t (Vestner et al. 2017).

    K^t = Φ exp(−λt) Φᵀ is the heat kernel. With Π in the second place the one before, this is a linear assignment, whose
    benefits are Φ_part exp(−λt) C exp(−λt) Φ_wholeᵀ with C the functional map of that Π: long times compare surroundings,
    short ones places.

    Parameters
    ----------
    start_map : a vertex map
    part, whole : eigenpairs, in the same units
    times : in areas of the whole
    part_samples, whole_samples : vertices that all but the last assignment are made between, spread evenly in proportion to
        the areas; without them all vertices always. An assignment takes a time that grows with the cube of their number

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> from partwhole.spectral import eigenpairs
    >>> basis = eigenpairs(sphere(200, jitter=0.3), k=60)
    >>> wrong = np.arange(200)
    >>> wrong[:20] = 0
    >>> found = kernel_matching(wrong, basis, basis)
    >>> sorted(found.vertex_map.tolist()) == list(range(200)), float(np.mean(found.vertex_map == np.arange(200)))
    (True, 1.0)
    """
    scaled = np.asarray(times, float) * whole.mass.sum()
    if scaled.ndim != 1 or len(scaled) == 0 or not (np.isfinite(scaled).all() and (scaled >= 0).all()):
        raise ValueError(f"times={times!r} must be a list of numbers, none negative, with at least one")
    everywhere = np.arange(len(part.mass)), np.arange(len(whole.mass))
    some = everywhere if part_samples is None or whole_samples is None else (part_samples, whole_samples)
    C = functional_map(start_map, part, whole)
    for time in scaled[:-1]:
        benefit = _benefits(C, part, whole, time, *some)
        rows, columns = linear_sum_assignment(benefit, maximize=True)
        # every sample stands for as much of the area
        C = part.functions[some[0][rows]].T @ whole.functions[some[1][columns]] * (part.mass.sum() / len(rows))
    benefit = _benefits(C, part, whole, scaled[-1], *everywhere)
    rows, columns = linear_sum_assignment(benefit, maximize=True)
    vertex_map = benefit.argmax(axis=1)
    vertex_map[rows] = columns
    matched = np.zeros(len(part.mass), bool)
    matched[rows] = True
    return KernelMatch(vertex_map, matched)


def _benefits(
    C: Float[np.ndarray, "k_part k_whole"],
    part: Eigenpairs,
    whole: Eigenpairs,
    time: float,
    rows: Int[np.ndarray, "p"],
    columns: Int[np.ndarray, "n"],
) -> Float[np.ndarray, "p n"]:
    smoothed = np.exp(-part.values * time)[:, None] * C * np.exp(-whole.values * time)
    return part.functions[rows] @ smoothed @ whole.functions[columns].T
