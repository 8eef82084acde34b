"""Lets the gallery find figures: those that an example bound to a name, made without matplotlib's global state."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def figures_of_block(block: tuple[str, str, int], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Saves the figures bound to a name since the previous block, and returns the text that shows them."""
    shown = gallery_conf.setdefault("_shown_figures", {}).setdefault(block_vars["src_file"], set())
    paths = []
    for name, value in block_vars["example_globals"].items():
        if isinstance(value, Figure) and id(value) not in shown and name != "_":
            shown.add(id(value))
            path = next(block_vars["image_path_iterator"])
            value.savefig(path, dpi=160)
            paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"])
