"""Criteria for points without a mesh: from distances along the surface, the points on its boundary, and coordinates."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from partwhole.criterion.distances import checked_distances
from partwhole.criterion.distances import threshold as compute_threshold
from partwhole.criterion.result import Criterion, guaranteed_mask, soft_guaranteed_mask
from partwhole.geodesics.distances import symmetrise

# Sums along a path, in one order or the other, differ by less in single precision; distances of a sample are never
# known so well that it would matter. One value for both precisions, so that both find the same ties.
RTOL = 1e-5


def criterion_of_points(
    kind: Literal["boundary", "wormhole"],
    D: ArrayLike,
    boundary: Int[np.ndarray, "b"],
    points: Float[np.ndarray, "n d"] | None = None,
    *,
    rtol: float = RTOL,
) -> Criterion:
    """K_ij = d(i, B) + d(j, B), or min over b₁, b₂ ∈ B of d(i, b₁) + |b₁ − b₂| + d(b₂, j), for points on a surface.

    Parameters
    ----------
    kind : "boundary" or "wormhole"
    D : (n, n) distances along the surface, float32 or float64, inf where there is no path; kept, not copied
    boundary : the points on the boundary, B; empty for a closed surface, where nothing is missing
    points : coordinates in space, of any dimension; "wormhole" needs them
    rtol : a pair is guaranteed if D ≤ K (1 + rtol)

    Notes
    -----
    With graph distances it is proved as for meshes, provided every point that lost a neighbour is in `boundary`: a path
    of the complete graph leaves the part through such a point, and is at least as long as the straight line until it
    returns. Nothing in this depends on the dimension of the surface or of the space. What depends on the sample is
    whether `boundary` is complete, and how near graph distances come to those of the surface.

    Under the wormhole criterion two points joined by an edge of the graph, which is straight, are always guaranteed:
    no path between them is shorter.

    Examples
    --------
    >>> points = np.array([[0.0, 0], [0, 1], [1, 1], [1, 0]])  # the path from 0 to 3 goes round the missing region
    >>> D = np.array([[0.0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]])
    >>> criterion_of_points("wormhole", D, np.array([0, 3]), points).mask[0]
    array([ True,  True,  True, False])
    """
    distances = checked_distances("D", D)
    from_boundary = distances[boundary]
    across = None if kind == "boundary" else straight_lines(boundary, points)
    threshold = compute_threshold(from_boundary, from_boundary, across)
    if kind == "wormhole":
        symmetrise(threshold, mean=False)  # the two products are rounded in another order for (j, i)
    return Criterion(
        kind=kind,
        distances=distances,
        threshold=threshold,
        rows=None,
        sound=False,
        rtol=rtol,
        closed=len(boundary) == 0,
        assumes="every point that lost a neighbour is in the boundary",
    )


def new_point_guarantees(
    kind: Literal["boundary", "wormhole"],
    D_new: Float[np.ndarray, "m n"],
    from_boundary: Float[np.ndarray, "b n"],
    boundary: Int[np.ndarray, "b"],
    points: Float[np.ndarray, "n d"] | None = None,
    *,
    soft: bool = False,
) -> Bool[np.ndarray, "m n"] | Float[np.ndarray, "m n"]:
    """The criterion for pairs of a new point and an old one, K = D_new,B ⊗ across ⊗ D_B, as a mask or a soft one.

    Parameters
    ----------
    kind : "boundary" or "wormhole"
    D_new : distances from the new points to the old ones
    from_boundary : distances from the points on the boundary to all old ones, D_B
    boundary : the old points on the boundary, B
    points : coordinates of the old points; "wormhole" needs them
    soft : min(K / D, 1) instead of D ≤ K
    """
    across = None if kind == "boundary" else straight_lines(boundary, points)
    K = compute_threshold(D_new[:, boundary].T, from_boundary, across)
    return soft_guaranteed_mask(D_new, K) if soft else guaranteed_mask(D_new, K, RTOL)


def straight_lines(boundary: Int[np.ndarray, "b"], points: Float[np.ndarray, "n d"] | None) -> Float[np.ndarray, "b b"]:
    """|b₁ − b₂| between the boundary points."""
    from scipy.spatial.distance import cdist

    if points is None:
        if len(boundary):
            raise ValueError(
                "the wormhole criterion needs straight lines between boundary points: give points, their coordinates"
            )
        return np.zeros((0, 0))
    return cdist(points[boundary], points[boundary])
