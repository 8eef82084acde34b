"""What cameras see, against a slow reference that follows every ray."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets import cut_views, random_cuts, sphere, torus
from partwhole.datasets.cutting.views import random_eyes, seen_faces
from partwhole.mesh import Mesh

RING = torus(n_vertices=300, jitter=0.3)


def is_free(mesh: Mesh, eye: np.ndarray, point: np.ndarray) -> bool:
    """No triangle that does not hold the point meets the segment from it to the eye (Möller and Trumbore)."""
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    ray = eye - point
    p = np.cross(ray, c - a)
    size = np.einsum("mi,mi->m", b - a, p)
    u = np.einsum("mi,mi->m", point - a, p) / size
    q = np.cross(point - a, b - a)
    v = np.einsum("i,mi->m", ray, q) / size
    along = np.einsum("mi,mi->m", c - a, q) / size
    return not ((u >= 0) & (v >= 0) & (u + v <= 1) & (along > 1e-9) & (along < 1)).any()


@pytest.mark.parametrize("eye", [(4.0, 1.0, 0.5), (0.0, 3.0, -2.0), (2.0, 2.0, 1.0)])
def test_faces_seen_are_those_that_rays_reach(eye) -> None:
    at = np.array(eye)
    seen = seen_faces(RING, at)
    for f, (face, normal) in enumerate(zip(RING.faces, RING.face_normals, strict=True)):
        corners = RING.vertices[face]
        towards = at - corners.mean(axis=0)
        facing = normal @ towards > 0.15 * np.linalg.norm(towards)
        points = [corners.mean(axis=0), *corners]
        assert seen[f] == (facing and all(is_free(RING, at, point) for point in points))
    # a ring hides some of itself from the side
    assert 0 < seen.sum() < RING.n_faces / 2


def test_two_balls_in_a_row() -> None:
    ball = sphere(200)
    row = Mesh(np.concatenate([ball.vertices, 0.5 * ball.vertices - [3, 0, 0]]), [*ball.faces, *(ball.faces + 200)])
    seen = seen_faces(row, np.array([8.0, 0, 0]))
    assert seen[: ball.n_faces].any()
    assert not seen[ball.n_faces :].any()
    assert seen_faces(row, np.array([-8.0, 0, 0]))[ball.n_faces :].any()


def test_several_cameras_see_more() -> None:
    one, two = cut_views(RING, (0, 0, 6)), cut_views(RING, [(0, 0, 6), (6, 0, 1)])
    assert set(one.vertex_map) < set(two.vertex_map)
    np.testing.assert_array_equal(two.part.vertices, RING.vertices[two.vertex_map])


def test_random_cameras_stand_around() -> None:
    eyes = [random_eyes(RING, np.random.default_rng(seed)) for seed in range(60)]
    assert {len(places) for places in eyes} == {1, 2, 3}
    radius = np.linalg.norm(RING.vertices, axis=1).max()
    away = np.linalg.norm(np.concatenate(eyes), axis=1)
    assert away.min() > 1.4 * radius
    assert away.max() < 4.1 * radius
    assert random_cuts(RING, "views", seed=2).area_share >= 0.1


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="a camera stands farther away"):
        cut_views(RING, (0.1, 0, 0))
    with pytest.raises(ValueError, match=r"eyes must be points of three finite numbers, got shape \(1, 2\)"):
        cut_views(RING, [[0.0, 1.0]])
