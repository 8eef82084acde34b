"""Trained networks: saved, loaded and asked; several as one."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch.nn.functional import normalize

from partwhole.datasets import Pairs, sphere
from partwhole.matching import Benchmark, Ensemble, Matcher, MatchResult, TrainingConfig, hard_map, match, spectral_map
from partwhole.matching.confidence.rule import fitted_rule
from partwhole.matching.network.diffusion_net import Network, new_network
from partwhole.matching.network.surface import Surface
from partwhole.matching.network.weights import FORMAT, write_tensors
from partwhole.matching.readout.maps import read_map
from partwhole.matching.search.placement import resized, rotated, rotation_to_vertical
from partwhole.matching.search.search import best, candidates_at
from partwhole.mesh import Mesh


def matcher_of(config: TrainingConfig, seed: int = 0) -> Matcher:
    torch.manual_seed(seed)
    return Matcher(new_network(config.network), config, {"name": "random", "data": {"pairs": 3}})


@pytest.fixture(scope="module")
def matcher(config: TrainingConfig) -> Matcher:
    return matcher_of(config)


@pytest.fixture
def path(matcher: Matcher, tmp_path: Path) -> Path:
    matcher.save(tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def card_of(matcher: Matcher, **changes: object) -> dict[str, object]:
    return {**matcher.card, "config": {**matcher.config.to_json(), **changes}}


@pytest.mark.parametrize("inputs", ["xyz", "signatures", "xyz+signatures"])
def test_saved_and_loaded_it_is_the_same(config, prepared, small, tmp_path, inputs) -> None:
    first = matcher_of(config.with_changes(inputs=inputs))
    first.save(tmp_path / "a")
    again = Matcher.load(tmp_path / "a")
    assert repr(again) == "Matcher('random', on cpu)"
    assert (again.config, again.card) == (first.config, first.card)
    for name, weight in first.network.state_dict().items():
        assert torch.equal(again.network.state_dict()[name], weight)
    part, pair = prepared.parts[0], small.prepared_pair(prepared)
    assert torch.equal(again.encode(part), first.encode(part))
    assert torch.equal(small.map_of(again, pair), small.map_of(first, pair))
    assert again.fingerprint() == first.fingerprint() != matcher_of(first.config, seed=1).fingerprint()
    assert not again.network.training
    assert not any(weight.requires_grad for weight in again.network.parameters())
    again.save(tmp_path / "b")
    assert Matcher.load(tmp_path / "b").card == first.card


def test_to_load_draws_no_random_numbers(path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(5)
    torch.manual_seed(3)
    Matcher.load(path)
    assert torch.equal(torch.rand(5), expected)


def test_weights_of_another_precision_are_converted(matcher, tmp_path) -> None:
    doubled = {name: weight.double() for name, weight in matcher.network.state_dict().items()}
    write_tensors(tmp_path / "a", doubled, card_of(matcher))
    for name, weight in Matcher.load(tmp_path / "a").network.state_dict().items():
        assert torch.equal(weight, matcher.network.state_dict()[name])


def test_no_file_and_no_model(tmp_path, config) -> None:
    with pytest.raises(ValueError, match="there is no file"):
        Matcher.load(tmp_path / "none.safetensors")
    for card in ({}, {"name": "x"}):
        save_file({"w": torch.ones(2)}, tmp_path / "a", {"format": FORMAT, "card": json.dumps(card)})
        with pytest.raises(ValueError, match=r"a holds no model; give a file that Matcher\.save or `partwhole train`"):
            Matcher.load(tmp_path / "a")


def test_a_damaged_model(path) -> None:
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:-1], b"", whole[:-4] + b"\0\0\0\1"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="is damaged"):
            Matcher.load(path)


@pytest.mark.parametrize(
    "changes", [{"width": 9}, {"blocks": 1}, {"blocks": 3}, {"features": 4}, {"inputs": "signatures"}]
)
def test_weights_that_do_not_fit_their_card(matcher, tmp_path, changes) -> None:
    write_tensors(tmp_path / "a", matcher.network.state_dict(), card_of(matcher, **changes))
    with pytest.raises(ValueError, match="a: the weights don't fit the network of their card") as caught:
        Matcher.load(tmp_path / "a")
    assert "\n" not in str(caught.value)


def test_a_card_that_asks_for_more_memory_than_there_is(matcher, tmp_path) -> None:
    for width, said in ((8192, "don't fit the network of their card"), (10**10, "its card can't be read")):
        write_tensors(tmp_path / "a", matcher.network.state_dict(), card_of(matcher, width=width))
        with pytest.raises(ValueError, match=said):
            Matcher.load(tmp_path / "a")


def test_weights_that_are_not_finite(matcher, tmp_path) -> None:
    weights = {name: tensor.clone() for name, tensor in matcher.network.state_dict().items()}
    weights["first.weight"][0, 0] = float("nan")
    write_tensors(tmp_path / "a", weights, card_of(matcher))
    with pytest.raises(ValueError, match=r"a: the weights first\.weight are not finite"):
        Matcher.load(tmp_path / "a")


@pytest.mark.parametrize(
    "changes",
    [
        {"width": 0},
        {"colour": "red"},
        {"width": "wide"},
        {"blocks": 1.5},
        {"scaling": 3},
        {"inputs": "rgb"},
        {"yaw_steps": 1e9},
        {"yaw_steps": float("nan")},
        {"alignments": 0.5},
        {"blocks": 10**9},
        {"seed": 10**400},
    ],
)
def test_a_card_of_another_version(matcher, tmp_path, changes) -> None:
    write_tensors(tmp_path / "a", matcher.network.state_dict(), card_of(matcher, **changes))
    with pytest.raises(ValueError, match="a: its card can't be read"):
        Matcher.load(tmp_path / "a")
    rule = {**fitted_rule().to_json(), "even": float("nan")}
    write_tensors(tmp_path / "a", matcher.network.state_dict(), {**card_of(matcher), "confidence": rule})
    with pytest.raises(
        ValueError, match=r"a: its card can't be read \(the rule of confidence is damaged \(even should"
    ):
        Matcher.load(tmp_path / "a")
    write_tensors(tmp_path / "a", matcher.network.state_dict(), {"config": 3})
    with pytest.raises(ValueError, match="a: its card can't be read"):
        Matcher.load(tmp_path / "a")


@pytest.mark.parametrize("inputs", ["xyz", "signatures", "xyz+signatures"])
@pytest.mark.parametrize("vertical", ["x", "y", "z"])
def test_a_network_for_shapes_that_stand_otherwise(config, prepared, inputs, vertical) -> None:
    upright = Matcher(
        new_network(config.with_changes(inputs=inputs).network), config.with_changes(inputs=inputs, vertical="y")
    )
    other = upright.standing(vertical)
    assert other.config.search.vertical == vertical
    assert upright.config.search.vertical == "y"
    surface = prepared.parts[0]
    R = torch.tensor(rotation_to_vertical("y", vertical), dtype=torch.float32)
    torch.testing.assert_close(other.encode(rotated(surface, R)), upright.encode(surface))
    both = Ensemble([upright, upright]).standing(vertical)
    torch.testing.assert_close(both.encode(rotated(surface, R))[1], upright.encode(surface))


class OwnNetwork(Network):
    """Sees signatures, whatever the config says."""

    def __init__(self) -> None:
        super().__init__()
        self.last = torch.nn.Linear(32, 4)

    def encode(self, surface: Surface) -> torch.Tensor:
        return self.last(surface.signatures)


def test_signatures_are_computed_only_where_something_sees_them(config, matcher, pairs) -> None:
    part, seeing = pairs[0].part, matcher_of(config.with_changes(inputs="signatures"))
    own = Matcher(OwnNetwork(), config)
    assert (matcher.sees_signatures, seeing.sees_signatures, own.sees_signatures) == (False, True, True)
    assert Ensemble([seeing, seeing]).sees_signatures
    assert [method.surface(part).signatures.shape[1] for method in (matcher, seeing, own)] == [0, 32, 32]
    assert resized(matcher.surface(part), 2.0).signatures.shape == (part.n_vertices, 0)
    torch.testing.assert_close(own.encode(own.surface(part)), own.network.last(seeing.surface(part).signatures))


def test_read_outs(matcher, prepared) -> None:
    part, whole = prepared.parts[0], prepared.wholes[0]
    nearest = hard_map(matcher.encode(part), matcher.encode(whole))
    assert torch.equal(matcher.compare(matcher.encode(part), matcher.encode(whole))[0].nearest(), nearest)
    assert torch.equal(matcher.read(nearest, part, whole, "features"), nearest)
    assert torch.equal(matcher.read(nearest, part, whole, "spectral"), spectral_map(nearest, part, whole, 20))
    plain = inspect.unwrap(read_map)
    with pytest.raises(ValueError, match=r"read_out must be one of 'features', .*'registration', got 'magic'"):
        plain(nearest, part, whole, "magic", eigenpairs=20)


def test_as_many_eigenpairs_as_there_are(config, cache) -> None:
    many = matcher_of(config.with_changes(map_eigenpairs=60, diffusion_eigenpairs=50))
    part, whole = many.surface(sphere(30).scaled(0.2)), many.surface(sphere(70).scaled(0.28))
    assert (part.values.shape, whole.values.shape) == ((30,), (60,))
    nearest = hard_map(many.encode(part), many.encode(whole))
    assert many.read(nearest, part, whole, "spectral").shape == (30,)


def test_it_matches_as_match_does(matcher, pairs: Pairs) -> None:
    pair = pairs[1]
    for options in ({}, {"read_out": "spectral", "up": "y"}):
        found = matcher.match(pair.part, pair.whole, **options)
        assert isinstance(found, MatchResult)
        expected = match(pair.part, pair.whole, model=matcher, **options)
        np.testing.assert_array_equal(found.vertex_map, expected.vertex_map)
        np.testing.assert_array_equal(found.confidence, expected.confidence)
        assert 0 < found.seconds["matching"] < 60


@pytest.mark.parametrize("factor", [1e-3, 39.37])
def test_units_and_place_do_not_matter(matcher, pairs: Pairs, factor) -> None:
    part, whole = pairs[0].part, pairs[0].whole
    other = [Mesh(mesh.vertices * factor + 3 * factor, mesh.faces) for mesh in (part, whole)]
    for read_out in ("features", "spectral"):
        expected = matcher.match(part, whole, read_out=read_out, up="y").vertex_map
        found = matcher.match(*other, read_out=read_out, up="y").vertex_map
        # but for rounding
        assert (found == expected).mean() > 0.97


def test_the_search_can_be_changed(matcher) -> None:
    other = matcher.with_choices(yaw_steps=4, alignments=3)
    assert (other.config.search.yaw_steps, other.config.search.alignments) == (4, 3)
    assert other.network is matcher.network
    assert matcher.config.search.yaw_steps == 1


def test_a_matcher_does_not_change_the_card_it_was_given(config) -> None:
    card = {"name": "x"}
    made = Matcher(new_network(config.network), config, card)
    made.card["more"] = 1
    assert card == {"name": "x"}
    assert Matcher(new_network(config.network), config).card == {}
    assert repr(Matcher(new_network(config.network), config)) == "Matcher('network', on cpu)"


def seeded_matcher(config: TrainingConfig, seed: int) -> Matcher:
    torch.manual_seed(seed)
    return Matcher(new_network(config.network), config.with_changes(seed=seed), {"name": f"seed {seed}"})


@pytest.fixture(scope="module")
def three(config: TrainingConfig) -> list[Matcher]:
    return [seeded_matcher(config, seed) for seed in range(3)]


@pytest.mark.parametrize("combine", ["average", "choose"])
@pytest.mark.parametrize("read_out", ["features", "spectral"])
def test_one_alone_is_the_matcher_itself(prepared, small, three, combine, read_out) -> None:
    pair = small.prepared_pair(prepared)
    found = small.map_of(Ensemble(three[:1], combine=combine), pair, read_out)
    assert found.tolist() == small.map_of(three[0], pair, read_out).tolist()


def test_similarities_are_averaged(prepared, three) -> None:
    part, whole = prepared.surfaces(*prepared.pairs[0])
    of_each = [normalize(m.encode(part), dim=1) @ normalize(m.encode(whole), dim=1).T for m in three]
    ensemble = Ensemble(three)
    (found,) = ensemble.compare(ensemble.encode(part), ensemble.encode(whole))
    assert found.nearest().tolist() == torch.stack(of_each).mean(dim=0).argmax(dim=1).tolist()


def test_the_best_of_several_is_chosen(prepared, three) -> None:
    whole = prepared.wholes[0]
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


def test_an_ensemble_can_be_evaluated_like_one(pairs, config, cache) -> None:
    chosen = config.with_changes(yaw_steps=2)
    known = [pair for pair in pairs if pair.ground_truth is not None]
    ensemble = Ensemble([seeded_matcher(chosen, seed) for seed in range(2)])
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
    other = seeded_matcher(config.with_changes(width=4), 0)
    with pytest.raises(ValueError, match="differ in their seeds only; number 1 has width=4, the first 8"):
        Ensemble([three[0], other])
    assert repr(Ensemble(three)) == "Ensemble(3 matchers, average, on cpu)"
