"""What a comparison of methods is made of: jobs, each one method that is trained where it has to be, and then measured.

folder/SERIES/seed-K                  the training run of a method
folder/rows/SET[-turned|-own-area]/   a file for each job: a line for each pair that is measured
folder/logs/                          what jobs said that ran as processes of their own
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from partwhole.mesh import Mesh
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
# of the whole, where `RefinedMethod` is not told otherwise
_ZOOMOUT_EIGENPAIRS = 150
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

    def eigenpairs(self, *, refined: bool) -> set[int]:
        """How many of each surface its maps need; none of what is not trained here, which says so when it is loaded."""
        if self.planned is None:
            return set()
        plain = self.planned.config.eigenpairs
        return {plain, max(plain, _ZOOMOUT_EIGENPAIRS)} if refined and self.refinement == "zoomout" else {plain}

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

    Test pairs are read and prepared once, when they are first needed.
    """

    data: Path
    folder: Path
    conditions: tuple[str, ...]
    most: int | None
    refined: bool
    device: Device
    options: Mapping[str, Any]
    _read: dict[str, list[Pair]] = field(default_factory=dict, repr=False)
    _prepared: dict[tuple[str, str], Benchmark] = field(default_factory=dict, repr=False)

    def file(self, job: Job, test: str, condition: str) -> Path:
        """Where its rows are."""
        return self.folder / "rows" / f"{test}{condition}" / f"{job.key}.csv"

    def pairs(self, test: str, console: Console, report: StageProgress) -> list[Pair]:
        """The test pairs."""
        if test not in self._read:
            pairs = pairs_from(self.data, _set(test), "test")
            held = read_pairs(some_pairs(pairs, self.most), console, report)
            self._read[test] = with_ground_truth(held, pairs.name, console)
        return self._read[test]

    def switched(self, test: str, condition: str, console: Console, report: StageProgress) -> tuple[list[Pair], str]:
        """The test pairs as they are matched under a condition, and what they are called then."""
        held, name = self.pairs(test, console, report), pairs_from(self.data, _set(test), "test").name
        return switched(held, name, **CONDITIONS[condition])

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
            for job in jobs:
                methods = job.methods(self.device, refined=self.refined) if test in job.tested_on else {}
                missing = {name: m for name, m in methods.items() if Cell(job, test, condition, name) not in known}
                if not missing:
                    continue
                benchmark = self._benchmark(test, condition, console, report)
                file = self.file(job, test, condition)
                file.parent.mkdir(parents=True, exist_ok=True)
                end_with_parent()
                measured(missing, benchmark, file, self.device, report)

    def _benchmark(self, test: str, condition: str, console: Console, report: StageProgress) -> Benchmark:
        from partwhole.matching.evaluation import Benchmark

        key = test, condition
        if key not in self._prepared:
            pairs, name = self.switched(test, condition, console, report)
            knobs: dict[str, Any] = {"keep": self.device == "cuda", "device": self.device, "progress": report}
            self._prepared[key] = Benchmark(pairs, name=name, **knobs, **self.options)
        return self._prepared[key]


def _set(name: str) -> SetName:
    return name  # type: ignore[return-value]


def shared_out(jobs: Sequence[Job], parallel: int) -> list[list[Job]]:
    """The jobs of each process: several seeds of a method if there are more jobs than processes at a time, since they need
    the same surfaces; in the order in which they are begun."""
    series: dict[str, list[Job]] = {}
    for job in jobs:
        series.setdefault(job.key if job.planned is None else job.planned.series.name, []).append(job)
    most = max(1, math.ceil(len(jobs) / parallel))
    return [of_one[first : first + most] for of_one in series.values() for first in range(0, len(of_one), most)]


def log_of(hand: Sequence[Job]) -> str:
    """Name of the log of a process with these jobs, all seeds of one method or a single one."""
    others = "".join(f"-{job.planned.seed}" for job in hand[1:] if job.planned)
    return f"{hand[0].key}{others}.log"


def run_apart(
    hands: Sequence[Sequence[Job]],
    words: Callable[[Sequence[Job]], list[str]],
    logs: Path,
    *,
    parallel: int,
    report: StageProgress,
) -> None:
    """Run the jobs of each hand in a process of its own, so many at a time; what they say goes into a log each.

    Parameters
    ----------
    hands : see `shared_out`
    words : the arguments of `partwhole` that run the jobs of a hand
    logs : folder of the logs
    parallel : processes at a time
    report : told of the processes that are done
    """
    logs.mkdir(parents=True, exist_ok=True)
    threads = str(max(1, (os.cpu_count() or 1) // parallel))
    shared = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), threads)
    waiting, done = list(hands), 0
    running: list[subprocess.Popen[bytes]] = []
    try:
        while waiting or running:
            while waiting and len(running) < parallel:
                hand = waiting.pop(0)
                with (logs / log_of(hand)).open("ab") as log:
                    command = [sys.executable, "-m", "partwhole", *words(hand)]
                    env = {**os.environ, **shared, PARENT: str(os.getpid())}
                    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
                    running.append(subprocess.Popen(command, env=env, **streams))
            time.sleep(0.2)
            done += sum(process.poll() is not None for process in running)
            running = [process for process in running if process.returncode is None]
            report("processes", done, len(hands))
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


def matched_meshes(pairs: Sequence[Pair]) -> Iterator[Mesh]:
    """Parts and wholes as they are matched: at most so many vertices, and in one unit."""
    from partwhole.matching.scans.prepare import MOST_VERTICES, Scans, Templates, prepare_scans

    templates = Templates(len(pairs))
    for pair in pairs:
        scans = Scans(pair.part, pair.whole, (), {})
        yield from prepare_scans(scans, max_vertices=MOST_VERTICES, templates=templates).meshes


def prepare_together(
    jobs: Sequence[Job], measuring: Measuring, cache: Cache | None, console: Console, report: StageProgress
) -> None:
    """Put the eigenpairs that several jobs need into the cache, so that none of them computes what another does."""
    from partwhole.spectral.cached import fill_cache

    if cache is None:
        return
    # the numbers of eigenpairs of each surface, by its hash
    needed: dict[str, tuple[Mesh, set[int]]] = {}

    def need(mesh: Mesh, wanted: Iterable[int]) -> None:
        needed.setdefault(mesh.content_hash, (mesh, set()))[1].update(wanted)

    for name in dict.fromkeys(job.planned.series.trained_on for job in jobs if job.planned is not None):
        wanted = {
            job.planned.config.eigenpairs for job in jobs if job.planned and job.planned.series.trained_on == name
        }
        for pair in read_pairs(pairs_from(measuring.data, _set(name), "train"), console, report):
            need(pair.part, wanted)
            need(pair.whole, wanted)
    for test in dict.fromkeys(test for job in jobs for test in job.tested_on):
        wanted = {k for job in jobs if test in job.tested_on for k in job.eigenpairs(refined=measuring.refined)}
        for condition in measuring.conditions:
            if wanted:
                for mesh in matched_meshes(measuring.switched(test, condition, console, report)[0]):
                    need(mesh, wanted)
    for k in sorted({k for _, wanted in needed.values() for k in wanted}, reverse=True):
        meshes = [mesh for mesh, wanted in needed.values() if k in wanted]
        fill_cache(meshes, k, cache, workers=measuring.options["workers"], progress=report)
