"""Which way is up."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
UPS = tuple(sign + axis for axis in "yzx" for sign in ("", "-"))


def rotation_to_vertical(up: str, vertical: str) -> Float[np.ndarray, "3 3"]:
    """The rotation that takes the axis `up` ("z", "-y", …) to the positive axis `vertical`, by the shortest way.

    Examples
    --------
    >>> (rotation_to_vertical("z", "y") @ [0.0, 0.0, 1.0]).round(6).tolist()
    [0.0, 1.0, 0.0]
    >>> (rotation_to_vertical("-y", "y") @ [0.0, -1.0, 0.0]).round(6).tolist()
    [0.0, 1.0, 0.0]
    """
    if up not in UPS:
        raise ValueError(f"up must be one of {', '.join(map(repr, UPS))}, got {up!r}")
    sign = -1.0 if up.startswith("-") else 1.0
    start, end = sign * np.array(_AXES[up[-1]], float), np.array(_AXES[vertical], float)
    axis = np.cross(start, end)
    if not axis.any():
        # half a turn, about an axis across, or none
        across = np.array(_AXES["x" if vertical != "x" else "y"], float)
        return np.eye(3) if start @ end > 0 else 2 * np.outer(across, across) - np.eye(3)
    K = np.cross(np.eye(3), axis)
    return np.eye(3) + K + K @ K
