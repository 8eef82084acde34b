"""Large templates and scans: the coarse fit carried to all vertices."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwhole.deformation import FitOptions, register_in_levels
from partwhole.deformation.levels import carried
from partwhole.deformation.register import Guide, Registration
from partwhole.mesh import decimate


def test_a_fine_template_is_fitted_as_a_coarse_one_is(bent: Any) -> None:
    found = register_in_levels(bent.template, bent.scan, bent.guide, options=FitOptions(max_vertices=150))
    off = np.linalg.norm(found.vertices - bent.whole.vertices, axis=1)
    assert len(off) == bent.template.n_vertices
    assert off[bent.seen].mean() < 0.01
    assert off[~bent.seen].mean() < 0.03


def test_a_rigid_motion_is_carried_exactly(bent: Any) -> None:
    coarse = decimate(bent.template, 150)
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    moved = Registration(coarse.mesh.vertices @ turn.T + 1, np.tile(turn, (150, 1, 1)), 0.1)
    found = carried(bent.template, coarse, moved)
    assert np.allclose(found.vertices, bent.template.vertices @ turn.T + 1)
    assert np.allclose(found.rotations, turn)


def test_landmarks_are_kept_through_the_levels(bent: Any) -> None:
    rows = np.arange(0, len(bent.numbers), 8)
    marks = np.stack([rows, bent.numbers[rows]], axis=1)
    lost = Guide(np.zeros_like(bent.numbers), np.zeros(len(bent.numbers)), marks)
    found = register_in_levels(bent.template, bent.scan, lost, options=FitOptions(max_vertices=150))
    assert np.linalg.norm(found.vertices - bent.whole.vertices, axis=1)[bent.seen].mean() < 0.03
