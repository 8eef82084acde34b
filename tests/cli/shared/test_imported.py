"""Methods from Python, by their import paths."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from partwhole.cli.main import main

MODULE = """
from partwhole.matching import Comparison, Method, TrainingConfig

small = TrainingConfig(width=8, blocks=1, map_eigenpairs=15, diffusion_eigenpairs=15, distances="dijkstra")

class Signatures(Method):
    def __init__(self):
        super().__init__(small)

    def encode(self, surface):
        return surface.signatures

    def compare(self, of_part, of_whole):
        return [Comparison(of_part, of_whole)]

class Dated(Signatures):
    def fingerprint(self):
        return "today"

ready = Signatures()
number = 3

def broken():
    raise OSError("no disk")
"""


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "own_methods.py").write_text(MODULE)
    (tmp_path / "half_written.py").write_text("import nothing_of_this_name")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("own_methods", None)


@pytest.mark.parametrize("name", ["Signatures", "ready"])
def test_a_pair_is_matched(own_set: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    words = ["match", f"{own_set}/parts/part0.ply", f"{own_set}/wholes/ball.ply", "--model", f"own_methods:{name}"]
    for _ in range(2):
        assert main([*words, "--output", "out", "--no-pictures", "--json"]) == 0
        summary = json.loads(capsys.readouterr().out)
        assert summary["choices"]["model"] == summary["model"] == f"own_methods:{name}"
        # its code may be another the next time
        assert not summary["from_cache"]
        assert "nothing is cached for Signatures, since its code may change" in " ".join(summary["notes"])


def test_what_says_of_itself_when_it_changes_is_cached(own_set: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["match", f"{own_set}/parts/part0.ply", f"{own_set}/wholes/ball.ply", "--model", "own_methods:Dated"]
    cached = []
    for _ in range(2):
        assert main([*words, "--output", "out", "--no-pictures", "--json"]) == 0
        cached.append(json.loads(capsys.readouterr().out)["from_cache"])
    assert cached == [False, True]


def test_it_is_evaluated_beside_a_network(
    own_set: Path, runs: list[Path], capsys: pytest.CaptureFixture[str], one_error: Callable[..., str]
) -> None:
    words = ["evaluate", "--data", own_set, "--model", "own_methods:Signatures", "--model", runs[0]]
    assert main([*map(str, words), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["table"]["rows"]
    assert [row[0] for row in rows] == ["own_methods:Signatures", "one"]
    assert "is given twice" in one_error(*words, "--model", "own_methods:Signatures")
    assert "--with is for trained networks; Signatures has" in one_error(*words, "--yaw-steps", 2)
    two = ["evaluate", "--data", own_set, "--model", "own_methods:Signatures", "--model", "own_methods:ready"]
    assert "--together is for trained networks" in one_error(*two, "--together")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("nowhere.at_all:Method", "nowhere.at_all can't be imported (ModuleNotFoundError: No module named 'nowhere'"),
        (
            "half_written:x",
            "half_written can't be imported (ModuleNotFoundError: No module named 'nothing_of_this_name')",
        ),
        ("own_methods:signatures", "own_methods has no signatures; did you mean Signatures?"),
        ("own_methods:broken", "broken() failed (OSError: no disk); it is called without arguments"),
        ("own_methods:Method", "Method() failed (TypeError: "),
        ("own_methods:number", "own_methods:number gives int, and not a partwhole.matching.Method"),
    ],
)
def test_what_gives_no_method_is_one_line(own_set: Path, one_error: Callable[..., str], model: str, said: str) -> None:
    assert said in one_error("match", own_set / "parts/part0.ply", own_set / "wholes/ball.ply", "--model", model)
    assert said in one_error("evaluate", "--data", own_set, "--model", model)
    assert not list(Path().glob("*-match*")), "nothing is left behind by what failed"
