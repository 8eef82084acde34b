"""Random solids: their topology, and deformations that keep lengths."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets.shapes.solids import (
    Box,
    Cone,
    Ellipsoid,
    Piece,
    Turned,
    mesh_solid,
    rough_surface,
    solid_distance,
)
from partwhole.datasets.shapes.thing_kinds import KINDS
from partwhole.datasets.shapes.things import bend_along, make_thing


@pytest.mark.parametrize("kind", KINDS)
def test_things_are_closed_and_of_genus_zero(kind) -> None:
    thing = make_thing(600, kind=kind, seed=3)
    rest = thing.rest
    assert (thing.kind, rest.n_vertices, rest.n_components) == (kind, 600, 1)
    assert (rest.is_closed, rest.is_manifold, rest.genus) == (True, True, 0)
    # outwards: the volume enclosed is positive
    corners = rest.vertices[rest.faces]
    assert np.linalg.det(corners).sum() > 0
    assert np.quantile(rest.corner_angles.min(axis=1), 0.05) > np.radians(15)


def test_poses_keep_lengths_and_differ() -> None:
    thing = make_thing(800, seed=2)
    one, two, still = thing.pose(1), thing.pose(2), thing.pose(1, strength=0.0)
    np.testing.assert_allclose(still.vertices, thing.rest.vertices, atol=1e-9)
    for pose in (one, two):
        ratio = pose.edge_lengths / thing.rest.edge_lengths
        assert np.quantile(np.abs(ratio - 1), 0.98) < 0.2
        assert np.abs(ratio - 1).max() > 0.01
    assert np.abs(one.vertices - two.vertices).max() > 0.02


def test_the_seed_decides() -> None:
    one, again, other = (make_thing(300, kind="tooth", seed=seed) for seed in (5, 5, 6))
    assert one.rest.content_hash == again.rest.content_hash != other.rest.content_hash


def test_a_rod_becomes_an_arc() -> None:
    rod = np.stack([np.linspace(0, 1, 50), np.zeros(50), np.zeros(50)], axis=1)
    arc = bend_along(rod, np.array([1.0, 0, 0]), np.array([[np.pi], [0.0], [0.0]]))
    steps = np.linalg.norm(np.diff(arc, axis=0), axis=1)
    np.testing.assert_allclose(steps, 1 / 49, rtol=2e-3)
    assert np.linalg.norm(arc[-1] - arc[0]) == pytest.approx(2 / np.pi, rel=1e-3)


@pytest.mark.parametrize(
    "piece",
    [
        Cone(centre=(1, 0, 0), start=(0, 0, 0), end=(0, 1, 0), r_start=0.5, r_end=0.3),
        Box(centre=(0, 2, 0), size=(0.6, 0.4, 0.5), rounding=0.1),
        Ellipsoid(size=(0.6, 0.5, 0.7)),
        Turned(height=1.0, radii=(0.4, 0.5, 0.3)),
    ],
)
def test_pieces_are_zero_on_their_surface(piece: Piece) -> None:
    mesh = mesh_solid([piece], 400)
    assert mesh.genus == 0
    assert np.abs(solid_distance([piece], mesh.vertices)).max() < 0.02
    low, high = piece.box
    assert (mesh.vertices > low - 0.02).all()
    assert (mesh.vertices < high + 0.02).all()
    assert piece.distance(np.array([piece.centre], float)) < 0


def test_a_hollow_piece_is_taken_away() -> None:
    block, hole = (
        Box(size=(0.5, 0.5, 0.5), rounding=0.1),
        Cone(start=(0, 0, -2), end=(0, 0, 2), r_start=0.2, r_end=0.2, hollow=True),
    )
    assert rough_surface([block, hole], 1 / 12).genus == 1


@pytest.mark.parametrize(
    ("n_vertices", "kind", "message"),
    [
        (100, None, "n_vertices=100 is too few for a thing, at least 300"),
        (500, "cloud", "kind='cloud' must be one of 'furniture', 'vessel'"),
    ],
)
def test_wrong_things(n_vertices, kind, message) -> None:
    with pytest.raises(ValueError, match=message):
        make_thing.__wrapped__(n_vertices, kind=kind)


def test_wrong_strength() -> None:
    with pytest.raises(ValueError, match=r"strength=1.5 must lie between 0 .* and 1"):
        make_thing(300, kind="tooth").pose(strength=1.5)
