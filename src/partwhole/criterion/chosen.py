"""A criterion among some vertices of a large part: distances in memory of their number, not of that of all vertices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike, DTypeLike

from partwhole.criterion.distances import PartDistances, checked_rows, unchanging
from partwhole.geodesics.distances import DistanceMethod, geodesic_distances, symmetrise
from partwhole.mesh import Mesh, SurfaceLike, as_mesh


@dataclass(frozen=True, eq=False)
class ChosenDistances(PartDistances):
    """Distances of a part among chosen vertices; row k and column k belong to the k-th of these.

    Attributes
    ----------
    distances : among the chosen vertices
    from_boundary : from each boundary vertex to the chosen ones
    rows : None
    between : among the boundary vertices
    """

    between: Float[np.ndarray, "b b"]

    def between_boundary(self, mesh: Mesh) -> Float[np.ndarray, "b b"]:
        return self.between.astype(np.float64)


def distances_among(
    mesh: SurfaceLike,
    vertices: ArrayLike,
    *,
    method: DistanceMethod = "fast_marching",
    dtype: DTypeLike = np.float32,
    device: str = "cpu",
) -> ChosenDistances:
    """D_ij for i, j among chosen vertices, and what a criterion needs of the boundary B: (m + |B|)² numbers in all.

    Give the result to a criterion in the place of D: `wormhole_criterion(mesh, distances_among(mesh, vertices))` has m rows
    and m columns, which are those of the criterion of all pairs.

    Parameters
    ----------
    mesh : the part
    vertices : the chosen ones, each once
    method, dtype, device : see `geodesic_distances`; the result is in main memory

    Examples
    --------
    >>> from partwhole.criterion import wormhole_criterion
    >>> from partwhole.datasets import sphere_cap
    >>> cap = sphere_cap(200)
    >>> some = np.arange(0, 200, 7)
    >>> among = distances_among(cap, some, method="dijkstra", dtype=np.float64)
    >>> bool((wormhole_criterion(cap, among).mask == wormhole_criterion(cap).mask[np.ix_(some, some)]).all())
    True
    """
    mesh = as_mesh(mesh)
    chosen = checked_rows(vertices, mesh.n_vertices)
    if len(np.unique(chosen)) < len(chosen) or not len(chosen):
        raise ValueError(f"vertices must be different and at least one, got {len(chosen)}; use np.unique(vertices)")
    needed = np.union1d(chosen, mesh.boundary_vertices)
    found = geodesic_distances(mesh, needed, targets=needed, method=method, dtype=dtype, device=device)  # type: ignore[arg-type]
    D = found if isinstance(found, np.ndarray) else found.cpu().numpy()
    symmetrise(D, mean=method == "fast_marching")
    at, rim = np.searchsorted(needed, chosen), np.searchsorted(needed, mesh.boundary_vertices)
    parts = D[np.ix_(at, at)], D[np.ix_(rim, at)], D[np.ix_(rim, rim)]
    for array in parts:
        array.setflags(write=False)
    return ChosenDistances(unchanging(parts[0]), parts[1], None, parts[2])
