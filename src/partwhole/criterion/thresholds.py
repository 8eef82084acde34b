"""Which distances on a part can be trusted: three criteria, each a threshold K, with guaranteed ⇔ D ≤ K.

A way through what is missing leaves the part at a boundary vertex b₁ and comes back at another, b₂. Whatever lies
between, it is at least as long as d(i, b₁) + across(b₁, b₂) + d(b₂, j), where `across` bounds the way outside from
below. The shortest of these is the threshold: over the (min, +) algebra, with ⊗ its matrix product,

    K = to_boundaryᵀ ⊗ across ⊗ to_boundary.

If the distance on the part is not above K, no way through the missing region is shorter, so it is the distance on the
whole too. The criteria differ in `across` alone:

    boundary   C_T   0
    wormhole   C_W   c · the straight line in space
    same-loop  C_L   the same within one boundary loop, and chains of such jumps from loop to loop
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from partwhole.criterion.given import given_distances
from partwhole.criterion.loops import check_piece_of_sphere
from partwhole.criterion.min_plus import Device
from partwhole.criterion.result import Criterion
from partwhole.geodesics.metrics import Metric
from partwhole.mesh.surface import Mesh, check_mesh


def boundary_criterion(
    mesh: Mesh,
    D: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    from_boundary: ArrayLike | None = None,
    metric_bound: float | Metric = 1.0,
    sound: bool = False,
    device: Device = "cpu",
    rtol: float | None = None,
) -> Criterion:
    """K_ij = d(i, B) + d(j, B): the way to the boundary and back from it (C_T; Bronstein 2006, Rosman 2008).

    The parameters are those of `wormhole_criterion`; `metric_bound` matters to `sound` alone, for the lengths of edges.

    Examples
    --------
    >>> import numpy as np
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> D = np.array([[0, 1, 2**0.5, 1], [1, 0, 1, 2], [2**0.5, 1, 0, 1], [1, 2, 1, 0]])
    >>> boundary_criterion(square, D).fraction  # every vertex lies on the boundary
    0.0
    """
    given = given_distances(mesh, D, rows, from_boundary, device)
    border = given.border(mesh, metric_bound, sound)
    K = given.by_the_boundary(given.to_boundary(border.slack))
    return given.criterion("boundary", mesh, K, sound=sound, rtol=rtol, metric_bound=metric_bound)


def wormhole_criterion(
    mesh: Mesh,
    D: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    from_boundary: ArrayLike | None = None,
    metric_bound: float | Metric = 1.0,
    sound: bool = False,
    device: Device = "cpu",
    rtol: float | None = None,
) -> Criterion:
    """K_ij = min over b₁, b₂ ∈ B of d(i, b₁) + c |b₁ − b₂| + d(b₂, j)  (C_W; Bracha, Dagès, Kimmel 2024).

    Parameters
    ----------
    mesh : the part
    D : its geodesic distances, float32 or float64: all pairs, (n, n), or one row for each of `rows`, (r, n)
    rows : vertices whose pairs are wanted; all if left out
    from_boundary : distances from each of `mesh.boundary_vertices`, (b, n); needed if `D` holds chosen rows only. If it
        is given and there are as many rows as vertices, row k of `D` belongs to `rows[k]`
    metric_bound : c, square root of the smallest eigenvalue that the surface metric has anywhere on the whole, relative
        to the metric of space; `D` is then measured with that metric too. A `Metric` made from `mesh` stands for its
        `lower_bound`. 0 gives the boundary criterion. With `sound` it is 1 for the metric of space, or the `Metric`:
        a number does not say how long boundary edges are
    sound : False takes ways out at boundary vertices only, which is right for graph distances. True allows for
        continuous ways, which may leave inside a boundary edge (see Notes)
    device : "cuda" computes on a CUDA device; `D` may be a tensor there, and the arrays of the result are
    rtol : a pair is guaranteed if D ≤ K (1 + rtol), and is then consistent to this relative tolerance, besides the
        rounding of `D` (the result's `rounding`). Without any, rounding would decide the many pairs whose shortest way
        touches the boundary, where D = K. Default 1e-9 in float64, 1e-5 in float32

    Notes
    -----
    Proof for sound=True. Let h(b) be half the longest boundary edge at b. A way leaves for the first time at a point x,
    at most h(b₁) from the nearer end b₁ of its edge, and comes back for the last time at y near b₂. Its length is at
    least d(i, x) + c|x − y| + d(y, j) ≥ [d(i, b₁) − h(b₁)]₊ + [c|b₁ − b₂| − h(b₁) − h(b₂)]₊ + [d(b₂, j) − h(b₂)]₊,
    and these three terms take the place of those above. In another metric h is half the length that the edge has there,
    which only the `Metric` knows: the distance of its ends may be shorter, by a way across faces. The price falls with h:
    a boundary with shorter edges loses fewer pairs.

    `D` is copied, so that changing it afterwards changes no result; a read-only array is kept as it is.

    Examples
    --------
    >>> import numpy as np
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> D = np.array([[0, 1, 2**0.5, 1], [1, 0, 1, 2], [2**0.5, 1, 0, 1], [1, 2, 1, 0]])
    >>> wormhole_criterion(square, D).mask[1]  # along the edges, 1 to 3 is farther than the straight line
    array([ True,  True,  True, False])
    """
    given = given_distances(mesh, D, rows, from_boundary, device)
    border = given.border(mesh, metric_bound, sound)
    K = given.across_what_is_missing(given.to_boundary(border.slack), border.straight)
    return given.criterion("wormhole", mesh, K, sound=sound, rtol=rtol, metric_bound=metric_bound)


def same_loop_criterion(
    mesh: Mesh,
    D: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    from_boundary: ArrayLike | None = None,
    metric_bound: float | Metric = 1.0,
    whole_genus: int = 0,
    sound: bool = False,
    device: Device = "cpu",
    rtol: float | None = None,
) -> Criterion:
    """K_ij = min over b₁, b₂ ∈ B of d(i, b₁) + chain(b₁, b₂) + d(b₂, j), for parts of a topological sphere (C_L).

    On a sphere, each piece that is missing from a connected part has one boundary loop, so a way that leaves through a
    loop comes back through the same. `chain` is the shortest way that jumps within a loop, moves on the part to another
    loop, jumps there, and so on. More pairs are guaranteed than by the wormhole criterion, none less.

    Parameters
    ----------
    whole_genus : handles of the whole; anything but 0 is refused, because then the theorem does not hold
    others : as in `wormhole_criterion`

    Notes
    -----
    Proof. Let a way leave through loop 1 first, and cut it after its last return through loop 1: the piece between is
    at least as long as the straight line, and the rest never leaves through loop 1 again. Go on with the rest: each
    loop is used once, and between two of them the way lies in the part. So it alternates jumps J within a loop and
    moves T between different loops, at most as many jumps as there are loops: chain = J ⊕ J⊗T⊗J ⊕ … With sound=True,
    moves are shortened by h at both ends, as jumps are. The straight line is a bound as well; the larger is taken.
    """
    if whole_genus != 0:
        raise ValueError(
            f"whole_genus is {whole_genus}: a missing piece can then have several loops, and a way can leave "
            "through one and come back through another; use wormhole_criterion"
        )
    check_mesh(mesh)
    check_piece_of_sphere(mesh)
    given = given_distances(mesh, D, rows, from_boundary, device)
    border = given.border(mesh, metric_bound, sound)
    K = given.across_what_is_missing(given.to_boundary(border.slack), border.chained(device))
    return given.criterion("same-loop", mesh, K, sound=sound, rtol=rtol, metric_bound=metric_bound)
