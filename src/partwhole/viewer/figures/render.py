"""Pictures of surfaces without a display or a GPU: a depth buffer, smooth shading, lines and balls, and colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Num, UInt8

from partwhole.mesh import Mesh
from partwhole.viewer.figures.camera import Camera, Projection, automatic_camera, winds_inwards

Color = str | Sequence[float]

SURFACE = "#c9ced6"  # a surface about which nothing is said
NOT_GUARANTEED = "#d3d5d8"
GUARANTEED = {"boundary": "#e0a13a", "wormhole": "#3f8fd2", "same-loop": "#3aa27e"}
BOUNDARY = "#22252b"
CHOSEN = "#d7263d"
PATH = "#6b2fa0"
INSIDE = "#8a6f63"


@dataclass(frozen=True)
class Polyline:
    """A chain of straight pieces in space, `width` pixels wide: a boundary, a path. It passes behind what is nearer."""

    points: Float[np.ndarray, "k 3"]
    color: Color = BOUNDARY
    width: float = 1.6
    closed: bool = False


@dataclass(frozen=True)
class Dots:
    """Little balls at points in space, `radius` pixels in the picture."""

    points: Float[np.ndarray, "k 3"]
    color: Color = CHOSEN
    radius: float = 6.0


def render(
    mesh: Mesh,
    *,
    vertex_colors: Float[np.ndarray, "n 3"] | None = None,
    face_colors: Float[np.ndarray, "m 3"] | None = None,
    vertex_values: Num[np.ndarray, "n"] | None = None,
    table: Float[np.ndarray, "t 3"] | None = None,
    color: Color = SURFACE,
    inside: Color = INSIDE,
    camera: Camera | None = None,
    size: tuple[int, int] = (600, 600),
    margin: float = 0.03,
    supersample: int = 2,
    background: Color | None = "white",
    outlined: bool = True,
    lines: Sequence[Polyline] = (),
    dots: Sequence[Dots] = (),
) -> UInt8[np.ndarray, "h w 4"]:
    """Picture of a surface, (height, width, 4), red, green, blue and opacity from 0 to 255.

    Shaded smoothly; where the surface is open one sees its inside, tinted `inside`. The same input gives the same
    bytes.

    Parameters
    ----------
    vertex_colors, face_colors : colours from 0 to 1; at most one of these and `vertex_values`
    vertex_values : numbers from 0 to 1, interpolated and then looked up in `table` (viridis if none), so that bands of
        colour have sharp edges
    color : of a surface without any of the three
    camera : where to look from; `automatic_camera(mesh)` if none is given
    size : width and height in pixels
    margin : share of the picture left free on each side
    supersample : the picture is drawn this many times larger and averaged
    background : a colour, or None for transparent
    outlined : darken silhouettes by a thin line
    lines, dots : drawn on top of the surface they lie on, and hidden by what is nearer

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> picture = render(square, camera=Camera(elevation=90), size=(40, 40), margin=0.25, background=None)
    >>> int((picture[..., 3] > 0).sum())
    400
    """
    _check_picture(mesh, size, supersample, vertex_colors, face_colors, vertex_values)
    from partwhole.viewer.figures.cpu import raster

    width, height = size[0] * supersample, size[1] * supersample
    camera = camera or automatic_camera(mesh)
    projection = Projection.fit(camera, mesh, (width, height), margin=margin)
    corners = projection(mesh.vertices)
    near = np.zeros((height, width))
    face_at = np.full((height, width), -1, np.int64)
    weights_at = np.zeros((height, width, 2))
    raster.rasterise(corners, mesh.faces, near, face_at, weights_at)

    picture = np.zeros((height, width, 4))
    if vertex_colors is None and face_colors is None and vertex_values is None:
        vertex_colors = np.broadcast_to(rgb(color), mesh.vertices.shape)
    raster.shade(
        picture,
        face_at,
        weights_at,
        corners,
        mesh.faces,
        np.ascontiguousarray(mesh.vertex_normals @ camera.axes.T),
        _rows(vertex_colors, (0, 3)),
        _rows(face_colors, (0, 3)),
        _rows(vertex_values, (0,)),
        np.ascontiguousarray(colormap("viridis") if table is None else table, dtype=np.float64),
        rgb(inside),
        winds_inwards(mesh),
    )
    if outlined:
        raster.outline(picture, near, max(supersample // 2, 1), 0.04, 0.55)
    for line in lines:
        ends = _segments(projection(np.asarray(line.points, np.float64)), line.closed)
        raster.draw_segments(picture, near, ends, rgb(line.color), line.width * supersample / 2, 0.02)
    for group in dots:
        centres = projection(np.asarray(group.points, np.float64).reshape(-1, 3))
        radius = group.radius * supersample
        raster.draw_balls(picture, near, centres, rgb(group.color), radius, projection.scale, 0.01)
    return _averaged(picture, supersample, background)


def _check_picture(
    mesh: Mesh,
    size: tuple[int, int],
    supersample: int,
    vertex_colors: np.ndarray | None,
    face_colors: np.ndarray | None,
    vertex_values: np.ndarray | None,
) -> None:
    if min(size) < 1 or supersample < 1 or max(size) * supersample > 20_000:
        raise ValueError(f"size {size} and supersample {supersample} must be positive, and at most 20000 together")
    allowed = {
        "vertex_colors": (vertex_colors, (mesh.n_vertices, 3)),
        "face_colors": (face_colors, (mesh.n_faces, 3)),
        "vertex_values": (vertex_values, (mesh.n_vertices,)),
    }
    given = [(name, np.asarray(array, float), shape) for name, (array, shape) in allowed.items() if array is not None]
    if len(given) > 1:
        names = " and ".join(name for name, _, _ in given)
        raise ValueError(f"{names} were given; a surface is coloured by one of them")
    for name, array, shape in given:
        if array.shape != shape:
            raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds values that are not finite; give every vertex or face a colour")


def _rows(array: np.ndarray | None, empty: tuple[int, ...]) -> Float[np.ndarray, "..."]:
    return np.empty(empty) if array is None else np.ascontiguousarray(array, dtype=np.float64)


def _segments(placed: Float[np.ndarray, "k 3"], closed: bool) -> Float[np.ndarray, "s 2 3"]:
    following = np.roll(placed, -1, axis=0)
    ends = np.stack([placed, following], axis=1)
    return ends if closed else np.ascontiguousarray(ends[:-1])


def _averaged(
    picture: Float[np.ndarray, "H W 4"], supersample: int, background: Color | None
) -> UInt8[np.ndarray, "h w 4"]:
    """Means over squares of `supersample` pixels, over the background; colours count by their opacity."""
    # a sum of slices: NumPy is slow at means over axes as short as these
    mean = picture[::supersample, ::supersample].copy()
    for row, column in list(np.ndindex(supersample, supersample))[1:]:
        mean += picture[row::supersample, column::supersample]
    mean /= supersample**2
    opacity = mean[..., 3:]
    if background is not None:
        mean = np.concatenate([mean[..., :3] + rgb(background) * (1 - opacity), np.ones_like(opacity)], axis=2)
    else:
        mean[..., :3] = np.divide(mean[..., :3], opacity, out=np.zeros_like(mean[..., :3]), where=opacity > 0)
    return np.round(np.clip(mean, 0, 1) * 255).astype(np.uint8)


def rgb(color: Color) -> Float[np.ndarray, "3"]:
    """Red, green, blue from 0 to 1 of anything matplotlib calls a colour.

    >>> rgb("#ff8000").round(2).tolist()
    [1.0, 0.5, 0.0]
    """
    from matplotlib.colors import to_rgb

    try:
        return np.array(to_rgb(color))
    except ValueError:
        raise ValueError(
            f"color {color!r} is not a colour; use a name, '#rrggbb' or three numbers from 0 to 1"
        ) from None


def colormap(name: str, *, entries: int = 256) -> Float[np.ndarray, "t 3"]:
    """The colours of a matplotlib colour map, lowest value first.

    >>> colormap("gray", entries=3).round(1).tolist()
    [[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [1.0, 1.0, 1.0]]
    """
    from matplotlib import colormaps

    if name not in colormaps:
        raise ValueError(f"colormap {name!r} is unknown; use one of matplotlib's, such as 'viridis'")
    return np.asarray(colormaps[name](np.linspace(0, 1, entries)))[:, :3]
