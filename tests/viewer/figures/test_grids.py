from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets import Pair, cut_plane, make_body
from partwhole.viewer.figures.grids import map_grid


@pytest.fixture(scope="module")
def pair() -> Pair:
    rest = make_body("hand", 500, seed=0).rest
    return Pair.of_cut(cut_plane(rest, tuple(rest.vertices.mean(axis=0)), (0.0, 1.0, 0.0)))


def pixels(figure) -> np.ndarray:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(float)


def test_a_map_that_is_right_looks_like_the_truth(pair: Pair) -> None:
    assert pair.ground_truth is not None
    right = pair.ground_truth.whole_vertices
    figure = map_grid([pair], {"right": [right], "wrong": [np.zeros_like(right)]}, panel_height=120)
    pictures = [np.asarray(axes.images[0].get_array()) for axes in figure.axes]
    whole, truth, found, wrong = pictures
    np.testing.assert_array_equal(found, truth)
    assert np.abs(wrong.astype(float) - truth).mean() > 3
    assert whole.shape[0] == truth.shape[0]
    assert pixels(figure).std() > 10


def test_each_method_maps_each_pair(pair: Pair) -> None:
    with pytest.raises(ValueError, match=r"1 pairs and {'one': 0} maps"):
        map_grid([pair], {"one": []})
    with pytest.raises(ValueError, match="has no ground truth, which the second column shows"):
        map_grid([Pair(pair.part, pair.whole, name="unknown")], {})
