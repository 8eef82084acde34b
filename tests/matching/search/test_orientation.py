"""Axes, rotations, rigid alignment and resizing."""

from __future__ import annotations

import math
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
import torch

from partwhole.datasets import Pair, cut_plane, sphere
from partwhole.matching import PreparedPairs, TrainingConfig, prepare_pairs, surface_of
from partwhole.matching.search.placement import (
    UPS,
    axis_rotations,
    candidate_axes,
    resized,
    rigidly_aligned,
    rotated,
    rotation_to_vertical,
    turned,
    yaws,
)
from partwhole.mesh import Mesh


def test_axes() -> None:
    assert candidate_axes("auto", "y")[0] == ("y", "-y", "z", "-z", "x", "-x")
    assert candidate_axes("auto", "z")[1] == ("y", "z", "x")
    assert candidate_axes(None, "z", upright=False) == (UPS, ("z",))
    for wrong in ("w", "y:w", "y:", ":y", "up"):
        with pytest.raises(ValueError, match=f"up='{wrong}' must be an axis"):
            candidate_axes(wrong, "y")


def test_every_axis_comes_to_stand_upright() -> None:
    for up in UPS:
        for vertical in "xyz":
            R = rotation_to_vertical(up, vertical)
            axis = np.zeros(3)
            axis["xyz".index(up[-1])] = -1 if up.startswith("-") else 1
            assert np.allclose(R @ axis, np.eye(3)["xyz".index(vertical)])
            assert np.allclose(R @ R.T, np.eye(3))
            assert np.isclose(np.linalg.det(R), 1)
    with pytest.raises(ValueError, match="up must be one of 'y', '-y', 'z', '-z', 'x', '-x', got 'w'"):
        rotation_to_vertical("w", "y")


def test_turned_by_a_full_turn_is_the_same() -> None:
    ball = surface_of(sphere(100), eigenpairs=20)
    for axis in ("x", "y", "z"):
        again = turned(turned(ball, math.pi, axis), math.pi, axis)
        assert torch.allclose(again.points, ball.points, atol=1e-6)
        assert torch.allclose(turned(ball, 0.3, axis).normals.norm(dim=1), torch.ones(100), atol=1e-6)
    angles, turns = zip(*yaws(ball, 4, "z"), strict=True)
    assert [round(math.degrees(angle)) for angle in angles] == [0, 90, 180, 270]
    assert turns[0] is ball
    assert torch.allclose(turns[1].points[:, 2], ball.points[:, 2])


def test_the_rigid_motion_onto_the_whole_is_found_and_is_no_reflection(prepared: PreparedPairs) -> None:
    part = prepared.parts[0]
    there = torch.arange(len(part))
    R = axis_rotations(torch.tensor(2.0), "x") @ axis_rotations(torch.tensor(1.2), "y")
    away = rotated(replace(part, points=part.points + torch.tensor([1.0, -2.0, 0.5])), R)
    found = rigidly_aligned(away, part, there)
    torch.testing.assert_close(found.points, part.points, atol=1e-4, rtol=0)
    torch.testing.assert_close(found.normals, part.normals, atol=1e-5, rtol=0)
    # what is mirrored stays so: the normals of the part, seen from outside, would else point inwards
    mirrored = replace(part, points=part.points * torch.tensor([-1.0, 1.0, 1.0]))
    aligned = rigidly_aligned(mirrored, part, there)
    torch.testing.assert_close(
        torch.cdist(aligned.points, aligned.points), torch.cdist(part.points, part.points), atol=1e-3, rtol=0
    )
    four = [0, len(part) // 3, len(part) // 2, len(part) - 1]
    volumes = [torch.linalg.det(s.points[four[1:]] - s.points[four[0]]) for s in (mirrored, aligned)]
    assert float(volumes[0] * volumes[1]) > 0


def test_a_resized_surface_is_that_of_the_resized_mesh(small: ModuleType, config: TrainingConfig) -> None:
    cut = cut_plane(small.lopsided(110), (0, 0, 0), (0, 0, 1))
    config = config.with_changes(inputs="xyz+signatures")
    pair = Pair.of_cut(cut)
    twice = Pair(Mesh(2 * pair.part.vertices, pair.part.faces), pair.whole)
    one, other = (prepare_pairs([given], config).parts[0] for given in (pair, twice))
    made = resized(one, 2.0)
    for name in ("points", "normals", "mass", "values", "distances", "weights"):
        assert torch.allclose(getattr(made, name), getattr(other, name), rtol=1e-3, atol=1e-5), name
    # eigenfunctions up to rounding; signatures, that need none of their signs, to what float32 leaves of them
    assert torch.allclose(made.functions.abs(), other.functions.abs(), atol=1e-3)
    assert torch.allclose(made.signatures, other.signatures, rtol=1e-2, atol=1e-3)
    assert torch.allclose(made.basis[:, 1:].square().sum(1), other.basis[:, 1:].square().sum(1), rtol=1e-2, atol=1e-2)
    assert resized(one, 1) is one
