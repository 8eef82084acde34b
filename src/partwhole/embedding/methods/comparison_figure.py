"""Pictures of maps: a grid of many methods on several samples, and one map beside what it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from partwhole.store.compute import with_fixed_signs

_COLORS = "turbo"


@dataclass(frozen=True, eq=False)
class Panel:
    """One map: the places, a value for each point that colours it, and a line below. Without places, only the line."""

    title: str
    places: Float[np.ndarray, "n 2"] | None
    values: Float[np.ndarray, "n"] | None = None
    note: str = ""


def grid_figure(
    rows: Sequence[Sequence[Panel]], *, row_labels: Sequence[str], title: str | None = None, per_band: int = 6
) -> Any:
    """A matplotlib figure: a row for each sample and a column for each method, in bands of `per_band` methods.

    Titles stand above each band; every panel has axes of its own, both with the same scale.

    Parameters
    ----------
    rows : panels of each sample, the same methods in the same order
    row_labels : what to write beside each row
    title : a line above everything
    per_band : columns of a band
    """
    from matplotlib.figure import Figure

    if len(row_labels) != len(rows) or len({len(row) for row in rows}) != 1:
        raise ValueError(
            f"rows must be of one length and have a label each, got {[len(row) for row in rows]} panels and "
            f"{len(row_labels)} labels"
        )
    columns = len(rows[0])
    across, bands = min(per_band, columns), -(-columns // per_band)
    down = bands * len(rows)
    figure = Figure(figsize=(2.0 * across + 0.4, 1.55 * down + 0.4), dpi=150, layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for number in range(columns):
        band, column = divmod(number, per_band)
        for place, (row, label) in enumerate(zip(rows, row_labels, strict=True)):
            axes = grid[band * len(rows) + place, column]
            _draw(axes, row[number])
            if place == 0:
                axes.set_title(row[number].title, fontsize=8)
            if column == 0:
                axes.text(-0.04, 0.5, label, transform=axes.transAxes, rotation=90, ha="right", va="center", fontsize=8)
    if title:
        figure.suptitle(title, fontsize=10)
    return figure


def map_figure(
    points: Float[np.ndarray, "n d"],
    embedding: Float[np.ndarray, "n k"],
    *,
    title: str,
    boundary: Int[np.ndarray, "b"] | None = None,
) -> Any:
    """A matplotlib figure: what was given on the left, its map on the right, in the same colours; boundary points ringed.

    Parameters
    ----------
    points : where the points lie in space; principal components of them where there are more than three coordinates
    embedding : the map; its first three coordinates where there are more
    title : above the map
    boundary : numbers of the boundary points
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.6), dpi=150, layout="constrained")
    # colours follow the longer side of the map, with as many points of each
    centred = embedding - embedding.mean(axis=0)
    values = np.argsort(np.argsort(centred @ with_fixed_signs(np.linalg.eigh(centred.T @ centred)[1][:, -1:])[:, 0]))
    shown = np.pad(embedding, ((0, 0), (0, 1))) if embedding.shape[1] == 1 else embedding[:, :3]
    for number, (places, heading) in enumerate([(_at_most_three(points), f"{len(points)} points"), (shown, title)]):
        axes: Any = figure.add_subplot(1, 2, 1 + number, projection="3d" if places.shape[1] == 3 else None)
        axes.scatter(*places.T, c=values, s=6, cmap=_COLORS, linewidths=0)
        if boundary is not None and len(boundary):
            axes.scatter(*places[boundary].T, facecolors="none", edgecolors="black", s=16, linewidths=0.4)
            heading += f", {len(boundary)} on the boundary" * (number == 0)
        axes.set_aspect("equal" if np.ptp(places, axis=0).all() else "auto")
        axes.set_title(heading, fontsize=10)
        axes.tick_params(labelsize=7)
    return figure


def _draw(axes: Any, panel: Panel) -> None:
    if panel.places is None:
        axes.text(0.5, 0.5, panel.note, transform=axes.transAxes, ha="center", va="center", fontsize=7, wrap=True)
        return
    axes.scatter(*panel.places.T, c=panel.values, s=1.2, cmap=_COLORS, linewidths=0, rasterized=True)
    axes.set_aspect("equal", adjustable="datalim")
    axes.text(0.5, -0.02, panel.note, transform=axes.transAxes, ha="center", va="top", fontsize=7)


def _at_most_three(points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n c"]:
    """The points in the plane or in space, by their principal components where they have more coordinates."""
    if points.shape[1] == 1:
        return np.pad(points, ((0, 0), (0, 1)))
    if points.shape[1] <= 3:
        return points
    left, size, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    return with_fixed_signs((left * size)[:, :3])
