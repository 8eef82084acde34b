"""Figures of what can be trusted: the region guaranteed with one vertex, soft masks, and shares. Saved as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Num, UInt8

from partwhole.criterion.result import Criterion
from partwhole.mesh import Mesh, SurfaceLike, as_mesh
from partwhole.store.storage import saved
from partwhole.viewer.figures.render import (
    CHOSEN,
    GUARANTEED,
    NOT_GUARANTEED,
    Axis,
    Camera,
    Color,
    Dots,
    Polyline,
    automatic_camera,
    colormap,
    picture_extent,
    render,
    rgb,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {
    "boundary": "Boundary criterion $C_T$",
    "wormhole": "Wormhole criterion $C_W$",
    "same-loop": "Same-loop criterion $C_L$",
}
_INCH = 240  # pixels of a panel to an inch of the figure, so that text has the same size in every figure


@dataclass(frozen=True)
class Region:
    """What one panel shows: the vertices guaranteed with the chosen one.

    Parameters
    ----------
    title : the line above the panel
    mask : which vertices are guaranteed
    margin : threshold less distance, where it is known: ≥ 0 on the mask, and the edge of the region is drawn where it
        crosses 0 between vertices, not along triangles
    note : a second line; the share of vertices if none is given
    color : of the region
    """

    title: str
    mask: Bool[np.ndarray, "n"]
    margin: Float[np.ndarray, "n"] | None = None
    note: str | None = None
    color: Color = GUARANTEED["wormhole"]

    @classmethod
    def of(cls, criterion: Criterion, vertex: int, *, title: str | None = None) -> Region:
        """The pairs of `vertex` in a criterion, which must have a row for it."""
        row = row_of(criterion, vertex)
        with np.errstate(invalid="ignore"):  # both are infinite between components of a closed surface
            margin = criterion.threshold[row] - criterion.distances[row]
        return cls(title or TITLES[criterion.kind], criterion.mask[row], margin, color=GUARANTEED[criterion.kind])


def trust_figure(
    mesh: SurfaceLike,
    vertex: int,
    regions: Sequence[Region],
    *,
    title: str | None = None,
    camera: Camera | None = None,
    up: Axis | None = None,
    panel_height: int = 720,
    path: str | Path | None = None,
) -> Figure:
    """The regions guaranteed with one vertex, side by side: coloured where guaranteed, grey elsewhere.

    Boundaries are dark lines and the chosen vertex a red ball. Saved to `path` as PNG if it is given, completely or not
    at all.
    """
    mesh = as_mesh(mesh)
    _check_vertex(mesh, vertex)
    for region in regions:
        if np.shape(region.mask) != (mesh.n_vertices,):
            raise ValueError(f"{region.title}: mask must have shape ({mesh.n_vertices},), got {np.shape(region.mask)}")
    camera = camera or automatic_camera(mesh, vertex=vertex, up=up)
    pictures = []
    for region in regions:
        table = np.stack([rgb(NOT_GUARANTEED), rgb(region.color)])
        pictures.append(_panel(mesh, vertex, camera, panel_height, two_sides(region), table))
    notes = [region.note or f"{_percent(region.mask.mean())} of the vertices guaranteed" for region in regions]
    figure = _side_by_side(pictures, [region.title for region in regions], notes, title=title)
    return saved(figure, path)


def heat_figure(
    mesh: SurfaceLike,
    vertex: int,
    values: Sequence[Num[np.ndarray, "n"]],
    titles: Sequence[str],
    *,
    label: str = "soft mask with the chosen vertex",
    limits: tuple[float, float] = (0.0, 1.0),
    cmap: str = "viridis",
    title: str | None = None,
    camera: Camera | None = None,
    up: Axis | None = None,
    panel_height: int = 720,
    path: str | Path | None = None,
) -> Figure:
    """One number per vertex as a heat map with a colour bar, one panel for each of `values`: soft masks, distances."""
    mesh = as_mesh(mesh)
    _check_vertex(mesh, vertex)
    low, high = limits
    if not high > low:
        raise ValueError(f"limits must rise, got {limits}")
    camera = camera or automatic_camera(mesh, vertex=vertex, up=up)
    table = colormap(cmap)
    pictures = [
        _panel(mesh, vertex, camera, panel_height, np.clip((np.asarray(v, float) - low) / (high - low), 0, 1), table)
        for v in values
    ]
    figure = _side_by_side(pictures, list(titles), [""] * len(pictures), title=title, bar=True)
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    inches = figure.get_size_inches()
    bar = figure.add_axes((0.3, 0.45 / inches[1], 0.4, 0.1 / inches[1]))
    figure.colorbar(ScalarMappable(Normalize(low, high), cmap), cax=bar, orientation="horizontal")
    bar.tick_params(labelsize=8, length=2)
    bar.set_xlabel(label, fontsize=8.5, labelpad=2)
    return saved(figure, path)


def shares_figure(
    shares: Sequence[tuple[str, float, Color]],
    *,
    consistent: float | None = None,
    title: str | None = None,
    path: str | Path | None = None,
) -> Figure:
    """Shares of all pairs as bars below each other, and the share that is consistent as the line they can't pass.

    The criteria contain each other, so each bar starts with the one above it.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 0.95 + 0.42 * len(shares)), dpi=200, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for row, (name, share, color) in enumerate(shares):
        axes.barh(row, share, color=rgb(color), height=0.62, zorder=2)
        inside = share > 0.15
        axes.text(
            share + (-0.012 if inside else 0.012),
            row,
            _percent(share),
            va="center",
            ha="right" if inside else "left",
            color="white" if inside else "black",
            fontsize=9.5,
            zorder=4,
        )
        axes.text(-0.012, row, name, va="center", ha="right", fontsize=9.5)
    if consistent is not None:
        axes.axvline(consistent, color="#22252b", linewidth=1.4, linestyle=(0, (3, 2)), zorder=3)
        axes.axvspan(consistent, 1, color="#eceef0", zorder=0)
        axes.text(consistent, -0.62, f"consistent {_percent(consistent)}", ha="center", va="bottom", fontsize=9)
    axes.set(xlim=(0, 1), ylim=(len(shares) - 0.5, -0.6), yticks=[], xticks=np.linspace(0, 1, 6))
    axes.set_xticklabels([f"{x:.0%}" for x in np.linspace(0, 1, 6)], fontsize=8.5)
    axes.set_xlabel("share of all pairs of vertices", fontsize=9)
    axes.spines[["top", "right", "left"]].set_visible(False)
    if title:
        axes.set_title(title, fontsize=11, loc="left", pad=18 if consistent is not None else 8)
    return saved(figure, path)


def row_of(criterion: Criterion, vertex: int) -> int:
    """The row of a criterion that belongs to a vertex."""
    if criterion.rows is None:
        return vertex
    found = np.flatnonzero(criterion.rows == vertex)
    if not len(found):
        raise ValueError(f"vertex {vertex} is not among the {len(criterion.rows)} rows of the criterion")
    return int(found[0])


def _check_vertex(mesh: Mesh, vertex: int) -> None:
    if not 0 <= vertex < mesh.n_vertices:
        raise ValueError(f"vertex {vertex} is not in {mesh.name}, whose vertices are 0 to {mesh.n_vertices - 1}")


def two_sides(region: Region) -> Float[np.ndarray, "n"]:
    """Values that are ≥ ½ exactly on the mask, and cross ½ where the margin crosses 0."""
    mask = np.asarray(region.mask, bool)
    if region.margin is None:
        return np.where(mask, 0.75, 0.25)
    margin = np.nan_to_num(np.asarray(region.margin, float), nan=0.0, posinf=np.inf, neginf=-np.inf)
    finite = np.abs(margin[np.isfinite(margin)])
    scale = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    value = 0.5 + 0.4 * np.clip(margin / scale, -1, 1)
    # the mask has the last word where rounding puts the margin on the other side
    return np.where(mask, np.maximum(value, 0.5 + 1e-6), np.minimum(value, 0.5 - 1e-6))


def _panel(
    mesh: Mesh, vertex: int, camera: Camera, height: int, values: Num[np.ndarray, "n"], table: Float[np.ndarray, "t 3"]
) -> UInt8[np.ndarray, "h w 4"]:
    wide, high = picture_extent(mesh, camera)
    # neither a needle nor a banner: titles need some room, and three panels must fit a page
    width = int(height * min(max(wide / max(high, 1e-9), 0.62), 1.6))
    unit = height / 720
    return render(
        mesh,
        vertex_values=values,
        table=table,
        camera=camera,
        size=(width, height),
        lines=[Polyline(mesh.vertices[loop], width=2.5 * unit, closed=True) for loop in mesh.boundary_loops],
        dots=[Dots(mesh.vertices[[vertex]], CHOSEN, radius=10 * unit)],
    )


def _side_by_side(
    pictures: Sequence[UInt8[np.ndarray, "h w 4"]],
    titles: Sequence[str],
    notes: Sequence[str],
    *,
    title: str | None,
    bar: bool = False,
) -> Figure:
    from matplotlib.figure import Figure

    if not pictures or len(pictures) != len(titles):
        raise ValueError(
            f"{len(pictures)} panels and {len(titles)} titles; give at least one panel, and a title to each"
        )
    tall, wide = (length / _INCH for length in pictures[0].shape[:2])
    top, bottom, gap = (0.75 if title else 0.5), (0.65 if bar else 0.08), 0.1
    width, height = len(pictures) * (wide + gap) + gap, tall + top + bottom
    figure = Figure(figsize=(width, height), dpi=_INCH, facecolor="white")
    for k, picture in enumerate(pictures):
        left = gap + k * (wide + gap)
        axes: Axes = figure.add_axes((left / width, bottom / height, wide / width, tall / height))
        axes.imshow(picture, interpolation="none")
        axes.set_axis_off()
        middle = (left + wide / 2) / width
        figure.text(middle, 1 - (top - 0.22) / height, titles[k], ha="center", va="bottom", fontsize=9.5, weight="bold")
        figure.text(middle, 1 - (top - 0.17) / height, notes[k], ha="center", va="top", fontsize=8, color="#444a52")
    if title:
        figure.text(0.5, 1 - 0.1 / height, title, ha="center", va="top", fontsize=10.5)
    return figure


def _percent(share: float) -> str:
    """Rounded to a whole per cent, but never to 0 or 100 when it is neither.

    >>> _percent(0.4261), _percent(0.9999), _percent(1.0), _percent(0.001)
    ('43 %', '> 99 %', '100 %', '< 1 %')
    """
    if 0 < share < 0.01:
        return "< 1 %"
    if 0.99 < share < 1:
        return "> 99 %"
    return f"{share:.0%}".replace("%", " %")
