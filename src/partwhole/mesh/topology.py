"""How the triangles of a surface are connected: edges, boundary loops, components, manifold pieces, orientation.

Functions of arrays; `Mesh`, `repair` and the file formats use them. Also what occurs twice: points and faces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.sparse import csgraph


def unique_edges(
    faces: Int[np.ndarray, "m 3"],
) -> tuple[Int[np.ndarray, "e 2"], Int[np.ndarray, "m 3"], Int[np.ndarray, "e"]]:
    """Edges (u < v, sorted), the edge opposite to each corner of each face, and the number of faces at each edge.

    >>> edges, opposite, count = unique_edges(np.array([[0, 1, 2], [2, 1, 3]]))
    >>> edges.tolist(), opposite[0].tolist(), count.tolist()
    ([[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]], [2, 1, 0], [1, 1, 2, 1, 1])
    """
    sides = np.sort(faces[:, [[1, 2], [2, 0], [0, 1]]].reshape(-1, 2), axis=1)
    if len(sides) == 0:
        return np.empty((0, 2), np.int64), np.empty((0, 3), np.int64), np.empty(0, np.int64)
    stride = int(sides.max()) + 1
    keys, inverse, count = np.unique(sides[:, 0] * stride + sides[:, 1], return_inverse=True, return_counts=True)
    edges = np.stack([keys // stride, keys % stride], axis=1)
    return edges, inverse.reshape(-1, 3), count


def connected_labels(n: int, edges: Int[np.ndarray, "e 2"]) -> Int[np.ndarray, "n"]:
    """Label of each of n nodes, counted from 0; nodes joined by a chain of edges share one."""
    graph = sparse.coo_matrix((np.ones(len(edges), np.int8), (edges[:, 0], edges[:, 1])), shape=(n, n))
    _, labels = csgraph.connected_components(graph, directed=False)
    return labels.astype(np.int64)


def coincident_points(points: Float[np.ndarray, "k 3"]) -> tuple[Int[np.ndarray, "n"], Int[np.ndarray, "k"]]:
    """Merge points with exactly equal coordinates: the first of each, in order, and for each point its number among these.

    >>> first, number = coincident_points(np.array([[2.0, 0, 0], [1, 0, 0], [2, 0, 0], [1, 0, -0.0]]))
    >>> first.tolist(), number.tolist()
    ([0, 1], [0, 1, 0, 1])
    """
    order = np.lexsort(points.T)  # stable: among equals the first comes first
    ordered = points[order]
    starts = np.ones(len(points), bool)
    starts[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    group = np.cumsum(starts) - 1
    first_of_group = order[starts]
    by_appearance = np.argsort(first_of_group)
    rank = np.empty_like(by_appearance)
    rank[by_appearance] = np.arange(len(by_appearance))
    number = np.empty(len(points), np.int64)
    number[order] = rank[group]
    return first_of_group[by_appearance], number


def degenerate_faces(faces: Int[np.ndarray, "m 3"]) -> Bool[np.ndarray, "m"]:
    """True for faces that use a vertex twice."""
    a, b, c = faces.T
    return (a == b) | (b == c) | (c == a)


def duplicate_faces(faces: Int[np.ndarray, "m 3"]) -> Bool[np.ndarray, "m"]:
    """True for faces with the same three vertices as an earlier one, in whatever order."""
    ordered = np.sort(faces, axis=1)
    order = np.lexsort(ordered.T)  # stable: among equals the earliest comes first
    again = np.zeros(len(faces), bool)
    again[order[1:]] = (ordered[order[1:]] == ordered[order[:-1]]).all(axis=1)
    return again


def trace_loops(directed_edges: Int[np.ndarray, "e 2"]) -> list[Int[np.ndarray, "_"]]:
    """Split a set of directed edges into vertex chains, each followed from start to end (a closed one is not repeated there).

    Where loops touch at a vertex, or where the orientation of neighbouring faces disagrees, the chains still cover
    every edge exactly once.

    >>> trace_loops(np.array([[4, 5], [6, 4], [5, 6]]))[0].tolist()
    [4, 5, 6]
    """
    edges: list[list[int]] = directed_edges.tolist()
    leaving: dict[int, list[int]] = {}
    touching: dict[int, list[int]] = {}
    for index in reversed(range(len(edges))):  # lists are used from their ends, so the first edge comes last
        u, v = edges[index]
        leaving.setdefault(u, []).append(index)
        touching.setdefault(u, []).append(index)
        touching.setdefault(v, []).append(index)
    used = [False] * len(edges)
    loops = []
    for first, (start, here) in enumerate(edges):
        if used[first]:
            continue
        used[first] = True
        chain = [start]
        while here != start:
            chain.append(here)
            # follow the orientation where there is a choice, so that loops touching at a vertex come apart
            for candidates in (leaving.get(here, []), touching[here]):
                while candidates and used[candidates[-1]]:  # taken off for good, so that each edge is met once
                    candidates.pop()
                if candidates:
                    following = candidates[-1]
                    break
            else:
                break
            used[following] = True
            u, v = edges[following]
            here = v if u == here else u
        loops.append(np.array(chain, dtype=np.int64))
    return loops


def corner_angles(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> Float[np.ndarray, "m 3"]:
    """Interior angle of each face at each of its corners, in radians; 0 beside a side of length zero."""
    corners = vertices[faces]
    towards_next = np.roll(corners, -1, axis=1) - corners
    towards_previous = np.roll(corners, 1, axis=1) - corners
    cross = np.linalg.norm(np.cross(towards_next, towards_previous), axis=2)
    dot = np.einsum("mij,mij->mi", towards_next, towards_previous)
    return np.arctan2(cross, dot)


_MOST_PAIRED = 64  # faces at one edge that are looked at for a partner; the others are cut off


@dataclass(frozen=True, eq=False)
class Separated:
    """Faces with copied vertices: `copy_of[i]` is the vertex that i is, or is a copy of."""

    faces: Int[np.ndarray, "m 3"]
    copy_of: Int[np.ndarray, "k"]
    split_edges: int
    split_vertices: int


def separate(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> Separated:
    """Copy vertices until every edge has at most two faces, and the faces at every vertex form one fan.

    Faces are joined in pairs across edges; the corners of joined faces at one vertex form a fan; each fan gets its own
    copy of the vertex. Where a fan winds round its vertex and comes back to an edge, that edge would keep more than two
    faces; such an edge is cut through: no fan then goes across it, and a fan has at most two faces there, its ends.
    """
    n = len(vertices)
    _, edge_of_half, faces_at_edge = unique_edges(faces)
    edge_of_half = edge_of_half.reshape(-1)
    pairs = np.concatenate(
        [_only_pairs(edge_of_half, faces_at_edge), _best_pairs(vertices, faces, edge_of_half, faces_at_edge)]
    )
    while True:
        fan = connected_labels(faces.size, _joined_corners(faces, pairs))
        numbered, copy_of = _numbered(n, faces, fan)
        _, halves, count = unique_edges(numbered)
        crowded = np.unique(edge_of_half[(count[halves] > 2).reshape(-1)])
        if len(crowded) == 0:
            break
        pairs = pairs[~np.isin(edge_of_half[pairs[:, 0]], crowded)]
    return Separated(numbered, copy_of, int((faces_at_edge > 2).sum()), len(np.unique(copy_of[n:])))


def paired_halves(edge_of_half: Int[np.ndarray, "h"], chosen: Bool[np.ndarray, "e"]) -> Int[np.ndarray, "p 2"]:
    """The two half-edges of each chosen edge, which must have two; half 3f + k lies opposite to corner k of face f."""
    halves = np.flatnonzero(chosen[edge_of_half])
    return halves[np.argsort(edge_of_half[halves], kind="stable")].reshape(-1, 2)


def half_ends(
    faces: Int[np.ndarray, "m 3"], halves: Int[np.ndarray, "p"]
) -> tuple[Int[np.ndarray, "p"], Int[np.ndarray, "p"]]:
    """The corners (3f + k) between which a half-edge runs, in the direction of its face."""
    face, corner = np.divmod(halves, 3)
    return 3 * face + (corner + 1) % 3, 3 * face + (corner + 2) % 3


def _only_pairs(edge_of_half: Int[np.ndarray, "h"], faces_at_edge: Int[np.ndarray, "e"]) -> Int[np.ndarray, "p 2"]:
    return paired_halves(edge_of_half, faces_at_edge == 2)


def _best_pairs(
    vertices: Float[np.ndarray, "n 3"],
    faces: Int[np.ndarray, "m 3"],
    edge_of_half: Int[np.ndarray, "h"],
    faces_at_edge: Int[np.ndarray, "e"],
) -> Int[np.ndarray, "p 2"]:
    """Partners at edges with more than two faces: first those that run along it in opposite directions, then the flattest."""
    halves = np.flatnonzero(faces_at_edge[edge_of_half] > 2)
    if len(halves) == 0:
        return np.empty((0, 2), np.int64)
    halves = halves[np.argsort(edge_of_half[halves], kind="stable")]
    edge = edge_of_half[halves]
    first_of_edge = np.searchsorted(edge, edge)
    rank = np.arange(len(edge)) - first_of_edge
    halves, edge = halves[rank < _MOST_PAIRED], edge[rank < _MOST_PAIRED]
    end_of_edge = np.searchsorted(edge, edge, side="right")
    # every two halves of one edge, as positions i < j
    n_later = end_of_edge - np.arange(len(edge)) - 1
    i = np.repeat(np.arange(len(edge)), n_later)
    j = i + 1 + np.arange(len(i)) - np.repeat(np.cumsum(n_later) - n_later, n_later)
    start, end = (faces.reshape(-1)[c] for c in half_ends(faces, halves))
    away = _away_from_edge(vertices, start, end, faces.reshape(-1)[halves])
    # rounded, so that ties are decided by the order of the faces and not by noise
    fold = np.round(np.einsum("pk,pk->p", away[i], away[j]), 6)
    order = np.lexsort((j, i, fold, start[i] == start[j], edge[i]))
    i, j = i[order], j[order]
    taken = np.zeros(len(edge), bool)
    chosen = []
    while len(i):
        _, best = np.unique(edge[i], return_index=True)
        chosen.append(np.stack([halves[i[best]], halves[j[best]]], axis=1))
        taken[i[best]] = taken[j[best]] = True
        free = ~(taken[i] | taken[j])
        i, j = i[free], j[free]
    return np.concatenate(chosen)


def _away_from_edge(
    vertices: Float[np.ndarray, "n 3"],
    start: Int[np.ndarray, "h"],
    end: Int[np.ndarray, "h"],
    tip: Int[np.ndarray, "h"],
) -> Float[np.ndarray, "h 3"]:
    """Unit vectors at right angles to the edge, towards the third corner; zero if that lies on the line of the edge."""
    corners = np.stack([vertices[start], vertices[end], vertices[tip]])
    corners = corners - corners[0]
    scale = np.abs(corners).max(axis=(0, 2))
    corners = corners / np.where(scale > 0, scale, 1.0)[:, None]
    along, out = corners[1], corners[2]
    length2 = np.einsum("hk,hk->h", along, along)
    share = np.einsum("hk,hk->h", out, along) / np.where(length2 > 0, length2, 1.0)
    out = out - share[:, None] * along
    norm = np.linalg.norm(out, axis=1)
    return out / np.where(norm > 0, norm, 1.0)[:, None]


def _joined_corners(faces: Int[np.ndarray, "m 3"], pairs: Int[np.ndarray, "p 2"]) -> Int[np.ndarray, "q 2"]:
    """Corners at one vertex of two faces that are joined across an edge."""
    (start, end), (other_start, other_end) = half_ends(faces, pairs[:, 0]), half_ends(faces, pairs[:, 1])
    flat = faces.reshape(-1)
    same_way = flat[start] == flat[other_start]
    at_start = np.where(same_way, other_start, other_end)
    at_end = np.where(same_way, other_end, other_start)
    return np.concatenate([np.stack([start, at_start], axis=1), np.stack([end, at_end], axis=1)])


def _numbered(
    n: int, faces: Int[np.ndarray, "m 3"], fan: Int[np.ndarray, "c"]
) -> tuple[Int[np.ndarray, "m 3"], Int[np.ndarray, "k"]]:
    """The first fan at each vertex keeps its number, the others get new ones from n on, in the order of their faces."""
    _, first_corner, fan = np.unique(fan, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first_corner)
    vertex = faces.reshape(-1)[first_corner[by_appearance]]
    _, keeper = np.unique(vertex, return_index=True)
    is_copy = np.ones(len(vertex), bool)
    is_copy[keeper] = False
    number = vertex.copy()
    number[is_copy] = n + np.arange(is_copy.sum())
    number_of_fan = np.empty(len(vertex), np.int64)
    number_of_fan[by_appearance] = number
    return number_of_fan[fan.reshape(-1)].reshape(-1, 3), np.concatenate([np.arange(n), vertex[is_copy]])


@dataclass(frozen=True, eq=False)
class Orientation:
    """Which faces to turn over, and how many components have no orientation at all."""

    flip: Bool[np.ndarray, "m"]
    non_orientable_components: int


def consistent_orientation(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> Orientation:
    """Which faces to turn over so that neighbours run along their common edge in opposite directions.

    The oriented double cover has two nodes for each face, as it is and turned over; nodes are joined where they agree.
    A component is orientable exactly if its double cover falls into two sheets: the one that turns fewer faces over is
    taken, and for a closed component the one that encloses a positive volume. Non-orientable components stay as they
    are. The faces must form a manifold.
    """
    m = len(faces)
    _, edge_of_half, count = unique_edges(faces)
    pairs = paired_halves(edge_of_half.reshape(-1), count == 2)
    start, _ = half_ends(faces, pairs[:, 0])
    other_start, _ = half_ends(faces, pairs[:, 1])
    flat = faces.reshape(-1)
    agree = flat[start] != flat[other_start]
    f, g = pairs[:, 0] // 3, pairs[:, 1] // 3
    opposite = np.where(agree, g, g + m)
    sheet = connected_labels(2 * m, np.stack([np.r_[f, f + m], np.r_[opposite, (opposite + m) % (2 * m)]], axis=1))
    component = connected_labels(m, np.stack([f, g], axis=1))
    _, first_face = np.unique(component, return_index=True)
    as_is, turned = sheet[first_face], sheet[first_face + m]
    orientable = as_is != turned
    size = np.bincount(sheet[:m], minlength=int(sheet.max()) + 1)
    chosen = np.where(size[as_is] >= size[turned], as_is, turned)
    flip = sheet[:m] != chosen[component]
    is_open = np.zeros(len(first_face), bool)
    is_open[component[(count[edge_of_half] == 1).any(axis=1)]] = True
    inside_out = ~is_open & (_volumes(vertices, faces, flip, component, first_face) < 0)
    flip = (flip ^ inside_out[component]) & orientable[component]
    return Orientation(flip, int((~orientable).sum()))


def _volumes(
    vertices: Float[np.ndarray, "n 3"],
    faces: Int[np.ndarray, "m 3"],
    flip: Bool[np.ndarray, "m"],
    component: Int[np.ndarray, "m"],
    first_face: Int[np.ndarray, "c"],
) -> Float[np.ndarray, "c"]:
    """Signed volume under the faces of each component, seen from one of its vertices; up to a common factor."""
    scale = np.abs(vertices[faces]).max()
    corners = vertices[faces] / (scale if scale > 0 else 1.0)
    corners = corners - corners[first_face, 0][component][:, None, :]
    signed = np.einsum("mk,mk->m", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
    return np.bincount(component, weights=np.where(flip, -signed, signed))
