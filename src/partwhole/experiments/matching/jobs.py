"""What a comparison of methods is made of: jobs, each one method that is trained where it has to be, and then measured.

folder/SERIES/seed-K                  the training run of a method
folder/rows/SET[-turned|-own-area]/   a file for each job: a line for each pair that is measured
folder/logs/                          what jobs said that ran as processes of their own
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from partwhole.cli.shared.console import Console, StageProgress
from partwhole.cli.shared.data_options import SetName, pairs_from, read_pairs, with_ground_truth
from partwhole.cli.shared.options import Device
from partwhole.datasets.pairs import Pair
from partwhole.experiments.matching.method_rows import (
    BenchmarkRow,
    load_for_rows,
    measured,
    read_rows,
    short_fingerprint,
    some_pairs,
    switched,
)
from partwhole.matching.network.weights import LEARNED, METHODS
from partwhole.store.cache import Cache

if TYPE_CHECKING:
    from partwhole.experiments.matching.study import Planned
    from partwhole.matching.evaluation import Benchmark
    from partwhole.matching.search.method import Method

# how parts are changed before they are matched, see `switched`
CONDITIONS: Mapping[str, dict[str, bool]] = {
    "": {"turn_parts": False, "own_area": False},
    "-turned": {"turn_parts": True, "own_area": False},
    "-own-area": {"turn_parts": False, "own_area": True},
}
# methods that the paper's tables have adapted to each pair; the others are followed by ZoomOut there
_ADAPTED = ("robust-fmnet", "direct-match-net", "direct-match-net-lpf", "wormhole")
# a process that is asked to stop saves its run first
_GRACE = 60.0
# the process that started this one, and that it does not outlive
PARENT = "PARTWHOLE_PARENT"


@dataclass(frozen=True)
class Job:
    """A method: one training run of it, or as it is.

    Attributes
    ----------
    name : of the method, or of a built-in model
    tested_on : keys of the test pairs
    planned : its training run; None for what has nothing to learn, or has learned before
    """

    name: str
    tested_on: tuple[str, ...]
    planned: Planned | None = None

    @property
    def key(self) -> str:
        """Name of its files."""
        return self.name if self.planned is None else f"{self.planned.series.name}-seed-{self.planned.seed}"

    @property
    def refinement(self) -> str | None:
        """How the paper's tables refine its maps."""
        if self.name in _ADAPTED:
            return "adapt"
        return "zoomout" if self.name in LEARNED or self.name in METHODS else None

    def methods(self, device: Device, *, refined: bool) -> dict[str, Method]:
        """The method, and its refined form, by their labels; nothing if it has still to be trained."""
        from partwhole.matching.methods import load_method, refined_by
        from partwhole.matching.training.run_folder import MODEL

        if self.planned is None:
            plain = load_for_rows([self.name], device)[self.name]
        elif (self.planned.folder / MODEL).is_file():
            plain = load_method(self.planned.folder / MODEL, device=device)
        else:
            return {}
        found = {self.name: plain}
        if refined and self.refinement:
            found[f"{self.name}+{self.refinement}"] = refined_by(plain, self.refinement)
        return found


class Cell(NamedTuple):
    """What a number of a table is made of."""

    job: Job
    test: str
    condition: str
    label: str


@dataclass(frozen=True)
class Measuring:
    """What all jobs are measured on, and how.

    Attributes
    ----------
    data : folder of the data sets
    folder : of the comparison
    conditions : names of `CONDITIONS`
    most : so many pairs of each set; None: all
    refined : whether refined maps are measured too
    device : where networks compute
    options : `cache` and `workers` of `Benchmark`
    """

    data: Path
    folder: Path
    conditions: tuple[str, ...]
    most: int | None
    refined: bool
    device: Device
    options: Mapping[str, Any]

    def file(self, job: Job, test: str, condition: str) -> Path:
        """Where its rows are."""
        return self.folder / "rows" / f"{test}{condition}" / f"{job.key}.csv"

    def pairs(self, test: str, console: Console, report: StageProgress) -> list[Pair]:
        """The test pairs."""
        chosen: SetName = test  # type: ignore[assignment]
        pairs = pairs_from(self.data, chosen, "test")
        return with_ground_truth(read_pairs(some_pairs(pairs, self.most), console, report), pairs.name, console)

    def known(self, jobs: Sequence[Job], test: str, names: Sequence[str]) -> dict[Cell, list[BenchmarkRow]]:
        """The rows that there are of all pairs of these names; what is not complete is left out."""
        found: dict[Cell, list[BenchmarkRow]] = {}
        for job in jobs:
            methods = job.methods(self.device, refined=self.refined)
            for condition in self.conditions if test in job.tested_on else ():
                rows = {
                    (row.method, row.fingerprint, row.pair): row for row in read_rows(self.file(job, test, condition))
                }
                for label, method in methods.items():
                    of_all = [rows.get((label, short_fingerprint(method), name)) for name in names]
                    complete = [row for row in of_all if row is not None]
                    if len(complete) == len(names):
                        found[Cell(job, test, condition, label)] = complete
        return found

    def measure(self, jobs: Sequence[Job], test: str, console: Console, report: StageProgress) -> None:
        """Measure what is not known yet of these jobs on one set of test pairs."""
        held = self.pairs(test, console, report)
        known = self.known(jobs, test, [pair.name for pair in held])
        for condition in self.conditions:
            benchmark: Benchmark | None = None
            for job in jobs:
                methods = job.methods(self.device, refined=self.refined) if test in job.tested_on else {}
                missing = {name: m for name, m in methods.items() if Cell(job, test, condition, name) not in known}
                if not missing:
                    continue
                if benchmark is None:
                    benchmark = self._benchmark(held, test, condition, report)
                file = self.file(job, test, condition)
                file.parent.mkdir(parents=True, exist_ok=True)
                end_with_parent()
                measured(missing, benchmark, file, self.device, report)

    def _benchmark(self, held: list[Pair], test: str, condition: str, report: StageProgress) -> Benchmark:
        from partwhole.matching.evaluation import Benchmark

        chosen: SetName = test  # type: ignore[assignment]
        pairs, name = switched(held, pairs_from(self.data, chosen, "test").name, **CONDITIONS[condition])
        keep = self.device == "cuda"
        return Benchmark(pairs, name=name, keep=keep, device=self.device, progress=report, **self.options)


def run_apart(
    jobs: Sequence[Job],
    words: Callable[[Job], list[str]],
    logs: Path,
    *,
    parallel: int,
    report: StageProgress,
) -> None:
    """Run each job as a process of its own, so many at a time; what they say goes into a log each.

    Parameters
    ----------
    jobs : in the order in which they are begun
    words : the arguments of `partwhole` that run a job
    logs : folder of the logs
    parallel : processes at a time
    report : told of the jobs that are done
    """
    logs.mkdir(parents=True, exist_ok=True)
    threads = str(max(1, (os.cpu_count() or 1) // parallel))
    shared = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), threads)
    waiting, done = list(jobs), 0
    running: list[subprocess.Popen[bytes]] = []
    try:
        while waiting or running:
            while waiting and len(running) < parallel:
                job = waiting.pop(0)
                with (logs / f"{job.key}.log").open("ab") as log:
                    command = [sys.executable, "-m", "partwhole", *words(job)]
                    env = {**os.environ, **shared, PARENT: str(os.getpid())}
                    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
                    running.append(subprocess.Popen(command, env=env, **streams))
            time.sleep(0.2)
            done += sum(process.poll() is not None for process in running)
            running = [process for process in running if process.returncode is None]
            report("jobs", done, len(jobs))
    finally:
        for process in running:
            process.send_signal(signal.SIGINT)
        for process in running:
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()


def end_with_parent() -> None:
    """Raise KeyboardInterrupt in a process that `run_apart` began, if that is over: nobody would wait for what it does."""
    if os.environ.get(PARENT, str(os.getppid())) != str(os.getppid()):
        raise KeyboardInterrupt


def last_line(log: Path) -> str:
    """The last line that a job said."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it said nothing")


def prepare_together(
    jobs: Sequence[Job], measuring: Measuring, cache: Cache | None, console: Console, report: StageProgress
) -> None:
    """Put the eigenpairs that several jobs need into the cache, so that none of them computes what another does."""
    from partwhole.spectral.cached import fill_cache

    if cache is None:
        return
    for name in dict.fromkeys(job.planned.series.trained_on for job in jobs if job.planned is not None):
        chosen: SetName = name  # type: ignore[assignment]
        held = [*read_pairs(pairs_from(measuring.data, chosen, "train"), console, report)]
        meshes = {mesh.content_hash: mesh for pair in held for mesh in (pair.part, pair.whole)}
        of_name = [job.planned.config for job in jobs if job.planned and job.planned.series.trained_on == name]
        for k in sorted({config.eigenpairs for config in of_name}):
            fill_cache(list(meshes.values()), k, cache, workers=measuring.options["workers"], progress=report)
