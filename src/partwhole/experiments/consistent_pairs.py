"""`partwhole reproduce consistent-pairs`: which pairs of PFAUST are consistent, and how many each criterion finds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from partwhole.cli.shared.console import Console, output_folder, to_json, write_text
from partwhole.cli.shared.criteria import what_holds
from partwhole.cli.shared.options import JsonOption, Method, MethodOption, QuietOption, SoundOption
from partwhole.cli.shared.overwriting import check_folder
from partwhole.cli.shared.pairs import files_of
from partwhole.criterion.study import Summary, summarise
from partwhole.experiments.criterion_runs import Job, StoredStudies, run_jobs

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
    shapes: Annotated[int | None, typer.Option(min=1, help="Only so many shapes of each set, spread over all.")] = None,
    method: MethodOption = "fast_marching",
    sound: SoundOption = False,
    tolerance: Annotated[
        list[float] | None,
        typer.Option(help="Relative difference up to which a pair is consistent; may be repeated."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that work side by side.")] = 2,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results; a run that was interrupted goes on there.")
    ] = Path("consistent-pairs"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """How many distances survive on the parts of PFAUST, and how many of these each criterion guarantees.

    Prints the table beside the paper's, counts the pairs that are guaranteed and not consistent, and writes table.md,
    summary.json and results.jsonl, which holds a line for each shape.
    """
    console = Console(as_json=as_json, quiet=quiet)
    tolerances = tuple(sorted(set(tolerance or _TOLERANCES)))
    if not all(0 <= t < 1 for t in tolerances):
        raise ValueError(f"--tolerance must lie between 0 and 1, got {', '.join(map(str, tolerances))}")
    root = _data_folder(data)
    check_folder(output, WRITES, files_of(root))
    levels: list[Literal["M", "H"]] = ["M", "H"] if which == "both" else [which]
    jobs = {level: _jobs(root, level, shapes, method, sound, tolerances) for level in levels}
    folder = output_folder(output)
    stored = StoredStudies(folder / "results.jsonl")
    everything = [job for level in levels for job in jobs[level]]
    reused = sum(job in stored for job in everything)
    if reused:
        console.note(f"{reused} of {len(everything)} shapes were done before and are taken from {stored.path}")
    with console.progress("shapes") as progress:
        run_jobs(everything, stored, workers=workers, progress=progress)

    summaries = {level: summarise([stored[job] for job in jobs[level]]) for level in levels}
    rows = [row for level in levels for row in _rows(level, summaries[level])]
    counts = ", ".join(f"{summaries[level].n_shapes} shapes of PFAUST-{level}" for level in levels)
    title = f"{counts}; {method.replace('_', ' ')} distances{', sound' * sound}"
    console.table(rows, head=HEAD, title=title)
    for line in LEGEND:
        console.say(line)
    console.say(what_holds(method, sound))
    files = {"table": folder / "table.md", "summary": folder / "summary.json", "results": stored.path}
    write_text(files["table"], _markdown(title, rows))
    summary = {
        "method": method,
        "sound": sound,
        "what_holds": what_holds(method, sound),
        "sets": {f"PFAUST-{level}": _plain(summaries[level], level) for level in levels},
        "notes": console.notes,
        "files": files,
    }
    write_text(files["summary"], to_json(summary) + "\n")
    for file in files.values():
        console.say(f"wrote {file}")
    console.finish(summary)


def _data_folder(data: Path | None) -> Path:
    from partwhole.datasets.published.pfaust import SOURCES

    if data is None:
        named = os.environ.get("PARTWHOLE_DATA")
        if not named:
            raise ValueError(f"--data is missing, and PARTWHOLE_DATA is not set: {SOURCES}")
        data = Path(named)
    if not data.is_dir():
        raise ValueError(f"--data {data} is no folder: {SOURCES}")
    return data


def _jobs(
    root: Path,
    level: Literal["M", "H"],
    shapes: int | None,
    method: Method,
    sound: bool,
    tolerances: tuple[float, ...],
) -> list[Job]:
    from partwhole.datasets.published.pfaust import PFaust

    collection = PFaust(root, level)
    total = len(collection)
    if total == 0:
        raise ValueError(f"{root} holds no parts of PFAUST-{level}")
    count = min(shapes or total, total)
    # spread over all, since ten neighbouring numbers are one person
    numbers = [round(i * total / count) for i in range(count)]
    return [Job.of(collection, k, method=method, sound=sound, tolerances=tolerances) for k in numbers]


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
