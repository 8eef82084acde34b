"""Built-in models, by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from partwhole.matching import Matcher, TrainingConfig
from partwhole.matching.network import weights as box
from partwhole.matching.network.diffusion_net import new_network


@pytest.fixture
def a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: TrainingConfig) -> Path:
    """A folder with three models."""
    folder = tmp_path / "models"
    folder.mkdir()
    for name in ("zebra", "default", "horse"):
        Matcher(new_network(config.network), config, {"name": name}).save(folder / f"{name}.safetensors")
    (folder / "horse.md").write_text("# Horse\n\nTrained on horses.\n")
    monkeypatch.setattr(box, "models_folder", lambda: folder)
    return folder


def test_names_and_cards(a_folder: Path) -> None:
    assert box.model_names() == ("default", "horse", "zebra")
    assert box.built_in_path("horse") == a_folder / "horse.safetensors"
    assert box.card_of("horse").startswith("# Horse")
    assert box.card_of("zebra") == ""


def test_a_model_is_loaded_by_its_name(a_folder: Path) -> None:
    assert Matcher.load("default").card["name"] == "default"
    assert Matcher.load(a_folder / "horse.safetensors").card["name"] == "horse"


def test_an_unknown_name_lists_those_there_are(a_folder: Path) -> None:
    with pytest.raises(
        ValueError, match=r"no built-in model 'hrose'; did you mean 'horse'\? there are default, horse, z"
    ):
        Matcher.load("hrose")
    for file in a_folder.glob("*.safetensors"):
        file.unlink()
    with pytest.raises(ValueError, match=r"no built-in model 'default'; this installation has none; or give a file"):
        Matcher.load("default")


def test_what_is_a_path_is_no_name(a_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert box.model_path("default.safetensors") == Path("default.safetensors")
    assert box.model_path("./default") == Path("./default")
    assert box.model_path(Path("default")) == Path("default")
    assert box.model_path("default") == a_folder / "default.safetensors"
    (tmp_path / "mine").touch()
    assert box.model_path("mine") == Path("mine")


def test_models_that_come_with_the_library_are_small_and_have_cards() -> None:
    assert "default" in box.model_names()
    for name in box.model_names():
        matcher = Matcher.load(name)
        assert matcher.card["name"] == name
        card = box.card_of(name)
        assert card.startswith(f"# {name}")
        for what in ("data", "terms", "seed", "error"):
            assert what in card
    assert sum(file.stat().st_size for file in box.models_folder().glob("*.safetensors")) < 10e6
