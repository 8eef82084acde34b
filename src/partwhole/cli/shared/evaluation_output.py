"""What `partwhole evaluate` writes: the table, the curves, a table of pairs for each row, and a report of the worst pairs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwhole.cli.shared.batch.measured import WRITES as MEASURED
from partwhole.cli.shared.console import Console, write_json, write_text
from partwhole.cli.shared.options import output_folder
from partwhole.evaluation import Calibration, Evaluation, Table, calibration_plot, pck_plot
from partwhole.store.arguments import Progress
from partwhole.store.text import as_text

if TYPE_CHECKING:
    from partwhole.datasets.pairs import Pair
    from partwhole.evaluation import PairResult

WRITES = (
    *("table.txt", "table.md", "table.tex", "pck.png", "summary.json", "pairs-*.csv"),
    *("calibration.png", "pictures/*", "report.html", "report.md"),
    *MEASURED,
)
# worst pairs of each row that are drawn
_DRAWN_PAIRS = 4


@dataclass(frozen=True)
class MeasuredModel:
    """The errors of one model with one read-out."""

    label: str
    read_out: str
    evaluation: Evaluation
    card: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        worst = self.evaluation.worst_pair
        return {
            "label": self.label,
            "read_out": self.read_out,
            "protocol": self.evaluation.protocol.statement,
            "measures": self.evaluation.measures(),
            "worst_pair": {"name": worst.name, "mean": 100 * worst.mean},
            "card": dict(self.card),
        }


def write_evaluation(
    folder: Path,
    found: Sequence[MeasuredModel],
    table: Table,
    summary: dict[str, Any],
    console: Console,
    pictured: Sequence[Pair] | None,
    calibrated: Mapping[str, Calibration],
) -> dict[str, Path]:
    """Write everything, and return the files.

    Parameters
    ----------
    folder : where they go
    found : the rows of the table that were measured
    table : of the errors
    summary : for summary.json
    console : for progress
    pictured : the pairs that were measured, for a report of the worst ones; None: no report
    calibrated : calibration of the confidence of each model; empty: no plot
    """
    files = {
        "text": folder / "table.txt",
        "markdown": folder / "table.md",
        "latex": folder / "table.tex",
        "curves": folder / "pck.png",
        "summary": folder / "summary.json",
    }
    write_text(files["text"], table.text() + "\n")
    write_text(files["markdown"], table.markdown() + "\n")
    write_text(files["latex"], table.latex() + "\n")
    curves = {as_text(row.label, longest=200): row.evaluation.pck() for row in found}
    pck_plot(curves, files["curves"], title=as_text(table.title or "", longest=200))
    for row in found:
        name = re.sub(r"[^\w.-]+", "-", row.label).strip("-")
        files[f"pairs of {row.label}"] = folder / f"pairs-{name}.csv"
        row.evaluation.write_csv(files[f"pairs of {row.label}"])
    if calibrated:
        files["calibration"] = folder / "calibration.png"
        calibration_plot({as_text(label, longest=200): c for label, c in calibrated.items()}, files["calibration"])
    if pictured is not None:
        results = {row.label: row.evaluation for row in found}
        with console.progress("pictures of the worst pairs") as progress:
            files |= _draw_worst_pairs(folder, results, pictured, progress)
        files |= _write_report(folder, table, results, files)
    write_json(files["summary"], {**summary, "files": files})
    return files


def _draw_worst_pairs(
    folder: Path, results: Mapping[str, Evaluation], pairs: Sequence[Pair], progress: Progress
) -> dict[str, Path]:
    """Draw the worst pairs of each row into folder/pictures; the files by `_picture_name`."""
    from partwhole.viewer.figures.error_figures import error_figure

    held = {pair.name: pair for pair in pairs}
    place = output_folder(folder / "pictures")
    todo = [
        (label, number, worst) for label, found in results.items() for number, worst in enumerate(_worst_pairs(found))
    ]
    files: dict[str, Path] = {}
    for done, (label, number, worst) in enumerate(todo):
        progress("pictures", done, len(todo))
        path = place / f"{len(files):02d}.png"
        assert worst.vertex_map is not None
        error_figure(held[worst.name], worst.vertex_map, worst.errors, path=path)
        files[_picture_name(label, number)] = path
    progress("pictures", len(todo), len(todo))
    return files


def _picture_name(label: str, number: int) -> str:
    """Name of the picture of the worst pair of this number, counted from 0, of a row."""
    return f"worst pair {number + 1} of {label}"


def _write_report(
    folder: Path, table: Table, results: Mapping[str, Evaluation], files: Mapping[str, Path]
) -> dict[str, Path]:
    """Write report.html and report.md.

    Parameters
    ----------
    folder : where they go
    table : of the errors
    results : of each row that was measured
    files : the curves as "curves", the plot of `calibration_plot` as "calibration", and those of `_draw_worst_pairs`
    """
    from partwhole.viewer.report import Block, Heading, Picture, Rows, Text, write_report

    blocks: list[Block] = [Rows(table.header, table.rows), *(Text(note) for note in table.notes)]
    blocks += [Heading("Curves"), Picture(files["curves"], "Share of vertices by error (PCK)")]
    if "calibration" in files:
        said = "Left: share of correct vertices, by confidence. Right: share of the total error in the least confident "
        said += "vertices; thin lines: the best possible. Maps as partwhole match reads them, at most 24 pairs"
        blocks += [Heading("Confidence"), Picture(files["calibration"], said)]
    for label, found in results.items():
        blocks.append(Heading(f"The worst pairs of {label}"))
        for number, worst in enumerate(_worst_pairs(found)):
            above = f"{100 * worst.share_above():.0f} % of the vertices above 15"
            said = f"{worst.name}: mean error × 100 {worst.mean * 100:.1f}, {above}; red: 25 and more"
            blocks.append(Picture(files[_picture_name(label, number)], said))
        blocks.append(Heading(f"Every pair of {label}, the worst first"))
        rows = [
            (pair.name, f"{100 * pair.mean:.2f}", f"{100 * pair.median:.2f}", f"{100 * pair.share_above():.1f}")
            for pair in _worst_first(found)
        ]
        blocks.append(Rows(("pair", "mean error × 100", "median × 100", "% above 0.15"), rows))
    return write_report(folder, table.title, blocks)


def _worst_first(found: Evaluation) -> list[PairResult]:
    return sorted(found.pairs, key=lambda pair: -pair.mean)


def _worst_pairs(found: Evaluation) -> list[PairResult]:
    return _worst_first(found)[:_DRAWN_PAIRS]
