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

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from partwhole.criterion.given import GivenDistances
from partwhole.criterion.loops import check_piece_of_sphere
from partwhole.criterion.min_plus import Device, min_plus
from partwhole.criterion.result import Criterion, Kind
from partwhole.mesh.surface import Mesh


def boundary_criterion(
    mesh: Mesh,
    D: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    from_boundary: ArrayLike | None = None,
    sound: bool = False,
    device: Device = "cpu",
    rtol: float | None = None,
) -> Criterion:
    """K_ij = d(i, B) + d(j, B): the way to the boundary and back from it (C_T; Bronstein 2006, Rosman 2008).

    The parameters are those of `wormhole_criterion`; nothing here is worth a GPU, so `device` changes nothing.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> D = np.array([[0, 1, 2**0.5, 1], [1, 0, 1, 2], [2**0.5, 1, 0, 1], [1, 2, 1, 0]])
    >>> boundary_criterion(square, D).fraction  # every vertex lies on the boundary
    0.0
    """
    given = GivenDistances.check(mesh, D, rows, from_boundary)
    slack = _slack(mesh, given, sound)
    nearest = _to_boundary(given, slack).min(axis=0, initial=np.inf)
    with np.errstate(over="ignore"):  # beyond the largest float, K is above every finite D
        K = np.add.outer(given.of_rows(nearest), nearest)
    return _criterion("boundary", mesh, given, K, sound=sound, rtol=rtol, metric_bound=1.0)


def wormhole_criterion(
    mesh: Mesh,
    D: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    from_boundary: ArrayLike | None = None,
    metric_bound: float = 1.0,
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
        to the metric of space; `D` is then measured with that metric too. 0 gives the boundary criterion
    sound : False takes ways out at boundary vertices only, which is right for graph distances. True allows for
        continuous ways, which may leave inside a boundary edge (see Notes)
    device : where the min-plus products are computed
    rtol : a pair is guaranteed if D ≤ K (1 + rtol), and is then consistent to this relative tolerance. Without any,
        rounding would decide the many pairs whose shortest way touches the boundary, where D = K.
        Default 1e-9 in float64, 1e-5 in float32

    Notes
    -----
    Proof for sound=True. Let h(b) be half the longest boundary edge at b. A way leaves for the first time at a point x,
    at most h(b₁) from the nearer end b₁ of its edge, and comes back for the last time at y near b₂. Its length is at
    least d(i, x) + c|x − y| + d(y, j) ≥ [d(i, b₁) − h(b₁)]₊ + [c|b₁ − b₂| − h(b₁) − h(b₂)]₊ + [d(b₂, j) − h(b₂)]₊,
    and these three terms take the place of those above. For a metric other than that of space, a boundary edge counts
    as long as the larger of its length in space and the distance of its ends in `D`. The price falls with h: a boundary
    with shorter edges loses fewer pairs.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> D = np.array([[0, 1, 2**0.5, 1], [1, 0, 1, 2], [2**0.5, 1, 0, 1], [1, 2, 1, 0]])
    >>> wormhole_criterion(square, D).mask[1]  # along the edges, 1 to 3 is farther than the straight line
    array([ True,  True,  True, False])
    """
    given = GivenDistances.check(mesh, D, rows, from_boundary)
    slack = _slack(mesh, given, sound)
    across = _straight_across(mesh, metric_bound, slack)
    K = _threshold(given, _to_boundary(given, slack), across, device)
    return _criterion("wormhole", mesh, given, K, sound=sound, rtol=rtol, metric_bound=metric_bound)


def same_loop_criterion(
    mesh: Mesh,
    D: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    from_boundary: ArrayLike | None = None,
    metric_bound: float = 1.0,
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
    check_piece_of_sphere(mesh)
    given = GivenDistances.check(mesh, D, rows, from_boundary)
    slack = _slack(mesh, given, sound)
    across = _chains_across(mesh, given, _straight_across(mesh, metric_bound, slack), slack, device)
    K = _threshold(given, _to_boundary(given, slack), across, device)
    return _criterion("same-loop", mesh, given, K, sound=sound, rtol=rtol, metric_bound=metric_bound)


def _threshold(
    given: GivenDistances, to_boundary: Float[np.ndarray, "b n"], across: Float[np.ndarray, "b b"], device: Device
) -> Float[np.ndarray, "r n"]:
    to_boundary_of_rows = given.of_rows(to_boundary).T
    with np.errstate(over="ignore"):  # beyond the largest float, K is above every finite D
        across = across.astype(to_boundary.dtype)
    return min_plus(min_plus(to_boundary_of_rows, across, device=device), to_boundary, device=device)


def _to_boundary(given: GivenDistances, slack: Float[np.ndarray, "b"]) -> Float[np.ndarray, "b n"]:
    """[d(i, b) − h(b)]₊"""
    if not slack.any():
        return given.from_boundary
    shorter = given.from_boundary - slack[:, None].astype(given.from_boundary.dtype)
    return np.maximum(shorter, 0, out=shorter)


def _straight_across(mesh: Mesh, metric_bound: float, slack: Float[np.ndarray, "b"]) -> Float[np.ndarray, "b b"]:
    """[c |b₁ − b₂| − h(b₁) − h(b₂)]₊"""
    if not 0 <= metric_bound < np.inf:
        raise ValueError(f"metric_bound must be finite and at least 0, got {metric_bound}; 1 is the metric of space")
    points = mesh.vertices[mesh.boundary_vertices]
    lines = np.sqrt(sum(np.subtract.outer(x, x) ** 2 for x in points.T))
    return np.maximum(metric_bound * lines - np.add.outer(slack, slack), 0)


def _chains_across(
    mesh: Mesh,
    given: GivenDistances,
    straight: Float[np.ndarray, "b b"],
    slack: Float[np.ndarray, "b"],
    device: Device,
) -> Float[np.ndarray, "b b"]:
    """max(straight, J ⊕ J⊗T⊗J ⊕ … with one T less than there are loops)"""
    labels = mesh.boundary_labels
    same_loop = np.equal.outer(labels, labels)
    inside = given.from_boundary[:, mesh.boundary_vertices] - np.add.outer(slack, slack)
    jump = np.where(same_loop, straight, np.inf)
    move = np.where(same_loop, np.inf, np.maximum(inside, 0))
    move_and_jump = min_plus(move, jump, device=device)
    chain = jump
    for _ in range(len(np.unique(labels)) - 1):
        longer = np.minimum(chain, min_plus(chain, move_and_jump, device=device))
        if np.array_equal(longer, chain):
            break
        chain = longer
    return np.maximum(chain, straight)


def _slack(mesh: Mesh, given: GivenDistances, sound: bool) -> Float[np.ndarray, "b"]:
    """h(b), half the longest boundary edge at b, or 0 if ways out are taken at boundary vertices only."""
    longest = np.zeros(len(mesh.boundary_vertices))
    if not sound:
        return longest
    start, end = mesh.boundary_edges.T
    ends = np.searchsorted(mesh.boundary_vertices, mesh.boundary_edges)
    length = np.linalg.norm(mesh.vertices[end] - mesh.vertices[start], axis=1)
    length = np.maximum(length, given.from_boundary[ends[:, 0], end])
    if not np.isfinite(length).all():
        raise ValueError(f"D is infinite between the ends of a boundary edge of {mesh.name}: D is of another mesh")
    np.maximum.at(longest, ends, length[:, None])
    return longest / 2


def _criterion(
    kind: Kind,
    mesh: Mesh,
    given: GivenDistances,
    K: Float[np.ndarray, "r n"],
    *,
    sound: bool,
    rtol: float | None,
    metric_bound: float,
) -> Criterion:
    if rtol is None:
        rtol = 1e-5 if K.dtype == np.float32 else 1e-9
    if not 0 <= rtol < np.inf:
        raise ValueError(f"rtol must be finite and at least 0, got {rtol}")
    return Criterion(
        kind=kind,
        distances=given.distances,
        threshold=K,
        rows=given.rows,
        sound=sound,
        rtol=rtol,
        metric_bound=metric_bound,
        closed=mesh.is_closed,
    )
