"""The view that is chosen when none is given."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets.shapes.bodies import make_body
from partwhole.datasets.shapes.primitives import cylinder, sphere, sphere_cap
from partwhole.mesh import Mesh
from partwhole.viewer.figures import viewpoint
from partwhole.viewer.figures.camera import Camera
from partwhole.viewer.figures.viewpoint import (
    automatic_camera,
    guess_up,
    outward_normals,
    visible_vertices,
    winds_inwards,
)


@pytest.mark.parametrize(
    ("extents", "up"),
    [((0.45, 1.0, 0.22), "y"), ((161, 32, 167), "z"), ((33, 200, 94), "z"), ((0.5, 1.8, 0.9), "y")],
)
def test_up_is_guessed_for_standing_people_and_walking_animals(extents: tuple[float, ...], up: str) -> None:
    ball = sphere(200)
    assert guess_up(Mesh(ball.vertices * np.array(extents), ball.faces)) == up


def test_half_of_a_sphere_is_seen() -> None:
    ball = sphere(1500)
    seen, facing = visible_vertices(ball, Camera(0, 0, distance=np.inf))
    clear = np.abs(ball.vertices[:, 0]) > 0.2
    np.testing.assert_array_equal(seen[clear], ball.vertices[clear, 0] > 0)
    np.testing.assert_allclose(facing, np.maximum(ball.vertices[:, 0], 0), atol=0.02)


def test_a_rough_look_at_the_vertices_finds_nearly_the_same() -> None:
    hand = make_body("hand", 1500, seed=1).pose(seed=2)
    for azimuth in (0.0, 70.0, 200.0):
        camera = Camera(azimuth, 12.0, "y")
        seen, _ = visible_vertices(hand, camera)
        rough, _ = viewpoint._roughly_visible(hand, outward_normals(hand), camera)
        assert (seen == rough).mean() > 0.9


def test_winding_is_found_with_and_without_holes() -> None:
    for surface in (sphere(200), sphere_cap(200, 2.5), cylinder(n_vertices=200)):
        assert not winds_inwards(surface)
        assert winds_inwards(Mesh(surface.vertices, surface.faces[:, ::-1]))


@pytest.mark.parametrize("direction", [0.0, 90.0, 200.0, 290.0])
def test_the_chosen_vertex_is_seen(direction: float) -> None:
    tube = cylinder(n_vertices=800, closed=True)
    towards = [np.cos(np.radians(direction)), np.sin(np.radians(direction)), 0]
    vertex = int((tube.vertices @ towards - np.abs(tube.vertices[:, 2] - 1)).argmax())
    camera = automatic_camera(tube, vertex=vertex, up="z")
    assert visible_vertices(tube, camera)[0][vertex]


def test_the_choice_does_not_depend_on_size_or_place() -> None:
    cap = sphere_cap(400, 2.0)
    moved = Mesh(cap.vertices * 50 + [10, -4, 3], cap.faces)
    assert automatic_camera(cap) == automatic_camera(moved)


def test_a_surface_without_width_still_has_a_view() -> None:
    line = Mesh([[0, 0, 0], [0, 1, 0], [0, 2, 0]], [[0, 1, 2]])
    assert np.isfinite(automatic_camera(line, vertex=1, up="y").azimuth)
