"""The steps that distances are made of: intrinsic flips keep the surface, obtuse corners are split."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets.shapes.primitives import plane, slivers, sphere
from partwhole.geodesics.cpu.fast_marching import delaunay_flips, update_triangles
from partwhole.geodesics.distances import bundles_of, face_neighbours, front_stencil, graph_stencil
from partwhole.mesh import Mesh
from partwhole.mesh.surface import edge_graph


def flipped(mesh: Mesh):
    faces, sides = mesh.faces.copy(), mesh.edge_lengths[mesh.opposite_edges]
    across = face_neighbours(mesh)
    flips = delaunay_flips(faces, sides, *across)
    return faces, sides, across, flips


def angles(sides: np.ndarray) -> np.ndarray:
    a, b, c = sides, np.roll(sides, -1, axis=1), np.roll(sides, -2, axis=1)
    return np.arccos(np.clip((b**2 + c**2 - a**2) / (2 * b * c), -1, 1))


@pytest.mark.parametrize("surface", ["plane", "sphere"])
def test_flips_end_with_a_delaunay_triangulation_of_the_same_surface(surface):
    mesh = slivers(600, surface=surface)
    faces, sides, (face, corner), flips = flipped(mesh)
    assert flips > 100
    area = 0.5 * sides[:, 1] * sides[:, 2] * np.sin(angles(sides)[:, 0])
    assert area.sum() == pytest.approx(mesh.area, rel=1e-9)
    inner = face >= 0
    opposite = angles(sides) + np.where(inner, angles(sides)[face, corner], 0)
    repeated = np.array([len(set(triple)) < 3 for triple in faces.tolist()])
    assert (opposite[inner & ~repeated[:, None]] <= np.pi + 1e-6).mean() > 0.999
    # neighbours know each other
    f, i = np.nonzero(inner)
    assert (face[face[f, i], corner[f, i]] == f).all()
    assert (corner[face[f, i], corner[f, i]] == i).all()
    np.testing.assert_allclose(sides[f, i], sides[face[f, i], corner[f, i]])


def test_new_edges_in_the_plane_are_straight():
    mesh = slivers(400, surface="plane")
    faces, sides, _, _ = flipped(mesh)
    line = np.linalg.norm(mesh.vertices[np.roll(faces, -1, 1)] - mesh.vertices[np.roll(faces, -2, 1)], axis=2)
    np.testing.assert_allclose(sides, line, atol=1e-9)


def test_obtuse_corners_are_split_and_stay_flat():
    mesh = slivers(400, surface="plane")
    faces, sides, across, _ = flipped(mesh)
    triples, lengths = update_triangles(faces, sides, *across, 8)
    assert len(triples) > 3 * mesh.n_faces
    p = mesh.vertices[triples]
    np.testing.assert_allclose(lengths[:, 0], np.linalg.norm(p[:, 1] - p[:, 2], axis=1), atol=1e-9)
    np.testing.assert_allclose(lengths[:, 2], np.linalg.norm(p[:, 0] - p[:, 1], axis=1), atol=1e-9)
    before, after = angles(sides), angles(lengths)[:, 0]
    assert (after > np.pi / 2).mean() < 0.5 * (before > np.pi / 2).mean()


def test_graph_steps_are_the_edges_both_ways():
    mesh = plane((4, 5))
    steps = graph_stencil(mesh, mesh.edge_lengths)
    assert len(steps.segment_from) == 2 * len(mesh.edges)
    assert len(steps.triangle_from) == 0
    pairs = {(v, int(u)) for v in range(20) for u in steps.segment_from[slice(*steps.segment_start[v : v + 2])]}
    assert pairs == {tuple(e) for e in mesh.edges.tolist()} | {tuple(e[::-1]) for e in mesh.edges.tolist()}


def test_front_steps_contain_the_edges():
    mesh = sphere(200)
    steps = front_stencil(mesh, mesh.edge_lengths)
    edges = graph_stencil(mesh, mesh.edge_lengths)
    for v in range(200):
        mine = set(steps.segment_from[slice(*steps.segment_start[v : v + 2])].tolist())
        assert set(edges.segment_from[slice(*edges.segment_start[v : v + 2])].tolist()) <= mine


def test_bundles_hold_every_source_once():
    mesh = sphere(101)
    bundles = bundles_of(edge_graph(mesh), np.arange(101), 16)
    assert max(map(len, bundles)) <= 16
    assert len(bundles) == 7
    assert sorted(np.concatenate(bundles).tolist()) == list(range(101))
