"""What is kept of every pair that a method was measured on: a line of a file, written as soon as it is known.

Tables, PCK curves and the figure of error against time are made of these lines alone.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from partwhole.cli.shared.batch.measured import MeasureSettings, measured_maps
from partwhole.cli.shared.console import Console, StageProgress, write_text
from partwhole.cli.shared.imported import load_methods, weights_of
from partwhole.cli.shared.options import Device
from partwhole.datasets.pairs import Pair, Pairs
from partwhole.datasets.transforms import with_own_areas, with_parts_turned
from partwhole.engines import EngineOptions
from partwhole.evaluation import PairResult, pck_curve, pck_plot
from partwhole.evaluation.curves import PckCurve
from partwhole.evaluation.published import PUBLISHED, Data
from partwhole.store.memory import peak_memory
from partwhole.store.storage import saved

if TYPE_CHECKING:
    from partwhole.matching.config import ReadOut
    from partwhole.matching.evaluation import Benchmark
    from partwhole.matching.search.method import Method

# thresholds of the curve that is kept of every pair
_PCK_LIMIT, _PCK_STEPS = 0.25, 50
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
    "wormhole": "Wormhole",
}
# what tables call a refinement
_REFINED_AS = {"zoomout": "ZoomOut", "adapt": "refined"}


@dataclass(frozen=True)
class BenchmarkRow:
    """What is kept of one pair; errors × 100, and the shares of vertices within 0, 0.005, … 0.25."""

    method: str
    pair: str
    vertices: int
    mean_x100: float
    median_x100: float
    share_above: float
    seconds: float
    megabytes: float
    pck: str
    fingerprint: str
    protocol: str

    @property
    def key(self) -> tuple[str, ...]:
        """What must be the same for a row to be taken from an earlier run."""
        return self.method, self.pair, self.fingerprint, self.protocol

    @property
    def curve(self) -> Float[np.ndarray, "t"]:
        """The shares of vertices whose error is at most each threshold."""
        return np.array(self.pck.split(), dtype=np.float64)


def measured(
    methods: Mapping[str, Method], prepared: Benchmark, file: Path, device: Device, report: StageProgress
) -> list[BenchmarkRow]:
    """The rows of all methods on all pairs: those that an earlier run wrote, and the others, which are appended."""
    known = {row.key: row for row in read_rows(file)}
    rows: list[BenchmarkRow] = []
    for label, method in methods.items():
        read_out = read_out_of(method)
        stated = prepared.protocol(method, _options(read_out), weights_of(method)).statement
        fingerprint = short_fingerprint(method)
        for number, pair in enumerate(prepared.pairs):
            report(label, number, len(prepared))
            row = known.get((label, pair.name, fingerprint, stated))
            if row is None:
                with peak_memory(device) as memory:
                    result = prepared.of_pair(number, method, read_out=read_out)
                row = row_of(label, result, memory.megabytes, fingerprint, stated)
                append_row(file, row)
            rows.append(row)
        report(label, len(prepared), len(prepared))
    return rows


def row_of(method: str, result: PairResult, megabytes: float, fingerprint: str, protocol: str) -> BenchmarkRow:
    """What is kept of a pair.

    Parameters
    ----------
    method : its label
    result : the errors on the pair
    megabytes : of memory that it took
    fingerprint : see `short_fingerprint`
    protocol : the statement of how the error was measured
    """
    errors = 100 * result.mean, 100 * result.median, result.share_above()
    shares = pck_curve(result.errors, limit=_PCK_LIMIT, steps=_PCK_STEPS).shares
    found = (*errors, result.seconds, megabytes, " ".join(f"{share:.4g}" for share in shares))
    return BenchmarkRow(method, result.name, len(result.errors), *found, fingerprint, protocol)


def rows_of(
    pairs: Sequence[Pair],
    methods: Mapping[str, Method],
    settings: MeasureSettings,
    name: str,
    folder: Path,
    console: Console,
    engine: EngineOptions,
) -> list[BenchmarkRow] | None:
    """The rows of all methods on all pairs, measured on any engine; None if other shards have not measured theirs yet.

    Parameters
    ----------
    pairs, name : with ground truth, and what they are called
    methods, settings, folder, console, engine : see `measured_maps`
    """
    from partwhole.matching.evaluation import protocol_of

    read_outs = {label: [read_out_of(method)] for label, method in methods.items()}
    found = measured_maps(pairs, methods, read_outs, settings, folder, console, engine)
    if found is None:
        return None
    rows = []
    for label, method in methods.items():
        (read_out,) = read_outs[label]
        knobs: dict[str, Any] = {"data": name, "distances": settings.distances}
        protocol = protocol_of(pairs, method, _options(read_out), weights_of(method), **knobs).statement
        fingerprint = short_fingerprint(method)
        rows += [row_of(label, one.results[read_out], one.megabytes, fingerprint, protocol) for one in found[label]]
    return rows


def read_out_of(method: Method) -> ReadOut:
    """How maps are read: as published, or as `match` reads them."""
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


def put_rows(file: Path, rows: Sequence[BenchmarkRow]) -> None:
    """A file of the rows that it has and these, which take the place of those of the same method, pair and protocol."""
    every = {row.key: row for row in [*read_rows(file), *rows]}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(BenchmarkRow))
    writer.writerows(map(_cells, every.values()))
    write_text(file, text.getvalue())


def _cells(row: BenchmarkRow) -> list[Any]:
    return [
        "" if isinstance(v, float) and math.isnan(v) else f"{v:.6g}" if isinstance(v, float) else v
        for v in asdict(row).values()
    ]


def append_row(file: Path, row: BenchmarkRow) -> None:
    """A further line of the file, after its header, in one piece."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    start = file.read_bytes() if file.is_file() else b""
    if not start:
        writer.writerow(asdict(row))
    writer.writerow(_cells(row))
    # what was written when a run was killed may end in the middle of a line
    end = start.rfind(b"\n") + 1
    with file.open("r+b" if start else "wb") as out:
        out.truncate(end)
        out.seek(end)
        out.write(text.getvalue().encode("utf-8", errors="backslashreplace"))


def published_error(method: str, data: Data | None) -> float | None:
    """The published error × 100 of a method, refined or not."""
    base, _, refinement = method.partition("+")
    name = _PUBLISHED_NAMES.get(base)
    if refinement:
        name = f"{name} → {_REFINED_AS[refinement]}" if refinement in _REFINED_AS else None
    found = [row.error for row in PUBLISHED if row.method == name and row.data == data]
    return found[0] if found else None


def short_fingerprint(method: Method) -> str:
    """So much of the fingerprint of a method as tells it from others in a file of rows."""
    return method.fingerprint()[:12]


def pooled(rows: Sequence[BenchmarkRow], name: str) -> float:
    """The mean of a column over all vertices of all pairs."""
    return float(np.average([getattr(row, name) for row in rows], weights=[row.vertices for row in rows]))


def curve_of(rows: Sequence[BenchmarkRow]) -> PckCurve:
    """PCK over all vertices of all pairs; its area by the trapezoidal rule."""
    thresholds = np.linspace(0, _PCK_LIMIT, _PCK_STEPS + 1)
    shares = np.average([row.curve for row in rows], axis=0, weights=[row.vertices for row in rows])
    return PckCurve(thresholds, shares, float(np.trapezoid(shares, thresholds)) / _PCK_LIMIT)


def write_figures(rows: Mapping[str, Sequence[BenchmarkRow]], pck: Path, times: Path, title: str) -> None:
    """PCK curves of all methods, and the error of each against the seconds that it takes for a pair."""
    pck_plot({label: curve_of(found) for label, found in rows.items()}, pck, title=title)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.4), dpi=200, facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for label, found in rows.items():
        seconds, error = float(np.mean([row.seconds for row in found])), pooled(found, "mean_x100")
        axes.plot(seconds, error, "o", markersize=5)
        axes.annotate(label, (seconds, error), (4, 3), textcoords="offset points", fontsize=7)
    axes.set(xscale="log", xlabel="seconds a pair", ylabel="mean error × 100, micro", title=title)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.tick_params(axis="x", which="both", labelsize=7)
    axes.margins(x=0.25, y=0.15)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    saved(figure, times)


def switched(held: list[Pair], name: str, *, turn_parts: bool, own_area: bool) -> tuple[list[Pair], str]:
    """The pairs as they are to be matched, and what they are called then."""
    if turn_parts:
        held, name = with_parts_turned(held), f"{name}, parts turned at random"
    if own_area:
        held, name = with_own_areas(held), f"{name}, parts scaled to the area of their wholes"
    return held, name


def load_for_rows(names: Sequence[str], device: Device) -> dict[str, Method]:
    """The methods, see `load_methods`; those without weights first, which compute on the processor whatever the device is."""
    from partwhole.matching.network.weights import METHODS

    plain = [name for name in names if str(name).split("+")[0] in METHODS]
    return load_methods(plain, "cpu") | load_methods([name for name in names if name not in plain], device)


def methods_of_rows(arguments: Mapping[str, Any]) -> dict[str, Method]:
    """The same in another process: `names` on a `device`."""
    return load_for_rows(arguments["names"], arguments["device"])


def some_pairs(pairs: Pairs, most: int | None) -> Pairs:
    """Every pair, or so many of them, evenly."""
    if most is None or most >= len(pairs):
        return pairs
    chosen = [pairs.keys[int(k)] for k in np.linspace(0, len(pairs) - 1, most).round()]
    return pairs.subset(chosen, name=pairs.name)
