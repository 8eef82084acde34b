"""Networks other than DiffusionNet: trained, interrupted, saved, loaded and matched with."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from partwhole.matching import DiffusionNet, Matcher, Network, Surface, TrainingConfig, train
from partwhole.matching.network.diffusion_net import is_made_by, new_network


class CrossAttention(Network):
    """An MLP on signatures; then part and whole see each other."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.first = nn.Linear(32, width)
        # one tensor under two names, and a buffer that changes while it is trained
        self.again = self.first
        self.centred = nn.BatchNorm1d(width)
        self.attention = nn.MultiheadAttention(width, num_heads=2, batch_first=True)
        self.steps = 0

    def encode(self, surface: Surface) -> Tensor:
        return torch.tanh(self.centred(self.first(surface.signatures)))

    def pair(self, of_part: Tensor, of_whole: Tensor) -> tuple[Tensor, Tensor]:
        seen, back = (
            self.attention(one, other, other, need_weights=False)[0]
            for one, other in ((of_part, of_whole), (of_whole, of_part))
        )
        return of_part + seen, of_whole + back

    def after_step(self) -> None:
        self.steps += 1


@pytest.fixture
def network() -> CrossAttention:
    torch.manual_seed(0)
    return CrossAttention()


@pytest.fixture(scope="module")
def few(config: TrainingConfig) -> TrainingConfig:
    return config.with_changes(iterations=2, evaluate_every=1)


def weights_of(network: Network) -> dict[str, np.ndarray]:
    return {name: tensor.numpy().copy() for name, tensor in network.state_dict().items()}


def assert_same(one: Network, two: Network) -> None:
    np.testing.assert_equal(weights_of(one), weights_of(two))


def test_it_is_trained_saved_loaded_and_matched_with(pairs, prepared, few, network, tmp_path) -> None:
    before = weights_of(network)
    run = train(prepared, few, network=network, validation=prepared, folder=tmp_path / "run")
    np.testing.assert_equal(weights_of(network), before)
    trained = run.matcher.network
    assert isinstance(trained, CrossAttention)
    assert trained.steps == 2
    assert all(
        not np.array_equal(weights_of(trained)[name], before[name]) for name in ("first.weight", "centred.running_mean")
    )

    path = tmp_path / "run/model.safetensors"
    again = Matcher.load(path, network=network)
    np.testing.assert_equal(weights_of(network), before)
    assert_same(again.network, trained)
    assert again.fingerprint() == run.matcher.fingerprint()
    assert (again.card, again.config) == (run.matcher.card, run.matcher.config)
    assert_same(Matcher.load(tmp_path / "run/validated.safetensors", network=network).network, run.validated.network)
    maps = [one.match(pairs[0].part, pairs[0].whole, up="y", refine=1).vertex_map for one in (again, run.matcher)]
    np.testing.assert_array_equal(*maps)


def test_without_the_network_it_says_what_to_give(prepared, few, network, tmp_path) -> None:
    matcher = train(prepared, few, network=network).matcher
    matcher.save(tmp_path / "a.safetensors")
    remedy = r"of another kind, CrossAttention, which must be given: Matcher\.load\(path, network=CrossAttention\("
    with pytest.raises(ValueError, match=remedy):
        Matcher.load(tmp_path / "a.safetensors")
    with pytest.raises(ValueError, match="the weights don't fit the network that was given"):
        Matcher.load(tmp_path / "a.safetensors", network=CrossAttention(width=4))


def test_a_run_goes_on_if_the_network_is_given_again(prepared, few, network, tmp_path) -> None:
    class Stopped(Exception):
        pass

    def stop(state) -> None:
        if state.iteration == 1:
            raise Stopped

    with pytest.raises(Stopped):
        train(prepared, few, network=network, folder=tmp_path / "run", heartbeat=stop)
    with pytest.raises(
        ValueError, match=r"run had the network CrossAttention, and now it is DiffusionNet; .*network=CrossAttention\("
    ):
        train(prepared, few, folder=tmp_path / "run", resume=True)
    with pytest.raises(
        ValueError, match="run had the network CrossAttention of another size; give the same to resume it"
    ):
        train(prepared, few, network=CrossAttention(width=4), folder=tmp_path / "run", resume=True)
    # its weights are those of the state, whatever it brings
    torch.manual_seed(1)
    resumed = train(prepared, few, network=CrossAttention(), folder=tmp_path / "run", resume=True)
    assert_same(resumed.matcher.network, train(prepared, few, network=network).matcher.network)


def test_a_matcher_is_trained_further_with_its_own_network(prepared, few, network) -> None:
    matcher = train(prepared, few, network=network).matcher
    before = weights_of(matcher.network)
    further = matcher.fit(prepared)
    assert isinstance(further.network, CrossAttention)
    np.testing.assert_equal(weights_of(matcher.network), before)
    assert not np.array_equal(weights_of(further.network)["first.weight"], before["first.weight"])


def test_what_can_not_be_trained(prepared, few, network) -> None:
    with pytest.raises(ValueError, match=r"CrossAttention has no weights that can be trained; if they are frozen"):
        train(prepared, few, network=network.requires_grad_(False))


def test_another_vertical_is_what_it_has_to_say_itself(prepared, few, network) -> None:
    matcher = train(prepared, few, network=network).matcher
    with pytest.raises(ValueError, match="CrossAttention does not say how it serves shapes with another vertical"):
        matcher.standing("z" if few.search.vertical != "z" else "y")


def test_a_network_of_the_usual_kind_may_be_given_too(prepared, few, tmp_path) -> None:
    torch.manual_seed(0)
    usual, other = new_network(few.network), DiffusionNet(6, 4, width=5, blocks=1)
    assert is_made_by(few.network, usual)
    train(prepared, few, network=usual, folder=tmp_path / "usual")
    assert is_made_by(few.network, Matcher.load(tmp_path / "usual/model.safetensors").network)
    # but of a size that the config does not say, it must be given again
    train(prepared, few, network=other, folder=tmp_path / "other")
    with pytest.raises(ValueError, match="of another kind, DiffusionNet, which must be given"):
        Matcher.load(tmp_path / "other/model.safetensors")
    Matcher.load(tmp_path / "other/model.safetensors", network=other)
