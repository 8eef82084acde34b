"""Grids of maps: a row for each pair, the whole and the truth first, then what each method found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int, UInt8

from partwhole.datasets.pairs import Pair
from partwhole.store.storage import saved
from partwhole.viewer.figures.map_figures import coordinate_colors, drawn, same_side
from partwhole.viewer.figures.render import NOT_GUARANTEED, Axis, automatic_camera, guess_up, rgb

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INCH = 200


def map_grid(
    pairs: Sequence[Pair],
    maps: Mapping[str, Sequence[Int[np.ndarray, "_"]]],
    *,
    notes: Mapping[str, Sequence[str]] | None = None,
    up: Axis | None = None,
    panel_height: int = 360,
    path: str | Path | None = None,
) -> Figure:
    """For each pair the whole in colours, the part in those of its true places, and in those that each method found.

    Parameters
    ----------
    pairs : the rows; all with ground truth
    maps : by the name of a method, its map of each pair
    notes : by the name of a method, a few words below each of its pictures, such as the error
    up : the axis that points up in the pictures; guessed for each pair if not given
    panel_height : in pixels
    path : where to save it as PNG
    """
    if not pairs or any(len(found) != len(pairs) for found in maps.values()):
        counts = {name: len(found) for name, found in maps.items()}
        raise ValueError(f"there are {len(pairs)} pairs and {counts} maps; give each method's map of each pair")
    rows = [
        _row(pair, {name: found[k] for name, found in maps.items()}, up, panel_height) for k, pair in enumerate(pairs)
    ]
    below = [["", "", *((notes or {}).get(name, [""] * len(pairs))[k] for name in maps)] for k in range(len(pairs))]
    return saved(_grid(rows, ["whole", "truth", *maps], below), path)


def _row(
    pair: Pair, maps: Mapping[str, Int[np.ndarray, "_"]], up: Axis | None, height: int
) -> list[UInt8[np.ndarray, "h _ 4"]]:
    truth = pair.ground_truth
    if truth is None:
        raise ValueError(f"{pair.name} has no ground truth, which the second column shows")
    colors = coordinate_colors(pair.whole)
    true = np.tile(rgb(NOT_GUARANTEED), (pair.part.n_vertices, 1))
    true[truth.part_vertices] = truth.points(colors)
    axis = guess_up(pair.whole) if up is None else up
    camera = automatic_camera(pair.whole, up=axis)
    places = np.tile(pair.whole.vertices.mean(axis=0), (pair.part.n_vertices, 1))
    places[truth.part_vertices] = truth.points(pair.whole.vertices)
    same = same_side(camera, pair.part, places, axis)
    coats = [true, *(colors[found] for found in maps.values())]
    return [drawn(pair.whole, camera, height, colors), *(drawn(pair.part, same, height, coat) for coat in coats)]


def _grid(
    rows: Sequence[Sequence[UInt8[np.ndarray, "_ _ 4"]]], titles: Sequence[str], below: Sequence[Sequence[str]]
) -> Figure:
    from matplotlib.figure import Figure

    gap, top, line = 0.1, 0.35, 0.25
    widths = [max(row[k].shape[1] for row in rows) / _INCH for k in range(len(titles))]
    tall = rows[0][0].shape[0] / _INCH
    width = sum(widths) + gap * (len(widths) + 1)
    height = top + len(rows) * (tall + line)
    figure = Figure(figsize=(width, height), dpi=_INCH, facecolor="white")
    for number, (row, notes) in enumerate(zip(rows, below, strict=True)):
        bottom = height - top - (number + 1) * (tall + line) + line
        left = gap
        for picture, note, title, wide in zip(row, notes, titles, widths, strict=True):
            own = picture.shape[1] / _INCH
            place = ((left + (wide - own) / 2) / width, bottom / height, own / width, tall / height)
            axes = figure.add_axes(place)
            axes.imshow(picture, interpolation="none")
            axes.set_axis_off()
            middle = (left + wide / 2) / width
            if number == 0:
                figure.text(middle, 1 - 0.1 / height, title, ha="center", va="top", fontsize=8)
            figure.text(middle, (bottom - 0.02) / height, note, ha="center", va="top", fontsize=7)
            left += wide + gap
    return figure
