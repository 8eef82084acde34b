"""`partwhole reproduce pfaust --methods` and `shrec16 --methods`: the paper's two large tables, every method in one way."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from partwhole.cli.shared.config_options import chosen_config
from partwhole.cli.shared.console import Console, StageProgress, plain_memory_errors, write_json, write_text
from partwhole.cli.shared.data_options import PUBLISHED_AS, data_files
from partwhole.cli.shared.options import Device, check_folder, open_cache, output_folder
from partwhole.evaluation import Table
from partwhole.experiments.matching.error_tables import mean_and_deviation, spread
from partwhole.experiments.matching.jobs import (
    Cell,
    Job,
    Measuring,
    last_line,
    log_of,
    prepare_together,
    run_apart,
    shared_out,
)
from partwhole.experiments.matching.method_rows import BenchmarkRow, pooled, published_error, write_figures
from partwhole.experiments.matching.training_runs import WRITES as RUNS
from partwhole.experiments.matching.training_runs import trained_runs
from partwhole.matching.network.weights import LEARNED, METHODS, model_names

if TYPE_CHECKING:
    from partwhole.experiments.matching.study import Run

# models that stand beside the methods, and what methods are called in tables
_MODELS = ("any-pose", "upright")
# of the two forms of DPFM each is published for one kind of parts
_NOT_FOR = {"shrec16-cuts": "dpfm-holes", "shrec16-holes": "dpfm"}
_REFINED = {"zoomout": " → ZoomOut", "adapt": " → adapted"}
WRITES = (
    *("*-methods.txt", "*-methods.md", "*-methods-pck.png", "*-methods-times.png", "methods.json"),
    *("rows/*/*.csv", "logs/*.log"),
)
_NOTES = (
    "Vertices of all pairs are pooled (micro) unless a column says macro; mean ± standard deviation over seeds (n − 1).",
    "Published methods are measured by their own maps, models as match uses them.",
    "→ ZoomOut: from 20 to 150 eigenpairs. → adapted: 15 steps of test-time adaptation.",
)


@dataclass(frozen=True, kw_only=True)
class MethodChoices:
    """What is compared, as given on the command line.

    Attributes
    ----------
    methods : "all", "learned", "axiomatic", or names with commas between
    seeds : of each learned method
    iterations, changes : of all trainings, in the place of the published ones
    augmentation : turns about the vertical, in degrees, each a series of its own; none: as published
    conditions : names of `CONDITIONS`
    most : pairs of each test set
    refined : whether refined maps are measured too
    parallel : jobs at a time
    steps : "runs" trains and measures, "tables" shows what is there, "all" does both
    capture : see `train`
    """

    methods: str
    seeds: tuple[int, ...]
    iterations: int | None = None
    changes: Sequence[str] = ()
    augmentation: tuple[float, ...] = ()
    conditions: tuple[str, ...] = ("",)
    most: int | None = None
    refined: bool = True
    parallel: int = 1
    steps: str = "all"
    capture: bool | None = None

    @property
    def names(self) -> list[str]:
        """The methods and models that are asked for."""
        models = [name for name in _MODELS if name in model_names()]
        groups = {"all": [*METHODS, *LEARNED, *models], "learned": [*LEARNED], "axiomatic": [*METHODS]}
        given = [name.strip() for name in self.methods.split(",") if name.strip()]
        found = list(dict.fromkeys(one for name in given for one in groups.get(name, [name])))
        known = [*METHODS, *LEARNED, "default", *model_names()]
        unknown = [name for name in found if name not in known]
        if unknown or not found:
            raise ValueError(
                f"--methods {self.methods}: there is no method {unknown[0] if unknown else ''!r}; give all, learned, "
                f"axiomatic, or some of {', '.join(known)}"
            )
        return found


def parsed_turns(text: str | None) -> tuple[float, ...]:
    """The degrees of `--augmentation`.

    >>> parsed_turns("30,90"), parsed_turns(None)
    ((30.0, 90.0), ())
    """
    try:
        found = tuple(float(word) for word in (text or "").split(",") if word.strip())
    except ValueError:
        found = ()
    if text is not None and (not found or not all(0 <= turn <= 180 for turn in found)):
        raise ValueError(
            f"--augmentation takes degrees from 0 to 180, with commas between, such as 30 or 30,90, got {text!r}"
        )
    return found


def jobs_of(choices: MethodChoices, tested_on: Mapping[str, tuple[str, ...]], folder: Path) -> list[Job]:
    """Every job of a comparison: first what has nothing to learn, then seed after seed of all others.

    Parameters
    ----------
    tested_on : the test pairs, by the pairs that methods are trained on
    """
    from partwhole.experiments.matching.study import Planned

    tests = tuple(dict.fromkeys(test for found in tested_on.values() for test in found))
    names = choices.names
    jobs = [Job(name, tests) for name in names if name not in LEARNED]
    # where one form alone is asked for, it is trained on whatever is asked for
    both = {"dpfm", "dpfm-holes"} <= set(names)
    for seed in choices.seeds:
        for of_set, tests_of_set in tested_on.items():
            for name in names:
                if name not in LEARNED or (both and _NOT_FOR.get(of_set) == name):
                    continue
                for turn in choices.augmentation or (None,):
                    series = _series(name, of_set, tests_of_set, turn, choices)
                    jobs.append(Job(name, tests_of_set, Planned(series, seed, folder / series.name / f"seed-{seed}")))
    return jobs


def _series(name: str, trained_on: str, tested_on: tuple[str, ...], turn: float | None, choices: MethodChoices) -> Any:
    """The runs of a method, but for their seeds, with its published settings as far as nothing else was asked for."""
    from partwhole.experiments.matching.study import Series
    from partwhole.matching.methods import learned_method
    from partwhole.matching.training.losses import configured_by

    kind = learned_method(name)
    turned = [] if turn is None else [f"rotation={turn:g}"]
    base = kind.published_for(trained_on)
    config = chosen_config(None, [*choices.changes, *turned], iterations=choices.iterations, base=base)
    return Series(
        name=f"{name}-on-{trained_on}" + ("" if turn is None else f"-turned-{turn:g}"),
        label=name + ("" if turn is None else f", ±{turn:g}°"),
        config=configured_by(kind(config=config).loss(), config),
        trained_on=trained_on,
        # tested by their rows, and not by the study
        tested_on=(),
        method=name,
    )


def compare_methods(
    command: str,
    choices: MethodChoices,
    tested_on: Mapping[str, tuple[str, ...]],
    data: Path,
    folder: Path,
    headings: Mapping[str, str],
    console: Console,
    *,
    device: Device,
    cache: bool,
    workers: int | None,
) -> None:
    """Train and measure what is missing, then print and write a table for each set of test pairs.

    Parameters
    ----------
    command : pfaust or shrec16, which jobs are processes of
    tested_on : the test pairs, by the pairs that methods are trained on
    data, folder : of the data sets, and of runs and results
    headings : what the test pairs are, where their name does not say it
    """
    check_folder(folder, (*WRITES, *RUNS), data_files(data))
    output_folder(folder)
    store = open_cache(cache, console)
    options = {"cache": store, "workers": workers}
    knobs = (choices.conditions, choices.most, choices.refined)
    measuring = Measuring(data, folder, *knobs, device, options)
    jobs = jobs_of(choices, tested_on, folder)
    tests = list(dict.fromkeys(test for job in jobs for test in job.tested_on))
    for job in jobs:
        if job.planned is not None:
            job.planned.check()
    reasons: dict[str, str] = {}
    with plain_memory_errors():
        if choices.steps != "tables":
            apart = choices.parallel > 1 and len(jobs) > 1
            machine: dict[str, Any] = {"device": device, "cache": cache, "workers": workers}
            if apart:
                with console.stage_progress() as report:
                    missing = _incomplete(jobs, measuring, tests, console, report)
                    prepare_together(missing, measuring, store, console, report)
                    words = _words(command, choices, measuring, **machine)
                    hands = shared_out(missing, choices.parallel)
                    run_apart(hands, words, folder / "logs", parallel=choices.parallel, report=report)
                reasons = {job.key: last_line(folder / "logs" / log_of(hand)) for hand in hands for job in hand}
            else:
                reasons = _trained(jobs, choices, measuring, console, **machine)
                with console.stage_progress() as report:
                    for test in tests:
                        measuring.measure(jobs, test, console, report)
        with console.stage_progress() as report:
            known = {test: _known(jobs, measuring, test, console, report) for test in tests}
            absent = _incomplete(jobs, measuring, tests, console, report, known=known)
    if choices.steps == "runs":
        summary: dict[str, Any] = {"jobs": len(jobs), "incomplete": [job.key for job in absent]}
    else:
        sets = {test: _present(known[test], test, headings, folder, console) for test in tests if known[test]}
        summary = {"sets": sets, "jobs": len(jobs), "incomplete": [job.key for job in absent]}
        write_json(folder / "methods.json", {**summary, "notes": console.notes})
    for job in absent:
        why = reasons.get(job.key)
        console.note(f"{job.key} is not complete{f': {why}' if why else ''}")
    console.finish({**summary, "complete": not absent, "notes": console.notes, "folder": folder})
    if absent:
        console.say(f"{len(absent)} of {len(jobs)} jobs are not complete; run the same command again to go on")
        if choices.steps != "tables":
            raise typer.Exit(1)


def _trained(
    jobs: Sequence[Job], choices: MethodChoices, measuring: Measuring, console: Console, **machine: Any
) -> dict[str, str]:
    """Train every run that is not finished, one after the other, and measure each at once, so that there are results
    whenever the command ends; the reasons of those that failed, by job."""
    from partwhole.matching.training.run_folder import MODEL

    todo = [job.planned for job in jobs if job.planned and not (job.planned.folder / MODEL).is_file()]
    if not todo:
        return {}
    series = list({planned.series.name: planned.series for planned in todo}.values())

    def finished(run: Run) -> None:
        mine = [job for job in jobs if job.key == f"{run.series.name}-seed-{run.seed}"]
        with console.stage_progress() as report:
            for test in dict.fromkeys(test for job in mine for test in job.tested_on):
                try:
                    measuring.measure(mine, test, console, report)
                except Exception as fault:
                    # the other runs come first; it is tried once more in the end
                    console.note(f"{mine[0].key} could not be measured on {test}: {fault}")

    knobs = {"capture": choices.capture, "finished": finished, **machine}
    try:
        _, failed = trained_runs(series, choices.seeds, measuring.data, measuring.folder, console, **knobs)
    except ValueError as fault:
        if not str(fault).startswith("all "):
            raise
        return {f"{p.series.name}-seed-{p.seed}": str(fault) for p in todo}
    return {f"{one.planned.series.name}-seed-{one.planned.seed}": one.reason for one in failed}


def _known(
    jobs: Sequence[Job], measuring: Measuring, test: str, console: Console, report: StageProgress
) -> dict[Cell, list[BenchmarkRow]]:
    names = [pair.name for pair in measuring.pairs(test, Console(quiet=True), report)]
    return measuring.known(jobs, test, names)


def _incomplete(
    jobs: Sequence[Job],
    measuring: Measuring,
    tests: Sequence[str],
    console: Console,
    report: StageProgress,
    *,
    known: Mapping[str, Mapping[Cell, Any]] | None = None,
) -> list[Job]:
    """The jobs of which something is missing."""
    if known is None:
        known = {test: _known(jobs, measuring, test, console, report) for test in tests}
    forms = {job.key: 1 + (measuring.refined and job.refinement is not None) for job in jobs}
    there = {job.key: sum(cell.job.key == job.key for test in tests for cell in known[test]) for job in jobs}
    wanted = {job.key: forms[job.key] * len(job.tested_on) * len(measuring.conditions) for job in jobs}
    return [job for job in jobs if there[job.key] < wanted[job.key]]


def _words(command: str, choices: MethodChoices, measuring: Measuring, **machine: Any) -> Any:
    """Gives the arguments of `partwhole` that run the jobs of one process: seeds of one method."""
    shared = ["--steps", "runs", "--data", str(measuring.data), "--output", str(measuring.folder)]
    shared += ["--device", machine["device"], "--workers", str(machine["workers"] or 1)]
    shared += [] if machine["cache"] else ["--no-cache"]
    shared += [] if choices.iterations is None else ["--iterations", str(choices.iterations)]
    shared += [word for change in choices.changes for word in ("--with", change)]
    shared += [] if choices.most is None else ["--most", str(choices.most)]
    shared += [] if choices.refined else ["--no-refined"]
    shared += ["--turn-parts"] * ("-turned" in choices.conditions) + ["--own-area"] * (
        "-own-area" in choices.conditions
    )
    shared += [] if choices.capture is None else ["--capture" if choices.capture else "--no-capture"]

    def words(hand: Sequence[Job]) -> list[str]:
        job = hand[0]
        mine = ["reproduce", command, "--methods", job.name, *shared]
        if job.planned is None:
            return mine
        of_set = job.planned.series.trained_on.rpartition("-")[2]
        seeds = ",".join(str(one.planned.seed) for one in hand if one.planned)
        mine += ["--set", of_set.upper() if command == "pfaust" else of_set, "--seeds", seeds]
        turn = re.search(r"-turned-([\d.]+)$", job.planned.series.name)
        return mine + (["--augmentation", turn[1]] if turn else [])

    return words


@dataclass(frozen=True)
class _Line:
    """A row of a table: a method, trained on one set, plain or refined, with all of its seeds."""

    name: str
    trained_on: str | None
    label: str
    by_condition: Mapping[str, list[list[BenchmarkRow]]]
    seeds: tuple[int, ...]

    def values(self, condition: str, column: str = "mean_x100") -> list[float]:
        """Of each seed."""
        return [pooled(rows, column) for rows in self.by_condition.get(condition, [])]

    @property
    def rows(self) -> list[BenchmarkRow]:
        """Of all seeds, as the files stand."""
        return [row for rows in self.by_condition.get("", []) for row in rows]


def _lines(known: Mapping[Cell, list[BenchmarkRow]], *, crossed: bool) -> list[_Line]:
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in known:
        series = cell.job.planned.series.name if cell.job.planned else cell.job.name
        groups.setdefault((series, cell.label), []).append(cell)
    lines = []
    for (_, label), cells in groups.items():
        planned = cells[0].job.planned
        base, _, refinement = label.partition("+")
        shown = (planned.series.label if planned else base) + _REFINED.get(refinement, "")
        trained_on = planned.series.trained_on if planned else None
        if crossed and trained_on:
            shown += f", trained on {trained_on.rpartition('-')[2].upper()}"
        by_condition: dict[str, list[list[BenchmarkRow]]] = {}
        for cell in cells:
            by_condition.setdefault(cell.condition, []).append(known[cell])
        seeds = sorted({cell.job.planned.seed for cell in cells if cell.job.planned})
        lines.append(_Line(label, trained_on, shown, by_condition, tuple(seeds)))
    order = [*METHODS, *LEARNED]
    return sorted(
        lines, key=lambda line: order.index(line.name.split("+")[0]) if line.name.split("+")[0] in order else 99
    )


def _present(
    known: Mapping[Cell, list[BenchmarkRow]], test: str, headings: Mapping[str, str], folder: Path, console: Console
) -> dict[str, Any]:
    """Print and write the table and the figures of one set of test pairs."""
    crossed = len({cell.job.planned.series.trained_on for cell in known if cell.job.planned}) > 1
    lines = _lines(known, crossed=crossed)
    conditions = [name for name in ("", "-turned", "-own-area") if any(cell.condition == name for cell in known)]
    protocols: list[str] = []
    rows, found = [], []
    for line in lines:
        published = published_error(line.name, PUBLISHED_AS.get(test)) if line.trained_on in (None, test) else None
        stated = re.sub(r", seeds? [\d, ]+$", "", next(iter(line.by_condition.values()))[0][0].protocol)
        # what is changed about the parts is in the head of a column
        stated = re.sub(r", parts (turned at random|scaled to the area of their wholes)", "", stated)
        protocols += [stated] if stated not in protocols else []
        rows.append(_cells(line, published, conditions, protocols.index(stated) + 1))
        micro = {condition or "as given": line.values(condition) for condition in conditions}
        found.append({"method": line.label, "published": published, "seeds": line.seeds, "micro": micro})
    heads = {"": ("ours", "difference"), "-turned": ("parts turned",), "-own-area": ("own area",)}
    head = ["method", "published", *(name for condition in conditions for name in heads[condition])]
    head += ["macro", "% above 0.15", "s a pair", "MB", "seeds", "protocol"]
    count = len(next(iter(known.values())))
    title = f"{headings.get(test) or f'{PUBLISHED_AS[test]} test'}, {count} pairs"
    table = Table(tuple(head), tuple(rows), tuple(protocols), title=title)
    console.table(table.rows, head=table.header, title=title)
    files = {name: folder / f"{test}-methods{end}" for name, end in _ENDINGS.items()}
    for note in (*table.notes, *_NOTES):
        console.say(note)
    write_text(files["text"], "\n".join([table.text(), *_NOTES]) + "\n")
    write_text(files["markdown"], "\n".join([table.markdown(), *(f"{note}  " for note in _NOTES)]) + "\n")
    measured = {line.label: line.rows for line in lines if line.rows}
    if measured:
        write_figures(measured, files["curves"], files["times"], title)
    console.say_files(files)
    return {"test": title, "pairs": count, "rows": found, "protocols": protocols, "files": files}


_ENDINGS = {"text": ".txt", "markdown": ".md", "curves": "-pck.png", "times": "-times.png"}


def _cells(line: _Line, published: float | None, conditions: Sequence[str], protocol: int) -> tuple[str, ...]:
    cells = [line.label, "–" if published is None else f"{published:.1f}"]
    for condition in conditions:
        values = line.values(condition)
        cells.append(spread(values) if values else "–")
        if not condition:
            apart = None if published is None or not values else mean_and_deviation(values)[0] - published
            cells.append("–" if apart is None else f"{apart:+.1f}")
    rows = line.rows or next(iter(line.by_condition.values()))[0]
    memory = [row.megabytes for row in rows if not np.isnan(row.megabytes)]
    cells += [f"{np.mean([row.mean_x100 for row in rows]):.2f}", f"{100 * pooled(rows, 'share_above'):.1f}"]
    cells += [f"{np.mean([row.seconds for row in rows]):.2f}", f"{max(memory):.0f}" if memory else "–"]
    return (*cells, ", ".join(map(str, line.seeds)) or "–", f"[{protocol}]")
