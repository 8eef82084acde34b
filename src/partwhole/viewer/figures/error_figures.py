"""A picture of a map beside the truth: where the part was mapped to, where it belongs, and how far the two are apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole.datasets.pairs import Pair
from partwhole.store.storage import saved
from partwhole.viewer.figures.map_figures import coordinate_colors, drawn, same_side, side_by_side
from partwhole.viewer.figures.render import NOT_GUARANTEED, Axis, automatic_camera, colormap, guess_up, rgb

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TABLE = "YlOrRd"
# errors from here on have the last colour
_FAR = 0.25


def error_figure(
    pair: Pair,
    vertex_map: Int[np.ndarray, "p"],
    errors: Float[np.ndarray, "g"],
    *,
    up: Axis | None = None,
    panel_height: int = 420,
    path: str | Path | None = None,
) -> Figure:
    """The whole in colours; the part in the colours of its places, as found and as they truly are; and its errors.

    Parameters
    ----------
    pair : with its ground truth
    vertex_map : for each vertex of the part its vertex of the whole
    errors : of each row of the ground truth, divided by √area of the whole
    up : the axis that points up in the picture; guessed if not given
    panel_height : in pixels
    path : where to save it as PNG
    """
    truth = pair.ground_truth
    if truth is None or len(truth) != len(errors):
        known = 0 if truth is None else len(truth)
        raise ValueError(f"there are {len(errors)} errors and {known} rows of ground truth; give one for each row")
    colors = coordinate_colors(pair.whole)
    unknown = np.tile(rgb(NOT_GUARANTEED), (pair.part.n_vertices, 1))
    true, wrong = unknown.copy(), unknown.copy()
    true[truth.part_vertices] = truth.points(colors)
    table = colormap(_TABLE)
    wrong[truth.part_vertices] = table[(np.clip(errors / _FAR, 0, 1) * (len(table) - 1)).astype(np.int64)]
    axis = guess_up(pair.whole) if up is None else up
    camera = automatic_camera(pair.whole, up=axis)
    # where it truly lies, so that the part is seen from the side from which the whole is
    places = pair.whole.vertices[vertex_map]
    places[truth.part_vertices] = truth.points(pair.whole.vertices)
    same = same_side(camera, pair.part, places, axis)
    panels = [(drawn(pair.whole, camera, panel_height, colors), "whole")]
    for coat, name in ((colors[vertex_map], "part, as matched"), (true, "as it belongs"), (wrong, "error")):
        panels.append((drawn(pair.part, same, panel_height, coat), name))
    return saved(side_by_side(panels), path)
