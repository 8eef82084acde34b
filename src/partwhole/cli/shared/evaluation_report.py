"""The report of `partwhole evaluate`: the table, the curves, and the pairs that came out worst, with pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from partwhole.cli.shared.console import Progress, output_folder

if TYPE_CHECKING:
    from partwhole.datasets.pairs import Pair
    from partwhole.evaluation import Evaluation, PairResult, Table

# so many pairs of each row are drawn
_SHOWN = 4


def worst_pictures(
    folder: Path, results: Mapping[str, Evaluation], pairs: Sequence[Pair], progress: Progress
) -> dict[str, Path]:
    """A picture of each of the worst pairs of each row, in folder/pictures, by the name that `picture_of` gives."""
    from partwhole.viewer.figures.error_figures import error_figure

    held = {pair.name: pair for pair in pairs}
    place = output_folder(folder / "pictures")
    todo = [(label, number, worst) for label, found in results.items() for number, worst in enumerate(_worst(found))]
    files: dict[str, Path] = {}
    for done, (label, number, worst) in enumerate(todo):
        progress(done, len(todo))
        path = place / f"{len(files):02d}.png"
        assert worst.vertex_map is not None
        error_figure(held[worst.name], worst.vertex_map, worst.errors, path=path)
        files[picture_of(label, number)] = path
    progress(len(todo), len(todo))
    return files


def picture_of(label: str, number: int) -> str:
    """What the picture of the worst pair of this number of a row is called among the files."""
    return f"worst pair {number + 1} of {label}"


def evaluation_report(
    folder: Path, table: Table, results: Mapping[str, Evaluation], files: Mapping[str, Path]
) -> dict[str, Path]:
    """report.html and report.md.

    Parameters
    ----------
    folder : where they go
    table : of the errors
    results : of each row that was measured
    files : the curves as "curves", the plot of `calibration_plot` as "calibration", and the pictures of `worst_pictures`
    """
    from partwhole.viewer.report import Block, Heading, Picture, Rows, Text, write_report

    blocks: list[Block] = [Rows(table.header, table.rows), *(Text(note) for note in table.notes)]
    blocks += [Heading("Curves"), Picture(files["curves"], "Share of vertices whose error is at most so large (PCK)")]
    if "calibration" in files:
        said = "Left: the share of places that are right, against confidence. Right: the share of the error that the least "
        said += (
            "sure vertices have; thin lines are what is possible. Maps as partwhole match reads them, at most 24 pairs"
        )
        blocks += [Heading("Confidence"), Picture(files["calibration"], said)]
    for label, found in results.items():
        blocks.append(Heading(f"The worst pairs of {label}"))
        for number, worst in enumerate(_worst(found)):
            above = f"{100 * worst.share_above():.0f} % of the vertices above 15"
            said = f"{worst.name}: mean error × 100 {worst.mean * 100:.1f}, {above}; red is 25 and more"
            blocks.append(Picture(files[picture_of(label, number)], said))
        blocks.append(Heading(f"Every pair of {label}, the worst first"))
        rows = [
            (pair.name, f"{100 * pair.mean:.2f}", f"{100 * pair.median:.2f}", f"{100 * pair.share_above():.1f}")
            for pair in _sorted(found)
        ]
        blocks.append(Rows(("pair", "mean error × 100", "median × 100", "% above 0.15"), rows))
    return write_report(folder, table.title, blocks)


def _sorted(found: Evaluation) -> list[PairResult]:
    return sorted(found.pairs, key=lambda pair: -pair.mean)


def _worst(found: Evaluation) -> list[PairResult]:
    return _sorted(found)[:_SHOWN]
