"""Files of weights, and built-in models by name."""

from __future__ import annotations

import importlib.metadata
import json
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from partwhole.matching import Matcher, TrainingConfig
from partwhole.matching.network import weights
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.network.weights import FORMAT, read_tensors, versions, write_tensors
from partwhole.matching.training.losses import loss_of

TENSORS = {
    "weight": torch.arange(12.0).reshape(3, 4),
    "transposed": torch.arange(6.0).reshape(2, 3).T,
    "step": torch.tensor(7.0),
    "double": torch.tensor([0.1], dtype=torch.float64),
    "whole numbers": torch.tensor([1, 2, 3]),
    "nothing": torch.zeros(0, 2),
}
CARD = {"name": "ä model", "config": {"width": 3, "scaling": [0.9, 1.1]}, "losses": [1.5, None]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_tensors(tmp_path / "some.safetensors", TENSORS, CARD)
    return tmp_path / "some.safetensors"


def test_what_is_written_comes_back(path) -> None:
    tensors, card = read_tensors(path)
    assert card == CARD
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)


def test_any_reader_of_safetensors_can_read_it(path) -> None:
    assert torch.equal(load_file(path)["weight"], TENSORS["weight"])


def test_weights_with_gradients_are_written_without(tmp_path) -> None:
    write_tensors(tmp_path / "a", {"w": torch.ones(2, requires_grad=True)}, {})
    assert not read_tensors(tmp_path / "a")[0]["w"].requires_grad


def test_what_was_read_outlives_the_file(path) -> None:
    tensors, _ = read_tensors(path)
    path.write_bytes(b"")
    assert torch.equal(tensors["weight"], TENSORS["weight"])


def test_a_file_that_is_not_there(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"there is no file .*none\.safetensors; give a \.safetensors file"):
        read_tensors(tmp_path / "none.safetensors")
    with pytest.raises(ValueError, match="there is no file"):
        read_tensors(tmp_path)


def test_a_file_cut_short_at_any_place(path) -> None:
    whole = path.read_bytes()
    for length in {0, 1, 7, 8, 9, 20, len(whole) // 2, len(whole) - 100, len(whole) - 1}:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="is damaged or no safetensors file"):
            read_tensors(path)


def test_a_file_of_anything_else(path) -> None:
    rng = np.random.default_rng(0)
    for content in (rng.bytes(1000), b"\xff" * 64, b"{}", b"\x80\x04K\x01.", b"\0" * 8):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is damaged or no safetensors file"):
            read_tensors(path)


def test_flipped_bits_are_noticed_wherever_they_are(path) -> None:
    """Or change nothing: a space in the header may become another."""
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            tensors, card = read_tensors(path)
        except ValueError:
            continue
        assert all(torch.equal(tensors[name], tensor) for name, tensor in TENSORS.items())
        assert isinstance(card, dict)


def test_a_weight_that_changed_is_damage(path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-3] + bytes((whole[-3] ^ 4,)) + whole[-2:])
    with pytest.raises(ValueError, match="is damaged: its tensors are not those that were written; copy it again"):
        read_tensors(path)


def test_a_card_that_changed_is_damage(path) -> None:
    whole = path.read_bytes()
    text = json.dumps(json.dumps(CARD))[1:-1].encode()
    assert whole.count(text) == 1
    path.write_bytes(whole.replace(text, text.replace(b"model", b"modal")))
    with pytest.raises(ValueError, match="is damaged: its card is not the one that was written; copy it again"):
        read_tensors(path)


def test_a_file_of_an_earlier_version_has_no_checksum_of_its_card(tmp_path) -> None:
    save_file({"w": torch.ones(2)}, tmp_path / "old", {"format": FORMAT, "card": json.dumps(CARD)})
    assert read_tensors(tmp_path / "old")[1] == CARD


@pytest.mark.parametrize("size", [2**63 - 1, 10**9, 0])
def test_a_header_that_promises_too_much(tmp_path, size) -> None:
    (tmp_path / "huge").write_bytes(struct.pack("<Q", size) + b"{}" * 100)
    with pytest.raises(ValueError, match="is damaged or no safetensors file"):
        read_tensors(tmp_path / "huge")


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"format": "partwhole 2", "card": "{}"}])
def test_safetensors_of_other_programs(tmp_path, metadata) -> None:
    save_file({"w": torch.ones(2)}, tmp_path / "other", metadata)
    with pytest.raises(ValueError, match=r"says format .*, this version reads 'partwhole 1'; train again"):
        read_tensors(tmp_path / "other")


@pytest.mark.parametrize(
    "card", [{}, {"card": "{"}, {"card": ""}, {"card": "3"}, {"card": "[]"}, {"card": 100_000 * "["}]
)
def test_a_card_that_can_not_be_read(tmp_path, card) -> None:
    save_file({"w": torch.ones(2)}, tmp_path / "other", {"format": FORMAT, **card})
    with pytest.raises(ValueError, match="has no readable card; copy it again"):
        read_tensors(tmp_path / "other")


def test_nothing_in_a_file_is_executed(tmp_path) -> None:
    """A file of torch.save, which would be unpickled."""

    class Trap:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "sprung",))

    torch.save({"w": Trap()}, tmp_path / "trap.safetensors")
    with pytest.raises(ValueError, match="is damaged or no safetensors file"):
        read_tensors(tmp_path / "trap.safetensors")
    assert not (tmp_path / "sprung").exists()


def test_without_safetensors(path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ValueError, match='"safetensors>='):
        read_tensors(path)
    with pytest.raises(ValueError, match='"safetensors>='):
        write_tensors(path, TENSORS, CARD)


def test_versions_are_plain_words() -> None:
    found = versions()
    assert found["torch"] == importlib.metadata.version("torch")
    assert {"partwhole", "python", "numpy", "scipy", "numba", "robust-laplacian"} <= found.keys()
    assert json.loads(json.dumps(found)) == found


@pytest.fixture
def a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: TrainingConfig) -> Path:
    """A folder with three models."""
    folder = tmp_path / "models"
    folder.mkdir()
    for name in ("zebra", weights.DEFAULT, "horse"):
        Matcher(new_network(config.network), config, {"name": name}).save(folder / f"{name}.safetensors")
    (folder / "horse.md").write_text("# Horse\n\nTrained on horses.\n")
    monkeypatch.setattr(weights, "models_folder", lambda: folder)
    return folder


def test_names_and_cards(a_folder: Path) -> None:
    assert weights.model_names() == (weights.DEFAULT, "horse", "zebra")
    assert weights.built_in_path("horse") == a_folder / "horse.safetensors"
    assert weights.card_of("horse").startswith("# Horse")
    assert weights.card_of("zebra") == ""


def test_a_model_is_loaded_by_its_name(a_folder: Path) -> None:
    assert Matcher.load("default").card["name"] == Matcher.load(weights.DEFAULT).card["name"] == weights.DEFAULT
    assert Matcher.load(a_folder / "horse.safetensors").card["name"] == "horse"


def test_an_unknown_name_lists_those_there_are(a_folder: Path) -> None:
    with pytest.raises(
        ValueError, match=r"no built-in model 'hrose'; did you mean 'horse'\? there are any-pose, horse, z"
    ):
        Matcher.load("hrose")
    for file in a_folder.glob("*.safetensors"):
        file.unlink()
    with pytest.raises(ValueError, match=r"no built-in model 'default'; this installation has none; or give a file"):
        Matcher.load("default")


def test_what_is_a_path_is_no_name(a_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert weights.model_path("default.safetensors") == Path("default.safetensors")
    assert weights.model_path("./default") == Path("./default")
    assert weights.model_path(Path("default")) == Path("default")
    assert weights.model_path("default") == a_folder / f"{weights.DEFAULT}.safetensors"
    (tmp_path / "mine").touch()
    assert weights.model_path("mine") == Path("mine")


def test_models_that_come_with_the_library_are_small_and_have_cards() -> None:
    assert weights.model_names()[0] == weights.DEFAULT
    for name in weights.model_names():
        matcher = Matcher.load(name)
        assert matcher.card["name"] == name
        card = weights.card_of(name)
        assert card.startswith(f"# {name}")
        for what in ("data", "terms", "seed", "error"):
            assert what in card
        # card and settings tell of the same training
        terms = loss_of(matcher.config).terms()
        assert matcher.card["loss"].count("Loss(") == len(terms)
        for term in terms:
            assert f"{type(term).__name__}(weight={term.weight}" in matcher.card["loss"]
        assert matcher.card["iterations"] == matcher.config.optimisation.iterations
    assert sum(file.stat().st_size for file in weights.models_folder().glob("*.safetensors")) < 10e6
