"""Posable people, read from a file of the published layout that is made here from a generated body."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from partwhole.datasets import make_body
from partwhole.datasets.shapes.bodies.rig import rotation_about
from partwhole.datasets.shapes.people import FILE, People
from partwhole.datasets.shapes.people_poses import NECK, NEEDED, SPINE, random_turns

# bones of the file, each with the bone of the generated body that it is a piece of, and how far along that it begins
_OF = {
    "root": ("pelvis", 0.0),
    **{bone: ("spine" if k < 3 else "chest", (k % 3) / 3) for k, bone in enumerate(SPINE)},
    **{bone: ("neck", k / 3) for k, bone in enumerate(NECK[:3])},
    "head": ("head", 0.0),
}
_SIDED = {
    "clavicle": ("chest", 0.8),
    "shoulder01": ("upper arm", 0.0),
    "upperarm01": ("upper arm", 0.1),
    "upperarm02": ("upper arm", 0.5),
    "lowerarm01": ("forearm", 0.0),
    "lowerarm02": ("forearm", 0.5),
    "wrist": ("hand", 0.0),
    "upperleg01": ("thigh", 0.0),
    "lowerleg01": ("shin", 0.0),
    "foot": ("foot", 0.0),
}
_PARENT = {"clavicle": "spine01", "upperleg01": "root"}
# the first of the pieces carries the skin
_SKIN = {
    "pelvis": "root",
    "spine": "spine04",
    "chest": "spine01",
    "neck": "neck02",
    "head": "head",
    "upper arm": "upperarm01",
    "forearm": "lowerarm01",
    "hand": "wrist",
    "thigh": "upperleg01",
    "shin": "lowerleg01",
    "foot": "foot",
}
_NEXT = {
    "pelvis": "spine",
    "spine": "chest",
    "chest": "neck",
    "neck": "head",
    "upper arm": "forearm",
    "forearm": "hand",
    "thigh": "shin",
    "shin": "foot",
}


def people_arrays(n_vertices: int = 900) -> dict[str, np.ndarray]:
    """Two people of the same triangulation: a generated body, and the same one wider."""
    body = make_body("biped", n_vertices, seed=3)
    joints = {bone.name: np.array(bone.joint) for bone in body.skeleton.bones}
    bend = joints.copy()
    for side in ("left", "right"):
        # elbows are a little bent in the rest pose of the file
        bend[f"{side} hand"] = joints[f"{side} hand"] + [0, 0, 0.06]

    def place(bone: str, along: float, side: str | None) -> np.ndarray:
        start = bone if bone in bend else f"{side} {bone}"
        end = _NEXT.get(bone, bone)
        end = end if end in bend else f"{side} {end}"
        return (1 - along) * bend[start] + along * bend[end]

    names, parents, heads = [], [], []
    chain = ["root", *SPINE, *NECK]
    for bone in chain:
        names.append(bone)
        parents.append(-1 if bone == "root" else names.index(chain[chain.index(bone) - 1]))
        heads.append(place(*_OF[bone], None))
    for letter, side in (("L", "left"), ("R", "right")):
        above = ""
        for bone, (of, along) in _SIDED.items():
            above = _PARENT.get(bone, above)
            parents.append(names.index(above))
            names.append(f"{bone}.{letter}")
            heads.append(place(of, along, side))
            above = names[-1]
    assert set(names) == set(NEEDED)
    table = np.zeros((n_vertices, len(names)))
    for column, bone in enumerate(body.skeleton.bones):
        side, plain = bone.name.split(" ", 1) if bone.name.startswith(("left ", "right ")) else ("", bone.name)
        target = _SKIN[plain] + ({"left": ".L", "right": ".R"}[side] if side else "")
        table[:, names.index(target)] += body.weights[:, column]
    table[table < 1e-3] = 0
    # as in the published file, bones are not numbered from the root on: `order` leads from parents to children
    shuffled = np.random.default_rng(0).permutation(len(names))
    order = np.argsort(shuffled)
    table, heads = table[:, shuffled], np.array(heads)[shuffled]
    parents = [-1 if parents[bone] < 0 else order[parents[bone]] for bone in shuffled]
    weights = sparse.csr_matrix(table / table.sum(axis=1, keepdims=True))
    wide = np.array([1.15, 1, 1.1])
    return {
        "rest": np.stack([body.rest.vertices, body.rest.vertices * wide]).astype(np.float32),
        "faces": body.rest.faces.astype(np.int32),
        "heads": np.stack([heads, heads * wide]).astype(np.float32),
        "parents": np.array(parents, np.int32),
        "order": order.astype(np.int32),
        "bone_names": np.array(names)[shuffled],
        "weights_indptr": weights.indptr.astype(np.int32),
        "weights_indices": weights.indices.astype(np.int16),
        "weights_data": weights.data.astype(np.float32),
        "subjects": np.array(["someone", "someone wider"]),
    }


@pytest.fixture(scope="module")
def arrays() -> dict[str, np.ndarray]:
    return people_arrays()


@pytest.fixture(scope="module")
def people(arrays: dict[str, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> People:
    folder = tmp_path_factory.mktemp("people")
    np.savez(folder / FILE, **arrays)
    return People(folder)


def test_reading(people: People, arrays: dict[str, np.ndarray]) -> None:
    assert (len(people), people.n_vertices, people.subjects[1]) == (2, 900, "someone wider")
    assert repr(people) == "People(2 people: 900 vertices, 30 bones)"
    assert len(People(people.path)) == 2
    np.testing.assert_array_equal(people.rest(1).vertices, arrays["rest"][1].astype(float))
    np.testing.assert_array_equal(people.rest(0).faces, people.rest(1).faces)
    np.testing.assert_allclose(people.weights.sum(axis=1), 1)


def test_skinning_is_the_blend_of_the_bones_motions(people: People, arrays: dict[str, np.ndarray]) -> None:
    turns = {"spine03": rotation_about((1, 0, 0), 0.3), "lowerarm01.L": rotation_about((0, 1, 1), 0.8)}
    names, heads = people.bone_names, arrays["heads"][1].astype(float)

    def motion(bone: int) -> np.ndarray:
        parent = arrays["parents"][bone]
        here, back = np.eye(4), np.eye(4)
        here[:3, 3], back[:3, 3] = heads[bone], -heads[bone]
        turn = np.eye(4)
        turn[:3, :3] = turns.get(names[bone], np.eye(3))
        return (np.eye(4) if parent < 0 else motion(parent)) @ here @ turn @ back

    motions = np.stack([motion(bone) for bone in range(len(names))])
    rest = np.c_[people.rest(1).vertices, np.ones(people.n_vertices)]
    expected = np.einsum("nb,bij,nj->ni", people.weights.toarray(), motions, rest)[:, :3]
    np.testing.assert_allclose(people.turned(1, turns).vertices, expected, atol=1e-12)
    skin = people.skin(1)
    np.testing.assert_allclose(skin.posed(people.rest(1).vertices, skin.turned(turns)), expected, atol=1e-9)


def test_poses_are_random_and_keep_the_skin(people: People) -> None:
    rest = people.rest(0)
    np.testing.assert_allclose(people.pose(0, 5, strength=0.0).vertices, rest.vertices, atol=1e-7)
    one, two = people.pose(0, 5), people.pose(0, 6)
    np.testing.assert_array_equal(one.vertices, people.pose(0, 5).vertices)
    assert np.abs(one.vertices - two.vertices).max() > 0.1
    calm = people.pose(0, 5, strength=0.2)
    assert np.linalg.norm(calm.vertices - rest.vertices) < np.linalg.norm(one.vertices - rest.vertices)
    for seed in range(6):
        posed = people.pose(1, seed)
        assert posed.area == pytest.approx(people.rest(1).area, rel=0.1)
        # bones are rigid: edges in the middle of them keep their length
        ratio = posed.edge_lengths / people.rest(1).edge_lengths
        assert np.median(np.abs(ratio - 1)) < 0.02
        # no one is thrown about: who stands, stands
        assert np.ptp(posed.vertices[:, 1]) > 0.45 * np.ptp(people.rest(1).vertices[:, 1])


def test_knees_and_elbows_bend_one_way(people: People, arrays: dict[str, np.ndarray]) -> None:
    heads = dict(zip(people.bone_names, arrays["heads"][0].astype(float), strict=True))
    upper, lower = (
        heads[end] - heads[start] for start, end in (("upperarm01.L", "lowerarm01.L"), ("lowerarm01.L", "wrist.L"))
    )
    inwards = np.cross(upper, lower)
    for seed in range(40):
        turns = random_turns(np.random.default_rng(seed), heads, strength=1.0)
        for side in "LR":
            shin = turns[f"lowerleg01.{side}"] @ [0, -1, 0]
            assert shin[2] <= 1e-12, "a knee is bent forwards"
        assert np.cross(upper, turns["lowerarm01.L"] @ lower) @ inwards > -1e-3 * inwards @ inwards


def test_the_two_sides_are_mirror_images(people: People) -> None:
    """Lifting both arms alike leaves a symmetric skeleton symmetric."""
    lift = {f"upperarm01.{side}": rotation_about((0, 0, sign), 0.7) for side, sign in (("L", 1), ("R", -1))}
    raised = people.turned(0, lift).vertices
    rest = people.rest(0).vertices
    left, right = (raised[sign * rest[:, 0] > 0.3] for sign in (1, -1))
    assert left[:, 1].mean() == pytest.approx(right[:, 1].mean(), abs=0.02)
    assert left[:, 1].mean() > rest[rest[:, 0] > 0.3][:, 1].mean() + 0.1


def test_poses_with_limbs_in_the_body_are_drawn_again(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    into, lift = (
        {f"upperarm01.{side}": rotation_about((0, 0, sign), angle) for side, sign in (("L", 1), ("R", -1))}
        for angle in (-1.2, 0.3)
    )
    drawn = [into, into, lift, {}]
    monkeypatch.setattr("partwhole.datasets.shapes.people.random_turns", lambda *_, **__: drawn.pop(0))
    np.testing.assert_array_equal(people.pose_vertices(0), people.turned(0, lift).vertices)
    assert drawn == [{}]


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"holds no bodies_cc0.npz, the posable people made from MakeHuman"):
        People(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*other.npz, the posable people"):
        People(tmp_path / "other.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": None, "order": None}, "has no heads, no order; it should hold the posable people"),
        ({"heads": np.zeros((2, 3, 3))}, r"heads has shape \(2, 3, 3\), expected \(2, 30, 3\)"),
        (
            {"bone_names": np.array([f"bone{k}" for k in range(30)])},
            "has no bone clavicle.L, clavicle.R, .* which poses",
        ),
        ({"order": np.arange(30)}, "order names a bone before its parent"),
    ],
)
def test_wrong_files_are_named(arrays, tmp_path: Path, change, message) -> None:
    held = {name: array for name, array in (arrays | change).items() if array is not None}
    np.savez(tmp_path / FILE, **held)
    with pytest.raises(ValueError, match=message):
        People(tmp_path)


def test_a_file_with_objects_is_not_unpickled(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\x80\x04}\x94\x8c\x04rest\x94K\x01s.")
    with pytest.raises(ValueError, match=r"is not a whole \.npz file"):
        People(tmp_path)


def test_wrong_arguments(people: People) -> None:
    with pytest.raises(ValueError, match="k=2 is not the number of a person, from 0 to 1"):
        people.rest(2)
    with pytest.raises(ValueError, match=r"strength=1\.5 must lie between 0"):
        people.pose(0, 1, strength=1.5)
    with pytest.raises(ValueError, match="turns names tail, which are not bones"):
        people.turned(0, {"tail": np.eye(3)})


@pytest.mark.real_data
def test_the_published_people() -> None:
    file = Path(os.environ["PARTWHOLE_DATA"]) / FILE
    if not file.is_file():
        pytest.skip(f"PARTWHOLE_DATA holds no {FILE}")
    people = People(file)
    assert (len(people), people.n_vertices, len(people.bone_names)) == (40, 13380, 163)
    for k in (0, 20):
        rest = people.rest(k)
        assert (rest.is_closed, rest.genus) == (True, 0)
        # y is up: people are taller than wide, and wider than deep
        assert np.argsort(np.ptp(rest.vertices, axis=0)).tolist() == [2, 0, 1]
        posed = people.pose(k, 1)
        assert posed.area == pytest.approx(rest.area, rel=0.05)
        assert np.median(np.abs(posed.edge_lengths / rest.edge_lengths - 1)) < 0.02
