from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets import Pair, random_cuts, sphere, with_fewer_vertices
from partwhole.datasets.ground_truth import GroundTruth


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
