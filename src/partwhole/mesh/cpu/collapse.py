"""Quadric edge collapse that keeps the topology: each step moves one vertex onto a neighbour.

The order is that of Garland and Heckbert's quadrics, by a heap. A step is taken only if the link condition holds (the
two vertices have no common neighbours but those of the triangles between them), so that a manifold stays one, with the
same handles, boundaries and components; and only if no triangle turns over.
"""

from __future__ import annotations

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
    corners = faces.copy().reshape(-1)  # the vertex at each corner, a corner being 3·face + place
    alive = np.ones(m, np.bool_)
    lists = _corner_lists(n, corners)
    head, following = lists[0], lists[2]
    triangles = np.zeros(n, np.int64)  # how many each vertex has left
    for corner in range(3 * m):
        triangles[corners[corner]] += 1
    quadrics = _quadrics(vertices, faces, boundary_edges)
    seen, seen_far = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    ring, ring_far = np.zeros(n, np.int64), np.zeros(n, np.int64)
    scratch = (seen, ring, np.zeros(n, np.int64), seen_far, ring_far, np.zeros(n))
    token = np.zeros(1, np.int64)
    fixed = (vertices, frozen, boundary)
    surface = (corners, head, following, triangles)
    # the vertices that have an allowed step, by its cost: a heap, and where each vertex stands in it
    heap, place, costs = np.zeros(n, np.int64), np.full(n, -1, np.int64), np.zeros(n)
    size = 0
    left = 0
    for u in range(n):
        if head[u] < 0:
            continue
        left += 1
        cost, v = _best(u, fixed, surface, quadrics, scratch, token)
        if v >= 0:
            size = _put(heap, place, costs, size, u, cost)
    while left > n_target and size > 0:
        u = heap[0]
        # farther neighbours may have changed since its cost was found
        cost, v = _best(u, fixed, surface, quadrics, scratch, token)
        if v < 0:
            size = _take(heap, place, costs, size, u)
            continue
        if cost > costs[u] * (1 + 1e-9):
            size = _put(heap, place, costs, size, u, cost)
            continue
        size = _take(heap, place, costs, size, u)
        _move(u, v, corners, alive, lists, triangles)
        quadrics[v] += quadrics[u]
        left -= 1
        n_around = _ring(v, corners, head, following, seen_far, ring_far, token)
        ring_far[n_around] = v
        for w in ring_far[: n_around + 1].copy():
            cost, target = _best(w, fixed, surface, quadrics, scratch, token)
            if target >= 0:
                size = _put(heap, place, costs, size, w, cost)
            elif place[w] >= 0:
                size = _take(heap, place, costs, size, w)
    return corners.reshape(-1, 3)[alive]


@njit(cache=True, nogil=True)
def _put(heap, place, costs, size, u, cost):
    """Put u into the heap, or where it belongs at its new cost, and return the size of the heap."""
    costs[u] = cost
    if place[u] < 0:
        place[u] = size
        size += 1
    _sift(heap, place, costs, size, u)
    return size


@njit(cache=True, nogil=True)
def _take(heap, place, costs, size, u):
    """Take u out of the heap, and return the size of the heap."""
    last = heap[size - 1]
    if last != u:
        place[last] = place[u]
        _sift(heap, place, costs, size - 1, last)
    place[u] = -1
    return size - 1


@njit(cache=True, nogil=True)
def _sift(heap, place, costs, size, u):
    """Move u, which may stand anywhere, up or down the heap; of equal costs the lower vertex comes first."""
    cost, k = costs[u], place[u]
    while k > 0:
        above = heap[(k - 1) >> 1]
        if costs[above] < cost or (costs[above] == cost and above < u):
            break
        heap[k], place[above] = above, k
        k = (k - 1) >> 1
    while 2 * k + 1 < size:
        child = 2 * k + 1
        below = heap[child]
        if child + 1 < size:
            other = heap[child + 1]
            if costs[other] < costs[below] or (costs[other] == costs[below] and other < below):
                child, below = child + 1, other
        if cost < costs[below] or (cost == costs[below] and u < below):
            break
        heap[k], place[below] = below, k
        k = child
    heap[k], place[u] = u, k


@njit(cache=True, nogil=True)
def _corner_lists(n, corners):
    """For each vertex a linked list of its corners: the first one, the last one, and what follows each corner."""
    head = np.full(n, -1, np.int64)
    tail = np.full(n, -1, np.int64)
    following = np.full(len(corners), -1, np.int64)
    for corner in range(len(corners)):
        u = corners[corner]
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
    for f in range(len(faces)):
        a = faces[f, 0]
        x, y, z = _cross(vertices, a, faces[f, 1], faces[f, 2])
        length = np.sqrt(x * x + y * y + z * z)
        if length > 0:
            for k in range(3):
                _add_plane(quadrics, faces[f, k], x / length, y / length, z / length, vertices, a, length / 6)
    for e in range(len(boundary_edges)):
        u, v, opposite = boundary_edges[e]
        along = vertices[v] - vertices[u]
        across = vertices[opposite] - vertices[u]
        squared = np.sum(along**2)
        if squared > 0:
            across = across - along * (np.sum(along * across) / squared)
            length = np.sqrt(np.sum(across**2))
            if length > 0:
                x, y, z = across / length
                _add_plane(quadrics, u, x, y, z, vertices, u, squared)
                _add_plane(quadrics, v, x, y, z, vertices, u, squared)
    return quadrics


@njit(cache=True, nogil=True)
def _add_plane(quadrics, u, x, y, z, vertices, point, weight):
    """Add to u the plane through a point with normal (x, y, z)."""
    d = -(x * vertices[point, 0] + y * vertices[point, 1] + z * vertices[point, 2])
    terms = (x * x, x * y, x * z, x * d, y * y, y * z, y * d, z * z, z * d, d * d)
    for k in range(10):
        quadrics[u, k] += weight * terms[k]


@njit(cache=True, nogil=True)
def _others(corners, corner):
    """The vertices at the two other corners of the face, in its order."""
    place = corner % 3
    return corners[corner + 1 if place < 2 else corner - 2], corners[corner + 2 if place < 1 else corner - 1]


@njit(cache=True, nogil=True)
def _ring(u, corners, head, following, seen, ring, token):
    """Fill `ring` with the neighbours of u, each once, and return how many there are; `seen` marks them."""
    token[0] += 1
    mark = token[0]
    size = 0
    corner = head[u]
    while corner >= 0:
        for w in _others(corners, corner):
            if seen[w] != mark:
                seen[w] = mark
                ring[size] = w
                size += 1
        corner = following[corner]
    return size


@njit(cache=True, nogil=True)
def _ring_and_shared(u, corners, head, following, seen, ring, shared, token):
    """The same, and how many triangles u has in common with each of the vertices."""
    token[0] += 1
    mark = token[0]
    size = 0
    corner = head[u]
    while corner >= 0:
        for w in _others(corners, corner):
            if seen[w] != mark:
                seen[w] = mark
                shared[w] = 0
                ring[size] = w
                size += 1
            shared[w] += 1
        corner = following[corner]
    return size


@njit(cache=True, nogil=True)
def _best(u, fixed, surface, quadrics, scratch, token):
    """The cheapest allowed step of u onto a neighbour: its cost, and the neighbour (-1 if no step is allowed)."""
    vertices, frozen, boundary = fixed
    corners, head, following, triangles = surface
    seen, ring, shared, seen_far, ring_far, costs = scratch
    if frozen[u] or triangles[u] > _MOST_TRIANGLES:
        return np.inf, np.int64(-1)
    size = _ring_and_shared(u, corners, head, following, seen, ring, shared, token)
    own = token[0]
    for k in range(size):
        v = ring[k]
        if triangles[v] > _MOST_TRIANGLES or (boundary[u] and shared[v] != 1):
            costs[k] = np.inf
            continue
        step = _square(vertices, u, v)
        cost = max(_evaluate(quadrics, u, vertices, v) + _evaluate(quadrics, v, vertices, v), 0.0)
        costs[k] = cost + _STEP_WEIGHT * step * step
    # whether a step is allowed takes longer to find out than what it costs, so the cheapest is looked at first
    while True:
        best_cost, best = np.inf, np.int64(-1)
        for k in range(size):
            if costs[k] < best_cost:
                best_cost, best = costs[k], k
        if best < 0:
            return best_cost, best
        v = ring[best]
        costs[best] = np.inf
        size_far = _ring(v, corners, head, following, seen_far, ring_far, token)
        common = 0
        for j in range(size_far):
            if seen[ring_far[j]] == own:
                common += 1
        # the second test spares the last tetrahedron or triangle of a component
        if common != shared[v] or (size == size_far and size <= shared[v] + 1):
            continue
        if _doubles(u, v, corners, head, following, seen_far, token[0]):
            continue
        if _turns_over(u, v, vertices, corners, head, following):
            continue
        return best_cost, v


@njit(cache=True, nogil=True)
def _doubles(u, v, corners, head, following, seen, around_v):
    """True if a face of u would become one that v has already; next to where the surface is no manifold this happens."""
    corner = head[u]
    while corner >= 0:
        b, c = _others(corners, corner)
        if b != v and c != v and seen[b] == around_v and seen[c] == around_v:
            other = head[v]
            while other >= 0:
                p, q = _others(corners, other)
                if (p == b and q == c) or (p == c and q == b):
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
def _turns_over(u, v, vertices, corners, head, following):
    """True if a face that stays would turn too far, or become too thin, when u moves to v."""
    corner = head[u]
    while corner >= 0:
        b, c = _others(corners, corner)
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
def _move(u, v, corners, alive, lists, triangles):
    """Put v in u's place; the faces between them vanish."""
    head, tail, following = lists
    corner = head[u]
    while corner >= 0:
        after = following[corner]
        b, c = _others(corners, corner)
        if b == v or c == v:
            first = corner - corner % 3
            alive[first // 3] = False
            for gone in range(first, first + 3):
                triangles[corners[gone]] -= 1
                if gone != corner:
                    _drop(gone, corners[gone], head, tail, following)
        else:
            corners[corner] = v
            triangles[v] += 1
            following[corner] = -1
            if head[v] < 0:
                head[v] = corner
            else:
                following[tail[v]] = corner
            tail[v] = corner
        corner = after
    head[u] = -1


@njit(cache=True, nogil=True)
def _drop(gone, u, head, tail, following):
    """Take a corner out of the list of its vertex."""
    before, corner = -1, head[u]
    while corner != gone:
        before, corner = corner, following[corner]
    if before < 0:
        head[u] = following[gone]
    else:
        following[before] = following[gone]
    if tail[u] == gone:
        tail[u] = before
