"""Figures of a map."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partwhole.datasets import cut_plane, sphere
from partwhole.mesh import Mesh
from partwhole.viewer.figures.map_figures import confidence_figure, coordinate_colors, map_figure, same_side
from partwhole.viewer.figures.render import Camera


def test_every_place_has_a_colour_of_its_own() -> None:
    ball = sphere(500)
    colors = coordinate_colors(ball)
    assert colors.min() >= 0
    assert colors.max() <= 1
    assert len(np.unique(colors.round(6), axis=0)) == 500
    flat = Mesh([[0, 0, 3], [1, 0, 3], [0, 1, 3]], [[0, 1, 2]])
    assert np.ptp(coordinate_colors(flat)[:, 2]) == 0


@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_part_and_whole_are_seen_from_the_same_side(up: str) -> None:
    whole = sphere(600)
    body = Mesh(whole.vertices * [1.0, 1.4, 0.8] + 0.1 * whole.vertices**2, whole.faces)
    angle = np.radians(50)
    first, second = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[up]
    turned = body.vertices.copy()
    a, b = body.vertices[:, first], body.vertices[:, second]
    turned[:, first], turned[:, second] = np.cos(angle) * a - np.sin(angle) * b, np.sin(angle) * a + np.cos(angle) * b
    camera = Camera(30, 10, up)  # type: ignore[arg-type]
    found = same_side(camera, Mesh(turned, body.faces), body.vertices, up)  # type: ignore[arg-type]
    # the same picture: right, up and towards the eye
    assert np.allclose(
        (turned - turned.mean(axis=0)) @ found.axes.T, (body.vertices - body.vertices.mean(axis=0)) @ camera.axes.T
    )


def test_figures_are_saved_and_the_same_again(tmp_path: Path) -> None:
    whole = sphere(300)
    cut = cut_plane(whole, (0, 0, 0), (0, 0, 1))
    matched = np.ones(cut.part.n_vertices, bool)
    matched[:20] = False
    for name in ("one.png", "two.png"):
        figure = map_figure(
            cut.part, whole, cut.vertex_map, matched=matched, up=("z", "z"), panel_height=60, path=tmp_path / name
        )
    assert len(figure.axes) == 4
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    figure = confidence_figure(
        cut.part, np.linspace(0, 1, cut.part.n_vertices), panel_height=60, path=tmp_path / "sure.png"
    )
    assert len(figure.axes) == 3
    assert (tmp_path / "sure.png").read_bytes().startswith(b"\x89PNG")
    assert len(map_figure(cut.part, whole, cut.vertex_map, panel_height=40).axes) == 4
