"""Fewer vertices, same surface; and vertices spread evenly over it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

from partwhole.datasets.shapes.primitives import annulus, cylinder, plane, slivers, sphere, torus
from partwhole.mesh import Mesh
from partwhole.mesh.decimation import decimate, farthest_points
from partwhole.mesh.surface import edge_graph

SURFACES = [
    plane(900, jitter=1.0),
    annulus(n_vertices=900),
    sphere(900, jitter=1.0),
    cylinder(n_vertices=900),
    cylinder(n_vertices=900, closed=True),
    torus(n_vertices=900, jitter=0.5),
    slivers(900),
]


def with_holes(seed):
    """A sphere from which many random vertices are gone."""
    whole = sphere(600, jitter=0.5, seed=seed)
    keep = np.random.default_rng(seed).random(600) > 0.06
    part, _ = whole.submesh(keep)
    return part.largest_component()[0]


@pytest.mark.parametrize("keep_boundary", [True, False])
@pytest.mark.parametrize("mesh", SURFACES, ids=lambda mesh: mesh.name)
def test_topology_and_shape_are_kept(mesh, keep_boundary):
    result = decimate(mesh, 300, keep_boundary=keep_boundary).mesh
    assert result.n_vertices == 300
    assert result.is_manifold
    assert result.n_components == 1
    assert result.euler_characteristic == mesh.euler_characteristic
    assert len(result.boundary_loops) == len(mesh.boundary_loops)
    assert result.area == pytest.approx(mesh.area, rel=0.04)


@pytest.mark.parametrize("keep_boundary", [True, False])
@pytest.mark.parametrize("mesh", SURFACES, ids=lambda mesh: mesh.name)
def test_as_few_vertices_as_the_topology_allows(mesh, keep_boundary):
    result = decimate(mesh, 3, keep_boundary=keep_boundary).mesh
    assert result.is_manifold
    assert result.euler_characteristic == mesh.euler_characteristic
    assert len(result.boundary_loops) == len(mesh.boundary_loops)
    assert result.n_vertices < 30 or keep_boundary


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), target=st.integers(50, 500))
def test_every_loop_of_a_torn_surface_is_kept(seed, target):
    mesh = with_holes(seed)
    result = decimate(mesh, target)
    boundary = set(map(tuple, mesh.boundary_edges.tolist()))
    assert set(map(tuple, result.to_fine[result.mesh.boundary_edges].tolist())) == boundary
    assert result.mesh.euler_characteristic == mesh.euler_characteristic
    if mesh.is_manifold:
        simplified = decimate(mesh, target, keep_boundary=False).mesh
        assert simplified.is_manifold
        assert len(simplified.boundary_loops) == len(mesh.boundary_loops)


def test_correspondence_both_ways():
    mesh = torus(n_vertices=800, jitter=0.5)
    result = decimate(mesh, 150)
    np.testing.assert_array_equal(result.mesh.vertices, mesh.vertices[result.to_fine])
    np.testing.assert_array_equal(result.to_coarse[result.to_fine], np.arange(150))
    distances = csgraph.dijkstra(edge_graph(mesh), indices=result.to_fine)
    np.testing.assert_allclose(distances[result.to_coarse, np.arange(800)], distances.min(axis=0))


def test_orientation_is_kept():
    mesh = decimate(sphere(2000), 100).mesh
    assert np.all(np.einsum("ni,ni->n", mesh.vertex_normals, mesh.vertices) > 0.9)


def test_a_flat_surface_stays_flat_and_covered():
    for keep_boundary in (True, False):
        result = decimate(plane(1500, jitter=1.0), 200, keep_boundary=keep_boundary).mesh
        assert np.all(result.face_normals[:, 2] > 0.999)
        assert result.area == pytest.approx(1.0, rel=0.01)


def test_the_boundary_may_be_simplified_along_itself():
    mesh = plane((30, 30))
    result = decimate(mesh, 60, keep_boundary=False)
    assert len(result.mesh.boundary_vertices) < 116
    corners = mesh.vertices[result.to_fine[result.mesh.boundary_vertices]][:, :2]
    assert np.all((corners == 0) | (corners == 1), axis=1).sum() == 4
    assert np.all(np.isin(result.to_fine[result.mesh.boundary_vertices], mesh.boundary_vertices))


def test_more_vertices_than_there_are_changes_nothing():
    mesh = plane(50)
    result = decimate(mesh, 50)
    assert result.mesh is mesh
    np.testing.assert_array_equal(result.to_coarse, np.arange(50))
    np.testing.assert_array_equal(result.to_fine, np.arange(50))


def test_scale_and_place_do_not_matter():
    mesh = torus(n_vertices=600, jitter=0.3)
    moved = Mesh(mesh.vertices * 1024 + 4096, mesh.faces)
    np.testing.assert_array_equal(decimate(mesh, 200).to_fine, decimate(moved, 200).to_fine)
    tiny = Mesh(mesh.vertices * 2.0**-60, mesh.faces)
    np.testing.assert_array_equal(decimate(mesh, 200).to_fine, decimate(tiny, 200).to_fine)


def test_components_and_vertices_without_faces():
    ball = sphere(300)
    vertices = np.concatenate([ball.vertices, ball.vertices + np.array([5, 0, 0]), [[5, 0, 3], [-9, 0, 0]]])
    mesh = Mesh(vertices, np.concatenate([ball.faces, ball.faces + 300]))
    result = decimate(mesh, 8)
    assert result.mesh.n_components == 2
    assert result.mesh.n_vertices == 8
    assert np.all(mesh.component_labels[result.to_fine[result.to_coarse[:600]]] == mesh.component_labels[:600])
    assert result.to_fine[result.to_coarse[600]] >= 300
    assert result.to_fine[result.to_coarse[601]] < 300


def test_three_sheets_at_one_edge_stay_together():
    sheet = plane((8, 8))
    turned = sheet.vertices[:, [0, 2, 1]]
    below = sheet.vertices * [1, -1, 1]
    # the sheets share the vertices at y = z = 0, the first eight of each
    renumber = np.arange(64)
    faces = [sheet.faces]
    for k in (1, 2):
        shifted = np.where(renumber < 8, renumber, renumber + 56 * k)
        faces.append(shifted[sheet.faces])
    mesh = Mesh(np.concatenate([sheet.vertices, turned[8:], below[8:]]), np.concatenate(faces))
    assert (mesh.faces_per_edge == 3).sum() == 7
    result = decimate(mesh, 10, keep_boundary=False).mesh
    assert (result.faces_per_edge == 3).sum() == 7
    assert result.euler_characteristic == mesh.euler_characteristic


def test_triangles_without_area():
    grid = plane((12, 12))
    flat = grid.vertices.copy()
    flat[:, 1] = np.round(flat[:, 1] * 5) / 5  # rows fall together: a third of the triangles has no area
    mesh = Mesh(flat, grid.faces)
    assert (mesh.face_areas == 0).any()
    assert decimate(mesh, 60).mesh.euler_characteristic == 1
    point = Mesh(np.zeros((144, 3)), grid.faces)
    assert decimate(point, 60).mesh.euler_characteristic == 1


@settings(max_examples=40)
@given(data=st.data())
def test_any_soup_of_triangles_gives_a_valid_surface(data):
    n = data.draw(st.integers(4, 12))
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    faces = {tuple(sorted(rng.choice(n, 3, replace=False).tolist())) for _ in range(data.draw(st.integers(1, 30)))}
    mesh = Mesh(rng.integers(-2, 3, (n, 3)), np.array(sorted(faces)))
    result = decimate(mesh, 3, keep_boundary=data.draw(st.booleans()))
    assert result.mesh.n_vertices >= 3
    assert len(result.to_coarse) == n


def test_too_few_is_refused():
    with pytest.raises(ValueError, match="n_vertices=2 is too few"):
        decimate(plane(50), 2)


def test_a_vertex_with_very_many_triangles_stays():
    # two cones of 20 000 triangles: minutes, if every step looked at all the triangles at the tips
    turn = np.linspace(0, 2 * np.pi, 20_000, endpoint=False)
    boundary = np.arange(20_000)
    points = np.concatenate([np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1), [[0, 0, 1], [0, 0, -1]]])
    upper = np.stack([boundary, np.roll(boundary, -1), np.full_like(boundary, 20_000)], axis=1)
    lower = np.stack([np.roll(boundary, -1), boundary, np.full_like(boundary, 20_001)], axis=1)
    result = decimate(Mesh(points, np.concatenate([upper, lower])), 500)
    assert result.mesh.n_vertices == 500
    assert {20_000, 20_001} <= set(result.to_fine.tolist())
    assert result.mesh.is_closed
    assert result.mesh.is_manifold


def by_definition(mesh, count, first):
    distances = csgraph.dijkstra(edge_graph(mesh))
    chosen = [first]
    while len(chosen) < count:
        nearest = distances[chosen].min(axis=0)
        nearest[chosen] = -1
        chosen.append(int(nearest.argmax()))
    return chosen


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), count=st.integers(1, 40))
def test_each_sample_is_the_farthest_from_those_before(seed, count):
    mesh = annulus(n_vertices=150, jitter=0.8, seed=seed)
    first = seed % mesh.n_vertices
    assert farthest_points(mesh, count, first=first).tolist() == by_definition(mesh, count, first)


def test_samples_are_spread_evenly():
    mesh = torus(n_vertices=4000, jitter=0.5)
    samples = farthest_points(mesh, 200)
    between = csgraph.dijkstra(edge_graph(mesh), indices=samples)
    covering = between.min(axis=0).max()
    apart = (between[:, samples] + np.where(np.eye(200), np.inf, 0)).min()
    assert apart >= covering


def test_every_component_gets_a_sample_first():
    pieces = [sphere(100).vertices + np.array([4 * k, 0, 0]) for k in range(3)]
    faces = [sphere(100).faces + 100 * k for k in range(3)]
    mesh = Mesh(np.concatenate(pieces), np.concatenate(faces))
    for seed in range(5):
        assert len(set(mesh.component_labels[farthest_points(mesh, 3, seed=seed)])) == 3


def test_all_vertices_once_and_vertices_without_faces_never():
    grid = plane((4, 5))
    mesh = Mesh(np.concatenate([[[9, 9, 9]], grid.vertices, [[5, 5, 5]]]), grid.faces + 1)
    assert sorted(farthest_points(mesh, 20)) == list(range(1, 21))


def test_coinciding_vertices_are_chosen_once_each():
    mesh = Mesh([[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [1, 3, 2]])
    assert sorted(farthest_points(mesh, 4, first=2)) == [0, 1, 2, 3]


def test_the_seed_decides():
    mesh = sphere(300)
    np.testing.assert_array_equal(farthest_points(mesh, 9, seed=4), farthest_points(mesh, 9, seed=4))
    assert len({int(farthest_points(mesh, 1, seed=seed)[0]) for seed in range(10)}) > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [({"count": 0}, "count=0 must lie"), ({"count": 13}, "between 1 and 12"), ({"count": 2, "first": 12}, "first=12")],
)
def test_nonsense_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        farthest_points(plane((3, 4)), **options)
