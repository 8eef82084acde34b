"""Colours by name and colour maps."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.viewer.figures.colors import GUARANTEED, colormap, rgb


def test_colours_of_the_criteria_can_be_told_apart() -> None:
    colors = np.stack([rgb(color) for color in GUARANTEED.values()])
    apart = np.linalg.norm(colors[:, None] - colors[None], axis=2)
    assert apart[~np.eye(len(colors), dtype=bool)].min() > 0.25


def test_a_colour_map_runs_from_its_first_to_its_last_colour() -> None:
    table = colormap("viridis")
    assert table.shape == (256, 3)
    np.testing.assert_allclose(table[[0, -1]], [[0.267, 0.005, 0.329], [0.993, 0.906, 0.144]], atol=1e-3)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="'sunset' is unknown"):
        colormap("sunset")
    with pytest.raises(ValueError, match="'#12' is not a colour"):
        rgb("#12")
