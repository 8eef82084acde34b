"""Errors published by others, × 100, for comparison. Their papers say how they were measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Data = Literal["PFAUST-M", "PFAUST-H", "SHREC'16 CUTS", "SHREC'16 HOLES"]
Learning = Literal["axiomatic", "supervised", "unsupervised", "external data"]

WORMHOLE_PAPER = "Bracha, Dagès, Kimmel, Wormhole Loss for Partial Shape Matching, NeurIPS 2024"


@dataclass(frozen=True)
class Published:
    """A row of a table in a paper.

    Attributes
    ----------
    method : its name, with the refinement if there is one
    data : the test pairs
    error : mean geodesic error × 100
    learning : what it learned from
    refined : whether the paper's refinement was used
    source : the paper the number is from
    """

    method: str
    data: Data
    error: float
    learning: Learning
    refined: bool = False
    source: str = WORMHOLE_PAPER

    @property
    def label(self) -> str:
        """The method, and what it learned from unless its name says so."""
        return self.method if self.learning in self.method.lower() else f"{self.method}, {self.learning}"


def _shrec16(
    method: str, learning: Learning, cuts: tuple[float, float], holes: tuple[float, float], refinement: str = "refined"
) -> list[Published]:
    """Before and after refinement, on both data sets."""
    both: tuple[tuple[Data, tuple[float, float]], ...] = (("SHREC'16 CUTS", cuts), ("SHREC'16 HOLES", holes))
    rows = []
    for data, (plain, after) in both:
        rows.append(Published(method, data, plain, learning))
        rows.append(Published(f"{method} → {refinement}", data, after, learning, refined=True))
    return rows


def _pfaust(method: str, learning: Learning, medium: float, hard: float) -> list[Published]:
    return [Published(method, "PFAUST-M", medium, learning), Published(method, "PFAUST-H", hard, learning)]


PUBLISHED: tuple[Published, ...] = (
    *_pfaust("DPFM", "supervised", 3.0, 6.8),
    *_pfaust("Unsupervised DPFM", "unsupervised", 9.3, 12.7),
    *_pfaust("RobustFMNet", "unsupervised", 7.9, 12.4),
    *_pfaust("DirectMatchNet", "unsupervised", 5.1, 7.9),
    *_pfaust("Wormhole", "unsupervised", 4.6, 6.7),
    *_shrec16("PFM", "axiomatic", (9.7, 9.0), (23.2, 22.4), "ZoomOut"),
    *_shrec16("FSP", "axiomatic", (16.1, 15.2), (33.7, 32.7), "ZoomOut"),
    *_shrec16("GeomFMaps", "supervised", (12.8, 10.4), (15.3, 13.0), "ZoomOut"),
    *_shrec16("DPFM", "supervised", (3.2, 1.8), (13.1, 11.9), "ZoomOut"),
    Published("RobustFMNet, pretrained elsewhere → refined", "SHREC'16 CUTS", 3.2, "external data", refined=True),
    Published("RobustFMNet, pretrained elsewhere → refined", "SHREC'16 HOLES", 8.2, "external data", refined=True),
    *_shrec16("Unsupervised DPFM", "unsupervised", (11.8, 12.8), (17.5, 16.2), "ZoomOut"),
    *_shrec16("RobustFMNet", "unsupervised", (16.9, 10.6), (23.5, 18.8)),
    *_shrec16("DirectMatchNet", "unsupervised", (6.9, 5.6), (11.4, 7.9)),
    *_shrec16("DirectMatchNet LPF", "unsupervised", (7.1, 4.7), (12.3, 8.6)),
    *_shrec16("Wormhole", "unsupervised", (6.9, 4.3), (10.9, 6.6)),
)


def published_rows(data: Data, *, refined: bool | None = None) -> dict[str, dict[str, float]]:
    """The published errors on a data set, as rows of `error_table`.

    They stand in the column ``micro``: the mean over all vertices is what the code of the paper prints.

    Parameters
    ----------
    data : which test pairs
    refined : only those with refinement, or only those without; default both

    Examples
    --------
    >>> published_rows("PFAUST-H")["Wormhole, unsupervised"]
    {'micro': 6.7}
    """
    rows = [row for row in PUBLISHED if row.data == data and refined in (None, row.refined)]
    if not rows:
        known = dict.fromkeys(row.data for row in PUBLISHED)
        raise ValueError(
            f"nothing published is known for data={data!r}, refined={refined}; known are {', '.join(known)}"
        )
    return {row.label: {"micro": row.error} for row in rows}
