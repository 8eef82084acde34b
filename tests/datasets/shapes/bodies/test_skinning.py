from __future__ import annotations

import numpy as np

from partwhole.datasets.shapes.bodies.skeleton import Pose, rotation_about
from partwhole.datasets.shapes.bodies.skinning import skin

POINTS = np.random.default_rng(0).normal(size=(50, 3))
AXIS = (1.0, -2.0, 0.5)


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
