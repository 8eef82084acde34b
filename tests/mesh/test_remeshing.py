"""Isotropic remeshing, and boundaries cut into shorter edges."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from partwhole.criterion import wormhole_criterion
from partwhole.datasets.shapes.primitives import annulus, plane, slivers, sphere
from partwhole.geodesics import geodesic_distances
from partwhole.mesh import Mesh, refine_boundary
from partwhole.mesh.remeshing import remesh

BOW_TIE = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]], [[0, 1, 2], [0, 3, 4]])


def test_edges_come_out_as_long_as_asked():
    pytest.importorskip("pymeshlab")
    for mesh in (sphere(1000), annulus(n_vertices=900, jitter=1.0), slivers(2000)):
        length = 0.1 * np.sqrt(mesh.area / 3)
        result = remesh(mesh, length)
        assert result.is_manifold
        assert result.euler_characteristic == mesh.euler_characteristic
        assert len(result.boundary_loops) == len(mesh.boundary_loops)
        assert result.area == pytest.approx(mesh.area, rel=0.02)
        assert np.median(result.edge_lengths) == pytest.approx(length, rel=0.15)
        assert np.degrees(np.median(result.corner_angles.min(axis=1))) > 40


def test_a_surface_that_would_vanish_is_refused():
    pytest.importorskip("pymeshlab")
    with pytest.raises(ValueError, match="too long for sphere"):
        remesh(sphere(1000), 1.8)


def test_the_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymeshlab", None)
    with pytest.raises(ImportError, match='-m pip install "pymeshlab'):
        remesh(plane(50), 0.1)


@pytest.mark.parametrize(
    ("mesh", "length", "iterations", "message"),
    [
        (plane(50), 0.0, 10, "edge_length=0.0 must lie"),
        (plane(50), 9.0, 10, "edge_length=9.0 must lie"),
        (plane(50), 0.1, 0, "iterations=0 must be"),
        (BOW_TIE, 0.1, 10, "not a manifold"),
    ],
)
def test_nonsense_is_refused(mesh, length, iterations, message):
    with pytest.raises(ValueError, match=message):
        remesh(mesh, length, iterations=iterations)


@pytest.mark.parametrize("pieces", [1, 2, 5])
@pytest.mark.parametrize("mesh", [plane((4, 5)), annulus(n_vertices=80), Mesh(np.eye(3), [[2, 0, 1]])])
def test_the_surface_stays(mesh, pieces):
    refined = refine_boundary(mesh, pieces)
    assert (refined.vertices[: mesh.n_vertices] == mesh.vertices).all()
    assert refined.area == pytest.approx(mesh.area, rel=1e-12)
    assert refined.euler_characteristic == mesh.euler_characteristic
    assert refined.is_manifold
    assert len(refined.boundary_loops) == len(mesh.boundary_loops)
    assert len(refined.boundary_edges) == pieces * len(mesh.boundary_edges)
    normals = refined.face_normals @ mesh.face_normals.mean(axis=0)
    assert (normals > 0).all()
    longest = np.linalg.norm(np.diff(refined.vertices[refined.boundary_edges], axis=1), axis=2).max()
    assert longest == pytest.approx(
        np.linalg.norm(np.diff(mesh.vertices[mesh.boundary_edges], axis=1), axis=2).max() / pieces
    )


def test_a_closed_surface_is_returned_as_it_is():
    mesh = sphere(50)
    refined = refine_boundary(mesh, 4)
    assert refined.content_hash == mesh.content_hash


def test_exact_distances_stay_and_sound_criteria_guarantee_more():
    mesh = annulus(n_vertices=150)
    refined = refine_boundary(mesh, 4)
    n = mesh.n_vertices
    D, finer = geodesic_distances(mesh, method="exact"), geodesic_distances(refined, method="exact")
    np.testing.assert_allclose(finer[:n, :n], D, rtol=1e-9, atol=1e-12)
    before = wormhole_criterion(mesh, D, sound=True).mask
    after = wormhole_criterion(refined, finer, sound=True).mask[:n, :n]
    exact = wormhole_criterion(mesh, D).mask
    assert (before <= after).all()
    assert before.sum() < after.sum() <= exact.sum()


def test_no_pieces_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        refine_boundary(plane((3, 3)), 0)
