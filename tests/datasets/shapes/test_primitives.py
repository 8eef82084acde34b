from __future__ import annotations

import inspect

import numpy as np
import pytest

from partwhole.datasets.shapes import primitives as shapes

EVERY = [
    ("plane", shapes.plane, {}, 1, 1, 1.0),
    ("annulus", shapes.annulus, {"inner": 0.5, "outer": 2.0}, 0, 2, np.pi * 3.75),
    ("sphere", shapes.sphere, {"radius": 2.0}, 2, 0, 16 * np.pi),
    ("cap", shapes.sphere_cap, {"angle": 1.0}, 1, 1, 2 * np.pi * (1 - np.cos(1.0))),
    ("wide cap", shapes.sphere_cap, {"angle": 2.5, "radius": 3.0}, 1, 1, 18 * np.pi * (1 - np.cos(2.5))),
    ("tube", shapes.cylinder, {"radius": 0.5, "height": 3.0}, 0, 2, 3 * np.pi),
    ("can", shapes.cylinder, {"radius": 0.5, "height": 3.0, "closed": True}, 2, 0, 3.5 * np.pi),
    ("torus", shapes.torus, {"major": 2.0, "minor": 0.5}, 0, 0, 4 * np.pi**2),
    ("slivers", shapes.slivers, {}, 1, 1, 1.0),
    ("sphere of slivers", shapes.slivers, {"surface": "sphere"}, 2, 0, 4 * np.pi),
]
each_shape = pytest.mark.parametrize(
    ("make", "options", "euler", "loops", "area"), [row[1:] for row in EVERY], ids=[row[0] for row in EVERY]
)


def signed_volume(mesh):
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    return np.einsum("mi,mi->", np.cross(a, b), c) / 6


def is_consistently_oriented(mesh):
    directed = mesh.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    return len(np.unique(directed, axis=0)) == len(directed)


@pytest.mark.parametrize("jitter", [0.0, 1.0])
@each_shape
def test_topology_area_and_exact_vertex_count(make, options, euler, loops, area, jitter):
    for n in (101, 4000):
        mesh = make(n_vertices=n, jitter=jitter, seed=3, **options)
        assert mesh.n_vertices == n
        assert mesh.is_manifold
        assert mesh.n_components == 1
        assert mesh.euler_characteristic == euler
        assert len(mesh.boundary_loops) == loops
        assert is_consistently_oriented(mesh)
    assert mesh.area == pytest.approx(area, rel=0.02)


@each_shape
def test_the_seed_decides_the_jitter(make, options, euler, loops, area):
    first, again, other = (make(n_vertices=300, jitter=0.7, seed=seed, **options) for seed in (5, 5, 6))
    assert first.content_hash == again.content_hash
    assert first.content_hash != other.content_hash


@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_flat_pieces_have_no_overlap_and_look_up(jitter):
    for mesh in (
        shapes.plane(800, width=2.0, height=3.0, jitter=jitter),
        shapes.annulus(1.0, 2.0, 800, jitter=jitter),
        shapes.slivers(800, jitter=jitter),
    ):
        assert np.all(mesh.face_normals[:, 2] > 0.999)
    assert shapes.plane(800, width=2.0, height=3.0, jitter=jitter).area == pytest.approx(6.0, rel=1e-12)


def test_solids_look_outwards():
    assert signed_volume(shapes.sphere(3000, 2.0)) == pytest.approx(32 / 3 * np.pi, rel=0.01)
    assert signed_volume(shapes.cylinder(1.0, 2.0, 3000, closed=True)) == pytest.approx(2 * np.pi, rel=0.01)
    assert signed_volume(shapes.torus(1.0, 0.4, 3000)) == pytest.approx(2 * np.pi**2 * 0.16, rel=0.02)
    cap, tube = shapes.sphere_cap(500, 1.2), shapes.cylinder(n_vertices=500)
    assert np.all(np.einsum("mi,mi->m", cap.vertex_normals, cap.vertices) > 0.9)
    assert np.all(np.einsum("mi,mi->m", tube.vertex_normals[:, :2], tube.vertices[:, :2]) > 0.9)


def test_vertices_lie_on_the_ideal_surface_and_boundaries_on_the_boundary():
    ring = shapes.annulus(1.0, 2.0, 700, jitter=1.0)
    radius = np.linalg.norm(ring.vertices[ring.boundary_vertices], axis=1)
    assert np.all(np.isclose(radius, 1) | np.isclose(radius, 2))
    cap = shapes.sphere_cap(700, 1.1, radius=2.0, jitter=1.0)
    np.testing.assert_allclose(np.linalg.norm(cap.vertices, axis=1), 2.0)
    np.testing.assert_allclose(cap.vertices[cap.boundary_vertices, 2], 2 * np.cos(1.1))
    ring = shapes.torus(1.0, 0.4, 700, jitter=1.0)
    np.testing.assert_allclose(np.hypot(np.linalg.norm(ring.vertices[:, :2], axis=1) - 1, ring.vertices[:, 2]), 0.4)


def test_a_pair_asks_for_a_regular_grid():
    mesh = shapes.plane((4, 6), width=5.0, height=3.0)
    assert mesh.n_vertices == 24
    grid = np.stack(np.meshgrid(np.arange(6), np.arange(4)), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(mesh.vertices[:, :2], grid)


def test_triangles_are_well_shaped_without_jitter():
    for make, options in [(row[1], row[2]) for row in EVERY[:8]]:
        assert np.degrees(make(n_vertices=2000, **options).corner_angles).min() > 25


@pytest.mark.parametrize("surface", ["plane", "sphere"])
def test_slivers_are_slivers(surface):
    mesh = shapes.slivers(4000, surface=surface, stretch=12.0)
    assert np.mean(np.degrees(mesh.corner_angles.max(axis=1)) > 150) > 0.4


@pytest.mark.parametrize("n", [4, 5, 6, 7, 8, 9, 10, 11, 13, 20])
def test_the_smallest_shapes(n):
    least = {
        shapes.plane: 4,
        shapes.sphere: 4,
        shapes.sphere_cap: 4,
        shapes.annulus: 6,
        shapes.cylinder: 6,
        shapes.torus: 9,
    }
    for make, smallest in least.items():
        if n >= smallest:
            mesh = make(n_vertices=n)
            assert mesh.n_vertices == n
            assert mesh.is_manifold
    if n >= 8:
        assert shapes.cylinder(n_vertices=n, closed=True).is_closed


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shapes.plane(3), "n_vertices=3 is too few"),
        (lambda: shapes.plane((1, 5)), "2 rows"),
        (lambda: shapes.plane(10, width=0), "width=0 must be a positive"),
        (lambda: shapes.plane(10, jitter=2), "jitter=2 must lie"),
        (lambda: shapes.annulus(2.0, 1.0), "inner=2.0 must be smaller"),
        (lambda: shapes.sphere(10, float("nan")), "radius=nan must be a positive"),
        (lambda: shapes.sphere_cap(10, 4.0), "angle=4.0 must lie"),
        (lambda: shapes.torus(1.0, 1.5), "minor=1.5 must be smaller"),
        (lambda: inspect.unwrap(shapes.slivers)(surface="cube"), "surface='cube' must be"),
        (lambda: shapes.slivers(stretch=0.5), "stretch=0.5 must lie"),
    ],
)
def test_nonsense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
