"""The thresholds as shortest paths on the edge graph with wormholes: edges that stand for paths outside. For tests."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.sparse import csgraph

from partwhole.criterion.result import CriterionKind
from partwhole.mesh.surface import Mesh
from partwhole.mesh.topology import connected_labels


def wormhole_graph_distances(mesh: Mesh, kind: CriterionKind, *, metric_bound: float = 1.0) -> Float[np.ndarray, "n n"]:
    """min(D, K), D the graph distances: a shortest path either stays on the part or goes through a wormhole.

    Every two boundary vertices are joined by an edge: of length 0 for the boundary criterion, c |b₁ − b₂| for the
    wormhole criterion, and the same for the same-loop criterion, there only within a loop. Where the straight line is
    not longer than the path along edges, c ≤ 1, one wormhole a path is enough, by the triangle inequality; for the
    same-loop criterion, one a loop.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> wormhole_graph_distances(square, "wormhole")[1].round(3)
    array([1.   , 0.   , 1.   , 1.414])
    """
    start, end = np.triu_indices(len(mesh.boundary_vertices), k=1)
    if kind == "same-loop":
        same_loop = mesh.boundary_labels[start] == mesh.boundary_labels[end]
        start, end = start[same_loop], end[same_loop]
    wormholes = np.stack([mesh.boundary_vertices[start], mesh.boundary_vertices[end]], axis=1)
    lines = np.linalg.norm(mesh.vertices[wormholes[:, 1]] - mesh.vertices[wormholes[:, 0]], axis=1)
    factor = 0.0 if kind == "boundary" else metric_bound
    edges = np.concatenate([mesh.edges, wormholes])
    return shortest_paths(mesh.n_vertices, edges, np.concatenate([mesh.edge_lengths, factor * lines]))


def shortest_paths(n: int, edges: Int[np.ndarray, "e 2"], lengths: Float[np.ndarray, "e"]) -> Float[np.ndarray, "n n"]:
    """All-pairs shortest paths on a graph that may have parallel edges and edges of length zero.

    Sparse matrices take zero for no edge and add up parallel ones, so vertices at distance zero are merged first, and
    of parallel edges the shortest is kept.

    >>> shortest_paths(3, np.array([[0, 1], [1, 2], [0, 2], [2, 0]]), np.array([0.0, 5.0, 2.0, 3.0]))
    array([[0., 0., 2.],
           [0., 0., 2.],
           [2., 2., 0.]])
    """
    merged = connected_labels(n, edges[lengths == 0])
    ends = np.sort(merged[edges], axis=1)
    apart = ends[:, 0] != ends[:, 1]
    ends, lengths = ends[apart], lengths[apart]
    order = np.lexsort((lengths, ends[:, 1], ends[:, 0]))
    _, first = np.unique(ends[order], axis=0, return_index=True)
    keep = order[first]
    m = int(merged.max()) + 1
    graph = sparse.csr_matrix((lengths[keep], (ends[keep, 0], ends[keep, 1])), shape=(m, m))
    between = csgraph.dijkstra(graph, directed=False)
    return between[np.ix_(merged, merged)]
