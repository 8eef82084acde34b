"""Text for people: names of files as they can be shown, Markdown, tables, and sizes in bytes."""

from __future__ import annotations

import csv
import re

from partwhole.store.arguments import displayable


def table_rows(text: str) -> list[list[str]]:
    r"""The cells of the lines that are not blank; columns are separated by commas, semicolons or tabs.

    >>> table_rows("part;whole\n\na.ply;b.ply\n")
    [['part', 'whole'], ['a.ply', 'b.ply']]
    """
    lines = [line for line in text.splitlines() if line.strip(" ,;\t")]
    separator = max(",;\t", key=lambda mark: (mark in lines[0], mark == ",")) if lines else ","
    try:
        return list(csv.reader(lines, delimiter=separator))
    except csv.Error as fault:
        raise ValueError(f"it is not a table ({fault})") from None


_UNITS = {"B": 1}
for _power, _letter in enumerate("kMGT", start=1):
    _UNITS |= {f"{_letter}B": 1000**_power, f"{_letter}iB": 1024**_power}
_IN_ANY_CASE = {name.lower(): size for name, size in _UNITS.items()}


def bytes_of(text: str) -> int:
    """The number of bytes of a size, such as 20 GB. A unit is required, except for 0.

    Examples
    --------
    >>> bytes_of("20 GB"), bytes_of("1.5kib"), bytes_of("0")
    (20000000000, 1536, 0)
    """
    said = re.fullmatch(r"(\d{1,15}(?:\.\d{0,15})?) *([a-z]*)", text.strip().lower(), re.ASCII)
    unit = None if said is None else 1 if float(said[1]) == 0 and not said[2] else _IN_ANY_CASE.get(said[2])
    if said is None or unit is None:
        raise ValueError(f"{text!r} is not a size; give a number and a unit, such as 20 GB or 500 MB")
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


def as_text(name: str, *, longest: int = 60) -> str:
    r"""A name for the text of a figure: not read as a formula, without characters that the font lacks, and not too long.

    >>> as_text(r"$\frac{a.ply"), as_text("骨.ply"), as_text("a" * 40 + "b" * 40, longest=21)
    ('\\$\\frac{a.ply', '□.ply', 'aaaaaaaaaa…bbbbbbbbbb')
    """
    from matplotlib.font_manager import FontProperties, findfont, get_font

    plain = displayable(name)
    if len(plain) > longest:
        half = (longest - 1) // 2
        plain = f"{plain[:half]}…{plain[-half:]}"
    font = get_font(findfont(FontProperties()))
    return "".join(c if font.get_char_index(ord(c)) else "□" for c in plain).replace("$", r"\$")
