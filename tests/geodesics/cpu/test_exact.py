"""Exact distances against closed formulas; the surfaces are made here, most of them from edge lengths alone."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import ConvexHull, Delaunay

from partwhole.geodesics.cpu import exact
from partwhole.geodesics.cpu.exact import exact_distances, exact_topology
from partwhole.mesh.topology import unique_edges


def lay_out(vertices, faces):
    """Topology of a surface in space."""
    vertices, faces = np.asarray(vertices, float), np.asarray(faces, np.int64)
    edges, opposite, _ = unique_edges(faces)
    lengths = np.linalg.norm(vertices[edges[:, 1]] - vertices[edges[:, 0]], axis=1)
    return exact_topology(len(vertices), faces, opposite, lengths)


def distances(vertices, faces, sources=None):
    sources = np.arange(len(vertices)) if sources is None else np.asarray(sources)
    out = np.empty((len(sources), len(vertices)))
    exact_distances(lay_out(vertices, faces), sources, out)
    return out


def euclidean(points):
    points = np.asarray(points, float)
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def grid(k):
    """Vertices (x, y) with integer x, y below k, two triangles a square."""
    points = np.stack(np.meshgrid(np.arange(k), np.arange(k), indexing="ij"), axis=-1).reshape(-1, 2).astype(float)
    corner = (np.arange(k - 1)[:, None] * k + np.arange(k - 1)).reshape(-1)
    squares = np.stack([corner, corner + k, corner + k + 1, corner + 1], axis=1)
    return points, np.concatenate([squares[:, [0, 1, 2]], squares[:, [0, 2, 3]]])


def bumpy_sphere(n, seed=0):
    """A closed surface with many saddles."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    faces = ConvexHull(points).simplices
    return points * (1 + 0.3 * np.sin(5 * points).prod(axis=1) * 4 + 0.05 * rng.random(n))[:, None], faces


# --- closed formulas


def test_a_plane_has_straight_lines():
    points = np.random.default_rng(1).random((150, 2))
    assert np.allclose(distances(points, Delaunay(points).simplices), euclidean(points), rtol=1e-11, atol=1e-13)


def test_rays_that_run_exactly_through_vertices():
    points, faces = grid(12)
    assert np.allclose(distances(points, faces), euclidean(points), rtol=1e-12)


def test_paths_bend_at_the_boundary():
    points, faces = grid(9)
    inside = ~((points[faces].mean(axis=1) > 4).all(axis=1))  # the square x, y > 4 is missing
    found = distances(points, faces[inside])
    kept = np.unique(faces[inside])
    for a in kept:
        for b in kept:
            (x, y), (u, v) = points[a], points[b]
            corner_side = (u - x) * (4 - y) - (v - y) * (4 - x)
            cut_off = (x > 4 and v > 4 and corner_side > 0) or (u > 4 and y > 4 and corner_side < 0)
            via = np.hypot(x - 4, y - 4) + np.hypot(u - 4, v - 4)
            assert found[a, b] == pytest.approx(via if cut_off else np.hypot(u - x, v - y), rel=1e-12)
    assert np.isinf(np.delete(found[0], kept)).all()


def test_from_a_corner_of_the_cube():
    points, faces = grid(6)
    u, v = points.T / 5
    sides = [np.stack(c, axis=1) for c in ((u, v, 0 * u), (u, v, 0 * u + 1), (u, 0 * u, v), (u, 0 * u + 1, v))]
    sides += [np.stack(c, axis=1) for c in ((0 * u, u, v), (0 * u + 1, u, v))]
    every = np.concatenate(sides)
    vertices, inverse = np.unique(np.round(every, 9), axis=0, return_inverse=True)
    faces = inverse.reshape(-1)[np.concatenate([faces + 36 * k for k in range(6)])]
    found = distances(vertices, faces, [0])[0]
    truth = np.linalg.norm(vertices, axis=1)  # on the three sides at the corner
    for axis in range(3):
        far = vertices[:, axis] == 1
        a, b = np.delete(vertices, axis, axis=1)[far].T
        unfolded = np.minimum(np.hypot(1 + a, b), np.hypot(1 + b, a))
        truth[far] = np.where((a == 0) | (b == 0), truth[far], unfolded)
    assert np.allclose(found, truth, rtol=1e-12)


@pytest.mark.parametrize("turns", [0.05, 0.3, 0.5, 0.9, 1.0, 1.001, 1.4, 2.5])
def test_cones_and_saddles(turns):
    """A cone whose apex has `turns` full turns of angle around it, given by its edge lengths in polar coordinates."""
    sectors, rings = 20, 5
    total = 2 * np.pi * turns
    # rings must stay straight beside the apex: outside of the outermost ring there is a boundary
    angle = np.arange(sectors) * total / sectors
    ring = lambda r, s: 1 + r * sectors + s % sectors  # noqa: E731
    faces = [[0, ring(0, s), ring(0, s + 1)] for s in range(sectors)]
    for r in range(rings - 1):
        for s in range(sectors):
            faces += [
                [ring(r, s), ring(r + 1, s), ring(r + 1, s + 1)],
                [ring(r, s), ring(r + 1, s + 1), ring(r, s + 1)],
            ]
    radius = np.concatenate([[0.0], np.repeat(np.arange(1.0, rings + 1), sectors)])
    azimuth = np.concatenate([[0.0], np.tile(angle, rings)])

    def truth(a, b):
        between = np.abs(azimuth[a] - azimuth[b])
        between = np.minimum(between, total - between)
        chord = np.sqrt(np.maximum(radius[a] ** 2 + radius[b] ** 2 - 2 * radius[a] * radius[b] * np.cos(between), 0))
        return np.where(between < np.pi, chord, radius[a] + radius[b])

    edges, opposite, _ = unique_edges(np.array(faces))
    topology = exact_topology(len(radius), np.array(faces), opposite, truth(edges[:, 0], edges[:, 1]))
    sources = np.array([0, 1, 1 + sectors, 1 + 2 * sectors + 3])
    out = np.empty((len(sources), len(radius)))
    exact_distances(topology, sources, out)
    expected = truth(sources[:, None], np.arange(len(radius))[None])
    # the polygonal boundary lets no straight line between two far vertices stay inside; compare where it does
    middle = 0.5 * (radius[sources][:, None] + radius[None]) * np.ones_like(out)
    inner = (radius[None] <= rings - 2) | (radius[sources][:, None] <= 1) & (middle < rings)
    assert np.allclose(out[inner], expected[inner], rtol=1e-10)
    assert (out >= expected * (1 - 1e-12)).all()


# --- odd surfaces


def test_three_pages_bound_together_are_flat_two_by_two():
    points, faces = grid(6)
    n = len(points)
    page = [np.flatnonzero(points[:, 0] > 0) for _ in range(3)]
    number = np.zeros((3, n), np.int64)
    number[:, points[:, 0] == 0] = np.arange(6)
    for k in range(3):
        number[k, page[k]] = 6 + k * len(page[k]) + np.arange(len(page[k]))
    everything = np.concatenate([number[k][faces] for k in range(3)])
    plane = np.zeros((6 + 3 * len(page[0]), 2))
    for k in range(3):
        plane[number[k]] = points
    edges, opposite, count = unique_edges(everything)
    assert count.max() == 3
    lengths = np.linalg.norm(plane[edges[:, 0]] - plane[edges[:, 1]], axis=1)
    out = np.empty((len(plane), len(plane)))
    exact_distances(exact_topology(len(plane), everything, opposite, lengths), np.arange(len(plane)), out)
    mirrored = plane * [-1, 1]
    which = np.concatenate([np.full(6, -1), np.repeat(np.arange(3), len(page[0]))])
    same = (which[:, None] == which[None]) | (which[:, None] < 0) | (which[None] < 0)
    across = np.linalg.norm(plane[:, None] - mirrored[None], axis=2)
    assert np.allclose(out, np.where(same, euclidean(plane), across), rtol=1e-11)


def test_a_window_that_is_shorter_only_in_the_middle_of_another():
    # three faces at the edge 0-1; 4 gets to 2 over face 0 1 3, or, shorter, along an edge to 5 and over face 0 1 5
    lengths = {(0, 1): 3.327, (0, 2): 2.353, (1, 2): 2.286, (0, 5): 2.083, (1, 5): 1.982, (0, 3): 1.32, (1, 3): 2.515}
    lengths |= {(1, 4): 4.491, (3, 4): 3.386, (4, 5): 2.873, (5, 6): 1.753, (4, 6): 3.657}
    faces = np.array([[0, 1, 2], [0, 1, 5], [0, 1, 3], [1, 3, 4], [4, 5, 6]])
    edges, opposite, _ = unique_edges(faces)
    out = np.empty((7, 7))
    exact_distances(
        exact_topology(7, faces, opposite, np.array([lengths[u, v] for u, v in edges.tolist()])), np.arange(7), out
    )
    assert out[5, 2] + 2.873 < 5.66
    assert out[4, 2] == pytest.approx(2.873 + out[5, 2], rel=1e-12)
    assert np.allclose(out, out.T, rtol=1e-12)


def test_bow_tie_components_and_lone_vertices():
    vertices = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [9, 9], [5, 5], [6, 5], [5, 6]], float)
    found = distances(vertices, [[0, 1, 2], [0, 3, 4], [6, 7, 8]])
    assert found[1, 3] == 2
    assert found[2, 3] == 2
    assert np.isinf(found[0, 5:]).all()
    assert np.isinf(np.delete(found[5], 5)).all()
    assert found[5, 5] == 0
    assert found[7, 8] == pytest.approx(2**0.5)


def test_flat_triangles_do_not_disturb():
    # a square cut along its diagonal; the upper half has two more vertices on it, sewn to the lower half by flat triangles
    vertices = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.25, 0.25], [0.5, 0.5]])
    faces = [[0, 1, 2], [0, 4, 3], [4, 5, 3], [5, 2, 3], [0, 2, 4], [4, 2, 5]]
    assert np.allclose(distances(vertices, faces), euclidean(vertices), atol=3e-8)


def test_coincident_vertices_do_not_disturb():
    points, faces = grid(5)
    v, twin = 12, 25  # the middle vertex, split in two: the new one takes over two neighbouring faces
    around = np.flatnonzero((faces == v).any(axis=1))
    left = [f for f in around if points[faces[f]].mean(axis=0)[0] < 2]
    moved = faces.copy()
    moved[left] = np.where(moved[left] == v, twin, moved[left])
    boundary = sorted(
        {(a, b) for f in left for a in moved[f] for b in [v] if a != twin}, key=lambda e: points[e[0]].tolist()
    )
    shared = [a for a, _ in boundary if any(a in faces[f] for f in around if f not in left)]
    moved = np.concatenate([moved, [[v, twin, a] for a in shared]])
    vertices = np.concatenate([points, points[v : v + 1]])
    found = distances(vertices, moved)
    assert found[v, twin] == 0
    assert np.allclose(found, euclidean(vertices), atol=1e-8)


def test_an_exhausted_budget_is_said(monkeypatch):
    monkeypatch.setattr(exact, "propagate_all", lambda *_: 1)
    points, faces = grid(2)
    with pytest.warns(RuntimeWarning, match="1 of 4 rows of exact distances are only upper bounds"):
        distances(points, faces)


def test_lengths_of_all_magnitudes_come_to_an_end():
    rng = np.random.default_rng(5)
    faces = np.array([[a, b, c] for a in range(6) for b in range(a + 1, 6) for c in range(b + 1, 6)])
    edges, opposite, _ = unique_edges(faces)
    for _ in range(5):
        lengths = rng.random(len(edges)) * 10.0 ** rng.integers(-8, 3, len(edges))
        out = np.empty((1, 6))
        exact_distances(exact_topology(6, faces, opposite, lengths), np.array([0]), out)
        assert np.isfinite(out).all()


def test_an_edge_longer_than_its_detour_counts_as_the_detour():
    out = np.empty((3, 3))
    edges, opposite, _ = unique_edges(np.array([[0, 1, 2]]))
    assert edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    exact_distances(exact_topology(3, np.array([[0, 1, 2]]), opposite, np.array([1.0, 5.0, 1.0])), np.arange(3), out)
    assert out.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


@st.composite
def soups(draw):
    """Any triangles between few points: several faces at an edge, flat, coincident, in pieces."""
    n = draw(st.integers(3, 10))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    faces = np.array([rng.permutation(n)[:3] for _ in range(draw(st.integers(1, 20)))])
    faces = faces[np.unique(np.sort(faces, axis=1), axis=0, return_index=True)[1]]
    vertices = rng.normal(size=(n, 3))
    vertices[:, draw(st.integers(1, 3)) :] = 0  # on a line, in a plane, in space
    if draw(st.booleans()):
        vertices = np.round(vertices)
    return vertices, faces


@settings(max_examples=150, deadline=None)
@given(soups())
def test_any_triangles_give_a_metric_between_straight_lines_and_edge_paths(soup):
    vertices, faces = soup
    found = distances(vertices, faces)
    edges, _, _ = unique_edges(faces)
    lengths = np.maximum(np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1), 1e-200)
    along = dijkstra(coo_matrix((lengths, (edges[:, 0], edges[:, 1])), shape=(len(vertices),) * 2), directed=False)
    assert (np.isinf(found) == np.isinf(along)).all()
    assert (found <= along * (1 + 1e-12) + 1e-190).all()
    assert (found >= euclidean(vertices) * (1 - 1e-9) - 1e-12).all()
    finite = np.where(np.isinf(found), 1e9, found)
    assert np.allclose(finite, finite.T, rtol=1e-7, atol=1e-7)
    assert (finite <= (finite[:, :, None] + finite[None]).min(axis=1) * (1 + 1e-7) + 1e-7).all()


def test_no_index_leaves_its_array():
    """The same odd surfaces by the interpreter, which checks bounds, in a process of its own."""
    code = (
        "import numpy as np, importlib.util as u\n"
        f"s = u.spec_from_file_location('t', {__file__!r}); t = u.module_from_spec(s); s.loader.exec_module(t)\n"
        "t.distances(*t.bumpy_sphere(60)); t.test_three_pages_bound_together_are_flat_two_by_two()\n"
        "t.test_bow_tie_components_and_lone_vertices(); t.test_flat_triangles_do_not_disturb()\n"
        "t.test_coincident_vertices_do_not_disturb(); t.test_paths_bend_at_the_boundary()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})


# --- invariances, peers


def test_symmetric_scaled_and_independent_of_order():
    vertices, faces = bumpy_sphere(300)
    found = distances(vertices, faces)
    assert np.allclose(found, found.T, rtol=1e-11)
    assert np.allclose(distances(1e-6 * vertices, faces, [0, 7]), 1e-6 * found[[0, 7]], rtol=1e-11, atol=0)
    order = np.random.default_rng(0).permutation(len(vertices))
    turned = np.where(np.arange(len(faces))[:, None] % 2, faces, faces[:, ::-1])  # mixed orientation
    shuffled = distances(vertices[order], np.argsort(order)[turned], [0, 5])
    assert np.allclose(shuffled, found[order[[0, 5]]][:, order], rtol=1e-11)


def test_threads_do_not_disturb_each_other():
    vertices, faces = bumpy_sphere(300)
    topology, out = lay_out(vertices, faces), np.empty((40, len(vertices)))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: exact_distances(topology, np.arange(k, k + 10), out[k : k + 10]), range(0, 40, 10)))
    assert (out == distances(vertices, faces, np.arange(40))).all()


@pytest.mark.parametrize("with_holes", [False, True])
def test_equal_to_an_independent_implementation(with_holes):
    peer = pytest.importorskip("pygeodesic.geodesic")
    vertices, faces = bumpy_sphere(1000)
    if with_holes:  # the stars of a few vertices, so that the boundary has no bow ties, which the peer does not cross
        faces = faces[~np.isin(faces, np.arange(0, 1000, 200)).any(axis=1)]
    kept, faces = np.unique(faces, return_inverse=True)
    vertices, faces = vertices[kept], faces.reshape(-1, 3)
    algorithm = peer.PyGeodesicAlgorithmExact(vertices, faces)
    sources = [0, 100, 400]
    truth = np.array([algorithm.geodesicDistances(np.array([s]), None)[0] for s in sources])
    assert np.allclose(distances(vertices, faces, sources), truth, rtol=1e-9)
