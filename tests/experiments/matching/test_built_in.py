"""`partwhole reproduce models`, on a set of two small bodies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from partwhole.cli.main import main
from partwhole.datasets import Pairs, body_pairs
from partwhole.experiments.matching import built_in


def test_a_row_for_each_model_and_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def bodies() -> Pairs:
        return body_pairs(1, 2, plans="hand", n_vertices=500)

    def missing() -> Pairs:
        raise FileNotFoundError("people.npz does not exist")

    monkeypatch.setattr(built_in, "readers", lambda data, people: {"bodies": bodies, "people": missing})
    words = ["reproduce", "models", "--only", "people", "--only", "bodies", "-o", str(tmp_path / "out"), "--json"]
    assert main([*words, "--no-cache"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "people is left out: people.npz does not exist" in found["notes"]
    assert [(row["data"], row["model"]) for row in found["rows"]] == [("bodies", "any-pose"), ("bodies", "upright")]
    text = (tmp_path / "out" / "models.md").read_text()
    for row in found["rows"]:
        assert len(row["pairs"]) == len(bodies())
        assert 0 < row["registration"]["macro"] < 10
        assert 0 < row["lateration"]["macro"] < 10
        assert f"| bodies | {row['model']} | {len(bodies())} | " in text
    assert main([*words, "--no-cache", "--model", "any-pose"]) == 0
    assert [row["model"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["any-pose"]
    assert json.loads((tmp_path / "out" / "models.json").read_text())["rows"][0]["model"] == "any-pose"
    assert "upright" not in (tmp_path / "out" / "models.md").read_text()


def test_mistakes_are_one_line(tmp_path: Path, one_error: Callable[..., str]) -> None:
    words = ["reproduce", "models", "-o", tmp_path / "out", "--data", tmp_path]
    assert "there is no set 'cats'; there are pfaust-m, pfaust-h" in one_error(*words, "--only", "cats")
    assert "there is no measured model 'dog'; there are any-pose, upright" in one_error(*words, "--model", "dog")
    assert "none of the data sets could be measured; pfaust-m is left out: " in one_error(*words, "--only", "pfaust-m")
