"""An atlas: a surface cut into charts, flat pieces that lie side by side in a square picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import SurfaceTree

# along the axes, a little turned, so that no face of a box lies between two of them
_AXES = np.linalg.qr(np.array([[1.0, 0.13, 0.29], [-0.17, 1.0, 0.11], [-0.23, -0.07, 1.0]]))[0]
_DIRECTIONS = np.concatenate([_AXES, -_AXES])
# charts of fewer faces join a neighbour, if all their faces are still seen at this cosine from its direction
_SMALL, _LEAST_COSINE, _ROUNDS = 40, 0.25, 6
# charts that fill less than this share of their box, which is at least this share of all boxes, are halved, so often
_FULL, _LARGE, _HALVINGS = 0.5, 0.005, 5
_SPLITS = 8
_BISECTIONS = 24


@dataclass(frozen=True, eq=False)
class Atlas:
    """Texture coordinates of a surface without texture: every face has its own place, and charts are a gap apart.

    Attributes
    ----------
    uv : u from left to right and v from top to bottom, from 0 to 1
    corners : rows of `uv` for the corners of each face
    charts : number of the chart of each face
    """

    uv: Float[np.ndarray, "k 2"]
    corners: Int[np.ndarray, "m 3"]
    charts: Int[np.ndarray, "m"]


def make_atlas(mesh: Mesh, size: int, *, gap: int) -> Atlas:
    """Cut a surface into charts, project each along one of six directions, and pack them.

    Charts are connected faces that look in about the same direction, so that angles to it stay below 76°; where a chart
    would overlap itself it is split. All have the same scale.

    Parameters
    ----------
    mesh : the surface
    size : width and height of the picture, in pixels
    gap : between charts, and to the edge of the picture, in pixels
    """
    direction, links = _directions(mesh), _links(mesh)
    links = links[direction[links[:, 0]] == direction[links[:, 1]]]
    piece = np.zeros(mesh.n_faces, np.int64)
    for attempt in range(_HALVINGS + _SPLITS):
        charts = _components(links[piece[links[:, 0]] == piece[links[:, 1]]], mesh.n_faces)
        uv, corners = _projected(mesh, direction, charts)
        if attempt < _HALVINGS:
            piece = 2 * piece + _beyond_middle(uv, corners, charts)
            continue
        hidden = np.flatnonzero(_overlapped(uv, corners, charts))
        if len(hidden) == 0:
            break
        # those that lie on others become charts of their own; in the end each for itself
        own = np.arange(len(hidden)) if attempt >= _HALVINGS + _SPLITS - 2 else 0
        piece[hidden] = piece.max() + 1 + own
    return Atlas(_packed(uv, corners, charts, size, gap), corners, charts)


def _directions(mesh: Mesh) -> Int[np.ndarray, "m"]:
    """For each face the number of the direction that it looks in, the same for small groups as for what is around them."""
    cosines = mesh.face_normals @ _DIRECTIONS.T
    # rounded, so that equal ones are equal on every processor
    found = np.round(cosines, 9).argmax(axis=1)
    links = _links(mesh)
    for _ in range(_ROUNDS):
        pieces = _components(links[found[links[:, 0]] == found[links[:, 1]]], mesh.n_faces)
        count = np.bincount(pieces)
        least = np.full((len(count), len(_DIRECTIONS)), np.inf)
        np.minimum.at(least, pieces, cosines)
        one, other = np.concatenate([links, links[:, ::-1]]).T
        across = (found[one] != found[other]) & (count[pieces[one]] < _SMALL)
        across &= count[pieces[other]] >= count[pieces[one]]
        beside = np.zeros(least.shape)
        np.add.at(beside, (pieces[one[across]], found[other[across]]), 1)
        beside[least < _LEAST_COSINE] = 0
        best = beside.argmax(axis=1)
        change = beside[np.arange(len(best)), best] > 0
        if not change.any():
            break
        found = np.where(change[pieces], best[pieces], found)
    return found


def _links(mesh: Mesh) -> Int[np.ndarray, "l 2"]:
    """Pairs of faces that share an edge which has no third one."""
    edge = mesh.opposite_edges.reshape(-1)
    order = np.argsort(edge, kind="stable")
    inner = mesh.faces_per_edge[edge[order]] == 2
    return (order[inner] // 3).reshape(-1, 2)


def _components(links: Int[np.ndarray, "l 2"], n: int) -> Int[np.ndarray, "n"]:
    graph = sparse.coo_matrix((np.ones(len(links)), (links[:, 0], links[:, 1])), (n, n))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def _beyond_middle(
    uv: Float[np.ndarray, "k 2"], corners: Int[np.ndarray, "m 3"], charts: Int[np.ndarray, "m"]
) -> Bool[np.ndarray, "m"]:
    """The far half of each chart that leaves most of its box empty, such as an arm with its hand."""
    points = uv[corners]
    sides = points[:, 1:] - points[:, :1]
    area = np.abs(sides[:, 0, 0] * sides[:, 1, 1] - sides[:, 0, 1] * sides[:, 1, 0]) / 2
    boxes = np.zeros((charts.max() + 1, 2))
    np.maximum.at(boxes, charts, points.max(axis=1))
    room = boxes.prod(axis=1)
    sprawling = (np.bincount(charts, weights=area) < _FULL * room) & (room > _LARGE * room.sum())
    axis = np.round(boxes, 9).argmax(axis=1)[charts]
    rows = np.arange(len(charts))
    beyond = points.mean(axis=1)[rows, axis] > boxes[charts, axis] / 2
    return sprawling[charts] & beyond


def _projected(
    mesh: Mesh, direction: Int[np.ndarray, "m"], charts: Int[np.ndarray, "m"]
) -> tuple[Float[np.ndarray, "k 2"], Int[np.ndarray, "m 3"]]:
    """Each chart seen from its direction, with the corner of its box at 0; a vertex in several charts is in each of them."""
    n = mesh.n_vertices
    keys, corners = np.unique(charts[:, None] * n + mesh.faces, return_inverse=True)
    corners = corners.reshape(-1, 3)
    chart, vertex = keys // n, keys % n
    of_chart = np.zeros(charts.max() + 1, np.int64)
    of_chart[charts] = direction
    view = _DIRECTIONS[of_chart[chart]]
    # the three axes and their opposites: the one listed before another is orthogonal to it
    right = np.roll(_DIRECTIONS, 1, axis=0)[of_chart[chart]]
    points = mesh.vertices[vertex]
    uv = np.stack([np.einsum("ki,ki->k", points, right), np.einsum("ki,ki->k", points, np.cross(right, view))], axis=1)
    low = np.full((len(of_chart), 2), np.inf)
    np.minimum.at(low, chart, uv)
    return uv - low[chart], corners


def _overlapped(
    uv: Float[np.ndarray, "k 2"], corners: Int[np.ndarray, "m 3"], charts: Int[np.ndarray, "m"]
) -> Bool[np.ndarray, "m"]:
    """Faces that lie on another one of their chart, as seen at four points inside each."""
    far = 10 * (float(np.abs(uv).max()) or 1.0)
    flat = np.zeros((len(uv), 3))
    flat[:, :2] = uv
    flat[corners.reshape(-1), 2] = np.repeat(charts, 3) * far
    tree = SurfaceTree(Mesh(flat, corners))
    found = np.zeros(len(corners), bool)
    inside = np.array([[1 / 3, 1 / 3, 1 / 3], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    for weights in inside:
        seen = tree.nearest(np.einsum("c,mcd->md", weights, flat[corners]))
        found |= (seen.faces != np.arange(len(corners))) & (seen.weights.min(axis=1) > 1e-6)
    return found


def _packed(
    uv: Float[np.ndarray, "k 2"], corners: Int[np.ndarray, "m 3"], charts: Int[np.ndarray, "m"], size: int, gap: int
) -> Float[np.ndarray, "k 2"]:
    """The charts on shelves, tallest first, as large as they fit into the square."""
    chart = np.zeros(len(uv), np.int64)
    chart[corners.reshape(-1)] = np.repeat(charts, 3)
    boxes = np.zeros((charts.max() + 1, 2))
    np.maximum.at(boxes, chart, uv)
    order = np.argsort(-np.round(boxes[:, 1], 12), kind="stable")
    largest = float(boxes.max()) or 1.0
    low, high = 0.0, size / largest
    if _shelves(boxes * low, order, size, gap) is None:
        raise ValueError(
            f"size={size} is too small for {len(boxes)} charts with {gap} pixels between them; give a larger size, or a "
            "surface that is less rough"
        )
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if _shelves(boxes * middle, order, size, gap) is None:
            high = middle
        else:
            low = middle
    corner = _shelves(boxes * low, order, size, gap)
    assert corner is not None
    return (uv * low + corner[chart]) / size


def _shelves(
    boxes: Float[np.ndarray, "c 2"], order: Int[np.ndarray, "c"], size: int, gap: int
) -> Float[np.ndarray, "c 2"] | None:
    """Where each box goes, in pixels; None if they don't fit."""
    # whole pixels, and one more for their centres
    widths, heights = (np.ceil(boxes[order]) + 1 + gap).T
    x_end = np.cumsum(widths)
    corner = np.empty(boxes.shape)
    start, y = 0, float(gap)
    while start < len(order):
        before = x_end[start - 1] if start else 0.0
        stop = int(np.searchsorted(x_end, before + size - gap, side="right"))
        if stop == start or y + heights[start] > size:
            return None
        corner[order[start:stop], 0] = gap + x_end[start:stop] - widths[start:stop] - before
        corner[order[start:stop], 1] = y
        y += heights[start]
        start = stop
    return corner
