from __future__ import annotations

import inspect
from functools import cache

import numpy as np
import pytest

from partwhole.datasets.shapes.bodies import make_body
from partwhole.datasets.shapes.bodies.plans import PLANS
from partwhole.datasets.shapes.bodies.plans.animals import KINDS, random_proportions
from partwhole.datasets.shapes.bodies.rig import Bone, Flesh, Hinge, Skeleton, Style

X, Y = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
STYLED = sorted(set(PLANS) - {"biped", "quadruped", "hand"})
each_plan = pytest.mark.parametrize("plan", STYLED)


def body_of(plan):
    return make_body(plan, 800, seed=1)


def edge_lengths(mesh):
    return np.linalg.norm(np.diff(mesh.vertices[mesh.edges], axis=1)[:, 0], axis=1)


@each_plan
def test_one_closed_manifold_of_genus_zero(plan):
    rest = body_of(plan).rest
    assert rest.n_vertices == 800
    assert rest.is_manifold
    assert rest.is_closed
    assert rest.n_components == 1
    assert rest.genus == 0


@each_plan
def test_poses_are_nearly_isometric_and_far_from_rest(plan):
    body = body_of(plan)
    rest = edge_lengths(body.rest)
    span = np.linalg.norm(np.ptp(body.rest.vertices, axis=0))
    moves = []
    for seed in range(6):
        pose = body.pose(seed)
        ratio = edge_lengths(pose) / rest
        assert np.median(ratio) == pytest.approx(1, abs=0.02)
        assert np.percentile(np.abs(ratio - 1), 80) < 0.2
        assert pose.area == pytest.approx(body.rest.area, rel=0.08)
        moves.append(np.linalg.norm(pose.vertices - body.rest.vertices, axis=1).max() / span)
    assert max(moves) > 0.15
    assert len(set(moves)) > 1


@each_plan
def test_poses_are_decided_by_the_seed_and_strength_zero_is_rest(plan):
    body = body_of(plan)
    assert body.pose(3).content_hash == body.pose(np.random.default_rng(3)).content_hash
    np.testing.assert_allclose(body.pose(5, strength=0.0).vertices, body.rest.vertices, atol=1e-12)


@cache
def skeleton_of(plan, seed):
    return PLANS[plan](np.random.default_rng(seed))


@each_plan
def test_proportions_are_decided_by_the_seed(plan):
    first, again, other = skeleton_of(plan, 0), PLANS[plan](np.random.default_rng(0)), skeleton_of(plan, 1)
    assert first.flesh == again.flesh
    assert first.bones == again.bones
    assert first.styles == again.styles
    assert first.flesh != other.flesh


def test_a_body_is_decided_by_the_seed():
    again = inspect.unwrap(make_body)("snake", 800, seed=1)
    assert again.rest.content_hash == body_of("snake").rest.content_hash


@each_plan
def test_styles_name_bones_and_no_more_angles_than_hinges(plan):
    seen, named = set(), set()
    for seed in range(2):
        skeleton = skeleton_of(plan, seed)
        for bone in skeleton.bones:
            side, _, rest = bone.name.partition(" ")
            seen |= {bone.name, rest} if side in ("left", "right") else {bone.name}
            for style in skeleton.styles:
                assert len(style.of(bone, mirrored=False)) == len(bone.hinges)
        named |= {name for style in skeleton.styles for name in style.angles}
    # names that only some bodies have are fine, names that none has are mistakes
    assert named <= seen | {"neck", "nape", "throat"}


def test_animals_differ_widely():
    drawn = [random_proportions(np.random.default_rng(seed))[0] for seed in range(60)]
    for name in ("leg", "neck", "muzzle", "tail"):
        values = [getattr(p, name) for p in drawn]
        assert max(values) > 2 * min(values)
    assert {random_proportions(np.random.default_rng(seed))[1] for seed in range(200)} == set(KINDS)


def two_arms(*styles):
    arm = (Hinge(X, -90, 90), Hinge(Y, -90, 90))
    bones = (
        Bone("chest", None, (0.0, 0.0, 0.0), (Hinge(Y, -40, 40), Hinge(X, -40, 40))),
        Bone("left arm", "chest", (1.0, 0.0, 0.0), arm),
        Bone("right arm", "chest", (-1.0, 0.0, 0.0), arm),
    )
    flesh = tuple(Flesh(bone.name, bone.joint, bone.joint, 0.1, 0.1, 0.01) for bone in bones)
    return Skeleton(bones, flesh, {}, styles)


def test_angles_of_a_style():
    chest, left, right = two_arms().bones
    style = Style({"chest": (10.0, 5.0), "left arm": (30.0,), "arm": (7.0, 8.0)})
    assert style.of(chest, mirrored=False).tolist() == [10, 5]
    # mirrored, what bends left bends right; forward stays forward
    assert style.of(chest, mirrored=True).tolist() == [-10, 5]
    assert style.of(left, mirrored=False).tolist() == [30, 0]
    assert style.of(right, mirrored=False).tolist() == [7, 8]
    assert style.of(right, mirrored=True).tolist() == [30, 0]


def test_poses_keep_near_their_style_and_within_the_hinges():
    skeleton = two_arms(Style({"chest": (0.0, 38.0)}, noise=0.0), Style({"chest": (0.0, 90.0)}, noise=0.0, weight=0.0))
    for seed in range(10):
        pose = skeleton.random_pose(np.random.default_rng(seed), strength=1.0)
        angle = np.degrees(np.arctan2(pose.rotations[0, 2, 1], pose.rotations[0, 1, 1]))
        assert 0.6 * 38 - 1e-9 <= angle <= 38
    beyond = two_arms(Style({"chest": (0.0, 90.0)}, noise=0.0)).random_pose(np.random.default_rng(0), strength=1.0)
    assert np.degrees(np.arctan2(beyond.rotations[0, 2, 1], beyond.rotations[0, 1, 1])) == pytest.approx(40)
