"""Tables of errors as text, Markdown and LaTeX. Each states how its numbers were measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from partwhole.evaluation.protocol import joined
from partwhole.evaluation.results import Evaluation
from partwhole.store.arguments import escaped

DEFAULT_COLUMNS = ("micro", "macro", "median pair", "worst pair", "% above 0.15", "PCK area")

_PUBLISHED = "as published, by its own protocol"
_UNITS = "Errors, shares and areas × 100; errors divided by √area of the whole; PCK area from 0 to 0.25."
_LATEX = {
    "\\": r"\textbackslash{}",
    **{mark: f"\\{mark}" for mark in "%&_#${}"},
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "–": "--",
    "±": r"$\pm$",
    "×": r"$\times$",
    "√": r"$\surd$",
    "Σ": r"$\Sigma$",
    "→": r"$\to$",
}

# a run, runs that differ in their seeds, or published numbers by column
Row = Evaluation | Sequence[Evaluation] | Mapping[str, float]


@dataclass(frozen=True)
class Table:
    """Rows of text with a header, and the protocols that the last column points at."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    protocols: tuple[str, ...]
    title: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What stands below the table: the units, then the protocols."""
        return (_UNITS, *(f"[{k}] {protocol}" for k, protocol in enumerate(self.protocols, 1)))

    def text(self) -> str:
        """For a terminal."""
        lines = [self.header, *self.rows]
        widths = [max(len(line[k]) for line in lines) for k in range(len(self.header))]
        rule = "  ".join("-" * w for w in widths)
        shown = ["  ".join(_padded(line, widths)).rstrip() for line in lines]
        return "\n".join([*[self.title] * bool(self.title), shown[0], rule, *shown[1:], "", *self.notes])

    def markdown(self) -> str:
        """For a page."""
        marks = ["---", *["---:"] * (len(self.header) - 2), "---"]
        lines = [self.header, tuple(marks), *((escaped(label), *cells) for label, *cells in self.rows)]
        shown = ["| " + " | ".join(line) + " |" for line in lines]
        title = [f"**{escaped(self.title)}**", ""] if self.title else []
        return "\n".join([*title, *shown, "", *(f"{note}  " for note in self.notes)])

    def latex(self) -> str:
        """A tabular with booktabs rules, the notes below it."""
        columns = "l" + "r" * (len(self.header) - 2) + "l"
        shown = [" & ".join(_latex(cell) for cell in line) + r" \\" for line in (self.header, *self.rows)]
        title = [rf"% {self.title}"] if self.title else []
        notes = [rf"\\ \footnotesize {_latex(note)}" for note in self.notes]
        body = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", shown[0], r"\midrule", *shown[1:], r"\bottomrule"]
        return "\n".join([*title, *body, r"\end{tabular}", *notes])


def error_table(
    rows: Mapping[str, Row], *, columns: Sequence[str] = DEFAULT_COLUMNS, title: str = "", digits: int = 2
) -> Table:
    """One row a method; mean ± standard deviation where several seeds are given.

    Parameters
    ----------
    rows : what to call each row → an `Evaluation`, several that differ only in their seeds, or published numbers by
        column, × 100, which are marked as such
    columns : of `Evaluation.measures`, in the order they shall have
    title : above the table
    digits : behind the point

    Examples
    --------
    >>> import numpy as np
    >>> from partwhole.evaluation import PairResult, Protocol
    >>> def run(seed, error):
    ...     return Evaluation([PairResult("a", np.array([error]))], Protocol(data="one pair", seeds=(seed,)))
    >>> runs = [run(0, 0.02), run(1, 0.04)]
    >>> print(error_table({"ours": runs, "paper": {"micro": 4.6}}, columns=["micro", "macro"]).text())
    method  micro        macro        protocol
    ------  -----------  -----------  --------
    ours    3.00 ± 1.41  3.00 ± 1.41  [1]
    paper   4.60         –            [2]
    <BLANKLINE>
    Errors, shares and areas × 100; errors divided by √area of the whole; PCK area from 0 to 0.25.
    [1] one pair; fast marching distances, true vertices; features read-out, unrefined; final weights, seeds 0, 1
    [2] as published, by its own protocol
    """
    if not rows:
        raise ValueError("rows is empty; give at least one evaluation")
    protocols: list[str] = []
    lines = []
    for label, row in rows.items():
        if isinstance(row, Mapping):
            numbers, protocol = {name: [value] for name, value in row.items()}, _PUBLISHED
        else:
            runs = [row] if isinstance(row, Evaluation) else list(row)
            protocol = joined(run.protocol for run in runs).statement
            measured = [run.measures() for run in runs]
            numbers = {name: [m[name] for m in measured] for name in measured[0]}
            unknown = [name for name in columns if name not in numbers]
            if unknown:
                raise ValueError(f"columns: there is no {unknown[0]!r}; choose from {', '.join(map(repr, numbers))}")
        if protocol not in protocols:
            protocols.append(protocol)
        cells = [_number(numbers.get(name, []), digits) for name in columns]
        lines.append((label, *cells, f"[{protocols.index(protocol) + 1}]"))
    return Table(("method", *columns, "protocol"), tuple(lines), tuple(protocols), title)


def _number(values: Sequence[float], digits: int) -> str:
    """Mean ± standard deviation (of a sample, n − 1); a dash where nothing is known."""
    if len(values) == 0 or any(math.isnan(v) for v in values):
        return "–"
    mean = f"{np.mean(values):.{digits}f}"
    if len(values) == 1:
        return mean
    spread = np.std(values, ddof=1) if np.isfinite(values).all() else float("nan")
    return f"{mean} ± {spread:.{digits}f}"


def _padded(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
