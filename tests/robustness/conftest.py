from __future__ import annotations

import faulthandler
import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from partwhole.mesh.surface import Mesh

# helpers of the tests beside them, loaded by `_load`; there is nothing in them to collect
collect_ignore = ["checks.py", "mutations.py", "references.py", "soups.py"]

# what everything together may take of the processor on one small surface; it takes a tenth of one
SECONDS = 20
# after so many seconds of the clock native code is taken to hang; a machine may be busy with something else
HANGS = 900


def _load(module: str) -> ModuleType:
    # tests are no package, so that none can import another by accident; these are loaded by their paths
    name = f"partwhole_test_{module}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{module}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def mutations() -> ModuleType:
    """The generators of damaged files and arrays."""
    return _load("mutations")


@pytest.fixture(scope="session")
def soups() -> ModuleType:
    """The generator of triangles thrown together."""
    return _load("soups")


@pytest.fixture(scope="session")
def checks() -> ModuleType:
    """What must hold for every surface."""
    _load("references")
    return _load("checks")


@pytest.fixture(scope="session")
def fuzz_count() -> int:
    """How many damaged files and arrays to read in all; PARTWHOLE_FUZZ=5000 for a thorough run."""
    return int(os.environ.get("PARTWHOLE_FUZZ", "600"))


@pytest.fixture(scope="session")
def deep_count() -> int:
    """How many surfaces of each kind to put through everything; PARTWHOLE_FUZZ=5000 for a thorough run."""
    return int(os.environ.get("PARTWHOLE_FUZZ", "20"))


@pytest.fixture(scope="session")
def fuzz_seed() -> int:
    """PARTWHOLE_FUZZ_SEED=1, 2, … for other damage than CI meets."""
    return int(os.environ.get("PARTWHOLE_FUZZ_SEED", "0"))


@pytest.fixture
def within_seconds(pytestconfig: pytest.Config) -> Iterator[Callable[[object], AbstractContextManager[None]]]:
    """`with within_seconds(case):` fails if the block takes longer, and ends the run if native code does not come back.

    Whatever fails is told together with the case.
    """
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    with capture.global_and_fixture_disabled():
        terminal = os.fdopen(os.dup(2), "w")

    @contextmanager
    def guard(case: object) -> Iterator[None]:
        def ring(*_: object) -> None:
            print(f"\nmore than {SECONDS} s: {_told(case)}", file=terminal, flush=True)
            raise AssertionError(f"it took more than {SECONDS} s")

        before = signal.signal(signal.SIGVTALRM, ring)
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        # an alarm is heard between two steps of the interpreter; where there is none, this ends the process with a trace
        faulthandler.dump_traceback_later(HANGS, exit=True, file=terminal)
        try:
            yield
        except Exception as error:
            error.add_note(f"with {_told(case)}")
            raise
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)
            faulthandler.cancel_dump_traceback_later()

    with terminal:
        yield guard


def _told(case: object) -> str:
    """As it can be pasted into a test."""
    if isinstance(case, Mesh):
        with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
            return f"{case.name}: Mesh({case.vertices.tolist()}, {case.faces.tolist()})"
    return repr(case)
