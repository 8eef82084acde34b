"""Evener triangles on known surfaces."""

from __future__ import annotations

import numpy as np

from partwhole.datasets.cutting.cuts import cut_plane
from partwhole.datasets.shapes.bodies.meshing import flip_edges, relax_step
from partwhole.datasets.shapes.primitives import slivers, sphere, torus
from partwhole.mesh import Mesh


def test_flipping_makes_a_surface_delaunay():
    mesh = torus(n_vertices=600, jitter=1.0)
    flipped = Mesh(mesh.vertices, flip_edges(mesh.vertices, mesh.faces, rounds=100))
    assert flipped.is_manifold
    assert flipped.genus == 1
    opposite = np.bincount(flipped.opposite_edges.reshape(-1), weights=flipped.corner_angles.reshape(-1))
    before = np.bincount(mesh.opposite_edges.reshape(-1), weights=mesh.corner_angles.reshape(-1))
    assert np.mean(opposite > np.pi + 0.01) < 0.1 * np.mean(before > np.pi + 0.01)


def test_relaxing_turns_slivers_into_good_triangles():
    mesh = slivers(1500, surface="sphere", stretch=4.0)
    vertices, faces = mesh.vertices, mesh.faces
    for _ in range(30):
        vertices, faces = relax_step(vertices, faces)
        vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    faces = flip_edges(vertices, faces)
    better = Mesh(vertices, faces)
    assert better.is_manifold
    assert better.is_closed
    assert better.genus == 0
    assert np.median(np.degrees(better.corner_angles.min(axis=1))) > 40
    assert np.median(np.degrees(mesh.corner_angles.min(axis=1))) < 30
    assert np.all(np.einsum("mi,mi->m", better.face_normals, vertices[faces].mean(axis=1)) > 0)


def test_a_good_mesh_keeps_its_faces():
    mesh = sphere(500)
    np.testing.assert_array_equal(flip_edges(mesh.vertices, mesh.faces), mesh.faces)


def test_a_boundary_keeps_its_vertices_and_edges():
    half = cut_plane(torus(n_vertices=600, jitter=1.0), (0, 0, 0), (1, 0, 0)).part
    vertices, faces = relax_step(half.vertices, half.faces)
    better = Mesh(vertices, faces)
    assert sorted(better.boundary_edges.tolist()) == sorted(half.boundary_edges.tolist())
    moved = np.any(vertices != half.vertices, axis=1)
    assert not moved[half.boundary_vertices].any()
    assert moved.sum() == half.n_vertices - len(half.boundary_vertices)
