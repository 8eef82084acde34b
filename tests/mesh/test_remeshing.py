from __future__ import annotations

import sys

import numpy as np
import pytest

from partwhole.datasets.shapes.primitives import annulus, plane, slivers, sphere
from partwhole.mesh import Mesh
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
