from __future__ import annotations

import pytest
import torch
from torch.nn.functional import normalize

from partwhole.matching import Benchmark, Ensemble, Matcher, TrainingConfig
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.search.search import best, candidates_at


def matcher(config: TrainingConfig, seed: int) -> Matcher:
    torch.manual_seed(seed)
    return Matcher(new_network(config.network), config.with_changes(seed=seed), {"name": f"seed {seed}"})


@pytest.fixture(scope="module")
def three(config: TrainingConfig) -> list[Matcher]:
    return [matcher(config, seed) for seed in range(3)]


@pytest.mark.parametrize("combine", ["average", "choose"])
@pytest.mark.parametrize("read_out", ["features", "spectral"])
def test_one_alone_is_the_matcher_itself(stock, small, three, combine, read_out) -> None:
    pair = small.prepared_pair(stock)
    found = small.map_of(Ensemble(three[:1], combine=combine), pair, read_out)
    assert found.tolist() == small.map_of(three[0], pair, read_out).tolist()


def test_similarities_are_averaged(stock, three) -> None:
    part, whole = stock.surfaces(*stock.pairs[0])
    of_each = [normalize(m.encode(part), dim=1) @ normalize(m.encode(whole), dim=1).T for m in three]
    ensemble = Ensemble(three)
    (found,) = ensemble.compare(ensemble.encode(part), ensemble.encode(whole))
    assert found.nearest().tolist() == torch.stack(of_each).mean(dim=0).argmax(dim=1).tolist()


def test_the_best_of_several_is_chosen(stock, three) -> None:
    whole = stock.wholes[0]
    # a part that is the whole itself: the network in the middle maps each vertex to itself, the others do not
    same = whole.with_loss(whole.distances, whole.mass[:, None] * whole.mass)
    torch.manual_seed(1)
    of_whole = torch.randn(3, len(whole), 8)
    of_part = torch.randn(3, len(whole), 8)
    of_part[1] = of_whole[1]

    class Random(Ensemble):
        def encode(self, surface):
            return of_part if surface is same else of_whole

    found = best(candidates_at(Random(three, combine="choose"), same, whole, 1))
    assert found.nearest.tolist() == list(range(len(whole)))


def test_it_can_be_evaluated_like_one(pairs, config, cache) -> None:
    chosen = config.with_changes(yaw_steps=2)
    known = [pair for pair in pairs if pair.ground_truth is not None]
    ensemble = Ensemble([matcher(chosen, seed) for seed in range(2)])
    evaluated = Benchmark(known, cache=cache).of(ensemble)
    assert len(evaluated.pairs) == len(known)
    assert evaluated.protocol.seeds == (0, 1)
    assert ensemble.fingerprint() != Ensemble(ensemble.matchers, combine="choose").fingerprint()
    assert ensemble.with_choices(yaw_steps=1).config.search.yaw_steps == 1


def test_what_is_no_ensemble(three, config) -> None:
    with pytest.raises(ValueError, match="at least one matcher"):
        Ensemble([])
    with pytest.raises(ValueError, match="combine must be one of 'average', 'choose', got 'vote'"):
        Ensemble.__init__.__wrapped__(object.__new__(Ensemble), three, combine="vote")
    other = matcher(config.with_changes(width=4), 0)
    with pytest.raises(ValueError, match="differ in their seeds only; number 1 has width=4, the first 8"):
        Ensemble([three[0], other])
    assert repr(Ensemble(three)) == "Ensemble(3 matchers, average, on cpu)"
