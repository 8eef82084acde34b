"""`partwhole evaluate`: how far off the maps of trained networks are, by a stated protocol."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from partwhole.cli.shared.config_options import AT_MATCHING, changed_choices
from partwhole.cli.shared.console import Console, output_folder, to_json, write_text
from partwhole.cli.shared.evaluation_report import evaluation_report, worst_pictures
from partwhole.cli.shared.learning import (
    CacheOption,
    DeviceOption,
    Stages,
    WorkersOption,
    chosen_cache,
    read_pairs,
    ready,
    stages,
    with_truth,
)
from partwhole.cli.shared.memory import check_fits, told_plainly
from partwhole.cli.shared.models import ModelsOption, load_models, model_file
from partwhole.cli.shared.options import JsonOption, Method, OutputOption, QuietOption
from partwhole.cli.shared.overwriting import check_folder
from partwhole.cli.shared.pairs import PUBLISHED_AS, DataOption, SetName, SetOption, Split, files_of, pairs_from, set_of
from partwhole.datasets.cutting.turning import with_parts_turned
from partwhole.datasets.pairs import Pair, Pairs
from partwhole.evaluation import (
    Calibration,
    Evaluation,
    Table,
    calibration_plot,
    error_table,
    pck_plot,
    published_rows,
)
from partwhole.matching.training.config import PRESETS
from partwhole.store.cache import Cache
from partwhole.store.text import as_text

if TYPE_CHECKING:
    from partwhole.matching.matcher import Matcher
    from partwhole.matching.readout.soft_map import ReadOut

WRITES = (
    *("table.txt", "table.md", "table.tex", "pck.png", "summary.json", "pairs-*.csv"),
    *("calibration.png", "pictures/*", "report.html", "report.md"),
)


def evaluate(
    models: ModelsOption,
    data: DataOption = None,
    which: SetOption = None,
    split: Annotated[Split, typer.Option(help="Which pairs of the set.")] = "test",
    read_out: Annotated[
        Literal["spectral", "features", "both", "zoomout", "lateration"],
        typer.Option(
            help="How maps are read: nearest features, smoothed through eigenfunctions, then by ZoomOut or by distances."
        ),
    ] = "spectral",
    refine: Annotated[
        int, typer.Option(min=0, metavar="STEPS", help="Steps of refinement on each pair, such as 15; 0 for none.")
    ] = 0,
    distances: Annotated[
        Method, typer.Option(help="How errors are measured: fast marching, along edges, or exactly (slow).")
    ] = "fast_marching",
    rounded: Annotated[
        bool, typer.Option("--rounded", help="Compare with the nearest vertex where the truth lies inside a triangle.")
    ] = False,
    average: Annotated[
        bool, typer.Option("--average", help="One row for all models: mean ± deviation of runs that differ in seeds.")
    ] = False,
    together: Annotated[
        bool,
        typer.Option(
            "--together", help="One matcher of all models, of runs that differ in seeds: similarities averaged."
        ),
    ] = False,
    yaw_steps: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Try each part at so many yaw_steps; as the model says if not given."),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="NAME=VALUE",
            help=f"Match otherwise than the model says: {', '.join(AT_MATCHING)}; may be repeated.",
        ),
    ] = None,
    turn_parts: Annotated[
        bool, typer.Option("--turn-parts", help="Turn each part at random first, so that it lies any way up.")
    ] = False,
    published: Annotated[
        bool, typer.Option("--published/--no-published", help="Show published errors beside, where there are any.")
    ] = True,
    output: OutputOption = None,
    report_to: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="DIR",
            help="What --output writes, and a report: the worst pairs, what confidence is worth.",
        ),
    ] = None,
    device: DeviceOption = "cpu",
    workers: WorkersOption = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure the errors of trained models on pairs with ground truth.

    Prints a table that names its protocol, one row a model. With --output, writes it as text, Markdown and LaTeX, a table of
    pairs for each model, and the curves of correct matches (PCK); with --report, all that and a page to show to others.
    """
    if output is not None and report_to is not None:
        raise ValueError("--report writes what --output does, and more; give one of them")
    console = Console(as_json=as_json, quiet=quiet)
    ready(device)
    place = output or report_to
    if place is not None:
        reads = [*map(model_file, models), *files_of(data)]
        check_folder(place, WRITES, reads, option="--output" if report_to is None else "--report")
    matchers = load_models(models, device)
    if yaw_steps is not None:
        changes = [*(changes or ()), f"yaw_steps={yaw_steps}"]
    if changes:
        matchers = {name: _changed(matcher, changes) for name, matcher in matchers.items()}
    if average and together:
        raise ValueError("--average and --together are two ways to make one row of several models; leave one out")
    if average or together:
        _check_same_choices(matchers, "--average" if average else "--together")
    if together:
        from partwhole.matching.ensemble import Ensemble

        matchers = {f"{len(matchers)} models together": Ensemble(list(matchers.values()))}
    chosen = set_of(data, which, note=console.note)
    pairs = pairs_from(data, chosen, split, note=console.note)
    _note_axes(matchers, chosen, console)
    options: dict[str, Any] = {"device": device, "cache": chosen_cache(cache, console), "workers": workers}
    read_outs: list[ReadOut] = ["spectral", "features"] if read_out == "both" else [read_out]
    with told_plainly(), stages(console) as report:
        found, held = _measured(
            matchers,
            pairs,
            read_outs,
            console,
            report,
            refine=refine,
            method=distances,
            rounded=rounded,
            turn_parts=turn_parts,
            options=options,
        )
        calibrated = {} if report_to is None else _calibrated(matchers, held, options["cache"], report)
    beside = _published(chosen, split, console, refined=refine > 0) if published else {}
    rows: dict[str, Any] = {}
    rows.update(_averaged(found, read_outs) if average else {row.label: row.evaluation for row in found})
    table = error_table(rows | beside, title=f"{pairs.name}, {len(found[0].evaluation.pairs)} pairs")
    console.table(table.rows, head=table.header, title=table.title)
    for note in table.notes:
        console.say(note)
    for row in found:
        worst = row.evaluation.worst_pair
        console.say(f"worst pair of {row.label}: {worst.name}, {100 * worst.mean:.1f}")
    summary: dict[str, Any] = {
        "data": None if data is None else str(data),
        "set": chosen,
        "split": split,
        "pairs": len(found[0].evaluation.pairs),
        "rows": [row.to_json() for row in found],
        "published": beside,
        "table": {"header": table.header, "rows": table.rows, "notes": table.notes},
        "notes": console.notes,
        "files": {},
    }
    if place is not None:
        pictured = None if report_to is None else held
        summary["files"] = _written(output_folder(place), found, table, summary, console, pictured, calibrated)
        for file in summary["files"].values():
            console.say(f"wrote {file}")
    console.finish(summary)


@dataclass(frozen=True)
class _Row:
    """What one model is worth, read in one way."""

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


def _measured(
    matchers: Mapping[str, Matcher],
    pairs: Pairs,
    read_outs: Sequence[ReadOut],
    console: Console,
    report: Stages,
    *,
    refine: int,
    method: Method,
    rounded: bool,
    turn_parts: bool,
    options: dict[str, Any],
) -> tuple[list[_Row], list[Pair]]:
    """A row for each model and read-out, and the pairs that were measured."""
    from partwhole.matching.evaluation import Benchmark

    name_of_data = f"{pairs.name}, parts turned at random" if turn_parts else pairs.name
    held = with_truth(read_pairs(pairs, console, report), pairs.name, console)
    if turn_parts:
        held = with_parts_turned(held)
    for_loss = refine > 0 or bool({"zoomout", "lateration"} & set(read_outs))
    judged = for_loss or any(matcher.needs_distances for matcher in matchers.values())
    check_fits(held, device=options["device"], for_loss=judged)
    kinds = {pair.ground_truth.kind for pair in held if pair.ground_truth is not None}
    changed: dict[str, Any] = {}
    if rounded:
        held = [pair.rounded() for pair in held]
        if "barycentric" in kinds:
            changed = {"ground_truth": "barycentric, rounded"}
        else:
            console.note("--rounded changes nothing: the true places are vertices")
    examinations: dict[tuple[Any, ...], Benchmark] = {}
    rows = []
    for name, matcher in matchers.items():
        needs = Benchmark.needs(matcher.config, for_loss=for_loss)
        if needs not in examinations:
            knobs: dict[str, Any] = {"name": name_of_data, "method": method, "progress": report, **options}
            examinations[needs] = Benchmark(held, matcher.config, for_loss=for_loss, **knobs)
        weights = matcher.card.get("weights")
        for read_out in read_outs:
            found = examinations[needs].of(
                matcher,
                read_out=read_out,
                refine=refine,
                weights=weights if weights in ("final", "validated", "best-on-test") else "final",
                progress=report,
            )
            label = f"{name}, {read_out}" if len(read_outs) > 1 else name
            evaluation = Evaluation(found.pairs, replace(found.protocol, **changed))
            rows.append(_Row(label, read_out, evaluation, matcher.card))
    return rows, held


def _calibrated(
    matchers: Mapping[str, Matcher], held: Sequence[Pair], cache: Cache | None, report: Stages
) -> dict[str, Calibration]:
    """What the confidence of each model is worth."""
    from partwhole.matching.confidence.calibrate import calibration_of

    return {name: calibration_of(matcher, held, cache=cache, progress=report) for name, matcher in matchers.items()}


def _note_axes(matchers: Mapping[str, Matcher], chosen: SetName, console: Console) -> None:
    """Say so where a model knows shapes that stand otherwise than these do."""
    if chosen not in PRESETS:
        return
    up = PRESETS[chosen].vertical
    for name, matcher in matchers.items():
        known = matcher.config.vertical
        if "xyz" in matcher.config.inputs and known != up:
            console.note(f"{name} knows shapes that stand along {known}, these stand along {up}: --with vertical={up}")


def _averaged(found: Sequence[_Row], read_outs: Sequence[str]) -> dict[str, list[Evaluation]]:
    """All models in one row, for each way to read their maps."""
    rows = {}
    for read_out in read_outs:
        runs = [row.evaluation for row in found if row.read_out == read_out]
        rows[f"{len(runs)} models{f', {read_out}' * (len(read_outs) > 1)}"] = runs
    return rows


def _changed(matcher: Matcher, changes: Sequence[str]) -> Matcher:
    """The same network, used otherwise."""
    from partwhole.matching.matcher import Matcher

    given = changed_choices(changes)
    # a name that there is not is refused with the nearest one
    config = matcher.config.with_changes(**given)
    misplaced = [name for name in given if name not in AT_MATCHING]
    if misplaced:
        raise ValueError(
            f"--with {misplaced[0]} is a choice of training; a trained model can be given {', '.join(AT_MATCHING)}"
        )
    return Matcher(matcher.standing(config.vertical).network, config, matcher.card)


def _check_same_choices(matchers: Mapping[str, Matcher], option: str) -> None:
    """Raise ValueError unless the models differ in nothing but the seeds of their training."""
    if len(matchers) < 2:
        raise ValueError(f"{option} needs several models; give --model for each run")
    (first, of_first), *others = [
        (name, {**m.config.to_json(), "weights": m.card.get("weights"), "seed": None}) for name, m in matchers.items()
    ]
    for name, of_other in others:
        different = [choice for choice, value in of_other.items() if value != of_first[choice]]
        if different:
            what = different[0]
            raise ValueError(
                f"{option} is for runs that differ in their seeds only: {first} has {what}={of_first[what]!r}, "
                f"{name} has {what}={of_other[what]!r}"
            )


def _published(chosen: SetName, split: Split, console: Console, *, refined: bool) -> dict[str, dict[str, float]]:
    if chosen not in PUBLISHED_AS or split == "train":
        return {}
    if chosen.startswith("shrec16") and split == "test":
        console.note(
            "published errors are those of the contest's test shapes, and not of this split of its training shapes"
        )
    # beside what was refined stand all of them: for some sets none but unrefined ones are published
    return published_rows(PUBLISHED_AS[chosen], refined=None if refined else False)


def _written(
    folder: Path,
    found: Sequence[_Row],
    table: Table,
    summary: dict[str, Any],
    console: Console,
    pictured: Sequence[Pair] | None,
    calibrated: Mapping[str, Calibration],
) -> dict[str, Path]:
    """The files that were written; with a report of these pairs, if they are given."""
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
            files |= worst_pictures(folder, results, pictured, progress)
        files |= evaluation_report(folder, table, results, files)
    write_text(files["summary"], to_json({**summary, "files": files}) + "\n")
    return files
