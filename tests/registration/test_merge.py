"""Two overlapping parts become one surface: closed where both together are, on the true whole, with a source per vertex."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import partwhole as pw
from partwhole.datasets import GroundTruth, Pair, Partners, PartPair, cut_plane, make_body, sphere
from partwhole.deformation.register import FitOptions
from partwhole.matching import PartnerMap, PartsMatch
from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import SurfaceTree
from partwhole.registration import MergedParts, merge
from partwhole.store.compute import rotation_onto

FEW = FitOptions(steps=2)


def true_match(pair: PartPair, a: Mesh | None = None, b: Mesh | None = None) -> PartsMatch:
    """What `match_parts` would give if it knew the truth; the parts may have been moved."""
    one, other = a or pair.a, b or pair.b
    ways = [
        PartnerMap(way.vertex_map, way.shared.astype(float), way.shared.astype(float), np.ones(len(way), bool))
        for way in (pair.a_to_b, pair.b_to_a)
    ]
    shared = pair.a_to_b.shared
    alignment = np.eye(4)
    if shared.any():
        x, y = one.vertices[shared], other.vertices[pair.a_to_b.vertex_map[shared]]
        R = rotation_onto(x - x.mean(axis=0), y - y.mean(axis=0), np.full(len(x), 1 / len(x)))
        alignment[:3, :3], alignment[:3, 3] = R, y.mean(axis=0) - R @ x.mean(axis=0)
    return PartsMatch(one, other, *ways, 1.0, 1.0, 0.5, 0.0, alignment, 0.0, "by hand", (), (), 0.0)


def cut_in_two(first: Mesh, second: Mesh, by: float) -> PartPair:
    """Below a plane of one triangulation, and above another plane of another one; they overlap by twice `by`, in √area."""
    middle, axis = np.median(first.vertices, axis=0), np.array([0.1, 1.0, 0.2])
    size = first.area**0.5
    one = Pair.of_cut(cut_plane(first, middle + by * size * axis, -axis))
    other = Pair.of_cut(cut_plane(second, middle - by * size * axis, axis))
    return PartPair.through(one, other)


@pytest.fixture(scope="module")
def hand() -> Mesh:
    return make_body("hand", n_vertices=500, seed=1).rest


@pytest.fixture(scope="module")
def halves(hand: Mesh) -> PartPair:
    return cut_in_two(hand, hand, 0.12)


def moved(mesh: Mesh) -> Mesh:
    Q = np.linalg.qr(np.random.default_rng(4).normal(size=(3, 3)))[0]
    return Mesh(mesh.vertices @ (Q * np.sign(np.linalg.det(Q))).T + [3.0, 1.0, 2.0], mesh.faces, name=mesh.name)


def test_two_halves_in_the_same_triangles_are_the_whole_again(hand: Mesh, halves: PartPair) -> None:
    b = moved(halves.b)
    merged = merge(halves.a, b, true_match(halves, b=b), options=FEW)
    # the mesh of the pair has area 1
    assert merged.mesh.n_vertices == hand.n_vertices
    assert merged.mesh.is_closed
    assert merged.mesh.is_manifold
    assert merged.mesh.area == pytest.approx(1.0, rel=1e-3)
    assert merged.warnings == ()
    assert merged.joined > 10


def test_every_vertex_has_its_source(halves: PartPair) -> None:
    merged = merge(halves.a, halves.b, true_match(halves), options=FEW)
    a, b = halves.a, halves.b
    assert np.array_equal(merged.mesh.vertices[~merged.from_b], a.vertices[merged.vertex[~merged.from_b]])
    assert np.array_equal(merged.vertex[~merged.from_b], np.arange(a.n_vertices))
    assert len(np.unique(merged.vertex[merged.from_b])) == merged.from_b.sum()
    A = true_match(halves).alignment
    laid = (b.vertices - A[:3, 3]) @ A[:3, :3]
    off = np.linalg.norm(merged.mesh.vertices[merged.from_b] - laid[merged.vertex[merged.from_b]], axis=1)
    assert np.allclose(off, merged.moved[merged.from_b], atol=1e-6)
    assert not merged.moved[~merged.from_b].any()
    assert "were added to" in merged.notes[0]
    assert repr(merged).endswith("vertices from b)")


@pytest.mark.parametrize("sizes", [(300, 420), (600, 250)])
def test_other_triangles_are_sewn_together_without_a_gap(sizes: tuple[int, int]) -> None:
    first, second = (
        Mesh(ball.vertices * [0.4, 0.5, 0.3], ball.faces)
        for ball in (sphere(n, seed=number, jitter=0.3) for number, n in enumerate(sizes))
    )
    # the second is a triangulation of the same egg; its truth goes through the first, whose area is the unit
    axis, size = np.array([0.0, 1.0, 0.0]), first.area**0.5
    one = cut_plane(first, 0.15 * size * axis, -axis)
    other = cut_plane(second, -0.15 * size * axis, axis)
    near = SurfaceTree(first).nearest(other.part.vertices)
    on_first = first.faces[near.faces][np.arange(len(near.faces)), near.weights.argmax(axis=1)]
    known, truth = Pair.of_cut(one), GroundTruth.of_map(on_first)
    pair = PartPair.through(known, replace(known, part=other.part.scaled(1 / size), ground_truth=truth))
    merged = merge(pair.a, pair.b, true_match(pair), options=FEW)
    assert merged.mesh.is_manifold
    assert merged.mesh.is_closed
    assert merged.mesh.n_components == 1
    assert merged.mesh.genus == 0
    assert merged.mesh.area == pytest.approx(1.0, rel=0.02)
    # the whole, where a lies
    shift = (pair.a.vertices - first.vertices[one.vertex_map] / size).mean(axis=0)
    whole = Mesh(first.vertices / size + shift, first.faces)
    assert np.allclose(whole.vertices[one.vertex_map], pair.a.vertices)
    assert SurfaceTree(whole).nearest(merged.mesh.vertices).distances.max() < 0.05
    assert merged.warnings == ()


def test_a_part_in_another_pose_is_bent_back(halves: PartPair) -> None:
    b = halves.b
    bend = 0.25 * (b.vertices[:, 1] - b.vertices[:, 1].min()) ** 2
    bent = Mesh(b.vertices + np.stack([bend, 0 * bend, 0 * bend], axis=1), b.faces, name="bent")
    merged = merge(halves.a, bent, true_match(halves, b=bent))
    assert merged.mesh.is_manifold
    assert merged.moved.max() > 0.01
    # what both have lies where a has it: nothing is there twice
    assert merged.mesh.area == pytest.approx(1.0, rel=0.05)


def test_without_a_match_they_are_matched_first(halves: PartPair, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def match_parts(a: Mesh, b: Mesh) -> PartsMatch:
        asked.append((a, b))
        return true_match(halves)

    monkeypatch.setattr("partwhole.matching.parts.match.match_parts", match_parts)
    merged = pw.merge(halves.a, halves.b, options=FEW)
    assert asked == [(halves.a, halves.b)]
    assert isinstance(merged, MergedParts)
    assert merged.mesh.is_closed


def test_a_part_that_adds_nothing_is_said_to(hand: Mesh) -> None:
    part = cut_plane(hand, np.median(hand.vertices, axis=0), [0.0, 1.0, 0.0]).part
    itself = Partners(np.arange(part.n_vertices), np.ones(part.n_vertices, bool))
    merged = merge(part, part, true_match(PartPair(part, part, itself, itself)), options=FEW)
    assert merged.mesh.n_faces == part.n_faces
    assert merged.warnings == (f"{part.name} has nothing that {part.name} lacks",)


def test_parts_that_may_not_belong_together_are_said_to(halves: PartPair) -> None:
    merged = merge(halves.a, halves.b, replace(true_match(halves), belongs=0.2), options=FEW)
    assert "probably share nothing (probability that they do: 20 %)" in merged.warnings[0]


def test_what_is_refused(halves: PartPair) -> None:
    found = true_match(halves)
    with pytest.raises(
        ValueError, match=r"a is not the surface that was matched: it has \d+ vertices, found.a has \d+"
    ):
        merge(halves.b, halves.a, found)
    none = replace(found, a_to_b=replace(found.a_to_b, overlap=np.zeros(halves.a.n_vertices)), belongs=0.1)
    with pytest.raises(
        ValueError, match=r"share no triangle \(probability that they share anything: 10 %\); only parts"
    ):
        merge(halves.a, halves.b, none)
