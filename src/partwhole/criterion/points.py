"""Criteria for points without a mesh: distances along the surface, which points are on its boundary, and where they lie."""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from partwhole.criterion.given import GivenDistances, checked_distances
from partwhole.criterion.result import Criterion
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
    D : (n, n) distances along the surface, float32 or float64, inf where there is no way; kept, not copied
    boundary : the points on the boundary, B; empty for a surface that nothing is missing from
    points : places in the space that the surface lies in, of any dimension; "wormhole" needs them
    rtol : a pair is guaranteed if D ≤ K (1 + rtol)

    Notes
    -----
    With graph distances it is proved as for meshes, provided every point that lost a neighbour is in `boundary`: a path
    of the complete graph leaves what is left through such a point, and is at least as long as the straight line until
    it is back. Nothing in this depends on the dimension of the surface or of the space. What depends on the sample is
    whether `boundary` is complete, and how near graph distances come to those of the surface.

    Under the wormhole criterion two points joined by an edge of the graph, which is straight, are always guaranteed:
    no way between them is shorter.

    Examples
    --------
    >>> points = np.array([[0.0, 0], [0, 1], [1, 1], [1, 0]])  # the way from 0 to 3 goes round what is missing
    >>> D = np.array([[0.0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]])
    >>> criterion_of_points("wormhole", D, np.array([0, 3]), points).mask[0]
    array([ True,  True,  True, False])
    """
    distances = checked_distances("D", D)
    given = GivenDistances(distances, distances[boundary], None)
    if kind == "boundary":
        threshold = given.by_the_boundary(given.from_boundary)
    else:
        threshold = given.across_what_is_missing(given.from_boundary, straight_lines(boundary, points))
        # the two products are rounded in another order for (j, i)
        symmetrise(threshold, mean=False)
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


def straight_lines(boundary: Int[np.ndarray, "b"], points: Float[np.ndarray, "n d"] | None) -> Float[np.ndarray, "b b"]:
    """|b₁ − b₂| between the boundary points."""
    from scipy.spatial.distance import cdist

    if points is None:
        if len(boundary):
            raise ValueError(
                "the wormhole criterion needs straight lines between boundary points: give points, their places in space"
            )
        return np.zeros((0, 0))
    return cdist(points[boundary], points[boundary])
