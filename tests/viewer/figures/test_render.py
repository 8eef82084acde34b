"""The software renderer, against pictures that can be computed by hand; and where a surface is looked at from."""

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
    GUARANTEED,
    Camera,
    Dots,
    Polyline,
    Projection,
    automatic_camera,
    colormap,
    guess_up,
    outward_normals,
    picture_extent,
    render,
    rgb,
    visible_vertices,
    winds_inwards,
)

FROM_ABOVE = Camera(azimuth=-90, elevation=90, up="z", distance=np.inf)  # x to the right, y up
SQUARE = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
RED, GREEN = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]


def plain(mesh: Mesh, **knobs: object) -> np.ndarray:
    knobs = {"camera": FROM_ABOVE, "size": (80, 80), "background": None, "outlined": False, **knobs}
    return render(mesh, **knobs)  # type: ignore[arg-type]


@pytest.mark.parametrize("supersample", [1, 2, 3])
def test_a_square_covers_exactly_its_pixels(supersample: int) -> None:
    opacity = plain(SQUARE, margin=0.25, supersample=supersample)[..., 3]
    expected = np.zeros((80, 80), np.uint8)
    expected[20:60, 20:60] = 255
    np.testing.assert_array_equal(opacity, expected)


def test_no_gap_and_no_overlap_along_shared_edges() -> None:
    # a fan of random triangles that covers the square: every pixel inside is opaque
    generator = np.random.default_rng(3)
    inner = np.column_stack([generator.uniform(0.2, 0.8, (1, 2)), [0.0]])
    fan = Mesh(np.vstack([SQUARE.vertices, inner]), [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
    assert (plain(fan, margin=0.0)[..., 3] == 255).all()


def test_the_nearer_triangle_hides_the_farther_one_in_either_order() -> None:
    low, high = SQUARE.vertices, SQUARE.vertices + np.array([0, 0, 0.2])
    for first, second, colors in ((low, high, [GREEN] * 2 + [RED] * 2), (high, low, [RED] * 2 + [GREEN] * 2)):
        both = Mesh(np.vstack([first, second]), np.vstack([SQUARE.faces, SQUARE.faces + 4]))
        picture = plain(both, face_colors=np.array(colors), margin=0.0)
        assert picture[40, 40, 0] > 100
        assert picture[40, 40, 1] < 60  # no green: it lies below


def test_interpenetrating_triangles_are_cut_where_they_meet() -> None:
    # two sheets that cross along x = 1/2; sorting whole triangles by depth can't draw this
    tilted = SQUARE.vertices.copy()
    tilted[:, 2] = (tilted[:, 0] - 0.5) * 0.4
    both = Mesh(np.vstack([SQUARE.vertices, tilted]), np.vstack([SQUARE.faces, SQUARE.faces + 4]))
    picture = plain(both, face_colors=np.array([RED] * 2 + [GREEN] * 2), margin=0.0).astype(int)
    left, right = picture[:, 10:36], picture[:, 44:70]
    assert (left[..., 0] > left[..., 1]).all()
    assert (right[..., 1] > right[..., 0]).all()


def test_colours_are_interpolated_and_values_have_sharp_edges() -> None:
    ramp = SQUARE.vertices[:, 0]
    smooth = plain(SQUARE, vertex_colors=ramp[:, None] * np.ones(3), margin=0.0)[40, :, 0].astype(int)
    assert (np.diff(smooth) >= 0).all()
    assert len(np.unique(smooth)) > 50
    sharp = plain(SQUARE, vertex_values=ramp, table=np.array([RED, GREEN]), margin=0.0)[40]
    assert (sharp[:40, 0] > 100).all()
    assert (sharp[40:, 1] > 100).all()
    assert (sharp[:40, 1] < 60).all()


def test_the_inside_is_tinted_whichever_way_the_faces_wind() -> None:
    cap = sphere_cap(400, 1.8)
    bowl = cap.vertices * [1, 1, -1]
    for faces in (cap.faces, cap.faces[:, ::-1]):
        outside = plain(Mesh(cap.vertices, faces), color="white", inside="blue")[40, 40]
        inside = plain(Mesh(bowl, faces), color="white", inside="blue")[40, 40].astype(int)
        assert np.ptp(outside[:3]) < 3
        assert inside[2] > inside[0] + 40


def test_a_sphere_is_brightest_where_it_faces_the_light_and_has_no_seams() -> None:
    picture = plain(sphere(2000), color="white").astype(int)
    inside = np.hypot(*np.mgrid[-40:40, -40:40]) < 34
    assert picture[40, 40, 0] > picture[70, 60, 0]
    steps = np.abs(np.diff(picture[..., 0], axis=1))
    assert steps[inside[:, 1:]].max() < 25


def test_lines_lie_on_the_surface_and_behind_what_is_nearer() -> None:
    across = np.array([[0.0, 0.5, 0.0], [1.0, 0.5, 0.0]])
    on_top = plain(SQUARE, lines=[Polyline(across, "black", 4)], margin=0.0)
    assert (on_top[38:42, 5:75, :3] == 0).all()
    assert (on_top[30, :, :3] > 0).all()
    roof = np.vstack([SQUARE.vertices, SQUARE.vertices * [0.5, 1, 1] + [0, 0, 0.3]])
    covered = Mesh(roof, np.vstack([SQUARE.faces, SQUARE.faces + 4]))
    picture = plain(covered, lines=[Polyline(across, "black", 4)], margin=0.0)
    assert (picture[40, 5:35, :3] > 0).all()
    assert (picture[40, 45:75, :3] == 0).all()


def test_a_closed_line_comes_back_to_its_start() -> None:
    loop = SQUARE.vertices * 0.6 + [0.2, 0.2, 0]
    open_, closed = (
        plain(SQUARE, lines=[Polyline(loop, "black", 4, closed=closed)], margin=0.0) for closed in (False, True)
    )
    assert open_[40, 16, 0] > 0
    assert closed[40, 16, 0] == 0


def test_dots_are_round_and_hidden_from_behind() -> None:
    dot = Dots(np.array([[0.5, 0.5, 0.0]]), "red", 10)
    picture = plain(SQUARE, color="white", dots=[dot], margin=0.0).astype(int)
    red = picture[..., 0] > picture[..., 1] + 30
    assert red.sum() == pytest.approx(np.pi * 100, rel=0.1)
    buried = Dots(np.array([[0.5, 0.5, -0.9]]), "red", 10)
    assert not (plain(SQUARE, color="white", dots=[buried], margin=0.0)[..., 1] < 100).any()


def test_background_outline_and_averaging() -> None:
    ball = sphere(400)
    clear = render(ball, camera=FROM_ABOVE, size=(60, 50), background=None)
    green = render(ball, camera=FROM_ABOVE, size=(60, 50), background="#00ff00")
    assert clear.shape == green.shape == (50, 60, 4)
    assert clear.dtype == np.uint8
    assert clear[0, 0].tolist() == [0, 0, 0, 0]
    assert green[0, 0].tolist() == [0, 255, 0, 255]
    assert ((clear[..., 3] > 0) & (clear[..., 3] < 255)).any()
    bare = render(ball, camera=FROM_ABOVE, size=(60, 50), background=None, outlined=False)
    assert clear[..., :3].sum() < bare[..., :3].sum()


def test_the_same_surface_gives_the_same_bytes() -> None:
    cap = sphere_cap(300, 2.0)
    first, second = render(cap, size=(90, 70)), render(cap, size=(90, 70))
    np.testing.assert_array_equal(first, second)


def test_flat_points_and_specks_still_give_a_picture() -> None:
    sideways = Camera(azimuth=0, elevation=0, distance=np.inf)
    assert render(SQUARE, camera=sideways, size=(20, 20)).shape == (20, 20, 4)
    speck = Mesh(np.zeros((3, 3)), [[0, 1, 2]])
    assert (render(speck, camera=sideways, size=(20, 20)) == 255).all()


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"size": (0, 10)}, "must be positive"),
        ({"supersample": 0}, "must be positive"),
        ({"size": (9000, 10), "supersample": 3}, "at most 20000"),
        ({"vertex_colors": np.zeros((3, 3))}, r"vertex_colors must have shape \(4, 3\), got \(3, 3\)"),
        ({"face_colors": np.zeros((4, 3))}, r"face_colors must have shape \(2, 3\)"),
        ({"vertex_values": np.zeros(5)}, r"vertex_values must have shape \(4,\)"),
        ({"vertex_values": np.zeros(4), "face_colors": np.zeros((2, 3))}, "face_colors and vertex_values were given"),
        ({"vertex_values": np.array([0, np.nan, 0, 0])}, "not finite"),
        ({"color": "octarine"}, "is not a colour"),
    ],
)
def test_bad_input_is_named(knobs: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plain(SQUARE, **knobs)


def test_colours_of_the_criteria_can_be_told_apart() -> None:
    colors = np.stack([rgb(color) for color in GUARANTEED.values()])
    apart = np.linalg.norm(colors[:, None] - colors[None], axis=2)
    assert apart[~np.eye(len(colors), dtype=bool)].min() > 0.25


def test_a_colour_map_runs_from_its_first_to_its_last_colour() -> None:
    table = colormap("viridis")
    assert table.shape == (256, 3)
    np.testing.assert_allclose(table[[0, -1]], [[0.267, 0.005, 0.329], [0.993, 0.906, 0.144]], atol=1e-3)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="'sunset' is unknown"):
        colormap("sunset")
    with pytest.raises(ValueError, match="'#12' is not a colour"):
        rgb("#12")


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
