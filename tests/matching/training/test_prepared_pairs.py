from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import partwhole.matching.training.prepared_pairs as preparation
from partwhole.datasets import Pair, Pairs, cut_balls, cut_plane, sphere, torus
from partwhole.datasets.synthetic.generated import body_pairs
from partwhole.geodesics import geodesic_distances
from partwhole.matching import WormholeLoss, prepare_pairs
from partwhole.matching.network.surface import distances_of, pair_mask
from partwhole.mesh import Mesh
from partwhole.store.cache import Cache


def joined(one: Mesh, two: Mesh) -> Mesh:
    vertices = np.concatenate([one.vertices, two.vertices])
    return Mesh(vertices, np.concatenate([one.faces, two.faces + one.n_vertices]), name="two pieces")


def copied(mesh: Mesh) -> Mesh:
    return Mesh(mesh.vertices.copy(), mesh.faces.copy(), name="a copy under another name")


@pytest.fixture(scope="module")
def pair() -> Pair:
    return Pair.of_cut(cut_plane(sphere(90, jitter=0.3), (0, 0, 0), (0, 0.2, 1)))


def test_each_surface_once(pairs, prepared) -> None:
    assert repr(prepared) == "PreparedPairs(5 pairs of 4 parts and 2 wholes)"
    assert len(prepared) == 5
    assert prepared.pairs == ((0, 0), (1, 0), (2, 1), (3, 1), (0, 1))
    for pair, (p, w) in zip(pairs, prepared.pairs, strict=True):
        assert prepared.meshes[0][p].content_hash == pair.part.content_hash
        assert prepared.meshes[1][w].content_hash == pair.whole.content_hash
        np.testing.assert_allclose(prepared.parts[p].points, pair.part.vertices, atol=1e-6)
        np.testing.assert_allclose(prepared.wholes[w].points, pair.whole.vertices, atol=1e-6)
    assert prepared.notes == ()


def test_equal_content_is_prepared_once_whatever_the_object(pair, config, monkeypatch) -> None:
    seen: list[Any] = []

    def counted(mesh: Mesh, **_: Any) -> torch.Tensor:
        seen.append(mesh)
        return torch.ones(mesh.n_vertices, mesh.n_vertices)

    monkeypatch.setattr(preparation, "distances_of", counted)
    again = Pair(copied(pair.part), copied(pair.whole))
    made = prepare_pairs([pair, again, pair], config)
    assert made.pairs == ((0, 0),) * 3
    assert len(made.parts) == len(made.wholes) == 1
    assert len(seen) == 2


def test_what_the_loss_needs(pair, config) -> None:
    made = prepare_pairs([pair], config)
    part, whole = made.parts[0], made.wholes[0]
    for surface, mesh in ((part, pair.part), (whole, pair.whole)):
        np.testing.assert_allclose(surface.distances, geodesic_distances(mesh, method="dijkstra"), rtol=1e-5, atol=1e-6)
    assert part.weights.shape == part.distances.shape
    assert whole.weights is whole.mask is None
    assert part.values.shape == (20,)
    assert part.basis.shape == (len(part), 3, 16)


def test_matching_alone_needs_no_distances(pair, config) -> None:
    made = prepare_pairs([pair], config, for_loss=False)
    assert made.parts[0].distances is made.parts[0].weights is made.wholes[0].distances is None


def test_a_part_in_two_pieces(config) -> None:
    """Nothing is known of distances between them, and nothing becomes infinite or no number."""
    ball = sphere(120)
    top, bottom = (cut_plane(ball, (0, 0, height), (0, 0, height)) for height in (0.4, -0.4))
    made = prepare_pairs([Pair.of(joined(top.part, bottom.part), ball)], config)
    part, whole, n = made.parts[0], made.wholes[0], top.part.n_vertices
    assert (part.weights[:n, n:] == 0).all()
    assert (part.weights[:n, :n] > 0).any()
    assert part.distances.isfinite().all()
    P = torch.full((len(part), len(whole)), 1 / len(whole), requires_grad=True)
    loss = WormholeLoss()(P, part, whole)
    loss.backward()
    assert loss.isfinite()
    assert P.grad.isfinite().all()


def test_a_whole_in_two_pieces_is_refused(pair, config) -> None:
    whole = joined(pair.whole, Mesh(pair.whole.vertices + 5.0, pair.whole.faces))
    with pytest.raises(
        ValueError, match=r"two pieces has 2 components, .* a whole is one piece: use mesh\.largest_com"
    ):
        prepare_pairs([Pair.of(pair.part, whole)], config)
    # to be matched it may be what it is
    assert len(prepare_pairs([Pair.of(pair.part, whole)], config, for_loss=False)) == 1


def test_wholes_with_holes_are_noted(config) -> None:
    ball = sphere(120)
    torn = cut_balls(ball, [0], 0.5).part
    half = cut_plane(torn, (0, 0, 0), (1, 0, 0))
    made = prepare_pairs([Pair.of_cut(half), Pair.of_cut(cut_plane(ball, (0, 0, 0), (1, 0, 0)))], config)
    assert len(made.notes) == 1
    assert "1 wholes have holes of their own (sphere)" in made.notes[0]
    assert made.notes[0].endswith("close the holes, or use masked_sides='both'")
    both = prepare_pairs([Pair.of_cut(half)], config.with_changes(masked_sides="both", low_pass=9))
    assert both.notes[0].endswith("the loss counts a pair as far as its distances are guaranteed on both surfaces")
    # by distances as they are, whatever the loss sees of them
    D = distances_of(both.meshes[1][0], method="dijkstra", device="cpu")
    torch.testing.assert_close(both.wholes[0].mask, pair_mask(both.meshes[1][0], D), rtol=0, atol=0)
    many = [Pair.of_cut(cut_plane(cut_balls(ball, [k], 0.5).part, (0, 0, 0), (1, 0, 0))) for k in range(1, 8)]
    [note] = prepare_pairs(many, config, for_loss=False).notes
    assert note.startswith("7 wholes have holes of their own (sphere, sphere, sphere, sphere, sphere, …)")


def test_no_pairs(config) -> None:
    for nothing in ([], Pairs.from_list([], name="none"), iter(())):
        with pytest.raises(ValueError, match="there are no pairs; a data set yields at least one part and its whole"):
            prepare_pairs(nothing, config)


def test_other_units_are_refused_before_anything_is_computed() -> None:
    ball = sphere(100)
    with pytest.raises(ValueError, match=r"a part isn't larger than its whole; are they in different units\?"):
        Pair.of(cut_plane(ball, (0, 0, 0), (0, 0, 1)).part.scaled(1000.0), ball)


def test_a_surface_that_has_no_operators(config) -> None:
    flat = Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]], name="a line")
    with pytest.raises(ValueError, match="a line has area 0"):
        prepare_pairs([Pair(flat, sphere(50))], config)


def test_pairs_are_read_one_by_one_and_progress_is_told(pairs, config, cache) -> None:
    told: list[tuple[str, int, int]] = []
    prepare_pairs((pair for pair in pairs), config, cache=cache, progress=lambda *what: told.append(what))
    assert [what for what, done, total in told if done == total > 0] == ["reading", "eigenfunctions", "distances"]
    assert told[0] == ("reading", 0, 0)  # of a generator nobody knows the length
    assert [done for what, done, _ in told if what == "distances"] == list(range(7))
    told.clear()
    prepare_pairs(pairs, config, cache=cache, for_loss=False, progress=lambda *what: told.append(what))
    assert told[0] == ("reading", 0, 5)
    assert {what for what, *_ in told} == {"reading", "eigenfunctions"}


def test_eigenpairs_are_kept_in_the_cache(pairs, config, tmp_path: Path) -> None:
    prepare_pairs(pairs, config, for_loss=False, cache=Cache(tmp_path))
    assert len(list(tmp_path.rglob("*.npz"))) == 6
    assert prepare_pairs(pairs[:2], config, for_loss=False, cache=Cache(tmp_path)).pairs == ((0, 0), (1, 0))
    assert len(list(tmp_path.rglob("*.npz"))) == 6


def test_a_cache_that_can_not_be_written_is_said_once(pairs, config, prepared, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").touch()
    said: list[str] = []
    made = prepare_pairs(
        pairs, config, for_loss=False, cache=Cache(tmp_path / "file/kept", tell=said.append), workers=2
    )
    assert [text.startswith("nothing is kept for other runs") for text in said] == [True]

    def refused(*_: Any, **__: Any) -> None:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr("tempfile.TemporaryDirectory", refused)
    alone = prepare_pairs(pairs, config, for_loss=False)
    for one, other, usual in zip(made.parts, alone.parts, prepared.parts, strict=True):
        np.testing.assert_allclose(one.values, usual.values, atol=1e-4)
        np.testing.assert_allclose(other.values, usual.values, atol=1e-4)


def test_a_cache_that_holds_everything_need_not_be_written(pairs, config, tmp_path: Path, monkeypatch) -> None:
    prepare_pairs(pairs, config, for_loss=False, cache=Cache(tmp_path))
    monkeypatch.setattr(Cache, "can_be_written", None)
    monkeypatch.setattr(Cache, "put", None)
    prepare_pairs(pairs, config, for_loss=False, cache=Cache(tmp_path))


def test_several_processes_give_the_same(pairs, config, prepared) -> None:
    made = prepare_pairs(pairs, config, workers=2)
    for one, two in zip((*made.parts, *made.wholes), (*prepared.parts, *prepared.wholes), strict=True):
        torch.testing.assert_close(one.values, two.values, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(one.signatures, two.signatures, rtol=1e-3, atol=1e-3)


def test_bodies_share_their_wholes(config) -> None:
    pairs = body_pairs(1, 2, 2, plans="hand", n_vertices=500, wholes="rest")
    made = prepare_pairs(pairs, config, for_loss=False)
    assert (len(made.parts), len(made.wholes), len(made)) == (4, 1, 4)


def test_the_same_loop_criterion_needs_wholes_without_handles(config) -> None:
    ring = torus(n_vertices=200)
    pair = Pair.of_cut(cut_balls(ring, 0, 0.5))
    same_loop = config.with_changes(criterion="same_loop")
    with pytest.raises(ValueError, match=r"has handles or is one-sided \(2 × genus = 2\).*criterion='wormhole'"):
        prepare_pairs([pair], same_loop)
    assert len(prepare_pairs([pair], same_loop, for_loss=False)) == 1
