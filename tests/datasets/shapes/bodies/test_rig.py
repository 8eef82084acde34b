from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets.shapes.bodies.plans import PLANS
from partwhole.datasets.shapes.bodies.rig import Bone, Flesh, Hinge, Pose, Skeleton, rotation_about, skin

Z = (0.0, 0.0, 1.0)
ARM = Skeleton(
    (
        Bone("upper arm", None, (0.0, 0.0, 0.0), (Hinge(Z, -90, 90),)),
        Bone("forearm", "upper arm", (1.0, 0.0, 0.0), (Hinge(Z, 0, 150),)),
    ),
    (
        Flesh("upper arm", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 0.1, 0.1, 0.05),
        Flesh("forearm", (1.0, 0.0, 0.0), (2.0, 0.0, 0.0), 0.1, 0.1, 0.05),
    ),
    {},
)
POINTS = np.random.default_rng(0).normal(size=(50, 3))
AXIS = (1.0, -2.0, 0.5)


def hand_of(pose):
    return pose.rotations[1] @ [2.0, 0.0, 0.0] + pose.shifts[1]


def test_rotations_are_rotations():
    turn = rotation_about((1.0, 2.0, -2.0), 0.7)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(turn @ [1, 2, -2], [1, 2, -2])
    assert np.trace(turn) == pytest.approx(1 + 2 * np.cos(0.7))


def test_a_bone_carries_those_below_it():
    np.testing.assert_allclose(hand_of(ARM.bend([[90.0], [0.0]])), [0, 2, 0], atol=1e-12)
    np.testing.assert_allclose(hand_of(ARM.bend([[0.0], [90.0]])), [1, 1, 0], atol=1e-12)
    np.testing.assert_allclose(hand_of(ARM.bend([[90.0], [90.0]])), [-1, 1, 0], atol=1e-12)


def test_limbs_that_meet_are_noticed():
    assert not ARM.collides(ARM.bend([[45.0], [90.0]]))
    assert ARM.collides(ARM.bend([[0.0], [175.0]]))


def test_random_angles_keep_to_the_hinges():
    for seed in range(20):
        pose = ARM.random_pose(np.random.default_rng(seed), strength=1.0)
        upper = np.degrees(np.arctan2(pose.rotations[0, 1, 0], pose.rotations[0, 0, 0]))
        lower = np.degrees(np.arctan2(*(pose.rotations[0].T @ pose.rotations[1])[[1, 0], 0]))
        assert -90 <= upper <= 90
        assert 0 <= lower <= 150
        assert not ARM.collides(pose)


def test_a_body_that_is_never_free_keeps_its_rest_pose():
    stuck = Skeleton(ARM.bones, ARM.flesh, {})
    object.__setattr__(stuck, "collides", lambda pose: True)
    pose = stuck.random_pose(np.random.default_rng(0), strength=1.0)
    np.testing.assert_allclose(pose.rotations, np.stack([np.eye(3)] * 2))
    np.testing.assert_allclose(pose.shifts, 0)


@pytest.mark.parametrize("plan", list(PLANS))
def test_plans_are_well_formed(plan):
    skeleton = PLANS[plan](np.random.default_rng(0))
    names = [bone.name for bone in skeleton.bones]
    assert len(set(names)) == len(names)
    assert skeleton.bones[0].parent is None
    for i, bone in enumerate(skeleton.bones[1:], start=1):
        assert bone.parent in names[:i]
        assert all(hinge.low <= 0 <= hinge.high for hinge in bone.hinges)
    assert {piece.bone for piece in skeleton.flesh} == set(names)
    assert not skeleton.collides(skeleton.bend([[0.0] * len(bone.hinges) for bone in skeleton.bones]))


@pytest.mark.parametrize("plan", sorted(set(PLANS) - {"hand", "monster"}))
def test_left_and_right_are_mirror_images(plan):
    skeleton = PLANS[plan](np.random.default_rng(1))
    rng = np.random.default_rng(2)
    mirror = np.diag([-1.0, 1.0, 1.0])
    turns = {bone.name.removeprefix("left "): rng.uniform(-30, 30, len(bone.hinges)) for bone in skeleton.bones}
    angles = []
    for bone in skeleton.bones:
        in_the_middle = not bone.name.startswith(("left ", "right "))
        angles.append([0.0] * len(bone.hinges) if in_the_middle else turns[bone.name.split(" ", 1)[1]].tolist())
    pose = skeleton.bend(angles)
    for bone, i in skeleton.bone_index.items():
        if bone.startswith("left "):
            j = skeleton.bone_index["right " + bone.removeprefix("left ")]
            np.testing.assert_allclose(mirror @ pose.rotations[i] @ mirror, pose.rotations[j], atol=1e-12)
            np.testing.assert_allclose(mirror @ pose.shifts[i], pose.shifts[j], atol=1e-12)


@pytest.mark.parametrize(
    ("plan", "of_flesh", "of_pose"),
    [("biped", 104.458981, 9.107249933), ("quadruped", 36.12673326, 7.06833373), ("hand", 4.703238522, 1.017984443)],
)
def test_first_bodies_stay_what_they_are(plan, of_flesh, of_pose):
    # seeds in the documentation and in trained models' cards stand for these
    skeleton = PLANS[plan](np.random.default_rng(1))
    pose = skeleton.random_pose(np.random.default_rng(2), strength=1.0)
    assert sum(sum(piece.start) + sum(piece.end) + piece.radius_end for piece in skeleton.flesh) == pytest.approx(
        of_flesh
    )
    assert np.abs(pose.shifts).sum() == pytest.approx(of_pose)


def test_one_bone_moves_everything_rigidly():
    turn, shift = rotation_about(AXIS, 2.5), np.array([1.0, 2.0, 3.0])
    pose = Pose(turn[None], shift[None])
    np.testing.assert_allclose(skin(POINTS, np.ones((50, 1)), pose, np.array([0])), POINTS @ turn.T + shift)


def test_weights_of_one_follow_their_bone_and_bones_that_agree_move_together():
    turns = np.stack([rotation_about(AXIS, angle) for angle in (0.0, 1.5, 3.0, 4.5)])
    shifts = np.random.default_rng(1).normal(size=(4, 3))
    parents = np.array([0, 0, 1, 2])
    owner = np.arange(50) % 4
    moved = skin(POINTS, np.eye(4)[owner], Pose(turns, shifts), parents)
    np.testing.assert_allclose(moved, np.einsum("nij,nj->ni", turns[owner], POINTS) + shifts[owner], atol=1e-12)
    alike = Pose(np.repeat(turns[2:3], 4, axis=0), np.repeat(shifts[2:3], 4, axis=0))
    shares = np.random.default_rng(2).dirichlet(np.ones(4), 50)
    np.testing.assert_allclose(skin(POINTS, shares, alike, parents), POINTS @ turns[2].T + shifts[2], atol=1e-12)


def test_half_of_a_twist_is_half_the_angle():
    pose = Pose(np.stack([np.eye(3), rotation_about(AXIS, 2.0)]), np.zeros((2, 3)))
    moved = skin(POINTS, np.full((50, 2), 0.5), pose, np.array([0, 0]))
    np.testing.assert_allclose(moved, POINTS @ rotation_about(AXIS, 1.0).T, atol=1e-12)


def test_a_chain_turned_by_more_than_half_a_turn_does_not_flip():
    # 0, 100 and 200 degrees: seen from the root the last bone is nearer by the other way round
    turns = np.stack([rotation_about(AXIS, np.radians(angle)) for angle in (0, 100, 200)])
    between = np.tile([0.0, 0.5, 0.5], (50, 1))
    moved = skin(POINTS, between, Pose(turns, np.zeros((3, 3))), np.array([0, 0, 1]))
    np.testing.assert_allclose(moved, POINTS @ rotation_about(AXIS, np.radians(150)).T, atol=1e-12)
