"""Calibration: whether confidence is the probability that a match is right, where the truth is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from partwhole.store.arguments import as_numbers, check_whole_number
from partwhole.store.storage import saved

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PERCENT = np.arange(101)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Errors in groups of confidence, lowest first, each with as many vertices as the others.

    Attributes
    ----------
    confidence : mean of each group
    error : mean of each group
    right : share of each group whose error is below `limit`
    limit : up to which a place counts as right
    carried : which share of all errors the fifth of the vertices with the lowest confidence has; 0.2 if it says nothing
    possible : the same if the fifth with the largest errors was known: no confidence can carry more
    curve, best_curve : the share of all errors that the least sure 0 %, 1 %, …, 100 % of the vertices have, and the same if
        the errors were known
    auc : how often a vertex that is right is surer than one that is wrong: ½ if confidence says nothing; nan if there are
        not both
    """

    confidence: Float[np.ndarray, "g"]
    error: Float[np.ndarray, "g"]
    right: Float[np.ndarray, "g"]
    limit: float
    carried: float
    possible: float
    curve: Float[np.ndarray, "101"]
    best_curve: Float[np.ndarray, "101"]
    auc: float

    def __repr__(self) -> str:
        return f"Calibration(the lowest fifth carries {self.carried:.0%} of the error, at most {self.possible:.0%})"

    @property
    def gap(self) -> float:
        """Mean over the groups of |confidence − share that is right|: 0 if confidence is a probability."""
        return float(np.abs(self.confidence - self.right).mean())


def calibration(confidence: ArrayLike, errors: ArrayLike, *, limit: float = 0.05, groups: int = 10) -> Calibration:
    """How errors depend on confidence.

    Parameters
    ----------
    confidence : from 0 to 1, of the vertices of one pair or of many
    errors : geodesic errors of the same vertices, divided by √area of the whole
    limit : up to which a place counts as right
    groups : how many

    Examples
    --------
    >>> errors = np.linspace(0, 0.2, 100)
    >>> found = calibration(1 - errors, errors, groups=5)
    >>> found, found.right.tolist()
    (Calibration(the lowest fifth carries 36% of the error, at most 36%), [0.0, 0.0, 0.0, 0.25, 1.0])
    """
    check_whole_number("groups", groups)
    sure, off = as_numbers("confidence", confidence).reshape(-1), as_numbers("errors", errors).reshape(-1)
    if len(sure) != len(off) or groups < 1 or len(sure) < groups:
        raise ValueError(
            f"{len(sure)} confidences and {len(off)} errors, in {groups} groups; give one of each for every vertex, "
            "and at least one vertex for each group"
        )
    if not (np.isfinite(sure).all() and np.isfinite(off).all()):
        raise ValueError("confidence and errors must be finite; leave out vertices that have no place")
    order = np.argsort(sure, kind="stable")
    parts = np.array_split(order, groups)
    largest_first = -np.sort(-off)
    return Calibration(
        np.array([sure[part].mean() for part in parts]),
        np.array([off[part].mean() for part in parts]),
        np.array([(off[part] < limit).mean() for part in parts]),
        limit,
        _carried(off[order]),
        _carried(largest_first),
        _shares(off[order]),
        _shares(largest_first),
        _auc(sure, off < limit),
    )


def _auc(sure: Float[np.ndarray, "n"], right: Bool[np.ndarray, "n"]) -> float:
    """P(the confidence of a right one > that of a wrong one), equal ones counted half."""
    count = int(right.sum())
    pairs = count * (len(right) - count)
    if not pairs:
        return math.nan

    from scipy.stats import rankdata  # here, since it takes half the time in which the program starts

    return float((rankdata(sure)[right].sum() - count * (count + 1) / 2) / pairs)


def calibration_plot(
    found: dict[str, Calibration], path: str | Path | None = None, *, title: str | None = None
) -> Figure:
    """Share of right places against confidence, and share of the error against share of the vertices, least sure first.

    Thin lines are what is possible. Saved to `path` as PNG, whole or not at all.

    Parameters
    ----------
    found : what to call each one
    path : where to save the figure
    title : above it
    """
    from matplotlib.figure import Figure

    if not found:
        raise ValueError("there is no calibration to plot; give at least one, by name")
    figure = Figure(figsize=(8.4, 3.9), dpi=200, facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [0, 1], color="#9aa1a8", linewidth=1, linestyle=(0, (3, 2)))
    for label, one in found.items():
        left.plot(one.confidence, one.right, marker="o", markersize=3.5, linewidth=1.4, label=label)
        carried = f"{label}: {one.carried:.0%} of {one.possible:.0%}"
        line = right.plot(_PERCENT, 100 * one.curve, linewidth=1.6, label=carried)[0]
        right.plot(_PERCENT, 100 * one.best_curve, linewidth=0.8, linestyle=(0, (3, 2)), color=line.get_color())
    limit = next(iter(found.values())).limit
    left.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="confidence")
    left.set_ylabel(f"share with an error below {100 * limit:g} (× 100)")
    right.axvline(20, color="#9aa1a8", linewidth=1, linestyle=(0, (3, 2)))
    right.set(xlim=(0, 100), ylim=(0, 101), xlabel="% of the vertices, the least sure first")
    right.set_ylabel("% of the error that they have")
    for axes in (left, right):
        axes.grid(color="#e3e6e8", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    left.legend(loc="upper left", frameon=False, fontsize=8)
    right.legend(
        loc="lower right",
        frameon=False,
        fontsize=8,
        title="error in the lowest fifth, of what is possible",
        title_fontsize=8,
    )
    if title:
        figure.suptitle(title, fontsize=9.5)
    return saved(figure, path)


def _carried(errors: Float[np.ndarray, "g"]) -> float:
    """The share of all errors that the first fifth has."""
    total = float(errors.sum())
    return float(errors[: round(len(errors) / 5)].sum() / total) if total > 0 else float("nan")


def _shares(errors: Float[np.ndarray, "g"]) -> Float[np.ndarray, "101"]:
    """The share of all errors that the first 0 %, 1 %, …, 100 % have; nan where there are none."""
    sums = np.concatenate([[0.0], np.cumsum(errors)])
    if sums[-1] == 0:
        return np.full(len(_PERCENT), np.nan)
    return sums[np.round(_PERCENT / 100 * len(errors)).astype(np.int64)] / sums[-1]
