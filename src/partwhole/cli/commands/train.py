"""`partwhole train`: train a network that matches parts to wholes, on a data set or on pairs that a recipe makes."""

from __future__ import annotations

import os
import shutil
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partwhole.cli.shared.config_options import (
    IterationsOption,
    LearnedOption,
    ListPresetsOption,
    PresetOption,
    ResumeOption,
    RunOption,
    SeedOption,
    StartOption,
    TeacherOption,
    TrainRequest,
    ValidateOption,
    VerticesOption,
    WatchTestOption,
    WithOption,
    WorkersOption,
    choice_rows,
    chosen_config,
    config_with_models,
    preset_rows,
)
from partwhole.cli.shared.console import (
    Console,
    Heartbeat,
    StageProgress,
    command_line,
    plain_memory_errors,
    stop_signal,
)
from partwhole.cli.shared.data_options import (
    DataOption,
    SetOption,
    check_memory,
    check_recipe_words,
    data_files,
    guess_set,
    hold_out,
    pairs_from,
    read_pairs,
    with_ground_truth,
)
from partwhole.cli.shared.options import (
    BLOCK_FOLDER,
    RUN_FILES,
    CacheOption,
    Device,
    JsonOption,
    QuietOption,
    check_folder,
    check_torch,
    load_model,
    model_file,
    open_cache,
    output_folder,
    suggest_gpu,
)
from partwhole.cli.shared.recipe_options import (
    BLOCKS,
    AssetsOption,
    BlocksOption,
    RecipeOption,
    recipe_files,
    recipe_from,
)
from partwhole.datasets.pairs import Pair, Pairs
from partwhole.datasets.transforms import with_fewer_vertices
from partwhole.matching.config import PRESETS, TrainingConfig

if TYPE_CHECKING:
    from partwhole.datasets import PairRecipe
    from partwhole.matching.training.train import TrainingRun

# with fewer vertices for each, the eigenfunctions of a part differ from those of the whole
_VERTICES_PER_EIGENFUNCTION = 4
# in a run of any length, as there are in one of the usual length
_EVALUATIONS = 10
# evaluations that are printed at the end; the others are in evaluations.csv
_PRINTED_EVALUATIONS = 12


def train(
    data: DataOption = None,
    which: SetOption = None,
    recipe: RecipeOption = None,
    assets: AssetsOption = None,
    blocks: BlocksOption = None,
    preset: PresetOption = None,
    method: LearnedOption = None,
    changes: WithOption = None,
    iterations: IterationsOption = None,
    seed: SeedOption = None,
    start: StartOption = None,
    teacher: TeacherOption = None,
    vertices: VerticesOption = None,
    validate: ValidateOption = False,
    watch_test: WatchTestOption = False,
    output: RunOption = None,
    resume: ResumeOption = None,
    device: Annotated[Device | None, typer.Option(help="Where to compute; cpu if not given.")] = None,
    capture: Annotated[
        bool | None,
        typer.Option(
            "--capture/--no-capture",
            help="Record the steps on a GPU as CUDA graphs, or don't; if neither is given, as the loss says that it can be.",
        ),
    ] = None,
    workers: WorkersOption = None,
    cache: CacheOption = True,
    list_presets: ListPresetsOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a network to match parts to wholes: on a data set, without ground truth, or on pairs that a recipe makes.

    Writes the weights (model.safetensors) and tables of losses and errors into the folder of the run. You can interrupt it
    at any moment; --resume continues, and ends with the same weights as a run without a break.
    """
    console = Console(as_json=as_json, quiet=quiet)
    if list_presets:
        _list_presets(console)
        return
    if resume is not None:
        _refuse_when_resuming(
            {
                "--set": which,
                "--recipe": recipe,
                "--blocks": blocks,
                "--preset": preset,
                "--method": method,
                "--with": changes,
                "--iterations": iterations,
                "--seed": seed,
                "--start": start,
                "--teacher": teacher,
                "--vertices": vertices,
                "--output": output,
                "--validate": validate or None,
                "--watch-test": watch_test or None,
            }
        )
        folder, request = resume, TrainRequest.read(resume).moved(data, device, assets)
    else:
        not_asked = {"--validate": validate or None, "--watch-test": watch_test or None, "--teacher": teacher}
        not_asked["--method"] = method
        check_recipe_words(
            recipe, {"--data": data, "--set": which, **not_asked}, only={"--assets": assets, "--blocks": blocks}
        )
        chosen = None if recipe else guess_set(data, which, note=console.note)
        base = None if method is None else _published(method, chosen, {"--preset": preset, "--start": start})
        preset = preset or ("default" if recipe else chosen if chosen in PRESETS else None)
        numbers = {"iterations": iterations, "seed": seed, "evaluations": _EVALUATIONS}
        config = chosen_config(preset, changes or (), **numbers, base=base)
        request = TrainRequest(
            data=None if data is None else str(data.resolve()),
            set=chosen,
            preset=preset,
            # files, so that the run can be resumed from any folder
            start=None if start is None else str(model_file(start).resolve()),
            teacher=None if teacher is None else str(model_file(teacher).resolve()),
            config=config_with_models(config, changes or (), start=start, teacher=teacher),
            validate=validate,
            watch_test=watch_test,
            device=device or "cpu",
            vertices=vertices,
            recipe=recipe,
            assets=None if assets is None else str(assets.resolve()),
            blocks=(blocks or BLOCKS) if recipe else None,
            method=method,
        )
        folder = output or Path(f"{request.label}-seed{config.optimisation.seed}")
    machine: dict[str, Any] = {"workers": workers, "cache": cache, "capture": capture}
    with _among_processes(request.device) as rank:
        # the first process writes and speaks for all
        console = Console(quiet=True) if rank else console
        _run(request, folder, console, resume=resume is not None, rank=rank, **machine)


def _among_processes(device: Device) -> AbstractContextManager[int | None]:
    """The number of this process among those of torchrun; None if it runs alone."""
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return nullcontext()
    check_torch(device)
    from partwhole.matching.training.large.shared_steps import joined

    return joined(device)


def _published(method: str, chosen: str | None, given: dict[str, Any]) -> TrainingConfig:
    """The settings of a published method, for shapes that stand as those of this set."""
    check_torch("cpu")
    from partwhole.matching.methods import learned_method

    config = learned_method(method).published_for(chosen)
    misplaced = [option for option, value in given.items() if value is not None]
    if misplaced:
        raise ValueError(f"{misplaced[0]} does not go with --method {method}, which has its own; leave one of them out")
    return config


def _refuse_when_resuming(given: dict[str, Any]) -> None:
    """Raise ValueError for options that a run which is resumed has already."""
    misplaced = [option for option, value in given.items() if value is not None]
    if misplaced:
        raise ValueError(
            f"{misplaced[0]} can't be changed in a run that is resumed; leave it out, or start another run"
        )


def _run(
    request: TrainRequest,
    folder: Path,
    console: Console,
    *,
    resume: bool,
    workers: int | None,
    cache: bool,
    capture: bool | None,
    rank: int | None,
) -> None:
    """Train, and print the result or how to resume."""
    weights = [None if file is None else Path(file) for file in (request.start, request.teacher)]
    reads = [*weights, *data_files(request.data), *(recipe_files(request.assets) if request.recipe else ())]
    check_folder(folder, RUN_FILES, reads, option="--resume" if resume else "--output")
    check_torch(request.device)
    from partwhole.matching.training.run_folder import MODEL, STATE

    again = command_line("train", "--resume", folder)
    if not resume and (folder / STATE).exists():
        raise ValueError(f"there is a run in {folder} already; resume it ({again}), or choose another --output")
    if resume and (folder / MODEL).exists():
        console.say(f"the run in {folder} is complete: {folder / MODEL}")
        console.finish({"folder": folder, **request.to_json(), "complete": True, "files": {"model": folder / MODEL}})
        return
    sources = _recipe(request) if request.recipe else _Sources.of(request, console)
    suggest_gpu(request.device, console)
    before = TrainRequest.read(folder) if resume else request
    if not rank:
        request.write(output_folder(folder))
    options = {"device": request.device, "cache": open_cache(cache, console), "workers": workers}
    try:
        with plain_memory_errors(), console.stage_progress() as report:
            once: dict[str, Any] = {"resume": resume, "capture": capture}
            if isinstance(sources, _Sources):
                run = _trained(request, sources, folder, console, report, once=once, options=options, rank=rank)
            else:
                making: dict[str, Any] = {"workers": workers, "rank": rank}
                run = _trained_on_recipe(request, sources, folder, console, report, once=once, **making)
    except ValueError:
        # if the data turn out to be others, the run keeps those it had
        if not rank:
            before.write(folder)
        raise
    except KeyboardInterrupt:
        console.note(f"resume with: {again}")
        console.finish(
            {"folder": folder, **request.to_json(), "complete": False, "resume": again, "notes": console.notes}
        )
        raise
    _print_result(request, folder, run, console)


@dataclass(frozen=True)
class _Sources:
    """The pairs to train on, to validate on and to watch, not read yet."""

    train: Pairs
    validation: Pairs | None
    watched: Pairs | None

    @classmethod
    def of(cls, request: TrainRequest, console: Console) -> _Sources:
        data = None if request.data is None else Path(request.data)
        pairs = pairs_from(data, request.set, "train", note=console.note)
        watched = pairs_from(data, request.set, "test") if request.watch_test else None
        if watched is not None and watched.keys == pairs.keys:
            console.note("the watched pairs are also trained on")
        kept, validation = hold_out(pairs, seed=request.config.optimisation.seed) if request.validate else (pairs, None)
        return cls(kept, validation, watched)


def _recipe(request: TrainRequest) -> PairRecipe:
    """The recipe of a request, if its settings can be trained on the pairs of one."""
    from partwhole.matching.training.data import check_streamed

    assert request.recipe is not None
    check_streamed(request.config)
    return recipe_from(request.recipe, request.assets, request.vertices, request.config.optimisation.seed)


def _trained_on_recipe(
    request: TrainRequest,
    recipe: PairRecipe,
    folder: Path,
    console: Console,
    report: StageProgress,
    *,
    once: dict[str, Any],
    workers: int | None,
    rank: int | None,
) -> TrainingRun:
    """Train while other processes make the pairs; blocks of these stay in the folder of the run until it is complete.

    Among the processes of torchrun each makes the blocks for itself; those of the first one stay.
    """
    from partwhole.matching.training.stream import PairStream
    from partwhole.matching.training.train import train

    start = None if request.start is None else load_model(request.start, request.device)
    kept = None if rank else folder / BLOCK_FOLDER
    with stop_signal() as stop:
        beat = Heartbeat(report, stop)
        knobs: dict[str, Any] = {"device": request.device, "workers": workers, "progress": beat.progress}
        made: dict[str, Any] = {"blocks": request.blocks, "folder": kept, "note": console.note}
        with PairStream(recipe, request.config, **knobs, **made) as stream:
            run = train(stream, request.config, start=start, folder=folder, heartbeat=beat, **once, **knobs)
    if kept is not None:
        shutil.rmtree(kept)
    return run


def _trained(
    request: TrainRequest,
    sources: _Sources,
    folder: Path,
    console: Console,
    report: StageProgress,
    *,
    once: dict[str, Any],
    options: dict[str, Any],
    rank: int | None,
) -> TrainingRun:
    from partwhole.matching.evaluation import Benchmark
    from partwhole.matching.training.data import prepared_for, takes_distances
    from partwhole.matching.training.train import train

    watch = {}
    # the first process evaluates for all
    if sources.watched is not None and not rank:
        # first, so that missing ground truth is reported at once, and not after an hour of eigenfunctions
        name = sources.watched.name
        watched = with_ground_truth(read_pairs(sources.watched, console, report), name, console)
        watch["test"] = Benchmark(watched, name=name, keep=True, progress=report, **options)

    held = read_pairs(sources.train, console, report)
    unseen = [] if sources.validation is None else read_pairs(sources.validation, console, report)
    if request.vertices is not None:
        held, unseen = (with_fewer_vertices(pairs, request.vertices, progress=report) for pairs in (held, unseen))
    _note_small_meshes(held, request, console)
    start, teacher = (
        None if file is None else load_model(file, request.device) for file in (request.start, request.teacher)
    )
    learned: dict[str, Any] = {}
    if request.method is not None:
        from partwhole.matching.methods import learned_method

        made = learned_method(request.method)(config=request.config)
        learned = {"loss": made.loss(), "network": made.trainable(), "method": request.method}
    if takes_distances(request.config, loss=learned.get("loss"), teacher=teacher):
        of_loss = request.config.loss
        sizes: dict[str, Any] = {"whole_masks": of_loss.masked_sides == "both", "most": of_loss.distance_vertices}
        check_memory([*held, *unseen], device=request.device, for_loss=True, **sizes)
    knobs: dict[str, Any] = {"loss": learned.get("loss"), "teacher": teacher, "progress": report, **options}
    turn: AbstractContextManager[None] = nullcontext()
    if rank is not None and options["cache"] is not None:
        from partwhole.matching.training.large.shared_steps import first_alone

        turn = first_alone()
    with turn:
        prepared = prepared_for(held, request.config, **knobs)
        validation = prepared_for(unseen, request.config, **knobs) if unseen and not rank else None
    del knobs["loss"]
    for note in prepared.notes:
        console.note(note)
    with stop_signal() as stop:
        knobs |= {"start": start, "folder": folder, "heartbeat": Heartbeat(report, stop), **once}
        return train(prepared, request.config, validation=validation, watch=watch, **learned, **knobs)


def _note_small_meshes(held: list[Pair], request: TrainRequest, console: Console) -> None:
    fewest = min(pair.part.n_vertices for pair in held)
    most = max(10, fewest // _VERTICES_PER_EIGENFUNCTION)
    if request.config.loss.map_eigenpairs > most:
        console.note(
            f"the smallest part has {fewest} vertices, too few for {request.config.loss.map_eigenpairs} eigenfunctions; "
            f"--with map_eigenpairs={most} may match better"
        )


def _print_result(request: TrainRequest, folder: Path, run: TrainingRun, console: Console) -> None:
    from partwhole.matching.training.run_folder import MODEL, SHOWN, VALIDATED

    errors = [found for found in run.evaluations if found["data"] != "validation"]
    if errors:
        last = errors[-_PRINTED_EVALUATIONS:]
        rows = [(str(found["iteration"]), *(f"{found[name]:.2f}" for name in SHOWN)) for found in last]
        console.table(
            rows, head=("iteration", *SHOWN), title="errors × 100 on the watched pairs; nothing was selected by them"
        )
    n, losses = len(run.losses), run.losses.sum(axis=1)
    few = max(1, n // 10)
    ends = {"first": float(losses[:few].mean()), "last": float(losses[-few:].mean())}
    console.say(f"{n} iterations in {run.seconds:.1f} s, {1000 * run.seconds / n:.1f} ms each")
    console.say(f"mean loss: {ends['first']:.4g} in the first tenth of the iterations,  {ends['last']:.4g} in the last")
    files = {"model": folder / MODEL}
    if run.validated is not None:
        files["validated"] = folder / VALIDATED
    console.say_files(files)
    if request.set is None:
        console.say(f"match with it: {command_line('match', 'PART', 'WHOLE', '--model', folder)}")
    else:
        data = ["--data", request.data] if request.data else []
        console.say(f"evaluate it with: {command_line('evaluate', *data, '--set', request.set, '--model', folder)}")
    console.finish(
        {
            "folder": folder,
            **request.to_json(),
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
    console.say("--preset: how each differs from the defaults")
    for name, changed in preset_rows():
        console.say(f"  {name:<21} {changed}")
    console.say("--with: name, default, and possible values")
    rows = choice_rows()
    width = max(len(name) for name, _, _ in rows)
    for name, default, values in rows:
        console.say(f"  {name:<{width}}  {default:<13}  {values}")
    console.finish({"presets": {name: config.to_json() for name, config in PRESETS.items()}})
