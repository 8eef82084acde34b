"""A good place to look from: which way is up, what a camera sees, and the view that shows most."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from partwhole._ties import first_largest
from partwhole.mesh import Mesh
from partwhole.viewer.figures.camera import Axis, Camera, Projection, picture_extent, points_with_faces

_ELEVATIONS = (12.0, 40.0, -20.0)


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
    """Whether nothing hides each vertex by more than `tolerance` radii, and how far it is turned to the eye.

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


def _roughly_visible(
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
    """The view, out of sixteen around the vertical axis at three heights, that shows most: surface, border, vertex."""
    axis = up or guess_up(mesh)
    cameras = [Camera(azimuth, elevation, axis) for elevation in _ELEVATIONS for azimuth in np.arange(16) * 22.5]
    extents = np.array([np.prod(picture_extent(mesh, camera)) for camera in cameras])
    on_border = np.zeros(mesh.n_vertices)
    on_border[mesh.boundary_vertices] = 1 / max(len(mesh.boundary_vertices), 1)
    area = mesh.vertex_areas / (mesh.area or 1.0)
    normals = outward_normals(mesh)
    scores = []
    for camera, extent in zip(cameras, extents / (extents.max() or 1.0), strict=True):
        if vertex is None:
            seen, facing = _roughly_visible(mesh, normals, camera)
        else:
            seen, facing = _visible(mesh, normals, camera, 160, 0.03)
        # a broad side is worth more than a full view of the borders, and less than seeing the chosen vertex
        score = 1.5 * extent + 2.5 * (seen * facing * area).sum() + 0.7 * (seen * on_border).sum()
        if vertex is not None and seen[vertex]:
            score += 1 + min(facing[vertex], 0.6)
        if camera.elevation != _ELEVATIONS[0]:
            score -= 0.4  # only if there is something to see from there
        scores.append(float(score))
    return cameras[first_largest(scores)]
