"""A ball with a texture, and an arm with a skeleton."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from partwhole.datasets import cut_plane, sphere
from partwhole.datasets.cutting.cuts import Cut
from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.mesh.textured import Skin, Texture, TexturedMesh
from partwhole.transfer import Correspondence


@pytest.fixture(scope="session")
def cut() -> Cut:
    """The upper part of a ball, and the ball."""
    return cut_plane(sphere(400, jitter=0.2), (0, 0, -0.3), (0.1, 0.2, 1))


@pytest.fixture(scope="session")
def exact(cut: Cut) -> Correspondence:
    """The true map from the part to the ball."""
    return Correspondence(cut.part, cut.whole, BarycentricMap.at_vertices(cut.vertex_map))


@pytest.fixture(scope="session")
def globe(cut: Cut) -> TexturedMesh:
    """The ball with a picture by longitude and latitude, with a seam; its colours are those of `color_of`."""
    ball = cut.whole
    size = (64, 128)
    v, u = np.meshgrid((np.arange(size[0]) + 0.5) / size[0], (np.arange(size[1]) + 0.5) / size[1], indexing="ij")
    points = np.stack(
        [np.sin(np.pi * v) * np.cos(2 * np.pi * u), np.sin(np.pi * v) * np.sin(2 * np.pi * u), np.cos(np.pi * v)],
        axis=2,
    )
    image = np.full((*size, 4), 255, np.uint8)
    image[..., :3] = np.rint(color_of(points))
    corners = ball.vertices[ball.faces]
    longitude = np.arctan2(corners[..., 1], corners[..., 0]) / (2 * np.pi)
    # each face in one piece, where it crosses the seam in the part of the picture that repeats
    longitude = np.where(longitude < longitude.max(axis=1, keepdims=True) - 0.5, longitude + 1, longitude)
    latitude = np.arccos(np.clip(corners[..., 2] / np.linalg.norm(corners, axis=2), -1, 1)) / np.pi
    uv = np.stack([longitude, latitude], axis=2).reshape(-1, 2)
    texture = Texture(uv, np.arange(len(uv)).reshape(-1, 3), (image,), np.zeros(ball.n_faces, np.int64))
    return TexturedMesh(ball, texture)


def color_of(points: np.ndarray) -> np.ndarray:
    """A smooth colour for every point of the ball."""
    return 127.5 + 100 * np.stack([points[..., 0], points[..., 1], points[..., 2]], axis=-1)


@pytest.fixture(scope="session")
def arm() -> Mesh:
    """A long ball, 6 from end to end."""
    ball = sphere(600, jitter=0.2)
    return Mesh(ball.vertices * [3, 1, 0.8], ball.faces, name="arm")


@pytest.fixture(scope="session")
def skin(arm: Mesh) -> Skin:
    """Three joints along the arm, and one off its end that nothing follows."""
    x = arm.vertices[:, 0]
    upper, lower = np.clip((x + 1.3) / 0.6, 0, 1), np.clip((x - 0.7) / 0.6, 0, 1)
    weights = np.stack([1 - upper, upper * (1 - lower), upper * lower, np.zeros_like(x)], axis=1)
    rest = np.tile(np.eye(4), (4, 1, 1))
    rest[:, 0, 3] = [-3, -1, 1, 3]
    return Skin(("shoulder", "elbow", "wrist", "tip"), (None, 0, 1, 2), rest, sparse.csr_matrix(weights))
