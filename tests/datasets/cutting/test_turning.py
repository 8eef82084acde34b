from __future__ import annotations

import numpy as np

from partwhole.datasets import Pair, random_cuts, sphere
from partwhole.datasets.cutting.turning import random_rotation, with_parts_turned


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
