"""The errors of the runs of a study: tables beside published ones, all evaluations, curves and files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from partwhole.cli.shared.console import Console, write_text
from partwhole.cli.shared.options import output_folder
from partwhole.evaluation import Evaluation, Protocol, Table, error_table, pck_plot
from partwhole.evaluation.curves import mean_curve
from partwhole.evaluation.protocol import joined

if TYPE_CHECKING:
    from partwhole.experiments.matching.study import Run

# what is recorded of every evaluation, and so is known for all rows
COLUMNS = ("micro", "macro", "median pair", "worst pair", "% above 0.15")
READ_OUTS = ("spectral", "features")
# most curves in one figure, since there are as many colours
_COLOURS = 10
BEST = "best-on-test: for each seed the recorded evaluation with the lowest micro error, selected with the test pairs"

# files for each set of test pairs, named by its key, and summary.json for all
WRITES = ("*.txt", "*.md", "*.tex", "*-pck.png", "*-evaluations.csv", "*-pairs/*.csv", "summary.json")


@dataclass(frozen=True, kw_only=True)
class StudySection:
    """Everything about one set of test pairs.

    Attributes
    ----------
    key : of the test pairs, and the name of the files
    published : published rows, see `error_table`
    remarks : lines below the table
    heading : what the test pairs are, if their name does not say it
    """

    key: str
    published: Mapping[str, Mapping[str, float]]
    remarks: tuple[str, ...] = ()
    heading: str = ""

    def with_remarks(self, more: Sequence[str]) -> StudySection:
        return replace(self, remarks=(*self.remarks, *more))


@dataclass(frozen=True)
class MeasuredRow:
    """A line of the table: the same measure of several seeds."""

    label: str
    series: str
    protocol: Protocol
    measures: tuple[Mapping[str, float], ...]

    def values(self, column: str) -> list[float]:
        return [found[column] for found in self.measures]

    def to_json(self) -> dict[str, Any]:
        shown = {}
        for column in COLUMNS:
            mean, deviation = mean_and_deviation(self.values(column))
            shown[column] = {"mean": mean, "deviation": deviation, "values": self.values(column)}
        return {
            "label": self.label,
            "series": self.series,
            "weights": self.protocol.weights,
            "read_out": self.protocol.read_out,
            "seeds": self.protocol.seeds,
            "protocol": self.protocol.statement,
            "measures": shown,
        }


def by_series(runs: Sequence[Run], test: str) -> dict[str, list[Run]]:
    """The runs that were tested on these pairs, by the name of their series."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        if test in run.series.tested_on:
            found.setdefault(run.series.name, []).append(run)
    return found


def measured_rows(runs: Sequence[Run], test: str) -> list[MeasuredRow]:
    """For each series the final weights with both read-outs, and the evaluation that was best on the test pairs."""
    rows = []
    for name, of_series in by_series(runs, test).items():
        label = of_series[0].series.label
        for read_out in READ_OUTS:
            found = [run.errors[test, read_out] for run in of_series]
            protocol = joined(evaluation.protocol for evaluation in found)
            measures = tuple(evaluation.measures() for evaluation in found)
            rows.append(MeasuredRow(f"{label}, {read_out}", name, protocol, measures))
        best = [run.best_on_test(test) for run in of_series]
        recorded = tuple(found for found in best if found is not None)
        if len(recorded) == len(best):
            # evaluations during training use the spectral read-out
            protocol = joined(run.errors[test, "spectral"].protocol for run in of_series)
            picked = replace(protocol, weights="best-on-test")
            rows.append(MeasuredRow(f"{label}, spectral, best-on-test", name, picked, recorded))
    return rows


def study_table(section: StudySection, rows: Sequence[MeasuredRow], title: str) -> Table:
    """Published rows, then ours: mean ± standard deviation over seeds."""
    published = {label: dict(numbers) for label, numbers in section.published.items()}
    table = error_table(published, columns=COLUMNS, title=title)
    lines, protocols = list(table.rows), list(table.protocols)
    for row in rows:
        statement = row.protocol.statement
        if statement not in protocols:
            protocols.append(statement)
        cells = (spread(row.values(column)) for column in COLUMNS)
        lines.append((row.label, *cells, f"[{protocols.index(statement) + 1}]"))
    return replace(table, rows=tuple(lines), protocols=tuple(protocols))


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation, which is NaN for a single value.

    >>> mean_and_deviation([1.0, 3.0]), mean_and_deviation([2.0])
    ((2.0, 1.4142135623730951), (2.0, nan))
    """
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def spread(values: Sequence[float]) -> str:
    """Mean ± deviation, for tables.

    >>> spread([1.0, 3.0]), spread([2.0])
    ('2.00 ± 1.41', '2.00')
    """
    mean, deviation = mean_and_deviation(values)
    return f"{mean:.2f}" if np.isnan(deviation) else f"{mean:.2f} ± {deviation:.2f}"


def present(sections: Sequence[StudySection], runs: Sequence[Run], folder: Path, console: Console) -> dict[str, Any]:
    """Print and write the results for each set of test pairs, and return them for JSON."""
    found = {}
    for section in sections:
        rows = measured_rows(runs, section.key)
        if not rows:
            console.note(f"{section.key}: no run was completed, so there is no table")
            continue
        of_all = [run.errors[section.key, "spectral"] for run in runs if section.key in run.series.tested_on]
        heading = section.heading or of_all[0].protocol.data
        table = study_table(section, rows, f"{heading}, {len(of_all[0].pairs)} pairs")
        for of_series in by_series(runs, section.key).values():
            _print_evaluations(of_series, section.key, heading, console)
        console.table(table.rows, head=table.header, title=table.title)
        remarks = (*section.remarks, BEST) if any(run.of(section.key) for run in runs) else section.remarks
        for line in (*table.notes, *remarks):
            console.say(line)
        evaluations = _evaluations(runs, section.key)
        files = _write(folder, section.key, table, remarks, runs, evaluations)
        found[section.key] = {
            "test": heading,
            "pairs": len(of_all[0].pairs),
            "rows": [row.to_json() for row in rows],
            "published": section.published,
            "evaluations": evaluations,
            "remarks": remarks,
            "table": {"header": table.header, "rows": table.rows, "notes": table.notes},
            "files": files,
        }
        for path in files.values():
            console.say(f"wrote {path}")
    return found


def _print_evaluations(runs: Sequence[Run], test: str, heading: str, console: Console) -> None:
    """Print every evaluation of every seed: a row for each iteration."""
    iterations = sorted({found["iteration"] for run in runs for found in run.of(test)})
    if not iterations:
        return
    lines = []
    for iteration in iterations:
        cells = []
        for run in runs:
            here = next((found for found in run.of(test) if found["iteration"] == iteration), None)
            cells += ["–", "–"] if here is None else [f"{here['micro']:.2f}", f"{here['macro']:.2f}"]
        lines.append((str(iteration), *cells))
    head = ["iteration", *(f"seed {run.seed} {average}" for run in runs for average in ("micro", "macro"))]
    title = f"{runs[0].series.label}: every evaluation on {heading}; errors × 100, spectral read-out"
    console.table(lines, head=head, title=title)


def _evaluations(runs: Sequence[Run], test: str) -> list[dict[str, Any]]:
    return [
        {"series": run.series.name, "seed": run.seed, **{name: found[name] for name in ("iteration", *COLUMNS)}}
        for run in runs
        for found in run.of(test)
    ]


def _write(
    folder: Path, key: str, table: Table, remarks: Sequence[str], runs: Sequence[Run], evaluations: list[dict[str, Any]]
) -> dict[str, Path]:
    files = {
        "text": folder / f"{key}.txt",
        "markdown": folder / f"{key}.md",
        "latex": folder / f"{key}.tex",
        "curves": folder / f"{key}-pck.png",
    }
    write_text(files["text"], "\n".join([table.text(), *remarks]) + "\n")
    write_text(files["markdown"], "\n".join([table.markdown(), *(f"{line}  " for line in remarks)]) + "\n")
    write_text(files["latex"], table.latex() + "\n")
    series = by_series(runs, key)
    # more curves than colours can't be told apart
    shown = READ_OUTS if len(READ_OUTS) * len(series) <= _COLOURS else READ_OUTS[:1]
    curves = {
        f"{of_series[0].series.label}, {read_out}": mean_curve([run.errors[key, read_out].pck() for run in of_series])
        for of_series in series.values()
        for read_out in shown
    }
    weights = dict.fromkeys(run.errors[key, "spectral"].protocol.weights for run in runs if key in run.series.tested_on)
    pck_plot(curves, files["curves"], title=f"{table.title}; {' and '.join(weights)} weights, mean over seeds")
    if evaluations:
        files["evaluations"] = folder / f"{key}-evaluations.csv"
        text = io.StringIO()
        writer = csv.DictWriter(text, evaluations[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(evaluations)
        write_text(files["evaluations"], text.getvalue())
    files["pairs"] = output_folder(folder / f"{key}-pairs")
    for of_series in series.values():
        for run in of_series:
            for read_out in READ_OUTS:
                found: Evaluation = run.errors[key, read_out]
                name = re.sub(r"[^\w.-]+", "-", f"{run.series.name}-seed-{run.seed}-{read_out}").strip("-")
                found.write_csv(files["pairs"] / f"{name}.csv")
    return files
