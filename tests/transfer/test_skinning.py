from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets import cut_balls
from partwhole.datasets.shapes.bodies.rig import rotation_about
from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.transfer import transfer_skinning
from partwhole.transfer.skinning import nearest_covered


@pytest.fixture(scope="module")
def posed(arm, skin):
    """A part of the arm, bent and twice as large, its vertices on the arm, and the frames of the joints before it grew."""
    turns = {"elbow": rotation_about((0, 0, 1), 0.8), "wrist": rotation_about((0, 1, 0), -0.5)}
    frames = rotated(rotation_about((1, 2, 0), 0.7)) @ skin.turned(turns)
    bent = Mesh(2 * skin.posed(arm.vertices, frames), arm.faces)
    cut = cut_balls(bent, [20, 300], 1.2)
    return cut.part, cut.vertex_map, frames


def rotated(R: np.ndarray) -> np.ndarray:
    frame = np.eye(4)
    frame[:3, :3] = R
    return frame


def test_weights_and_joints_are_those_of_the_arm(arm, skin, posed):
    part, vertex_map, frames = posed
    found = transfer_skinning(skin, arm, part, BarycentricMap.at_vertices(vertex_map))
    assert abs(found.skin.weights - skin.weights[vertex_map]).max() < 1e-12
    away = np.linalg.norm(found.skin.joints - 2 * frames[:, :3, 3], axis=1) / part.area**0.5
    assert found.seen.tolist() == [True, True, True, False]
    assert away.max() < 0.01
    assert found.error / part.area**0.5 < 2e-3
    assert not found.filled.any()
    assert repr(found).endswith("3 joints seen, 0 vertices filled)")


def test_posed_with_the_carried_skeleton_the_part_is_where_the_arm_is(arm, skin, posed):
    part, vertex_map, frames = posed
    found = transfer_skinning(skin, arm, part, BarycentricMap.at_vertices(vertex_map), scale=2.0)
    # back to the pose of rest, each joint by its own motion
    large = np.diag([2.0, 2, 2, 1])
    motions = large @ skin.rest @ np.linalg.inv(frames) @ np.linalg.inv(large)
    moved = found.skin.posed(part.vertices, motions @ found.skin.rest)
    away = np.linalg.norm(moved - 2 * arm.vertices[vertex_map], axis=1) / part.area**0.5
    assert away.mean() < 0.01


def test_what_is_not_covered_follows_the_nearest_and_is_told(arm, skin, posed):
    part, vertex_map, _ = posed
    covered = np.ones(part.n_vertices, bool)
    covered[:40] = False
    found = transfer_skinning(skin, arm, part, BarycentricMap.at_vertices(vertex_map, covered))
    np.testing.assert_array_equal(found.filled, ~covered)
    np.testing.assert_allclose(np.asarray(found.skin.weights.sum(axis=1)).reshape(-1), 1)
    source = nearest_covered(part, covered)
    assert abs(found.skin.weights[:40] - skin.weights[vertex_map[source[:40]]]).max() < 1e-12


def test_joints_without_followers_keep_their_place_on_the_one_above(arm, skin):
    part, vertex_map = arm.submesh(arm.vertices[:, 0] > -0.5)
    found = transfer_skinning(skin, arm, part, BarycentricMap.at_vertices(vertex_map))
    assert found.seen.tolist() == [False, True, True, False]
    np.testing.assert_allclose(found.skin.joints, skin.joints, atol=1e-6)


@pytest.mark.parametrize(("share", "seen"), [(0.03, False), (0.08, True)])
def test_a_joint_is_seen_from_a_twentieth_of_what_follows_it(arm, skin, share: float, seen: bool) -> None:
    follows = arm.vertex_areas * skin.weights[:, 2].toarray().reshape(-1) ** 2
    order = np.argsort(arm.vertices[:, 0], kind="stable")
    covered = np.zeros(arm.n_vertices, bool)
    covered[order] = np.cumsum(follows[order]) < share * follows.sum()
    found = transfer_skinning(skin, arm, arm, BarycentricMap.at_vertices(range(arm.n_vertices), covered))
    assert found.seen.tolist() == [True, True, seen, False]


def test_a_piece_without_covered_vertices_takes_the_nearest_through_space():
    pieces = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [5, 0, 0], [6, 0, 0], [5, 1, 0]], [[0, 1, 2], [3, 4, 5]])
    covered = np.array([True, True, False, False, False, False])
    assert nearest_covered(pieces, covered).tolist() == [0, 1, 0, 1, 1, 1]


def test_what_is_refused(arm, skin, posed):
    part, vertex_map, _ = posed
    places = BarycentricMap.at_vertices(vertex_map)
    for call, said in (
        (lambda: transfer_skinning(skin, part, part, places), "skin has 600 vertices"),
        (lambda: transfer_skinning(skin, arm, arm, places), "places has"),
        (lambda: transfer_skinning(skin, arm, part, places.only(np.zeros(len(places), bool))), "no vertex of"),
        (lambda: transfer_skinning(skin, arm, part, places, scale=0.0), "scale=0.0 must be a positive number"),
        (lambda: skin.turned({"tail": np.eye(3)}), "turns names tail, which are not joints"),
    ):
        with pytest.raises(ValueError, match=said):
            call()


def test_the_surfaces_may_be_arrays(arm, skin, posed):
    part, vertex_map, _ = posed
    places = BarycentricMap.at_vertices(vertex_map)
    found = transfer_skinning(skin, (arm.vertices, arm.faces), (part.vertices, part.faces), places)
    assert found.error == transfer_skinning(skin, arm, part, places).error
