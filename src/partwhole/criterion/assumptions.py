"""What a part and its distances say against the assumptions of the proofs.

A proof assumes that the whole is a manifold, that the part consists of some of its faces, and that distances are what they
are said to be. The whole is not seen, so assumptions can't be checked; that they do not hold can sometimes be.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole.criterion.border import bound_of, lengths_in, straight_lines
from partwhole.geodesics.metrics import Metric
from partwhole.mesh.surface import Mesh

# how far a distance may be off, relatively, before it counts as wrong: above the rounding of float32
_OFF = 1e-4


def why_not_proved(
    mesh: Mesh,
    between: Float[np.ndarray, "b b"],
    metric_bound: float | Metric,
    *,
    sound: bool,
    straight: bool,
) -> str | None:
    """The reason why nothing is proved, whatever the whole is; None if there is none to be seen.

    Parameters
    ----------
    between : distances among the boundary vertices
    sound : whether the claim is about ways across faces, and so about the lengths of boundary edges
    straight : whether it is about straight lines in space
    """
    reasons = [no_part_of_manifold(mesh)]
    if straight:
        reasons.append(_too_short(mesh, between, metric_bound))
    if sound:
        reasons += [_too_long(mesh, between, metric_bound), _no_triangles(mesh, metric_bound)]
    return next((reason for reason in reasons if reason), None)


def no_part_of_manifold(mesh: Mesh) -> str | None:
    """Why no manifold has these faces: three at an edge, or at a vertex some that go all around it and others.

    Where a whole has three faces at an edge and one is lost, two are left, and nothing shows that a way leaves there.

    >>> fin = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 0]], [[0, 1, 2], [0, 1, 3], [0, 1, 4]])
    >>> no_part_of_manifold(fin)
    'mesh has 1 edge with more than two faces, so the whole is no manifold; use pw.repair'
    """
    crowded = int(np.count_nonzero(mesh.faces_per_edge > 2))
    if crowded:
        edges = "1 edge" if crowded == 1 else f"{crowded} edges"
        return f"{mesh.name} has {edges} with more than two faces, so the whole is no manifold; use pw.repair"
    # a fan that does not go all around its vertex ends in two boundary edges
    ends = np.bincount(mesh.boundary_edges.reshape(-1), minlength=mesh.n_vertices)
    touching = np.flatnonzero((mesh.fans_per_vertex > 1) & (ends < 2 * mesh.fans_per_vertex))
    if len(touching):
        return (
            f"{mesh.name} has faces all around vertex {touching[0]} and others that touch it there, so the whole is no "
            "manifold; use pw.repair"
        )
    return None


def _too_short(mesh: Mesh, between: Float[np.ndarray, "b b"], metric_bound: float | Metric) -> str | None:
    """No way is shorter than c times the straight line."""
    c = bound_of(metric_bound)
    least = c * straight_lines(mesh)
    shorter = np.argwhere(between < (1 - _OFF) * least)
    if not len(shorter):
        return None
    (i, j), at = shorter[0], mesh.boundary_vertices
    return (
        f"D is {between[i, j]:.6g} between vertices {at[i]} and {at[j]}, less than {_times(c)}the straight line, "
        f"{least[i, j]:.6g}: it is too short, or metric_bound too large"
    )


def _too_long(mesh: Mesh, between: Float[np.ndarray, "b b"], metric_bound: float | Metric) -> str | None:
    """The way along a boundary edge is a way between its ends."""
    on_border = mesh.faces_per_edge == 1
    lengths = lengths_in(mesh, metric_bound)[on_border]
    i, j = np.searchsorted(mesh.boundary_vertices, mesh.edges[on_border]).T
    longer = np.flatnonzero(np.maximum(between[i, j], between[j, i]) > (1 + _OFF) * lengths)
    if not len(longer):
        return None
    k = longer[0]
    u, v = mesh.edges[on_border][k]
    return (
        f"D is {between[i[k], j[k]]:.6g} between vertices {u} and {v}, more than the boundary edge between them, "
        f"{lengths[k]:.6g}: it is too long, or measured with another metric, which metric_bound must then be"
    )


def _no_triangles(mesh: Mesh, metric_bound: float | Metric) -> str | None:
    if not isinstance(metric_bound, Metric):
        return None
    sides = np.sort(metric_bound.edge_lengths[mesh.opposite_edges], axis=1)
    bad = int(np.count_nonzero(sides[:, 2] > (sides[:, 0] + sides[:, 1]) * (1 + 1e-9)))
    if not bad:
        return None
    return f"under the metric {bad} of {mesh.n_faces} faces have a side longer than the two others together"


def _times(c: float) -> str:
    return "" if c == 1 else f"{c:g} times "
