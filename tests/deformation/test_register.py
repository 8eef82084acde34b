"""Registration: known motions and bends come back, and what was not seen follows plausibly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from partwhole.datasets import sphere
from partwhole.deformation import FitOptions, register
from partwhole.deformation.register import Guide, counting, robust
from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import SurfaceTree


def test_a_rigid_motion_comes_back_exactly(bent: Any) -> None:
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    scan, numbers = Mesh(bent.template.vertices @ turn.T + 0.3, bent.template.faces).submesh(bent.seen)
    found = register(bent.template, scan, Guide.of(numbers))
    assert np.allclose(found.vertices, bent.template.vertices @ turn.T + 0.3, atol=1e-6)
    assert np.allclose(found.rotations, turn, atol=1e-6)


def test_a_bend_is_followed_and_its_gap_is_filled(bent: Any, registered: Any) -> None:
    off = np.linalg.norm(registered.vertices - bent.whole.vertices, axis=1)
    assert off[bent.seen].mean() < 0.005
    assert off[~bent.seen].mean() < 0.02


def test_a_wrong_map_in_places_does_no_harm(bent: Any) -> None:
    numbers = bent.numbers.copy()
    numbers[::9] = numbers[::-1][::9]
    off = np.linalg.norm(register(bent.template, bent.scan, Guide.of(numbers)).vertices - bent.whole.vertices, axis=1)
    assert off[bent.seen].mean() < 0.01


def test_landmarks_hold_where_the_map_knows_nothing(bent: Any) -> None:
    # a map that shrinks everything onto one vertex, with no confidence at all
    lost = Guide(np.zeros_like(bent.numbers), np.zeros(len(bent.numbers)), np.empty((0, 2), np.int64))
    rows = np.arange(0, len(bent.numbers), 12)
    marks = np.stack([rows, bent.numbers[rows]], axis=1)
    held = register(bent.template, bent.scan, replace(lost, landmarks=marks))
    off = np.linalg.norm(held.vertices - bent.whole.vertices, axis=1)
    assert off[bent.seen].mean() < 0.02


def test_the_vertices_may_come_in_any_order(bent: Any) -> None:
    order = np.random.default_rng(0).permutation(bent.template.n_vertices)
    place = np.argsort(order)
    shuffled = Mesh(bent.template.vertices[order], place[bent.template.faces])
    one = register(bent.template, bent.scan, bent.guide, options=FitOptions(steps=3))
    other = register(shuffled, bent.scan, Guide.of(place[bent.numbers]), options=FitOptions(steps=3))
    assert np.abs(other.vertices[place] - one.vertices).max() < 2e-3


def test_what_was_not_seen_may_keep_the_directions_of_the_template(bent: Any) -> None:
    # only the left half is seen
    left = np.flatnonzero(bent.template.vertices[:, 0] < -0.08)
    keep = np.zeros(bent.template.n_vertices, bool)
    keep[left] = True
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    scan, numbers = Mesh(bent.template.vertices @ turn.T, bent.template.faces).submesh(keep)
    start, end = int(bent.template.vertices[:, 0].argmin()), int(bent.template.vertices[:, 0].argmax())
    for hold, expected in (("seen", turn), ("rest", np.eye(3))):
        options = FitOptions(hold=hold, steps=2)  # type: ignore[arg-type]
        found = register(bent.template, scan, Guide.of(numbers), options=options)
        assert np.abs(found.rotations[end] - expected).max() < 0.1
        assert np.abs(found.rotations[start] - turn).max() < 0.1


def test_the_two_sides_of_a_thin_surface_are_kept_apart() -> None:
    ball = sphere(400)
    slab = Mesh(ball.vertices * [1.0, 1.0, 0.06], ball.faces).to_unit_area()[0]
    below = slab.vertices[:, 2] < -0.01
    scan, numbers = slab.submesh(slab.vertices[:, 2] > -0.005)
    found = register(slab, scan, Guide.of(numbers), options=FitOptions(steps=2))
    assert np.linalg.norm(found.vertices - slab.vertices, axis=1)[below].max() < 0.005


@pytest.mark.parametrize(
    ("apart", "confidence", "counts"), [(0.14, 1.0, False), (0.14, 0.2, True), (0.1, 1.0, True), (0.14, 0.4, False)]
)
def test_a_nearest_point_that_belongs_elsewhere_does_not_count(apart: float, confidence: float, counts: bool) -> None:
    ball = sphere(2000).to_unit_area()[0]
    away = np.linalg.norm(ball.vertices - ball.vertices[0], axis=1)
    numbers = np.arange(2000)
    numbers[0] = np.abs(away - apart).argmin()
    assert away[numbers[0]] == pytest.approx(apart, abs=0.01)
    near = SurfaceTree(ball).nearest(ball.vertices, ball.vertex_normals)
    guide = Guide.of(numbers, np.full(2000, confidence))
    found = counting(near, ball, ball, guide, np.zeros(2000, bool), 0.06)
    assert found[0] == counts
    assert found[1:].sum() >= 1990


def test_targets_far_off_count_little() -> None:
    assert np.allclose(robust(np.array([0.0, 1.0, np.inf]), 1.0), [1.0, 0.25, 0.0])


def test_progress_is_told(bent: Any) -> None:
    said: list[tuple[str, int, int]] = []
    options = FitOptions(steps=1)
    register(bent.template, bent.scan, bent.guide, options=options, progress=lambda *what: said.append(what))
    assert said[0] == ("bending", 0, said[0][2])
    assert said[-1] == ("bending", said[0][2], said[0][2])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"stiffness": 0.0}, "stiffness=0.0 must lie between 0 and 1"),
        ({"steps": 0}, "steps=0 must be at least 1"),
        ({"max_vertices": 10}, "max_vertices=10 must be at least 100"),
    ],
)
def test_options_are_checked(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        FitOptions(**given)
