"""The command that an error gives where an optional package is missing."""

from __future__ import annotations

import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from partwhole.store.arguments import EXTRAS, Extra, how_to_install

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("extra", EXTRAS)
def test_it_installs_exactly_what_the_extra_is(extra: Extra) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    words = shlex.split(how_to_install(extra))
    assert words == [sys.executable, "-m", "pip", "install", *declared[extra]]


def test_a_python_in_a_folder_with_a_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/my programs/python")
    assert shlex.split(how_to_install("torch"))[0] == "/my programs/python"


def test_nobody_is_sent_to_an_index_that_does_not_have_it() -> None:
    places = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    assert [path for path in places if "partwhole[" in path.read_text(encoding="utf-8")] == []
