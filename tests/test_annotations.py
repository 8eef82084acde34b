"""Annotations are checked while the tests run: shapes where there are arrays, types everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import TypeCheckError

from partwhole.mesh.topology import corner_angles
from partwhole.store.arguments import how_to_install


def test_shapes_and_types_are_checked() -> None:
    flat: Any = np.zeros((3, 2))
    with pytest.raises(TypeCheckError, match="vertices"):
        corner_angles(flat, np.array([[0, 1, 2]]))
    number: Any = 3
    with pytest.raises(BeartypeCallHintViolation, match="extra"):
        how_to_install(number)
