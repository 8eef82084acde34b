"""`partwhole benchmark`: several methods on the same pairs, pair by pair, so that it can be interrupted and go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from partwhole.cli.shared.batch.engine_options import (
    EngineOption,
    EvaluationWorkersOption,
    SchedulerOption,
    ShardOption,
    engine_options,
)
from partwhole.cli.shared.batch.measured import WRITES as MEASURED
from partwhole.cli.shared.batch.measured import MeasureSettings
from partwhole.cli.shared.console import Console, plain_memory_errors, write_json, write_text
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
from partwhole.cli.shared.imported import weight_files
from partwhole.cli.shared.options import (
    CacheOption,
    DeviceOption,
    DistanceMethod,
    JsonOption,
    QuietOption,
    check_folder,
    check_torch,
    output_folder,
)
from partwhole.evaluation.published import Data
from partwhole.experiments.matching.method_rows import (
    BenchmarkRow,
    load_for_rows,
    methods_of_rows,
    pooled,
    published_error,
    put_rows,
    read_rows,
    rows_of,
    some_pairs,
    switched,
    write_figures,
)

if TYPE_CHECKING:
    from partwhole.matching.search.method import Method

ROWS, SUMMARY, TEXT, MARKDOWN = "pairs.csv", "summary.json", "table.txt", "table.md"
PCK, TIMES = "pck.png", "times.png"
_WRITES = (ROWS, SUMMARY, TEXT, MARKDOWN, PCK, TIMES)
# models that are compared with the methods where all are asked for: those that are not made for one data set
_GENERAL = ("any-pose", "upright")
_HEAD = ("method", "micro", "macro", "published", "difference", "% above 0.15", "seconds", "MB")


def benchmark(
    data: DataOption = None,
    which: SetOption = None,
    split: Annotated[Split, typer.Option(help="Which pairs of the data set.")] = "test",
    methods: Annotated[
        str,
        typer.Option(
            metavar="all|NAME,NAME",
            help="Methods and models, named as for partwhole match --model, separated by commas; all means the methods "
            "without weights, any-pose and upright.",
        ),
    ] = "all",
    most: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Only N pairs, spread evenly over the data set; all if not given."),
    ] = None,
    turn_parts: Annotated[
        bool, typer.Option("--turn-parts", help="Rotate each part at random first, about any axis.")
    ] = False,
    own_area: Annotated[
        bool, typer.Option("--own-area", help="Scale each part to the area of its whole first.")
    ] = False,
    distances: Annotated[
        DistanceMethod, typer.Option(help="Distances that errors are measured by: fast_marching, dijkstra or exact.")
    ] = "fast_marching",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the results; continues an earlier run.")
    ] = Path("benchmark"),
    device: DeviceOption = "cpu",
    cache: CacheOption = True,
    engine: EngineOption = "serial",
    workers: EvaluationWorkersOption = None,
    scheduler: SchedulerOption = None,
    shard: ShardOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare methods on the same pairs with ground truth.

    The result of each pair and method is kept in measured/ of the folder; if interrupted, run the same command again to
    resume. --engine and --shard measure several pairs at the same time, with the same errors. Published methods are evaluated
    as published: without our read-outs and without a search for the orientation. Models are evaluated as in partwhole match.
    Times are those of the match alone; eigenfunctions and distances are computed beforehand.
    """
    console = Console(as_json=as_json, quiet=quiet)
    check_torch(device)
    where = engine_options({"engine": engine, "workers": workers, "scheduler": scheduler, "shard": shard})
    chosen_methods = _chosen(methods)
    check_folder(output, (*_WRITES, *MEASURED), [*weight_files(chosen_methods), *data_files(data)])
    loaded = load_for_rows(chosen_methods, device)
    chosen = guess_set(data, which, note=console.note)
    pairs = pairs_from(data, chosen, split, note=console.note)
    folder = output_folder(output)
    # an earlier file that can't be added to is said before anything is measured
    read_rows(folder / ROWS)
    arguments = {"names": chosen_methods, "device": device}
    settings = MeasureSettings(f"{methods_of_rows.__module__}:methods_of_rows", arguments, distances, 0, device, cache)
    with plain_memory_errors(), console.stage_progress() as report:
        held = with_ground_truth(read_pairs(some_pairs(pairs, most), console, report), pairs.name, console)
        held, name = switched(held, pairs.name, turn_parts=turn_parts, own_area=own_area)
        if where.engine == "serial":
            check_memory(held, device=device, for_loss=False)
        rows = rows_of(held, loaded, settings, name, folder, console, where)
    if rows is None:
        console.finish({"complete": False, "pairs": len(held), "notes": console.notes})
        return
    put_rows(folder / ROWS, rows)
    as_given = not (turn_parts or own_area)
    table = _table(rows, loaded, PUBLISHED_AS.get(chosen) if as_given else None)
    _say_published(chosen, split, console)
    console.table(table, head=_HEAD, title=f"{name}, {len(held)} pairs")
    protocols = dict.fromkeys(row.protocol for row in rows)
    notes = ["Errors × 100, divided by √area of the whole.", *protocols]
    for note in notes:
        console.say(note)
    _write_tables(folder, table, f"{name}, {len(held)} pairs", notes)
    by_method = {label: [row for row in rows if row.method == label] for label in loaded}
    write_figures(by_method, folder / PCK, folder / TIMES, f"{name}, {len(held)} pairs")
    summary = {"data": name, "set": chosen, "split": split, "pairs": len(held), "head": _HEAD, "table": table}
    summary |= {"protocols": list(protocols), "notes": console.notes, "files": {n: folder / n for n in _WRITES}}
    write_json(folder / SUMMARY, summary)
    console.say_files({name: folder / name for name in _WRITES})
    console.finish(summary)


def _chosen(methods: str) -> list[str]:
    from partwhole.matching.network.weights import method_names, model_names

    if methods == "all":
        return [*method_names(), *(name for name in _GENERAL if name in model_names())]
    names = [name.strip() for name in methods.split(",") if name.strip()]
    if not names:
        raise ValueError("--methods names nothing; give all, or names with commas between, such as descriptors,default")
    return names


def _table(rows: Sequence[BenchmarkRow], methods: Mapping[str, Method], data: Data | None) -> list[tuple[str, ...]]:
    """A line a method."""
    lines: list[tuple[str, ...]] = []
    for label, method in methods.items():
        of_method = [row for row in rows if row.method == label]
        micro = pooled(of_method, "mean_x100")
        known = published_error(str(method.card.get("name", label)), data)
        seconds, most = (np.array([getattr(row, name) for row in of_method]) for name in ("seconds", "megabytes"))
        lines.append(
            (
                label,
                f"{micro:.2f}",
                f"{np.mean([row.mean_x100 for row in of_method]):.2f}",
                "–" if known is None else f"{known:.1f}",
                "–" if known is None else f"{micro - known:+.1f}",
                f"{100 * pooled(of_method, 'share_above'):.1f}",
                f"{seconds.mean():.2f}",
                "–" if np.isnan(most).all() else f"{np.nanmax(most):.0f}",
            )
        )
    return lines


def _say_published(chosen: SetName, split: Split, console: Console) -> None:
    if chosen.startswith("shrec16"):
        console.note(
            "published errors are those of the contest's test shapes, and not of this split of its training shapes"
        )
    elif chosen in PUBLISHED_AS and split != "test":
        console.note("published errors are those of the test pairs")


def _write_tables(folder: Path, table: Sequence[Sequence[str]], title: str, notes: Sequence[str]) -> None:
    widths = [max(len(line[k]) for line in (_HEAD, *table)) for k in range(len(_HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (_HEAD, *table)]
    write_text(folder / TEXT, "\n".join([title, *(line.rstrip() for line in lines), "", *notes]) + "\n")
    rule = "| --- |" + " ---: |" * (len(_HEAD) - 1)
    shown = ["| " + " | ".join(line) + " |" for line in (_HEAD, *table)]
    write_text(folder / MARKDOWN, "\n".join([f"**{title}**", "", shown[0], rule, *shown[1:], "", *notes]) + "\n")
