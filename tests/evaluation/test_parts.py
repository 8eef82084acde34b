"""Errors of matched parts: of the truth, of everything shared, of nothing shared."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets import Pair, PartPair, cut_plane, sphere
from partwhole.evaluation import PartsErrors, overlap_iou, parts_errors, parts_scores


def belt() -> PartPair:
    """Two parts of a ball with a belt in common."""
    ball = sphere(500)
    up, down = (Pair.of_cut(cut_plane(ball, (0, 0, -0.4 * s), (0, 0, s))) for s in (1.0, -1.0))
    return PartPair.through(up, down)


def test_the_truth_has_no_errors() -> None:
    pair = belt()
    found = parts_errors(
        pair, (pair.a_to_b.vertex_map, pair.b_to_a.vertex_map), (pair.a_to_b.shared, pair.b_to_a.shared), 0.9
    )
    assert found.iou == 1.0
    # a partner may be a neighbour where only one part has the vertex
    assert np.median(found.on_whole) == 0
    assert found.on_whole.max() < 0.1
    assert found.on_part.max() == 0
    assert found.overlapping
    assert not found.apart


def test_everything_shared_has_the_true_share_as_its_iou() -> None:
    pair = belt()
    everything = tuple(np.ones(len(truth), bool) for truth in (pair.a_to_b, pair.b_to_a))
    nowhere = tuple(np.zeros(len(truth), int) for truth in (pair.a_to_b, pair.b_to_a))
    found = parts_errors(pair, nowhere, everything, 0.9)
    assert found.iou == pytest.approx((pair.a_to_b.share + pair.b_to_a.share) / 2)
    # one vertex for all: the mean distance to a point, on a ball of area 1
    assert 0.2 < found.on_whole.mean() < 0.8
    # ways around the missing cap are longer
    assert found.on_part.mean() >= found.on_whole.mean() - 0.02


def test_vertices_of_which_nothing_is_known_are_not_counted() -> None:
    found, true = np.array([True, True, False, True]), np.array([True, False, False, True])
    assert overlap_iou(found, true, np.array([True, False, True, True])) == 1.0
    assert np.isnan(overlap_iou(~found & found, ~true & true))


def test_scores_leave_out_what_shares_very_little() -> None:
    none = np.zeros(0)
    errors = [
        PartsErrors("much", (0.5, 0.2), 0.9, np.array([0.01]), np.array([0.01]), 0.9),
        PartsErrors("more", (0.8, 0.9), 0.7, np.array([0.03, 0.03, 0.03]), np.array([np.inf] * 3), 0.4),
        PartsErrors("little", (0.05, 0.04), 0.0, np.array([0.5]), np.array([0.5]), 0.1),
        PartsErrors("nothing", (0.0, 0.0), 0.0, none, none, 0.5),
    ]
    scores = parts_scores(errors)
    assert (scores.overlapping, scores.apart) == (2, 1)
    assert scores.miou == pytest.approx(80.0)
    assert scores.on_whole == pytest.approx((2.0, 2.5))
    assert np.isinf(scores.on_part[0])
    assert scores.auc == 0.5
    assert np.isnan(parts_scores(errors[3:]).miou)
