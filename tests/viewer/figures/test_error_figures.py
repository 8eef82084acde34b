from __future__ import annotations

from pathlib import Path

import matplotlib.image as image
import numpy as np
import pytest

from partwhole.datasets import Pair, cut_plane, make_body
from partwhole.viewer.figures.error_figures import error_figure


@pytest.fixture(scope="module")
def pair() -> Pair:
    body = make_body("biped", 600, seed=0)
    return Pair.of_cut(cut_plane(body.rest, tuple(body.rest.vertices.mean(axis=0)), (0.0, 1.0, 0.0)))


def test_errors_are_red_where_they_are(pair: Pair, tmp_path: Path) -> None:
    truth = pair.ground_truth
    assert truth is not None
    pictures = []
    for name, error in (("right", 0.0), ("wrong", 0.5)):
        path = tmp_path / f"{name}.png"
        error_figure(pair, truth.whole_vertices, np.full(len(truth), error), panel_height=120, path=path)
        pictures.append(image.imread(path)[..., :3])
    right, wrong = pictures
    assert right.shape == wrong.shape
    # of the four panels only the last differs: the map is the same
    different = np.flatnonzero(np.abs(right - wrong).max(axis=(0, 2)) > 0.05)
    assert different.min() > 0.6 * right.shape[1]
    last = wrong[:, different]
    assert (last[..., 0] - last[..., 2])[last.min(axis=2) < 0.5].mean() > 0.2


def test_errors_and_truth_must_fit(pair: Pair) -> None:
    assert pair.ground_truth is not None
    vertex_map = pair.ground_truth.whole_vertices
    with pytest.raises(ValueError, match=r"3 errors and \d+ rows of ground truth"):
        error_figure(pair, vertex_map, np.zeros(3))
    with pytest.raises(ValueError, match="3 errors and 0 rows of ground truth"):
        error_figure(Pair(pair.part, pair.whole), vertex_map, np.zeros(3))
