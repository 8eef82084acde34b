"""Pictures of surfaces without a display or a GPU: a depth buffer, smooth shading, lines and balls, and colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Num, UInt8

from partwhole.mesh import Mesh, SurfaceLike, as_mesh
from partwhole.store.compute import first_largest

Axis = Literal["x", "y", "z"]
# the two axes that span the ground, so that (first, second, up) is right-handed
_GROUND = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}
# beyond this many radii rays are parallel to far below a pixel, and float64 still resolves depth to 1e-9 radii
_FARTHEST = 1e5
# heights that `automatic_camera` tries, in degrees
_ELEVATIONS = (12.0, 40.0, -20.0)


@dataclass(frozen=True)
class Camera:
    """Looks at the middle of a surface from a direction given by two angles; the picture is always filled.

    Parameters
    ----------
    azimuth : degrees about the vertical axis; with z up, 0 looks from +x and 90 from +y; with y up, from +z and from +x
    elevation : degrees above the ground, from −90 to 90
    up : the axis that points up in the picture
    distance : of the eye from the middle, in radii of the surface; `inf` gives parallel projection

    Examples
    --------
    >>> Camera(azimuth=90, elevation=0).axes.round().astype(int).tolist()  # right, up, towards the eye
    [[-1, 0, 0], [0, 0, 1], [0, 1, 0]]
    """

    azimuth: float = 0.0
    elevation: float = 0.0
    up: Axis = "z"
    distance: float = 7.0

    def __post_init__(self) -> None:
        if self.up not in _GROUND:
            raise ValueError(f"up must be 'x', 'y' or 'z', got {self.up!r}")
        if not np.isfinite([self.azimuth, self.elevation]).all() or not -90 <= self.elevation <= 90:
            raise ValueError(
                f"azimuth and elevation must be degrees, elevation from -90 to 90, got {self.azimuth}, {self.elevation}"
            )
        if not self.distance >= 1.5:
            raise ValueError(f"distance must be at least 1.5 radii, or the eye is in the surface; got {self.distance}")

    @property
    def axes(self) -> Float[np.ndarray, "3 3"]:
        """Unit vectors of the picture: to the right, upwards, towards the eye."""
        azimuth, elevation = np.radians(self.azimuth), np.radians(self.elevation)
        first, second = _GROUND[self.up]
        eye, right = np.zeros(3), np.zeros(3)
        eye["xyz".index(self.up)] = np.sin(elevation)
        eye[first], eye[second] = np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth)
        right[first], right[second] = -np.sin(azimuth), np.cos(azimuth)
        return np.stack([right, np.cross(eye, right), eye])


@dataclass(frozen=True)
class Projection:
    """From points in space to pixels of a picture that the surface fills: x to the right, y down, and nearness.

    Nearness is 1/depth; depth is measured from the eye in radii of the surface. `scale` is pixels to a radius.
    """

    axes: Float[np.ndarray, "3 3"]
    centre: Float[np.ndarray, "3"]
    radius: float
    distance: float
    middle: Float[np.ndarray, "2"]
    scale: float
    size: tuple[int, int]

    @classmethod
    def fit(cls, camera: Camera, mesh: Mesh, size: tuple[int, int], *, margin: float = 0.03) -> Projection:
        """The projection whose picture of `size` (width, height) the surface fills, but for `margin` on each side."""
        used = points_with_faces(mesh)
        low, high = used.min(axis=0), used.max(axis=0)
        # a surface that is a single point still gets a picture, not a division by zero
        radius = float(np.linalg.norm(high - low)) / 2 or 1.0
        loose = cls(camera.axes, (low + high) / 2, radius, min(camera.distance, _FARTHEST), np.zeros(2), 1.0, (0, 0))
        plane = loose(used)[:, :2]
        low, high = plane.min(axis=0), plane.max(axis=0)
        scale = float(np.min(np.array(size) * (1 - 2 * margin) / np.maximum(high - low, 1e-9)))
        return replace(loose, middle=(low + high) / 2, scale=scale, size=size)

    def __call__(self, points: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, "k 3"]:
        seen = (points - self.centre) @ self.axes.T / self.radius
        depth = self.distance - seen[:, 2]
        plane = seen[:, :2] * (self.distance / depth)[:, None] * (1, -1)
        return np.column_stack([(plane - self.middle) * self.scale + np.array(self.size) / 2, 1 / depth])


def points_with_faces(mesh: Mesh) -> Float[np.ndarray, "k 3"]:
    """The vertices that a face uses; others are not seen, wherever they lie."""
    used = np.zeros(mesh.n_vertices, bool)
    used[mesh.faces] = True
    return mesh.vertices[used]


def picture_extent(mesh: Mesh, camera: Camera) -> tuple[float, float]:
    """Width and height of the surface as this camera sees it, in radii: choose the shape of a panel by it."""
    projection = Projection.fit(camera, mesh, (1, 1))
    plane = projection(points_with_faces(mesh))[:, :2] / projection.scale
    width, height = plane.max(axis=0) - plane.min(axis=0)
    return float(width), float(height)


def guess_up(mesh: Mesh) -> Axis:
    """The vertical axis, z or y: what stands is not thinnest along its vertical axis.

    Where x is the thinnest, the shape is an animal that walks along y, unless it is too tall along y, and too wide
    along x, for an animal.
    """
    used = points_with_faces(mesh)
    x, y, z = used.max(axis=0) - used.min(axis=0)
    if z <= min(x, y):
        return "y"
    # the two numbers part the bodies of FAUST (y up) from the animals of TOSCA (z up)
    return "y" if x < y and y > 1.6 * z and x > 0.48 * z else "z"


def winds_inwards(mesh: Mesh) -> bool:
    """True if the volume enclosed, every hole being closed by a cone from the middle, comes out negative."""
    corners = mesh.vertices[mesh.faces] - points_with_faces(mesh).mean(axis=0)
    return bool(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) < 0)


def outward_normals(mesh: Mesh) -> Float[np.ndarray, "n 3"]:
    """Vertex normals, turned round where the faces wind inwards."""
    return -mesh.vertex_normals if winds_inwards(mesh) else mesh.vertex_normals


def visible_vertices(
    mesh: Mesh, camera: Camera, *, pixels: int = 160, tolerance: float = 0.03
) -> tuple[Bool[np.ndarray, "n"], Float[np.ndarray, "n"]]:
    """Whether each vertex is visible, hidden by at most `tolerance` radii, and how far it is turned to the eye.

    The second is the cosine of the angle between the outward normal and the direction of the eye, cut off at 0; a
    vertex turned away is not visible. Found by drawing a small picture of `pixels` squared.
    """
    return _visible(mesh, outward_normals(mesh), camera, pixels, tolerance)


def _visible(
    mesh: Mesh, normals: Float[np.ndarray, "n 3"], camera: Camera, pixels: int, tolerance: float
) -> tuple[Bool[np.ndarray, "n"], Float[np.ndarray, "n"]]:
    from partwhole.viewer.figures.cpu.raster import rasterise

    corners = Projection.fit(camera, mesh, (pixels, pixels), margin=0.02)(mesh.vertices)
    near = np.zeros((pixels, pixels))
    face_at = np.full((pixels, pixels), -1, np.int64)
    rasterise(corners, mesh.faces, near, face_at, np.empty((pixels, pixels, 2)))
    column, row = np.clip(corners[:, :2].astype(np.int64), 0, pixels - 1).T
    depth_there = 1 / np.maximum(near[row, column], 1e-12)
    facing = normals @ camera.axes[2]
    return (1 / corners[:, 2] <= depth_there + tolerance) & (facing > 0), np.maximum(facing, 0)


def roughly_visible(
    mesh: Mesh, normals: Float[np.ndarray, "n 3"], camera: Camera
) -> tuple[Bool[np.ndarray, "n"], Float[np.ndarray, "n"]]:
    """As `visible_vertices`, from the vertices alone: one is hidden if another in its cell of a coarse picture is nearer.

    Enough to choose a view, and done before compiled kernels are loaded, which the first look at the page would wait for.
    """
    # so large that cells of what is drawn are seldom empty
    pixels = int(np.clip(0.7 * np.sqrt(mesh.n_vertices), 10, 96))
    corners = Projection.fit(camera, mesh, (pixels, pixels), margin=0.02)(mesh.vertices)
    column, row = np.clip(corners[:, :2].astype(np.int64), 0, pixels - 1).T
    cell, nearness = row * pixels + column, corners[:, 2]
    near, order = np.zeros(pixels**2), np.argsort(nearness, kind="stable")
    near[cell[order]] = nearness[order]  # the last one, which is the nearest, stays
    facing = normals @ camera.axes[2]
    return (1 / nearness <= 1 / near[cell] + 0.03 + 2 / pixels) & (facing > 0), np.maximum(facing, 0)


def automatic_camera(mesh: Mesh, *, vertex: int | None = None, up: Axis | None = None) -> Camera:
    """The best of sixteen views at three heights: it shows much of the surface and of its boundary, and the vertex."""
    axis = up or guess_up(mesh)
    cameras = [Camera(azimuth, elevation, axis) for elevation in _ELEVATIONS for azimuth in np.arange(16) * 22.5]
    extents = np.array([np.prod(picture_extent(mesh, camera)) for camera in cameras])
    on_boundary = np.zeros(mesh.n_vertices)
    on_boundary[mesh.boundary_vertices] = 1 / max(len(mesh.boundary_vertices), 1)
    area = mesh.vertex_areas / (mesh.area or 1.0)
    normals = outward_normals(mesh)
    scores = []
    for camera, extent in zip(cameras, extents / (extents.max() or 1.0), strict=True):
        if vertex is None:
            seen, facing = roughly_visible(mesh, normals, camera)
        else:
            seen, facing = _visible(mesh, normals, camera, 160, 0.03)
        # a broad side is worth more than a full view of the boundary, and less than seeing the chosen vertex
        score = 1.5 * extent + 2.5 * (seen * facing * area).sum() + 0.7 * (seen * on_boundary).sum()
        if vertex is not None and seen[vertex]:
            score += 1 + min(facing[vertex], 0.6)
        if camera.elevation != _ELEVATIONS[0]:
            score -= 0.4  # only if there is something to see from there
        scores.append(float(score))
    return cameras[first_largest(scores)]


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
    mesh: SurfaceLike,
    *,
    vertex_colors: Float[np.ndarray, "n 3"] | None = None,
    face_colors: Float[np.ndarray, "m 3"] | None = None,
    vertex_values: Num[np.ndarray, "n"] | None = None,
    table: Float[np.ndarray, "t 3"] | None = None,
    color: Color = SURFACE,
    inside: Color = INSIDE,
    camera: Camera | None = None,
    frame: Mesh | None = None,
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
    frame : what fills the picture, if not the surface itself, so that several are drawn in the same place and size
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
    mesh = as_mesh(mesh)
    _check_picture(mesh, size, supersample, vertex_colors, face_colors, vertex_values)
    from partwhole.viewer.figures.cpu import raster

    width, height = size[0] * supersample, size[1] * supersample
    camera = camera or automatic_camera(mesh)
    projection = Projection.fit(camera, frame or mesh, (width, height), margin=margin)
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
        raster.draw_balls(picture, near, centres, rgb(group.color), float(radius), projection.scale, 0.01)
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
