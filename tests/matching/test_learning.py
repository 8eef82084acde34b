"""What training is for: on bodies that it never saw, errors far below those of a network that was not trained."""

from __future__ import annotations

import pytest
import torch

from partwhole.datasets.synthetic.generated import body_pairs
from partwhole.matching import Benchmark, Matcher, prepare_pairs, preset, train
from partwhole.matching.config import ReadOut
from partwhole.matching.network.diffusion_net import new_network

# Mean geodesic error × 100 on the hand that is held out, measured with 2 sets of bodies × 3 seeds of training: before
# training 9.4 to 13.7 (features) and 5.3 to 9.1 (spectral), afterwards 3.8 to 5.7 and 2.0 to 3.9, which is at most 0.44 and
# 0.56 of that.
BOUNDS: dict[ReadOut, float] = {"features": 7.0, "spectral": 5.0}
SHARES: dict[ReadOut, float] = {"features": 0.5, "spectral": 0.65}


@pytest.fixture(scope="module")
def errors() -> dict[str, dict[str, float]]:
    """Errors × 100 before and after training, by read-out.

    Four hands in two poses to train on, a fifth to be matched; all parts lack four pieces.
    """
    config = preset("small").with_changes(iterations=100, distances="dijkstra")
    pairs = body_pairs(5, 2, plans="hand", n_vertices=500)
    prepared = prepare_pairs(pairs.where(lambda part, whole: part.body < 4), config)
    held_out = pairs.where(lambda part, whole: part.body == 4, name="a hand that was not trained on")
    torch.manual_seed(0)
    matchers = {"untrained": Matcher(new_network(config.network), config), "trained": train(prepared, config).matcher}
    benchmark = Benchmark(held_out, method="dijkstra", keep=True)
    found = {name: benchmark.by_read_out(matcher, list(BOUNDS)) for name, matcher in matchers.items()}
    return {name: {read_out: 100 * of.macro for read_out, of in ofs.items()} for name, ofs in found.items()}


@pytest.mark.parametrize("read_out", list(BOUNDS))
def test_held_out_bodies_are_matched(errors: dict[str, dict[str, float]], read_out: ReadOut) -> None:
    assert errors["trained"][read_out] < BOUNDS[read_out]
    assert errors["trained"][read_out] < SHARES[read_out] * errors["untrained"][read_out]
