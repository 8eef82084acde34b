"""Results on disk: what is loaded is what was saved, to the last bit; what is damaged or foreign is refused in a line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partwhole as pw
from partwhole.datasets import cut_plane, sphere
from partwhole.matching import MatchResult
from partwhole.matching.result import CoarseMatch, DoubtfulRegion, Fit
from partwhole.matching.scans.prepare import Scaling
from partwhole.mesh import write_mesh
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.saved import Tree, save


@pytest.fixture(scope="module")
def found() -> MatchResult:
    """A result with everything that one may have; the whole was matched as it is, the part was decimated."""
    cut = cut_plane(sphere(120, jitter=0.3), (0, 0, 0), (1.0, 0.5, 0.2))
    p, coarse = cut.part.n_vertices, pw.decimate(cut.part, 40, keep_boundary=False)
    rng = np.random.default_rng(0)
    confidence = rng.random(p)
    return MatchResult(
        part=cut.part,
        whole=cut.whole,
        vertex_map=cut.vertex_map,
        confidence=confidence,
        matched=np.arange(p) != 3,
        functional_map=rng.normal(size=(5, 5)).astype(np.float32),
        vertex_map_before=cut.vertex_map[::-1].copy(),
        losses=(0.3, 0.1 + 0.2),
        fit=Fit(0.5, "wormhole", 0.01, 1.0, 0.9, 0.0, 180.0, None),
        regions=(DoubtfulRegion(3, 0.1, 0.2, 7, (0.1, 0.2, 0.3)),),
        scaling=Scaling((1.0, 1e-3), "assumed", (25.4,)),
        factor=1e-3,
        up=("z", "-y"),
        yaw=None,
        coarse=CoarseMatch(coarse.mesh, cut.whole, cut.vertex_map[coarse.to_fine], confidence[coarse.to_fine]),
        read_out="lateration",
        model="a \udcff name",
        notes=("one", "two ü"),
        warnings=(),
        seconds={"reading": 0.1},
        places=BarycentricMap(cut.whole.faces[:p], np.tile([0.5, 0.3, 0.2], (p, 1)), np.arange(p) != 3),
    )


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if is_dataclass(one):
        return type(one) is type(other) and all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, tuple):
        return type(other) is tuple and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and (one == other or one != one)


def test_nothing_is_lost(found: MatchResult, tmp_path: Path) -> None:
    found.save(tmp_path / "new" / "place")
    again = pw.load(tmp_path / "new" / "place")
    assert same(found, again)
    assert again.coarse.whole is again.whole, "what was one surface is one again, and is written once"
    # in the place of another one
    other = replace(found, losses=(), vertex_map_before=None)
    other.save(tmp_path / "new" / "place")
    assert same(other, pw.load(tmp_path / "new" / "place"))
    assert {file.name for file in (tmp_path / "new" / "place").iterdir()} == {"result.json", "result.npz"}


def test_surfaces_may_lie_in_files_beside(found: MatchResult, tmp_path: Path) -> None:
    write_mesh(found.part, tmp_path / "part.ply")
    save(found, tmp_path, surfaces={"part.ply": found.part})
    assert same(found, pw.load(tmp_path))
    write_mesh(found.whole, tmp_path / "part.ply")
    with pytest.raises(
        ValueError, match=r"part\.ply is another surface than that of the result; save the result again"
    ):
        pw.load(tmp_path)


def changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], Any]:
    def edit(folder: Path) -> None:
        held = json.loads((folder / "result.json").read_text())
        change(held)
        (folder / "result.json").write_text(json.dumps(held))

    return edit


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "result.json").write_text("{"), r"result\.json can't be read \(JSONDecodeError"),
        (lambda folder: (folder / "result.json").write_text("[" * 100_000), r"result\.json can't be read \(RecursionError"),
        (lambda folder: (folder / "result.json").write_text("[]"), r"result\.json can't be read \(TypeError"),
        (lambda folder: (folder / "result.npz").unlink(), r"result\.npz is not the file that belongs to result\.json"),
        (lambda folder: (folder / "result.npz").write_bytes(b"PK"), r"result\.npz is not the file that belongs to"),
        (changed(lambda held: held.update(layout=99)), r"was written by partwhole .*; load it with that version"),
        (changed(lambda held: held.update(kind="Fit")), "this is no Fit, but a MatchResult"),
        (changed(lambda held: held.update(result={"os.system": "ls"})), r"no MatchResult \('os\.system' is not a kind"),
        (changed(lambda held: held.update(result={"a": 1, "b": 2})), "no MatchResult"),
        (changed(lambda held: held["result"]["MatchResult"].pop("yaw")), "no MatchResult .*missing"),
        (changed(lambda held: held["result"]["MatchResult"].update(new=1)), "no MatchResult .*unexpected keyword"),
        (changed(lambda held: held["result"]["MatchResult"].update(yaw={"array": "none"})), "no MatchResult"),
        (changed(lambda held: held.update(surfaces={"../x.ply": ["x", ""]})), r"names '\.\./x\.ply', which is not a file"),
        (changed(lambda held: held.update(file="/x.npz")), r"names '/x\.npz', which is not a file"),
        (changed(lambda held: held.update(file=3)), r"names 3, which is not a file"),
    ],
)  # fmt: skip
def test_damage_is_told(found: MatchResult, tmp_path: Path, damage: Callable[[Path], Any], said: str) -> None:
    found.save(tmp_path)
    damage(tmp_path)
    with pytest.raises(ValueError, match=said) as caught:
        pw.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_what_is_no_result_and_no_folder(found: MatchResult, tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"has no result\.json; give a folder that save, `partwhole match` or fit wrote"
    ):
        pw.load(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file is a file; a result is saved in a folder"):
        found.save(tmp_path / "file")
    with pytest.raises(
        ValueError, match=r"^result must be a MatchResult, a PartsMatch or a FittedTemplate, got <object "
    ):
        save(object(), tmp_path)
    with pytest.raises(ValueError, match=r"^notes\.0 is <object .*, which can't be saved$"):
        Tree().packed(object(), ("notes", "0"))
    assert {file.name for file in tmp_path.iterdir()} == {"file"}


def test_everything_that_may_be_in_a_result() -> None:
    shared = np.arange(3)
    value = {
        "a": [1, (2.5, -0.0)],
        "b_c": shared,
        "b": {"c": shared[::-1], "d": shared},
        "n": (None, True, "x", np.int8(3)),
    }
    tree = Tree()
    held = json.loads(json.dumps(tree.packed(value)))
    assert sorted(tree.arrays) == ["b_c", "b_c_"], (
        "two arrays never share a name, and one that occurs twice is kept once"
    )
    again = Tree(arrays=tree.arrays).unpacked(held)
    assert again["a"] == [1, (2.5, -0.0)]
    assert str(again["a"][1][1]) == "-0.0"
    assert again["n"] == (None, True, "x", 3)
    assert again["b"]["d"] is again["b_c"]
    with pytest.raises(ValueError, match="result is"):
        Tree().packed(np.array([object()]))
