"""Colours: names and tables from matplotlib, and the few that figures of this library share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

Color = str | Sequence[float]

SURFACE = "#c9ced6"  # a surface about which nothing is said
NOT_GUARANTEED = "#d3d5d8"
GUARANTEED = {"boundary": "#e0a13a", "wormhole": "#3f8fd2", "same-loop": "#3aa27e"}
BORDER = "#22252b"
CHOSEN = "#d7263d"
PATH = "#6b2fa0"
INSIDE = "#8a6f63"


def rgb(color: Color) -> Float[np.ndarray, "3"]:
    """Red, green, blue from 0 to 1 of anything matplotlib calls a colour.

    >>> rgb("#ff8000").round(2).tolist()
    [1.0, 0.5, 0.0]
    """
    from matplotlib.colors import to_rgb

    try:
        return np.array(to_rgb(color))
    except ValueError:
        raise ValueError(
            f"color {color!r} is not a colour; use a name, '#rrggbb' or three numbers from 0 to 1"
        ) from None


def colormap(name: str, *, entries: int = 256) -> Float[np.ndarray, "t 3"]:
    """The colours of a matplotlib colour map, lowest value first.

    >>> colormap("gray", entries=3).round(1).tolist()
    [[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [1.0, 1.0, 1.0]]
    """
    from matplotlib import colormaps

    if name not in colormaps:
        raise ValueError(f"colormap {name!r} is unknown; use one of matplotlib's, such as 'viridis'")
    return np.asarray(colormaps[name](np.linspace(0, 1, entries)))[:, :3]
