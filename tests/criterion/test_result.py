from __future__ import annotations

import numpy as np
import pytest

from partwhole.criterion import Criterion, boundary_criterion, same_loop_criterion, wormhole_criterion
from partwhole.geodesics import uniform_metric


def example(**changes) -> Criterion:
    inf = np.inf
    given = {
        "kind": "wormhole",
        "distances": np.array(
            [[0.0, 2.0, 4.0, inf], [2.0, 0.0, 0.0, inf], [4.0, 0.0, 1e-16, inf], [inf, inf, inf, 0.0]]
        ),
        "threshold": np.array([[0.0, 2.0, 1.0, inf], [2.0, 0.0, 0.0, 3.0], [1.0, 0.0, 0.0, inf], [inf, 3.0, inf, inf]]),
        "rows": None,
        "sound": False,
        "rtol": 1e-9,
    }
    return Criterion(**(given | changes))


def test_masks_by_hand() -> None:
    result = example()
    expected = [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_array_equal(result.mask, np.array(expected, bool))
    expected = [[1, 1, 0.25, 0], [1, 1, 1, 0], [0.25, 1, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_array_equal(result.soft_mask, expected)
    assert result.n_guaranteed == 4
    assert result.fraction == pytest.approx(4 / 6)


def test_rows_have_their_diagonal_elsewhere() -> None:
    every = example()
    some = example(rows=np.array([2, 0]), distances=every.distances[[2, 0]], threshold=every.threshold[[2, 0]].copy())
    np.testing.assert_array_equal(some.mask, every.mask[[2, 0]])
    np.testing.assert_array_equal(some.soft_mask, every.soft_mask[[2, 0]])
    assert (some.n_guaranteed, some.fraction) == (2, 0.5)


def test_ties_are_decided_by_the_tolerance() -> None:
    D = np.array([[0, 1 + 1e-10], [1 + 1e-10, 0]])
    K = np.ones((2, 2))
    assert example(distances=D, threshold=K.copy(), rtol=1e-9).mask.all()
    assert not example(distances=D, threshold=K.copy(), rtol=0.0).mask[0, 1]


def test_largest_floats() -> None:
    huge = np.full((2, 2), np.finfo(np.float32).max)
    result = example(distances=huge, threshold=huge.copy(), rtol=1e-5)
    assert result.mask.all()


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, torn_sphere) -> None:
    torn = torn_sphere(0)
    mask, soft = (getattr(wormhole_criterion(torn.part, torn.D_part), name) for name in ("mask", "soft_mask"))
    monkeypatch.setattr("partwhole.criterion.result.BLOCK_ENTRIES", 1000)
    again = wormhole_criterion(torn.part, torn.D_part)
    np.testing.assert_array_equal(again.mask, mask)
    np.testing.assert_array_equal(again.soft_mask, soft)
    D, K = torn.D_part, again.threshold
    off = ~np.eye(len(D), dtype=bool)
    np.testing.assert_array_equal(soft[off], np.minimum(K[off] / D[off], 1))


def test_results_are_read_only() -> None:
    result = example()
    for array in (result.threshold, result.mask, result.soft_mask):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0
    assert repr(result) == "Criterion(wormhole, 4×4, 66.7 % guaranteed, sound=False)"


@pytest.mark.parametrize("criterion", [boundary_criterion, wormhole_criterion, same_loop_criterion])
@pytest.mark.parametrize("chosen", [None, [0, 3, 9]])
def test_what_is_done_to_the_distances_afterwards_changes_nothing(torn_sphere, criterion, chosen) -> None:
    torn = torn_sphere(0)
    expected = criterion(torn.part, torn.D_part, rows=chosen)
    base = torn.D_part.copy()
    view = base[:]
    view.setflags(write=False)  # does not protect what it is a view of
    for D in (base, view):
        base[:] = torn.D_part
        found = criterion(torn.part, D, rows=chosen)
        base /= base.max() * 10
        np.testing.assert_array_equal(found.mask, expected.mask)
        np.testing.assert_array_equal(found.soft_mask, expected.soft_mask)
        np.testing.assert_array_equal(found.distances, expected.distances)
        assert not found.distances.flags.writeable
        assert found.fraction == expected.fraction


def test_rows_and_their_numbers_are_kept_as_they_were(torn_sphere) -> None:
    torn = torn_sphere(0)
    rows, D = np.array([4, 7]), torn.D_part[[4, 7]].copy()
    found = wormhole_criterion(torn.part, D, rows=rows, from_boundary=torn.D_part[torn.part.boundary_vertices])
    D[:], rows[:] = 0, 0
    np.testing.assert_array_equal(found.mask, wormhole_criterion(torn.part, torn.D_part).mask[[4, 7]])
    np.testing.assert_array_equal(found.rows, [4, 7])


def test_a_read_only_matrix_is_not_copied(torn_sphere) -> None:
    torn = torn_sphere(0)
    D = torn.D_part.copy()
    assert wormhole_criterion(torn.part, D).distances is not D
    D.setflags(write=False)
    assert wormhole_criterion(torn.part, D).distances is D
    of_rows = wormhole_criterion(torn.part, D, rows=[1, 2]).distances
    assert of_rows.base is None
    assert not of_rows.flags.writeable


def test_statement_says_what_is_proved(torn_sphere) -> None:
    torn = torn_sphere(0)
    part, D = torn.part, torn.D_part
    plain = boundary_criterion(part, D).statement
    assert plain.startswith(
        "proved for graph (Dijkstra) distances, provided the whole is a manifold and the part consists of some of its faces;"
    )
    assert "with continuous geodesics a path may leave inside a boundary edge: use sound=True" in plain
    assert "sphere" not in plain
    assert "eigenvalue" not in plain
    half = uniform_metric(part, 0.5)
    sound = wormhole_criterion(part, D / 2, sound=True, metric_bound=half).statement
    assert sound.startswith("proved for exact and for graph distances, provided the whole is a manifold")
    assert "distances that are too short or too long break it by their error" in sound
    assert (
        "part and whole have the same metric, and its smallest eigenvalue over the whole is at least c² = 0.25;"
        in sound
    )
    in_metric = boundary_criterion(part, D / 2, metric_bound=half).statement
    assert "same metric" in in_metric
    assert "eigenvalue" not in in_metric
    assert "the whole is a topological sphere" in same_loop_criterion(part, D).statement
    single = same_loop_criterion(part, D.astype(np.float32)).statement
    assert "tolerance of 1e-05, and 5e-07 more for rounding" in single
    assert "tolerance of 0.001, and 2e-10 more" in wormhole_criterion(part, D, rtol=1e-3).statement
