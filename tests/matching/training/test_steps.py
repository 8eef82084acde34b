"""Augmentation; pairs, rates and random numbers of an iteration."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import normalize

from partwhole.datasets import sphere
from partwhole.matching import Surface, TrainingConfig, augmented, preset, surface_of
from partwhole.matching.search.placement import axis_rotations as turns
from partwhole.matching.training.prepared_pairs import pair_number
from partwhole.matching.training.steps import learning_rate, random_seed
from partwhole.mesh import Mesh


def test_the_rate_falls_by_passes_or_by_iterations() -> None:
    by_passes = preset("pfaust-h")
    # 300 passes over 100 pairs: after 20 000 iterations, 200 passes, it has not come down
    assert learning_rate(0, 100, by_passes) == 1e-3
    assert learning_rate(99, 100, by_passes) == 1e-3
    assert learning_rate(100, 100, by_passes) == pytest.approx(1e-4 + 9e-4 * (1 + math.cos(math.pi / 300)) / 2)
    assert learning_rate(15_000, 100, by_passes) == pytest.approx(5.5e-4)
    assert learning_rate(30_000, 100, by_passes) == pytest.approx(1e-4)
    assert learning_rate(90_000, 100, by_passes) == pytest.approx(1e-4)
    by_iterations = by_passes.with_changes(cosine_epochs=None)
    rates = [learning_rate(i, 7, by_iterations) for i in range(0, 20_001, 1000)]
    assert rates == sorted(rates, reverse=True)
    assert (rates[0], rates[10], rates[20]) == pytest.approx((1e-3, 5.5e-4, 1e-4))


def test_every_pair_once_in_every_pass() -> None:
    for n, seed in ((1, 0), (7, 0), (7, 5)):
        passes = [[pair_number(e * n + i, n, seed) for i in range(n)] for e in range(6)]
        assert all(sorted(numbers) == list(range(n)) for numbers in passes)
        if n > 1:
            assert len({tuple(numbers) for numbers in passes}) > 3
    assert [pair_number(i, 50, 0) for i in range(50)] != [pair_number(i, 50, 1) for i in range(50)]
    # in any order: what an iteration takes is a function of its number
    order = [pair_number(i, 7, 3) for i in range(40)]
    assert [pair_number(i, 7, 3) for i in reversed(range(40))] == order[::-1]


def test_seeds_of_iterations_are_their_own() -> None:
    seeds = {random_seed(seed, 1, iteration) for seed in range(20) for iteration in range(100)}
    assert len(seeds) == 2000
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert len({random_seed(0), random_seed(0, 1, 0), random_seed(1)}) == 3


# --- augmentation

STILL = {"rotation": 0.0, "noise": 0.0, "scaling": (1.0, 1.0)}


@pytest.fixture
def ball(prepared) -> Surface:
    return prepared.wholes[0]


def pulled_apart(ball: Surface, config: TrainingConfig, seed: int = 0) -> torch.Tensor:
    """The matrix that took the points where they are; without noise there is one."""
    torch.manual_seed(seed)
    return torch.linalg.lstsq(ball.points, augmented(ball, config).points).solution.T


def test_nothing_changes_where_nothing_is_asked_for(ball, config) -> None:
    same = augmented(ball, config.with_changes(**STILL))
    torch.testing.assert_close(same.points, ball.points, rtol=0, atol=0)
    torch.testing.assert_close(same.normals, ball.normals)


def test_only_what_the_network_sees_of_places_changes(ball, config) -> None:
    moved = augmented(ball, config)
    for name in ("signatures", "mass", "values", "functions", "basis", "distances"):
        assert getattr(moved, name) is getattr(ball, name)
    assert (moved.points - ball.points).abs().max() > 0.01
    assert (moved.normals - ball.normals).abs().max() > 0.01
    torch.testing.assert_close(moved.normals.norm(dim=1), torch.ones(len(ball)))


@pytest.mark.parametrize(("axis", "fixed"), [("x", 0), ("y", 1), ("z", 2)])
def test_turns_are_rotations_about_their_axis(axis, fixed) -> None:
    angles = torch.linspace(-4, 4, 9, dtype=torch.float64)
    R = turns(angles, axis)
    torch.testing.assert_close(R @ R.transpose(1, 2), torch.eye(3, dtype=torch.float64).expand(9, 3, 3))
    torch.testing.assert_close(torch.linalg.det(R), torch.ones(9, dtype=torch.float64))
    e = torch.eye(3, dtype=torch.float64)
    torch.testing.assert_close(R @ e[fixed], e[fixed].expand(9, 3))
    # the right-handed way: from the next axis towards the one after it
    after, last = e[(fixed + 1) % 3], e[(fixed + 2) % 3]
    torch.testing.assert_close(R @ after, angles.cos()[:, None] * after + angles.sin()[:, None] * last)


@pytest.mark.parametrize(("axis", "fixed"), [("x", 0), ("y", 1), ("z", 2)])
def test_shapes_turn_about_the_vertical_within_the_range(ball, config, axis, fixed) -> None:
    choices = config.with_changes(**STILL | {"rotation": 40.0, "vertical": axis})
    angles = []
    for seed in range(60):
        R = pulled_apart(ball, choices, seed)
        torch.testing.assert_close(R @ R.T, torch.eye(3), atol=1e-5, rtol=0)
        torch.testing.assert_close(R[fixed], torch.eye(3)[fixed], atol=1e-5, rtol=0)
        after, last = (fixed + 1) % 3, (fixed + 2) % 3
        angles.append(math.degrees(math.atan2(R[last, after], R[after, after])))
        torch.manual_seed(seed)
        torch.testing.assert_close(augmented(ball, choices).normals, normalize(ball.normals @ R.T), atol=1e-5, rtol=0)
    assert -40 <= min(angles) < -30
    assert 30 < max(angles) <= 40


def test_stretching_is_along_the_axes_within_the_range(ball, config) -> None:
    choices = config.with_changes(**STILL | {"scaling": (0.5, 1.25)})
    factors = []
    for seed in range(60):
        S = pulled_apart(ball, choices, seed)
        torch.testing.assert_close(S, torch.diag(S.diagonal()), atol=1e-5, rtol=0)
        factors.append(S.diagonal())
    found = torch.stack(factors)
    assert (found >= 0.5 - 1e-5).all()
    assert (found <= 1.25 + 1e-5).all()
    assert (found.min(dim=0).values < 0.55).all()
    assert (found.max(dim=0).values > 1.2).all()
    assert (found.max(dim=1).values - found.min(dim=1).values).mean() > 0.1


def test_normals_stay_normal_to_a_plane(ball, config) -> None:
    """A plane that is turned and stretched is a plane, whose normal can be read from its points."""
    torch.manual_seed(0)
    for _ in range(10):
        normal, inside = normalize(torch.randn(3), dim=0), torch.randn(len(ball), 3)
        flat = inside - (inside @ normal)[:, None] * normal
        surface = replace(ball, points=flat, normals=normal.expand(len(ball), 3))
        moved = augmented(surface, config.with_changes(noise=0.0, scaling=(0.5, 2.0)))
        assert (moved.points * moved.normals).sum(dim=1).abs().max() < 1e-5
        assert torch.linalg.matrix_rank(moved.points, atol=1e-4) == 2


def test_noise_has_its_deviation_and_its_limit(ball, config) -> None:
    torch.manual_seed(0)
    quiet = config.with_changes(**STILL)
    many = replace(ball, points=ball.points.repeat(50, 1), normals=ball.normals.repeat(50, 1), **_repeated(ball, 50))
    noise = augmented(many, quiet.with_changes(noise=0.02, noise_limit=1.0)).points - many.points
    assert float(noise.std()) == pytest.approx(0.02, rel=0.03)
    assert abs(float(noise.mean())) < 0.001
    clipped = augmented(many, quiet.with_changes(noise=0.02, noise_limit=0.03)).points - many.points
    assert float(clipped.abs().max()) == pytest.approx(0.03, abs=1e-6)
    share = float((clipped.abs() > 0.03 - 1e-6).float().mean())
    assert share == pytest.approx(0.1336, abs=0.01)  # beyond 1.5 deviations


def _repeated(ball: Surface, times: int) -> dict[str, torch.Tensor | None]:
    return {
        "signatures": ball.signatures.repeat(times, 1),
        "mass": ball.mass.repeat(times),
        "functions": ball.functions.repeat(times, 1),
        "basis": ball.basis.repeat(times, 1, 1),
        "curvature": None,
        "distances": None,
    }


def test_surfaces_of_a_batch_move_each_in_its_own_way(ball, config) -> None:
    torch.manual_seed(0)
    held = {name: value for name, value in vars(ball).items() if isinstance(value, torch.Tensor)}
    del held["distances"]
    both = Surface(**{name: torch.stack([value, value]) for name, value in held.items()})
    moved = augmented(both, config.with_changes(noise=0.0))
    assert moved.points.shape == (2, len(ball), 3)
    assert (moved.points[0] - moved.points[1]).abs().max() > 0.01
    for number in range(2):
        M = torch.linalg.lstsq(ball.points, moved.points[number]).solution.T
        torch.testing.assert_close(ball.points @ M.T, moved.points[number], atol=1e-5, rtol=1e-4)
        along = normalize(ball.normals @ torch.linalg.inv(M), dim=1)
        torch.testing.assert_close(along, moved.normals[number], atol=1e-4, rtol=1e-4)


def test_the_same_seed_moves_the_same_way(ball, config) -> None:
    torch.manual_seed(5)
    first = augmented(ball, config)
    torch.manual_seed(5)
    assert torch.equal(augmented(ball, config).points, first.points)
    assert not torch.equal(augmented(ball, config).points, first.points)


@pytest.mark.parametrize(("axis", "fixed"), [("x", 0), ("y", 1), ("z", 2)])
def test_shapes_tilt_about_every_horizontal_axis(ball, config, axis, fixed) -> None:
    choices = config.with_changes(**STILL | {"tilt": 25.0, "vertical": axis})
    found = torch.stack([pulled_apart(ball, choices, seed) for seed in range(60)])
    torch.testing.assert_close(found @ found.transpose(1, 2), torch.eye(3).expand(60, 3, 3), rtol=0, atol=1e-3)
    tilts = found[:, fixed, fixed].clamp(max=1).arccos().rad2deg()
    assert 22 < tilts.max() < 25.1
    # where the vertical ends up: on all sides
    sides = torch.cat([found[:, :fixed, fixed], found[:, fixed + 1 :, fixed]], dim=1)
    assert sides.mean(dim=0).abs().max() < 0.1
    assert sides.abs().amax(dim=0).min() > 0.2


def test_without_bending_random_numbers_are_those_of_earlier_versions(ball, config) -> None:
    """So that runs which were begun before go on bit by bit."""
    choices = config.augmentation
    torch.manual_seed(3)
    R = turns((2 * torch.rand(()) - 1) * math.radians(choices.rotation), config.search.vertical)
    low, high = choices.scaling
    stretch = low + (high - low) * torch.rand((1, 3))
    noise = (choices.noise * torch.randn_like(ball.points)).clamp(-choices.noise_limit, choices.noise_limit)
    after = torch.rand(())
    torch.manual_seed(3)
    assert torch.equal(augmented(ball, config).points, stretch * (ball.points @ R.T + noise))
    assert torch.equal(torch.rand(()), after)


def test_bending_is_smooth_and_normals_are_those_of_the_bent_mesh(config) -> None:
    mesh = sphere(1000).scaled(0.28)
    ball = surface_of(mesh, eigenpairs=64, diffusion_eigenpairs=64)
    choices = config.with_changes(**STILL | {"bending": 0.05})
    worst = 0.0
    for seed in range(6):
        torch.manual_seed(seed)
        bent = augmented(ball, choices)
        normals = torch.from_numpy(Mesh(bent.points.double().numpy(), mesh.faces).vertex_normals).float()
        off = [
            float((given * normals).sum(dim=1).clamp(max=1).arccos().mean()) for given in (bent.normals, ball.normals)
        ]
        worst = max(worst, off[0] / off[1])
        # neighbours move together
        u = bent.points - ball.points
        ends = torch.from_numpy(mesh.edges)
        assert (u[ends[:, 0]] - u[ends[:, 1]]).norm(dim=1).mean() < 0.5 * u.norm(dim=1).mean()
        assert u.norm(dim=1).max() > 0.001
        assert bent.basis is ball.basis
    assert worst < 0.35
