"""Units: by which factor the lengths of a part become those of its whole, given, assumed, or to be found out."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

# metres to a unit
LENGTHS = {"um": 1e-6, "mm": 1e-3, "cm": 1e-2, "dm": 1e-1, "m": 1.0, "km": 1e3, "in": 0.0254, "ft": 0.3048}

# shares of the whole's area that a part may have: noise and pose change areas, and a finger has a hundredth of a body's
_LEAST, _MOST = 0.003, 1.3
# what is looked for where units differ, in the order of what people have
_METRIC = tuple(10.0**power for power in (-3, 3, -1, 1, -2, 2))
_OTHERS = tuple(length / other for length in (25.4, 1 / 25.4) for other in (1.0, 10.0, 1000.0))
# shares that a part in other units probably, and possibly, has at least: below them several units fit by chance
_LIKELY, _POSSIBLE = 0.1, 0.03
# how far, in logarithms, a factor that was found by trying may be from the truth
_NEARBY = 0.1
# shares of the area that are tried where nothing is known about the size
_SHARES = (1.0, 0.75, 0.55, 0.4, 0.28, 0.18, 0.1)


@dataclass(frozen=True)
class Scaling:
    """Factors from lengths of the part to lengths of the whole.

    Attributes
    ----------
    factors : one, or several that are to be tried, because geometry alone does not tell
    reason : why these, in words
    others : to be tried if the map shows that the assumption was wrong; none if the factor was given
    """

    factors: tuple[float, ...]
    reason: str
    others: tuple[float, ...] = ()

    @property
    def middle(self) -> float:
        """One of the factors, to begin with."""
        return self.factors[len(self.factors) // 2]

    @property
    def relative(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """`factors` and `others`, for a part that was scaled by `middle` already."""
        return tuple(one / self.middle for one in self.factors), tuple(one / self.middle for one in self.others)


def scaling_of(units: str | float, part_area: float, whole_area: float) -> Scaling:
    """The factors that lengths of the part may have to be multiplied with.

    Parameters
    ----------
    units : "same"; "mm:m" and the like, the unit of the part and that of the whole; a factor; "any", not known, to be found
        by matching at several sizes; or "auto": the same unless the part would be larger than the whole or a speck on it,
        then the power of ten that makes it fit, and where there is none, or the map does not fit, as "any"
    part_area, whole_area : in the units of each

    Examples
    --------
    >>> scaling_of("auto", 0.4, 1.0).factors, scaling_of("auto", 900_000.0, 1.8).factors
    ((1.0,), (0.001,))
    >>> scaling_of("mm:m", 900_000.0, 1.8).reason
    'the part is in mm, the whole in m'
    """
    share = part_area / whole_area
    several = tuple(math.sqrt(wanted / share) for wanted in _SHARES)
    if units == "any":
        return Scaling(several, "the scale is unknown (units='any'); several are tried")
    if units == "same":
        return Scaling((1.0,), "the same units (units='same')")
    if units != "auto":
        factor, reason = _given(units)
        return Scaling((factor,), reason)
    if _LEAST <= share <= _MOST:
        reason = f"the same units are assumed: the part has {percent(share)} of the whole's area"
        return Scaling((1.0,), reason, several)
    for factors, least in ((_METRIC, _LIKELY), (_OTHERS, _LIKELY), (_METRIC, _POSSIBLE)):
        fitting = [factor for factor in factors if least <= share * factor**2 <= _MOST]
        if fitting:
            # of several the one that leaves the largest part
            factor = max(fitting)
            return Scaling(
                (factor,),
                f"the part has {share:.3g} times the area of the whole, so its lengths are multiplied by {factor:.6g}"
                f"{_as_units(factor)}: {percent(share * factor**2)} of the area",
                several,
            )
    return Scaling(
        several, f"the part has {share:.3g} times the area of the whole, no common unit fits; several are tried"
    )


def _given(units: str | float) -> tuple[float, str]:
    text = str(units).strip()
    named = re.fullmatch(r"([a-z]+):([a-z]+)", text)
    if named and named[1] in LENGTHS and named[2] in LENGTHS:
        return LENGTHS[named[1]] / LENGTHS[named[2]], f"the part is in {named[1]}, the whole in {named[2]}"
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 0 < factor < math.inf:
        raise ValueError(
            f"units={text!r} must be 'auto', 'same', 'any', a positive factor such as 0.001, or the units of part and "
            f"whole such as 'mm:m' ({', '.join(LENGTHS)})"
        )
    return factor, f"lengths of the part are multiplied by {factor:.6g}, as given"


def _as_units(factor: float) -> str:
    """` (mm to m, for one)`, where it is the ratio of two common units."""
    for part in ("mm", "cm", "m", "in"):
        for whole in ("m", "cm", "mm", "in"):
            if math.isclose(LENGTHS[part] / LENGTHS[whole], factor, rel_tol=1e-6):
                return f" (as from {part} to {whole})"
    return ""


def nearby_units(factor: float) -> str:
    """`; units='mm:m' would be 0.001`, where a factor that was found by trying is nearly the ratio of two common units.

    >>> nearby_units(0.0242), nearby_units(0.5)
    ("; units='in:m' would be 0.0254", '')
    """
    for part in ("mm", "cm", "m", "in"):
        for whole in ("m", "cm", "mm", "in"):
            exact = LENGTHS[part] / LENGTHS[whole]
            if part != whole and abs(math.log(factor / exact)) < _NEARBY:
                return f"; units='{part}:{whole}' would be {exact:.4g}"
    return ""


def percent(share: float) -> str:
    """In whole per cent where that says something, else with two digits.

    >>> percent(0.4261), percent(0.0123), percent(0.99999), percent(0)
    ('43 %', '1.2 %', '100 %', '0 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.095 or share == 0 else f"{100 * share:.2g} %"
