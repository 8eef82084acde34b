"""Errors and stress of maps whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole.embedding.methods.quality import aligned, map_stress, procrustes_error

RNG = np.random.default_rng(0)
TRUTH = RNG.uniform(size=(60, 2)) * [3, 1]
DISTANCES = np.linalg.norm(TRUTH[:, None] - TRUTH, axis=2)


@given(turn=st.floats(-4, 4), scale=st.floats(0.01, 100), flip=st.booleans(), shift=st.floats(-50, 50))
def test_a_similarity_is_no_error(turn: float, scale: float, flip: bool, shift: float) -> None:
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    moved = scale * TRUTH @ rotation * [1, -1 if flip else 1] + shift
    assert procrustes_error(moved, TRUTH) < 1e-7
    assert np.allclose(aligned(moved, TRUTH), TRUTH)
    assert map_stress(moved, DISTANCES) < 1e-5


def test_a_stretched_map_is_right_up_to_an_affine_map() -> None:
    stretched = TRUTH @ np.array([[2.0, 0.4], [0.0, 0.3]])
    assert procrustes_error(stretched, TRUTH) > 0.1
    assert procrustes_error(stretched, TRUTH, fit="affine") < 1e-12


def test_noise_of_known_size() -> None:
    noise = 0.05 * RNG.standard_normal((20000, 2))
    truth = RNG.standard_normal((20000, 2))
    # the best fit shrinks a little, so that 0.05 of the size remains to first order
    assert procrustes_error(truth + noise, truth) == pytest.approx(0.05, rel=0.02)


def test_one_place_for_all_is_an_error_of_one() -> None:
    nowhere = np.zeros_like(TRUTH)
    assert procrustes_error(nowhere, TRUTH) == pytest.approx(1)
    assert procrustes_error(nowhere, TRUTH, fit="affine") == pytest.approx(1)
    assert map_stress(nowhere, DISTANCES) == pytest.approx(1)


def test_the_affine_error_is_never_larger() -> None:
    for seed in range(5):
        other = np.random.default_rng(seed).standard_normal((60, 3))
        assert procrustes_error(other, TRUTH, fit="affine") <= procrustes_error(other, TRUTH) <= 1 + 1e-12


def test_stress_is_that_of_the_definition() -> None:
    places = RNG.standard_normal((60, 2))
    mask = RNG.random((60, 60)) < 0.5
    distances = np.where(RNG.random((60, 60)) < 0.1, np.inf, DISTANCES)
    counted = mask & np.isfinite(distances)
    r, d = np.linalg.norm(places[:, None] - places, axis=2)[counted], distances[counted]
    scale = (r * d).sum() / (r * r).sum()
    expected = np.sqrt(((scale * r - d) ** 2).sum() / (d * d).sum())
    assert map_stress(places, distances, mask=mask) == pytest.approx(expected)


def test_stress_without_pairs() -> None:
    assert map_stress(TRUTH, DISTANCES, mask=np.zeros((60, 60), bool)) == 0


@pytest.mark.parametrize(
    ("embedding", "truth", "message"),
    [
        (TRUTH[:5], TRUTH, r"got shapes \(5, 2\) and \(60, 2\)"),
        (TRUTH * np.nan, TRUTH, "must be finite"),
        (TRUTH, np.ones((60, 2)), "at one place"),
    ],
)
def test_what_cannot_be_compared(embedding: np.ndarray, truth: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        procrustes_error(embedding, truth)


def test_an_unknown_fit() -> None:
    with pytest.raises(ValueError, match="fit must be"):
        aligned.__wrapped__(TRUTH, TRUTH, fit="rigid")
