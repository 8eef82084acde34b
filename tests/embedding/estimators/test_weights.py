from __future__ import annotations

import numpy as np
import pytest

from partwhole.embedding.estimators.weights import fade_detours, pair_weights, unit_distance, with_joined_pieces

DISTANCES = np.array([[0.0, 1, 4, np.inf], [1, 0, 2, np.inf], [4, 2, 0, np.inf], [np.inf, np.inf, np.inf, 0]])
NONE = np.zeros((4, 4), bool)


def test_weights_by_hand() -> None:
    mask = np.isfinite(DISTANCES)
    mask[1, 2] = mask[2, 1] = False
    found = pair_weights(mask, DISTANCES, small=1.0, unit=2.0, falloff=3)
    np.testing.assert_array_equal(found, [[1, 1, 0.125, 0], [1, 1, 0, 0], [0.125, 0, 1, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_alike_they_are_a_mask_or_what_was_given(dtype) -> None:
    D = DISTANCES.astype(dtype)
    mask = pair_weights(NONE, D, small=1.0, unit=1.0, falloff=0)
    assert mask.dtype == bool
    np.testing.assert_array_equal(mask, D <= 1)
    soft = np.full((4, 4), 0.5, dtype)
    found = pair_weights(soft, D, small=1.0, unit=1.0, falloff=0)
    np.testing.assert_array_equal(found, np.where(D <= 1, 1, 0.5))


def test_what_has_no_way_has_no_weight_even_if_it_seems_guaranteed() -> None:
    found = pair_weights(~NONE, DISTANCES, small=0.0, unit=1.0, falloff=4)
    np.testing.assert_array_equal(found[3], [0, 0, 0, 1])


def test_no_weight_vanishes() -> None:
    far = np.array([[0.0, 1e30], [1e30, 0.0]])
    assert pair_weights(~NONE[:2, :2], far, small=0.0, unit=1.0, falloff=4)[0, 1] > 0


def test_small_pieces_are_joined_to_the_rest() -> None:
    x = np.array([0.0, 1, 2, 3, 10, 11, 30])
    D = np.abs(x[:, None] - x)
    weights = (D <= 1).astype(np.float32)
    found = with_joined_pieces(weights, D, largest=2, count=1)
    np.testing.assert_array_equal(found, found.T)
    assert [(int(i), int(j)) for i, j in np.argwhere(found > weights) if i < j] == [(3, 4), (3, 5), (5, 6)]
    np.testing.assert_array_equal(with_joined_pieces(weights, D, largest=1, count=1)[:6, :6], weights[:6, :6])
    whole = weights[:4, :4]
    assert with_joined_pieces(whole, D[:4, :4], largest=2, count=1) is whole


def test_no_pair_is_joined_that_no_way_leads_to() -> None:
    apart = np.array([[0.0, np.inf], [np.inf, 0.0]])
    np.testing.assert_array_equal(with_joined_pieces(np.eye(2, dtype=bool), apart, largest=5, count=3), np.eye(2))


def test_the_unit_is_the_small_distance_or_what_comes_nearest_to_it() -> None:
    D = np.array([[0.0, 1, 3], [1, 0, 2], [3, 2, 0]])
    assert unit_distance(D, small=0.7, n_neighbors=1) == 0.7
    assert unit_distance(D, small=0.0, n_neighbors=1) == 1
    coinciding = np.array([[0.0, 0, 3], [0, 0, 3], [3, 3, 0]])
    assert unit_distance(coinciding, small=0.0, n_neighbors=1) == 3
    assert unit_distance(np.zeros((3, 3)), small=0.0, n_neighbors=1) == 1


def test_only_what_is_too_long_fades_and_by_how_much() -> None:
    places = np.random.default_rng(0).normal(size=(40, 2))
    D = np.linalg.norm(places[:, None] - places, axis=2)
    noisy = D * np.random.default_rng(1).choice([0.99, 1.01], size=D.shape)
    noisy = np.triu(noisy, 1) + np.triu(noisy, 1).T
    noisy[0, 1] = noisy[1, 0] = 2 * D[0, 1]
    noisy[2, 3] = noisy[3, 2] = 0.5 * D[2, 3]
    weights = np.ones_like(D)
    assert fade_detours(weights, noisy, places, small=0.0, tolerance=3.0) == 1
    expected = np.ones_like(D)
    expected[0, 1] = expected[1, 0] = (3 * 1.4826 * 0.01 / 0.5) ** 2
    np.testing.assert_allclose(weights, expected, rtol=0.03)  # 1 / 0.99 and 1 / 1.01 are not alike
    kept = np.ones_like(D)
    assert fade_detours(kept, noisy, places, small=2.01 * D[0, 1], tolerance=3.0) == 0
    np.testing.assert_array_equal(kept, 1)


def test_nothing_fades_where_all_is_exact_or_nothing_is_far() -> None:
    places = np.arange(6.0)[:, None]
    D = np.abs(places - places.T).astype(np.float32)
    weights = np.ones_like(D)
    assert fade_detours(weights, D, places * (1 - 1e-7), small=0.0, tolerance=3.0) == 0
    assert fade_detours(weights, D, places / 2, small=9.0, tolerance=3.0) == 0
    np.testing.assert_array_equal(weights, 1)


def test_a_weight_that_fades_stays_above_zero() -> None:
    places = np.arange(6.0)[:, None]
    D = np.abs(places - places.T)
    D[0, 5] = D[5, 0] = 1e9
    weights = np.full_like(D, 1e-7, dtype=np.float32)
    assert fade_detours(weights, D, places, small=0.0, tolerance=3.0) == 1
    assert weights.min() == pytest.approx(1e-9)
