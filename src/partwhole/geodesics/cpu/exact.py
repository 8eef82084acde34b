"""Exact geodesic distances on a triangulated surface, from edge lengths alone.

The shortest path between two points of a polyhedral surface is a straight line once the triangles it crosses are
unfolded into the plane. It can only bend at a vertex around which there is at least as much angle as in the plane
(a saddle) or at a boundary. So the distance is found by sending straight rays over the surface, triangle by triangle:

- A **gate** is one side of one triangle, entered from outside; gate ``3 f + i`` leads into face f, towards its
  corner i. Its frame has the side on the x axis, from corner i+1 (at 0) to corner i+2 (at l), the apex above.
- A **window** is a bundle of rays through an interval [b0, b1] of a gate, all from one point s below the axis: the
  unfolded place of a vertex (the source, or a saddle where paths bend) at distance sigma from the source. So a point p
  that the bundle reaches has a path of length sigma + |p - s|.
- **Crossing** a triangle, the rays hit its left or its right side; a window that holds the apex gives the apex
  a distance and splits in two. The pieces, with s turned into the new frames, wait at the gates behind these sides.
- **Bending**: a vertex with a new distance offers it to its neighbours along the edges, and, if paths can bend there,
  sends windows into those directions that make an angle of at least pi, on both sides, with the way it was reached.
- **Trimming** keeps the number of windows small: a ray that is longer than some other path to a point on its way
  is no shortest path further on. A window loses the ends where walking along the side from the vertices there is
  shorter, and is dropped if the vertex behind it gets sooner to its far end (after Xin and Wang, 2009, who drop whole
  windows only).

Gates and vertices wait in buckets by distance. All values that trim are lengths of true paths, so the order in which
the work is done changes the time it takes, never the result. Ties and rounding are decided in favour of keeping a ray.

Where the surface is odd: triangles without area are given a height of 1e-10 of their longest side; their vertices, like
those where the surface is not a manifold, send windows everywhere; and because many paths are equally long there, such
gates remember what has crossed them and let nothing pass twice. So do the gates of needles, around which rays wind.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from partwhole.geodesics.cpu.exact_fans import corner_fans, gate_exits
from partwhole.geodesics.cpu.exact_windows import propagate_all

_FLAT_HEIGHT = 1e-10  # height given to a triangle without area, relative to its longest side
_NO_LENGTH = 1e-100  # a side this short, relative to the longest edge of all, has none: its square would vanish
_FLAT_AREA = 1e-7  # area over longest side squared below which it is within the rounding of the lengths, or near it
_THIN_AREA = (
    1e-3  # the same below which a triangle is a needle: rays wind around those, and no vertex is there to trim them
)
_REPEAT = (
    1e-12  # windows this close to an earlier one, relative to the gate, are its copies, at needles and crowded edges
)


class ExactTopology(NamedTuple):
    """A surface, laid out for `exact_distances`. Gates and corners are numbered 3 * face + corner."""

    corner_vertex: Int[np.ndarray, "c"]
    gates: Float[np.ndarray, "c 14"]
    """For each gate and corner the numbers named in `exact_pool`, from BASE to FORWARD."""
    exit_start: Int[np.ndarray, "_"]
    exits: Int[np.ndarray, "_ 2"]
    """Leaving the face of gate g backwards, through g, leads to the gates exits[exit_start[g]:exit_start[g + 1], 0]; column 1
    is 1 if the two faces run along their common side in the same direction, which orientable surfaces avoid."""
    vertex_start: Int[np.ndarray, "_"]
    vertex_corner: Int[np.ndarray, "c"]
    bend: Int[np.ndarray, "n"]
    """Where paths can bend: 0 nowhere, 1 a saddle inside, 2 a wide angle at the boundary, 3 in all directions."""
    total_angle: Float[np.ndarray, "n"]
    bucket_width: float


def exact_topology(
    n: int,
    faces: Int[np.ndarray, "m 3"],
    opposite_edges: Int[np.ndarray, "m 3"],
    edge_lengths: Float[np.ndarray, "e"],
) -> ExactTopology:
    """Lay a surface out for `exact_distances`; only its edge lengths matter, so any metric will do.

    An edge longer than the other two of a triangle together is shortened to their sum: no shortest path is longer.
    """
    faces = np.array(faces, dtype=np.int64, order="C")  # a copy: for arrays to read, kernels would be compiled again
    edge_lengths = np.array(edge_lengths, dtype=np.float64)
    edge_lengths[edge_lengths < _NO_LENGTH * edge_lengths.max(initial=0.0)] = 0.0
    edge_lengths = _closed(edge_lengths, opposite_edges)
    side = edge_lengths[opposite_edges]
    base = side.reshape(-1)
    left, right = np.roll(side, -2, axis=1).reshape(-1), np.roll(side, -1, axis=1).reshape(-1)
    longest = np.repeat(side.max(axis=1, initial=0.0), 3)
    apex_x, apex_y, angle, double_area = _layout(base, left, right, longest)
    flat, thin = (double_area <= 2 * area * longest * longest for area in (_FLAT_AREA, _THIN_AREA))

    cos_left, sin_left = _direction(apex_x, apex_y)
    cos_right, sin_right = _direction(base - apex_x, apex_y)
    slack = np.where(flat, _FLAT_HEIGHT * longest, 0.0)
    corner_vertex = faces.reshape(-1)
    gate_edge = np.ascontiguousarray(opposite_edges, dtype=np.int64).reshape(-1)
    edge_start, edge_gate = _group(gate_edge, len(edge_lengths))
    vertex_start, vertex_corner = _group(corner_vertex, n)
    exit_start, exits = gate_exits(corner_vertex, gate_edge, edge_start, edge_gate)
    bend, total_angle, begins, forward = corner_fans(
        corner_vertex, gate_edge, edge_start, edge_gate, vertex_start, vertex_corner, angle, flat
    )
    crowded = np.diff(edge_start)[gate_edge] > 2
    repeat = np.maximum(slack, np.where(crowded | thin, _REPEAT * base, 0.0))
    columns = [base, apex_x, apex_y, left, right, cos_left, sin_left, cos_right, sin_right]
    columns += [slack, repeat, angle, begins, forward]
    return ExactTopology(
        corner_vertex,
        np.stack(columns, axis=1),
        exit_start,
        exits,
        vertex_start,
        vertex_corner,
        bend,
        total_angle,
        _bucket_width(edge_lengths),
    )


def exact_distances(topology: ExactTopology, sources: Int[np.ndarray, "r"], out: Float[np.ndarray, "r n"]) -> None:
    """out[k, v] = length of the shortest path over the surface from sources[k] to v; inf where there is none.

    Releases the GIL and shares nothing, so several threads may work on different rows at once.
    """
    exhausted = propagate_all(topology, np.ascontiguousarray(sources, dtype=np.int64), out)
    if exhausted:
        warnings.warn(
            f"{exhausted} of {len(sources)} rows of exact distances are only upper bounds: side lengths inside of a triangle "
            "differ by too many orders of magnitude; repair the mesh or remesh it",
            RuntimeWarning,
            stacklevel=2,
        )


def _closed(edge_lengths, opposite_edges):
    """Edge lengths that satisfy the triangle inequality in every face, each the largest possible below those given."""
    while True:
        side = edge_lengths[opposite_edges]
        detour = np.roll(side, -1, axis=1) + np.roll(side, -2, axis=1)
        too_long = side > detour * (1 + 1e-15)
        if not too_long.any():
            return edge_lengths
        np.minimum.at(edge_lengths, opposite_edges[too_long], detour[too_long])


def _layout(base, left, right, longest):
    """Apex of each triangle above its base, the angle there, and twice the area."""
    short, middle, long = np.sort(np.stack([base, left, right]), axis=0)
    long = np.minimum(long, short + middle)
    # Kahan's form of Heron's formula: accurate for slivers too; its four factors also give the angle
    double_area = 0.5 * np.sqrt(
        (long + (middle + short))
        * np.maximum(short - (long - middle), 0)
        * (short + (long - middle))
        * (long + (middle - short))
    )
    positive = np.where(base > 0, base, 1.0)
    apex_y = np.maximum(double_area / positive, _FLAT_HEIGHT * longest)
    apex_x = ((left - right) * (left + right) + base * base) / (2 * positive)
    apex_x = np.clip(apex_x, np.maximum(-left, base - right), np.minimum(left, base + right))
    angle = np.arctan2(double_area, 0.5 * (left * left + right * right - base * base))
    return apex_x, apex_y, angle, double_area


def _direction(x, y):
    length = np.hypot(x, y)
    positive = np.where(length > 0, length, 1.0)
    return x / positive, y / positive


def _group(keys, size):
    """Positions of the keys 0, 1, ..., one after the other, and where each key's positions begin."""
    start = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=size), out=start[1:])
    return start, np.argsort(keys, kind="stable").astype(np.int64)


def _bucket_width(edge_lengths):
    """A quarter of a typical edge; not so small beside the longest edge that one step runs past all buckets."""
    if len(edge_lengths) == 0 or not edge_lengths.max() > 0:
        return 1.0
    return float(max(0.25 * np.median(edge_lengths), edge_lengths.max() / 1000))
