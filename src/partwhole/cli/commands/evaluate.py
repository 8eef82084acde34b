"""`partwhole evaluate`: the errors of trained models on pairs with ground truth, by a stated protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from partwhole.cli.shared.batch.engine_options import (
    EngineOption,
    EvaluationWorkersOption,
    SchedulerOption,
    ShardOption,
    engine_options,
)
from partwhole.cli.shared.batch.measured import MeasureSettings, measured_maps
from partwhole.cli.shared.config_options import SEARCH_CHOICES, changed_choices
from partwhole.cli.shared.console import Console, StageProgress, plain_memory_errors
from partwhole.cli.shared.data_options import (
    PUBLISHED_AS,
    DataOption,
    SetName,
    SetOption,
    Split,
    check_memory,
    data_files,
    guess_set,
    pairs_from,
    read_pairs,
    with_ground_truth,
)
from partwhole.cli.shared.evaluation_output import WRITES, MeasuredModel, write_evaluation
from partwhole.cli.shared.imported import can_be_cached, load_methods, weight_files, weights_of
from partwhole.cli.shared.options import (
    CacheOption,
    DeviceOption,
    DistanceMethod,
    JsonOption,
    ModelsOption,
    OutputOption,
    QuietOption,
    RefineOption,
    check_folder,
    check_torch,
    open_cache,
    output_folder,
)
from partwhole.datasets.pairs import Pair, Pairs
from partwhole.datasets.transforms import with_parts_turned
from partwhole.engines import EngineOptions
from partwhole.evaluation import Calibration, Evaluation, Table, error_table, published_rows
from partwhole.matching.config import PRESETS, READ_OUT, group_of

if TYPE_CHECKING:
    from partwhole.matching.config import ReadOut
    from partwhole.matching.evaluation import Benchmark
    from partwhole.matching.search.method import Method

ReadOutOption = Annotated[
    Literal["spectral", "features", "both", "zoomout", "lateration", "registration"],
    typer.Option(
        help="How the map is read from the network: features (nearest features), spectral (smoothed by a functional map), "
        "both (a row for each), zoomout (spectral, then ZoomOut), lateration (spectral, then refined by distances) or "
        "registration (lateration, then by bending the whole onto the part)."
    ),
]
DistancesOption = Annotated[
    DistanceMethod,
    typer.Option(help="Distances that errors are measured by: fast_marching, dijkstra (along edges) or exact (slow)."),
]
RoundedOption = Annotated[
    bool,
    typer.Option("--rounded", help="Round ground truth inside a triangle to the nearest vertex."),
]
AverageOption = Annotated[
    bool,
    typer.Option(
        "--average", help="One row for all models, of runs that differ only in their seeds: mean ± deviation."
    ),
]
TogetherOption = Annotated[
    bool,
    typer.Option(
        "--together", help="Match with an ensemble of all models, of runs that differ only in their seeds: one row."
    ),
]
YawStepsOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Number of rotations about the vertical to try; by default, as set by the model."
    ),
]
WithOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="NAME=VALUE",
        help=f"Change how the model matches: {', '.join(SEARCH_CHOICES)}; may be repeated.",
    ),
]
TurnPartsOption = Annotated[
    bool, typer.Option("--turn-parts", help="Rotate each part at random first, about any axis.")
]
PublishedOption = Annotated[
    bool, typer.Option("--published/--no-published", help="Also show published errors, where there are any.")
]
ReportOption = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="DIR",
        help="Write what --output writes, and a report: the worst pairs, and how reliable the confidence is.",
    ),
]


def evaluate(
    models: ModelsOption,
    data: DataOption = None,
    which: SetOption = None,
    split: Annotated[Split, typer.Option(help="Which pairs of the data set.")] = "test",
    read_out: ReadOutOption = READ_OUT,
    refine: RefineOption = 0,
    distances: DistancesOption = "fast_marching",
    rounded: RoundedOption = False,
    average: AverageOption = False,
    together: TogetherOption = False,
    yaw_steps: YawStepsOption = None,
    changes: WithOption = None,
    turn_parts: TurnPartsOption = False,
    published: PublishedOption = True,
    output: OutputOption = None,
    report_to: ReportOption = None,
    device: DeviceOption = "cpu",
    cache: CacheOption = True,
    engine: EngineOption = "serial",
    workers: EvaluationWorkersOption = None,
    scheduler: SchedulerOption = None,
    shard: ShardOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure the errors of trained models on pairs with ground truth.

    Prints a table that states its protocol, one row for each model. With --output, writes it as text, Markdown and LaTeX, a
    table of pairs for each model, and the curves of correct matches (PCK); with --report, also a page to share.

    With either, the result of each pair is kept there in measured/: if it is interrupted, run the same command again to
    resume. --engine and --shard measure several pairs at the same time, with the same errors.
    """
    console = Console(as_json=as_json, quiet=quiet)
    check_torch(device)
    where = engine_options({"engine": engine, "workers": workers, "scheduler": scheduler, "shard": shard})
    folder = _checked_folder(output, report_to, [*weight_files(models), *data_files(data)])
    if folder is None and (where.engine != "serial" or where.shard is not None):
        raise ValueError("--engine and --shard keep the result of each pair in a folder: name it with --output")
    if yaw_steps is not None:
        changes = [*(changes or ()), f"yaw_steps={yaw_steps}"]
    arguments: dict[str, Any] = {
        "models": [str(model) for model in models],
        "device": device,
        "changes": list(changes or ()),
    }
    arguments |= {"average": average, "together": together}
    matchers = evaluated_methods(arguments)
    cache = cache and all(can_be_cached(method, console) for method in _each(matchers))
    chosen = guess_set(data, which, note=console.note)
    pairs = pairs_from(data, chosen, split, note=console.note)
    _note_vertical(matchers, chosen, console)
    read_outs: list[ReadOut] = ["spectral", "features"] if read_out == "both" else [read_out]
    settings = MeasureSettings(f"{__name__}:{evaluated_methods.__name__}", arguments, distances, refine, device, cache)
    with plain_memory_errors(), console.stage_progress() as report:
        held, truth = _held(pairs, console, report, rounded=rounded, turn_parts=turn_parts)
        if where.engine == "serial":
            check_memory(held, device=device, for_loss=False)
        name = f"{pairs.name}, parts turned at random" if turn_parts else pairs.name
        asked = _Asked(matchers, held, name, read_outs, settings, truth)
        if folder is None:
            found = _measured_here(asked, console, report, workers=workers)
        else:
            measured = _measured_into(asked, output_folder(folder), console, where)
            if measured is None:
                console.finish({"complete": False, "pairs": len(held), "notes": console.notes})
                return
            found = measured
        calibrated = {} if report_to is None else _calibrated(asked, console, report)
    beside = _published(chosen, split, console, refined=refine > 0) if published else {}
    table = _table(found, beside, pairs.name, average=average)
    _print_table(console, table, found)
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
    if folder is not None:
        pictured = None if report_to is None else held
        summary["files"] = write_evaluation(folder, found, table, summary, console, pictured, calibrated)
        console.say_files(summary["files"])
    console.finish(summary)


def _checked_folder(output: Path | None, report_to: Path | None, reads: Sequence[Path]) -> Path | None:
    """The folder for the results, if there is one, which must not overwrite what is read."""
    if output is not None and report_to is not None:
        raise ValueError("--report writes what --output does, and more; give one of them")
    folder = output or report_to
    if folder is not None:
        check_folder(folder, WRITES, reads, option="--output" if report_to is None else "--report")
    return folder


def evaluated_methods(arguments: Mapping[str, Any]) -> Mapping[str, Method]:
    """The methods that are measured, by their labels: `models`, with `changes`, on a `device`, perhaps `together`."""
    loaded = load_methods(arguments["models"], arguments["device"])
    changed = {name: _changed(method, arguments["changes"]) for name, method in loaded.items()}
    return _combined(changed, average=arguments["average"], together=arguments["together"])


def _each(methods: Mapping[str, Method]) -> list[Method]:
    """All methods, those of an ensemble by themselves."""
    from partwhole.matching.matcher import Ensemble

    return [
        one for method in methods.values() for one in (method.matchers if isinstance(method, Ensemble) else [method])
    ]


def _combined(matchers: dict[str, Method], *, average: bool, together: bool) -> Mapping[str, Method]:
    """All models as one ensemble for --together; with --average too they must differ in their seeds only."""
    if average and together:
        raise ValueError("--average and --together both make one row of several models; leave one out")
    if average or together:
        _check_same_choices(matchers, "--average" if average else "--together")
    if not together:
        return matchers
    from partwhole.matching.matcher import Ensemble, Matcher

    networks = [one for one in matchers.values() if isinstance(one, Matcher)]
    if len(networks) < len(matchers):
        raise ValueError("--together is for trained networks; leave out the methods from Python")
    return {f"{len(matchers)} models together": Ensemble(networks)}


def _table(
    found: Sequence[MeasuredModel], beside: Mapping[str, Mapping[str, float]], data: str, *, average: bool
) -> Table:
    """Our rows, then the published ones."""
    rows: dict[str, Any] = dict(_averaged(found)) if average else {row.label: row.evaluation for row in found}
    return error_table(rows | dict(beside), title=f"{data}, {len(found[0].evaluation.pairs)} pairs")


def _print_table(console: Console, table: Table, found: Sequence[MeasuredModel]) -> None:
    console.table(table.rows, head=table.header, title=table.title)
    for note in table.notes:
        console.say(note)
    for row in found:
        worst = row.evaluation.worst_pair
        console.say(f"worst pair of {row.label}: {worst.name}, {100 * worst.mean:.1f}")


def _held(
    pairs: Pairs, console: Console, report: StageProgress, *, rounded: bool, turn_parts: bool
) -> tuple[list[Pair], str | None]:
    """The pairs with ground truth, and what the protocol says of the truth if it was changed."""
    held = with_ground_truth(read_pairs(pairs, console, report), pairs.name, console)
    if turn_parts:
        held = with_parts_turned(held)
    if not rounded:
        return held, None
    kinds = {pair.ground_truth.kind for pair in held if pair.ground_truth is not None}
    if "barycentric" not in kinds:
        console.note("--rounded has no effect: the ground truth consists of vertices")
    return [pair.rounded() for pair in held], "barycentric, rounded" if "barycentric" in kinds else None


@dataclass(frozen=True)
class _Asked:
    """What is to be measured.

    Attributes
    ----------
    matchers : models by name
    pairs, name : on which pairs, and what they are called
    read_outs : how maps are read
    settings : the same for other processes
    truth : what the protocol says of the ground truth, if it was changed
    """

    matchers: Mapping[str, Method]
    pairs: list[Pair]
    name: str
    read_outs: Sequence[ReadOut]
    settings: MeasureSettings
    truth: str | None

    def benchmark(
        self, pairs: Sequence[Pair], console: Console, report: StageProgress, workers: int | None
    ) -> Benchmark:
        """Some of the pairs, to be measured in this process."""
        from partwhole.matching.evaluation import Benchmark

        settings = self.settings
        knobs: dict[str, Any] = {"method": settings.distances, "device": settings.device, "workers": workers}
        cache = open_cache(settings.cache, console)
        return Benchmark(pairs, name=self.name, cache=cache, progress=report, **knobs)

    def row(self, name: str, read_out: ReadOut, evaluation: Evaluation) -> MeasuredModel:
        """A row of the table."""
        label = f"{name}, {read_out}" if len(self.read_outs) > 1 else name
        changed: dict[str, Any] = {} if self.truth is None else {"ground_truth": self.truth}
        stated = Evaluation(evaluation.pairs, replace(evaluation.protocol, **changed))
        return MeasuredModel(label, read_out, stated, self.matchers[name].card)


def _measured_here(
    asked: _Asked, console: Console, report: StageProgress, *, workers: int | None
) -> list[MeasuredModel]:
    """A row for each model and read-out, measured in this process; nothing is kept."""
    benchmark, rows = asked.benchmark(asked.pairs, console, report, workers), []
    for name, matcher in asked.matchers.items():
        knobs: dict[str, Any] = {"refine": asked.settings.refine, "weights": weights_of(matcher), "progress": report}
        found = benchmark.by_read_out(matcher, asked.read_outs, **knobs)
        rows += [asked.row(name, read_out, evaluation) for read_out, evaluation in found.items()]
    return rows


def _measured_into(asked: _Asked, folder: Path, console: Console, engine: EngineOptions) -> list[MeasuredModel] | None:
    """The same on any engine, with the result of each pair kept in the folder; None if other shards are not done."""
    from partwhole.matching.config import MatchOptions
    from partwhole.matching.evaluation import protocol_of

    read_outs = dict.fromkeys(asked.matchers, asked.read_outs)
    found = measured_maps(asked.pairs, asked.matchers, read_outs, asked.settings, folder, console, engine)
    if found is None:
        return None
    rows = []
    for name, matcher in asked.matchers.items():
        for read_out in asked.read_outs:
            options = MatchOptions(refine=asked.settings.refine, read_out=read_out)
            knobs: dict[str, Any] = {"data": asked.name, "distances": asked.settings.distances}
            protocol = protocol_of(asked.pairs, matcher, options, weights_of(matcher), **knobs)
            results = [measured.results[read_out] for measured in found[name]]
            rows.append(asked.row(name, read_out, Evaluation(results, protocol)))
    return rows


def _calibrated(asked: _Asked, console: Console, report: StageProgress) -> dict[str, Calibration]:
    """Calibration of the confidence of each model, on some of the pairs."""
    from partwhole.matching.evaluation import CALIBRATED, spread_evenly

    some = [asked.pairs[number] for number in spread_evenly(len(asked.pairs), CALIBRATED)]
    benchmark = asked.benchmark(some, console, report, None)
    return {name: benchmark.calibration(matcher, progress=report) for name, matcher in asked.matchers.items()}


def _note_vertical(matchers: Mapping[str, Method], chosen: SetName, console: Console) -> None:
    """Note models that were trained on shapes with another vertical axis than these."""
    if chosen not in PRESETS:
        return
    up = PRESETS[chosen].search.vertical
    for name, matcher in matchers.items():
        known = matcher.config.search.vertical
        if "xyz" in matcher.config.network.inputs and known != up:
            console.note(f"{name} was trained on shapes with {known} up, and these have {up} up: --with vertical={up}")


def _averaged(found: Sequence[MeasuredModel]) -> dict[str, list[Evaluation]]:
    """All models in one row, for each read-out."""
    rows = {}
    read_outs = list(dict.fromkeys(row.read_out for row in found))
    for read_out in read_outs:
        runs = [row.evaluation for row in found if row.read_out == read_out]
        rows[f"{len(runs)} models{f', {read_out}' * (len(read_outs) > 1)}"] = runs
    return rows


def _changed(matcher: Method, changes: Sequence[str]) -> Method:
    """The same network with these changes to how it matches."""
    from partwhole.matching.matcher import Matcher

    if not changes:
        return matcher
    if not isinstance(matcher, Matcher):
        raise ValueError(f"--with is for trained networks; {type(matcher).__name__} has its settings in Python")
    given = changed_choices(changes)
    # a name that there is not is refused with the nearest one
    config = matcher.config.with_changes(**given)
    misplaced = [name for name in given if group_of(name)[0] != "search"]
    if misplaced:
        raise ValueError(
            f"--with {misplaced[0]} is a setting of training; for a trained model you can change {', '.join(SEARCH_CHOICES)}"
        )
    return matcher.standing(config.search.vertical).with_choices(**given)


def _check_same_choices(matchers: Mapping[str, Method], option: str) -> None:
    """Raise ValueError unless the models differ in nothing but the seeds of their training."""
    if len(matchers) < 2:
        raise ValueError(f"{option} needs several models; give --model for each run")
    (first, of_first), *others = [
        (name, {**m.config.choices, "weights": m.card.get("weights"), "seed": None}) for name, m in matchers.items()
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
