from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy.sparse import csgraph

from partwhole.datasets.shapes.bodies import make_body
from partwhole.mesh.decimation import farthest_points
from partwhole.mesh.surface import edge_graph

# those whose poses have styles are tested in test_styles.py
each_plan = pytest.mark.parametrize("plan", ["biped", "quadruped", "hand"])


def body_of(plan, seed=0, n_vertices=1500):
    return make_body(plan, n_vertices, seed=seed)


def signed_volume(mesh):
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    return np.einsum("mi,mi->", np.cross(a, b), c) / 6


@pytest.mark.parametrize(("seed", "n_vertices"), [(0, 1500), (1, 700), (2, 2001)])
@each_plan
def test_one_closed_manifold_of_genus_zero_with_the_vertices_asked_for(plan, seed, n_vertices):
    rest = body_of(plan, seed, n_vertices).rest
    assert rest.n_vertices == n_vertices
    assert rest.is_manifold
    assert rest.is_closed
    assert rest.n_components == 1
    assert rest.genus == 0
    assert signed_volume(rest) > 0


@each_plan
def test_triangles_are_well_shaped(plan):
    angles = np.degrees(body_of(plan).rest.corner_angles.min(axis=1))
    assert np.median(angles) > 40
    assert np.percentile(angles, 1) > 20


@each_plan
def test_weights_are_shares(plan):
    body = body_of(plan)
    assert body.weights.shape == (1500, len(body.skeleton.bones))
    assert body.weights.min() >= 0
    np.testing.assert_allclose(body.weights.sum(axis=1), 1)
    # every bone moves something
    assert np.all(body.weights.max(axis=0) > 0.25)


@each_plan
def test_poses_are_nearly_isometric(plan):
    body = body_of(plan)
    samples = farthest_points(body.rest, 150)
    above = np.triu_indices(150, 1)

    def distances(mesh):
        return csgraph.dijkstra(edge_graph(mesh), indices=samples)[:, samples][above]

    rest = distances(body.rest)
    for seed in range(4):
        pose = body.pose(seed)
        np.testing.assert_array_equal(pose.faces, body.rest.faces)
        distortion = np.abs(distances(pose) / rest - 1)
        assert np.median(distortion) < 0.04
        assert np.percentile(distortion, 95) < 0.15
        assert pose.area == pytest.approx(body.rest.area, rel=0.03)
        assert signed_volume(pose) == pytest.approx(signed_volume(body.rest), rel=0.1)


@each_plan
def test_poses_differ_and_the_seed_decides(plan):
    body = body_of(plan)
    first, again, other = body.pose(3), body.pose(np.random.default_rng(3)), body.pose(4)
    assert first.content_hash == again.content_hash
    span = np.linalg.norm(np.ptp(body.rest.vertices, axis=0))
    assert np.linalg.norm(first.vertices - other.vertices, axis=1).max() > 0.05 * span


@each_plan
def test_strength_zero_is_the_rest_pose(plan):
    body = body_of(plan)
    np.testing.assert_allclose(body.pose(5, strength=0.0).vertices, body.rest.vertices, atol=1e-12)
    calm = np.abs(body.pose(5, strength=0.1).vertices - body.rest.vertices).max()
    assert calm < np.abs(body.pose(5).vertices - body.rest.vertices).max()


@each_plan
def test_proportions_differ_and_the_seed_decides(plan):
    again = inspect.unwrap(make_body)(plan, 700, seed=1)
    assert again.rest.content_hash == body_of(plan, 1, 700).rest.content_hash
    # bones and flesh, which do not depend on the number of vertices
    bodies = again.skeleton, body_of(plan, 2, 2001).skeleton
    first, other = (np.array([bone.joint for bone in skeleton.bones]) for skeleton in bodies)
    assert np.abs(first - other).max() > 0.01 * np.ptp(first, axis=0).max()
    thick, thin = (np.array([piece.radius_start for piece in skeleton.flesh]) for skeleton in bodies)
    assert np.abs(thick / thin - 1).max() > 0.01


def test_front_and_back_differ():
    for plan in ("biped", "quadruped"):
        body = body_of(plan)
        forward = body.rest.vertices[:, 2]
        nose = body.landmarks["nose"]
        assert forward[nose] > 0.05
        assert forward.max() != pytest.approx(-forward.min(), rel=0.1)


def test_landmarks_lie_where_they_say():
    body = body_of("biped")
    x, y, z = body.rest.vertices.T
    assert x[body.landmarks["left hand"]] == pytest.approx(x.max(), abs=0.03)
    assert x[body.landmarks["right hand"]] == pytest.approx(x.min(), abs=0.03)
    assert y[body.landmarks["crown"]] == pytest.approx(y.max(), abs=0.03)
    assert z[body.landmarks["left toe"]] > z[body.landmarks["left heel"]] + 0.1


def test_repr_says_what_it_is():
    assert repr(body_of("biped")) == "Body('biped': 1500 vertices, 17 bones)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: inspect.unwrap(make_body)("table"), "plan='table' must be one of 'biped'"),
        (lambda: make_body("biped", 100), "n_vertices=100 is too few"),
        (lambda: body_of("biped").pose(0, strength=2.0), "strength=2.0 must lie"),
    ],
)
def test_nonsense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
