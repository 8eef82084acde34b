"""`Criterion`, the result of a criterion: threshold, masks, the share of guaranteed pairs, and what exactly is proved.

A proof assumes that the whole is a manifold, that the part consists of some of its faces, and that distances are what they
are said to be. The whole is not known, so these assumptions can't be verified; `why_not_proved` finds some violations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.geodesics.metrics import Metric
from partwhole.mesh.surface import Mesh
from partwhole.store.arguments import check_number

CriterionKind = Literal["boundary", "wormhole", "same-loop"]

# entries of a temporary block of rows, so that it stays small beside the matrices
BLOCK_ENTRIES = 1 << 20

# relative error of distances that are right to rounding, by bytes of a number: half a unit in the last place of float32, and
# what is lost to sums along paths of a million edges in float64; doubled
ROUNDING = {4: 2.0**-22, 8: 1e-10}

# how far a distance may be off, relatively, before it counts as wrong: above the rounding of float32
_OFF = 1e-4


def guaranteed_mask(
    D: Float[np.ndarray, "*shape"], K: Float[np.ndarray, "*shape"], rtol: float
) -> Bool[np.ndarray, "*shape"]:
    """D ≤ K (1 + rtol), and D finite.

    >>> guaranteed_mask(np.array([1.0, 2.0, np.inf]), np.array([1.0, 1.0, np.inf]), 1e-9)
    array([ True, False, False])
    """
    with np.errstate(over="ignore"):  # beyond the largest float, K is above every finite D
        raised = K * K.dtype.type(1 + rtol)
    return np.isfinite(D) & (raised >= D)


def soft_guaranteed_mask(D: Float[np.ndarray, "*shape"], K: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """min(K / D, 1): 1 where D ≤ K, less the farther D is above K, 0 where D is infinite.

    >>> soft_guaranteed_mask(np.array([0.0, 1.0, 2.0, np.inf]), np.array([0.0, 1.0, 1.0, np.inf]))
    array([1. , 1. , 0.5, 0. ])
    """
    # K / D is undefined only where both are 0 or both are infinite; these are set below
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        soft = np.minimum(K / D, 1)
    soft[D == 0] = 1
    soft[np.isinf(D)] = 0
    return soft


@dataclass(frozen=True, eq=False, repr=False)
class Criterion:
    """Which pairs of vertices are guaranteed to be as far apart on the whole as they are on the part.

    Row k belongs to vertex `rows[k]`, or to vertex k if `rows` is None; columns are all vertices. Arrays are NumPy's, or
    torch tensors if the criterion was computed with device="cuda".

    Attributes
    ----------
    kind : "boundary", "wormhole" or "same-loop"
    distances, threshold : D and K
    rows : the vertices that rows belong to, or None
    sound : whether paths that leave inside boundary edges are allowed for
    rtol : the tolerance of `mask`
    metric_bound : c, the number that straight lines count with
    in_space : whether distances are said to be those of the metric of space
    closed : whether the part has no boundary
    assumes : what the proof takes for granted of the whole
    unproved : the reason why nothing is proved, or None
    """

    kind: CriterionKind
    distances: Any
    threshold: Any
    rows: Int[np.ndarray, "r"] | None
    sound: bool
    rtol: float
    metric_bound: float = 1.0
    in_space: bool = True
    closed: bool = False
    assumes: str = "the whole is a manifold and the part consists of some of its faces"
    unproved: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.threshold, np.ndarray):
            self.threshold.setflags(write=False)

    def __repr__(self) -> str:
        shape = "×".join(map(str, self.threshold.shape))
        return f"Criterion({self.kind}, {shape}, {100 * self.fraction:.1f} % guaranteed, sound={self.sound})"

    @cached_property
    def mask(self) -> Bool[np.ndarray, "r n"]:
        """D ≤ K (1 + rtol): True for guaranteed pairs and on the diagonal, False where D is infinite."""
        mask = np.empty(self.threshold.shape, bool)
        for block, D, K in self._blocks():
            mask[block] = guaranteed_mask(D, K, self.rtol)
        mask[self._diagonal] = True
        mask.setflags(write=False)
        return mask

    @cached_property
    def soft_mask(self) -> Float[np.ndarray, "r n"]:
        """min(K / D, 1): 1 where D ≤ K and on the diagonal, less the farther D is above K, 0 where D is infinite."""
        soft = np.empty(self.threshold.shape, self.threshold.dtype)
        for block, D, K in self._blocks():
            soft[block] = soft_guaranteed_mask(D, K)
        soft[self._diagonal] = 1
        soft.setflags(write=False)
        return soft

    @cached_property
    def n_guaranteed(self) -> int:
        """Number of guaranteed pairs (i, j), i ≠ j; with all pairs, (j, i) counts as well."""
        return int(np.count_nonzero(self.mask)) - len(self.threshold)

    @cached_property
    def fraction(self) -> float:
        """Guaranteed pairs among all pairs i ≠ j at a finite distance; NaN if there is no such pair."""
        finite = sum(int(np.count_nonzero(np.isfinite(D))) for _, D, _ in self._blocks())
        pairs = finite - int(np.count_nonzero(np.isfinite(self.distances[self._diagonal])))
        return self.n_guaranteed / pairs if pairs else float("nan")

    def on_host(self) -> Criterion:
        """The same with NumPy arrays, wherever it was computed."""
        return self

    @property
    def rounding(self) -> float:
        """What rounding adds to `rtol`: in D, in K and in their comparison, if D is right to rounding itself."""
        return 2 * ROUNDING[self.threshold.dtype.itemsize]

    @property
    def statement(self) -> str:
        """What is proved, and on which conditions, in words; "not proved" first where the part itself forbids a proof."""
        if self.unproved is not None:
            return f"not proved: {self.unproved}"
        if self.closed:
            return (
                "nothing is missing, the surface has no boundary: every pair at a finite distance is guaranteed, "
                f"provided {self.assumes}"
            )
        kind = "exact and for graph" if self.sound else "graph (Dijkstra)"
        parts = [f"proved for {kind} distances, provided {', and '.join(self._conditions)}"]
        if self.sound:
            parts.append("distances that are too short or too long break it by their error")
        else:
            parts.append("with continuous geodesics a path may leave inside a boundary edge: use sound=True")
        tolerance = f"{self.rtol:g}, and {self.rounding:.1g} more for rounding"
        parts.append(f"a guaranteed pair is consistent to a relative tolerance of {tolerance}")
        return "; ".join(parts)

    @property
    def _conditions(self) -> list[str]:
        conditions = [self.assumes]
        if self.kind == "same-loop":
            conditions.append("the whole is a topological sphere")
        if not self.in_space:
            conditions.append("part and whole have the same metric")
        if self.kind != "boundary" and self.metric_bound != 1:
            conditions.append(f"its smallest eigenvalue over the whole is at least c² = {self.metric_bound**2:.6g}")
        return conditions

    @property
    def _diagonal(self) -> tuple[Int[np.ndarray, "r"], Int[np.ndarray, "r"]]:
        k = np.arange(len(self.threshold))
        return k, k if self.rows is None else self.rows

    def _blocks(self) -> Iterator[tuple[slice, Float[np.ndarray, "_ n"], Float[np.ndarray, "_ n"]]]:
        """Blocks of rows, so that temporary arrays stay small beside the matrices."""
        height = max(1, BLOCK_ENTRIES // max(1, self.threshold.shape[1]))
        for start in range(0, len(self.threshold), height):
            block = slice(start, start + height)
            yield block, self.distances[block], self.threshold[block]


def why_not_proved(
    mesh: Mesh,
    between: Float[np.ndarray, "b b"],
    metric_bound: float | Metric,
    *,
    sound: bool,
    straight: bool,
) -> str | None:
    """The reason why nothing is proved, whatever the whole is; None if none was found.

    Parameters
    ----------
    between : distances among the boundary vertices
    sound : whether the claim is about paths across faces, and so about the lengths of boundary edges
    straight : whether it is about straight lines in space
    """
    reasons = [no_part_of_manifold(mesh)]
    if straight:
        reasons.append(_too_short(mesh, between, metric_bound))
    if sound:
        reasons += [_too_long(mesh, between, metric_bound), _no_triangles(mesh, metric_bound)]
    return next((reason for reason in reasons if reason), None)


def no_part_of_manifold(mesh: Mesh) -> str | None:
    """Why no manifold has these faces: three at one edge, or a closed fan at a vertex and other faces that touch it.

    Where a whole has three faces at an edge and one is lost, two are left, and nothing shows that a path can leave there.

    >>> fin = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 0]], [[0, 1, 2], [0, 1, 3], [0, 1, 4]])
    >>> no_part_of_manifold(fin)
    'mesh has 1 edge with more than two faces, so the whole is not a manifold; use pw.repair'
    """
    crowded = int(np.count_nonzero(mesh.faces_per_edge > 2))
    if crowded:
        edges = "1 edge" if crowded == 1 else f"{crowded} edges"
        return f"{mesh.name} has {edges} with more than two faces, so the whole is not a manifold; use pw.repair"
    # a fan that does not go all around its vertex ends in two boundary edges
    ends = np.bincount(mesh.boundary_edges.reshape(-1), minlength=mesh.n_vertices)
    touching = np.flatnonzero((mesh.fans_per_vertex > 1) & (ends < 2 * mesh.fans_per_vertex))
    if len(touching):
        return (
            f"{mesh.name} has faces all around vertex {touching[0]} and others that touch it there, so the whole is not "
            "a manifold; use pw.repair"
        )
    return None


def _too_short(mesh: Mesh, between: Float[np.ndarray, "b b"], metric_bound: float | Metric) -> str | None:
    """No path is shorter than c times the straight line."""
    c = lower_bound_of(metric_bound)
    least = c * boundary_lines(mesh)
    shorter = np.argwhere(between < (1 - _OFF) * least)
    if not len(shorter):
        return None
    (i, j), at = shorter[0], mesh.boundary_vertices
    return (
        f"D is {between[i, j]:.6g} between vertices {at[i]} and {at[j]}, less than {_times(c)}the straight line, "
        f"{least[i, j]:.6g}: it is too short, or metric_bound too large"
    )


def _too_long(mesh: Mesh, between: Float[np.ndarray, "b b"], metric_bound: float | Metric) -> str | None:
    """A boundary edge is a path between its ends, so no distance is longer."""
    on_boundary = mesh.faces_per_edge == 1
    lengths = edge_lengths_in(mesh, metric_bound)[on_boundary]
    i, j = np.searchsorted(mesh.boundary_vertices, mesh.edges[on_boundary]).T
    longer = np.flatnonzero(np.maximum(between[i, j], between[j, i]) > (1 + _OFF) * lengths)
    if not len(longer):
        return None
    k = longer[0]
    u, v = mesh.edges[on_boundary][k]
    return (
        f"D is {between[i[k], j[k]]:.6g} between vertices {u} and {v}, more than the boundary edge between them, "
        f"{lengths[k]:.6g}: it is too long, or measured with another metric; give that one as metric_bound"
    )


def _no_triangles(mesh: Mesh, metric_bound: float | Metric) -> str | None:
    if not isinstance(metric_bound, Metric):
        return None
    sides = np.sort(metric_bound.edge_lengths[mesh.opposite_edges], axis=1)
    bad = int(np.count_nonzero(sides[:, 2] > (sides[:, 0] + sides[:, 1]) * (1 + 1e-9)))
    if not bad:
        return None
    return f"under the metric {bad} of {mesh.n_faces} faces violate the triangle inequality"


def _times(c: float) -> str:
    return "" if c == 1 else f"{c:g} times "


def lower_bound_of(metric_bound: float | Metric) -> float:
    """c, the number that straight lines are multiplied with."""
    if isinstance(metric_bound, Metric):
        return metric_bound.lower_bound
    check_number("metric_bound", metric_bound)
    return float(metric_bound)


def check_metric_size(mesh: Mesh, metric_bound: float | Metric) -> None:
    if isinstance(metric_bound, Metric) and len(metric_bound.edge_lengths) != len(mesh.edges):
        raise ValueError(
            f"metric_bound has {len(metric_bound.edge_lengths)} edge lengths, {mesh.name} has {len(mesh.edges)} "
            "edges; make the metric from this mesh"
        )


def edge_lengths_in(mesh: Mesh, metric_bound: float | Metric) -> Float[np.ndarray, "e"]:
    """Edge lengths in the metric that distances are measured with.

    A lower bound of the metric does not determine them, and neither do distances, which may be shorter than the edge.
    """
    if isinstance(metric_bound, Metric):
        return metric_bound.edge_lengths
    if metric_bound != 1:
        raise ValueError(
            f"metric_bound is the number {metric_bound:g}, but sound=True needs the lengths of boundary edges in the metric; "
            "give the Metric that D was measured with"
        )
    return mesh.edge_lengths


def boundary_lines(mesh: Mesh) -> Float[np.ndarray, "b b"]:
    """|b₁ − b₂|, the straight lines in space between boundary vertices."""
    points = mesh.vertices[mesh.boundary_vertices]
    return np.sqrt(sum(np.subtract.outer(x, x) ** 2 for x in points.T))
