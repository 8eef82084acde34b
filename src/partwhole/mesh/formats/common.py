"""What the formats share: what a file contained, and how a defect in it is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


class MeshWarning(UserWarning):
    """Something about a mesh was changed or left out, and the result is still usable."""


class FormatError(ValueError):
    """A defect and its place; `read_mesh` adds the name of the file."""


@dataclass(frozen=True)
class Contents:
    """What a file says, before any of it is judged: points, polygons, and where in the file each one stands."""

    vertices: Float[np.ndarray, "n 3"]
    corners: Int[np.ndarray, "c"]
    sizes: Int[np.ndarray, "m"]
    vertex_place: Callable[[int], str]
    face_place: Callable[[int], str]
    first_number: int = 0
    notes: tuple[str, ...] = ()


def shown(token: bytes) -> str:
    """A token of the file as it can stand in a one-line message."""
    text = token.decode("ascii", "backslashreplace")
    text = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    return f"'{text if len(text) <= 40 else text[:37] + '...'}'"


def counted(number: int, one: str, many: str | None = None) -> str:
    """
    >>> counted(1, "vertex", "vertices"), counted(3, "face")
    ('1 vertex', '3 faces')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def as_float64(values: np.ndarray) -> Float[np.ndarray, "..."]:
    """Values in float64; a signalling nan becomes a quiet one without a warning, since it is judged with its vertex."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)
