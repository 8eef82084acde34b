from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from partwhole.cli.main import main
from partwhole.matching import method_names, model_names


def test_models_and_their_cards(one_error: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    listed = capsys.readouterr().out
    for name in model_names():
        assert f" {name} " in listed
        assert main(["models", name]) == 0
        card = capsys.readouterr().out
        assert card.startswith(f"# {name}\n")
        assert "terms" in card
    for name in method_names():
        assert f" {name} " in listed
        assert main(["models", name]) == 0
        assert capsys.readouterr().out.startswith(f"{name}: a method without weights. ")
    assert "did you mean 'default'" in one_error("models", "defualt")


def test_models_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed["methods"]] == list(method_names())
    found = listed["models"]
    assert [one["name"] for one in found] == list(model_names())
    assert all(one["for"] and one["bytes"] > 1000 for one in found)
    assert main(["models", "default", "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert one["name"] == "any-pose"
    assert one["card"].startswith("# any-pose")
