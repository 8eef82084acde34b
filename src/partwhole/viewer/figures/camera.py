"""`Camera`: where a surface is looked at from, and a good place to look from when none is given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole.mesh import Mesh

Axis = Literal["x", "y", "z"]
# the two axes that span the ground, so that (first, second, up) is right-handed
_GROUND = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}
# beyond this many radii rays are parallel to far below a pixel, and float64 still resolves depth to 1e-9 radii
_FARTHEST = 1e5


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
