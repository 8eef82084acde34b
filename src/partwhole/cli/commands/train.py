"""`partwhole train`: a network that matches parts to wholes, trained without ground truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partwhole.cli.shared.config_options import changed_choices, choice_rows, chosen_config, preset_rows
from partwhole.cli.shared.console import Console, output_folder
from partwhole.cli.shared.learning import (
    CacheOption,
    Device,
    Stages,
    WorkersOption,
    chosen_cache,
    command_line,
    read_pairs,
    ready,
    stages,
    stop_between_iterations,
    with_truth,
)
from partwhole.cli.shared.memory import check_fits, told_plainly
from partwhole.cli.shared.models import model_file, named_model, offered_models
from partwhole.cli.shared.options import JsonOption, QuietOption
from partwhole.cli.shared.overwriting import check_folder
from partwhole.cli.shared.pairs import DataOption, SetName, SetOption, files_of, held_out, pairs_from, set_of
from partwhole.cli.shared.train_command import WRITES, Order
from partwhole.datasets.pairs import Pair, Pairs
from partwhole.datasets.transforms import with_fewer_vertices
from partwhole.matching.config import PRESETS

if TYPE_CHECKING:
    from partwhole.matching.training.run_folder import Progress
    from partwhole.matching.training.train import TrainingRun

# what a network must have in common with the weights that it begins with
_SIZE = ("inputs", "width", "blocks", "features", "diffusion_eigenpairs")
# how much the maps of a teacher count, if nothing else is said
_TAUGHT = 3.0
# below so many vertices for each, eigenfunctions on a part are not like those on the whole
_VERTICES_A_FUNCTION = 4
# in a run of any length, as there are in one of the usual length
_EVALUATIONS = 10
# evaluations shown at the end; the rest is in evaluations.csv
_SHOWN = 12


def train(
    data: DataOption = None,
    which: SetOption = None,
    preset: Annotated[
        str | None,
        typer.Option(help=f"Choices to begin with: {', '.join(PRESETS)}; that of the set if not given."),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="NAME=VALUE", help="Change a choice, as in --with rotation=30; may be repeated."
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(min=1, help="One pair each; as in the preset if not given."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="For every random choice; 0 if not given.")] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            autocompletion=offered_models,
            help="Begin with the weights of this model, whose size the network then has.",
        ),
    ] = None,
    teacher: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            autocompletion=offered_models,
            help="Learn from the maps of this model as well, as if they were true.",
        ),
    ] = None,
    vertices: Annotated[
        int | None,
        typer.Option(
            min=300,
            help="Train on surfaces with fewer vertices: so many of a whole at most, and of a part its share of the area.",
        ),
    ] = None,
    validate: Annotated[
        bool,
        typer.Option(
            "--validate", help="Hold out a tenth of the parts; the weights with their lowest loss are kept too."
        ),
    ] = False,
    watch_test: Annotated[
        bool,
        typer.Option(
            "--watch-test", help="Measure the errors on the test pairs now and then; nothing is chosen by them."
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Folder of the run, named after data and seed if not given."
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Go on with the run in this folder, which knows its data and choices."),
    ] = None,
    device: Annotated[Device | None, typer.Option(help="Where to compute; cpu if not given.")] = None,
    workers: WorkersOption = None,
    cache: CacheOption = True,
    list_presets: Annotated[
        bool, typer.Option("--list-presets", help="Show the presets and every choice, and do nothing else.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a network to match parts to wholes, without ground truth.

    Writes the weights (model.safetensors), tables of losses and errors, and what TensorBoard reads into the folder of the
    run. Interrupt it at any moment; --resume goes on, and ends with the weights of a run that never stopped.
    """
    console = Console(as_json=as_json, quiet=quiet)
    if list_presets:
        _list_presets(console)
        return
    if resume is None:
        order = _ordered(
            data,
            which,
            preset,
            changes,
            iterations,
            seed,
            validate,
            watch_test,
            device,
            start,
            teacher,
            vertices,
            console,
        )
        folder = output or Path(f"{order.label}-seed{order.config.optimisation.seed}")
    else:
        fixed: dict[str, Any] = {
            "--set": which,
            "--preset": preset,
            "--with": changes,
            "--iterations": iterations,
            "--seed": seed,
            "--start": start,
            "--teacher": teacher,
            "--vertices": vertices,
        }
        fixed |= {"--validate": validate or None, "--watch-test": watch_test or None, "--output": output}
        misplaced = [option for option, value in fixed.items() if value is not None]
        if misplaced:
            raise ValueError(
                f"{misplaced[0]} can't be changed in a run that goes on; leave it out, or begin another run"
            )
        folder, order = resume, Order.read(resume).moved(data, device)
    _run(order, folder, console, resume=resume is not None, workers=workers, cache=cache)


def _ordered(
    data: Path | None,
    which: SetName | None,
    preset: str | None,
    changes: list[str] | None,
    iterations: int | None,
    seed: int | None,
    validate: bool,
    watch_test: bool,
    device: Device | None,
    start: str | None,
    teacher: str | None,
    vertices: int | None,
    console: Console,
) -> Order:
    chosen = set_of(data, which, note=console.note)
    name = preset or (chosen if chosen in PRESETS else None)
    config = chosen_config(name, changes or (), iterations=iterations, seed=seed, evaluations=_EVALUATIONS)
    # asked for by files, so that a run goes on in any folder
    files = {
        what: None if of is None else str(model_file(of).resolve())
        for what, of in (("start", start), ("teacher", teacher))
    }
    if start is not None:
        fixed = [choice for choice in _SIZE if choice in changed_choices(changes or ())]
        if fixed:
            raise ValueError(
                f"--with {fixed[0]} is not free with --start: it is that of the model; leave one of them out"
            )
        size = named_model(start, "cpu").config.to_json()
        config = config.with_changes(**{choice: size[choice] for choice in _SIZE})
    if teacher is not None and not config.loss.correspondence_weight:
        config = config.with_changes(correspondence_weight=_TAUGHT)
    return Order(
        data=None if data is None else str(data.resolve()),
        set=chosen,
        preset=name,
        config=config,
        validate=validate,
        watch_test=watch_test,
        device=device or "cpu",
        vertices=vertices,
        **files,
    )


def _run(order: Order, folder: Path, console: Console, *, resume: bool, workers: int | None, cache: bool) -> None:
    """Train as ordered, and say what came out or how to go on."""
    weights = [None if file is None else Path(file) for file in (order.start, order.teacher)]
    check_folder(folder, WRITES, [*weights, *files_of(order.data)], option="--resume" if resume else "--output")
    ready(order.device)
    from partwhole.matching.training.run_folder import MODEL, STATE

    again = command_line("train", "--resume", folder)
    if not resume and (folder / STATE).exists():
        raise ValueError(f"there is a run in {folder} already; go on with it ({again}), or choose another --output")
    if resume and (folder / MODEL).exists():
        console.say(f"the run in {folder} is complete: {folder / MODEL}")
        console.finish({"folder": folder, **order.to_json(), "complete": True, "files": {"model": folder / MODEL}})
        return
    sources = _Sources.of(order, console)
    if order.device == "cpu" and _has_gpu():
        console.note("there is a GPU here, on which training is many times faster: --device cuda")
    before = Order.read(folder) if resume else order
    order.write(output_folder(folder))
    options = {"device": order.device, "cache": chosen_cache(cache, console), "workers": workers}
    try:
        with told_plainly(), stages(console) as report:
            run = _trained(order, sources, folder, console, report, resume=resume, options=options)
    except ValueError:
        # data that turn out to be other ones are not what the run goes on with
        before.write(folder)
        raise
    except KeyboardInterrupt:
        console.note(f"go on with: {again}")
        console.finish(
            {"folder": folder, **order.to_json(), "complete": False, "resume": again, "notes": console.notes}
        )
        raise
    _tell(order, folder, run, console)


@dataclass(frozen=True)
class _Sources:
    """The pairs that are trained on, and those that are looked at on the way, not read yet."""

    train: Pairs
    validation: Pairs | None
    watched: Pairs | None

    @classmethod
    def of(cls, order: Order, console: Console) -> _Sources:
        data = None if order.data is None else Path(order.data)
        pairs = pairs_from(data, order.set, "train", note=console.note)
        watched = pairs_from(data, order.set, "test") if order.watch_test else None
        if watched is not None and watched.keys == pairs.keys:
            console.note("the pairs that are watched are those that are trained on")
        kept, validation = held_out(pairs, seed=order.config.optimisation.seed) if order.validate else (pairs, None)
        return cls(kept, validation, watched)


def _trained(
    order: Order,
    sources: _Sources,
    folder: Path,
    console: Console,
    report: Stages,
    *,
    resume: bool,
    options: dict[str, Any],
) -> TrainingRun:
    from partwhole.matching.evaluation import Benchmark
    from partwhole.matching.training.train import stock_for, takes_distances, train

    watch = {}
    if sources.watched is not None:
        # first of all: without ground truth it fails at once, and not after an hour of eigenfunctions
        name = sources.watched.name
        watched = with_truth(read_pairs(sources.watched, console, report), name, console)
        watch["test"] = Benchmark(watched, order.config, name=name, progress=report, **options)

    held = read_pairs(sources.train, console, report)
    unseen = [] if sources.validation is None else read_pairs(sources.validation, console, report)
    if order.vertices is not None:
        held, unseen = (with_fewer_vertices(pairs, order.vertices, progress=report) for pairs in (held, unseen))
    _note_small_meshes(held, order, console)
    start, teacher = (
        None if file is None else named_model(file, order.device) for file in (order.start, order.teacher)
    )
    if takes_distances(order.config, teacher=teacher):
        check_fits([*held, *unseen], device=order.device, for_loss=True)
    knobs: dict[str, Any] = {"teacher": teacher, "progress": report, **options}
    stock = stock_for(held, order.config, **knobs)
    validation = stock_for(unseen, order.config, **knobs) if unseen else None
    for note in stock.notes:
        console.note(note)
    with stop_between_iterations() as stop:

        def heartbeat(state: Progress) -> None:
            report.detail("training", f"loss {sum(state.losses[-1]):.4g}")
            stop()

        knobs |= {"start": start, "folder": folder, "resume": resume, "heartbeat": heartbeat}
        return train(stock, order.config, validation=validation, watch=watch, **knobs)


def _note_small_meshes(held: list[Pair], order: Order, console: Console) -> None:
    fewest = min(pair.part.n_vertices for pair in held)
    most = max(10, fewest // _VERTICES_A_FUNCTION)
    if order.config.loss.map_eigenpairs > most:
        console.note(
            f"the smallest part has {fewest} vertices, too few for {order.config.loss.map_eigenpairs} eigenfunctions to mean "
            f"much; --with map_eigenpairs={most} may match better"
        )


def _has_gpu() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def _tell(order: Order, folder: Path, run: TrainingRun, console: Console) -> None:
    from partwhole.matching.training.run_folder import MODEL, SHOWN, VALIDATED

    errors = [found for found in run.evaluations if found["data"] != "validation"]
    if errors:
        rows = [(str(found["iteration"]), *(f"{found[name]:.2f}" for name in SHOWN)) for found in errors[-_SHOWN:]]
        console.table(
            rows, head=("iteration", *SHOWN), title="errors × 100 on the watched pairs; nothing was chosen by them"
        )
    n, losses = len(run.losses), run.losses.sum(axis=1)
    few = max(1, n // 10)
    ends = {"first": float(losses[:few].mean()), "last": float(losses[-few:].mean())}
    console.say(f"{n} iterations in {run.seconds:.1f} s, {1000 * run.seconds / n:.1f} ms each")
    console.say(f"mean loss: {ends['first']:.4g} in the first tenth of them, {ends['last']:.4g} in the last")
    files = {"model": folder / MODEL}
    if run.validated is not None:
        files["validated"] = folder / VALIDATED
    for file in files.values():
        console.say(f"wrote {file}")
    evaluate = command_line(
        "evaluate", *(["--data", order.data] if order.data else []), "--set", order.set, "--model", folder
    )
    console.say(f"evaluate it with: {evaluate}")
    console.finish(
        {
            "folder": folder,
            **order.to_json(),
            "complete": True,
            "iterations": n,
            "seconds": run.seconds,
            "terms": run.terms,
            "mean_loss_of_tenth": ends,
            "evaluations": run.evaluations,
            "notes": console.notes,
            "files": files,
        }
    )


def _list_presets(console: Console) -> None:
    console.say("--preset, and how it differs from the defaults")
    for name, changed in preset_rows():
        console.say(f"  {name:<21} {changed}")
    console.say("--with, the default, and what it may be")
    for name, default, values in choice_rows():
        console.say(f"  {name:<21} {default:<14} {values}")
    console.finish({"presets": {name: config.to_json() for name, config in PRESETS.items()}})
