from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets import GroundTruth, Pair, random_cuts, sphere, with_fewer_vertices
from partwhole.datasets.transforms import random_rotation, with_parts_turned


@pytest.fixture(scope="module")
def pair() -> Pair:
    return Pair.of_cut(random_cuts(sphere(1500), "cuts", seed=1))


def test_parts_are_as_coarse_as_their_wholes(pair: Pair) -> None:
    coarse = with_fewer_vertices([pair], 800)[0]
    assert coarse.whole.n_vertices == 800
    share = pair.part.area / pair.whole.area
    assert coarse.part.n_vertices == pytest.approx(800 * share, abs=1)
    assert len(coarse.part.boundary_loops) == len(pair.part.boundary_loops)
    assert coarse.name == pair.name


def test_the_truth_of_vertices_that_are_left(pair: Pair) -> None:
    coarse = with_fewer_vertices([pair], 800)[0]
    truth = coarse.ground_truth
    assert truth is not None
    assert np.array_equal(truth.part_vertices, np.arange(coarse.part.n_vertices))
    # the part was cut from the whole, and shifted: the true place is the vertex itself, or one that is near
    shift = coarse.part.vertices - coarse.whole.vertices[truth.whole_vertices]
    off = np.linalg.norm(shift - np.median(shift, axis=0), axis=1)
    assert off.max() < 2 * coarse.whole.edge_lengths.max()
    assert np.median(off) < coarse.whole.edge_lengths.mean()


def test_truth_inside_triangles_and_none(pair: Pair) -> None:
    inside = GroundTruth.in_triangles([7], [[0.6, 0.3, 0.1]], faces=pair.whole.faces, part_vertices=[0])
    one, other = with_fewer_vertices(
        [Pair(pair.part, pair.whole, inside), Pair(pair.part, pair.whole, None)],
        800,
    )
    assert one.part is other.part
    assert one.whole is other.whole
    assert one.ground_truth is not None
    assert len(one.ground_truth) <= 1
    assert other.ground_truth is None


def test_small_surfaces_stay_as_they_are(pair: Pair) -> None:
    same = with_fewer_vertices([pair], 5000)[0]
    assert same.part.content_hash == pair.part.content_hash
    assert same.whole.content_hash == pair.whole.content_hash
    assert with_fewer_vertices([pair], 300)[0].part.n_vertices >= 300


def test_progress_and_too_few(pair: Pair) -> None:
    told: list[tuple[str, int, int]] = []
    with_fewer_vertices([pair, pair], 900, progress=lambda *said: told.append(said))
    assert told == [("decimation", 0, 2), ("decimation", 1, 2), ("decimation", 2, 2)]
    with pytest.raises(ValueError, match="n_vertices=100 is too few to learn from; leave at least 300"):
        with_fewer_vertices([pair], 100)


def test_a_rotation_is_one_and_none_is_preferred() -> None:
    found = np.array([random_rotation(np.random.default_rng(k)) for k in range(2000)])
    np.testing.assert_allclose(found @ found.transpose(0, 2, 1), np.broadcast_to(np.eye(3), found.shape), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(found), 1.0)
    # each axis goes everywhere on the sphere, with the deviation that uniform directions have
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=0.05)
    np.testing.assert_allclose((found**2).mean(axis=0), 1 / 3, atol=0.03)


def test_parts_are_turned_each_in_its_way_and_the_truth_stays() -> None:
    cuts = [random_cuts(sphere(300), seed=k) for k in range(2)]
    one, two = (Pair.of_cut(cut) for cut in cuts)
    first, other, again = with_parts_turned([one, two, one], seed=4)
    assert first.part is again.part
    assert first.ground_truth is one.ground_truth
    assert np.abs(first.part.vertices - one.part.vertices).max() > 0.05
    np.testing.assert_allclose(first.part.vertex_areas, one.part.vertex_areas, rtol=1e-9)
    turns = []
    for pair, was in ((first, one), (other, two)):
        R, *_ = np.linalg.lstsq(was.part.vertices, pair.part.vertices, rcond=None)
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-9)
        turns.append(R)
    assert np.abs(turns[0] - turns[1]).max() > 0.1
    assert (with_parts_turned([one], seed=4)[0].part.vertices == first.part.vertices).all()
    assert np.abs(with_parts_turned([one], seed=5)[0].part.vertices - first.part.vertices).max() > 0.05
