"""What a way through the missing region costs at least, from one boundary vertex to another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from partwhole.criterion.min_plus import Device, min_plus
from partwhole.geodesics.metrics import Metric
from partwhole.mesh.surface import Mesh
from partwhole.store.arguments import check_number


@dataclass(frozen=True, eq=False)
class Border:
    """The border of a part as a criterion sees it; b₁, b₂ run over `mesh.boundary_vertices`.

    slack : h(b), half the longest boundary edge at b and `rounding`, or 0 if ways out are taken at boundary vertices only
    straight : [c |b₁ − b₂| − h(b₁) − h(b₂)]₊, the bound of the wormhole criterion
    inside : [d(b₁, b₂) − h(b₁) − h(b₂)]₊, moving on the part
    labels : the loop of each vertex
    """

    slack: Float[np.ndarray, "b"]
    straight: Float[np.ndarray, "b b"]
    inside: Float[np.ndarray, "b b"]
    labels: Int[np.ndarray, "b"]

    @classmethod
    def of(
        cls,
        mesh: Mesh,
        between: Float[np.ndarray, "b b"],
        metric_bound: float | Metric,
        sound: bool,
        *,
        rounding: float = 0.0,
    ) -> Border:
        """`between` are the distances among boundary vertices, `rounding` is the error that these may have by rounding."""
        c = bound_of(metric_bound)
        if not 0 <= c < np.inf:
            raise ValueError(f"metric_bound must be finite and at least 0, got {c}; 1 is the metric of space")
        check_size(mesh, metric_bound)
        slack = np.zeros(len(mesh.boundary_vertices))
        if sound:
            # what is left after h was taken off may be smaller than its rounding error, so that is taken off as well
            slack += half_longest(mesh, lengths_in(mesh, metric_bound)) + rounding
        at_both_ends = np.add.outer(slack, slack)
        return cls(
            slack=slack,
            straight=np.maximum(c * straight_lines(mesh) - at_both_ends, 0),
            inside=np.maximum(between - at_both_ends, 0),
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


def bound_of(metric_bound: float | Metric) -> float:
    if isinstance(metric_bound, Metric):
        return metric_bound.lower_bound
    check_number("metric_bound", metric_bound)
    return float(metric_bound)


def check_size(mesh: Mesh, metric_bound: float | Metric) -> None:
    if isinstance(metric_bound, Metric) and len(metric_bound.edge_lengths) != len(mesh.edges):
        raise ValueError(
            f"metric_bound has {len(metric_bound.edge_lengths)} edge lengths, {mesh.name} has {len(mesh.edges)} "
            "edges; make the metric from this mesh"
        )


def lengths_in(mesh: Mesh, metric_bound: float | Metric) -> Float[np.ndarray, "e"]:
    """Edge lengths in the metric that distances are measured with.

    A lower bound says nothing about how long an edge is, and neither do distances, which may be shorter than the edge.
    """
    if isinstance(metric_bound, Metric):
        return metric_bound.edge_lengths
    if metric_bound != 1:
        raise ValueError(
            f"metric_bound is the number {metric_bound:g}, which does not say how long boundary edges are in the metric, "
            "and sound=True must know; give the Metric that D was measured with"
        )
    return mesh.edge_lengths


def half_longest(mesh: Mesh, lengths: Float[np.ndarray, "e"]) -> Float[np.ndarray, "b"]:
    """h(b): half the longest boundary edge at each boundary vertex."""
    on_border = mesh.faces_per_edge == 1
    longest = np.zeros(len(mesh.boundary_vertices))
    ends = np.searchsorted(mesh.boundary_vertices, mesh.edges[on_border])
    np.maximum.at(longest, ends, lengths[on_border][:, None])
    return longest / 2


def straight_lines(mesh: Mesh) -> Float[np.ndarray, "b b"]:
    """|b₁ − b₂| in space."""
    points = mesh.vertices[mesh.boundary_vertices]
    return np.sqrt(sum(np.subtract.outer(x, x) ** 2 for x in points.T))
