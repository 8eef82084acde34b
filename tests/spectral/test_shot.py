from __future__ import annotations

import numpy as np
import pytest

import partwhole as pw
from partwhole.datasets import sphere
from partwhole.datasets.transforms import random_rotation
from partwhole.mesh import Mesh
from partwhole.spectral import local_frames, shot


@pytest.fixture(scope="module")
def body() -> Mesh:
    return pw.datasets.make_body("biped", 600).rest.to_unit_area()[0]


def moved(mesh: Mesh, *, scale: float = 1.0) -> tuple[Mesh, np.ndarray]:
    R = random_rotation(np.random.default_rng(3))
    return Mesh(scale * mesh.vertices @ R.T + [1.0, -2.0, 0.5], mesh.faces), R


def test_turning_moving_and_scaling_change_nothing(body) -> None:
    found = shot(body, radius=0.1)
    turned, _ = moved(body, scale=3.0)
    np.testing.assert_allclose(shot(turned, radius=0.3), found, atol=1e-6)


def test_frames_turn_with_the_surface(body) -> None:
    turned, R = moved(body)
    frames = local_frames(body, radius=0.1)
    np.testing.assert_allclose(local_frames(turned, radius=0.1), frames @ R.T, atol=1e-6)
    np.testing.assert_allclose(frames @ frames.transpose(0, 2, 1), np.tile(np.eye(3), (len(frames), 1, 1)), atol=1e-9)
    np.testing.assert_allclose(np.linalg.det(frames), 1, atol=1e-9)


def test_the_order_of_vertices_does_not_matter(body) -> None:
    order = np.random.default_rng(0).permutation(body.n_vertices)
    number = np.argsort(order)
    shuffled = Mesh(body.vertices[order], number[body.faces])
    np.testing.assert_allclose(shot(shuffled, radius=0.1), shot(body, radius=0.1)[order], atol=1e-9)


def test_a_plane_has_one_cosine() -> None:
    square = pw.datasets.plane(400)
    found = shot(square, radius=0.2, bins=9).reshape(400, 32, 10)
    # every normal is that of the vertex
    assert found[:, :, :9].max() < 1e-9
    np.testing.assert_allclose(np.linalg.norm(found.reshape(400, -1), axis=1), 1)


def test_every_neighbour_counts_once(body) -> None:
    from partwhole.spectral.cpu.shot import shot_histograms
    from partwhole.spectral.shot import neighbours_within

    starts, neighbours = neighbours_within(body.vertices, 0.1)
    frames = local_frames(body, radius=0.1)
    counted = shot_histograms(
        np.ascontiguousarray(body.vertices),
        np.ascontiguousarray(body.vertex_normals),
        frames,
        starts,
        neighbours,
        0.1,
        9,
    )
    np.testing.assert_allclose(counted.sum(axis=1), np.diff(starts), atol=1e-9)


def test_it_tells_places_apart() -> None:
    made = pw.datasets.make_body("biped", 600)
    rest, factor = made.rest.to_unit_area()
    posed = made.pose(1).scaled(factor)
    # of a body in another pose, the same vertex has one of the most similar descriptors
    similar = shot(posed, radius=0.15) @ shot(rest, radius=0.15).T
    rank = (similar > np.diag(similar)[:, None]).sum(axis=1)
    assert np.median(rank) < 0.1 * rest.n_vertices


def test_a_vertex_with_few_neighbours_has_none() -> None:
    ball = sphere(100)
    assert not shot(ball, radius=1e-3).any()


@pytest.mark.parametrize(
    ("options", "message"), [({"radius": 0.0}, "radius=0.0"), ({"radius": 1.0, "bins": 0}, "bins=0")]
)
def test_wrong_arguments(options, message) -> None:
    with pytest.raises(ValueError, match=message):
        shot(sphere(50), **options)
