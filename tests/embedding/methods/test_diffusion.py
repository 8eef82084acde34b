"""Diffusion maps, where the eigenfunctions are known."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.embedding.methods.diffusion import diffusion_map


def distances_between(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points, axis=2)


def test_a_circle_stays_a_circle() -> None:
    turn = 2 * np.pi * np.arange(120) / 120
    places = diffusion_map(distances_between(np.stack([np.cos(turn), np.sin(turn)], axis=1)))
    radius = np.linalg.norm(places, axis=1)
    assert np.ptp(radius) < 1e-6 * radius.mean()


def test_a_segment_gives_cosines() -> None:
    """Of a uniform interval, the eigenfunctions are cos πx and cos 2πx; α = 1 takes an uneven density out."""
    x = np.linspace(0, 1, 400) ** 1.5
    places = diffusion_map(np.abs(x[:, None] - x), bandwidth=0.02)
    for axis, frequency in enumerate((1, 2)):
        assert abs(np.corrcoef(places[:, axis], np.cos(frequency * np.pi * x))[0, 1]) > 0.999


def test_it_is_the_dense_eigenvectors_of_the_walk() -> None:
    points = np.random.default_rng(0).standard_normal((50, 3))
    D = distances_between(points)
    places = diffusion_map(D, bandwidth=1.5, alpha=0.0, time=3)
    K = np.exp(-((D / 1.5) ** 2))
    walk = K / K.sum(axis=1, keepdims=True)
    values, vectors = np.linalg.eig(walk)
    order = np.argsort(-values.real)[1:3]
    for axis, k in enumerate(order):
        assert abs(np.corrcoef(places[:, axis], vectors[:, k].real)[0, 1]) == pytest.approx(1, abs=1e-6)
    stationary = K.sum(axis=1) / K.sum()
    # ψ has norm one under the stationary distribution, and comes multiplied by λᵗ
    assert np.sqrt(stationary @ places**2) == pytest.approx(values.real[order] ** 3)


def test_the_order_of_the_points_does_not_matter() -> None:
    points = np.random.default_rng(1).standard_normal((80, 2)) * [3, 1]
    order = np.random.default_rng(2).permutation(80)
    places = diffusion_map(distances_between(points))
    assert np.allclose(diffusion_map(distances_between(points[order])), places[order], atol=1e-6)


def test_pairs_without_a_way_take_no_steps() -> None:
    D = distances_between(np.arange(40.0)[:, None])
    D[:20, 20:] = D[20:, :20] = np.inf
    places = diffusion_map(D, n_components=1, bandwidth=2.0)
    assert np.isfinite(places).all()


@pytest.mark.parametrize(
    ("knobs", "message"),
    [({"n_components": 0}, "n_components"), ({"n_components": 19}, "n_components"), ({"bandwidth": 0.0}, "bandwidth")],
)
def test_bad_knobs(knobs: dict, message: str) -> None:
    with pytest.raises(ValueError, match=f"{message} must be"):
        diffusion_map(distances_between(np.arange(20.0)[:, None]), **knobs)
