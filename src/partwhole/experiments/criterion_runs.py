"""Studies of many shapes that can be interrupted: each result is stored when it is there, and never computed twice."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from partwhole._version import __version__
from partwhole.cli.shared.console import Progress
from partwhole.cli.shared.criteria import true_distances
from partwhole.cli.shared.options import Method
from partwhole.criterion.study import Consistency, ConsistencyRow, Guaranteed, consistency
from partwhole.datasets.published.pfaust import PFaust
from partwhole.store.atomic import atomic_write


@dataclass(frozen=True)
class Job:
    """One part, and how it is studied. `key` is a hash of all that the result depends on."""

    root: Path
    level: Literal["M", "H"]
    shape: int
    method: Method
    sound: bool
    tolerances: tuple[float, ...]
    key: str

    @classmethod
    def of(cls, data: PFaust, k: int, *, method: Method, sound: bool, tolerances: tuple[float, ...]) -> Job:
        knobs = ["consistency 1", __version__, data.level, k, method, sound, tolerances]
        digest = hashlib.sha256(json.dumps(knobs).encode())
        for file in data.files(k):
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        return cls(data.root, data.level, k, method, sound, tolerances, digest.hexdigest())


class StoredStudies:
    """Results by job, in a file with one JSON object a line; the file is whole at every moment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: dict[str, dict[str, Any]] = {}
        if path.exists():
            for number, line in enumerate(path.read_text().splitlines(), start=1):
                try:
                    record = json.loads(line)
                    _study(record)
                    self._lines[record["key"]] = record
                except (ValueError, KeyError, TypeError):
                    raise ValueError(
                        f"{path}, line {number} is no result of this command; delete it or choose another --output"
                    ) from None

    def __contains__(self, job: Job) -> bool:
        return job.key in self._lines

    def __getitem__(self, job: Job) -> Consistency:
        return _study(self._lines[job.key])

    def add(self, job: Job, study: Consistency) -> None:
        described = {"set": f"PFAUST-{job.level}", "shape": job.shape, "method": job.method}
        self._lines[job.key] = {"key": job.key, **described, **asdict(study)}
        with atomic_write(self.path) as file:
            file.write("".join(json.dumps(record) + "\n" for record in self._lines.values()).encode())


def run_jobs(jobs: Sequence[Job], stored: StoredStudies, *, workers: int, progress: Progress) -> None:
    """Do what isn't stored yet, in `workers` processes, and store each result as soon as it is there."""
    todo = [job for job in jobs if job not in stored]
    done = len(jobs) - len(todo)
    progress(done, len(jobs))
    if workers == 1 or len(todo) <= 1:
        for job in todo:
            stored.add(job, study(job))
            done += 1
            progress(done, len(jobs))
        return
    # started afresh, not forked: a copy of a process whose libraries have threads can hang
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(todo)), mp_context=context, initializer=_become_worker)
    try:
        futures = {pool.submit(study, job, threads=1): job for job in todo}
        for future in as_completed(futures):
            stored.add(futures[future], future.result())
            done += 1
            progress(done, len(jobs))
    except BaseException:
        # the shapes that are being worked on would take a while yet, and nobody waits for them any more
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    pool.shutdown()


def study(job: Job, *, threads: int | None = None) -> Consistency:
    """The consistency study of one part of PFAUST against its own whole."""
    from partwhole.geodesics import geodesic_distances

    cut = PFaust(job.root, job.level).cut(job.shape)
    on_part = geodesic_distances(cut.part, method=job.method, threads=threads)
    on_whole = true_distances(cut, method=job.method, threads=threads)
    return consistency(cut.part, on_part, on_whole, tolerances=job.tolerances, sound=job.sound)


def _become_worker() -> None:
    """One thread a process, and interruptions are the parent's affair."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"


def _study(record: dict[str, Any]) -> Consistency:
    rows = tuple(
        ConsistencyRow(
            row["tolerance"], row["n_pairs"], row["n_consistent"], tuple(Guaranteed(**g) for g in row["criteria"])
        )
        for row in record["rows"]
    )
    return Consistency(record["name"], record["sound"], rows)
