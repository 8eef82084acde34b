"""How the gallery runs examples: with warnings as errors; it shows the figures that an example bound to a name."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

# open while an example runs
_filters = ExitStack()


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


def warnings_are_errors(gallery_conf: dict[str, Any], fname: str, when: str) -> None:
    """Called before and after each example; what Sphinx itself warns of between them is not the example's."""
    _filters.close()
    if when == "before":
        _filters.enter_context(warnings.catch_warnings())
        warnings.simplefilter("error")
