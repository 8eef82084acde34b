"""Distances against closed formulas, against each other, under symmetries, and on meshes that real scans produce."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from partwhole.datasets.shapes.primitives import annulus, plane, slivers, sphere, torus
from partwhole.geodesics import geodesic_distances, uniform_metric
from partwhole.geodesics.distances import DistanceMethod, distances_from_each, symmetrise
from partwhole.mesh import Mesh

METHODS = ("dijkstra", "fast_marching", "exact")


def scipy_dijkstra(mesh: Mesh) -> np.ndarray:
    n = mesh.n_vertices
    graph = sparse.csr_matrix((mesh.edge_lengths, (mesh.edges[:, 0], mesh.edges[:, 1])), shape=(n, n))
    return csgraph.dijkstra(graph, directed=False)


def relative_error(distances: np.ndarray, truth: np.ndarray) -> np.ndarray:
    apart = truth > 0
    return np.abs(distances[apart] - truth[apart]) / truth[apart]


def tube(n_rings: int) -> Mesh:
    """Triangles one behind the other, joined: paths from end to end have as many edges as there are rings."""
    ring, corner = np.divmod(np.arange(3 * n_rings), 3)
    turn = 2 * np.pi * corner / 3
    vertices = np.stack([0.37 * ring, 0.3 * np.cos(turn), 0.3 * np.sin(turn)], axis=1)
    a = np.arange(3 * (n_rings - 1))
    b = a - a % 3 + (a + 1) % 3
    return Mesh(vertices, np.concatenate([np.stack([a, b, a + 3], axis=1), np.stack([b, b + 3, a + 3], axis=1)]))


@pytest.mark.parametrize("method", ["dijkstra", "exact"])
def test_single_precision_is_right_to_half_a_unit_however_long_paths_are(method: DistanceMethod) -> None:
    mesh = tube(4000 if method == "dijkstra" else 400)
    sources = [0, 50, mesh.n_vertices - 1]
    truth = geodesic_distances(mesh, sources, method=method)
    single = geodesic_distances(mesh, sources, method=method, dtype=np.float32)
    assert single.dtype == np.float32
    assert relative_error(single, truth).max() <= 2.0**-24 * 1.001
    one = distances_from_each(mesh, method=method)(50)
    assert one.dtype == np.float32
    np.testing.assert_array_equal(one, single[1])


def euclidean(mesh: Mesh, sources: np.ndarray) -> np.ndarray:
    return np.linalg.norm(mesh.vertices[sources, None] - mesh.vertices[None], axis=2)


# --- known answers


@pytest.mark.parametrize(("method", "mean_error"), [("dijkstra", 0.12), ("fast_marching", 1e-3), ("exact", 1e-12)])
def test_plane_distances_are_straight_lines(method, mean_error):
    mesh = plane(400, jitter=0.6, seed=3)
    sources = np.arange(0, 400, 40)
    error = relative_error(geodesic_distances(mesh, sources, method=method), euclidean(mesh, sources))
    assert error.mean() < mean_error


@pytest.mark.parametrize(("method", "mean_error"), [("dijkstra", 0.12), ("fast_marching", 5e-3), ("exact", 3e-3)])
def test_sphere_distances_are_arcs(method, mean_error):
    mesh = sphere(1500, radius=2.0)
    sources = np.arange(0, 1500, 150)
    cosine = np.clip(mesh.vertices[sources] @ mesh.vertices.T / 4.0, -1, 1)
    error = relative_error(geodesic_distances(mesh, sources, method=method), 2 * np.arccos(cosine))
    assert error.mean() < mean_error


@pytest.mark.parametrize("method", ["fast_marching", "exact"])
def test_annulus_distances_bend_around_the_hole(method):
    mesh = annulus(inner=1.0, outer=2.0, n_vertices=1500)
    source = int(np.argmin(np.linalg.norm(mesh.vertices - [2, 0, 0], axis=1)))
    target = int(np.argmin(np.linalg.norm(mesh.vertices - [-2, 0, 0], axis=1)))
    angles = np.arctan2(mesh.vertices[[source, target], 1], mesh.vertices[[source, target], 0])
    turn = abs((angles[1] - angles[0] + np.pi) % (2 * np.pi) - np.pi)
    # two tangents to the inner circle, and the arc between them
    around = 2 * np.sqrt(3) + (turn - 2 * np.arccos(0.5))
    assert geodesic_distances(mesh, [source], method=method)[0, target] == pytest.approx(around, rel=5e-3)


@pytest.mark.parametrize("surface", ["plane", "sphere"])
def test_fast_marching_is_accurate_on_slivers(surface):
    mesh = slivers(1200, surface=surface, seed=1)
    assert (np.degrees(mesh.corner_angles.max(axis=1)) > 150).mean() > 0.25
    sources = np.arange(0, mesh.n_vertices, 60)
    truth = geodesic_distances(mesh, sources, method="exact")
    assert relative_error(geodesic_distances(mesh, sources), truth).mean() < 0.01


def test_every_method_keeps_its_place_in_the_order():
    mesh = torus(1.0, 0.4, 900, jitter=0.5, seed=2)
    graph, front, exact = (geodesic_distances(mesh, np.arange(0, 900, 30), method=m) for m in METHODS)
    assert (exact <= graph * (1 + 1e-9)).all()
    assert (front <= graph * (1 + 1e-9)).all()
    assert np.median(np.abs(front - exact)) < 0.1 * np.median(graph - exact)


def test_graph_distances_are_those_of_scipy():
    mesh = sphere(700, jitter=0.5, seed=5)
    np.testing.assert_allclose(geodesic_distances(mesh, method="dijkstra"), scipy_dijkstra(mesh), rtol=1e-12)
    np.testing.assert_allclose(
        geodesic_distances(mesh, method="dijkstra", dtype=np.float32), scipy_dijkstra(mesh), rtol=2.0**-24 * 1.001
    )


# --- invariances


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_pairs_are_symmetric_with_a_zero_diagonal(method, dtype):
    mesh = sphere(150, jitter=0.5)
    D = geodesic_distances(mesh, method=method, dtype=dtype)
    assert D.dtype == dtype
    assert (D == D.T).all()
    assert (np.diag(D) == 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_distances_do_not_depend_on_position_scale_or_numbering(method):
    mesh = torus(1.0, 0.5, 300, jitter=0.5)
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    moved = Mesh(1e6 * (mesh.vertices @ turn + 7), mesh.faces)
    order = rng.permutation(300)
    numbered = Mesh(mesh.vertices[order], np.argsort(order)[mesh.faces][rng.permutation(mesh.n_faces)])
    D = geodesic_distances(mesh, method=method)
    tolerance = 1e-7 if method != "fast_marching" else 1e-5
    np.testing.assert_allclose(geodesic_distances(moved, method=method), 1e6 * D, rtol=tolerance, atol=1e-3)
    np.testing.assert_allclose(
        geodesic_distances(numbered, method=method), D[np.ix_(order, order)], rtol=tolerance, atol=1e-9
    )


@pytest.mark.parametrize("size", [1e-69, 1e-30, 1e30, 1e69])
def test_single_precision_survives_extreme_units(size):
    mesh = sphere(200)
    D = geodesic_distances(mesh, [0, 7])
    if 1e-38 < size < 1e38:
        scaled = geodesic_distances(mesh.scaled(size), [0, 7], dtype=np.float32)
        np.testing.assert_allclose(scaled / np.float32(size), D, rtol=1e-5)
    np.testing.assert_allclose(geodesic_distances(mesh.scaled(size), [0, 7]), D * size, rtol=1e-7)


@pytest.mark.parametrize("size", [1e-45, 1e45])
def test_lengths_that_single_precision_does_not_hold_are_refused(size):
    with pytest.raises(ValueError, match="float32 can't represent"):
        geodesic_distances(sphere(50).scaled(size), [0], dtype=np.float32)


def test_single_and_double_precision_agree():
    mesh = sphere(800, jitter=0.7, seed=4)
    np.testing.assert_allclose(geodesic_distances(mesh, dtype=np.float32), geodesic_distances(mesh), rtol=1e-4)


@pytest.mark.parametrize("method", ["dijkstra", "exact"])
def test_chosen_rows_are_rows_of_all_pairs(method):
    mesh = sphere(200, jitter=0.5)
    rows = [17, 3, 3, 199]
    np.testing.assert_allclose(
        geodesic_distances(mesh, rows, method=method), geodesic_distances(mesh, method=method)[rows], rtol=1e-10
    )


def test_one_thread_gives_what_many_give():
    mesh = sphere(400, jitter=0.5)
    np.testing.assert_array_equal(geodesic_distances(mesh, threads=1), geodesic_distances(mesh, threads=3))


# --- what real meshes bring


def triangles_apart(count: int) -> Mesh:
    corner = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    vertices = np.concatenate([corner + np.array([0, 0, 10 * k]) for k in range(count)])
    return Mesh(vertices, np.arange(3 * count).reshape(-1, 3))


@pytest.mark.parametrize("method", METHODS)
def test_components_and_lone_vertices_are_infinitely_far(method):
    mesh = triangles_apart(40)
    D = geodesic_distances(mesh, method=method)
    label = np.arange(120) // 3
    assert (np.isfinite(D) == np.equal.outer(label, label)).all()
    lone = Mesh([*mesh.vertices, [5, 5, 5]], mesh.faces)
    row = geodesic_distances(lone, [120], method=method)[0]
    assert row[120] == 0
    assert np.isinf(row[:120]).all()


@pytest.mark.parametrize("method", METHODS)
def test_three_faces_at_an_edge(method):
    vertices = [[0, 0, 0], [1, 0, 0], [0.5, 1, 0], [0.5, -1, 0], [0.5, 0, 1]]
    mesh = Mesh(vertices, [[0, 1, 2], [0, 1, 3], [0, 1, 4]])
    D = geodesic_distances(mesh, method=method)
    apart = 2.0 if method != "dijkstra" else 2 * np.sqrt(1.25)
    np.testing.assert_allclose(D[[2, 2, 3], [3, 4, 4]], apart, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_flat_triangles_and_coincident_vertices(method):
    vertices = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [1, 1, 0], [1, 1, 0], [1, 2, 0]]
    mesh = Mesh(vertices, [[0, 1, 2], [0, 2, 3], [2, 3, 4], [2, 4, 5], [3, 4, 5]])
    D = geodesic_distances(mesh, method=method)
    assert np.isfinite(D).all()
    np.testing.assert_allclose(D[[0, 0, 3, 3], [1, 2, 4, 5]], [1, 2, 0, 1], atol=1e-8)


def test_mixed_orientation_costs_no_accuracy():
    mesh = slivers(500, surface="plane")
    turned = mesh.faces.copy()
    turned[::2] = turned[::2, ::-1]
    truth = euclidean(mesh, np.arange(500))
    assert relative_error(geodesic_distances(Mesh(mesh.vertices, turned)), truth).mean() < 2e-3


@given(st.data())
def test_any_valid_mesh_gives_distances_between_the_straight_line_and_the_graph(data):
    n = data.draw(st.integers(3, 12))
    grid = st.integers(-3, 3)
    vertices = data.draw(st.lists(st.tuples(grid, grid, grid), min_size=n, max_size=n))
    triple = st.lists(st.integers(0, n - 1), min_size=3, max_size=3, unique=True).map(lambda t: tuple(sorted(t)))
    faces = data.draw(st.lists(triple, min_size=1, max_size=14, unique=True))
    mesh = Mesh(vertices, faces)
    graph = scipy_dijkstra_with_zeros(mesh)
    line = np.linalg.norm(mesh.vertices[:, None] - mesh.vertices[None], axis=2)
    for method in METHODS:
        D = geodesic_distances(mesh, method=method)
        assert (np.isfinite(D) == np.isfinite(graph)).all()
        reached = np.isfinite(D)
        assert (D[reached] <= graph[reached] * (1 + 1e-9) + 1e-7).all(), method
        if method != "fast_marching":
            assert (D[reached] >= line[reached] * (1 - 1e-9) - 1e-7).all(), method


def scipy_dijkstra_with_zeros(mesh: Mesh) -> np.ndarray:
    D = np.full((mesh.n_vertices,) * 2, np.inf)
    np.fill_diagonal(D, 0)
    D[mesh.edges[:, 0], mesh.edges[:, 1]] = D[mesh.edges[:, 1], mesh.edges[:, 0]] = mesh.edge_lengths
    for k in range(mesh.n_vertices):
        D = np.minimum(D, D[:, k, None] + D[None, k])
    return D


def test_fronts_around_a_vertex_of_high_degree() -> None:
    # all boundary vertices are equally far along edges, through the apex: that order says nothing about the fronts
    angle = np.linspace(0, 1.5 * np.pi, 100_001)
    boundary = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
    first = np.arange(1, len(angle))
    fan = Mesh(np.concatenate([np.zeros((1, 3)), boundary]), np.stack([np.zeros_like(first), first, first + 1], axis=1))
    found = geodesic_distances(fan, [1])[0, 1:]
    expected = np.where(angle < np.pi, 2 * np.sin(angle / 2), 2.0)
    np.testing.assert_allclose(found, expected, rtol=0.05, atol=1e-6)  # slivers are hard for fast marching


# --- files, progress, errors


def test_rows_go_to_a_file_that_is_mapped(tmp_path):
    mesh = sphere(300)
    D = geodesic_distances(mesh, out=tmp_path / "D.npy", dtype=np.float32)
    assert isinstance(D, np.memmap)
    assert not D.flags.writeable
    np.testing.assert_array_equal(D, geodesic_distances(mesh, dtype=np.float32))
    assert [path.name for path in tmp_path.iterdir()] == ["D.npy"]


def test_a_killed_process_leaves_no_half_written_matrix(tmp_path):
    code = (
        "import partwhole as pw, sys\n"
        "pw.geodesic_distances(pw.datasets.sphere(60), out=sys.argv[1] + '/first.npy')\n"
        "print('begun', flush=True)\n"
        "pw.geodesic_distances(pw.datasets.sphere(6000), method='exact', out=sys.argv[1] + '/D.npy')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.7)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert not (tmp_path / "D.npy").exists()
    assert np.load(tmp_path / "first.npy").shape == (60, 60)


def test_progress_is_reported_to_the_end(capsys):
    calls: list[tuple[int, int]] = []
    geodesic_distances(sphere(100), progress=lambda _, done, total: calls.append((done, total)))
    assert calls[-1] == (100, 100)
    assert [done for done, _ in calls] == sorted({done for done, _ in calls})
    geodesic_distances(sphere(100), progress=True)
    assert "100%" in capsys.readouterr().out


def test_an_error_in_the_progress_function_ends_the_work():
    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        geodesic_distances(sphere(500), progress=stop)


@pytest.mark.parametrize("mean", [True, False])
def test_symmetrise_in_blocks(mean):
    matrix = np.random.default_rng(0).random((13, 13))
    expected = (matrix + matrix.T) / 2 if mean else np.minimum(matrix, matrix.T)
    symmetrise(matrix, mean=mean, block=4)
    np.testing.assert_array_equal(matrix, expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sources": [0, 100]}, "no vertex 100"),
        ({"sources": [-1]}, "no vertex -1"),
        ({"sources": [0.5]}, "list of vertex numbers"),
        ({"sources": []}, "list of vertex numbers"),
        ({"sources": [[1]]}, "list of vertex numbers"),
        ({"dtype": np.int32}, "float32 or float64"),
        ({"method": "heat"}, "'heat'"),
        ({"device": "tpu"}, "'tpu'"),
        ({"metric": uniform_metric(plane((3, 3)), 1.0)}, "make the metric from this mesh"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        geodesic_distances.__wrapped__(sphere(100), **arguments)  # past the check of the annotation


def test_cuda_says_what_it_cannot_do():
    with pytest.raises(ValueError, match="processor only"):
        geodesic_distances(sphere(100), method="exact", device="cuda")
    with pytest.raises(ValueError, match="out="):
        geodesic_distances(sphere(100), out="D.npy", device="cuda")


def test_cuda_without_a_device_is_one_clear_line():
    try:
        import torch

        if torch.cuda.is_available():
            pytest.skip("there is a CUDA device here")
    except ImportError:
        pass
    with pytest.raises(ValueError, match="use device='cpu'"):
        geodesic_distances(sphere(100), device="cuda")


@pytest.mark.parametrize("method", ["dijkstra", "fast_marching", "exact"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_vertex_after_another_has_the_same_distances(method: DistanceMethod, dtype: type) -> None:
    mesh = Mesh(2.5 * sphere(120, jitter=0.2).vertices, sphere(120, jitter=0.2).faces)
    distances_from = distances_from_each(mesh, method=method, dtype=dtype)
    for vertex in (0, 17, 119):
        row = distances_from(vertex)
        assert row.dtype == dtype
        np.testing.assert_array_equal(row, geodesic_distances(mesh, [vertex], method=method, dtype=dtype)[0])
    with pytest.raises(ValueError, match="there is no vertex 120"):
        distances_from(120)


def test_one_vertex_after_another_refuses_what_float32_does_not_hold() -> None:
    mesh = Mesh(1e-40 * sphere(50).vertices, sphere(50).faces)
    with pytest.raises(ValueError, match="use float64"):
        distances_from_each(mesh)


@pytest.mark.parametrize("method", ["dijkstra", "fast_marching", "exact"])
def test_targets_are_columns(method, tmp_path) -> None:
    mesh = sphere(80, jitter=0.3)
    rows = geodesic_distances(mesh, [3, 70], method=method)
    options = {"targets": [70, 0, 70], "method": method}
    np.testing.assert_array_equal(geodesic_distances(mesh, [3, 70], **options), rows[:, [70, 0, 70]])
    on_disk = geodesic_distances(mesh, [3, 70], out=tmp_path / "D.npy", **options)
    np.testing.assert_array_equal(on_disk, rows[:, [70, 0, 70]])


def test_targets_that_are_refused() -> None:
    with pytest.raises(ValueError, match="targets: there is no vertex 80"):
        geodesic_distances(sphere(80), [0], targets=[80])
    with pytest.raises(ValueError, match="targets needs sources"):
        geodesic_distances(sphere(80), targets=[0])
