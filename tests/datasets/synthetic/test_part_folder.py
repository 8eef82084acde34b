"""Pairs of parts in a folder: what is made is read back, and the layout of published sets is understood."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

from partwhole.datasets import BodyPoses, FolderPartPairs, PartPair, cut_plane, make_part_set, overlapping_cuts, sphere
from partwhole.datasets.cutting.overlapping import shared_area
from partwhole.mesh import Mesh, write_mesh

HANDS = BodyPoses(1, 1, plans="hand", n_vertices=500)


@pytest.mark.parametrize("by", ["planes", "views"])
@pytest.mark.parametrize("overlap", [0.2, 0.7])
def test_parts_share_as_much_as_is_asked_for(by: str, overlap: float) -> None:
    rest, posed = HANDS.values()
    a, b = overlapping_cuts(rest, overlap, pose=posed, by=by, seed=2)
    assert shared_area(a, b) == pytest.approx(overlap, abs=0.041)
    assert np.array_equal(b.part.vertices, posed.vertices[b.vertex_map])
    again = overlapping_cuts(rest, overlap, pose=posed, by=by, seed=2)
    assert np.array_equal(again[1].vertex_map, b.vertex_map)


def test_what_is_made_is_read_back(tmp_path: Path) -> None:
    seen = []
    made = make_part_set(HANDS, tmp_path / "set", overlaps=(0.3, 0.6), progress=lambda *step: seen.append(step), seed=3)
    pairs = made.pairs()
    assert len(pairs) == len(made.shares) == 4
    assert seen[-1] == ("pairs", 4, 4)
    for pair, shares in zip(pairs, made.shares.values(), strict=True):
        assert (pair.a_to_b.share, pair.b_to_a.share) == pytest.approx(shares)
    # the second part of a hand in one pose is of the other pose
    low, high = np.array(list(made.shares.values()))[[0, 1]].mean(axis=1)
    assert low < high
    with pytest.raises(ValueError, match="is not empty, and nothing is overwritten"):
        make_part_set(HANDS, tmp_path / "set")


def published(folder: Path) -> PartPair:
    """Two parts of a ball in the layout of published sets, without any truth yet."""
    (folder / "off").mkdir(parents=True)
    (folder / "maps").mkdir()
    ball = sphere(300)
    pair = PartPair.of_cuts(*(cut_plane(ball, (0, 0, -0.3 * s), (0, 0, s)) for s in (1.0, -1.0)))
    for name, mesh in (("cat_1", pair.a), ("cat_2", pair.b)):
        write_mesh(Mesh(mesh.vertices, mesh.faces), folder / "off" / f"{name}.off")
    return pair


@pytest.mark.parametrize(("ending", "first"), [(".map", 0), (".vts", 1)])
def test_published_maps_have_minus_one_where_there_is_no_partner(tmp_path: Path, ending: str, first: int) -> None:
    pair = published(tmp_path)
    there = np.where(pair.a_to_b.shared, pair.a_to_b.vertex_map + first, -1)
    (tmp_path / "maps" / f"cat_1-cat_2{ending}").write_text("\n".join(map(str, there.tolist())))
    (found,) = FolderPartPairs(tmp_path)
    assert found.name == "cat_1 | cat_2"
    assert np.array_equal(found.a_to_b.shared, pair.a_to_b.shared)
    assert np.array_equal(found.a_to_b.vertex_map[pair.a_to_b.shared], pair.a_to_b.vertex_map[pair.a_to_b.shared])
    # the way back is the inverse, and what lies beside it
    partners = np.unique(pair.a_to_b.vertex_map[pair.a_to_b.shared])
    assert found.b_to_a.shared[partners].all()
    assert found.a_to_b.shared[found.b_to_a.vertex_map[found.b_to_a.shared]].all()
    assert found.b_to_a.share < 0.8


def test_the_overlap_of_the_other_part_may_follow_in_the_same_file(tmp_path: Path) -> None:
    pair = published(tmp_path)
    there = np.where(pair.a_to_b.shared, pair.a_to_b.vertex_map, -1)
    lines = [*there.tolist(), *pair.b_to_a.shared.astype(int).tolist()]
    (tmp_path / "maps" / "cat_1_cat_2.map").write_text("\n".join(map(str, lines)))
    (found,) = FolderPartPairs(tmp_path)
    assert np.array_equal(found.b_to_a.shared, pair.b_to_a.shared)


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="has no parts/, off/, shapes/"):
        FolderPartPairs(tmp_path)
    folder = tmp_path / "set"
    pair = published(folder)
    with pytest.raises(FileNotFoundError, match=r"has neither part_pairs\.csv nor maps of two surfaces"):
        FolderPartPairs(folder)
    (folder / "part_pairs.csv").write_text("a,b\ncat_1,cat_2\n")
    with pytest.raises(ValueError, match="has no truth for cat_1 and cat_2"):
        FolderPartPairs(folder)[0]
    (folder / "maps" / "cat_1-cat_2.map").write_text("0\n1\n")
    with pytest.raises(ValueError, match="has 2 entries up to 1; cat_1 has"):
        FolderPartPairs(folder)[0]
    (folder / "maps" / "cat_1-cat_2.map").write_text("0.5\n" * pair.a.n_vertices)
    with pytest.raises(ValueError, match="should hold whole numbers"):
        FolderPartPairs(folder)[0]
    np.savez(folder / "maps" / "cat_1-cat_2.npz", vertex_map=np.zeros(3, int))
    (folder / "maps" / "cat_1-cat_2.map").unlink()
    with pytest.raises(ValueError, match="has no vertex_map and shared"):
        FolderPartPairs(folder)[0]
    (folder / "part_pairs.csv").write_text("part,whole\n")
    with pytest.raises(ValueError, match="should begin with the line a,b"):
        FolderPartPairs(folder)
    (folder / "part_pairs.csv").write_text("a,b\ncat_1,dog\n")
    with pytest.raises(FileNotFoundError, match="names dog, and there is no such surface"):
        FolderPartPairs(folder)


def test_arguments_that_are_refused(tmp_path: Path) -> None:
    ball = sphere(200)
    with pytest.raises(ValueError, match="pairs=0 must be at least 1"):
        make_part_set({"ball": ball}, tmp_path / "a", pairs=0)
    with pytest.raises(ValueError, match=r"overlaps=\(2,\) must lie between 0 and 1"):
        make_part_set({"ball": ball}, tmp_path / "a", overlaps=(2,))
    with pytest.raises(ValueError, match="source has no meshes"):
        make_part_set({}, tmp_path / "a")
    with pytest.raises(FileNotFoundError, match="is no folder; give one that holds meshes"):
        make_part_set(tmp_path / "nowhere", tmp_path / "a")
    slab = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]], [[0, 1, 2]])
    with pytest.raises(ValueError, match="no pair was made: slab_50_0: "):
        make_part_set({"slab": slab}, tmp_path / "b")
    with pytest.raises(ValueError, match="overlap=1 must lie between 0 and 1"):
        overlapping_cuts(ball, 1)
    with pytest.raises(ValueError, match="by must be 'planes' or 'views', got 'balls'"):
        inspect.unwrap(overlapping_cuts)(ball, 0.5, by="balls")
    with pytest.raises(ValueError, match="pose has other faces than"):
        overlapping_cuts(ball, 0.5, pose=sphere(210))
    one, other = (cut_plane(sphere(n), (0, 0, 0), (0, 0, 1)) for n in (200, 210))
    with pytest.raises(ValueError, match="have other faces; parts of one surface can be compared"):
        PartPair.of_cuts(one, other)
