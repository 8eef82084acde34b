"""PCK: the percentage of correct matches as a function of the error that still counts as correct."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from partwhole.store.arguments import as_numbers, check_number, check_whole_number
from partwhole.store.storage import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class PckCurve:
    """PCK(t), the share of errors that are at most t, for t from 0 to `limit`.

    Attributes
    ----------
    thresholds, shares : the curve
    area : ∫ PCK(t) dt / limit over the whole range, which is 1 if there is no error; comparable only for one `limit`
    """

    thresholds: Float[np.ndarray, "t"]
    shares: Float[np.ndarray, "t"]
    area: float

    @property
    def limit(self) -> float:
        """Where the range ends."""
        return float(self.thresholds[-1])


def pck_curve(errors: ArrayLike, *, limit: float = 0.25, steps: int = 100) -> PckCurve:
    """PCK(t) = share of errors ≤ t, from 0 to `limit` in `steps` equal steps; its area without any discretisation.

    Parameters
    ----------
    errors : geodesic errors, of one pair or of all, divided by √area of the whole; inf never counts as correct
    limit : where the range ends; areas over different ranges are not comparable
    steps : between 0 and the limit

    Examples
    --------
    >>> curve = pck_curve([0.0, 0.1, 0.2, 9.0], limit=0.2, steps=2)
    >>> curve.thresholds.tolist(), curve.shares.tolist(), curve.area
    ([0.0, 0.1, 0.2], [0.25, 0.5, 0.75], 0.375)
    """
    check_number("limit", limit)
    check_whole_number("steps", steps)
    values = np.sort(as_numbers("errors", errors).reshape(-1))
    if len(values) == 0 or np.isnan(values).any() or values[0] < 0:
        raise ValueError(f"errors must be at least one number, none negative or nan, got {len(values)} of them")
    if not (0 < limit < np.inf) or steps < 1:
        raise ValueError(f"limit={limit} must be positive and steps={steps} at least 1")
    thresholds = np.linspace(0, limit, steps + 1)
    shares = np.searchsorted(values, thresholds, side="right") / len(values)
    # each error e adds the part of the range beyond it, 1 − e / limit
    return PckCurve(thresholds, shares, float(np.mean(np.maximum(0, 1 - values / limit))))


def mean_curve(curves: list[PckCurve]) -> PckCurve:
    """The mean of curves over one range: of pairs that shall count alike, or of seeds."""
    if not curves or any(not np.array_equal(c.thresholds, curves[0].thresholds) for c in curves):
        raise ValueError(f"{len(curves)} curves can be averaged only if there are some, with the same thresholds")
    return PckCurve(
        curves[0].thresholds, np.mean([c.shares for c in curves], axis=0), float(np.mean([c.area for c in curves]))
    )


def pck_plot(curves: Mapping[str, PckCurve], path: str | Path | None = None, *, title: str | None = None) -> Figure:
    """PCK curves in one figure, with their areas in the legend; saved to `path`, a .png, .pdf or .svg, whole or not at all.

    Parameters
    ----------
    curves : what to call each one; all over the same range
    path : where to save the figure
    title : above the figure; the protocol, for example
    """
    import io

    from matplotlib.figure import Figure

    limits = {curve.limit for curve in curves.values()}
    if len(limits) != 1:
        raise ValueError(
            f"curves must be over one range, got {sorted(limits) or 'none'}; give pck_curve the same limit"
        )
    endings = {".png": {"Software": None}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    ending = Path(path).suffix.lower() if path is not None else ".png"
    if ending not in endings:
        raise ValueError(f"{path}: figures are saved as {', '.join(endings)}")
    figure = Figure(figsize=(5.6, 4.0), dpi=200, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for number, (label, curve) in enumerate(curves.items()):
        # there are ten colours
        style = ("-", "--", ":", "-.")[number // 10 % 4]
        label = f"{label}: {100 * curve.area:.1f}"
        axes.plot(100 * curve.thresholds, 100 * curve.shares, style, linewidth=1.8, label=label)
    limit = limits.pop()
    axes.set(xlim=(0, 100 * limit), ylim=(0, 101))
    axes.set_xlabel("geodesic error × 100")
    axes.set_ylabel("matches at most that far off, %")
    axes.grid(color="#e3e6e8", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        loc="lower right",
        frameon=False,
        fontsize=9 if len(curves) <= 10 else 6,
        title=f"area × 100, 0 to {limit:g}",
        title_fontsize=9,
    )
    if title:
        axes.set_title(title, fontsize=8.5, loc="left", wrap=True)
    if path is not None:
        buffer = io.BytesIO()
        # no time stamp and no version inside, so that the same figure is the same file
        figure.savefig(buffer, format=ending[1:], metadata=endings[ending])
        with atomic_write(Path(path)) as file:
            file.write(buffer.getvalue())
    return figure
