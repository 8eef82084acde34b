"""Sizes of files as people write them: 1 GB is 10⁹ bytes, 1 GiB is 2³⁰."""

from __future__ import annotations

import re

_UNITS = {"B": 1}
for _power, _letter in enumerate("kMGT", start=1):
    _UNITS |= {f"{_letter}B": 1000**_power, f"{_letter}iB": 1024**_power}
_IN_ANY_CASE = {name.lower(): size for name, size in _UNITS.items()}


def bytes_of(text: str) -> int:
    """How many bytes a size is. Only 0 does without a unit: who writes 20 rarely means bytes.

    Examples
    --------
    >>> bytes_of("20 GB"), bytes_of("1.5kib"), bytes_of("0")
    (20000000000, 1536, 0)
    """
    said = re.fullmatch(r"(\d{1,15}(?:\.\d{0,15})?) *([a-z]*)", text.strip().lower(), re.ASCII)
    unit = None if said is None else 1 if float(said[1]) == 0 and not said[2] else _IN_ANY_CASE.get(said[2])
    if said is None or unit is None:
        raise ValueError(f"{text!r} is no size; give a number and a unit, such as 20 GB or 500 MB")
    return round(float(said[1]) * unit)


def size_in_words(size: int) -> str:
    """Three digits, and the unit that leaves them before the point.

    Examples
    --------
    >>> [size_in_words(size) for size in (0, 1, 999, 1000, 999_900, 20 * 10**9)]
    ['0 bytes', '1 byte', '999 bytes', '1 kB', '1 MB', '20 GB']
    """
    if size < 1000:
        return f"{size} byte" + "s" * (size != 1)
    # 999.9 would be rounded to 1000
    name = next((unit for unit in ("kB", "MB", "GB") if size < 999.5 * _UNITS[unit]), "TB")
    return f"{float(f'{size / _UNITS[name]:.3g}'):g} {name}"
