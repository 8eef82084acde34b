"""Pairs of parts: which vertices are shared follows from where both lie on the whole."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets import GroundTruth, Pair, Pairs, Partners, PartPair, cut_plane, part_pairs, random_cuts, sphere


def halves(overlap: float, n: int = 900) -> tuple[Pair, Pair]:
    """The upper and the lower part of a ball, which share a belt up to so far from the equator."""
    ball = sphere(n)
    up, down = (cut_plane(ball, (0, 0, -s * overlap), (0, 0, s)) for s in (1.0, -1.0))
    return Pair.of_cut(up, name="up"), Pair.of_cut(down, name="down")


def test_parts_of_one_triangulation_share_the_vertices_that_both_have() -> None:
    up, down = halves(0.4)
    pair = PartPair.through(up, down)
    truth = up.ground_truth.whole_vertices, down.ground_truth.whole_vertices
    exact = np.isin(truth[0], truth[1])
    assert pair.a_to_b.shared[exact].all()
    # a vertex that only one has may find a partner within the mean length of an edge, and no farther
    beyond = pair.a_to_b.shared & ~exact
    at = up.whole.vertices[truth[0]]
    radius = np.linalg.norm(up.whole.vertices, axis=1).mean()
    assert (at[beyond, 2] < (0.4 + 0.15) * radius).all()
    partner = pair.a_to_b.vertex_map[exact]
    assert np.array_equal(truth[1][partner], truth[0][exact])
    assert pair.swapped().a_to_b is pair.b_to_a
    assert pair.swapped().swapped().name == pair.name


def test_parts_that_share_nothing() -> None:
    up, down = halves(-0.4)
    pair = PartPair.through(up, down)
    assert pair.a_to_b.share == pair.b_to_a.share == 0


def test_vertices_without_a_place_have_no_truth() -> None:
    up, down = halves(0.4)
    few = np.arange(0, up.part.n_vertices, 2)
    partly = GroundTruth.at_vertices(few, up.ground_truth.whole_vertices[few])
    pair = PartPair.through(Pair(up.part, up.whole, partly), down)
    assert np.array_equal(np.flatnonzero(pair.a_to_b.known), few)
    assert not pair.a_to_b.shared[1::2].any()
    assert np.isin(pair.b_to_a.vertex_map[pair.b_to_a.shared], few).all()


def test_pairs_of_all_parts_with_a_whole_in_common() -> None:
    balls = [sphere(200), sphere(210)]
    made = [Pair.of_cut(random_cuts(balls[k % 2], "pfaust-m", k), name=f"part {k}") for k in range(5)]
    # keys say which whole is whose
    pairs = Pairs([(k, k % 2) for k in range(5)], lambda part, whole: made[part], name="balls")
    found = part_pairs(pairs)
    assert found.keys == ((0, 2), (0, 4), (2, 4), (1, 3))
    assert [pair.a.n_vertices for pair in found[:2]] == [made[0].part.n_vertices] * 2
    assert repr(found) == "PartPairs('balls, parts with parts': 4)"
    assert "% shared" in repr(found[0])


def test_what_is_refused() -> None:
    up, down = halves(0.2, 300)
    with pytest.raises(ValueError, match="has no ground truth to compare the parts by"):
        PartPair.through(Pair(up.part, up.whole), down)
    with pytest.raises(ValueError, match="have different wholes; parts of one whole can be compared"):
        PartPair.through(up, halves(0.2, 310)[1])
    with pytest.raises(ValueError, match=r"a_to_b has 3 entries up to 0, the parts have"):
        PartPair(up.part, down.part, Partners([0] * 3, [True] * 3), PartPair.through(up, down).b_to_a)
    with pytest.raises(ValueError, match=r"vertex_map \(2,\) of int64, shared \(3,\)"):
        Partners([0, 1], [True] * 3)
    with pytest.raises(ValueError, match="vertex_map holds -1 for a vertex that is shared"):
        Partners([0, -1], [True, True])
    with pytest.raises(
        ValueError, match=r"pairs must be a data set of parts and wholes, got list; use Pairs\.from_list"
    ):
        part_pairs([up, down])
