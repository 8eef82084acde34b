"""ZoomOut on tensors against ZoomOut on arrays, and when it is taken."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from partwhole.datasets import Pair, make_body, random_cuts
from partwhole.matching import Matcher, TrainingConfig, evaluate, hard_map, prepare_pairs, spectral_map
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.readout.maps import less_distorted, zoomed_out
from partwhole.matching.search.score import distance_distortion
from partwhole.spectral import Eigenpairs, zoomout

CONFIG = TrainingConfig(width=8, blocks=1, features=8, map_eigenpairs=50, diffusion_eigenpairs=20, distances="dijkstra")


@pytest.fixture(scope="module")
def cut():
    return random_cuts(make_body("hand", 500, seed=3).rest, recipe="pfaust-m", seed=0)


@pytest.fixture(scope="module")
def pair(cut) -> Pair:
    return Pair.of_cut(cut, centre="whole")


@pytest.fixture(scope="module")
def surfaces(pair):
    stock = prepare_pairs([pair], CONFIG)
    return stock.parts[0], stock.wholes[0]


@pytest.fixture(scope="module")
def truth(cut) -> torch.Tensor:
    return torch.from_numpy(cut.vertex_map.astype(np.int64))


@pytest.fixture(scope="module")
def noisy(truth, surfaces) -> torch.Tensor:
    """The true map with a fifth of the vertices sent anywhere."""
    generator = torch.Generator().manual_seed(0)
    anywhere = torch.randint(len(surfaces[1]), truth.shape, generator=generator)
    return torch.where(torch.rand(truth.shape, generator=generator) < 0.2, anywhere, truth)


@pytest.mark.parametrize("sizes", [(20, 5), (10, 20), (50, 5), (200, 1)])
def test_tensors_and_arrays_agree(surfaces, noisy, sizes) -> None:
    part, whole = surfaces
    start, step = sizes
    bases = [Eigenpairs(*(x.double().numpy() for x in (s.values, s.functions, s.mass))) for s in surfaces]
    expected = zoomout(noisy.numpy(), *bases, start=min(start, 50), step=step).vertex_map
    # but for rounding
    assert (zoomed_out(noisy, part, whole, start=start, step=step).numpy() == expected).mean() > 0.98


def test_it_is_taken_where_it_helps_and_left_where_it_does_not(surfaces, noisy, truth, monkeypatch) -> None:
    part, whole = surfaces
    better = less_distorted(noisy, part, whole)
    assert torch.equal(better, zoomed_out(noisy, part, whole))
    assert distance_distortion(better, part, whole) < 0.3 * distance_distortion(noisy, part, whole)
    monkeypatch.setattr("partwhole.matching.readout.maps.zoomed_out", lambda *_, **__: noisy)
    assert torch.equal(less_distorted(truth, part, whole), truth)


def test_as_a_read_out(surfaces, pair) -> None:
    torch.manual_seed(0)
    matcher = Matcher(new_network(CONFIG.network), CONFIG)
    part, whole = surfaces
    nearest = hard_map(matcher.encode(part), matcher.encode(whole))
    smooth = matcher.read(nearest, part, whole, "spectral")
    found = matcher.read(nearest, part, whole, "zoomout")
    assert torch.equal(found, less_distorted(smooth, part, whole))
    assert distance_distortion(found, part, whole) <= distance_distortion(smooth, part, whole)
    assert torch.equal(smooth, spectral_map(nearest, part, whole, 50))
    match = matcher.match(pair.part, pair.whole, read_out="zoomout")
    assert match.read_out == "zoomout"
    errors = evaluate(matcher, [pair], read_out="zoomout", method="dijkstra")
    assert errors.protocol.read_out == "zoomout"


def test_it_needs_distances(surfaces) -> None:
    part, whole = surfaces
    matcher = Matcher(new_network(CONFIG.network), CONFIG)
    with pytest.raises(ValueError, match="with_loss"):
        matcher.read(torch.zeros(len(part), dtype=torch.int64), part.with_loss(None), whole, "zoomout")
