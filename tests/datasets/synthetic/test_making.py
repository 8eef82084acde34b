"""Sets of pairs made from any meshes: what is written, that it is true, and what is never overwritten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwhole.datasets import BodyPoses, FolderPairs, cylinder, make_set, sphere, torus
from partwhole.evaluation import evaluate_map
from partwhole.mesh import Mesh
from partwhole.mesh.io import write_mesh

BALL = Mesh(sphere(300).vertices * 3 + 1, sphere(300).faces)
EGG = Mesh(sphere(300).vertices * [2.5, 3, 3.5], sphere(300).faces)
RING = torus(n_vertices=300)
SHAPES = {"ball": BALL, "egg": EGG, "ring": RING}


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    """A folder with three meshes in three formats, two of them with the same faces."""
    folder = tmp_path / "scans"
    folder.mkdir()
    for (name, mesh), ending in zip(SHAPES.items(), ("off", "ply", "obj"), strict=True):
        write_mesh(mesh, folder / f"{name}.{ending}")
    (folder / "notes.txt").write_text("not a surface")
    return folder


def errors_of_the_truth(pairs: FolderPairs) -> list[float]:
    results = [evaluate_map(p, p.ground_truth.whole_vertices, method="dijkstra") for p in pairs]
    return [float(result.errors.max()) for result in results]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("recipe", ["pfaust-m", "pfaust-h", "cuts", "holes", "views", "piece"])
def test_parts_of_files_with_exact_ground_truth(recipe: Any, scans: Path, tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    made = make_set(scans, tmp_path / "set", recipe=recipe, parts=2, progress=lambda *now: steps.append(now))
    assert (made.n_wholes, made.n_parts, made.n_pairs, made.n_kept) == (3, 6, 6, 0)
    assert steps == [("meshes", k, 3) for k in range(4)] + [("parts", k, 6) for k in range(7)]
    assert (made.skipped, made.notes) == ({}, {})
    pairs = made.pairs()
    assert pairs.keys[:3] == (("ball_00", "ball"), ("ball_01", "ball"), ("egg_00", "egg"))
    assert errors_of_the_truth(pairs) == [0.0] * 6
    for pair in pairs:
        assert len(pair.ground_truth) == pair.part.n_vertices
        assert pair.part.area == pytest.approx(made.area_shares[pair.part.name])
        at = pair.whole.vertices[pair.ground_truth.whole_vertices]
        np.testing.assert_allclose(pair.part.vertices, at - at.mean(axis=0), atol=1e-12)
    assert pairs[0].part.n_vertices != pairs[1].part.n_vertices or not np.array_equal(
        pairs[0].ground_truth.whole_vertices, pairs[1].ground_truth.whole_vertices
    )


def test_the_folder_says_what_it_is(scans: Path, tmp_path: Path) -> None:
    make_set(scans, tmp_path / "set", recipe="cuts", seed=5)
    said = json.loads((tmp_path / "set/set.json").read_text())
    assert said["complete"] is True
    assert said["settings"]["recipe"] == "cuts"
    assert said["settings"]["seed"] == 5
    assert said["from"] == str(scans)
    assert said["sources"] == {"ball": "ball.off", "egg": "egg.ply", "ring": "ring.obj"}
    assert said["versions"].keys() == {"partwhole", "python", "numpy"}
    assert said["area_shares"].keys() == {"ball_00", "egg_00", "ring_00"}
    text = (tmp_path / "set/README.md").read_text()
    assert "3 parts of 3 wholes, 3 pairs" in text
    assert "Recipe cuts, 1 part(s) a mesh, pairs: own, seed 5" in text
    assert "pairs = FolderPairs('set')" in text
    assert "licence" in text


def test_poses_of_one_body_are_matched_to_each_other(scans: Path, tmp_path: Path) -> None:
    every = make_set(scans, tmp_path / "all", parts=2, pairs="all").pairs()
    assert [w for p, w in every.keys if p == "ball_01"] == ["ball", "egg"]
    assert [w for p, w in every.keys if p == "ring_01"] == ["ring"]
    assert len(every) == 2 * (2 + 2 + 1)
    assert errors_of_the_truth(every) == [0.0] * 10
    for pair in every:
        np.testing.assert_array_equal(
            pair.ground_truth.whole_vertices,
            next(p for p in every if p.part.name == pair.part.name).ground_truth.whole_vertices,
        )
    others = make_set(scans, tmp_path / "others", pairs="others")
    assert others.pairs().keys == (("ball_00", "egg"), ("egg_00", "ball"))
    assert others.skipped == {"ring": "no other mesh has the same faces"}
    with pytest.raises(ValueError, match=r"pairs='others' needs meshes that share their faces.*; of these 1 no two do"):
        make_set({"ring": RING}, tmp_path / "none", pairs="others")


def test_generated_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = BodyPoses(1, 1, plans="hand", n_vertices=500)
    made = make_set(bodies, tmp_path / "set", pairs="others", recipe="holes")
    assert made.pairs().keys == (("hand00-pose0_00", "hand00-pose1"), ("hand00-pose1_00", "hand00-pose0"))
    assert errors_of_the_truth(made.pairs()) == [0.0, 0.0]
    assert "licence" not in (tmp_path / "set/README.md").read_text()
    # once they are written, no body is made again
    monkeypatch.setattr(BodyPoses, "__getitem__", None)
    assert make_set(bodies, tmp_path / "set", pairs="others", recipe="holes").n_kept == 2
    with pytest.raises(ValueError, match=r"made with source.n_vertices=500, not 600; give another folder"):
        make_set(BodyPoses(1, 1, plans="hand", n_vertices=600), tmp_path / "set", pairs="others", recipe="holes")


@pytest.mark.parametrize("last", [("meshes", k) for k in range(1, 4)] + [("parts", k) for k in range(6)])
def test_an_interrupted_run_goes_on_and_ends_the_same(last: tuple[str, int], scans: Path, tmp_path: Path) -> None:
    knobs: dict[str, Any] = {"parts": 2, "pairs": "all", "seed": 1, "recipe": "cuts"}

    def stop(what: str, done: int, _: int) -> None:
        if (what, done) == last:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_set(scans, tmp_path / "set", **knobs, progress=stop)
    assert json.loads((tmp_path / "set/set.json").read_text())["complete"] is False
    # what is there is not taken for a set by mistake
    with pytest.raises(FileNotFoundError, match="has no"):
        FolderPairs(tmp_path / "set")
    before = contents(tmp_path / "set")
    made = make_set(scans, tmp_path / "set", **knobs)
    assert made.n_kept == sum(name.startswith("parts") for name in before)
    make_set(scans, tmp_path / "once" / "set", **knobs)
    assert contents(tmp_path / "set") == contents(tmp_path / "once" / "set")


def test_meshes_that_are_added_change_nothing_about_the_others(scans: Path, tmp_path: Path) -> None:
    (scans / "egg.ply").rename(tmp_path / "egg.ply")
    make_set(scans, tmp_path / "set", pairs="all")
    before = contents(tmp_path / "set")
    (tmp_path / "egg.ply").rename(scans / "egg.ply")
    made = make_set(scans, tmp_path / "set", pairs="all")
    after = contents(tmp_path / "set")
    assert {name for name in before if before[name] != after[name]} == {"README.md", "pairs.csv", "set.json"}
    assert ("ball_00", "egg") in made.pairs().keys
    assert made.n_kept == 1  # the ring; the ball has a new partner and was cut again, to the same part
    assert errors_of_the_truth(made.pairs()) == [0.0] * 5
    (scans / "ring.obj").unlink()
    with pytest.raises(ValueError, match=r"a set made of ring too, which is not among the meshes now \(1 such\)"):
        make_set(scans, tmp_path / "set", pairs="all")


def test_a_complete_set_is_left_alone(scans: Path, tmp_path: Path) -> None:
    make_set(scans, tmp_path / "set")
    (tmp_path / "set/pairs.csv").write_text("part,whole\nring_00,ring\n")
    (tmp_path / "set/README.md").write_text("mine")
    before = contents(tmp_path / "set")
    assert make_set(scans, tmp_path / "set").n_kept == 3
    assert contents(tmp_path / "set") == before


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("parts/ball_00.ply", None, r"ball_00.ply is there and differs from what would be written"),
        ("wholes/ball.ply", None, r"ball.ply is there and differs from what would be written"),
        ("maps/ball_00-ball.npz", None, r"ball_00-ball.npz is there and differs"),
        ("set.json", "{}", r"set.json is not of a set made here, and is not overwritten"),
        ("set.json", "[]", r"set.json is not of a set made here"),
        ("set.json", "mine", r"set.json is not of a set made here"),
        ("set.json", '{"layout": 2, "settings": {}, "sources": {}}', "has layout 2, this version makes 1"),
    ],
)
def test_files_of_others_are_not_overwritten(
    file: str, text: str | None, message: str, scans: Path, tmp_path: Path
) -> None:
    make_set(scans, tmp_path / "set")
    path = tmp_path / "set" / file
    if text is not None:
        path.write_text(text)
    elif file.endswith("npz"):
        np.savez(path, vertex_map=np.arange(3))
    else:
        write_mesh(RING, path)
    # so that there is something to do
    for changed, missing in (("parts", "maps/ball_00-ball.npz"), ("maps", "parts/ball_00.ply")):
        if file.startswith(changed):
            (tmp_path / "set" / missing).unlink()
    before = contents(tmp_path / "set")
    with pytest.raises(ValueError, match=message):
        make_set(scans, tmp_path / "set")
    assert contents(tmp_path / "set") == before


def test_folders_that_are_not_free(scans: Path, tmp_path: Path) -> None:
    before = contents(scans)
    with pytest.raises(ValueError, match="holds files that are not of a set made here, and none is overwritten"):
        make_set(scans, scans)
    assert contents(scans) == before
    with pytest.raises(ValueError, match=r"notes.txt is a file; give a folder"):
        make_set(scans, scans / "notes.txt")
    (tmp_path / "set").mkdir()
    (tmp_path / "set/.hidden").write_text("what some systems put into every folder")
    make_set(scans, tmp_path / "set")
    with pytest.raises(ValueError, match="holds a set made with seed=0, not 1; give another folder, or remove this"):
        make_set(scans, tmp_path / "set", seed=1)


def test_a_set_that_was_hardly_begun_may_become_another(scans: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "a.off").write_text("")
    with pytest.raises(ValueError, match=r"none of the meshes can be used: a.off: the file is empty \(1 such\)"):
        make_set(broken, tmp_path / "set")
    assert make_set(scans, tmp_path / "set", seed=3).n_parts == 3


def test_files_that_cannot_be_used_are_named_and_left_out(scans: Path, tmp_path: Path) -> None:
    plain = make_set(scans, tmp_path / "plain")
    (scans / "empty.off").write_text("")
    (scans / "cloud.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n")
    twice = "OFF 4 3 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n3 1 2 0\n"
    (scans / "twice.off").write_text(twice)
    made = make_set(scans, tmp_path / "set")
    assert made.skipped.keys() == {"cloud.obj", "empty.off", "twice.off"}
    assert made.skipped["empty.off"] == "the file is empty"
    assert made.skipped["twice.off"].endswith("repair=True removes them")
    assert made.area_shares == plain.area_shares
    assert "Left out, 3:" in (tmp_path / "set/README.md").read_text()
    assert json.loads((tmp_path / "set/set.json").read_text())["skipped"] == made.skipped
    with pytest.raises(ValueError, match=r"^cloud.obj: "):
        make_set(scans, tmp_path / "strict", strict=True)


def test_repair_on_request(tmp_path: Path) -> None:
    faces = np.concatenate([BALL.faces, BALL.faces[:1]])
    (tmp_path / "scans").mkdir()
    lines = [f"v {x} {y} {z}" for x, y, z in BALL.vertices] + [f"f {a} {b} {c}" for a, b, c in faces + 1]
    (tmp_path / "scans/ball.obj").write_text("\n".join(lines))
    made = make_set(tmp_path / "scans", tmp_path / "set", repair=True)
    assert made.notes == {"ball.obj": "repaired: 1 duplicate face dropped"}
    assert "Changed while reading, 1:" in (tmp_path / "set/README.md").read_text()
    assert errors_of_the_truth(made.pairs()) == [0.0]


def test_a_mesh_that_the_recipe_does_not_suit(tmp_path: Path) -> None:
    leaf = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    made = make_set({"leaf": leaf, "ball": BALL}, tmp_path / "set", recipe="holes")
    assert made.skipped.keys() == {"leaf_00"}
    assert "left no connected piece" in made.skipped["leaf_00"]
    assert made.pairs().keys == (("ball_00", "ball"),)
    with pytest.raises(ValueError, match=r"no part was made: leaf_00: .*\(1 left out\)"):
        make_set({"leaf": leaf}, tmp_path / "none", recipe="holes")


def test_units_do_not_matter_and_a_part_is_one_surface_in_all_its_pairs(tmp_path: Path) -> None:
    pairs = make_set({"ball": BALL, "egg": EGG.scaled(0.001)}, tmp_path / "set", pairs="all").pairs()
    assert len({pair.part.content_hash for pair in pairs}) == 2
    assert len({pair.whole.content_hash for pair in pairs}) == 2
    assert [pair.scale for pair in pairs] == [1.0] * 4
    scales = json.loads((tmp_path / "set/set.json").read_text())["scales"]
    assert scales["ball"] == pytest.approx(BALL.area**-0.5)
    assert scales["egg"] == pytest.approx(1000 * EGG.area**-0.5)


def test_a_mesh_without_area_is_left_out(tmp_path: Path) -> None:
    line = Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]])
    made = make_set({"ball": BALL, "line": line}, tmp_path / "set")
    assert made.skipped.keys() == {"line"}
    assert "area 0" in made.skipped["line"]


@pytest.mark.parametrize("name", ["sc\udcffan", "a\nb", "a\x00"])
def test_names_that_no_list_can_hold(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has characters that pairs\.csv can't hold; rename it"):
        make_set({name: BALL}, tmp_path / "set")


@pytest.mark.parametrize("name", ["", "a/b", "..", ".a", " a", "a\\b"])
def test_names_that_no_file_can_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="can't give its name to a file; rename it"):
        make_set({name: BALL}, tmp_path / "set")
    assert not (tmp_path / "set").exists()


def test_names_that_are_too_much_alike(scans: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'a' and 'A' differ by capitals only; rename one"):
        make_set({"a": BALL, "A": EGG}, tmp_path / "set")
    with pytest.raises(ValueError, match=r"make 'a_00-c_00-b' the map of 2 pairs; rename one"):
        make_set(dict.fromkeys(("a", "a_00-c", "b", "c_00-b"), BALL), tmp_path / "set", pairs="all")
    write_mesh(BALL, scans / "ring.off")
    with pytest.raises(ValueError, match=r"have the same name; rename one"):
        make_set(scans, tmp_path / "other")


@pytest.mark.parametrize(
    ("source", "knobs", "error", "message"),
    [
        (SHAPES, {"parts": 0}, ValueError, "parts=0 must be at least 1"),
        (SHAPES, {"seed": -1}, ValueError, "seed=-1 must not be negative"),
        (SHAPES, {"repair": True}, ValueError, r"repair=True is for files; use partwhole.repair"),
        ({}, {}, ValueError, "source has no meshes"),
        ("nowhere", {}, FileNotFoundError, "nowhere is not a folder; give one that holds meshes"),
    ],
)
def test_what_cannot_be(
    source: Any, knobs: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        make_set(source, tmp_path / "set", **knobs)
    assert not (tmp_path / "set").exists()


def test_choices_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"recipe must be one of 'pfaust-m', .*, got 'torn'"):
        make_set.__wrapped__(SHAPES, tmp_path, recipe="torn")
    with pytest.raises(ValueError, match="pairs must be one of 'own', 'others', 'all', got 'some'"):
        make_set.__wrapped__(SHAPES, tmp_path, pairs="some")


def test_open_surfaces_will_do(tmp_path: Path) -> None:
    made = make_set({"tube": cylinder(400)}, tmp_path / "set", recipe="cuts", parts=3)
    assert errors_of_the_truth(made.pairs()) == [0.0] * 3
