"""Small random wholes with some faces lost: wherever a statement says "proved", no guaranteed pair may be false.

Coordinates are small whole numbers, so that ties, folds, flat and collinear faces are common.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from partwhole.criterion import Criterion, boundary_criterion, same_loop_criterion, wormhole_criterion
from partwhole.geodesics import geodesic_distances
from partwhole.geodesics.metrics import Metric, metric_at_vertices, metric_on_faces, uniform_metric
from partwhole.mesh import Mesh, refine_boundary

CRITERIA: dict[str, Any] = {
    "boundary": boundary_criterion,
    "wormhole": wormhole_criterion,
    "same-loop": same_loop_criterion,
}


@dataclass(frozen=True, eq=False)
class Lost:
    """A whole, and the part that is left of it; vertex i of the part is vertex `kept[i]` of the whole."""

    whole: Mesh
    part: Mesh
    kept: np.ndarray
    genus: int

    def on_part(self, metric: Metric) -> Metric:
        """The metric of the whole, as the part has it."""
        number = {tuple(edge): k for k, edge in enumerate(self.whole.edges.tolist())}
        chosen = [number[tuple(edge)] for edge in np.sort(self.kept[self.part.edges], axis=1).tolist()]
        return Metric(metric.edge_lengths[chosen], metric.lower_bound, metric.edge_bound, metric.name)


def lost(vertices: np.ndarray, faces: np.ndarray, keep: np.ndarray, genus: int) -> Lost:
    kept = np.unique(faces[keep])
    return Lost(Mesh(vertices, faces), Mesh(vertices[kept], np.searchsorted(kept, faces[keep])), kept, genus)


def random_faces(rng: np.random.Generator, n: int, genus: int) -> np.ndarray:
    """A triangulated sphere, or torus (n at least 7), with vertices put into faces and edges flipped at random."""
    if genus:
        faces = [f for i in range(7) for f in ((i, (i + 1) % 7, (i + 3) % 7), (i, (i + 3) % 7, (i + 2) % 7))]
    else:
        faces = [(0, 1, 2), (0, 2, 3), (0, 3, 1), (1, 3, 2)]
    for v in range(7 if genus else 4, n):
        a, b, c = faces.pop(rng.integers(len(faces)))
        faces += [(a, b, v), (b, c, v), (c, a, v)]
    for _ in range(2 * n):
        a, b, c = np.roll(faces[rng.integers(len(faces))], rng.integers(3)).tolist()
        corner_across = {(f[k], f[(k + 1) % 3]): f[(k + 2) % 3] for f in faces for k in range(3)}
        d = corner_across[b, a]
        if d != c and (c, d) not in corner_across and (d, c) not in corner_across:
            faces = [f for f in faces if not ({a, b, c} == set(f) or {a, b, d} == set(f))] + [(c, d, b), (d, c, a)]
    return np.array(faces)


def random_lost(rng: np.random.Generator) -> Lost:
    while True:
        genus = int(rng.random() < 0.25)
        n = int(rng.integers(7, 11) if genus else rng.integers(5, 12))
        faces = random_faces(rng, n, genus)
        if genus == 0 and rng.random() < 0.2:
            faces = faces[1:]  # a whole with a boundary of its own
        size = int(rng.choice([2, 4, 10]))
        vertices = rng.integers(-size, size, size=(n, 3), endpoint=True).astype(float)
        keep = rng.random(len(faces)) < rng.uniform(0.5, 0.97)
        if 2 <= keep.sum() < len(faces):
            return lost(vertices, faces, keep, genus)


def random_metrics(rng: np.random.Generator, given: Lost) -> Iterator[tuple[Metric | None, Metric | float]]:
    """On the whole, and what a criterion is given for the part."""
    whole, spread = given.whole, rng.choice([0.1, 0.3, 1.0])
    yield None, 1.0
    for metric in (
        uniform_metric(whole, float(np.exp(rng.uniform(-3, 5)))),
        metric_at_vertices(whole, np.exp(spread * rng.normal(size=whole.n_vertices))),
        metric_on_faces(whole, np.exp(spread * rng.normal(size=whole.n_faces))),
    ):
        sides = np.sort(metric.edge_lengths[whole.opposite_edges], axis=1)
        if np.all(sides[:, 2] <= sides[:, 0] + sides[:, 1]):  # else it is no metric
            yield metric, given.on_part(metric)


def applied(given: Lost, part: Mesh, D: np.ndarray, **knobs: Any) -> Iterator[Criterion]:
    for kind, criterion in CRITERIA.items():
        if kind == "same-loop" and (given.genus or part.n_components > 1):
            continue
        yield criterion(part, D, **knobs)


def false_pairs(found: Criterion, on_part: np.ndarray, on_whole: np.ndarray, *, error: float = 0.0) -> int:
    n = len(on_whole)
    tolerance = found.rtol + found.rounding + error
    return int(np.count_nonzero(found.mask[:n, :n] & (on_part[:n, :n] > on_whole * (1 + tolerance))))


def check_claims(rng: np.random.Generator) -> dict[tuple[str, str], int]:
    """One random part: how many pairs each criterion proved; fails if one of them is false."""
    given = random_lost(rng)
    # exact distances give faces without area a height, and err by as much
    error = 0.0 if given.whole.face_areas.all() else 1e-8
    proved: dict[tuple[str, str], int] = {}
    for metric, bound in random_metrics(rng, given):
        for method, sound in (("dijkstra", False), ("exact", True)):
            on_whole = geodesic_distances(given.whole, method=method, metric=metric, threads=1)
            on_whole = on_whole[np.ix_(given.kept, given.kept)]
            # a finer boundary changes the graph, but not the surface
            for pieces in (1,) if metric or not sound else (1, 5):
                part = refine_boundary(given.part, pieces)
                used = bound if isinstance(bound, Metric) else None
                on_part = geodesic_distances(part, method=method, metric=used, threads=1)
                for D in (on_part, on_part.astype(np.float32)):
                    for found in applied(given, part, D, metric_bound=bound, sound=sound):
                        assert found.statement.startswith("proved"), found.statement
                        assert false_pairs(found, on_part, on_whole, error=error) == 0, (given, metric, method)
                        key = (method, found.kind)
                        proved[key] = proved.get(key, 0) + found.n_guaranteed
    return proved


@pytest.mark.parametrize("seed", range(3))
def test_no_proved_pair_is_false(seed: int) -> None:
    rng = np.random.default_rng(seed)
    proved: dict[tuple[str, str], int] = {}
    for _ in range(7):
        for key, count in check_claims(rng).items():
            proved[key] = proved.get(key, 0) + count
    assert all(proved[method, kind] for method in ("dijkstra", "exact") for kind in CRITERIA)


def test_single_precision_keeps_its_promise_on_a_long_tube() -> None:
    n_rings = 4000
    ring, corner = np.divmod(np.arange(3 * n_rings), 3)
    turn = 2 * np.pi * corner / 3
    vertices = np.stack([0.37 * ring, 0.3 * np.cos(turn), 0.3 * np.sin(turn)], axis=1)
    a = np.arange(3 * (n_rings - 1))
    b = a - a % 3 + (a + 1) % 3
    faces = np.concatenate([np.stack([a, b, a + 3], axis=1), np.stack([b, b + 3, a + 3], axis=1), [[0, 2, 1]]])
    whole, part = Mesh(vertices, faces), Mesh(vertices, faces[:-1])
    rows = np.arange(0, whole.n_vertices, 1500)
    D, from_boundary = (
        geodesic_distances(part, sources, method="dijkstra", dtype=np.float32)
        for sources in (rows, part.boundary_vertices)
    )
    truth = geodesic_distances(whole, rows, method="dijkstra")
    found = wormhole_criterion(part, D, rows=rows, from_boundary=from_boundary)
    off = np.abs(D - truth)[found.mask] - (found.rtol + found.rounding) * truth[found.mask]
    assert found.fraction > 0.4
    assert off.max() <= 0


# --- boundary edges under another metric

SIX = np.array([[4, -4, -8], [-5, 6, -6], [3, -9, 2], [9, 1, 5], [0, -6, -8], [10, -2, 0]], float)
SEVEN_FACES = np.array([[0, 5, 1], [3, 5, 1], [3, 2, 1], [3, 2, 5], [4, 2, 1], [4, 0, 1], [4, 0, 2]])


def test_a_boundary_edge_may_be_longer_than_the_distance_of_its_ends() -> None:
    part, whole = Mesh(SIX, SEVEN_FACES), Mesh(SIX, [*SEVEN_FACES.tolist(), [0, 2, 5]])
    metric = uniform_metric(part, 100.0)
    D = geodesic_distances(part, method="exact", metric=metric)
    on_whole = geodesic_distances(whole, method="exact", metric=uniform_metric(whole, 100.0))
    assert D[3, 4] > 1.01 * on_whole[3, 4]
    for criterion in CRITERIA.values():
        assert false_pairs(criterion(part, D, metric_bound=metric, sound=True), D, on_whole) == 0
        with pytest.raises(ValueError, match="give the Metric that D was measured with"):
            criterion(part, D, metric_bound=100.0, sound=True)
        # that D is not of the metric of space shows where it is longer than an edge
        assert criterion(part, D, sound=True).statement.startswith("not proved: D is ")


def test_distances_that_contradict_the_metric_prove_nothing(torn_sphere) -> None:
    torn = torn_sphere(0)
    part, D = torn.part, torn.D_part
    metric = uniform_metric(part, 2.0)
    for sound in (False, True):
        short = wormhole_criterion(part, D, metric_bound=metric, sound=sound).statement
        assert "less than 2 times the straight line" in short
        assert "too short, or metric_bound too large" in short
        assert boundary_criterion(part, D, metric_bound=metric, sound=sound).statement.startswith("proved")
    long = boundary_criterion(part, 2 * D, sound=True).statement
    assert "it is too long, or measured with another metric" in long
    assert boundary_criterion(part, 2 * D).statement.startswith("proved")  # a path along edges may be in any metric


def test_edge_lengths_that_no_triangle_has_prove_nothing_about_ways_across_faces(torn_sphere) -> None:
    torn = torn_sphere(0)
    part = torn.part
    lengths = part.edge_lengths.copy()
    inside = np.flatnonzero(part.faces_per_edge == 2)[0]
    lengths[inside] *= 10
    metric = Metric(lengths, 0.0, 1.0, "odd")
    D = geodesic_distances(part, method="exact", metric=metric)
    said = wormhole_criterion(part, D, metric_bound=metric, sound=True).statement
    assert "not proved: under the metric 2 of" in said
    assert "violate the triangle inequality" in said
    assert wormhole_criterion(part, torn.D_part, metric_bound=metric).statement.startswith("proved")


# --- wholes that are no manifolds


def fins(rng: np.random.Generator) -> Lost:
    """A sphere with further faces at its edges, of which some are lost."""
    faces = random_faces(rng, int(rng.integers(5, 8)), 0)
    n = faces.max() + 1
    tips = rng.integers(0, n, size=(4, 2))
    more = [[a, b, n + k] for k, (a, b) in enumerate(tips) if a != b]
    faces = np.array([*faces.tolist(), *more])
    vertices = rng.integers(-4, 4, size=(faces.max() + 1, 3), endpoint=True).astype(float)
    return lost(vertices, faces, rng.random(len(faces)) < 0.8, 0)


def test_a_part_that_no_manifold_has_proves_nothing() -> None:
    rng = np.random.default_rng(0)
    seen, false = 0, 0
    for _ in range(80):
        given = fins(rng)
        part = given.part
        if not np.any(part.faces_per_edge > 2):
            continue
        seen += 1
        D = geodesic_distances(part, method="dijkstra", threads=1)
        on_whole = geodesic_distances(given.whole, method="dijkstra", threads=1)[np.ix_(given.kept, given.kept)]
        for criterion in (boundary_criterion, wormhole_criterion):
            found = criterion(part, D)
            false += false_pairs(found, D, on_whole)
            for said in (found.statement, criterion(part, D, sound=True).statement):
                assert said.startswith("not proved: ")
                assert "more than two faces, so the whole is not a manifold" in said
    assert seen > 20
    assert false > 0  # the statement is needed


def test_a_closed_surface_that_another_one_touches_proves_nothing(graph_distances) -> None:
    tetrahedron = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    there = np.concatenate([corners, -corners[1:]])
    for others in ([[0, 4, 5]], (np.where(tetrahedron == 0, 0, tetrahedron + 3)).tolist()):
        mesh = Mesh(there, [*tetrahedron.tolist(), *others])
        said = wormhole_criterion(mesh, graph_distances(mesh)).statement
        assert "not proved: mesh has faces all around vertex 0 and others that touch it there" in said
    touching = Mesh(
        there, [[0, 1, 2], [0, 4, 5]]
    )  # two fans with boundaries: a manifold can have lost what was between
    assert wormhole_criterion(touching, graph_distances(touching)).statement.startswith("proved")


def test_closed_surfaces_beside_each_other(graph_distances) -> None:
    tetrahedron = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    two = Mesh(np.concatenate([corners, corners + 5]), np.concatenate([tetrahedron, tetrahedron + 4]))
    found = wormhole_criterion(two, graph_distances(two))
    assert "every pair at a finite distance is guaranteed" in found.statement
    assert found.mask[:4, :4].all()
    assert not found.mask[:4, 4:].any()
