"""Figures of a map: the whole in colours, the part in those of the places its vertices go to, and how sure each place is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Complex, Float, Int, UInt8

from partwhole.mesh import Mesh, SurfaceLike, as_mesh
from partwhole.store.storage import saved
from partwhole.viewer.figures.render import (
    NOT_GUARANTEED,
    Axis,
    Camera,
    Polyline,
    automatic_camera,
    colormap,
    guess_up,
    picture_extent,
    render,
    rgb,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INCH = 200
_SHOWN = "RdYlBu"


def coordinate_colors(mesh: SurfaceLike) -> Float[np.ndarray, "n 3"]:
    """Red, green and blue by x, y and z, each from the lowest to the highest: every place has a colour of its own.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> coordinate_colors(square).round(2).tolist()
    [[0.08, 0.08, 0.5], [0.95, 0.08, 0.5], [0.95, 0.95, 0.5], [0.08, 0.95, 0.5]]
    """
    mesh = as_mesh(mesh)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    size = np.where(high > low, high - low, 1.0)
    place = np.where(high > low, (mesh.vertices - low) / size, 0.48)
    # neither black nor white, so that shading can be told from colour
    return 0.08 + 0.87 * place


def map_figure(
    part: SurfaceLike,
    whole: SurfaceLike,
    vertex_map: Int[np.ndarray, "p"],
    *,
    matched: Bool[np.ndarray, "p"] | None = None,
    up: tuple[Axis, Axis] | None = None,
    panel_height: int = 560,
    path: str | Path | None = None,
) -> Figure:
    """Part and whole side by side, each from the same two sides, equal places in equal colours; saved as PNG.

    Parameters
    ----------
    part, whole : the surfaces
    vertex_map : for each vertex of the part its vertex of the whole
    matched : False for vertices that have no place of their own; they are grey
    up : the axis that points up in the picture, of the part and of the whole; guessed if not given
    panel_height : in pixels
    path : where to save it
    """
    part, whole = as_mesh(part, name="part"), as_mesh(whole, name="whole")
    colors = coordinate_colors(whole)
    of_part = colors[vertex_map]
    if matched is not None and not matched.all():
        of_part = np.where(matched[:, None], of_part, rgb(NOT_GUARANTEED))
    seen = automatic_camera(whole, up=up[1] if up else None)
    same = same_side(seen, part, whole.vertices[vertex_map], up[0] if up else guess_up(part))
    panels = []
    for mesh, coat, camera, name in ((whole, colors, seen, "whole"), (part, of_part, same, "part")):
        for view, side in two_sides(camera):
            panels.append((drawn(mesh, view, panel_height, coat), f"{name}, {side}"))
    return saved(side_by_side(panels), path)


def confidence_figure(
    part: SurfaceLike,
    confidence: Float[np.ndarray, "p"],
    *,
    up: Axis | None = None,
    panel_height: int = 560,
    path: str | Path | None = None,
) -> Figure:
    """The part from two sides, red where its places are doubtful and blue where they are sure; saved as PNG.

    Parameters
    ----------
    part : the surface
    confidence : from 0 to 1, for each vertex
    up, panel_height, path : as in `map_figure`
    """
    part = as_mesh(part, name="part")
    table = colormap(_SHOWN)
    coat = table[np.clip(np.rint(np.asarray(confidence) * (len(table) - 1)), 0, len(table) - 1).astype(np.int64)]
    views = two_sides(automatic_camera(part, up=up))
    panels = [(drawn(part, camera, panel_height, coat), f"part, {side}") for camera, side in views]
    figure = side_by_side(panels, bar=True)
    from matplotlib.cm import ScalarMappable

    height = figure.get_size_inches()[1]
    bar = figure.add_axes((0.25, 0.42 / height, 0.5, 0.1 / height))
    figure.colorbar(ScalarMappable(cmap=_SHOWN), cax=bar, orientation="horizontal")
    bar.tick_params(labelsize=8, length=2)
    bar.set_xlabel("confidence", fontsize=8.5, labelpad=2)
    return saved(figure, path)


def same_side(camera: Camera, part: Mesh, places: Float[np.ndarray, "p 3"], up: Axis) -> Camera:
    """The camera that sees the part from the side from which the given one sees its places.

    The turn about the vertical that brings the part to its places best is Σ over the vertices of r · r′, as complex numbers.

    Parameters
    ----------
    camera : that looks at the whole
    part : the surface
    places : of its vertices, on the whole
    up : the axis of the part that points up
    """
    here, there = _on_ground(part.vertices, up), _on_ground(places, camera.up)
    turn = np.sum((there - there.mean()) * np.conj(here - here.mean()))
    return replace(camera, up=up, azimuth=camera.azimuth - float(np.degrees(np.angle(turn))))


def _on_ground(points: Float[np.ndarray, "p 3"], up: Axis) -> Complex[np.ndarray, "p"]:
    """Points from above, as complex numbers that grow by the factor exp(i α) in a turn by the azimuth α."""
    first, second = (Camera(azimuth, 0.0, up).axes[2] for azimuth in (0.0, 90.0))
    return points @ first + 1j * (points @ second)


def two_sides(camera: Camera) -> list[tuple[Camera, str]]:
    return [(camera, "one side"), (replace(camera, azimuth=camera.azimuth + 180), "the other")]


def drawn(
    mesh: Mesh, camera: Camera, height: int, coat: Float[np.ndarray, "n 3"], *, frame: Mesh | None = None
) -> UInt8[np.ndarray, "h w 4"]:
    """One panel, in the shape of the surface, or of the `frame` that fills it."""
    wide, high = picture_extent(frame or mesh, camera)
    width = int(height * min(max(wide / max(high, 1e-9), 0.4), 1.6))
    lines = [Polyline(mesh.vertices[loop], width=1.5 * height / 560, closed=True) for loop in mesh.boundary_loops]
    return render(mesh, vertex_colors=coat, camera=camera, frame=frame, size=(width, height), lines=lines)


def side_by_side(panels: Sequence[tuple[UInt8[np.ndarray, "_ _ 4"], str]], *, bar: bool = False) -> Figure:
    from matplotlib.figure import Figure

    gap, top, bottom = 0.1, 0.3, 0.6 if bar else 0.1
    widths = [picture.shape[1] / _INCH for picture, _ in panels]
    width, tall = sum(widths) + gap * (len(panels) + 1), panels[0][0].shape[0] / _INCH
    height = tall + top + bottom
    figure = Figure(figsize=(width, height), dpi=_INCH, facecolor="white")
    left = gap
    for (picture, title), wide in zip(panels, widths, strict=True):
        axes = figure.add_axes((left / width, bottom / height, wide / width, tall / height))
        axes.imshow(picture, interpolation="none")
        axes.set_axis_off()
        figure.text((left + wide / 2) / width, 1 - 0.08 / height, title, ha="center", va="top", fontsize=9)
        left += wide + gap
    return figure
