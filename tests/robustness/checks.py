"""What must hold for every surface at all, however odd: right answers, by references and invariants, from every function.

Tests get this module as the fixture `checks`; `check_everything(mesh, case)` runs it all.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np

import partwhole as pw
from partwhole.criterion.reference import brute_force_threshold
from partwhole.criterion.result import Criterion
from partwhole.mesh.formats.common import MeshWarning
from partwhole.mesh.surface import Mesh

references = sys.modules["partwhole_test_references"]

METHODS = ("dijkstra", "fast_marching", "exact")
CLOSE = 1e-9  # relative to the distances, or to the size of the surface: what rounding may do, amply
KINDS = {
    "boundary": pw.boundary_criterion,
    "wormhole": pw.wormhole_criterion,
    "same-loop": pw.same_loop_criterion,
}


def check_everything(mesh: Mesh, case: int) -> None:
    """All of it on a small surface; `case` takes turns where doing every combination would take long."""
    check_properties(mesh)
    if 0 < np.ptp(mesh.vertices[np.unique(mesh.faces)], axis=0).max() < 1e-70:
        assert_refused(lambda: pw.repair(mesh))  # only a loose vertex made the surface large enough
        return
    D = None
    with contextlib.suppress(RuntimeWarning):
        D = check_distances(mesh)
    if D is None:  # exact distances say so where they may be too long: only with lengths that nothing real has together
        lengths = mesh.edge_lengths[mesh.edge_lengths > 0]
        assert lengths.max() > 1e12 * lengths.min()
        return
    check_single_precision(mesh, D, METHODS[case % 3])
    check_metrics(mesh)
    check_criteria(mesh, D[METHODS[case % 3]], deep=case % 4 == 0)
    check_samples(mesh, D["dijkstra"])
    check_decimation(mesh, keep_boundary=case % 2 == 0)
    check_finer_border(mesh, D["exact"])
    check_components(mesh)
    check_round_trip(mesh, ("off", "obj", "ply", "glb", "stl")[case % 5])
    check_guarantees(mesh, case)


def size_of(mesh: Mesh) -> float:
    return float(np.ptp(mesh.vertices, axis=0).max())


def check_properties(mesh: Mesh) -> None:
    count = references.edges_of(mesh.faces)
    assert mesh.edges.tolist() == [list(edge) for edge in sorted(count)]
    assert mesh.faces_per_edge.tolist() == [count[edge] for edge in sorted(count)]
    border = sorted(edge for edge, faces in count.items() if faces == 1)
    assert sorted(tuple(sorted(edge)) for edge in mesh.boundary_edges.tolist()) == border
    assert mesh.boundary_vertices.tolist() == sorted({v for edge in border for v in edge})
    # every border edge is in one loop, once; a chain that does not close has one edge less than vertices
    steps = [set(map(int, pair)) for loop in mesh.boundary_loops for pair in zip(loop, np.roll(loop, -1), strict=True)]
    assert all(set(edge) in steps for edge in border)
    assert len(border) <= len(steps) <= 2 * len(border)

    reach = np.isfinite(references.floyd_warshall(mesh.n_vertices, count, [1.0] * len(count)))
    assert np.array_equal(np.equal.outer(mesh.component_labels, mesh.component_labels), reach)
    assert mesh.n_components == len(np.unique(reach, axis=0))
    if mesh.is_manifold and mesh.n_components == 1:
        assert mesh.genus >= 0
    else:
        assert_refused(lambda: mesh.genus)

    size = size_of(mesh)
    assert (mesh.face_areas >= 0).all()
    assert (mesh.face_areas <= size**2 * 1.5).all()
    assert np.isclose(mesh.vertex_areas.sum(), mesh.area, rtol=CLOSE, atol=0)
    for normals in (mesh.face_normals, mesh.vertex_normals):
        length = np.linalg.norm(normals, axis=1)
        assert np.all((length == 0) | (np.abs(length - 1) < CLOSE))
    assert np.isfinite(mesh.angle_defects).all()
    solid = mesh.face_areas > 1e-9 * size**2
    assert np.allclose(mesh.corner_angles[solid].sum(axis=1), np.pi, rtol=1e-6)
    assert str(mesh.n_vertices) in repr(mesh)
    assert len(mesh.content_hash) == 64
    if mesh.area > 1e-6 * size**2:  # a needle may be lost when it is moved
        assert np.isclose(mesh.to_unit_area()[0].area, 1.0, rtol=1e-6)
    elif mesh.area == 0:
        assert_refused(mesh.to_unit_area)


def check_distances(mesh: Mesh) -> dict[str, np.ndarray]:
    """All methods against the graph's distances by Floyd and Warshall, the straight line, and ways over the faces."""
    straight = np.linalg.norm(mesh.vertices[:, None] - mesh.vertices[None], axis=2)
    graph = references.floyd_warshall(mesh.n_vertices, mesh.edges.tolist(), straight[tuple(mesh.edges.T)])
    rounding = CLOSE * size_of(mesh)
    found = {}
    for method in METHODS:
        D = found[method] = pw.geodesic_distances(mesh, method=method)
        assert np.array_equal(np.isfinite(D), np.isfinite(graph)), method
        assert np.array_equal(D, D.T), method
        assert not D.diagonal().any(), method
        assert (D >= 0).all(), method
        # fast marching stops at steps far below its error
        assert_at_most(D, graph, 1e-6 * size_of(mesh) if method == "fast_marching" else rounding, method)
    assert_at_most(graph, found["dijkstra"], rounding, "dijkstra")
    assert_at_most(straight, found["exact"], rounding, "exact is shorter than the straight line")
    # edge lengths, exact to 1e-16, say the height of a triangle without area only to the root of that
    rounding = 1e-7 * size_of(mesh)
    over_faces, error = references.across_faces(mesh.n_vertices, mesh.faces, mesh.vertices)
    assert_at_most(found["exact"], over_faces, rounding, "a way over the faces is shorter than exact")
    assert_at_most(over_faces, found["exact"] + error, rounding, "exact is shorter than any way over the faces")
    detours = (found["exact"][:, :, None] + found["exact"][None]).min(axis=1)
    assert_at_most(found["exact"], detours, rounding, "exact breaks the triangle inequality")

    # nothing is proved of fast marching; on these surfaces, far from smooth, it was never below two thirds of the truth
    assert_at_most(found["exact"] / 2, found["fast_marching"], rounding, "fast marching")

    rows = np.array([mesh.n_vertices - 1, 0])
    for method in ("dijkstra", "exact"):
        some = pw.geodesic_distances(mesh, rows, method=method)
        assert_at_most(some, found[method][rows], rounding, f"{method}, chosen rows")
        assert_at_most(found[method][rows], some, rounding, f"{method}, chosen rows")
    return found


def check_single_precision(mesh: Mesh, double: dict[str, np.ndarray], method: str) -> None:
    """The same in float32, and the criteria on it; sizes that it does not hold are refused."""
    longest = mesh.edge_lengths.max()
    if longest > 1e38 or 0 < longest < 1e-38:
        assert_refused(lambda: pw.geodesic_distances(mesh, method=method, dtype=np.float32))
    if longest > 1e35 or 0 < longest < 1e-35:
        return  # between the two, it depends on how many edges there are
    single = pw.geodesic_distances(mesh, method=method, dtype=np.float32)
    assert single.dtype == np.float32
    assert not np.isnan(single).any()
    assert np.array_equal(np.isfinite(single), np.isfinite(double[method]))
    assert np.array_equal(single, single.T)
    # the smallest numbers that float32 has are coarse
    rounding = 1e-5 * double["dijkstra"][np.isfinite(double["dijkstra"])].max() + 1e-44
    assert_at_most(single, double["dijkstra"], rounding, f"{method}, float32")
    if method != "fast_marching":
        assert_at_most(double[method], single, rounding, f"{method}, float32")
    for sound in (False, True):
        boundary, wormhole = (KINDS[kind](mesh, single, sound=sound) for kind in ("boundary", "wormhole"))
        assert boundary.threshold.dtype == np.float32
        assert_at_most(boundary.threshold, wormhole.threshold, rounding, "boundary above wormhole, float32")
        check_one_criterion(mesh, wormhole, deep=False)


def check_metrics(mesh: Mesh) -> None:
    """Distances with lengths that need not fit a triangle in space."""
    try:
        metric = pw.scale_invariant_metric(mesh)
    except ValueError as error:
        assert_clear(error)
        assert mesh.area == 0
        return
    graph = references.floyd_warshall(mesh.n_vertices, mesh.edges.tolist(), metric.edge_lengths)
    for method in METHODS:
        D = pw.geodesic_distances(mesh, method=method, metric=metric)
        assert not np.isnan(D).any()
        assert np.array_equal(np.isfinite(D), np.isfinite(graph))
        assert_at_most(D, graph, 1e-6 * metric.edge_lengths.max(), f"{method}, scale-invariant")


def check_criteria(mesh: Mesh, D: np.ndarray, *, deep: bool) -> None:
    """Thresholds against plain loops, in both forms; each criterion guarantees what the one before does."""
    for sound in (False, True):
        found: list[Criterion] = []
        for kind, criterion in KINDS.items():
            if kind == "same-loop" and not can_be_piece_of_sphere(mesh):
                assert_refused(lambda: pw.same_loop_criterion(mesh, D))
                continue
            found.append(criterion(mesh, D, sound=sound))
            check_one_criterion(mesh, found[-1], deep=deep)
        for less, more in pairwise(found):
            assert_at_most(less.threshold, more.threshold, CLOSE * size_of(mesh), f"{less.kind} above {more.kind}")
        rows = np.array([mesh.n_vertices - 1, 0])
        chosen = pw.wormhole_criterion(mesh, D, rows=rows, sound=sound)
        assert np.array_equal(chosen.threshold, found[1].threshold[rows])
        assert np.array_equal(chosen.mask, found[1].mask[rows])


def can_be_piece_of_sphere(mesh: Mesh) -> bool:
    """Connected, at most two faces at an edge, and every piece a sphere with holes: χ + loops = 2."""
    if mesh.n_components != 1 or (mesh.faces_per_edge > 2).any():
        return False
    apart = pw.repair(mesh).mesh  # copies the vertices where pieces touch
    return apart.euler_characteristic + len(apart.boundary_loops) == 2 * apart.n_components


def check_one_criterion(mesh: Mesh, found: Criterion, *, deep: bool) -> None:
    D, K = found.distances, found.threshold
    assert not np.isnan(K).any()
    finite = np.isfinite(D)
    guaranteed = finite & (K * (1 + found.rtol) >= D) | np.eye(len(D), dtype=bool)
    assert np.array_equal(found.mask, guaranteed)
    assert np.array_equal(found.soft_mask == 1, finite & (D <= K) | np.eye(len(D), dtype=bool))
    assert (found.soft_mask >= 0).all()
    assert found.statement
    assert repr(found)
    assert np.isnan(found.fraction) or 0 <= found.fraction <= 1
    if mesh.is_closed:
        assert np.array_equal(found.mask, finite)
    if not deep:
        return
    boundary = mesh.boundary_vertices
    longest = dict.fromkeys(boundary.tolist(), 0.0)
    for u, v in mesh.boundary_edges.tolist():
        length = float(np.linalg.norm(mesh.vertices[u] - mesh.vertices[v]))
        longest[u], longest[v] = max(longest[u], length), max(longest[v], length)
    half = np.array([longest[b] / 2 for b in boundary.tolist()]) * found.sound
    points = mesh.vertices[boundary]
    straight = np.linalg.norm(points[:, None] - points[None], axis=2)
    by_force = brute_force_threshold(found.kind, D, boundary, mesh.boundary_labels, straight, 1.0, half)
    assert_at_most(K, by_force, CLOSE * size_of(mesh), found.kind)
    assert_at_most(by_force, K, CLOSE * size_of(mesh), found.kind)


def check_guarantees(mesh: Mesh, case: int) -> None:
    """A part of the surface, once it is a manifold: every pair that is guaranteed is as far apart on the whole."""
    whole = pw.repair(mesh).mesh
    kept = np.random.default_rng(case).random(whole.n_faces) < 0.7
    if not kept.any() or kept.all():
        return
    # all vertices stay, so that numbers agree; those that lose all their faces are far from everything
    part = Mesh(whole.vertices, whole.faces[kept])
    method, sound = (("dijkstra", False), ("exact", True))[case % 2]
    on_part = pw.geodesic_distances(part, method=method)
    on_whole = pw.geodesic_distances(whole, method=method)
    is_sphere = whole.is_closed and whole.n_components == 1 and whole.euler_characteristic == 2
    for kind, criterion in KINDS.items():
        if kind == "same-loop" and not (is_sphere and part.n_components == 1):
            continue
        mask = criterion(part, on_part, sound=sound).mask
        assert_at_most(on_part[mask], on_whole[mask], 1e-8 * size_of(mesh), f"{kind}, {method}: guaranteed and wrong")


def check_samples(mesh: Mesh, graph: np.ndarray) -> None:
    used = np.unique(mesh.faces)
    chosen = pw.farthest_points(mesh, len(used), seed=1)
    assert np.array_equal(np.sort(chosen), used)
    for k in range(1, len(chosen)):
        nearest = graph[chosen[:k]].min(axis=0)
        farthest = np.delete(nearest, chosen[:k])[np.isin(np.delete(np.arange(len(nearest)), chosen[:k]), used)].max()
        assert nearest[chosen[k]] >= farthest * (1 - CLOSE), "another vertex is farther"
    assert_refused(lambda: pw.farthest_points(mesh, len(used) + 1))


def check_decimation(mesh: Mesh, *, keep_boundary: bool) -> None:
    used = np.unique(mesh.faces)
    for target in (3, max(3, mesh.n_vertices // 2)):
        coarse = pw.decimate(mesh, target, keep_boundary=keep_boundary)
        assert np.array_equal(coarse.mesh.vertices, mesh.vertices[coarse.to_fine])
        assert coarse.to_coarse.shape == (mesh.n_vertices,)
        assert np.array_equal(coarse.to_coarse[coarse.to_fine], np.arange(coarse.mesh.n_vertices))
        if target >= mesh.n_vertices:
            continue
        assert set(coarse.to_fine.tolist()) <= set(used.tolist())
        if keep_boundary:
            assert set(mesh.boundary_vertices.tolist()) <= set(coarse.to_fine.tolist())
        before, after = mesh.component_labels[used], mesh.component_labels[coarse.to_fine]
        assert set(before.tolist()) == set(after.tolist()), "a component is lost"
        assert np.array_equal(mesh.component_labels[coarse.to_fine[coarse.to_coarse[used]]], before)
        if mesh.is_manifold:
            loose = mesh.n_vertices - len(used)
            assert coarse.mesh.is_manifold
            assert coarse.mesh.n_components == mesh.n_components - loose
            assert len(coarse.mesh.boundary_loops) == len(mesh.boundary_loops)
            assert coarse.mesh.euler_characteristic == mesh.euler_characteristic - loose


def check_finer_border(mesh: Mesh, exact: np.ndarray) -> None:
    finer = pw.refine_boundary(mesh, 3)
    n, size = mesh.n_vertices, size_of(mesh)
    assert np.array_equal(finer.vertices[:n], mesh.vertices)
    assert len(finer.boundary_edges) == 3 * len(mesh.boundary_edges)
    assert finer.euler_characteristic == mesh.euler_characteristic
    assert np.isclose(finer.area, mesh.area, rtol=CLOSE, atol=CLOSE * size**2)
    again = pw.geodesic_distances(finer, np.arange(n), method="exact")[:, :n]
    assert_at_most(again, exact, 1e-7 * size, "a finer border makes ways longer")
    assert_at_most(exact, again, 1e-7 * size, "a finer border makes ways shorter")


def check_components(mesh: Mesh) -> None:
    largest, vertex_map = mesh.largest_component()
    assert largest.n_components == 1
    assert np.array_equal(largest.vertices, mesh.vertices[vertex_map])
    labels = mesh.component_labels[vertex_map]
    assert len(np.unique(labels)) == 1
    area_of = np.bincount(mesh.component_labels[mesh.faces[:, 0]], weights=mesh.face_areas)
    assert area_of[labels[0]] >= area_of.max() * (1 - CLOSE)
    mended = pw.repair(mesh)
    assert mended.mesh.is_manifold
    assert np.isclose(mended.mesh.area, mesh.area, rtol=CLOSE, atol=0)
    assert pw.repair(mended.mesh).report.is_clean


def check_round_trip(mesh: Mesh, kind: str) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        path = Path(folder) / f"x.{kind}"
        try:
            pw.write_mesh(mesh, path)
            again = pw.read_mesh(path)
        except ValueError as error:
            assert_clear(error)
            refusal = str(error)
        else:
            refusal = ""
    if refusal:
        # float32 holds no larger numbers; STL has no vertices, so that those which coincide become one
        assert "float32" in refusal or kind in ("stl", "glb"), refusal
        return
    assert all(w.category is MeshWarning for w in said)
    if kind in ("off", "obj", "ply"):
        assert np.array_equal(again.vertices, mesh.vertices)
    if kind != "stl":
        assert np.allclose(again.vertices, mesh.vertices, rtol=1e-7, atol=1e-44)
        assert np.array_equal(again.faces, mesh.faces)
    else:
        assert again.n_faces == mesh.n_faces


def assert_at_most(less: np.ndarray, more: np.ndarray, rounding: float, what: str) -> None:
    """less ≤ more but for rounding, wherever `more` is finite."""
    finite = np.isfinite(more)
    excess = less[finite] - more[finite] * (1 + CLOSE) - rounding
    assert not (excess > 0).any(), f"{what}: by {excess.max():.3g} of {np.abs(more[finite]).max():.3g}"


def assert_refused(call) -> None:
    try:
        call()
    except ValueError as error:
        assert_clear(error)
        return
    raise AssertionError("this must be refused")


def assert_clear(error: ValueError) -> None:
    text = str(error)
    assert text.strip()
    assert "\n" not in text, text
    assert len(text) < 500, text
