"""The pairs of one vertex: which are guaranteed, by how much the others miss the threshold, and why.

All that depends on the boundary alone is computed once; what is asked of one vertex then takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from partwhole.criterion.distances import PartDistances, threshold
from partwhole.criterion.loops import check_piece_of_sphere
from partwhole.criterion.result import CriterionKind, guaranteed_mask
from partwhole.criterion.thresholds import Boundary
from partwhole.geodesics import geodesic_distances
from partwhole.geodesics.distances import DistanceMethod, distances_from_each
from partwhole.mesh import Mesh
from partwhole.mesh.formats.common import counted
from partwhole.store.arguments import Progress
from partwhole.viewer.page.paths import Tracer

# as in `Criterion` for float32, which is plenty for what is looked at
RTOL = 1e-5


@dataclass(frozen=True, eq=False)
class TrustRow:
    """The pairs of one vertex: distances, and the threshold K of each criterion that applies."""

    vertex: int
    distances: Float[np.ndarray, "n"]
    thresholds: dict[CriterionKind, Float[np.ndarray, "n"]]

    def guaranteed(self, kind: CriterionKind) -> Bool[np.ndarray, "n"]:
        """D ≤ K (1 + rtol)"""
        mask = guaranteed_mask(self.distances, self.thresholds[kind], RTOL)
        mask[self.vertex] = True
        return mask


@dataclass(frozen=True)
class OutsidePath:
    """The shortest possible path through the missing region: it decides whether a pair is guaranteed.

    Attributes
    ----------
    leaves, returns : the boundary vertices where it leaves the part and comes back
    to_boundary, across, from_boundary : its three pieces; their sum is the threshold of the pair
    """

    leaves: int
    returns: int
    to_boundary: float
    across: float
    from_boundary: float

    @property
    def length(self) -> float:
        return self.to_boundary + self.across + self.from_boundary


@dataclass(frozen=True, eq=False)
class TrustExplorer:
    """Answers for one vertex of a part at a time.

    Attributes
    ----------
    mesh : the part
    method : how distances are measured
    sound : whether boundary edges are allowed for, see `wormhole_criterion`
    from_boundary : distances from each boundary vertex
    to_boundary : the same, shortened where `sound` asks for it
    outside : the least length of a path through the missing region
    chained : the same for the same-loop criterion; None where that does not apply
    no_same_loop : why it does not

    Examples
    --------
    >>> from partwhole.datasets import annulus
    >>> explorer = TrustExplorer.of(annulus(n_vertices=300), method="dijkstra")
    >>> row = explorer.row(7)
    >>> bool((row.guaranteed("boundary") <= row.guaranteed("wormhole")).all())
    True
    """

    mesh: Mesh
    method: DistanceMethod
    sound: bool
    from_boundary: Float[np.ndarray, "b n"]
    to_boundary: Float[np.ndarray, "b n"]
    outside: Boundary
    chained: Float[np.ndarray, "b b"] | None
    no_same_loop: str | None

    @classmethod
    def of(
        cls,
        mesh: Mesh,
        *,
        method: DistanceMethod = "fast_marching",
        sound: bool = False,
        no_same_loop: str | None = None,
        progress: Progress | bool = False,
    ) -> TrustExplorer:
        """Measure distances from the boundary, once.

        Parameters
        ----------
        no_same_loop : a reason, known from the whole, why the same-loop criterion does not apply
        """
        boundary = mesh.boundary_vertices
        if len(boundary):
            measured = geodesic_distances(mesh, boundary, method=method, dtype=np.float32, progress=progress)
            from_boundary = np.asarray(measured)
        else:
            from_boundary = np.empty((0, mesh.n_vertices), np.float32)
        given = PartDistances(from_boundary, from_boundary, boundary)
        outside = Boundary.of(mesh, given, 1.0, sound)
        reason = no_same_loop or no_piece_of_sphere(mesh)
        chained = None if reason else outside.chained("cpu").astype(np.float32)
        return cls(mesh, method, sound, from_boundary, given.to_boundary(outside.slack), outside, chained, reason)

    @cached_property
    def straight(self) -> Float[np.ndarray, "b b"]:
        return self.outside.straight.astype(np.float32)

    @cached_property
    def nearest(self) -> Float[np.ndarray, "n"]:
        """d(i, B)"""
        return self.to_boundary.min(axis=0, initial=np.inf)

    @cached_property
    def tracer(self) -> Tracer:
        return Tracer.of(self.mesh)

    @cached_property
    def distances_from(self) -> Callable[[int], Float[np.ndarray, "n"]]:
        return distances_from_each(self.mesh, method=self.method)

    def row(self, vertex: int) -> TrustRow:
        """The pairs of a vertex, by every criterion that applies."""
        check_vertex(self.mesh, vertex)
        from_vertex = self.to_boundary[:, [vertex]]
        thresholds: dict[CriterionKind, np.ndarray] = {
            "boundary": threshold(self.nearest[None, [vertex]], self.nearest[None])[0],
            "wormhole": threshold(from_vertex, self.to_boundary, self.straight)[0],
        }
        if self.chained is not None:
            thresholds["same-loop"] = threshold(from_vertex, self.to_boundary, self.chained)[0]
        return TrustRow(vertex, self.distances_from(vertex), thresholds)

    def wormhole(self, vertex: int, other: int) -> OutsidePath | None:
        """What decides whether the pair is guaranteed by the wormhole criterion; None where nothing is missing."""
        for number in (vertex, other):
            check_vertex(self.mesh, number)
        if not len(self.to_boundary):
            return None
        out, back = deciding_pair(self.to_boundary, self.straight, vertex, other)
        numbers = self.mesh.boundary_vertices
        return OutsidePath(
            int(numbers[out]),
            int(numbers[back]),
            float(self.to_boundary[out, vertex]),
            float(self.straight[out, back]),
            float(self.to_boundary[back, other]),
        )

    def path(self, field: Float[np.ndarray, "n"], start: int) -> Float[np.ndarray, "k 3"]:
        """The path from a vertex down to where the distances `field` are 0: across faces, or along edges for Dijkstra's."""
        return self.tracer.descend(field, start, along_edges=self.method == "dijkstra")

    def path_from_boundary(self, boundary_vertex: int, end: int) -> Float[np.ndarray, "k 3"]:
        """The path on the part from a boundary vertex to another vertex."""
        row = int(np.searchsorted(self.mesh.boundary_vertices, boundary_vertex))
        return self.path(self.from_boundary[row], end)[::-1]


def deciding_pair(
    to_boundary: Float[np.ndarray, "b n"], across: Float[np.ndarray, "b b"], vertex: int, other: int
) -> tuple[int, int]:
    """b₁ and b₂ that attain K_ij, as rows of `to_boundary`."""
    to_return = (to_boundary[:, vertex, None] + across).min(axis=0)
    back = int((to_return + to_boundary[:, other]).argmin())
    return int((to_boundary[:, vertex] + across[:, back]).argmin()), back


def why_no_sphere(whole: Mesh | None) -> str | None:
    """The reason why a whole is not a topological sphere; None if it is one, or is not known."""
    if whole is None:
        return None
    if not whole.is_closed:
        return (
            f"the whole, {whole.name}, has {counted(len(whole.boundary_loops), 'boundary loop')}, so it is not a sphere"
        )
    if whole.n_components != 1 or not whole.is_manifold or whole.euler_characteristic != 2:
        return f"the whole, {whole.name}, is not a topological sphere"
    return None


def check_vertex(mesh: Mesh, vertex: int) -> None:
    if not 0 <= vertex < mesh.n_vertices:
        raise ValueError(f"there is no vertex {vertex}, {mesh.name} has vertices 0 to {mesh.n_vertices - 1}")


def no_piece_of_sphere(mesh: Mesh) -> str | None:
    """The reason why a part can't be cut out of a sphere; None if it can."""
    try:
        check_piece_of_sphere(mesh)
    except ValueError as error:
        return str(error)
    return None
