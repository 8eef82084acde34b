"""Quadric edge collapse that keeps the topology: each step moves one vertex onto a neighbour.

The order is that of Garland and Heckbert's quadrics, by a heap. A step is taken only if the link condition holds (the
two vertices have no common neighbours but those of the triangles between them), so that a manifold stays one, with the
same handles, boundaries and components; and only if no triangle turns over.
"""

from __future__ import annotations

import heapq

import numpy as np

from partwhole.store.compute import njit

# A triangle may turn by acos(0.3) = 73° in one step, and its quality 4√3·area/Σ side² may not fall below 0.05.
_LEAST_COSINE = 0.3
_LEAST_QUALITY = 0.05
# Share of the squared step length in the cost: where the surface is flat, short steps come first.
_STEP_WEIGHT = 2e-3
# A vertex with more triangles stays, and none is moved onto it: looking at all of them at every step takes too long.
_MOST_TRIANGLES = 100


@njit(cache=True, nogil=True)
def collapse(vertices, faces, frozen, boundary, boundary_edges, n_target):
    """Which faces are left, with their new corners, when about `n_target` vertices remain.

    `vertices` in a unit box; `frozen` vertices are never removed; a `boundary` vertex moves along `boundary_edges` only.
    """
    n, m = len(vertices), len(faces)
    faces = faces.copy()
    alive = np.ones(m, np.bool_)
    head, tail, following = _corner_lists(n, faces)
    triangles = np.zeros(n, np.int64)  # how many each vertex has left
    for f in range(m):
        for k in range(3):
            triangles[faces[f, k]] += 1
    quadrics = _quadrics(vertices, faces, boundary_edges)
    scratch = (np.full(n, -1, np.int64), np.zeros(n, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64))
    token = np.zeros(1, np.int64)
    stamp = np.zeros(n, np.int64)
    heap = [(0.0, np.int64(-1), np.int64(0)) for _ in range(0)]
    left = 0
    for u in range(n):
        if head[u] < 0:
            continue
        left += 1
        cost, v = _best(
            u, vertices, faces, alive, head, following, triangles, quadrics, frozen, boundary, scratch, token
        )
        if v >= 0:
            heapq.heappush(heap, (cost, np.int64(u), stamp[u]))
    while left > n_target and len(heap) > 0:
        old_cost, u, mark = heapq.heappop(heap)
        if mark != stamp[u]:
            continue
        # farther neighbours may have changed since this was pushed
        cost, v = _best(
            u, vertices, faces, alive, head, following, triangles, quadrics, frozen, boundary, scratch, token
        )
        if v < 0:
            continue
        if cost > old_cost * (1 + 1e-9):
            heapq.heappush(heap, (cost, u, mark))
            continue
        _move(u, v, faces, alive, head, tail, following, triangles)
        quadrics[v] += quadrics[u]
        stamp[u] = -1
        left -= 1
        ring = scratch[3]
        size = _ring(v, faces, alive, head, following, scratch[2], ring, token)
        ring[size] = v
        around = ring[: size + 1].copy()
        for w in around:
            stamp[w] += 1
            cost, target = _best(
                w, vertices, faces, alive, head, following, triangles, quadrics, frozen, boundary, scratch, token
            )
            if target >= 0:
                heapq.heappush(heap, (cost, w, stamp[w]))
    return faces[alive]


@njit(cache=True, nogil=True)
def _corner_lists(n, faces):
    """For each vertex a linked list of its corners, a corner being 3·face + place."""
    head = np.full(n, -1, np.int64)
    tail = np.full(n, -1, np.int64)
    following = np.full(3 * len(faces), -1, np.int64)
    for corner in range(3 * len(faces)):
        u = faces[corner // 3, corner % 3]
        if head[u] < 0:
            head[u] = corner
        else:
            following[tail[u]] = corner
        tail[u] = corner
    return head, tail, following


@njit(cache=True, nogil=True)
def _quadrics(vertices, faces, boundary_edges):
    """Sum over the faces at a vertex of area · (plane distance)², as 10 numbers; planes across the boundary are added."""
    quadrics = np.zeros((len(vertices), 10))
    normals = np.zeros((len(boundary_edges), 3))
    for f in range(len(faces)):
        a = vertices[faces[f, 0]]
        cross = np.cross(vertices[faces[f, 1]] - a, vertices[faces[f, 2]] - a)
        length = np.sqrt(np.sum(cross**2))
        if length > 0:
            for k in range(3):
                _add_plane(quadrics[faces[f, k]], cross / length, a, length / 6)
    for e in range(len(boundary_edges)):
        u, v, opposite = boundary_edges[e]
        along = vertices[v] - vertices[u]
        across = vertices[opposite] - vertices[u]
        squared = np.sum(along**2)
        if squared > 0:
            across = across - along * (np.sum(along * across) / squared)
            length = np.sqrt(np.sum(across**2))
            if length > 0:
                normals[e] = across / length
                _add_plane(quadrics[u], normals[e], vertices[u], squared)
                _add_plane(quadrics[v], normals[e], vertices[u], squared)
    return quadrics


@njit(cache=True, nogil=True)
def _add_plane(quadric, normal, point, weight):
    d = -np.sum(normal * point)
    x, y, z = normal
    terms = (x * x, x * y, x * z, x * d, y * y, y * z, y * d, z * z, z * d, d * d)
    for k in range(10):
        quadric[k] += weight * terms[k]


@njit(cache=True, nogil=True)
def _ring(u, faces, alive, head, following, seen, ring, token):
    """Fill `ring` with the neighbours of u, each once, and return how many there are; `seen` marks them."""
    token[0] += 1
    size = 0
    corner = head[u]
    while corner >= 0:
        f = corner // 3
        if alive[f]:
            for k in range(1, 3):
                w = faces[f, (corner + k) % 3]
                if seen[w] != token[0]:
                    seen[w] = token[0]
                    ring[size] = w
                    size += 1
        corner = following[corner]
    return size


@njit(cache=True, nogil=True)
def _best(u, vertices, faces, alive, head, following, triangles, quadrics, frozen, boundary, scratch, token):
    """The cheapest allowed step of u onto a neighbour: its cost, and the neighbour (-1 if no step is allowed)."""
    best_cost, best_target = np.inf, np.int64(-1)
    if frozen[u] or triangles[u] > _MOST_TRIANGLES:
        return best_cost, best_target
    seen, ring, seen_far, ring_far = scratch
    size = _ring(u, faces, alive, head, following, seen, ring, token)
    own = token[0]
    for k in range(size):
        v = ring[k]
        if triangles[v] > _MOST_TRIANGLES:
            continue
        between = 0
        corner = head[u]
        while corner >= 0:
            f = corner // 3
            if alive[f] and (faces[f, 0] == v or faces[f, 1] == v or faces[f, 2] == v):
                between += 1
            corner = following[corner]
        if boundary[u] and between != 1:
            continue
        step = _square(vertices, u, v)
        cost = max(_evaluate(quadrics, u, vertices, v) + _evaluate(quadrics, v, vertices, v), 0.0)
        cost += _STEP_WEIGHT * step * step
        if cost >= best_cost:
            continue
        size_far = _ring(v, faces, alive, head, following, seen_far, ring_far, token)
        common = 0
        for j in range(size_far):
            if seen[ring_far[j]] == own:
                common += 1
        # the second test spares the last tetrahedron or triangle of a component
        if common != between or (size == size_far and size <= between + 1):
            continue
        if _doubles(u, v, faces, alive, head, following, seen_far, token[0]):
            continue
        if _turns_over(u, v, vertices, faces, alive, head, following):
            continue
        best_cost, best_target = cost, v
    return best_cost, best_target


@njit(cache=True, nogil=True)
def _doubles(u, v, faces, alive, head, following, seen, around_v):
    """True if a face of u would become one that v has already; next to where the surface is no manifold this happens."""
    corner = head[u]
    while corner >= 0:
        f = corner // 3
        b, c = faces[f, (corner + 1) % 3], faces[f, (corner + 2) % 3]
        if alive[f] and b != v and c != v and seen[b] == around_v and seen[c] == around_v:
            other = head[v]
            while other >= 0:
                p, q = faces[other // 3, (other + 1) % 3], faces[other // 3, (other + 2) % 3]
                if alive[other // 3] and ((p == b and q == c) or (p == c and q == b)):
                    return True
                other = following[other]
        corner = following[corner]
    return False


@njit(cache=True, nogil=True)
def _evaluate(quadrics, u, vertices, v):
    x, y, z = vertices[v, 0], vertices[v, 1], vertices[v, 2]
    along_x = quadrics[u, 0] * x + 2 * (quadrics[u, 1] * y + quadrics[u, 2] * z + quadrics[u, 3])
    along_y = quadrics[u, 4] * y + 2 * (quadrics[u, 5] * z + quadrics[u, 6])
    along_z = quadrics[u, 7] * z + 2 * quadrics[u, 8]
    return along_x * x + along_y * y + along_z * z + quadrics[u, 9]


@njit(cache=True, nogil=True)
def _turns_over(u, v, vertices, faces, alive, head, following):
    """True if a face that stays would turn too far, or become too thin, when u moves to v."""
    corner = head[u]
    while corner >= 0:
        f = corner // 3
        if alive[f]:
            b, c = faces[f, (corner + 1) % 3], faces[f, (corner + 2) % 3]
            if b != v and c != v:
                old_x, old_y, old_z = _cross(vertices, u, b, c)
                new_x, new_y, new_z = _cross(vertices, v, b, c)
                old_area = np.sqrt(old_x * old_x + old_y * old_y + old_z * old_z)
                new_area = np.sqrt(new_x * new_x + new_y * new_y + new_z * new_z)
                if old_area > 0:
                    if old_x * new_x + old_y * new_y + old_z * new_z <= _LEAST_COSINE * old_area * new_area:
                        return True
                    squares = _square(vertices, b, c) + _square(vertices, b, v) + _square(vertices, c, v)
                    if 2 * np.sqrt(3.0) * new_area < _LEAST_QUALITY * squares and new_area < old_area:
                        return True
        corner = following[corner]
    return False


@njit(cache=True, nogil=True)
def _cross(vertices, a, b, c):
    """(b − a) × (c − a), in plain numbers: this is the innermost loop."""
    x1, y1, z1 = vertices[b, 0] - vertices[a, 0], vertices[b, 1] - vertices[a, 1], vertices[b, 2] - vertices[a, 2]
    x2, y2, z2 = vertices[c, 0] - vertices[a, 0], vertices[c, 1] - vertices[a, 1], vertices[c, 2] - vertices[a, 2]
    return y1 * z2 - z1 * y2, z1 * x2 - x1 * z2, x1 * y2 - y1 * x2


@njit(cache=True, nogil=True)
def _square(vertices, a, b):
    x, y, z = vertices[b, 0] - vertices[a, 0], vertices[b, 1] - vertices[a, 1], vertices[b, 2] - vertices[a, 2]
    return x * x + y * y + z * z


@njit(cache=True, nogil=True)
def _move(u, v, faces, alive, head, tail, following, triangles):
    """Put v in u's place; the faces between them vanish."""
    corner = head[u]
    while corner >= 0:
        f = corner // 3
        if alive[f]:
            if faces[f, 0] == v or faces[f, 1] == v or faces[f, 2] == v:
                alive[f] = False
                for k in range(3):
                    triangles[faces[f, k]] -= 1
            else:
                faces[f, corner % 3] = v
                triangles[v] += 1
        corner = following[corner]
    following[tail[v]] = head[u]
    tail[v] = tail[u]
    head[u] = -1
