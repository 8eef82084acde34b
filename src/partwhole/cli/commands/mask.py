"""`partwhole mask`: which distances on a mesh with holes can be trusted, as masks and as a figure."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from jaxtyping import Float, Int

from partwhole.cli.shared.batch.engine_options import (
    EngineOption,
    EngineWorkersOption,
    SchedulerOption,
    ShardOption,
    engine_options,
    refuse_for_one,
)
from partwhole.cli.shared.batch.entries import existing_surface
from partwhole.cli.shared.batch.kind import BatchKind
from partwhole.cli.shared.batch.meshes import MeshEntry, are_many, mesh_entries
from partwhole.cli.shared.batch.run import count_states, raise_failures, work_through
from partwhole.cli.shared.console import Console, write_arrays, write_json
from partwhole.cli.shared.criteria import NAMES, Trust, all_criteria, draw_trust, example_vertex, guarantee, percent
from partwhole.cli.shared.options import (
    Device,
    DeviceOption,
    DistanceMethod,
    JsonOption,
    MethodOption,
    OutputOption,
    QuietOption,
    RepairOption,
    SeedOption,
    SoundOption,
    below,
    check_folder,
    free_memory,
    output_folder,
)
from partwhole.engines.options import EngineOptions
from partwhole.geodesics.metrics import Metric, uniform_metric
from partwhole.mesh import Mesh
from partwhole.mesh.formats.common import counted

WRITES = ("masks.npz", "trust.png", "soft.png", "summary.json")
_MOST_ROWS = 2000
_LARGEST = 4 << 30  # bytes; larger files are written only if --rows asks for them

MeshArgument = Annotated[
    Path,
    typer.Argument(
        metavar="MESH",
        help="The part: an OFF, OBJ, PLY, STL, GLB or VTK file; or a folder of parts, or a .csv or .txt list of them.",
    ),
]
WholeOption = Annotated[
    Path | None,
    typer.Option("--whole", metavar="FILE", help="The whole; used to check that it is a sphere, as C_L assumes."),
]
RowsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Use only this many vertices, spread evenly, against all; chosen automatically if all pairs don't fit.",
    ),
]
MetricBoundOption = Annotated[
    float, typer.Option(help="c between 0 and 1: how much shorter than a straight line a path outside the part may be.")
]
UpOption = Annotated[
    Literal["x", "y", "z"] | None, typer.Option(help="Axis that points up in the figure; guessed if not given.")
]


def mask(
    mesh: MeshArgument,
    vertex: Annotated[str, typer.Option(help="Vertex whose guaranteed region is drawn: its number, or auto.")] = "auto",
    method: MethodOption = "fast_marching",
    sound: SoundOption = False,
    whole: WholeOption = None,
    rows: RowsOption = None,
    dtype: Annotated[Literal["float32", "float64"], typer.Option(help="Precision of the matrices.")] = "float32",
    device: DeviceOption = "cpu",
    metric_bound: MetricBoundOption = 1.0,
    repair: RepairOption = False,
    figure: Annotated[bool, typer.Option("--figure/--no-figure", help="Draw the guaranteed regions.")] = True,
    soft: Annotated[bool, typer.Option("--soft", help="Also draw the soft masks.")] = False,
    up: UpOption = None,
    output: OutputOption = None,
    engine: EngineOption = "serial",
    workers: EngineWorkersOption = None,
    scheduler: SchedulerOption = None,
    shard: ShardOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    seed: SeedOption = 0,
) -> None:
    """Compute which distances on a mesh with holes can be trusted.

    Writes masks.npz (distances, thresholds, masks), trust.png (the region guaranteed with one vertex, by each
    criterion) and summary.json, by default into a folder named after the mesh.

    With a folder of meshes, or a list of them, each mesh gets its own folder, and masks.csv has a row for each. If it is
    interrupted, run the same command again to resume. --engine and --shard process several meshes at the same time.
    """
    console = Console(as_json=as_json, quiet=quiet)
    if not 0 <= metric_bound <= 1:
        raise ValueError(f"--metric-bound must lie between 0 and 1, got {metric_bound}; distances are those of space")
    options = MaskOptions(vertex, method, sound, rows, dtype, device, metric_bound, repair, figure, soft, up, seed)
    where = {"engine": engine, "workers": workers, "scheduler": scheduler, "shard": shard}
    if are_many(mesh):
        folder = output or Path(f"{mesh.resolve().stem}-trust")
        _mask_many(mesh_entries(mesh, whole, MASKS), folder, options, mesh, engine_options(where), console)
        return
    refuse_for_one(where, "a folder of meshes, or a list of them")
    folder = output or Path(f"{mesh.stem}-trust")
    check_folder(folder, WRITES, [mesh, whole])
    part, trust, summary = _masked(mesh, whole, folder, options, console)
    write_json(summary["files"]["summary"], summary)
    _print_summary(console, part, trust, summary, sphere_checked=whole is not None)
    console.finish(summary)


@dataclass(frozen=True)
class MaskOptions:
    """The options of `partwhole mask`, as a group."""

    vertex: str
    method: DistanceMethod
    sound: bool
    rows: int | None
    dtype: Literal["float32", "float64"]
    device: Device
    metric_bound: float
    repair: bool
    figure: bool
    soft: bool
    up: Literal["x", "y", "z"] | None
    seed: int


def _share(kind: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda summary: summary["guaranteed"].get(kind)


MASKS = BatchKind(
    part="mesh",
    whole="whole",
    noun="shape",
    participle="processed",
    done="done",
    before="finished before",
    result="trust",
    result_of_many="trust",
    writes=WRITES,
    summary="summary.json",
    table="masks.csv",
    of_all=(),
    columns={kind.replace("-", "_"): _share(kind) for kind in NAMES},
    said=lambda row: f"{percent(row['wormhole'])} guaranteed by the wormhole criterion",
    home=f"{__name__}:MASKS",
)


class MaskWork:
    """Masks of one mesh after the other, also in another process."""

    def __init__(self, options: MaskOptions, console: Console) -> None:
        self.options, self.console = options, console

    def __reduce__(self) -> Any:
        return mask_work, (self.options,)

    def __call__(self, entry: MeshEntry, place: Path) -> dict[str, Any]:
        """Write the masks of a mesh into a folder, and give the summary."""
        mesh = existing_surface(entry.mesh)
        (place / MASKS.summary).unlink(missing_ok=True)
        # notes of one mesh don't belong into the summary of the next
        _, _, summary = _masked(mesh, entry.whole, place, self.options, Console(quiet=True), alike=True)
        del summary["seconds"]
        summary["choices"] = asdict(self.options)
        write_json(place / MASKS.summary, summary)
        return summary


def mask_work(options: MaskOptions) -> MaskWork:
    """The work of another process."""
    return MaskWork(options, Console(quiet=True))


def _mask_many(
    entries: list[MeshEntry], folder: Path, options: MaskOptions, mesh: Path, engine: EngineOptions, console: Console
) -> None:
    writes = [MASKS.table, *(file for entry in entries for file in below(entry.name, WRITES))]
    check_folder(folder, writes, [mesh, *(file for entry in entries for file in entry.files)])
    work = MaskWork(options, console)
    rows = work_through(entries, output_folder(folder), MASKS, asdict(options), work, console, engine)
    table = folder / MASKS.table
    console.say(count_states(rows, MASKS))
    console.say(f"wrote {table}")
    console.finish({"meshes": rows, "notes": console.notes, "files": {"masks": table}})
    raise_failures(rows, MASKS)


def _masked(
    mesh: Path, whole: Path | None, folder: Path, options: MaskOptions, console: Console, *, alike: bool = False
) -> tuple[Mesh, Trust, dict[str, Any]]:
    """Write the masks and the pictures of a mesh; the summary is returned, and written by the caller.

    Of a large mesh as many rows are taken as fit into memory and on the disk; `alike`: the same on every machine.
    """
    vertex, method, sound, rows, seed = options.vertex, options.method, options.sound, options.rows, options.seed
    dtype, device, metric_bound, repair = options.dtype, options.device, options.metric_bound, options.repair
    part = _read(mesh, console, repair=repair)
    output_folder(folder)
    chosen = _vertex_number(vertex, part)
    no_sphere = None if whole is None else _why_no_sphere(_read(whole, console, repair=repair))
    item = np.dtype(dtype).itemsize
    room = _LARGEST if alike else min(free_memory() // 2, shutil.disk_usage(folder).free // 2, _LARGEST)
    sample = _sampled_rows(part, rows, chosen, item, room, seed, console)
    measured = _measure(part, sample, method=method, dtype=dtype, device=device, console=console)
    trust, seconds = _apply_criteria(
        part, measured, sample, sound=sound, metric_bound=metric_bound, device=device, no_sphere=no_sphere
    )
    for reason in trust.not_applied.values():
        console.note(f"C_L does not apply: {reason}")
    drawn = example_vertex(trust.criteria) if chosen is None else chosen
    files = _files(folder, figure=options.figure, soft=options.soft)
    write_arrays(files["masks"], _arrays(part, trust))
    draw_trust(part, drawn, trust.criteria, files.get("figure"), soft=files.get("soft_figure"), up=options.up)
    summary = {
        "mesh": str(mesh),
        **_sizes(part),
        "rows": part.n_vertices if sample is None else len(sample),
        "method": method,
        "sound": sound,
        "dtype": dtype,
        "device": device,
        "metric_bound": metric_bound,
        "whole": None if whole is None else str(whole),
        "seconds": {"distances": measured.seconds, "criteria": seconds},
        "drawn_vertex": drawn,
        "what_holds": guarantee(method, sound, trust.unproved),
        **_findings(trust),
        "notes": console.notes,
        "files": files,
    }
    return part, trust, summary


@dataclass(frozen=True)
class _Measured:
    distances: Float[np.ndarray, "r n"]
    from_boundary: Float[np.ndarray, "b n"] | None
    seconds: float


def _read(path: Path, console: Console, *, repair: bool) -> Mesh:
    from partwhole.mesh.io import read_mesh

    with console.warnings_as_notes():
        try:
            return read_mesh(path, repair=repair)
        except ValueError as error:  # the remedy, in the words of the command line
            raise ValueError(str(error).replace("read_mesh(path, repair=True)", "--repair")) from None


def _vertex_number(text: str, mesh: Mesh) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) >= mesh.n_vertices:
        raise ValueError(f"--vertex must be auto or a number from 0 to {mesh.n_vertices - 1}, got {text}")
    return int(text)


def _in_space(part: Mesh, bound: float) -> float | Metric:
    """The Euclidean metric of space with a lower bound that may be more cautious than needed."""
    return 1.0 if bound == 1 else replace(uniform_metric(part, 1.0), lower_bound=bound, name="space")


def _why_no_sphere(whole: Mesh) -> str | None:
    """The reason why a whole is not a topological sphere, or None if it is one."""
    if not whole.is_closed:
        return (
            f"the whole, {whole.name}, has {counted(len(whole.boundary_loops), 'boundary loop')}, so it is not a sphere"
        )
    if whole.n_components != 1 or not whole.is_manifold or whole.euler_characteristic != 2:
        return (
            f"the whole, {whole.name}, is not a sphere: it has {whole.n_components} components, Euler characteristic "
            f"{whole.euler_characteristic}, and is {'' if whole.is_manifold else 'not '}a manifold"
        )
    return None


def _sampled_rows(
    part: Mesh, rows: int | None, chosen: int | None, item: int, room: int, seed: int, console: Console
) -> Int[np.ndarray, "r"] | None:
    """The vertices to compute rows for, or None for all: as many as asked for, or as fit into so many bytes."""
    n = part.n_vertices
    a_row = n * (4 * item + 3)  # distances, three thresholds, three masks
    if rows is None:
        if n * a_row <= room:
            _check_room(part, n * a_row, f"{n} rows")
            return None
        rows = int(min(_MOST_ROWS, max(room - len(part.boundary_vertices) * n * item, 0) // a_row))
        if rows < 1:
            raise ValueError(f"{part.name}: a single row of {n} vertices does not fit; free some memory or disk")
        console.note(
            f"all {n} x {n} pairs would take {n * a_row / 2**30:.1f} GiB; {rows} vertices, spread evenly, are used "
            "against all (--rows sets the number)"
        )
    if rows >= n:
        return None
    boundary = len(part.boundary_vertices)
    said = f"{rows} rows, and the distances from {boundary} boundary vertices,"
    _check_room(part, rows * a_row + boundary * n * item, said)
    from partwhole.mesh.decimation import farthest_points

    return farthest_points(part, rows, first=chosen, seed=seed)


def _check_room(part: Mesh, needed: int, said: str) -> None:
    """Raise ValueError unless so many bytes of memory are free."""
    if needed > free_memory():
        raise ValueError(
            f"{part.name}: {said} take {needed / 2**30:.1f} GiB, and {free_memory() / 2**30:.1f} are free; give --rows a "
            "smaller number, or decimate the mesh"
        )


def _measure(
    part: Mesh,
    sample: Int[np.ndarray, "r"] | None,
    *,
    method: DistanceMethod,
    dtype: str,
    device: Device,
    console: Console,
) -> _Measured:
    """Distances from the sampled rows to all vertices (all pairs without a sample), and from the boundary with one."""
    from partwhole.geodesics import geodesic_distances

    knobs: dict[str, Any] = {"method": method, "dtype": np.dtype(dtype).type, "device": device}
    start = time.perf_counter()
    from_boundary = None
    with console.progress("distances") as progress:
        distances = _on_host(geodesic_distances(part, sources=sample, progress=progress, **knobs))
    distances.setflags(write=False)  # so that no criterion takes a copy
    if sample is not None:
        with console.progress("distances from the boundary") as progress:
            boundary = part.boundary_vertices
            from_boundary = (
                _on_host(geodesic_distances(part, sources=boundary, progress=progress, **knobs))
                if len(boundary)
                else np.empty((0, part.n_vertices), dtype)
            )
    return _Measured(distances, from_boundary, time.perf_counter() - start)


def _on_host(distances: Any) -> Float[np.ndarray, "r n"]:
    """As an array: distances computed on a device come as a tensor there."""
    return distances if isinstance(distances, np.ndarray) else distances.cpu().numpy()


def _apply_criteria(
    part: Mesh,
    measured: _Measured,
    sample: Int[np.ndarray, "r"] | None,
    *,
    sound: bool,
    metric_bound: float,
    device: Device,
    no_sphere: str | None,
) -> tuple[Trust, float]:
    """All criteria that apply, and the seconds that they took."""
    start = time.perf_counter()
    trust = all_criteria(
        part,
        measured.distances,
        rows=sample,
        from_boundary=measured.from_boundary,
        sound=sound,
        metric_bound=_in_space(part, metric_bound),
        device=device,
        no_sphere=no_sphere,
    )
    return trust, time.perf_counter() - start


def _files(folder: Path, *, figure: bool, soft: bool) -> dict[str, Path]:
    files = {"masks": folder / "masks.npz", "summary": folder / "summary.json"}
    if figure:
        files["figure"] = folder / "trust.png"
    if soft:
        files["soft_figure"] = folder / "soft.png"
    return files


def _arrays(part: Mesh, trust: Trust) -> dict[str, np.ndarray]:
    first = trust.criteria[0]
    arrays = {
        "distances": first.distances,
        "rows": np.arange(part.n_vertices) if first.rows is None else first.rows,
        "boundary_vertices": part.boundary_vertices,
        "boundary_labels": part.boundary_labels,
    }
    for criterion in trust.criteria:
        name = criterion.kind.replace("-", "_")
        arrays[f"{name}_threshold"] = criterion.threshold
        arrays[f"{name}_mask"] = criterion.mask
    return arrays


def _sizes(part: Mesh) -> dict[str, int]:
    return {
        "vertices": part.n_vertices,
        "faces": part.n_faces,
        "components": part.n_components,
        "boundary_vertices": len(part.boundary_vertices),
        "boundary_loops": len(part.boundary_loops),
    }


def _findings(trust: Trust) -> dict[str, Any]:
    return {
        "guaranteed": {criterion.kind: criterion.fraction for criterion in trust.criteria},
        "statements": {criterion.kind: criterion.statement for criterion in trust.criteria},
        "not_applied": trust.not_applied,
    }


def _print_summary(
    console: Console, part: Mesh, trust: Trust, summary: dict[str, Any], *, sphere_checked: bool
) -> None:
    n, taken = part.n_vertices, summary["rows"]
    pairs = "all pairs" if taken == n else f"{taken} vertices against all"
    seconds = summary["seconds"]
    console.say(
        f"{part.name}: {n} vertices, {part.n_faces} faces, {len(part.boundary_loops)} boundary loops "
        f"with {len(part.boundary_vertices)} vertices"
    )
    console.say(
        f"{summary['method'].replace('_', ' ')}, {pairs}: distances {seconds['distances']:.1f} s, "
        f"criteria {seconds['criteria']:.1f} s"
    )
    conditions = {
        "boundary": "",
        "wormhole": "",
        "same-loop": "the whole is a sphere: checked" if sphere_checked else "if the whole is a sphere",
    }
    table = [(NAMES[kind], percent(value), conditions[kind]) for kind, value in summary["guaranteed"].items()]
    console.table(table, head=("criterion", "guaranteed", "condition"))
    if part.is_closed:
        console.say(f"{part.name} has no boundary: nothing is missing, every pair at a finite distance is guaranteed")
    if not part.is_closed or trust.unproved:
        console.say(summary["what_holds"])
    console.say_files(summary["files"])
