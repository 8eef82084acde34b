"""The runs that the tables are made of: trained now, resumed, or models that are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwhole.cli.shared.console import Console, Heartbeat, StageProgress, stop_signal
from partwhole.cli.shared.data_options import (
    SetName,
    check_memory,
    data_files,
    pairs_from,
    read_pairs,
    with_ground_truth,
)
from partwhole.cli.shared.options import (
    RUN_FILES,
    Device,
    below,
    check_folder,
    check_torch,
    load_models,
    model_file,
    open_cache,
    output_folder,
    suggest_gpu,
)
from partwhole.datasets.pairs import Pair, Pairs
from partwhole.experiments.matching.error_tables import WRITES as TABLES
from partwhole.experiments.matching.jobs import end_with_parent

if TYPE_CHECKING:
    from partwhole.experiments.matching.study import Failed, Run, Series
    from partwhole.matching.matcher import Matcher

WRITES = (*TABLES, *below("*/seed-*", RUN_FILES))


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
    capture: bool | None = None,
    finished: Callable[[Run], None] | None = None,
) -> tuple[list[Run], list[Failed]]:
    """Train every run of every series; the finished runs, and those that failed.

    Parameters
    ----------
    series : their keys of pairs are names of data sets
    seeds : of each series
    data : folder of the data sets
    folder : of the runs
    capture : see `train`
    finished : called with each run that was trained now, before the next one begins
    """
    check_folder(folder, WRITES, data_files(data))
    check_torch(device)
    suggest_gpu(device, console)
    from partwhole.experiments.matching.study import Failed, Study

    # files are looked for now, so that a missing one is named before anything takes time
    train = {name: pairs_from(data, _set(name), "train") for name in dict.fromkeys(s.trained_on for s in series)}
    test = {name: pairs_from(data, _set(name), "test") for s in series for name in s.tested_on}
    runs: list[Run] = []
    failed: list[Failed] = []
    with console.stage_progress() as report, stop_signal() as stop:

        def stop_too() -> None:
            stop()
            end_with_parent()

        heartbeat = Heartbeat(report, stop_too)
        study = Study(
            series,
            seeds,
            output_folder(folder),
            train=_sources(train, console, report),
            test=_sources(test, console, report, known=True),
            check=partial(check_memory, device=device, for_loss=True),
            device=device,
            cache=open_cache(cache, console),
            workers=workers,
            progress=heartbeat.progress,
            capture=capture,
        )
        try:
            for number, result in enumerate(study.results(heartbeat.of_run), 1):
                _note_once(study.notes, console)
                of_all = f"run {number} of {len(study.planned)}"
                if isinstance(result, Failed):
                    failed.append(result)
                    console.note(f"{of_all} failed ({result.planned.name}): {result.reason}")
                else:
                    runs.append(result)
                    console.say(f"{of_all}: {_described(result)}")
                    if finished is not None and result.trained:
                        finished(result)
        except KeyboardInterrupt:
            console.note("run the same command again to resume: finished runs are kept")
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
    """Test given models on these data sets; models that differ only in their seeds are one series.

    Results go into the folder, which may be that of the runs the models come from.
    """
    check_torch(device)
    check_folder(folder, TABLES, [*map(model_file, models), *data_files(data)])
    from partwhole.experiments.matching.study import Examiner, Run, Series

    matchers = load_models(models, device)
    test = {name: pairs_from(data, _set(name), "test") for name in tests}
    groups: dict[str, dict[str, Matcher]] = {}
    for label, matcher in matchers.items():
        groups.setdefault(_all_but_seed(matcher), {})[label] = matcher
    runs = []
    with console.stage_progress() as report:
        options: dict[str, Any] = {"device": device, "cache": open_cache(cache, console), "workers": workers}
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


def _sources(
    pairs: Mapping[str, Pairs], console: Console, report: StageProgress, *, known: bool = False
) -> dict[str, Any]:
    """The pairs, read when they are needed; with `known`, only those with ground truth."""
    from partwhole.experiments.matching.study import Source

    def source(of: Pairs) -> Source:
        def read() -> list[Pair]:
            silent = Console(quiet=True)
            held = read_pairs(of, silent, report)
            kept = with_ground_truth(held, of.name, silent) if known else held
            _note_once(silent.notes, console)
            return kept

        return Source(of.name, read)

    return {name: source(of) for name, of in pairs.items()}


def _note_once(notes: Sequence[str], console: Console) -> None:
    """Print notes that were not printed before; the same surface may be read for training and for tests."""
    for note in notes:
        if note not in console.notes:
            console.note(note)


def _described(run: Run) -> str:
    name = f"{run.series.label}, seed {run.seed}"
    if not run.trained:
        return f"{name}, finished before"
    return f"{name}, {run.series.config.optimisation.iterations} iterations in {run.seconds:.1f} s"


def _all_but_seed(matcher: Matcher) -> str:
    config = matcher.config.with_changes(seed=0)
    return repr((config, matcher.card.get("weights"), matcher.card.get("data")))


def _set(name: str) -> SetName:
    return name  # type: ignore[return-value]
