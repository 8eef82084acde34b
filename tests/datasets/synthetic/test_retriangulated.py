"""Pairs whose part and whole never share a triangulation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwhole.datasets import cut_plane, make_body, sphere
from partwhole.datasets.shapes.faces import Faces
from partwhole.datasets.shapes.people import FILE, People
from partwhole.datasets.shapes.people_poses import NEEDED
from partwhole.datasets.synthetic import posed
from partwhole.datasets.synthetic.generated import PartKey, WholeKey
from partwhole.datasets.synthetic.retriangulated import (
    face_pairs,
    people_pairs,
    retriangulated_body_pairs,
    thing_pairs,
)
from partwhole.evaluation import evaluate_map

KNOBS: dict[str, Any] = {"n_vertices": (400, 600), "triangulations": 4, "recipe": "pfaust-m"}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> People:
    """Three people of different girth who can turn their heads, knees and shoulders: each vertex hangs on one bone."""
    body = make_body("biped", 1500, seed=1)
    rest = body.rest.vertices
    top, bottom = rest[:, 1].max(), rest[:, 1].min()
    heads = np.tile([0.0, (top + bottom) / 2, 0.0], (len(NEEDED), 1))
    for side, sign in (("L", 1), ("R", -1)):
        for bone, point in {
            "upperarm01": (0.2, 1.35, 0),
            "lowerarm01": (0.4, 1.15, 0.0),
            "wrist": (0.55, 1.0, 0.05),
            "lowerleg01": (0.1, 0.48, 0),
        }.items():
            heads[NEEDED.index(f"{bone}.{side}")] = [sign * point[0], point[1], point[2]]
    bones = np.full(len(rest), NEEDED.index("root"))
    for side, sign in (("L", 1), ("R", -1)):
        bones[(rest[:, 1] < 0.48) & (sign * rest[:, 0] > 0)] = NEEDED.index(f"lowerleg01.{side}")
    girths = np.array([[1, 1, 1], [1.2, 1, 1.2], [0.9, 1.05, 0.9]])
    folder = tmp_path_factory.mktemp("people")
    np.savez(
        folder / FILE,
        rest=rest * girths[:, None],
        faces=body.rest.faces,
        heads=heads * girths[:, None],
        parents=np.array([-1] + [0] * (len(NEEDED) - 1)),
        order=np.arange(len(NEEDED)),
        bone_names=np.array(NEEDED),
        weights_indptr=np.arange(len(rest) + 1),
        weights_indices=bones,
        weights_data=np.ones(len(rest)),
    )
    return People(folder)


def test_the_ground_truth_is_the_same_point_of_everyone(people: People) -> None:
    pairs = people_pairs(people, 2, 1, wholes_per_part=2, same_person=0.3, **KNOBS)
    assert len(pairs) == 3 * 2 * 2
    seen = set()
    for pair, (of_part, of_whole) in zip(pairs, pairs.keys, strict=True):
        assert of_part[:3] != of_whole
        seen.add(of_part.body == of_whole.body)
        truth = pair.ground_truth
        assert truth is not None
        assert truth.kind == "barycentric"
        assert len(truth) == pair.part.n_vertices
        assert pair.whole.area == pytest.approx(1)
        assert 0.1 < pair.part.area < 1
        assert 400 <= pair.whole.n_vertices <= 600
        np.testing.assert_allclose(pair.part.vertices.mean(axis=0), 0, atol=1e-12)
        # neighbours stay neighbours, and the truth read as a vertex map is off by less than an edge
        found = evaluate_map(pair, pair.rounded().ground_truth.whole_vertices, method="dijkstra")
        assert found.errors.mean() < pair.whole.edge_lengths.mean()
    assert seen == {True, False}


def test_at_rest_the_truth_lies_where_the_part_lies(people: People) -> None:
    """The same person, unposed and unturned: part and whole are one surface, up to the sagitta of the triangles."""
    pairs = people_pairs(people, 1, which=[1], strength=0.0, yaw=0.0, **KNOBS)
    (pair,) = pairs
    there = pair.ground_truth.points(pair.whole.vertices)
    there -= there.mean(axis=0)
    # each triangulation is scaled to area 1, so that coarse ones come out a little larger
    growth = (there * pair.part.vertices).sum() / (there * there).sum()
    assert growth == pytest.approx(1, abs=0.06)
    away = np.linalg.norm(pair.part.vertices - growth * there, axis=1)
    assert np.median(away) < 0.15 * pair.whole.edge_lengths.mean()
    assert away.max() < 2 * pair.whole.edge_lengths.mean()


def test_headings_turn_about_the_vertical(people: People) -> None:
    still, turned = (people_pairs(people, 1, yaw=yaw, **KNOBS)[0] for yaw in (0.0, 180.0))
    for one, two in ((still.part, turned.part), (still.whole, turned.whole)):
        np.testing.assert_allclose(one.vertices[:, 1], two.vertices[:, 1], atol=1e-12)
        np.testing.assert_allclose(*(np.linalg.norm(m.vertices[:, [0, 2]], axis=1) for m in (one, two)), atol=1e-12)
        assert np.abs(one.vertices - two.vertices).max() > 0.01


def test_part_and_whole_never_share_triangles(people: People) -> None:
    pairs = people_pairs(people, 2, same_person=1.0, yaw=0.0, **KNOBS)
    sizes = {pair.whole.n_vertices for pair in pairs}
    assert len(sizes) > 1
    for pair in pairs:
        corners = pair.rounded().ground_truth.whole_vertices
        lifted = {frozenset(face) for face in corners[pair.part.faces].tolist()}
        shared = lifted & {frozenset(face) for face in pair.whole.faces.tolist()}
        assert len(shared) < 0.6 * pair.part.n_faces


def test_the_seed_decides_and_people_can_be_held_out(people: People) -> None:
    one = people_pairs(people, 2, 2, which=[0, 2], seed=4, **KNOBS)
    again = people_pairs(people, 2, 2, which=[0, 2], seed=4, **KNOBS)
    assert one.keys == again.keys
    assert {key.body for keys in one.keys for key in keys} <= {0, 2}
    assert one[3].part.content_hash == again[3].part.content_hash
    assert one[3].whole.content_hash == again[3].whole.content_hash
    other = people_pairs(people, 2, 2, which=[0, 2], seed=5, **KNOBS)
    assert one[3].part.content_hash != other[3].part.content_hash
    assert isinstance(one.keys[0][0], PartKey)
    assert isinstance(one.keys[0][1], WholeKey)
    # of one person with one pose there are two surfaces, and one of them is the part's
    few = people_pairs(people, 1, which=[0], wholes_per_part=5, **KNOBS)
    assert [whole.pose for _, whole in few.keys] == [0]


def test_generated_bodies() -> None:
    pairs = retriangulated_body_pairs(2, 1, plans="hand", n_vertices=500, recipe="cuts", triangulations=2)
    assert [whole for _, whole in pairs.keys] == [WholeKey("hand", 0, 0), WholeKey("hand", 1, 0)]
    pair = pairs[1]
    assert (pair.whole.n_vertices, pair.ground_truth.kind) == (500, "barycentric")
    found = evaluate_map(pair, pair.rounded().ground_truth.whole_vertices, method="dijkstra")
    assert found.errors.mean() < pair.whole.edge_lengths.mean()


def off_by(pair) -> np.ndarray:
    """How far the part's vertices lie from their true places, in edges of the whole; both undeformed and unturned."""
    truth = pair.ground_truth
    there, here = truth.points(pair.whole.vertices), pair.part.vertices[truth.part_vertices]
    there, here = there - there.mean(axis=0), here - here.mean(axis=0)
    growth = (there * here).sum() / (there * there).sum()
    assert growth == pytest.approx(1, abs=0.08)
    return np.linalg.norm(here - growth * there, axis=1) / pair.whole.edge_lengths.mean()


@pytest.mark.parametrize("damage", [0.0, 1.0])
def test_undeformed_things_lie_where_their_parts_lie(damage: float) -> None:
    knobs: dict[str, Any] = {"n_vertices": (500, 600), "triangulations": 2, "damage": damage, "seed": 1}
    pairs = thing_pairs(1, 2, 4, kinds="furniture", strength=0.0, yaw=0.0, recipe=("views", "cuts"), **knobs)
    assert pairs.keys[0] == (PartKey("thing", 0, 1, 0), pairs.keys[0][1])
    for pair in pairs:
        away = off_by(pair)
        assert np.median(away) < (0.5 if damage else 0.15)
        assert away.max() < 2
        assert (len(pair.ground_truth) == pair.part.n_vertices) or damage
    if damage:
        whole = thing_pairs(1, 2, 4, kinds="furniture", strength=0.0, yaw=0.0, **(knobs | {"damage": 0.0}))
        assert whole[0].part.content_hash != pairs[0].part.content_hash
        assert whole[0].whole.content_hash == pairs[0].whole.content_hash


def test_deformed_things() -> None:
    pairs = thing_pairs(2, 1, kinds=("tooth", "vessel"), n_vertices=500, recipe="piece", triangulations=2)
    assert [whole for _, whole in pairs.keys] == [WholeKey("thing", 0, 0), WholeKey("thing", 1, 0)]
    for pair in pairs:
        found = evaluate_map(pair, pair.rounded().ground_truth.whole_vertices, method="dijkstra")
        assert found.errors.mean() < pair.whole.edge_lengths.mean()


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Faces:
    """Half a ball that is open below, and grows wider or taller."""
    half = cut_plane(sphere(900), (0, -0.3, 0), (0, 1, 0)).part
    x, path = half.vertices * [0.8, 1.2, 1.0], tmp_path_factory.mktemp("faces") / "heads.npz"
    sides = np.stack([x * [0.1, 0, 0], x * [0, 0.1, 0]])
    np.savez(
        path, neutral=x, faces=half.faces, identities=sides, expressions=sides, expression_names=np.array(["a", "b"])
    )
    return Faces(path)


def test_heads_stay_open(faces: Faces) -> None:
    pairs = face_pairs(faces, 2, 2, n_vertices=300, triangulations=4, wholes_per_part=3, same_person=0.5)
    assert len(pairs) == 2 * 2 * 3
    assert {part.body == whole.body for part, whole in pairs.keys} == {True, False}
    for pair in pairs[:4]:
        assert len(pair.whole.boundary_loops) == 1
        assert pair.whole.n_vertices == 300
        assert len(pair.ground_truth) == pair.part.n_vertices
    (pair,) = face_pairs(faces, 1, 1, n_vertices=300, triangulations=2, strength=0.0, yaw=0.0, recipe="holes")
    assert np.median(off_by(pair)) < 0.15


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: thing_pairs(0), "n_things=0 must be at least 1"),
        (lambda _: thing_pairs(damage=1.5), "damage=1.5 must lie between 0 and 1"),
        (lambda _: thing_pairs.__wrapped__(kinds="cloud"), "kinds must be one or several of 'furniture'"),
        (lambda faces: face_pairs(faces, 0, n_vertices=300), "n_people=0 must be at least 1"),
        (lambda faces: face_pairs(faces, n_vertices=3000), "n_vertices=3000 must be a number or .* and less than"),
        (lambda _: face_pairs.__wrapped__("heads"), "faces must be Faces, got 'heads'"),
    ],
)
def test_wrong_things_and_heads(faces: Faces, call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call(faces)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"poses": 0}, "poses=0 must be at least 1"),
        ({"parts_per_pose": 0}, "parts_per_pose=0 must be at least 1"),
        ({"wholes_per_part": 0}, "wholes_per_part=0 must be at least 1"),
        ({"same_person": 1.5}, "same_person=1.5 must lie between 0 and 1"),
        ({"yaw": 270.0}, "yaw=270.0 must lie between 0 and 180 degrees"),
        ({"triangulations": 1}, "triangulations=1 must be at least 2"),
        ({"which": [0, 3]}, r"which=\[0, 3\] must name different people out of 0 to 2"),
        ({"which": [1, 1]}, "must name different people"),
        ({"n_vertices": 1500}, "n_vertices=1500 must be a number or .* and less than 1500"),
        ({"n_vertices": (600, 400)}, r"n_vertices=\(600, 400\) must be"),
    ],
)
def test_wrong_arguments(people: People, knobs, message) -> None:
    with pytest.raises(ValueError, match=message):
        people_pairs(people, **(KNOBS | {"poses": 1} | knobs))


def test_unknown_options_are_refused(people: People) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'yaws'"):
        people_pairs(people, yaws=3.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'same_person'"):
        thing_pairs(1, same_person=0.5)


@pytest.mark.parametrize("recipe", ["crumbs", ()])
def test_wrong_recipes(recipe) -> None:
    with pytest.raises(ValueError, match="recipe must be one or several of 'pfaust-m'"):
        posed.checked_recipes.__wrapped__(recipe)


@pytest.mark.real_data
def test_pairs_of_the_published_people() -> None:
    file = Path(os.environ["PARTWHOLE_DATA"]) / FILE
    if not file.is_file():
        pytest.skip(f"PARTWHOLE_DATA holds no {FILE}")
    pairs = people_pairs(People(file), 1, which=[0, 7], n_vertices=(1500, 2000), triangulations=2)
    for pair in pairs:
        found = evaluate_map(pair, pair.rounded().ground_truth.whole_vertices, method="dijkstra")
        assert 100 * found.errors.mean() < 2
