"""Parts as scanners deliver them: noisy, with holes or with holes filled, other boundaries, and triangles of other sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.datasets.cutting.triangulations import PointFinder
from partwhole.geodesics import geodesic_distances
from partwhole.mesh import Mesh, SurfaceLike, as_mesh, decimate
from partwhole.store.arguments import check_number, check_seed

DamageKind = Literal["split", "two pieces", "torn", "jagged", "smooth boundary", "uneven", "filled", "noisy"]

# lengths are in units of √area of the whole
_NOISE = (0.001, 0.01)
# noise is as smooth as keeps its slope, from vertex to vertex, about below this
_SLOPE = 0.25
_HOLE_RADII = (0.01, 0.035)
_LARGEST_FILLED = 0.35
_BAND = (0.02, 0.05)
_FEWEST_VERTICES = 60
_LEAST_AREA = 0.3


@dataclass(frozen=True, eq=False)
class Damaged:
    """A damaged part, and where those of its vertices that a part had before lie on that.

    Vertex `vertices[i]` of the mesh lies at Σ_c weights[i, c] · x(corners[i, c]) on the part before, noise aside.
    Vertices that fill a hole are not among them.
    """

    mesh: Mesh
    vertices: Int[np.ndarray, "g"]
    corners: Int[np.ndarray, "g 3"]
    weights: Float[np.ndarray, "g 3"]


def damaged(
    part: SurfaceLike,
    seed: int | np.random.Generator = 0,
    *,
    scale: float | None = None,
    kinds: Sequence[DamageKind] | None = None,
) -> Damaged:
    """Damage a part as scanners do, in a random choice of these ways, at least one.

    The triangles are split in four, or three to ten times fewer and uneven ones are left; a band is removed, so that two
    pieces are left; small holes are torn; the boundary gets jagged or smooth; small holes are filled; vertices move along
    their normals by noise of 0.1 to 1 % of `scale`.

    Parameters
    ----------
    part : a manifold
    seed : decides how
    scale : √area of the whole that it was cut from; that of the part if None
    kinds : the kinds of damage to choose from; all if None

    Examples
    --------
    >>> from partwhole.datasets import random_cuts, sphere
    >>> part = random_cuts(sphere(2000), "cuts").part
    >>> found = damaged(part, seed=1)
    >>> there = np.einsum("gc,gcd->gd", found.weights, part.vertices[found.corners])
    >>> bool(np.linalg.norm(there - found.mesh.vertices[found.vertices], axis=1).max() < 0.05 * part.area**0.5)
    True
    """
    part = as_mesh(part, name="part")
    check_seed(seed)
    if scale is not None:
        check_number("scale", scale)
        if not 0 < scale < np.inf:
            raise ValueError(f"scale={scale} must be positive, the square root of the whole's area")
    allowed = get_args(DamageKind) if kinds is None else tuple(kinds)
    if not allowed or not set(allowed) <= set(get_args(DamageKind)):
        raise ValueError(f"kinds must be one or several of {', '.join(map(repr, get_args(DamageKind)))}, got {kinds!r}")
    rng = np.random.default_rng(seed)
    unit = part.area**0.5 if scale is None else float(scale)
    numbers = np.arange(part.n_vertices)
    start = _Scan(part, np.repeat(numbers[:, None], 3, axis=1), np.tile([1.0, 0, 0], (len(numbers), 1)), numbers >= 0)
    steps: list[tuple[DamageKind, float, Callable[[_Scan, Mesh, float, np.random.Generator], _Scan]]] = [
        ("split", 0.15, _split),
        ("two pieces", 0.1, _two_pieces),
        ("torn", 0.4, _torn),
        ("jagged", 0.3, _jagged),
        ("smooth boundary", 0.35, _smoothed_boundary),
        ("uneven", 0.4, _uneven),
        ("filled", 0.5, _filled),
        ("noisy", 0.6, _noisy),
    ]
    while True:
        chosen = [step for kind, probability, step in steps if rng.random() < probability and kind in allowed]
        if chosen:
            break
    scan = start
    for step in chosen:
        after = step(scan, part, unit, rng)
        if after.mesh.n_vertices >= _FEWEST_VERTICES and after.mesh.area >= _LEAST_AREA * part.area:
            scan = after
    known = np.flatnonzero(scan.known)
    return Damaged(scan.mesh, known, scan.corners[known], scan.weights[known])


@dataclass(frozen=True, eq=False)
class _Scan:
    """A mesh, where each of its vertices lies on the part before, and whether that is known."""

    mesh: Mesh
    corners: Int[np.ndarray, "n 3"]
    weights: Float[np.ndarray, "n 3"]
    known: Bool[np.ndarray, "n"]

    def at(self, vertices: Float[np.ndarray, "n 3"]) -> _Scan:
        """The same scan with its vertices elsewhere."""
        return replace(self, mesh=Mesh(vertices, self.mesh.faces, name=self.mesh.name))

    def of_faces(self, faces: Int[np.ndarray, "m 3"]) -> _Scan:
        """These faces, with the vertices they use."""
        used = np.unique(faces)
        mesh = Mesh(self.mesh.vertices[used], np.searchsorted(used, faces), name=self.mesh.name)
        return _Scan(mesh, self.corners[used], self.weights[used], self.known[used])

    def keeping(self, keep: Bool[np.ndarray, "n"], pieces: int | None = None) -> _Scan:
        """The faces whose vertices are all kept: their largest pieces, as many as there were or as given, all manifold."""
        scan, most = self, self.mesh.n_components if pieces is None else pieces
        while True:
            faces = scan.mesh.faces[keep[scan.mesh.faces].all(axis=1)]
            if len(faces) == 0:
                return self
            scan = scan.of_faces(faces)
            labels = scan.mesh.component_labels
            areas = np.bincount(labels, weights=scan.mesh.vertex_areas)
            largest = np.argsort(-areas, kind="stable")[:most]
            keep = np.isin(labels, largest) & (scan.mesh.fans_per_vertex <= 1)
            if keep.all():
                return scan


def _split(scan: _Scan, part: Mesh, unit: float, rng: np.random.Generator) -> _Scan:
    """Every triangle in four; comes first, while each vertex is one of the part's."""
    mesh, n = scan.mesh, scan.mesh.n_vertices
    a, b = mesh.edges.T
    vertices = np.concatenate([mesh.vertices, (mesh.vertices[a] + mesh.vertices[b]) / 2])
    i, j, k = mesh.faces.T
    jk, ki, ij = (n + mesh.opposite_edges).T
    faces = np.concatenate(
        [np.stack(corners, axis=1) for corners in ((i, ij, ki), (j, jk, ij), (k, ki, jk), (ij, jk, ki))]
    )
    corners = np.concatenate([scan.corners, np.stack([a, b, b], axis=1)])
    weights = np.concatenate([scan.weights, np.tile([0.5, 0.5, 0.0], (len(a), 1))])
    return _Scan(Mesh(vertices, faces, name=mesh.name), corners, weights, np.ones(len(vertices), bool))


def _two_pieces(scan: _Scan, part: Mesh, unit: float, rng: np.random.Generator) -> _Scan:
    """Without a band at some distance from a random vertex."""
    away = _distances(scan.mesh, int(rng.integers(scan.mesh.n_vertices)))
    middle = np.quantile(away[np.isfinite(away)], rng.uniform(0.25, 0.75))
    return scan.keeping(np.abs(away - middle) > rng.uniform(*_BAND) * unit, pieces=2)


def _torn(scan: _Scan, part: Mesh, unit: float, rng: np.random.Generator) -> _Scan:
    """Without small balls about random vertices."""
    keep = np.ones(scan.mesh.n_vertices, bool)
    for centre in rng.choice(scan.mesh.n_vertices, size=int(rng.integers(1, 9))):
        away = np.linalg.norm(scan.mesh.vertices - scan.mesh.vertices[centre], axis=1)
        keep &= away > rng.uniform(*_HOLE_RADII) * unit
    return scan.keeping(keep)


def _jagged(scan: _Scan, part: Mesh, unit: float, rng: np.random.Generator) -> _Scan:
    """Without some of the vertices on the boundary, once or twice."""
    for _ in range(int(rng.integers(1, 3))):
        keep = np.ones(scan.mesh.n_vertices, bool)
        boundary = scan.mesh.boundary_vertices
        keep[boundary[rng.random(len(boundary)) < rng.uniform(0.2, 0.5)]] = False
        scan = scan.keeping(keep)
    return scan


def _smoothed_boundary(scan: _Scan, part: Mesh, unit: float, rng: np.random.Generator) -> _Scan:
    """Boundary vertices towards the middle of their neighbours on the boundary, several times, and onto the part."""
    mesh, edges = scan.mesh, scan.mesh.boundary_edges
    if len(edges) == 0:
        return scan
    vertices, boundary = mesh.vertices.copy(), mesh.boundary_vertices
    for _ in range(int(rng.integers(3, 11))):
        total, count = np.zeros_like(vertices), np.zeros((len(vertices), 1))
        for one, other in (edges.T, edges.T[::-1]):
            np.add.at(total, one, vertices[other])
            np.add.at(count, one, 1)
        vertices[boundary] += 0.5 * (total[boundary] / count[boundary] - vertices[boundary])
    places = PointFinder(part).places(vertices[boundary], mesh.vertex_normals[boundary])
    vertices[boundary] = places.points(part.vertices)
    corners, weights = scan.corners.copy(), scan.weights.copy()
    corners[boundary], weights[boundary] = places.corners, places.weights
    return replace(scan, corners=corners, weights=weights).at(vertices)


def _uneven(scan: _Scan, part: Mesh, unit: float, rng: np.random.Generator) -> _Scan:
    """Three to ten times fewer vertices, more where a smooth random function is large, in a random direction longer."""
    mesh = scan.mesh
    waves = rng.normal(size=(3, 4)) * 2 * np.pi / (0.7 * mesh.area**0.5)
    wave = np.cos(mesh.vertices @ waves + rng.uniform(0, 2 * np.pi, size=4)).mean(axis=1)
    rough = 0.6 * mesh.edge_lengths.mean() * np.exp(3 * wave - 1.5) * rng.normal(size=mesh.n_vertices)
    along = rng.normal(size=3)
    along /= np.linalg.norm(along)
    copy = mesh.vertices + rough[:, None] * mesh.vertex_normals
    copy += rng.uniform(-0.6, 1.5) * (copy @ along)[:, None] * along
    count = max(_FEWEST_VERTICES, int(mesh.n_vertices / np.exp(rng.uniform(np.log(3), np.log(10)))))
    coarse = decimate(Mesh(copy, mesh.faces, name=mesh.name), count, keep_boundary=False)
    return scan.of_faces(coarse.to_fine[coarse.mesh.faces])


def _filled(scan: _Scan, part: Mesh, unit: float, rng: np.random.Generator) -> _Scan:
    """Small holes closed, each by a ring of new vertices half way to its middle, and one there; their truth is unknown."""
    mesh = scan.mesh
    vertices, faces = [mesh.vertices], [mesh.faces]
    count = mesh.n_vertices
    for loop in mesh.boundary_loops[1:]:
        boundary = mesh.vertices[loop]
        if (
            np.linalg.norm(np.roll(boundary, -1, axis=0) - boundary, axis=1).sum() > _LARGEST_FILLED * unit
            or len(loop) < 3
        ):
            continue
        middle = boundary.mean(axis=0)
        ring, centre = count + np.arange(len(loop)), count + len(loop)
        after, ring_after = np.roll(loop, -1), np.roll(ring, -1)
        # the loop runs as the faces along it do, the new faces run against it
        faces += [np.stack(three, axis=1) for three in ((after, loop, ring), (after, ring, ring_after))]
        faces.append(np.stack([ring_after, ring, np.full(len(loop), centre)], axis=1))
        vertices += [(boundary + middle) / 2, middle[None]]
        count = centre + 1
    new = count - mesh.n_vertices
    return _Scan(
        Mesh(np.concatenate(vertices), np.concatenate(faces), name=mesh.name),
        np.concatenate([scan.corners, np.zeros((new, 3), np.int64)]),
        np.concatenate([scan.weights, np.tile([1.0, 0.0, 0.0], (new, 1))]),
        np.concatenate([scan.known, np.zeros(new, bool)]),
    )


def _noisy(scan: _Scan, part: Mesh, unit: float, rng: np.random.Generator) -> _Scan:
    """Along the normals, normally distributed; strong noise is the same for neighbours, as it is in scans."""
    mesh, low, high = scan.mesh, *np.log(_NOISE)
    size = unit * np.exp(rng.uniform(low, high))
    noise = rng.normal(size=mesh.n_vertices)
    u, v = mesh.edges.T
    degree = np.maximum(np.bincount(mesh.edges.reshape(-1), minlength=mesh.n_vertices), 1)
    length = mesh.edge_lengths.mean()
    for _ in range(30):
        if size * np.abs(noise[u] - noise[v]).mean() / noise.std() < _SLOPE * length:
            break
        around = np.bincount(u, noise[v], mesh.n_vertices) + np.bincount(v, noise[u], mesh.n_vertices)
        noise = (noise + around / degree) / 2
    shift = np.clip(noise / noise.std(), -3, 3) * size
    return scan.at(mesh.vertices + shift[:, None] * mesh.vertex_normals)


def _distances(mesh: Mesh, vertex: int) -> Float[np.ndarray, "n"]:
    return np.asarray(geodesic_distances(mesh, [vertex], method="dijkstra"))[0]
