"""From lengths of the part to those of the whole."""

from __future__ import annotations

import math

import pytest

from partwhole.matching.scans.prepare import scaling_of
from partwhole.mesh.formats.common import percent


@pytest.mark.parametrize("share", [0.01, 0.4, 1.0, 1.2])
def test_plausible_areas_are_in_the_same_units(share: float) -> None:
    found = scaling_of("auto", share * 1.8, 1.8)
    assert found.factors == (1.0,)
    assert "the same units are assumed" in found.reason
    assert found.others, "an assumption can be wrong"


@pytest.mark.parametrize(
    ("part", "whole", "factor"), [("mm", "m", 1e-3), ("m", "mm", 1e3), ("cm", "m", 1e-2), ("mm", "cm", 0.1)]
)
def test_powers_of_ten_are_found(part: str, whole: str, factor: float) -> None:
    found = scaling_of("auto", 0.5 / factor**2, 1.0)
    assert math.isclose(found.middle, factor)
    assert f"from {part} to {whole}" in found.reason
    assert scaling_of(f"{part}:{whole}", 1.0, 1.0).factors == pytest.approx((factor,))


def test_inches() -> None:
    assert scaling_of("auto", 0.6 * 645.16, 1.0).middle == pytest.approx(1 / 25.4), "a power of ten leaves 4 %"
    assert scaling_of("auto", 500.0, 1.0).middle == pytest.approx(1 / 25.4)
    assert scaling_of("auto", 700.0 / 6.4516, 1.0).middle == pytest.approx(0.1), "ten is more common than 25.4"


def test_no_unit_fits() -> None:
    found = scaling_of("auto", 5e-9, 1.0)
    assert len(found.factors) > 3
    assert "no common unit fits" in found.reason
    assert min(found.factors) < found.middle < max(found.factors)


def test_what_was_given_is_taken() -> None:
    assert scaling_of("same", 1e6, 1.0).factors == (1.0,)
    assert scaling_of(0.5, 1.0, 1.0).factors == scaling_of("0.5", 1.0, 1.0).factors == (0.5,)
    assert scaling_of("same", 1e6, 1.0).others == scaling_of("mm:m", 1.0, 1.0).others == ()
    assert len(scaling_of("any", 1.0, 1.0).factors) > 3


@pytest.mark.parametrize("units", ["furlong:m", "mm", "-1", "0", "inf", "nan", "mm:"])
def test_units_that_are_none(units: str) -> None:
    with pytest.raises(ValueError, match=f"units='{units}' must be 'auto', 'same', 'any', a positive factor"):
        scaling_of(units, 1.0, 1.0)


def test_percent() -> None:
    assert [percent(share) for share in (0.5, 0.05, 0.0012, 1.0)] == ["50 %", "5 %", "0.12 %", "100 %"]
