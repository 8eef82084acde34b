"""Pairs of generated bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwhole.datasets.synthetic import generated
from partwhole.datasets.synthetic.generated import BodyPoses, PartKey, WholeKey, body_pairs
from partwhole.evaluation import evaluate_map

# hands are the quickest to make
HANDS: dict[str, Any] = {"plans": "hand", "n_vertices": 500}


@pytest.mark.parametrize("recipe", ["pfaust-m", "pfaust-h", "cuts", "holes", "views", "piece"])
def test_the_ground_truth_is_exact(recipe) -> None:
    pairs = body_pairs(1, 1, recipe=recipe, wholes="all", seed=2, **HANDS)
    assert len(pairs) == 2
    for pair in pairs:
        truth = pair.ground_truth.whole_vertices
        result = evaluate_map(pair, truth, method="dijkstra")
        assert result.errors.max() == 0
        assert result.roughness == pytest.approx(1, abs=0.1)
        assert pair.whole.area == pytest.approx(1)
        assert 0.1 < pair.part.area < 1
        assert pair.part.n_components == 1
        np.testing.assert_allclose(pair.part.vertices.mean(axis=0), 0, atol=1e-12)
    # a part is a copy of a piece of the pose that it was cut from, moved, and not of the other one
    rest, own = pairs
    for pair, same in ((own, True), (rest, False)):
        there = pair.whole.vertices[pair.ground_truth.whole_vertices]
        assert np.allclose(there - there.mean(axis=0), pair.part.vertices, atol=1e-12) is same
    lifted = rest.ground_truth.whole_vertices[rest.part.faces]
    assert {tuple(face) for face in lifted} <= {tuple(face) for face in rest.whole.faces}


def test_which_wholes_a_part_has() -> None:
    def wholes_of(part: PartKey, **knobs: Any) -> list[int]:
        pairs = body_pairs(2, 2, 2, **knobs, **HANDS)
        assert all(p.body == w.body for p, w in pairs.keys)
        return [w.pose for p, w in pairs.keys if p == part]

    part = PartKey("hand", 1, 2, 0)
    assert wholes_of(part) == [0]
    assert wholes_of(part, wholes="others") == [0, 1]
    assert wholes_of(part, wholes="all") == [0, 1, 2]
    assert len(body_pairs(2, 2, 2, wholes="all", **HANDS)) == 2 * 2 * 2 * 3


def test_surfaces_recur_and_bodies_can_be_held_out() -> None:
    pairs = body_pairs(2, 2, 2, wholes="others", **HANDS)
    assert pairs.keys[0] == (PartKey("hand", 0, 1, 0), WholeKey("hand", 0, 0))
    one, two = pairs[0], pairs[1]
    assert one.part is two.part
    assert one.part.content_hash != pairs[2].part.content_hash
    assert one.whole is pairs[2].whole
    assert pairs[0] is one
    test = pairs.where(lambda part, whole: part.body == 1)
    assert {(p.body, w.body) for p, w in test.keys} == {(1, 1)}
    assert len(test) == 8


def test_the_seed_decides_and_more_of_everything_changes_nothing_before() -> None:
    few, more = body_pairs(1, 1, seed=3, **HANDS), body_pairs(2, 3, 4, seed=3, **HANDS)
    generated.kept_body.cache_clear()
    again = body_pairs(1, 1, seed=3, recipe="pfaust-m", **HANDS)
    for other in (more[0], again[0]):
        assert other.part.content_hash == few[0].part.content_hash
        assert other.whole.content_hash == few[0].whole.content_hash
        np.testing.assert_array_equal(other.ground_truth.whole_vertices, few[0].ground_truth.whole_vertices)
    assert body_pairs(1, 1, seed=4, **HANDS)[0].whole.content_hash != few[0].whole.content_hash
    # poses and parts differ from each other
    assert len({pair.part.content_hash for pair in more[:12]}) == 12


def test_nothing_is_made_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "make_body", None)
    pairs = body_pairs(100, 10, 3, plans=("biped", "quadruped"), wholes="all", seed=99)
    assert len(pairs) == 100 * 10 * 3 * 11
    assert [p.plan for p, _ in pairs.keys[:: 10 * 3 * 11]][:4] == ["biped", "quadruped"] * 2
    assert pairs.name == "100 bodies (biped, quadruped), pfaust-m"
    assert body_pairs(name="people").name == "people"


def test_poses_by_name() -> None:
    poses = BodyPoses(1, 2, seed=5, **HANDS)
    assert len(poses) == len(list(poses)) == 3
    rest, *bent = poses.values()
    assert rest.content_hash == poses.body(0).rest.content_hash
    assert [mesh.name for mesh in bent] == ["hand00-pose1", "hand00-pose2"]
    for mesh in bent:
        np.testing.assert_array_equal(mesh.faces, rest.faces)
        assert mesh.area == pytest.approx(rest.area, rel=0.02)
    assert "hand00-pose3" not in poses
    still = BodyPoses(1, 1, seed=5, strength=0.0, **HANDS)["hand00-pose1"]
    np.testing.assert_allclose(still.vertices, rest.vertices, atol=1e-9)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"n_bodies": 0}, "n_bodies=0 must be at least 1"),
        ({"poses": 0}, "poses=0 must be at least 1"),
        ({"parts_per_pose": 0}, "parts_per_pose=0 must be at least 1"),
        ({"seed": -1}, "seed=-1 must not be negative"),
        ({"plans": ()}, r"plans must be one or several of 'biped', 'quadruped', 'hand', .*, 'monster', got \(\)"),
    ],
)
def test_what_cannot_be(knobs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        body_pairs(**knobs)


def test_choices_that_are_none() -> None:
    with pytest.raises(ValueError, match="wholes must be one of 'rest', 'others', 'all', got 'some'"):
        body_pairs.__wrapped__(wholes="some")
    with pytest.raises(ValueError, match=r"recipe must be one of 'pfaust-m', .*, got 'torn'"):
        body_pairs.__wrapped__(recipe="torn")
