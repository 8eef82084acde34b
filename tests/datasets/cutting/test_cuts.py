from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole.datasets.cutting.cuts import cut_balls, cut_plane, random_cuts
from partwhole.datasets.shapes.primitives import plane, sphere, torus
from partwhole.geodesics import geodesic_distances
from partwhole.mesh import Mesh

WHOLE = torus(n_vertices=1500, jitter=0.5)
BALL = sphere(40)
THREE_BALLS = Mesh(
    np.concatenate([BALL.vertices + np.array([3 * k, 0, 0]) for k in range(3)]),
    np.concatenate([BALL.faces + 40 * k for k in range(3)]),
)
RECIPES = ["pfaust-m", "pfaust-h", "cuts", "holes", "views", "piece"]
LEFT = {"cuts": (0.4, 0.8), "holes": (0.4, 0.7), "views": (0.1, 0.9), "piece": (0.1, 0.4)}


def check_ground_truth(cut):
    """The part's vertices and faces are those of the whole, and it is one manifold piece."""
    np.testing.assert_array_equal(cut.part.vertices, cut.whole.vertices[cut.vertex_map])
    assert len(set(cut.vertex_map.tolist())) == cut.part.n_vertices
    of_whole = set(map(tuple, cut.whole.faces.tolist()))
    assert set(map(tuple, cut.vertex_map[cut.part.faces].tolist())) <= of_whole
    edges_of_whole = set(map(tuple, cut.whole.edges.tolist()))
    assert set(map(tuple, np.sort(cut.vertex_map[cut.part.edges], axis=1).tolist())) <= edges_of_whole
    assert cut.part.n_components == 1
    assert cut.part.is_manifold or not cut.whole.is_manifold


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_any_plane(seed):
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=3)
    cut = cut_plane(WHOLE, [0.1, 0.0, 0.05], normal)
    check_ground_truth(cut)
    assert np.all((cut.part.vertices - [0.1, 0.0, 0.05]) @ normal >= 0)


def test_half_a_sphere():
    cut = cut_plane(sphere(4000), (0, 0, 0), (0, 0, 5))
    check_ground_truth(cut)
    assert cut.part.genus == 0
    assert len(cut.part.boundary_loops) == 1
    assert cut.area_share == pytest.approx(0.5, abs=0.02)


def test_the_largest_piece_is_kept():
    # three balls of different size, cut along their middles
    vertices = THREE_BALLS.vertices.copy()
    vertices[40:80] = (vertices[40:80] - [3, 0, 0]) * 0.5 + [3, 0, 0]
    vertices[80:] = (vertices[80:] - [6, 0, 0]) * 1.2 + [6, 0, 0]
    kept = cut_plane(Mesh(vertices, THREE_BALLS.faces), (0, 0, 0.1), (0, 0, 1))
    assert kept.vertex_map.min() >= 80


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_any_balls(seed):
    rng = np.random.default_rng(seed)
    centres = rng.choice(WHOLE.n_vertices, 3, replace=False)
    cut = cut_balls(WHOLE, centres, 0.4)
    check_ground_truth(cut)
    assert geodesic_distances(WHOLE, centres, method="dijkstra")[:, cut.vertex_map].min() > 0.4


def test_balls_of_different_sizes_and_methods():
    whole = plane((21, 21))
    cut = cut_balls(whole, [0, 440], np.array([0.2, 0.5]), method="fast_marching")
    check_ground_truth(cut)
    assert cut.part.area == pytest.approx(1 - np.pi / 4 * (0.2**2 + 0.5**2), abs=0.05)
    one = cut_balls(whole, 220, 0.3, method="exact")
    assert len(one.part.boundary_loops) == 2
    assert one.part.area == pytest.approx(1 - np.pi * 0.3**2, abs=0.06)


def test_radius_zero_removes_the_centre_alone():
    cut = cut_balls(sphere(200), [7], 0.0)
    assert sorted(set(range(200)) - set(cut.vertex_map.tolist())) == [7]


def test_vertices_that_hold_two_pieces_together_are_removed():
    # two squares of triangles share the corner 4; the plane x + y >= 0 cuts nothing else away
    left, right = plane((2, 2)), plane((2, 2))
    faces = np.concatenate([left.faces, right.faces + 4])
    vertices = np.concatenate([left.vertices - [1, 1, 0], right.vertices])
    merged = Mesh(vertices[[0, 1, 2, 3, 5, 6, 7]], np.array([0, 1, 2, 3, 3, 4, 5, 6])[faces])
    assert not merged.is_manifold
    # the whole has this point already: it stays
    assert cut_plane(merged, (-9, 0, 0), (1, 0, 0)).part.n_vertices == 7
    # without two opposite corners but the middle holds together what is left
    assert cut_balls(plane((3, 3)), [2, 6], 0.0).part.is_manifold


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_leave_what_they_say(recipe):
    for whole in (WHOLE, sphere(1200)):
        cut = random_cuts(whole, recipe, seed=1)
        check_ground_truth(cut)
        again, other = random_cuts(whole, recipe, seed=1), random_cuts(whole, recipe, seed=2)
        np.testing.assert_array_equal(cut.vertex_map, again.vertex_map)
        assert not np.array_equal(cut.vertex_map, other.vertex_map)
        scaled = random_cuts(whole.scaled(8.0), recipe, seed=1)
        np.testing.assert_array_equal(cut.vertex_map, scaled.vertex_map)
        low, high = LEFT.get(recipe, (0.2, 0.9))
        assert low <= cut.area_share <= high
        if recipe in ("pfaust-m", "pfaust-h", "holes"):
            assert len(cut.part.boundary_loops) >= 2


def test_the_balls_of_pfaust_are_as_large_as_in_the_paper():
    whole, _ = sphere(3000).to_unit_area()
    cut = random_cuts(whole, "pfaust-m", seed=0)
    centres = np.random.default_rng(0).choice(3000, size=4, replace=False)
    np.testing.assert_array_equal(cut.vertex_map, cut_balls(whole, centres, 0.16).vertex_map)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cut_plane(WHOLE, (0, 0, 0), (0, 0, 0)), "has no direction"),
        (lambda: cut_plane(WHOLE, (0, 0), (0, 0, 1)), "origin must be three"),
        (lambda: cut_plane(WHOLE, (0, 0, 0), (0, np.nan, 1)), "normal must be three"),
        (lambda: cut_plane(WHOLE, (0, 0, 9), (0, 0, 1)), "the plane left no face of torus"),
        (lambda: cut_balls(WHOLE, [], 1.0), "centres must be a list"),
        (lambda: cut_balls(WHOLE, np.array([0.5]), 1.0), "centres must be a list"),
        (lambda: cut_balls(WHOLE, [1500], 1.0), "vertices from 0 to 1499"),
        (lambda: cut_balls(WHOLE, [0], -1.0), "radius=-1.0 must not"),
        (lambda: cut_balls(WHOLE, [0], 100.0), "the balls left no face"),
        (lambda: random_cuts(THREE_BALLS, "holes"), "tries of recipe='holes'"),
        (lambda: random_cuts(THREE_BALLS, "cuts"), "tries of recipe='cuts'"),
        (lambda: random_cuts(WHOLE.scaled(0.0), "cuts"), "torus has area 0"),
        (lambda: inspect.unwrap(random_cuts)(WHOLE, "bites"), "recipe='bites' must be one of 'pfaust-m'"),
    ],
)
def test_nonsense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
