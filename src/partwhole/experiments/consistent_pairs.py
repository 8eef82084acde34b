"""`partwhole reproduce consistent-pairs`: which pairs of PFAUST are consistent, and how many each criterion finds.

Each shape is a job; its result is stored as soon as it is there, so a run that was interrupted resumes.
"""

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
from typing import Annotated, Any, Literal

import typer

from partwhole._version import __version__
from partwhole.cli.shared.console import Console, write_json, write_text
from partwhole.cli.shared.criteria import guarantee, true_distances
from partwhole.cli.shared.data_options import data_files
from partwhole.cli.shared.options import (
    DistanceMethod,
    JsonOption,
    MethodOption,
    QuietOption,
    SoundOption,
    check_folder,
    output_folder,
)
from partwhole.criterion.study import Consistency, ConsistencyRow, Guaranteed, Summary, consistency, summarise
from partwhole.datasets.published.pfaust import SOURCES, PFaust
from partwhole.store.arguments import Progress
from partwhole.store.storage import atomic_write

WRITES = ("table.md", "summary.json", "results.jsonl")
# Table 1 of the paper: consistent pairs of all, and of these guaranteed by C_T and by C_W; mean and standard deviation
PAPER = {"M": ((78, 16), (48, 18), (82, 14)), "H": ((53, 16), (30, 18), (65, 18))}
HEAD = ("set", "tolerance", "consistent", "by C_T", "by C_W", "by C_L", "false")
LEGEND = (
    "consistent: of all pairs; by C_T, C_W, C_L: of the consistent pairs, those guaranteed; in per cent, mean ± "
    "standard deviation over shapes.",
    "false: pairs that are guaranteed and not consistent, for C_T / C_W / C_L.",
    "The paper states neither its tolerance nor its distances; fast marching at 0.01 is nearest to its numbers.",
)
_TOLERANCES = [1e-6, 1e-3, 5e-3, 1e-2, 2e-2]


def consistent_pairs(
    data: Annotated[
        Path | None, typer.Option(help="Folder that holds pfaust/ and faust_r/; PARTWHOLE_DATA if not given.")
    ] = None,
    which: Annotated[Literal["M", "H", "both"], typer.Option("--set", help="PFAUST-M, PFAUST-H or both.")] = "both",
    shapes: Annotated[
        int | None, typer.Option(min=1, help="Use only this many shapes of each set, spread over all.")
    ] = None,
    method: MethodOption = "fast_marching",
    sound: SoundOption = False,
    tolerance: Annotated[
        list[float] | None,
        typer.Option(help="Relative difference up to which a pair is consistent; may be repeated."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of parallel processes.")] = 2,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results; an interrupted run resumes there.")
    ] = Path("consistent-pairs"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Count the consistent pairs on the parts of PFAUST, and how many of them each criterion guarantees.

    Prints the table beside the paper's, with the number of pairs that are guaranteed but not consistent, and writes table.md,
    summary.json and results.jsonl, which has a line for each shape.
    """
    console = Console(as_json=as_json, quiet=quiet)
    tolerances = tuple(sorted(set(tolerance or _TOLERANCES)))
    if not all(0 <= t < 1 for t in tolerances):
        raise ValueError(f"--tolerance must lie between 0 and 1, got {', '.join(map(str, tolerances))}")
    root = _data_folder(data)
    check_folder(output, WRITES, data_files(root))
    levels: list[Literal["M", "H"]] = ["M", "H"] if which == "both" else [which]
    jobs = {level: _jobs(root, level, shapes, method, sound, tolerances) for level in levels}
    folder = output_folder(output)
    stored = StoredStudies(folder / "results.jsonl")
    everything = [job for level in levels for job in jobs[level]]
    reused = sum(job in stored for job in everything)
    if reused:
        console.note(f"{reused} of {len(everything)} shapes were done before and are read from {stored.path}")
    with console.progress("shapes") as progress:
        run_jobs(everything, stored, workers=workers, progress=progress)

    summaries = {level: summarise([stored[job] for job in jobs[level]]) for level in levels}
    rows = [row for level in levels for row in _rows(level, summaries[level])]
    counts = ", ".join(f"{summaries[level].n_shapes} shapes of PFAUST-{level}" for level in levels)
    title = f"{counts}; {method.replace('_', ' ')} distances{', sound' * sound}"
    console.table(rows, head=HEAD, title=title)
    for line in (*LEGEND, guarantee(method, sound)):
        console.say(line)
    files = {"table": folder / "table.md", "summary": folder / "summary.json", "results": stored.path}
    write_text(files["table"], _markdown(title, rows))
    summary = {
        "method": method,
        "sound": sound,
        "what_holds": guarantee(method, sound),
        "sets": {f"PFAUST-{level}": _plain(summaries[level], level) for level in levels},
        "notes": console.notes,
        "files": files,
    }
    write_json(files["summary"], summary)
    console.say_files(files)
    console.finish(summary)


def _data_folder(data: Path | None) -> Path:
    if data is None:
        named = os.environ.get("PARTWHOLE_DATA")
        if not named:
            raise ValueError(f"--data is missing, and PARTWHOLE_DATA is not set: {SOURCES}")
        data = Path(named)
    if not data.is_dir():
        raise ValueError(f"folder not found: --data {data}; {SOURCES}")
    return data


def _jobs(
    root: Path,
    level: Literal["M", "H"],
    shapes: int | None,
    method: DistanceMethod,
    sound: bool,
    tolerances: tuple[float, ...],
) -> list[StudyJob]:
    collection = PFaust(root, level)
    total = len(collection)
    if total == 0:
        raise ValueError(f"{root} holds no parts of PFAUST-{level}")
    count = min(shapes or total, total)
    # spread over all, since each ten consecutive shapes are one person
    numbers = [round(i * total / count) for i in range(count)]
    return [StudyJob.of(collection, k, method=method, sound=sound, tolerances=tolerances) for k in numbers]


def _rows(level: str, summary: Summary) -> list[tuple[str, ...]]:
    paper = [f"{mean} ± {std}" for mean, std in PAPER[level]]
    rows = [(f"{level} paper", "–", *paper, "", "")]
    for row in summary.rows:
        shares = [f"{100 * share.mean:.1f} ± {100 * share.std:.1f}" for share in (row.consistent, *row.found)]
        rows.append((f"{level} ours", f"{row.tolerance:g}", *shares, " / ".join(map(str, row.n_false))))
    return rows


def _markdown(title: str, rows: list[tuple[str, ...]]) -> str:
    lines = [HEAD, ("---",) * len(HEAD), *rows]
    return "\n".join([title, "", *("| " + " | ".join(line) + " |" for line in lines), "", *LEGEND]) + "\n"


def _plain(summary: Summary, level: str) -> dict[str, Any]:
    consistent, boundary, wormhole = PAPER[level]
    rows = [
        {
            "tolerance": row.tolerance,
            "consistent": vars(row.consistent),
            "found": {kind: vars(share) for kind, share in zip(summary.kinds, row.found, strict=True)},
            "guaranteed_not_consistent": dict(zip(summary.kinds, row.n_false, strict=True)),
        }
        for row in summary.rows
    ]
    paper = {"consistent": consistent, "boundary": boundary, "wormhole": wormhole}
    return {"shapes": summary.n_shapes, "paper_mean_and_std_in_per_cent": paper, "rows": rows}


# --- the study of each shape, stored as soon as it is done


@dataclass(frozen=True)
class StudyJob:
    """One part, and how it is studied. `key` is a hash of all that the result depends on."""

    root: Path
    level: Literal["M", "H"]
    shape: int
    method: DistanceMethod
    sound: bool
    tolerances: tuple[float, ...]
    key: str

    @classmethod
    def of(
        cls, data: PFaust, k: int, *, method: DistanceMethod, sound: bool, tolerances: tuple[float, ...]
    ) -> StudyJob:
        knobs = ["consistency 1", __version__, data.level, k, method, sound, tolerances]
        digest = hashlib.sha256(json.dumps(knobs).encode())
        for file in data.files(k):
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        return cls(data.root, data.level, k, method, sound, tolerances, digest.hexdigest())


class StoredStudies:
    """Results by job, in a file with one JSON object per line, which is never half-written."""

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
                        f"{path}, line {number} is not a result of this command; delete it or choose another --output"
                    ) from None

    def __contains__(self, job: StudyJob) -> bool:
        return job.key in self._lines

    def __getitem__(self, job: StudyJob) -> Consistency:
        return _study(self._lines[job.key])

    def add(self, job: StudyJob, study: Consistency) -> None:
        described = {"set": f"PFAUST-{job.level}", "shape": job.shape, "method": job.method}
        self._lines[job.key] = {"key": job.key, **described, **asdict(study)}
        with atomic_write(self.path) as file:
            file.write("".join(json.dumps(record) + "\n" for record in self._lines.values()).encode())


def run_jobs(jobs: Sequence[StudyJob], stored: StoredStudies, *, workers: int, progress: Progress) -> None:
    """Run the jobs that are not stored yet, in `workers` processes, and store each result as soon as it is there."""
    todo = [job for job in jobs if job not in stored]
    done = len(jobs) - len(todo)
    progress("shapes", done, len(jobs))
    if workers == 1 or len(todo) <= 1:
        for job in todo:
            stored.add(job, study(job))
            done += 1
            progress("shapes", done, len(jobs))
        return
    # spawned, not forked: a copy of a process whose libraries have threads can hang
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(todo)), mp_context=context, initializer=_start_worker)
    try:
        futures = {pool.submit(study, job, threads=1): job for job in todo}
        for future in as_completed(futures):
            stored.add(futures[future], future.result())
            done += 1
            progress("shapes", done, len(jobs))
    except BaseException:
        # running jobs would take a while, and their results are not needed any more
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    pool.shutdown()


def study(job: StudyJob, *, threads: int | None = None) -> Consistency:
    """The consistency study of one part of PFAUST against its own whole."""
    from partwhole.geodesics import geodesic_distances

    cut = PFaust(job.root, job.level).cut(job.shape)
    on_part = geodesic_distances(cut.part, method=job.method, threads=threads)
    on_whole = true_distances(cut, method=job.method, threads=threads)
    return consistency(cut.part, on_part, on_whole, tolerances=job.tolerances, sound=job.sound)


def _start_worker() -> None:
    """One thread for each process; Ctrl-C is handled by the parent."""
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
