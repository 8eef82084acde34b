"""Which model is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from partwhole.cli.shared.models import load_models, model_file, named_model


def test_a_run_stands_for_its_weights(runs: list[Path]) -> None:
    assert model_file(runs[0]) == runs[0] / "model.safetensors"
    assert model_file(runs[0] / "validated.safetensors") == runs[0] / "validated.safetensors"
    loaded = load_models([*runs, runs[0] / "validated.safetensors"], "cpu")
    assert list(loaded) == ["one", "two", "one/validated"]
    assert [matcher.card["weights"] for matcher in loaded.values()] == ["final", "final", "validated"]
    assert [matcher.config.seed for matcher in loaded.values()] == [0, 1, 0]


def test_what_is_no_model_is_said(runs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"state\.safetensors is for a run to go on with; give its folder"):
        model_file(runs[0] / "state.safetensors")
    with pytest.raises(ValueError, match=r"has no model\.safetensors; give the folder of a run"):
        model_file(tmp_path)
    (tmp_path / "state.safetensors").touch()
    with pytest.raises(ValueError, match="is not complete; go on with partwhole train --resume"):
        model_file(tmp_path)
    with pytest.raises(ValueError, match=r"model\.safetensors is given twice"):
        load_models([runs[0], runs[0] / "model.safetensors"], "cpu")


def test_one_model_is_called_as_its_file_or_run(runs: list[Path]) -> None:
    assert named_model(str(runs[1]), "cpu").card["name"] == "two"
    assert named_model(str(runs[0] / "validated.safetensors"), "cpu").card["name"] == "one/validated"
    with pytest.raises(ValueError, match="there is no model 'nobody' in the box"):
        named_model("nobody", "cpu")
