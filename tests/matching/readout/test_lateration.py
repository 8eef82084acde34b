"""A vertex belongs where its distances to the places around are those of the part."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch

from partwhole.datasets import cut_plane
from partwhole.matching import Matcher, Surface, TrainingConfig, pair_weights, surface_of
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.network.surface import distances_of
from partwhole.matching.readout.maps import guaranteed_pairs, laterated


@pytest.fixture(scope="module")
def surfaces(small: ModuleType) -> tuple[Surface, Surface, torch.Tensor]:
    """A part, its whole, and the true map."""
    whole, _ = small.lopsided(900).to_unit_area()
    cut = cut_plane(whole, (0, 0, 0), (1.0, 0.5, 0.2))
    made = []
    for mesh in (cut.part, whole):
        D = distances_of(mesh, method="fast_marching", device="cpu")
        surface = surface_of(mesh, eigenpairs=20)
        made.append(surface.with_loss(D, pair_weights(mesh, D, surface.mass)))
    return made[0], made[1], torch.tensor(cut.vertex_map)


def error(found: torch.Tensor, whole: Surface, truth: torch.Tensor) -> float:
    assert whole.distances is not None
    return float(whole.distances[found, truth].mean())


def test_the_truth_stays(surfaces: tuple[Surface, Surface, torch.Tensor]) -> None:
    part, whole, truth = surfaces
    assert error(laterated(truth, part, whole), whole, truth) < 0.003


def test_what_is_a_little_wrong_everywhere_is_mended(surfaces: tuple[Surface, Surface, torch.Tensor]) -> None:
    part, whole, truth = surfaces
    assert whole.distances is not None
    generator = torch.Generator().manual_seed(0)
    near = whole.distances.topk(12, largest=False).indices
    wrong = near[truth, torch.randint(12, truth.shape, generator=generator)]
    before = error(wrong, whole, truth)
    after = error(laterated(wrong, part, whole), whole, truth)
    assert before > 0.04
    assert after < before / 2
    once = error(laterated(wrong, part, whole, steps=1), whole, truth)
    assert after <= once < before
    assert torch.equal(laterated(wrong, part, whole, steps=0), wrong)


def test_nothing_moves_where_nothing_is_guaranteed(surfaces: tuple[Surface, Surface, torch.Tensor]) -> None:
    part, whole, truth = surfaces
    assert part.weights is not None
    areas = part.mass[:, None] * part.mass
    alone = part.with_loss(part.distances, torch.eye(len(part)) * areas)
    assert int(guaranteed_pairs(alone).sum()) == len(part)
    wrong = truth.roll(3)
    assert torch.equal(laterated(wrong, alone, whole), wrong)


def test_it_is_a_read_out(surfaces: tuple[Surface, Surface, torch.Tensor], config: TrainingConfig) -> None:
    part, whole, truth = surfaces
    torch.manual_seed(0)
    matcher = Matcher(new_network(config.network), config)
    smooth = matcher.read(truth, part, whole, "spectral")
    assert torch.equal(matcher.read(truth, part, whole, "lateration"), laterated(smooth, part, whole))
    with pytest.raises(ValueError, match="distances of part or whole are not known"):
        laterated(truth, part.with_loss(None), whole)
