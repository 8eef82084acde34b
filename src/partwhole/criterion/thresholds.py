"""Which distances on a part can be trusted: three criteria, each a threshold K, with guaranteed ⇔ D ≤ K.

A path through the missing region leaves the part at a boundary vertex b₁ and returns at another, b₂. Whatever lies
between, it is at least as long as d(i, b₁) + across(b₁, b₂) + d(b₂, j), where `across` is a lower bound of its length
outside. The smallest of these is the threshold: over the (min, +) algebra, with ⊗ its matrix product,

    K = to_boundaryᵀ ⊗ across ⊗ to_boundary.

If the distance on the part is not above K, no path through the missing region is shorter, so it is the distance on the
whole too. The criteria differ in `across` alone (see `Boundary`):

    boundary   C_T   0
    wormhole   C_W   c · the straight line in space
    same-loop  C_L   the same within one boundary loop, and chains of such jumps from loop to loop
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from partwhole.criterion.distances import Device, PartDistances, checked_rows, min_plus, part_distances
from partwhole.criterion.loops import check_piece_of_sphere
from partwhole.criterion.result import (
    Criterion,
    CriterionKind,
    boundary_lines,
    check_metric_size,
    edge_lengths_in,
    lower_bound_of,
    why_not_proved,
)
from partwhole.geodesics.distances import geodesic_distances
from partwhole.geodesics.metrics import Metric
from partwhole.mesh import Mesh, SurfaceLike, as_mesh
from partwhole.store.arguments import check_number


def boundary_criterion(
    mesh: SurfaceLike,
    D: ArrayLike | PartDistances | None = None,
    *,
    rows: ArrayLike | None = None,
    from_boundary: ArrayLike | None = None,
    metric_bound: float | Metric = 1.0,
    sound: bool = False,
    device: Device = "cpu",
    rtol: float | None = None,
) -> Criterion:
    """K_ij = d(i, B) + d(j, B): the path to the boundary and back from it (C_T; Bronstein 2006, Rosman 2008).

    The parameters are those of `wormhole_criterion`; `metric_bound` matters to `sound` alone, for the lengths of edges.

    Examples
    --------
    >>> import numpy as np
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> D = np.array([[0, 1, 2**0.5, 1], [1, 0, 1, 2], [2**0.5, 1, 0, 1], [1, 2, 1, 0]])
    >>> boundary_criterion(square, D).fraction  # every vertex lies on the boundary
    0.0
    >>> boundary_criterion(square).fraction  # the same: D is the distance along edges
    0.0
    """
    mesh = as_mesh(mesh)
    given = _distances(mesh, D, rows, from_boundary, metric_bound, device)
    boundary = Boundary.of(mesh, given, metric_bound, sound)
    K = given.threshold(given.to_boundary(boundary.slack))
    return _criterion("boundary", mesh, given, K, sound=sound, rtol=rtol, metric_bound=metric_bound)


def wormhole_criterion(
    mesh: SurfaceLike,
    D: ArrayLike | PartDistances | None = None,
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
    D : its geodesic distances, float32 or float64: all pairs, (n, n), or one row for each of `rows`, (r, n). If None,
        distances along edges are computed, ``geodesic_distances(mesh, method="dijkstra")``: the guarantee is proved for
        these as it stands. Give exact distances together with ``sound=True``. What `distances_among` gives stands for D
        among the vertices that were chosen there, on the processor
    rows : vertices whose pairs are wanted; default all
    from_boundary : distances from each of `mesh.boundary_vertices`, (b, n); needed if `D` holds chosen rows only. If it
        is given and there are as many rows as vertices, row k of `D` belongs to `rows[k]`
    metric_bound : c, square root of the smallest eigenvalue that the surface metric has anywhere on the whole, relative
        to the metric of space; `D` is then measured with that metric too. A `Metric` made from `mesh` stands for its
        `lower_bound`. 0 gives the boundary criterion. With `sound` it is 1 for the metric of space, or the `Metric`:
        a number does not say how long boundary edges are
    sound : False assumes that paths leave at boundary vertices, as they do along edges. True allows for continuous
        paths, which may leave inside a boundary edge (see Notes)
    device : "cuda" computes on a CUDA device; `D` may be a tensor there, and the arrays of the result are tensors
    rtol : a pair is guaranteed if D ≤ K (1 + rtol), and is then consistent to this relative tolerance, besides the
        rounding of `D` (the result's `rounding`). Without a tolerance, rounding would decide the many pairs whose
        shortest path touches the boundary, where D = K. Default 1e-9 in float64, 1e-5 in float32

    Notes
    -----
    Proof for sound=True. Let h(b) be half the longest boundary edge at b. A path leaves for the first time at a point x,
    at most h(b₁) from the nearer end b₁ of its edge, and returns for the last time at y near b₂. Its length is at
    least d(i, x) + c|x − y| + d(y, j) ≥ [d(i, b₁) − h(b₁)]₊ + [c|b₁ − b₂| − h(b₁) − h(b₂)]₊ + [d(b₂, j) − h(b₂)]₊,
    and these three terms replace those above. In another metric h is half the length that the edge has there, which only
    the `Metric` knows: the distance between its ends may be shorter, by a path across faces. The smaller h, the fewer
    pairs are lost: see `refine_boundary`.

    `D` is copied, so that changing it afterwards changes no result; a read-only array is kept as it is.

    Examples
    --------
    >>> import numpy as np
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> D = np.array([[0, 1, 2**0.5, 1], [1, 0, 1, 2], [2**0.5, 1, 0, 1], [1, 2, 1, 0]])
    >>> wormhole_criterion(square, D).mask[1]  # along the edges, 1 to 3 is farther than the straight line
    array([ True,  True,  True, False])
    >>> wormhole_criterion(square).mask[1]  # these are the distances that are computed if D is left out
    array([ True,  True,  True, False])
    """
    mesh = as_mesh(mesh)
    given = _distances(mesh, D, rows, from_boundary, metric_bound, device)
    boundary = Boundary.of(mesh, given, metric_bound, sound)
    K = given.threshold(given.to_boundary(boundary.slack), boundary.straight)
    return _criterion("wormhole", mesh, given, K, sound=sound, rtol=rtol, metric_bound=metric_bound)


def same_loop_criterion(
    mesh: SurfaceLike,
    D: ArrayLike | PartDistances | None = None,
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

    On a sphere, each piece that is missing from a connected part has one boundary loop, so a path that leaves through
    a loop returns through the same. `chain` is the shortest path that jumps within a loop, moves on the part to another
    loop, jumps there, and so on. Every pair that the wormhole criterion guarantees is guaranteed, and often more.

    Parameters
    ----------
    whole_genus : number of handles of the whole; must be 0, otherwise the theorem does not hold
    others : as in `wormhole_criterion`

    Notes
    -----
    Proof. Let a path leave through loop 1 first, and cut it after its last return through loop 1: the piece between is
    at least as long as the straight line, and the rest never leaves through loop 1 again. Go on with the rest: each
    loop is used once, and between two of them the path lies in the part. So it alternates jumps J within a loop and
    moves T between different loops, at most as many jumps as there are loops: chain = J ⊕ J⊗T⊗J ⊕ … With sound=True,
    moves are shortened by h at both ends, as jumps are. The straight line is a bound as well; the larger is taken.

    Examples
    --------
    >>> from partwhole.datasets import annulus
    >>> ring = annulus(n_vertices=300)
    >>> bool((same_loop_criterion(ring).mask >= wormhole_criterion(ring).mask).all())
    True
    """
    if whole_genus != 0:
        raise ValueError(
            f"whole_genus is {whole_genus}: a missing piece can then have several loops, and a path can leave "
            "through one and return through another; use wormhole_criterion"
        )
    mesh = as_mesh(mesh)
    check_piece_of_sphere(mesh)
    given = _distances(mesh, D, rows, from_boundary, metric_bound, device)
    boundary = Boundary.of(mesh, given, metric_bound, sound)
    K = given.threshold(given.to_boundary(boundary.slack), boundary.chained(device))
    return _criterion("same-loop", mesh, given, K, sound=sound, rtol=rtol, metric_bound=metric_bound)


@dataclass(frozen=True, eq=False)
class Boundary:
    """Lower bounds for paths from one boundary vertex to another; b₁, b₂ run over `mesh.boundary_vertices`.

    Attributes
    ----------
    slack : h(b), half the longest boundary edge at b and the rounding error; 0 if paths leave at boundary vertices only
    straight : [c |b₁ − b₂| − h(b₁) − h(b₂)]₊, outside the part: the bound of the wormhole criterion
    inside : [d(b₁, b₂) − h(b₁) − h(b₂)]₊, on the part
    labels : the loop of each vertex
    """

    slack: Float[np.ndarray, "b"]
    straight: Float[np.ndarray, "b b"]
    inside: Float[np.ndarray, "b b"]
    labels: Int[np.ndarray, "b"]

    @classmethod
    def of(cls, mesh: Mesh, given: PartDistances, metric_bound: float | Metric, sound: bool) -> Boundary:
        c = lower_bound_of(metric_bound)
        if not 0 <= c < np.inf:
            raise ValueError(f"metric_bound must be finite and at least 0, got {c}; 1 is the metric of space")
        check_metric_size(mesh, metric_bound)
        slack = np.zeros(len(mesh.boundary_vertices))
        if sound:
            # a distance minus h may be smaller than the rounding error of the distance, so that is subtracted as well
            slack += half_longest(mesh, edge_lengths_in(mesh, metric_bound)) + given.rounding
        at_both_ends = np.add.outer(slack, slack)
        return cls(
            slack=slack,
            straight=np.maximum(c * boundary_lines(mesh) - at_both_ends, 0),
            inside=np.maximum(given.between_boundary(mesh) - at_both_ends, 0),
            labels=mesh.boundary_labels,
        )

    def chained(self, device: Device) -> Float[np.ndarray, "b b"]:
        """max(straight, J ⊕ J⊗T⊗J ⊕ …), with jumps J within a loop, moves T to another, one T less than there are loops."""
        same_loop = np.equal.outer(self.labels, self.labels)
        jump = np.where(same_loop, self.straight, np.inf)
        move_and_jump = min_plus(np.where(same_loop, np.inf, self.inside), jump, device=device)
        chain = jump
        for _ in range(len(np.unique(self.labels)) - 1):
            longer = np.minimum(chain, min_plus(chain, move_and_jump, device=device))
            if np.array_equal(longer, chain):
                break
            chain = longer
        return np.maximum(chain, self.straight)


def half_longest(mesh: Mesh, lengths: Float[np.ndarray, "e"]) -> Float[np.ndarray, "b"]:
    """h(b): half the longest boundary edge at each boundary vertex."""
    on_boundary = mesh.faces_per_edge == 1
    longest = np.zeros(len(mesh.boundary_vertices))
    ends = np.searchsorted(mesh.boundary_vertices, mesh.edges[on_boundary])
    np.maximum.at(longest, ends, lengths[on_boundary][:, None])
    return longest / 2


def _distances(
    mesh: Mesh,
    D: ArrayLike | PartDistances | None,
    rows: ArrayLike | None,
    from_boundary: ArrayLike | None,
    metric_bound: float | Metric,
    device: Device,
) -> PartDistances:
    """The distances given, or those along edges if none are."""
    if isinstance(D, PartDistances):
        if rows is not None or from_boundary is not None or device != "cpu":
            raise ValueError(
                "D is what distances_among gave: leave rows, from_boundary and device out, it has all of them"
            )
        return D
    if D is None:
        if from_boundary is not None:
            raise ValueError(
                "from_boundary was given without D; give both, or neither to compute distances along edges"
            )
        along_edges, from_boundary = _along_edges(mesh, rows, metric_bound, device)
        return part_distances(mesh, along_edges, rows, from_boundary, device)
    return part_distances(mesh, D, rows, from_boundary, device)


def _along_edges(
    mesh: Mesh, rows: ArrayLike | None, metric_bound: float | Metric, device: Device
) -> tuple[Any, Any | None]:
    """Distances by Dijkstra's algorithm: all pairs, or those of the rows and those from the boundary."""
    if not isinstance(metric_bound, Metric) and lower_bound_of(metric_bound) != 1:
        raise ValueError(
            f"metric_bound={metric_bound:g} without D: a number does not say how to measure distances; "
            "give the Metric, or D measured with it"
        )
    metric = metric_bound if isinstance(metric_bound, Metric) else None
    if rows is None:
        return geodesic_distances(mesh, method="dijkstra", metric=metric, device=device), None
    chosen = checked_rows(rows, mesh.n_vertices)
    sources = np.concatenate([chosen, mesh.boundary_vertices])
    if not len(sources):
        return np.empty((0, mesh.n_vertices)), np.empty((0, mesh.n_vertices))
    D = geodesic_distances(mesh, sources, method="dijkstra", metric=metric, device=device)
    return D[: len(chosen)], D[len(chosen) :]


def _criterion(
    kind: CriterionKind,
    mesh: Mesh,
    given: PartDistances,
    threshold: Any,
    *,
    sound: bool,
    rtol: float | None,
    metric_bound: float | Metric,
) -> Criterion:
    if rtol is None:
        rtol = 1e-5 if given.distances.dtype.itemsize == 4 else 1e-9
    check_number("rtol", rtol)
    if not 0 <= rtol < np.inf:
        raise ValueError(f"rtol must be finite and at least 0, got {rtol}")
    between = given.between_boundary(mesh)
    return given.result_type(
        kind=kind,
        distances=given.distances,
        threshold=threshold,
        rows=given.rows,
        sound=sound,
        rtol=rtol,
        metric_bound=lower_bound_of(metric_bound),
        in_space=not isinstance(metric_bound, Metric) and metric_bound == 1,
        closed=mesh.is_closed,
        unproved=why_not_proved(mesh, between, metric_bound, sound=sound, straight=kind != "boundary"),
    )
