"""`partwhole benchmark`: several methods on the same pairs, pair by pair, so that it can be interrupted and go on."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from partwhole.cli.shared.console import Console, StageProgress, plain_memory_errors, write_json, write_text
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
from partwhole.cli.shared.imported import load_methods, weight_files, weights_of
from partwhole.cli.shared.memory import peak_memory
from partwhole.cli.shared.options import (
    CacheOption,
    Device,
    DeviceOption,
    DistanceMethod,
    JsonOption,
    QuietOption,
    WorkersOption,
    check_folder,
    check_torch,
    open_cache,
    output_folder,
)
from partwhole.datasets.pairs import Pair, Pairs
from partwhole.datasets.transforms import with_own_areas, with_parts_turned
from partwhole.evaluation.published import PUBLISHED, Data

if TYPE_CHECKING:
    from partwhole.matching.config import ReadOut
    from partwhole.matching.evaluation import Benchmark
    from partwhole.matching.search.method import Method

ROWS, SUMMARY, TEXT, MARKDOWN = "pairs.csv", "summary.json", "table.txt", "table.md"
_WRITES = (ROWS, SUMMARY, TEXT, MARKDOWN)
# models that are compared with the methods where all are asked for: those that are not made for one data set
_GENERAL = ("any-pose", "upright")
# names in `PUBLISHED`
_PUBLISHED_NAMES = {
    "pfm": "PFM",
    "fsp": "FSP",
    "dpfm": "DPFM",
    "dpfm-holes": "DPFM",
    "geomfmaps": "GeomFMaps",
    "unsupervised-dpfm": "Unsupervised DPFM",
    "robust-fmnet": "RobustFMNet",
    "direct-match-net": "DirectMatchNet",
    "direct-match-net-lpf": "DirectMatchNet LPF",
}
_HEAD = ("method", "micro", "macro", "published", "difference", "% above 0.15", "seconds", "MB")


@dataclass(frozen=True)
class BenchmarkRow:
    """What is kept of one pair; errors × 100."""

    method: str
    pair: str
    vertices: int
    mean_x100: float
    median_x100: float
    share_above: float
    seconds: float
    megabytes: float
    fingerprint: str
    protocol: str

    @property
    def key(self) -> tuple[str, ...]:
        """What must be the same for a row to be taken from an earlier run."""
        return self.method, self.pair, self.fingerprint, self.protocol


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
    workers: WorkersOption = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare methods on the same pairs with ground truth.

    Writes a row for each pair and method as soon as it is measured; if interrupted, run the same command again to resume.
    Published methods are evaluated as published: without our read-outs and without a search for the orientation. Models are
    evaluated as in partwhole match. Times are those of the match alone; eigenfunctions and distances are computed
    beforehand.
    """
    console = Console(as_json=as_json, quiet=quiet)
    check_torch(device)
    from partwhole.matching.evaluation import Benchmark

    chosen_methods = _chosen(methods)
    check_folder(output, _WRITES, [*weight_files(chosen_methods), *data_files(data)])
    loaded = load_methods(chosen_methods, device)
    chosen = guess_set(data, which, note=console.note)
    pairs = pairs_from(data, chosen, split, note=console.note)
    folder = output_folder(output)
    with plain_memory_errors(), console.stage_progress() as report:
        held = with_ground_truth(read_pairs(_some(pairs, most), console, report), pairs.name, console)
        held, name = _switched(held, pairs.name, turn_parts=turn_parts, own_area=own_area)
        check_memory(held, device=device, for_loss=False)
        options: dict[str, Any] = {"device": device, "cache": open_cache(cache, console), "workers": workers}
        prepared = Benchmark(held, name=name, method=distances, progress=report, **options)
        rows = _measured(loaded, prepared, folder / ROWS, device, report)
    as_given = not (turn_parts or own_area)
    table = _table(rows, loaded, PUBLISHED_AS.get(chosen) if as_given else None)
    _say_published(chosen, split, console)
    console.table(table, head=_HEAD, title=f"{name}, {len(held)} pairs")
    protocols = dict.fromkeys(row.protocol for row in rows)
    notes = ["Errors × 100, divided by √area of the whole.", *protocols]
    for note in notes:
        console.say(note)
    _write_tables(folder, table, f"{name}, {len(held)} pairs", notes)
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


def _some(pairs: Pairs, most: int | None) -> Pairs:
    """Every pair, or so many of them, evenly."""
    if most is None or most >= len(pairs):
        return pairs
    chosen = [pairs.keys[int(k)] for k in np.linspace(0, len(pairs) - 1, most).round()]
    return pairs.subset(chosen, name=pairs.name)


def _switched(held: list[Pair], name: str, *, turn_parts: bool, own_area: bool) -> tuple[list[Pair], str]:
    """The pairs as they are to be matched, and what they are called then."""
    if turn_parts:
        held, name = with_parts_turned(held), f"{name}, parts turned at random"
    if own_area:
        held, name = with_own_areas(held), f"{name}, parts scaled to the area of their wholes"
    return held, name


def _measured(
    methods: Mapping[str, Method], prepared: Benchmark, file: Path, device: Device, report: StageProgress
) -> list[BenchmarkRow]:
    """The rows of all methods on all pairs: those that an earlier run wrote, and the others, which are appended."""
    known = {row.key: row for row in read_rows(file)}
    rows: list[BenchmarkRow] = []
    for label, method in methods.items():
        read_out = _read_out(method)
        stated = prepared.protocol(method, _options(read_out), weights_of(method)).statement
        fingerprint = method.fingerprint()[:12]
        for number, pair in enumerate(prepared.pairs):
            report(label, number, len(prepared))
            row = known.get((label, pair.name, fingerprint, stated))
            if row is None:
                with peak_memory(device) as memory:
                    result = prepared.of_pair(number, method, read_out=read_out)
                errors = 100 * result.mean, 100 * result.median, result.share_above()
                measured = (*errors, result.seconds, memory.megabytes)
                row = BenchmarkRow(label, pair.name, len(result.errors), *measured, fingerprint, stated)
                append_row(file, row)
            rows.append(row)
        report(label, len(prepared), len(prepared))
    return rows


def _read_out(method: Method) -> ReadOut:
    from partwhole.matching.config import READ_OUT
    from partwhole.matching.search.method import PairMethod

    return "features" if isinstance(method, PairMethod) else READ_OUT


def _options(read_out: ReadOut) -> Any:
    from partwhole.matching.config import MatchOptions

    return MatchOptions(read_out=read_out)


def read_rows(file: Path) -> list[BenchmarkRow]:
    """The rows of a file that `append_row` wrote; a last one that is not whole is left out."""
    if not file.is_file():
        return []
    names = [field.name for field in fields(BenchmarkRow)]
    text = file.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    lines = csv.DictReader(io.StringIO(whole))
    if lines.fieldnames is not None and list(lines.fieldnames) != names:
        raise ValueError(f"{file} has other columns than this version writes; give another --output")
    return [BenchmarkRow(**{name: _READERS.get(name, str)(text) for name, text in line.items()}) for line in lines]


def _number(text: str) -> float:
    return float(text) if text else math.nan


_NUMBERS = ("mean_x100", "median_x100", "share_above", "seconds", "megabytes")
_READERS: dict[str, Callable[[str], Any]] = {"vertices": int, **dict.fromkeys(_NUMBERS, _number)}


def append_row(file: Path, row: BenchmarkRow) -> None:
    """A further line of the file, after its header, in one piece."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    values = asdict(row)
    start = file.read_bytes() if file.is_file() else b""
    if not start:
        writer.writerow(values)
    writer.writerow(
        [
            "" if isinstance(v, float) and math.isnan(v) else f"{v:.6g}" if isinstance(v, float) else v
            for v in values.values()
        ]
    )
    # what was written when a run was killed may end in the middle of a line
    end = start.rfind(b"\n") + 1
    with file.open("r+b" if start else "wb") as out:
        out.truncate(end)
        out.seek(end)
        out.write(text.getvalue().encode("utf-8", errors="backslashreplace"))


def _table(rows: Sequence[BenchmarkRow], methods: Mapping[str, Method], data: Data | None) -> list[tuple[str, ...]]:
    """A line a method."""
    lines: list[tuple[str, ...]] = []
    for label, method in methods.items():
        of_method = [row for row in rows if row.method == label]
        counts = np.array([row.vertices for row in of_method])
        means, shares = (np.array([getattr(row, name) for row in of_method]) for name in ("mean_x100", "share_above"))
        micro = float(np.average(means, weights=counts))
        known = _published(str(method.card.get("name", label)), data)
        seconds, most = (np.array([getattr(row, name) for row in of_method]) for name in ("seconds", "megabytes"))
        lines.append(
            (
                label,
                f"{micro:.2f}",
                f"{means.mean():.2f}",
                "–" if known is None else f"{known:.1f}",
                "–" if known is None else f"{micro - known:+.1f}",
                f"{100 * float(np.average(shares, weights=counts)):.1f}",
                f"{seconds.mean():.2f}",
                "–" if np.isnan(most).all() else f"{np.nanmax(most):.0f}",
            )
        )
    return lines


def _published(method: str, data: Data | None) -> float | None:
    """The published error × 100 of a method, refined or not."""
    base, _, refinement = method.partition("+")
    name = _PUBLISHED_NAMES.get(base)
    if refinement:
        name = f"{name} → ZoomOut" if refinement == "zoomout" else None
    found = [row.error for row in PUBLISHED if row.method == name and row.data == data]
    return found[0] if found else None


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
