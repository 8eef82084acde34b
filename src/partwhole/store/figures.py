"""How figures become files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from partwhole.store.atomic import atomic_write
from partwhole.store.names import displayable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def as_text(name: str, *, longest: int = 60) -> str:
    r"""A name as it can stand in a figure: no formula, no character that the font lacks, not too long.

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


def saved(figure: Figure, path: str | Path | None) -> Figure:
    """The figure, written as PNG if there is a path for it."""
    if path is not None:
        buffer = io.BytesIO()
        # no time stamp and no version inside, so that the same figure is the same file
        figure.savefig(buffer, format="png", metadata={"Software": None})
        with atomic_write(Path(path)) as file:
            file.write(buffer.getvalue())
    return figure
