from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from partwhole.datasets import swiss_roll
from partwhole.datasets.shapes.swiss_roll import arc_length


def test_flat_coordinates_are_arc_length_and_width() -> None:
    roll = swiss_roll(50, seed=3)
    t = np.hypot(roll.points[:, 0], roll.points[:, 2])
    for angle, (along, across), y in zip(t[:10], roll.flat[:10], roll.points[:10, 1], strict=True):
        assert along == pytest.approx(quad(lambda s: np.sqrt(1 + s**2), 1.5 * np.pi, angle)[0])
        assert across == y
    assert arc_length(0.0) == 0


def test_neighbours_on_the_sheet_are_as_far_apart_in_space() -> None:
    roll = swiss_roll(20_000, seed=0)
    apart = np.linalg.norm(roll.flat[:, None] - roll.flat[None, :50], axis=2)
    i, j = np.nonzero((apart > 0) & (apart < 0.4))
    in_space = np.linalg.norm(roll.points[i] - roll.points[j], axis=1)
    assert len(i) > 50
    np.testing.assert_allclose(in_space, apart[i, j], rtol=1e-3)


def test_variants_share_their_samples() -> None:
    whole, hole, cut = (swiss_roll(500, variant=variant, noise=0.2, seed=7) for variant in ("whole", "hole", "cut"))
    everywhere = {tuple(p) for p in whole.points}
    assert {tuple(p) for p in cut.points} < {tuple(p) for p in hole.points} < everywhere
    assert len(whole.points) == 500


def test_nothing_is_left_in_what_is_missing() -> None:
    hole, cut = swiss_roll(variant="hole"), swiss_roll(variant="cut")
    ends = arc_length(1.5 * np.pi * (1 + 2 * np.array([0.1, 0.9]))) - arc_length(1.5 * np.pi)
    for roll, last in ((hole, ends[1]), (cut, np.inf)):
        along, across = roll.flat.T
        inside = (along > ends[0]) & (along < last) & (across > 12) & (across < 18)
        assert not inside.any()
    across = hole.flat[hole.flat[:, 0] > ends[1], 1]
    assert ((across > 12) & (across < 18)).any()


@pytest.mark.parametrize("variant", ["whole", "hole", "cut"])
def test_the_boundary_lies_along_the_edges_of_the_sheet(variant) -> None:
    roll = swiss_roll(variant=variant, seed=1)
    along, across = roll.flat.T
    length = arc_length(4.5 * np.pi) - arc_length(1.5 * np.pi)
    to_edge = np.minimum.reduce([along, length - along, across, 30 - across])
    assert roll.boundary[to_edge < 0.2].all()
    if variant == "whole":
        assert not roll.boundary[to_edge > 4].any()
    else:
        assert roll.boundary[to_edge > 4].any()


def test_noise_moves_points_only() -> None:
    still, noisy = swiss_roll(3000, seed=5), swiss_roll(3000, noise=0.2, seed=5)
    np.testing.assert_array_equal(still.flat, noisy.flat)
    assert (noisy.points - still.points).std() == pytest.approx(0.2, rel=0.05)


def test_a_seed_decides_everything() -> None:
    one, other = swiss_roll(100, seed=np.random.default_rng(4)), swiss_roll(100, seed=4)
    np.testing.assert_array_equal(one.points, other.points)
    np.testing.assert_array_equal(one.boundary, other.boundary)
    assert repr(one).startswith("SwissRoll(whole, 100 points")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_samples": 6}, "n_samples must be at least 7, got 6"),
        ({"noise": -1.0}, "noise must be finite"),
        ({"width": 0.0}, "width must be positive"),
        ({"variant": "torn"}, 'variant must be "whole"'),
    ],
)
def test_bad_arguments_are_named(wrong, message) -> None:
    with pytest.raises(ValueError, match=message):
        swiss_roll.__wrapped__(**wrong)
