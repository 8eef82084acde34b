from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets import swiss_roll
from partwhole.embedding import boundary_figure, boundary_points


def scores(variant, noise, seed) -> tuple[float, float]:
    roll = swiss_roll(variant=variant, noise=noise, seed=seed)
    found = boundary_points(roll.points).mask
    right = float((found & roll.boundary).sum())
    return right / found.sum(), right / roll.boundary.sum()


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("variant", ["hole", "cut"])
def test_precision_and_recall_on_seeds_that_nothing_was_tuned_on(variant, noise) -> None:
    precision, recall = np.mean([scores(variant, noise, seed) for seed in range(4)], axis=0)
    assert precision >= 0.75
    assert recall >= 0.8


def test_a_disc_in_many_dimensions() -> None:
    """Padding with zeros and turning doesn't change the answer; nor does a little noise in all the other directions."""
    rng = np.random.default_rng(0)
    disc = rng.uniform(-1, 1, (2500, 2))
    disc = disc[np.linalg.norm(disc, axis=1) < 1]
    turn = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    high = np.pad(disc, ((0, 0), (0, 38))) @ turn
    flat, turned = boundary_points(disc), boundary_points(high)
    np.testing.assert_allclose(turned.score, flat.score, atol=0.05)
    assert np.mean(turned.mask == flat.mask) > 0.995
    radius = np.linalg.norm(disc, axis=1)
    assert flat.mask[radius > 0.985].mean() > 0.95
    assert flat.mask[radius < 0.9].mean() < 0.01
    noisy = boundary_points(high + rng.normal(scale=0.002, size=high.shape))
    assert np.mean(noisy.mask == flat.mask) > 0.97


def test_order_and_scale_do_not_matter() -> None:
    roll = swiss_roll(800, variant="hole", seed=2)
    order = np.random.default_rng(0).permutation(len(roll.points))
    found, other = boundary_points(roll.points), boundary_points(1000 * roll.points[order])
    np.testing.assert_allclose(other.score, found.score[order], atol=1e-6)
    np.testing.assert_array_equal(found.indices, np.flatnonzero(found.mask))


def test_a_closed_surface_has_next_to_none() -> None:
    sphere = np.random.default_rng(0).normal(size=(2000, 3))
    sphere /= np.linalg.norm(sphere, axis=1)[:, None]
    assert boundary_points(sphere).mask.mean() < 0.01


def test_few_points_coinciding_points_and_points_on_a_line() -> None:
    assert boundary_points([[0.0, 0], [1, 0], [0, 1]]).mask.all()
    assert boundary_points(np.zeros((5, 3))).score.tolist() == [1.0] * 5
    assert boundary_points(np.arange(30.0)[:, None]).mask.all()


def test_a_point_alone_is_no_boundary() -> None:
    """One hole of a single missing grid point has a boundary of four; raise the threshold until one is left of them."""
    grid = np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0)), axis=-1).reshape(-1, 2)
    found = boundary_points(grid)
    inside = np.all((grid > 5) & (grid < 24), axis=1)
    assert not found.mask[inside].any()
    moved = grid.copy()
    moved[15 * 30 + 15, 0] += 0.45
    assert not boundary_points(moved).mask[inside].any()


def test_figure_shows_all_points() -> None:
    roll = swiss_roll(200, variant="hole")
    found = boundary_points(roll.points)
    for figure in (boundary_figure(roll.points, found), boundary_figure(roll.points, found, coordinates=roll.flat)):
        drawn, ringed = figure.axes[0].collections
        assert len(drawn.get_offsets()) == len(roll.points)
        assert len(ringed.get_offsets()) == found.mask.sum()
    assert boundary_figure(np.pad(roll.points, ((0, 0), (0, 3))), found).axes
    line = np.arange(10.0)[:, None]
    assert boundary_figure(line, boundary_points(line)).axes


@pytest.mark.parametrize(
    ("X", "knobs", "message"),
    [
        (np.zeros(5), {}, "X must be at least two points"),
        (np.zeros((1, 3)), {}, "X must be at least two points"),
        ([[0.0, np.nan], [1, 1]], {}, "NaN or infinite"),
        (np.eye(5), {"n_neighbors": 2}, "n_neighbors must be at least 3"),
        (np.eye(5), {"threshold": np.nan}, "threshold must be finite"),
    ],
)
def test_bad_input_is_named(X, knobs, message) -> None:
    with pytest.raises(ValueError, match=message):
        boundary_points(X, **knobs)


def test_a_figure_needs_a_place_for_each_point() -> None:
    with pytest.raises(ValueError, match="must be 5 places"):
        boundary_figure(np.eye(5), boundary_points(np.eye(5)), coordinates=np.zeros((4, 2)))
