"""Surfaces of which the loss sees some vertices only."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from partwhole.datasets import cut_balls, sphere
from partwhole.matching import Matcher, PreparedPairs, prepare_pairs, train
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.training.large.kept import spread_vertices
from partwhole.matching.training.losses import loss_of
from partwhole.matching.training.train import mean_loss
from partwhole.mesh import Mesh

KEPT = 40


@pytest.fixture(scope="module")
def kept(pairs, config, cache) -> PreparedPairs:
    return prepare_pairs(pairs, config.with_changes(distance_vertices=KEPT), cache=cache)


def test_areas_around_the_vertices_add_up_to_the_surface() -> None:
    ball = cut_balls(sphere(400, jitter=0.4), [0], 0.7).part
    loose = Mesh(np.vstack([ball.vertices, [[9.0, 9.0, 9.0]]]), ball.faces)
    vertices, areas = spread_vertices(loose, 50)
    assert areas.sum() == pytest.approx(ball.area)
    assert len(np.unique(vertices)) == 50
    assert vertices.max() < ball.n_vertices
    # a smooth function has nearly the same integral
    integral = (ball.vertex_areas * ball.vertices[:, 2] ** 2).sum()
    assert (areas * ball.vertices[vertices, 2] ** 2).sum() == pytest.approx(integral, rel=0.05)


@pytest.mark.parametrize("criterion", ["none", "wormhole", "same_loop"])
def test_the_loss_sees_rows_and_columns_of_all(pairs, config, cache, criterion) -> None:
    config = config.with_changes(criterion=criterion, masked_sides="both")
    every = prepare_pairs(pairs[:1], config, cache=cache)
    some = prepare_pairs(pairs[:1], config.with_changes(distance_vertices=KEPT), cache=cache)
    for side in ("parts", "wholes"):
        (full,), (large,) = getattr(every, side), getattr(some, side)
        at, seen = large.kept
        assert len(at) == len(seen) == KEPT
        assert large.distances is None
        assert large.weights is None
        torch.testing.assert_close(seen.distances, full.distances[at][:, at])
        torch.testing.assert_close(seen.functions, full.functions[at])
        torch.testing.assert_close(seen.mass.sum(), full.mass.sum())
        # the network sees everything
        torch.testing.assert_close(large.basis, full.basis)
        if side == "wholes":
            torch.testing.assert_close(seen.mask, full.mask[at][:, at])
        else:
            M = full.weights[at][:, at] / torch.outer(full.mass[at], full.mass[at])
            torch.testing.assert_close(seen.weights, M * torch.outer(seen.mass, seen.mass))


def test_low_passed_distances_are_those_of_the_kept_vertices(pairs, config, cache) -> None:
    made = prepare_pairs(pairs[:1], config.with_changes(distance_vertices=KEPT, low_pass=5), cache=cache)
    _, seen = made.wholes[0].kept
    assert int(torch.linalg.matrix_rank(seen.distances, rtol=1e-4)) == 5


def test_surfaces_that_are_small_enough_are_seen_whole(pairs, config, cache, prepared) -> None:
    made = prepare_pairs(pairs, config.with_changes(distance_vertices=110), cache=cache)
    assert all(surface.kept is None for surface in (*made.parts, *made.wholes))
    torch.testing.assert_close(made.parts[0].weights, prepared.parts[0].weights)


def test_the_more_vertices_the_nearer_to_the_loss_of_all(pairs, config, cache) -> None:
    torch.manual_seed(1)
    network = new_network(config.network).eval()
    found = []
    for count in (20, 80, None):
        chosen = config.with_changes(distance_vertices=count, orthogonality_weight=0.0)
        found.append(mean_loss(network, loss_of(chosen), prepare_pairs(pairs[:2], chosen, cache=cache), chosen))
    assert abs(found[1] / found[2] - 1) < min(0.1, abs(found[0] / found[2] - 1))


def test_training_with_kept_vertices_and_sampled_rows(kept, config, tmp_path) -> None:
    config = config.with_changes(distance_vertices=KEPT, rows=10)
    run = train(kept, config, folder=tmp_path / "run", validation=kept)
    assert np.isfinite(run.losses).all()
    assert run.validated is not None
    # a matcher searches with all vertices, whatever its training saw
    loaded = Matcher.load(tmp_path / "run" / "model.safetensors")
    assert loaded.config.loss.distance_vertices == KEPT
    ball = sphere(100, jitter=0.3)
    assert len(loaded.match(cut_balls(ball, [0], 0.7).part, ball).vertex_map) < 100
    assert kept.parts[0].to("cpu").kept[1].distances is not None


def test_what_takes_all_vertices_is_refused(pairs, prepared, config) -> None:
    few = config.with_changes(distance_vertices=KEPT)
    with pytest.raises(ValueError, match="distance_vertices=40 keeps some vertices, and the correspondence loss takes"):
        train(pairs, few.with_changes(correspondence_weight=1.0))
    teacher = Matcher(new_network(config.network), config)
    with pytest.raises(ValueError, match="and a teacher takes distances at all of them"):
        train(pairs, few.with_changes(correspondence_weight=1.0), teacher=teacher)


_PREPARE = """
import resource
from partwhole.datasets import Pair, cut_plane, sphere
from partwhole.matching import TrainingConfig, train

few = {"width": 8, "blocks": 1, "features": 8, "map_eigenpairs": 10, "diffusion_eigenpairs": 10, "iterations": 1}
config = TrainingConfig(distances="dijkstra", distance_vertices=200, rows=50, **few)
for n in (400, 12_000):
    part = cut_plane(sphere(n), (0.0, 0.0, -0.9), (0.0, 0.0, 1.0))
    train([Pair.of_cut(part)], config)
    print(part.part.n_vertices, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count ru_maxrss in other units")
def test_memory_is_not_that_of_all_pairs() -> None:
    """One matrix of all pairs would take half a gigabyte; a process of its own, since the peak is that of the process."""
    run = subprocess.run([sys.executable, "-c", _PREPARE], capture_output=True, text=True, check=True)
    (_, before), (vertices, after) = (map(int, line.split()) for line in run.stdout.splitlines())
    assert vertices > 11_000
    assert 1024 * (after - before) < 4 * vertices**2 / 3
