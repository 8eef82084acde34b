"""Experiments are run from the command line and train small networks: they share the fixtures of both."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

for _folder in ("cli", "matching"):
    _spec = importlib.util.spec_from_file_location(
        f"partwhole_test_{_folder}", Path(__file__).parents[1] / _folder / "conftest.py"
    )
    assert _spec is not None
    assert _spec.loader is not None
    _module = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(_module)
    globals().update({name: value for name, value in vars(_module).items() if not name.startswith("__")})


@pytest.fixture(autouse=True)
def _only_one_vertical(monkeypatch: pytest.MonkeyPatch) -> None:
    # networks of a few iterations fit badly, and every axis would be tried for every pair; not what is tested here
    monkeypatch.setattr("partwhole.matching.search.search.LOW_AGREEMENT", -2.0)
