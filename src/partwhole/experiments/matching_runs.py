"""Training the runs of a study, or taking models that are given: with progress, and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwhole.cli.shared.console import Console, output_folder
from partwhole.cli.shared.learning import (
    Device,
    Stages,
    chosen_cache,
    read_pairs,
    ready,
    stages,
    stop_between_iterations,
    with_truth,
)
from partwhole.cli.shared.memory import check_fits
from partwhole.cli.shared.models import load_models, model_file
from partwhole.cli.shared.overwriting import below, check_folder
from partwhole.cli.shared.pairs import SetName, files_of, pairs_from
from partwhole.cli.shared.train_command import WRITES as RUN
from partwhole.datasets.pairs import Pair, Pairs
from partwhole.experiments.tables import WRITES as TABLES

if TYPE_CHECKING:
    from partwhole.experiments.study import Failed, Planned, Run, Series
    from partwhole.matching.matcher import Matcher
    from partwhole.matching.training.run_folder import Progress

WRITES = (*TABLES, *below("*/seed-*", RUN))


def trained_runs(
    series: Sequence[Series],
    seeds: Sequence[int],
    data: Path,
    folder: Path,
    console: Console,
    *,
    device: Device,
    cache: bool,
    workers: int | None,
) -> tuple[list[Run], list[Failed]]:
    """Every run of every series, and those that failed.

    Parameters
    ----------
    series : whose keys of pairs are names of sets
    seeds : of each
    data : folder of the sets
    folder : of the runs
    """
    check_folder(folder, WRITES, files_of(data))
    ready(device)
    _mention_gpu(device, console)
    from partwhole.experiments.study import Failed, Study

    # files are looked for now, so that a missing one is named before anything takes time
    train = {name: pairs_from(data, _set(name), "train") for name in dict.fromkeys(s.trained_on for s in series)}
    test = {name: pairs_from(data, _set(name), "test") for s in series for name in s.tested_on}
    runs: list[Run] = []
    failed: list[Failed] = []
    with stages(console) as report, stop_between_iterations() as stop:

        def progress(stage: str, done: int, total: int) -> None:
            report(stage, done, total)
            # training is stopped by its heartbeat, which saves it first
            if stage not in ("training", "all runs"):
                stop()

        def heartbeat(planned: Planned, state: Progress) -> None:
            report.detail("training", f"{planned.name}, loss {sum(state.losses[-1]):.4g}")
            stop()

        study = Study(
            series,
            seeds,
            output_folder(folder),
            train=_sources(train, console, report),
            test=_sources(test, console, report, known=True),
            check=lambda pairs: check_fits(pairs, device=device, for_loss=True),
            device=device,
            cache=chosen_cache(cache, console),
            workers=workers,
            progress=progress,
        )
        try:
            for number, result in enumerate(study.results(heartbeat), 1):
                _note_once(study.notes, console)
                of_all = f"run {number} of {len(study.planned)}"
                if isinstance(result, Failed):
                    failed.append(result)
                    console.note(f"{of_all} failed ({result.planned.name}): {result.reason}")
                else:
                    runs.append(result)
                    console.say(f"{of_all}: {_came_about(result)}")
        except KeyboardInterrupt:
            console.note("give the same command again to go on: what is trained is kept, and nothing is trained twice")
            console.finish({"complete": False, "runs_done": len(runs), "folder": folder, "notes": console.notes})
            raise
    if not runs:
        raise ValueError(f"all {len(failed)} runs failed; the first one: {failed[0].reason}")
    return runs, failed


def given_runs(
    models: Sequence[Path],
    data: Path,
    tests: Sequence[str],
    folder: Path,
    console: Console,
    *,
    device: Device,
    cache: bool,
    workers: int | None,
) -> list[Run]:
    """Models that are there already, tested on these sets; those that differ in nothing but their seeds are one series.

    Results go to the folder, which may be that of the runs whose models they are.
    """
    ready(device)
    check_folder(folder, TABLES, [*map(model_file, models), *files_of(data)])
    from partwhole.experiments.study import Examiner, Run, Series

    matchers = load_models(models, device)
    test = {name: pairs_from(data, _set(name), "test") for name in tests}
    groups: dict[str, dict[str, Matcher]] = {}
    for label, matcher in matchers.items():
        groups.setdefault(_all_but_seed(matcher), {})[label] = matcher
    runs = []
    with stages(console) as report:
        options: dict[str, Any] = {"device": device, "cache": chosen_cache(cache, console), "workers": workers}
        examiner = Examiner(_sources(test, console, report, known=True), progress=report, **options)
        for group in groups.values():
            seeds = [matcher.config.optimisation.seed for matcher in group.values()]
            label = ", ".join(group)
            if len(set(seeds)) < len(seeds):
                raise ValueError(
                    f"of the models {label} two were trained in the same way with the same seed; leave one out"
                )
            config = next(iter(group.values())).config
            series = Series(name=label, label=label, config=config, trained_on="", tested_on=tuple(tests))
            for matcher in group.values():
                runs.append(Run(series, matcher.config.optimisation.seed, examiner.errors(matcher, tests)))
    return runs


def _sources(pairs: Mapping[str, Pairs], console: Console, report: Stages, *, known: bool = False) -> dict[str, Any]:
    """The pairs, read when they are needed; where the truth must be known, those for which it is."""
    from partwhole.experiments.study import Source

    def source(of: Pairs) -> Source:
        def read() -> list[Pair]:
            silent = Console(quiet=True)
            held = read_pairs(of, silent, report)
            kept = with_truth(held, of.name, silent) if known else held
            _note_once(silent.notes, console)
            return kept

        return Source(of.name, read)

    return {name: source(of) for name, of in pairs.items()}


def _note_once(notes: Sequence[str], console: Console) -> None:
    """The same surface can be read for training and for tests."""
    for note in notes:
        if note not in console.notes:
            console.note(note)


def _came_about(run: Run) -> str:
    name = f"{run.series.label}, seed {run.seed}"
    if not run.trained:
        return f"{name}, was there already"
    return f"{name}, {run.series.config.optimisation.iterations} iterations in {run.seconds:.1f} s"


def _all_but_seed(matcher: Matcher) -> str:
    config = matcher.config.with_changes(seed=0)
    return repr((config, matcher.card.get("weights"), matcher.card.get("data")))


def _set(name: str) -> SetName:
    return name  # type: ignore[return-value]


def _mention_gpu(device: Device, console: Console) -> None:
    import torch

    if device == "cpu" and torch.cuda.is_available():
        console.note("there is a GPU here, on which training is many times faster: --device cuda")
