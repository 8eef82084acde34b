"""`partwhole embed`: a low-dimensional embedding of points or of a mesh, with a figure."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from jaxtyping import Float

from partwhole.cli.shared.console import Console, write_json, write_text
from partwhole.cli.shared.options import (
    FalloffOption,
    JsonOption,
    MapMethod,
    OutputOption,
    QuietOption,
    RepairOption,
    SeedOption,
    check_folder,
    free_memory,
    output_folder,
)
from partwhole.mesh import Mesh
from partwhole.store.storage import atomic_write

WRITES = ("coordinates.csv", "coordinates.npy", "map.png", "summary.json")
# methods that never hold a matrix of all pairs; of the others, the largest takes this many bytes for each pair
_WITHOUT_PAIRS = ("pca", "lle", "hessian-lle", "mlle", "ltsa", "laplacian", "tsne", "umap")
_BYTES_OF_A_PAIR = 40
# extensions of files of points, besides .npy
_TEXT = (".csv", ".tsv", ".txt", ".xyz")

DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Points: rows of numbers (CSV, TXT) or an NPY file; or a mesh: OFF, OBJ, PLY, STL, GLB, VTK.",
    ),
]
BoundaryOption = Annotated[
    str,
    typer.Option(
        metavar="auto|none|FILE",
        help="Boundary points, around what is missing: auto (detected; of a mesh, its boundary), none, or a file with their "
        "numbers, counted from 0, or a mask.",
    ),
]


def embed(
    data: DataArgument,
    method: Annotated[
        MapMethod, typer.Option(help="whcie keeps the distances that can be trusted; the others are for comparison.")
    ] = "whcie",
    components: Annotated[int, typer.Option(min=1, help="Dimensions of the embedding.")] = 2,
    neighbors: Annotated[int, typer.Option(min=1, help="Number of neighbours of each point.")] = 15,
    boundary: BoundaryOption = "auto",
    falloff: FalloffOption = None,
    repair: RepairOption = False,
    figure: Annotated[bool, typer.Option("--figure/--no-figure", help="Draw the embedding.")] = True,
    output: OutputOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    seed: SeedOption = 0,
) -> None:
    """Embed points on a surface, or a mesh, in the plane, without distortion by holes and cuts.

    Writes coordinates.csv and coordinates.npy, with a row for each point in the order of the file, map.png and
    summary.json, by default into a folder named after the file.
    """
    from partwhole.embedding.methods.comparison import EmbeddingTask, named

    console = Console(as_json=as_json, quiet=quiet)
    folder = Path(f"{data.stem}-map") if output is None else output
    check_folder(folder, WRITES, [data, None if boundary in ("auto", "none") else Path(boundary)])
    given = _read(data, console, repair=repair)
    points = given.vertices if isinstance(given, Mesh) else given
    _check(given, data, method, components=components, neighbors=neighbors)
    output_folder(folder)
    chosen = _boundary(boundary, len(points))
    power: float | Literal["auto"] = "auto" if falloff is None else falloff
    sample = EmbeddingTask(
        given, boundary=chosen, n_neighbors=neighbors, n_components=components, seed=seed, falloff=power
    )
    label, trusted = named(method).label, method in ("whcie", "tcie")
    if not (trusted or boundary == "auto"):
        console.note(f"--boundary has no effect on {label}")

    start = time.perf_counter()
    embedding = _embedding(method, sample, console)
    files = _write(folder, embedding)
    if figure:
        files["figure"] = folder / "map.png"
        _draw(files["figure"], points, embedding, label, sample.boundary_points if trusted else None)
    summary = {
        "data": str(data),
        "points": len(points),
        "dimensions": points.shape[1],
        "method": method,
        "components": components,
        "neighbors": neighbors,
        "seed": seed,
        "seconds": time.perf_counter() - start,
        **({"falloff": sample.chosen_falloff} if trusted else {}),
        **(_trust(sample, method, embedding) if trusted else {}),
        "notes": console.notes,
        "files": files,
    }
    write_json(files["summary"], summary)
    _print_summary(console, summary, label)
    console.finish(summary)


def _read(path: Path, console: Console, *, repair: bool) -> Mesh | Float[np.ndarray, "n d"]:
    from partwhole.mesh.io import read_mesh

    if path.is_dir():
        raise ValueError(f"{path} is a folder; give a file of points or a mesh")
    with console.warnings_as_notes():
        if path.suffix.lower() in (*_TEXT, ".npy"):
            return read_points(path)
        try:
            return read_mesh(path, repair=repair)
        except ValueError as error:  # the remedy, in the words of the command line
            raise ValueError(str(error).replace("read_mesh(path, repair=True)", "--repair")) from None


def _check(
    given: Mesh | Float[np.ndarray, "n d"], path: Path, method: MapMethod, *, components: int, neighbors: int
) -> None:
    n = given.n_vertices if isinstance(given, Mesh) else len(given)
    if n < 3:
        raise ValueError(f"{path} holds {n} point{'s' * (n > 1)}; a map needs at least 3")
    if n <= neighbors:
        raise ValueError(f"{path} holds {n} points, too few for {neighbors} neighbours: give --neighbors less than {n}")
    if components >= n:
        raise ValueError(f"--components must be less than the number of points, {n}, got {components}")
    if isinstance(given, Mesh) and given.n_components > 1:
        raise ValueError(
            f"{path} has {given.n_components} components, with no path from one to the other: embed each by itself, or drop "
            "the smaller ones (mesh.largest_component() in Python)"
        )
    needed = n * n * _BYTES_OF_A_PAIR
    if method not in _WITHOUT_PAIRS and needed > free_memory():
        raise ValueError(
            f"{path}: all pairs of {n} points take about {needed / 2**30:.0f} GiB and {free_memory() / 2**30:.0f} are free; "
            "take a sample of the points"
        )


def _boundary(option: str, n: int) -> Any:
    """What `EmbeddingTask` takes as the boundary of n points."""
    if option == "auto":
        return option
    return [] if option == "none" else read_boundary(Path(option), n)


def _embedding(method: MapMethod, sample: Any, console: Console) -> Float[np.ndarray, "n k"]:
    from partwhole.embedding.methods.comparison import named, run_method
    from partwhole.embedding.methods.task import check_connected

    with console.progress("distances, then the embedding" if named(method).geodesic else "embedding"):
        if named(method).geodesic:
            check_connected(sample)
        outcome = run_method(named(method), sample)
    if outcome.embedding is None:
        raise ValueError(f"{named(method).label}: {outcome.error}")
    for note in outcome.notes:
        console.note(note)
    return outcome.embedding


def _write(folder: Path, embedding: Float[np.ndarray, "n k"]) -> dict[str, Path]:
    files = {"csv": folder / "coordinates.csv", "npy": folder / "coordinates.npy", "summary": folder / "summary.json"}
    names = [f"x{axis + 1}" for axis in range(embedding.shape[1])]
    rows = [",".join(names), *(",".join(f"{value:.9g}" for value in row) for row in embedding.tolist())]
    write_text(files["csv"], "\n".join(rows) + "\n")
    with atomic_write(files["npy"]) as file:
        np.save(file, embedding)
    return files


def _draw(path: Path, points: np.ndarray, embedding: np.ndarray, label: str, boundary: np.ndarray | None) -> None:
    from partwhole.embedding.methods.comparison_figure import map_figure

    picture = map_figure(points, embedding, title=label, boundary=boundary)
    with atomic_write(path) as file:
        picture.savefig(file, format="png")


def _trust(sample: Any, method: MapMethod, embedding: np.ndarray) -> dict[str, Any]:
    """The number of boundary points, the share of guaranteed pairs, and their stress in the embedding."""
    from partwhole.criterion.points import criterion_of_points
    from partwhole.embedding.methods.quality import map_stress

    kind: Literal["wormhole", "boundary"] = "wormhole" if method == "whcie" else "boundary"
    mask = criterion_of_points(kind, sample.distances, sample.boundary_points, sample.points).mask
    return {
        "boundary_points": len(sample.boundary_points),
        "guaranteed": float(mask.mean()),
        "stress": map_stress(embedding, sample.distances, mask=mask),
    }


def _print_summary(console: Console, summary: dict[str, Any], label: str) -> None:
    console.say(
        f"{label}: {summary['points']} points in {summary['dimensions']} dimensions, mapped to {summary['components']} "
        f"in {summary['seconds']:.1f} s"
    )
    if "guaranteed" in summary:
        console.say(
            f"{summary['boundary_points']} points on the boundary; {100 * summary['guaranteed']:.1f} % of all pairs are "
            f"guaranteed, and their stress is {summary['stress']:.3g}"
        )
    console.say_files(summary["files"])


# --- files of points


def read_points(path: Path) -> Float[np.ndarray, "n d"]:
    """Rows of finite coordinates from a text file or an .npy file; a ValueError names the file and the row."""
    table = _array(path) if path.suffix.lower() == ".npy" else _rows(path)
    if table.ndim != 2 or table.shape[1] < 1:
        raise ValueError(f"{path} should hold points, one row each, got an array of shape {table.shape}")
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if len(bad):
        raise ValueError(
            f"{path}: point {bad[0]} (counted from 0) has a coordinate that is NaN or infinite"
            + (f", and so have {len(bad) - 1} others" if len(bad) > 1 else "")
            + "; remove these rows"
        )
    return table


def read_boundary(path: Path, n: int) -> np.ndarray:
    """Numbers of boundary points, counted from 0, or a mask of all n points: booleans, or n ones and zeros."""
    held = (_array(path, numbers=False) if path.suffix.lower() == ".npy" else _rows(path)).reshape(-1)
    if held.dtype != bool and len(held) == n and np.isin(held, (0, 1)).all():
        held = held == 1
    if held.dtype == bool:
        if len(held) != n:
            raise ValueError(f"{path} holds a mask of {len(held)} points, but there are {n}")
        return held
    if not (np.isfinite(held).all() and (held == np.rint(held)).all()):
        raise ValueError(f"{path} should hold numbers of points, counted from 0, or a mask of {n} points")
    if len(held) and not (held.min() >= 0 and held.max() < n):
        raise ValueError(f"{path} has points {held.min():g} to {held.max():g}, but they are numbered 0 to {n - 1}")
    return held.astype(np.int64)


def _array(path: Path, *, numbers: bool = True) -> np.ndarray:
    with path.open("rb") as file:
        try:
            array = np.load(file, allow_pickle=False)
        except (ValueError, EOFError, MemoryError) as error:
            raise ValueError(f"{path} is not a complete .npy file of numbers: {error}") from None
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path} holds several arrays; save the points alone, as .npy")
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == bool) or np.iscomplexobj(array):
        raise ValueError(f"{path} should hold real numbers, got {array.dtype}")
    return array.astype(np.float64) if numbers else array


def _rows(path: Path) -> Float[np.ndarray, "n d"]:
    """Numbers separated by commas, semicolons, tabs or blanks; lines that begin with # and one line of names are skipped."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file: give rows of numbers, an .npy file or a mesh") from None
    rows: list[list[float]] = []
    names: list[str] | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        cells = _cells(line)
        try:
            rows.append([float(cell) if cell.strip() else float("nan") for cell in cells])
        except ValueError:
            if rows or names is not None:
                raise ValueError(f"{path}, line {number} is not a row of numbers: {line.strip()[:40]!r}") from None
            names = cells
            continue
        if len(rows[-1]) != len(rows[0]):
            raise ValueError(f"{path}, line {number} has {len(rows[-1])} numbers, those before have {len(rows[0])}")
    if not rows:
        raise ValueError(f"{path} holds no numbers")
    return _without_numbering(np.array(rows), names, path)


def _without_numbering(table: Float[np.ndarray, "n d"], names: list[str] | None, path: Path) -> np.ndarray:
    """Without a first column that has no name and counts the rows, as many programs write it."""
    if not names or names[0].strip(' "') or table.shape[1] < 2 or len(table) < 2:
        return table
    first = table[:, 0]
    if not (np.isfinite(first).all() and (np.diff(first) == 1).all()):
        return table
    warnings.warn(f"{path}: the first column has no name and counts the rows; it was left out", stacklevel=4)
    return table[:, 1:]


def _cells(line: str) -> list[str]:
    for separator in (",", ";", "\t"):
        if separator in line:
            return line.strip("\r\n").split(separator)
    return line.split()
