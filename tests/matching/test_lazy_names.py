"""Names of the folder that bring torch with them when they are first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import partwhole.matching as matching
from partwhole.store.arguments import how_to_install


def test_every_name_is_there_and_explained() -> None:
    for name in matching.__all__:
        value = getattr(matching, name)
        assert value.__doc__ or name == "PRESETS"
    assert sorted(matching.__all__, key=lambda name: (not name.isupper(), name)) == matching.__all__


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match=r"module 'partwhole\.matching' has no attribute 'magic'"):
        _ = matching.magic


def test_without_torch_the_error_says_what_to_install() -> None:
    script = """
import sys
sys.modules["torch"] = None
import partwhole.matching as matching
matching.preset("pfaust-h")
try:
    matching.train
except ModuleNotFoundError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert told.strip() == f"train needs torch: {how_to_install('torch')}"
