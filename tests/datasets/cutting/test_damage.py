"""Damaged parts: still surfaces, and their ground truth still known."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets import cut_balls, random_cuts, sphere
from partwhole.datasets.cutting.damage import Damaged, DamageKind, damaged

WHOLE = sphere(1500).to_unit_area()[0]
PART = random_cuts(WHOLE, "holes", seed=1).part


def away(found: Damaged, part=PART) -> np.ndarray:
    """How far vertices are from the places where they were."""
    there = np.einsum("gc,gcd->gd", found.weights, part.vertices[found.corners])
    return np.linalg.norm(there - found.mesh.vertices[found.vertices], axis=1)


@pytest.mark.parametrize("seed", range(12))
def test_the_truth_is_known_but_for_noise_and_filled_holes(seed: int) -> None:
    found = damaged(PART, seed, scale=1.0)
    mesh = found.mesh
    assert mesh.is_manifold
    assert mesh.n_components <= 2
    assert mesh.area > 0.25 * PART.area
    assert len(np.unique(mesh.faces)) == mesh.n_vertices
    assert len(found.vertices) > 0.3 * mesh.n_vertices
    assert away(found).max() <= 0.031
    np.testing.assert_allclose(found.weights.sum(axis=1), 1)
    again = damaged(PART, seed, scale=1.0)
    assert again.mesh.content_hash == mesh.content_hash


@pytest.mark.parametrize("kind", ["split", "two pieces", "torn", "jagged", "smooth boundary", "uneven"])
def test_what_does_not_move_vertices_keeps_the_truth_exact(kind: DamageKind) -> None:
    found = only(kind)
    assert len(found.vertices) == found.mesh.n_vertices
    assert away(found).max() < 1e-12
    assert found.mesh.content_hash != PART.content_hash
    if kind == "split":
        assert found.mesh.n_faces == 4 * PART.n_faces
        assert found.mesh.area == pytest.approx(PART.area)
    if kind == "two pieces":
        assert found.mesh.n_components == 2
    if kind == "uneven":
        assert PART.n_vertices / 11 < found.mesh.n_vertices < PART.n_vertices / 2.9


def test_filled_holes() -> None:
    found = only("filled")
    assert len(found.mesh.boundary_loops) < len(PART.boundary_loops)
    assert len(found.vertices) == PART.n_vertices < found.mesh.n_vertices
    # the new faces are oriented as the others: on a ball, outwards
    radius = 1 / (4 * np.pi) ** 0.5
    closed = cut_balls(WHOLE, [0, 700], 0.045).part
    filled = damaged(closed, scale=1.0, kinds=["filled"]).mesh
    assert len(filled.boundary_loops) == 1
    middles = filled.vertices[filled.faces].mean(axis=1)
    assert (np.einsum("mi,mi->m", filled.face_normals, middles) > 0.5 * radius).all()


def test_noise() -> None:
    moved = away(only("noisy"))
    assert 0.0005 < np.sqrt((moved**2).mean()) < 0.011


def only(kind: DamageKind) -> Damaged:
    """The part with one kind of damage."""
    for seed in range(100):
        found = damaged(PART, seed, scale=1.0, kinds=[kind])
        if found.mesh.content_hash != PART.content_hash:
            return found
    raise AssertionError(f"no damage of the kind {kind}")


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="scale=0 must be positive"):
        damaged(PART, scale=0)
    with pytest.raises(ValueError, match=r"kinds must be one or several of 'split', .*, got \[\]"):
        damaged(PART, kinds=[])
