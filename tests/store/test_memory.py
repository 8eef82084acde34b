from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from partwhole.store import memory
from partwhole.store.memory import peak_memory


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")
def test_what_is_taken_and_given_back_counts() -> None:
    with peak_memory("cpu") as found:
        held = np.ones(25_000_000)
        del held
    # other threads may take and give back some
    assert found.megabytes > 150


def test_a_system_that_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "Path", lambda name: Path("/nowhere") / Path(name).name)
    with peak_memory("cpu") as found:
        pass
    assert np.isnan(found.megabytes)
