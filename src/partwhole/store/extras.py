"""What the optional parts need, for errors: named itself, since partwhole may come from a checkout and be in no index."""

from __future__ import annotations

import sys
from typing import Literal

Extra = Literal["torch", "remesh", "umap"]

# as in pyproject.toml
EXTRAS: dict[Extra, tuple[str, ...]] = {
    "torch": ("torch>=2.4", "safetensors>=0.4.3"),
    "remesh": ("pymeshlab>=2023.12",),
    "umap": ("umap-learn>=0.5",),
}


def how_to_install(extra: Extra) -> str:
    """The command that installs an extra for the Python that runs, wherever it is given.

    >>> how_to_install("umap").partition(" -m ")[2]
    'pip install "umap-learn>=0.5"'
    """
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable or "python"
    # double quotes, which the shells of all systems know
    return " ".join([python, "-m pip install", *(f'"{requirement}"' for requirement in EXTRAS[extra])])
