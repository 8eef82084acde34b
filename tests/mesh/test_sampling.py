from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

from partwhole.datasets.shapes.primitives import annulus, plane, sphere, torus
from partwhole.mesh import Mesh
from partwhole.mesh.decimation import farthest_points
from partwhole.mesh.surface import edge_graph


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
