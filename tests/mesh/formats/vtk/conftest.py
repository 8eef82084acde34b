"""Files that are damaged at random."""

from __future__ import annotations

import warnings
from contextlib import suppress

import numpy as np
import pytest

from partwhole.mesh.formats.common import MeshWarning
from partwhole.mesh.surface import Mesh


@pytest.fixture
def survives(read, refused):
    """Whatever happens to a file, it is read as a surface or refused in one line that names it."""

    def damaged(data, name, times=60):
        rng = np.random.default_rng(0)
        for number in range(times):
            changed = bytearray(data)
            if number % 3 == 0:
                del changed[int(rng.integers(len(data))) :]
            elif number % 3 == 1:
                start = int(rng.integers(len(data)))
                del changed[start : start + int(rng.integers(1, 9))]
            else:
                for at in rng.integers(len(data), size=int(rng.integers(1, 4))):
                    changed[at] = int(rng.integers(256))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", MeshWarning)
                with suppress(ValueError):
                    assert isinstance(read(bytes(changed), name), Mesh)
                    continue
            assert refused(bytes(changed), name)  # in one line that names it

    return damaged
