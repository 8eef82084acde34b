"""`FitOptions`: how a template is bent onto a scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from partwhole.store.arguments import check_number, check_whole_number

Hold = Literal["seen", "rest", "symmetric"]

_FEWEST = 100


@dataclass(frozen=True)
class FitOptions:
    """How a template is bent onto a scan.

    Attributes
    ----------
    hold : what follows where the scan saw nothing: "seen", the template bends as little as possible from what was seen
        next to it; "rest", it keeps the directions that it has in the template; "symmetric", those of its mirror image on
        the other side, where that was seen
    stiffness : the length over which the template follows the scan in the end, in √area of the template; the smaller, the
        closer to the scan and to its noise
    steps : iterations for each of the lengths by which the stiffness falls
    max_vertices : a template with more is bent with so many first, then with all
    """

    hold: Hold = "seen"
    stiffness: float = 0.03
    steps: int = 6
    max_vertices: int = 5000

    def __post_init__(self) -> None:
        if self.hold not in get_args(Hold):
            raise ValueError(f"hold must be one of {', '.join(map(repr, get_args(Hold)))}, got {self.hold!r}")
        check_number("stiffness", self.stiffness)
        if not 0 < self.stiffness <= 1:
            raise ValueError(f"stiffness={self.stiffness} must lie between 0 and 1, in √area of the template")
        for name, least in (("steps", 1), ("max_vertices", _FEWEST)):
            check_whole_number(name, getattr(self, name))
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)} must be at least {least}")
