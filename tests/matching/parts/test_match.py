"""Two parts of a hand are matched: what they share is found, whichever comes first, and the result can be kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partwhole as pw
from partwhole.datasets import Pair, PartPair, cut_plane, make_body, sphere
from partwhole.evaluation import overlap_iou
from partwhole.matching import PartsMatch
from partwhole.mesh import Mesh


def turned(mesh: Mesh, seed: int) -> Mesh:
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    return Mesh(mesh.vertices @ (Q * np.sign(np.linalg.det(Q))).T + [1.0, 2.0, 3.0], mesh.faces, name=mesh.name)


@pytest.fixture(scope="module")
def pair() -> PartPair:
    hand = make_body("hand", n_vertices=600, seed=1).rest
    middle, axis = np.median(hand.vertices, axis=0), np.array([0.1, 1.0, 0.2])
    size = hand.area**0.5
    one, other = (Pair.of_cut(cut_plane(hand, middle - 0.12 * size * s * axis, s * axis)) for s in (1.0, -1.0))
    return PartPair.through(one, other)


@pytest.fixture(scope="module")
def found(pair: PartPair) -> PartsMatch:
    return pw.match_parts(pair.a, turned(pair.b, 3))


def test_what_is_shared_is_found(pair: PartPair, found: PartsMatch) -> None:
    assert 0.2 < pair.a_to_b.share < 0.8
    for way, truth in ((found.a_to_b, pair.a_to_b), (found.b_to_a, pair.b_to_a)):
        assert overlap_iou(way.shared, truth.shared) > 0.7
        assert (way.confidence <= way.overlap + 1e-6).all()
    off = np.linalg.norm(pair.b.vertices[found.a_to_b.vertex_map] - pair.b.vertices[pair.a_to_b.vertex_map], axis=1)
    assert np.median(off[pair.a_to_b.shared]) < 0.06
    assert found.belongs > 0.5
    assert found.partners.shape == (found.a_to_b.shared.sum(), 2)
    assert 0 < found.guaranteed <= 1
    assert found.distortion < 0.05
    assert "probably share nothing" not in " ".join(found.warnings)


def test_the_alignment_takes_a_to_where_it_is_on_b(pair: PartPair, found: PartsMatch) -> None:
    R, t = found.alignment[:3, :3], found.alignment[:3, 3]
    assert np.allclose(R @ R.T, np.eye(3))
    assert np.linalg.det(R) > 0
    moved = pair.a.vertices @ R.T + t
    partner = found.b.vertices[pair.a_to_b.vertex_map]
    off = np.linalg.norm(moved - partner, axis=1)[pair.a_to_b.shared]
    assert np.median(off) < 0.05
    assert found.misfit < 0.1


def test_the_other_way_round_it_is_the_same(pair: PartPair, found: PartsMatch) -> None:
    other = pw.match_parts(turned(pair.b, 3), pair.a)
    for one, two in ((found.a_to_b, other.b_to_a), (found.b_to_a, other.a_to_b)):
        for name in ("vertex_map", "overlap", "confidence", "matched"):
            assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert found.belongs == other.belongs
    assert found.shares == other.shares[::-1]
    assert np.allclose(found.alignment @ other.alignment, np.eye(4))
    assert found.misfit == other.misfit
    assert found.warnings == other.warnings


def test_the_result_is_kept_to_the_last_bit(found: PartsMatch, tmp_path: Path) -> None:
    found.save(tmp_path)
    read = pw.load(tmp_path)
    assert isinstance(read, PartsMatch)
    assert read.a.content_hash == found.a.content_hash
    assert np.array_equal(read.a_to_b.overlap, found.a_to_b.overlap)
    assert np.array_equal(read.b_to_a.vertex_map, found.b_to_a.vertex_map)
    assert read.summary() == found.summary()
    assert repr(read) == repr(found)


def test_a_whole_of_known_size_is_not_searched(pair: PartPair) -> None:
    known = pw.match_parts(pair.a, pair.b, whole_area=1.0)
    assert known.whole_area == pytest.approx(1.0)
    assert any(text.startswith("as given, the whole has area 1") for text in known.notes)
    assert overlap_iou(known.a_to_b.shared, pair.a_to_b.shared) > 0.7


def test_what_has_nothing_in_common_is_said_to(pair: PartPair) -> None:
    ball = Mesh(0.25 * sphere(200).vertices, sphere(200).faces, name="ball")
    found = pw.match_parts(pair.a, ball, whole_area=1.0)
    assert found.belongs < 0.5
    assert "the parts probably share nothing" in found.warnings[0]
    assert found.warnings[1] == "ball has no boundary, so it may be the whole: pw.match matches a part to it"


def test_units_may_be_of_any_size(pair: PartPair) -> None:
    tiny = pw.match_parts(pair.a.scaled(2.0**-70), pair.b.scaled(2.0**-70), whole_area=2.0**-140)
    assert overlap_iou(tiny.a_to_b.shared, pair.a_to_b.shared) > 0.7
    assert tiny.whole_area == pytest.approx(2.0**-140)
    assert tiny.misfit < 0.1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((np.empty((0, 3)), np.empty((0, 3), int)), "a has 0 points and no faces"),
        ((np.full((3, 3), np.nan), [[0, 1, 2]]), "a: vertex 0 is [nan, nan, nan]"),
        ((np.zeros((3, 3)), [[0, 1, 2]]), "a: all its faces have area 0; a surface is needed"),
        ((np.eye(3), [[0, 1, 3]]), "a: face 0 is [0, 1, 3], but vertices are numbered 0 to 2"),
        ("nowhere.ply", "nowhere.ply does not exist"),
    ],
)
def test_what_is_no_surface_is_refused_in_one_line(given: Any, said: str, pair: PartPair) -> None:
    with pytest.raises((ValueError, FileNotFoundError)) as fault:
        pw.match_parts(given, pair.b)
    assert str(fault.value).startswith(said)
    assert "\n" not in str(fault.value)


def test_next_to_nothing_is_matched_all_the_same(pair: PartPair) -> None:
    triangle = Mesh(0.1 * np.eye(3), [[0, 1, 2]], name="triangle")
    found = pw.match_parts(triangle, pair.b, whole_area=1.0)
    assert found.belongs < 0.5
    assert len(found.a_to_b) == 3


def test_what_is_refused(pair: PartPair) -> None:
    with pytest.raises(ValueError, match="max_vertices=20 must be at least 100"):
        pw.match_parts(pair.a, pair.b, max_vertices=20)
    with pytest.raises(ValueError, match=r"whole_area=-1 must be positive; None tries several"):
        pw.match_parts(pair.a, pair.b, whole_area=-1)
    with pytest.raises(ValueError, match=r"whole_area=0.01 is less than the area of a part"):
        pw.match_parts(pair.a, pair.b, whole_area=0.01)
    with pytest.raises(
        ValueError, match=r"model='upright' can't compare two parts: its features depend on how a surface"
    ):
        pw.match_parts(pair.a, pair.b, model="upright")
