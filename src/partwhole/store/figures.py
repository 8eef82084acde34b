"""How figures become files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from partwhole.store.atomic import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def saved(figure: Figure, path: str | Path | None) -> Figure:
    """The figure, written as PNG if there is a path for it."""
    if path is not None:
        buffer = io.BytesIO()
        # no time stamp and no version inside, so that the same figure is the same file
        figure.savefig(buffer, format="png", metadata={"Software": None})
        with atomic_write(Path(path)) as file:
            file.write(buffer.getvalue())
    return figure
