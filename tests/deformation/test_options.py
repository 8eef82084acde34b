"""Options that can't be are refused, with what may be given."""

from __future__ import annotations

from typing import Any

import pytest

from partwhole.deformation import FitOptions


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"stiffness": 0.0}, "stiffness=0.0 must lie between 0 and 1"),
        ({"steps": 0}, "steps=0 must be at least 1"),
        ({"max_vertices": 10}, "max_vertices=10 must be at least 100"),
    ],
)
def test_options_are_checked(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        FitOptions(**given)
