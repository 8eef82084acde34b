from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _load() -> ModuleType:
    # tests are no package, so that none can import another by accident; this one is loaded by its path
    name = "partwhole_test_mutations"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("mutations.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def mutations() -> ModuleType:
    """The generators of damaged files and arrays."""
    return _load()


@pytest.fixture(scope="session")
def fuzz_count() -> int:
    """How many damaged files and arrays to try in all; PARTWHOLE_FUZZ=5000 for a thorough run."""
    return int(os.environ.get("PARTWHOLE_FUZZ", "600"))
