"""Where a surface is looked at from, and the view that is chosen when none is given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole.datasets.shapes.bodies import make_body
from partwhole.datasets.shapes.primitives import cylinder, plane, sphere, sphere_cap
from partwhole.mesh import Mesh
from partwhole.viewer.figures import render as camera_module
from partwhole.viewer.figures.render import (
    Camera,
    Projection,
    automatic_camera,
    guess_up,
    outward_normals,
    picture_extent,
    visible_vertices,
    winds_inwards,
)


@given(st.floats(-720, 720), st.floats(-90, 90), st.sampled_from("xyz"))
def test_axes_are_a_right_handed_frame_that_looks_from_the_side_asked_for(azimuth: float, elevation: float, up) -> None:
    axes = Camera(azimuth, elevation, up).axes
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.cross(axes[0], axes[1]), axes[2], atol=1e-12)
    assert axes[2]["xyz".index(up)] == pytest.approx(np.sin(np.radians(elevation)), abs=1e-12)
    assert axes[1]["xyz".index(up)] >= -1e-12  # what is higher in space is higher in the picture


def test_the_surface_fills_the_picture_and_y_points_down() -> None:
    projection = Projection.fit(Camera(30, 20), sphere(300), (200, 100), margin=0.1)
    pixels = projection(sphere(300).vertices)
    assert pixels[:, 1].min() == pytest.approx(10)
    assert pixels[:, 1].max() == pytest.approx(90)
    top = pixels[sphere(300).vertices[:, 2].argmax()]
    assert top[1] < 50


def test_nearness_falls_with_the_distance_from_the_eye() -> None:
    near, far = Projection.fit(Camera(0, 0), sphere(100), (10, 10))(np.array([[1.0, 0, 0], [-1.0, 0, 0]]))[:, 2]
    assert near > far > 0


def test_parallel_projection_keeps_sizes_and_perspective_does_not() -> None:
    rods = np.array([[1.0, 0, 0], [1.0, 0, 0.5], [-1.0, 0, 0], [-1.0, 0, 0.5]])
    for distance, same in ((np.inf, True), (4.0, False)):
        y = Projection.fit(Camera(0, 0, distance=distance), sphere(100), (100, 100))(rods)[:, 1]
        assert np.isclose(y[0] - y[1], y[2] - y[3], rtol=1e-3) == same


def test_the_extent_of_a_sheet_is_its_shape() -> None:
    sheet = plane((5, 9), width=2.0, height=1.0)
    width, height = picture_extent(sheet, Camera(azimuth=-90, elevation=90, distance=np.inf))
    assert width / height == pytest.approx(2, rel=1e-6)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"up": "w"}, "up must be"),
        ({"elevation": 91.0}, "elevation from -90 to 90"),
        ({"azimuth": np.nan}, "must be degrees"),
        ({"distance": 1.0}, "at least 1.5 radii"),
    ],
)
def test_a_camera_that_can_not_be_is_refused(knobs: dict, message: str) -> None:
    # the annotation of `up` is checked in tests before the value is, so the check itself is called past it
    camera = object.__new__(Camera)
    for name, value in {"azimuth": 0.0, "elevation": 0.0, "up": "z", "distance": 7.0, **knobs}.items():
        object.__setattr__(camera, name, value)
    with pytest.raises(ValueError, match=message):
        camera.__post_init__()


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
        rough, _ = camera_module.roughly_visible(hand, outward_normals(hand), camera)
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
