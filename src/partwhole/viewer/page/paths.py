"""Shortest paths on a surface, traced from their end down the distances from their start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from partwhole.mesh import Mesh
from partwhole.mesh.surface import edge_graph

# points looked at on each edge; between them the path may bend by a few per cent of an edge, which no eye sees
_POINTS = 17


@dataclass(frozen=True, eq=False)
class Tracer:
    """Follows distances downhill.

    At each step it looks at the edges across the faces where it stands, and goes to the point x for which
    field(x) + |x − here| is least, field being interpolated between the ends of the edge.

    Attributes
    ----------
    mesh : the surface
    faces_at, first_at : faces of each vertex, those of vertex v are faces_at[first_at[v] : first_at[v + 1]]
    faces_of, first_of : the same for edges
    """

    mesh: Mesh
    faces_at: Int[np.ndarray, "_"]
    first_at: Int[np.ndarray, "_"]
    faces_of: Int[np.ndarray, "_"]
    first_of: Int[np.ndarray, "_"]

    @classmethod
    def of(cls, mesh: Mesh) -> Tracer:
        at_vertices = _grouped(mesh.faces, mesh.n_vertices)
        return cls(mesh, *at_vertices, *_grouped(mesh.opposite_edges, len(mesh.edges)))

    def descend(
        self, field: Float[np.ndarray, "n"], start: int, *, along_edges: bool = False
    ) -> Float[np.ndarray, "k 3"]:
        """The path from vertex `start` to the vertex where `field` is 0, as points; only the start if there is no path.

        Examples
        --------
        >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
        >>> Tracer.of(square).descend(np.array([1.0, 0, 1, 2**0.5]), 3).round(2).tolist()
        [[0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]
        """
        field = np.asarray(field, np.float64)
        vertices, edges = self.mesh.vertices, self.mesh.edges
        shares = np.linspace(0, 1, 2 if along_edges else _POINTS)
        points, value = [vertices[start]], float(field[start])
        vertex, edge = start, -1
        if not np.isfinite(value):
            return np.stack(points)
        # every step goes down, so none is taken twice; the limit is for rounding
        for _ in range(4 * len(edges)):
            if value == 0:
                return np.stack(points)
            around = self._edges_across(vertex, edge)
            ends = edges[around]
            with np.errstate(invalid="ignore"):  # 0 · inf, at the edge of what can be reached
                values = field[ends[:, :1]] * (1 - shares) + field[ends[:, 1:]] * shares
            values[:, 0], values[:, -1] = field[ends[:, 0]], field[ends[:, 1]]
            places = vertices[ends[:, 0], None] * (1 - shares)[:, None] + vertices[ends[:, 1], None] * shares[:, None]
            cost = values + np.linalg.norm(places - points[-1], axis=2)
            cost[~(values < value)] = np.inf
            row, column = np.unravel_index(int(cost.argmin()), cost.shape)
            if not np.isfinite(cost[row, column]):
                break
            points.append(places[row, column])
            value = float(values[row, column])
            inside = 0 < column < len(shares) - 1
            edge = int(around[row]) if inside else -1
            vertex = -1 if inside else int(ends[row, 0 if column == 0 else 1])
        # a dent in approximate distances stops the descent; the rest goes along edges
        last = vertex if vertex >= 0 else int(edges[edge][field[edges[edge]].argmin()])
        rest = self._along_edges(last, int(field.argmin()))
        return np.concatenate([np.stack(points), rest[1:] if vertex >= 0 else rest])

    def _edges_across(self, vertex: int, edge: int) -> Int[np.ndarray, "_"]:
        opposite, faces = self.mesh.opposite_edges, self.mesh.faces
        if vertex >= 0:
            here = self.faces_at[self.first_at[vertex] : self.first_at[vertex + 1]]
            return opposite[here][faces[here] == vertex]
        here = self.faces_of[self.first_of[edge] : self.first_of[edge + 1]]
        return opposite[here][opposite[here] != edge]

    def _along_edges(self, start: int, end: int) -> Float[np.ndarray, "k 3"]:
        from scipy.sparse.csgraph import dijkstra

        _, before = dijkstra(edge_graph(self.mesh), indices=end, return_predecessors=True)
        path = [start]
        while path[-1] != end:
            path.append(int(before[path[-1]]))
        return self.mesh.vertices[path]


def _grouped(table: Int[np.ndarray, "m 3"], count: int) -> tuple[Int[np.ndarray, "_"], Int[np.ndarray, "_"]]:
    """The rows in which each number occurs, one number after the other, and where those of each begin."""
    rows = np.argsort(table.reshape(-1), kind="stable") // 3
    first = np.concatenate([[0], np.cumsum(np.bincount(table.reshape(-1), minlength=count))])
    return rows, first
