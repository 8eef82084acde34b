"""Names of the folder that bring scikit-learn and numba with them when they are first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import partwhole.embedding as embedding


def test_every_name_is_there_and_explained() -> None:
    for name in embedding.__all__:
        assert getattr(embedding, name).__doc__
    assert sorted(embedding.__all__, key=lambda name: (not name.isupper(), name)) == embedding.__all__


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match=r"module 'partwhole\.embedding' has no attribute 'magic'"):
        _ = embedding.magic


def test_importing_the_folder_imports_no_scikit_learn() -> None:
    script = """
import sys
import partwhole.embedding
print(sorted({"sklearn", "numba", "matplotlib"} & set(sys.modules)))
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "[]"
