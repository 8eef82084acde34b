"""How gates lead into each other, and how much angle there is around a vertex; see `exact` for the words."""

from __future__ import annotations

import numpy as np

from partwhole.geodesics.cpu.exact_queue import kernel
from partwhole.store.compute import njit

_ANGLE_TOLERANCE = 1e-11  # excess below which a vertex counts as flat: rays pass it on both sides


@njit(cache=True, nogil=True)
def gate_exits(corner_vertex, gate_edge, edge_start, edge_gate):
    """For each gate the gates on the other faces at its side, and whether those run along the side the same way."""
    count = len(corner_vertex)
    start = np.zeros(count + 1, np.int64)
    for gate in range(count):
        edge = gate_edge[gate]
        start[gate + 1] = start[gate] + edge_start[edge + 1] - edge_start[edge] - 1
    exits = np.empty((start[count], 2), np.int64)
    for gate in range(count):
        edge = gate_edge[gate]
        position = start[gate]
        for k in range(edge_start[edge], edge_start[edge + 1]):
            other = edge_gate[k]
            if other != gate:
                exits[position, 0] = other
                exits[position, 1] = corner_vertex[next_corner(other)] == corner_vertex[next_corner(gate)]
                position += 1
    return start, exits


@njit(cache=True, nogil=True)
def corner_fans(corner_vertex, gate_edge, edge_start, edge_gate, vertex_start, vertex_corner, angle, flat):
    """Walk around each vertex: where paths can bend (0-3, see `ExactTopology.bend`), and each corner's place in the fan."""
    n = len(vertex_start) - 1
    bend = np.zeros(n, np.int8)
    total = np.zeros(n)
    begins = np.zeros(len(corner_vertex))
    forward = np.zeros(len(corner_vertex))
    for v in range(n):
        degree = vertex_start[v + 1] - vertex_start[v]
        if degree == 0:
            continue
        corner, ahead, regular = _fan_begin(v, gate_edge, edge_start, vertex_start, vertex_corner, flat)
        if not regular:
            bend[v] = 3
            continue
        first, count, sum_of_angles, closed = corner, 0, 0.0, False
        while count < degree:
            begins[corner], forward[corner] = sum_of_angles, ahead
            sum_of_angles += angle[corner]
            count += 1
            # the side at which the fan leaves the corner is opposite to the face's other corner
            side = next_corner(corner) if ahead else previous_corner(corner)
            edge = gate_edge[side]
            if edge_start[edge + 1] - edge_start[edge] == 1:
                break
            gate = edge_gate[edge_start[edge]]
            if gate == side:
                gate = edge_gate[edge_start[edge] + 1]
            corner = next_corner(gate)
            if corner_vertex[corner] != v:
                corner = previous_corner(gate)
            ahead = gate == previous_corner(corner)
            if corner == first:
                closed = True
                break
        total[v] = sum_of_angles
        if count != degree:
            bend[v] = 3  # several fans meet in v
        elif closed:
            bend[v] = 1 if sum_of_angles > 2 * np.pi + _ANGLE_TOLERANCE else 0
        else:
            bend[v] = 2 if sum_of_angles > np.pi + _ANGLE_TOLERANCE else 0
    return bend, total, begins, forward


@njit(cache=True, nogil=True)
def _fan_begin(v, gate_edge, edge_start, vertex_start, vertex_corner, flat):
    """A corner at v to begin with (on the boundary if there is one), which way to walk, and whether angles make sense."""
    corner, ahead = vertex_corner[vertex_start[v]], True
    for k in range(vertex_start[v], vertex_start[v + 1]):
        here = vertex_corner[k]
        to_next, to_previous = gate_edge[previous_corner(here)], gate_edge[next_corner(here)]
        faces_next = edge_start[to_next + 1] - edge_start[to_next]
        faces_previous = edge_start[to_previous + 1] - edge_start[to_previous]
        if flat[here] or faces_next > 2 or faces_previous > 2:
            return corner, ahead, False
        if faces_next == 1:
            corner, ahead = here, True
        elif faces_previous == 1:
            corner, ahead = here, False
    return corner, ahead, True


@kernel
def next_corner(corner):
    """The next corner of the same face."""
    return corner - 2 if corner % 3 == 2 else corner + 1


@kernel
def previous_corner(corner):
    return corner + 2 if corner % 3 == 0 else corner - 1
