"""Pictures of maps have what they should have."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.embedding.methods.comparison_figure import Panel, grid_figure, map_figure

PLACES = np.random.default_rng(0).standard_normal((30, 2))


def test_a_grid_has_bands() -> None:
    row = [Panel(f"method {k}", PLACES, PLACES[:, 0], f"error {k}") for k in range(4)]
    row.append(Panel("method 4", None, note="failed"))
    figure = grid_figure([row, row], row_labels=["whole", "hole"], title="all", per_band=3)
    grid = np.array(figure.axes).reshape(4, 3)
    titles = [[axes.get_title() for axes in band] for band in grid]
    assert titles == [[f"method {k}" for k in range(3)], [""] * 3, ["method 3", "method 4", ""], [""] * 3]
    assert grid[0, 0].texts[-1].get_text() == "whole"
    assert [text.get_text() for text in grid[3, 1].texts] == ["failed"]
    assert not grid[3, 2].collections
    figure.canvas.draw()


def test_a_grid_with_rows_of_different_length() -> None:
    with pytest.raises(ValueError, match=r"rows must be of one length and have a label each, got \[1, 2\] panels"):
        grid_figure([[Panel("a", PLACES)], [Panel("a", PLACES)] * 2], row_labels=["x", "y"])


@pytest.mark.parametrize("given", [1, 2, 3, 5])
@pytest.mark.parametrize("made", [1, 2, 4])
def test_a_map_beside_its_points(given: int, made: int) -> None:
    rng = np.random.default_rng(0)
    figure = map_figure(
        rng.standard_normal((30, given)), rng.standard_normal((30, made)), title="WHCIE", boundary=np.array([0, 3])
    )
    left, right = figure.axes
    assert left.get_title() == "30 points, 2 on the boundary"
    assert right.get_title() == "WHCIE"
    assert len(left.collections) == len(right.collections) == 2
    figure.canvas.draw()


def test_a_map_without_boundary() -> None:
    figure = map_figure(PLACES, PLACES, title="PCA")
    assert figure.axes[0].get_title() == "30 points"
    assert len(figure.axes[0].collections) == 1
