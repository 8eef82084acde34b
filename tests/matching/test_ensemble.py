from __future__ import annotations

import pytest
import torch
from torch.nn.functional import normalize

from partwhole.matching import Benchmark, Ensemble, Matcher, TrainingConfig, prepare_pairs
from partwhole.matching.matcher import new_network


def matcher(config: TrainingConfig, seed: int) -> Matcher:
    torch.manual_seed(seed)
    return Matcher(new_network(config), config.with_changes(seed=seed), {"name": f"seed {seed}"})


@pytest.fixture(scope="module")
def three(config: TrainingConfig) -> list[Matcher]:
    return [matcher(config, seed) for seed in range(3)]


@pytest.mark.parametrize("combine", ["average", "choose"])
@pytest.mark.parametrize("read_out", ["features", "spectral"])
def test_one_alone_is_the_matcher_itself(stock, three, combine, read_out) -> None:
    part, whole = stock.surfaces(*stock.pairs[0])
    found = Ensemble(three[:1], combine=combine).vertex_map(part, whole, read_out=read_out)
    assert found.tolist() == three[0].vertex_map(part, whole, read_out=read_out).tolist()


def test_similarities_are_averaged(stock, three) -> None:
    part, whole = stock.surfaces(*stock.pairs[0])
    of_each = [normalize(m.features(part), dim=1) @ normalize(m.features(whole), dim=1).T for m in three]
    found = Ensemble(three).vertex_map(part, whole, read_out="features")
    assert found.tolist() == torch.stack(of_each).mean(dim=0).argmax(dim=1).tolist()


def test_the_best_of_several_is_chosen(stock, three) -> None:
    whole = stock.wholes[0]
    ensemble = Ensemble(three, combine="choose")
    assert ensemble.needs_distances
    assert not Ensemble(three).needs_distances
    # a part that is the whole itself: the network in the middle maps each vertex to itself, the others do not
    same = whole.with_loss(whole.distances, whole.mass[:, None] * whole.mass)
    torch.manual_seed(1)
    of_whole = torch.randn(3, len(whole), 8)
    of_part = torch.randn(3, len(whole), 8)
    of_part[1] = of_whole[1]
    found = ensemble.vertex_map(same, whole, read_out="features", features=([of_part], [of_whole]))
    assert found.tolist() == list(range(len(whole)))


def test_it_can_be_examined_like_one(pairs, config, cache) -> None:
    chosen = config.with_changes(yaw_steps=2)
    known = [pair for pair in pairs if pair.ground_truth is not None]
    ensemble = Ensemble([matcher(chosen, seed) for seed in range(2)])
    examined = Benchmark(known, chosen, cache=cache).of(ensemble)
    assert len(examined.pairs) == len(known)
    stock = prepare_pairs(known, chosen, cache=cache)
    assert ensemble.vertex_map(*stock.surfaces(0, 0)).shape == (len(stock.parts[0]),)


def test_what_is_no_ensemble(three, config, tmp_path) -> None:
    with pytest.raises(ValueError, match="at least one matcher"):
        Ensemble([])
    with pytest.raises(ValueError, match="combine must be one of 'average', 'choose', got 'vote'"):
        Ensemble.__init__.__wrapped__(object.__new__(Ensemble), three, combine="vote")
    other = matcher(config.with_changes(width=4), 0)
    with pytest.raises(ValueError, match="differ in their seeds only; number 1 has width=4, the first 8"):
        Ensemble([three[0], other])
    with pytest.raises(ValueError, match="save each of its matchers"):
        Ensemble(three).save(tmp_path / "all.safetensors")
    assert repr(Ensemble(three)) == "Ensemble(3 matchers, average, on cpu)"
