"""`partwhole embed`: a map of one's own points or mesh, with a picture."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from jaxtyping import Float

from partwhole.cli.shared.console import Console, output_folder, to_json, write_text
from partwhole.cli.shared.memory import free_memory
from partwhole.cli.shared.options import JsonOption, OutputOption, QuietOption, SeedOption
from partwhole.cli.shared.overwriting import check_folder
from partwhole.cli.shared.point_files import TEXT, read_boundary, read_points
from partwhole.experiments.swiss_roll import FalloffOption, MapMethod
from partwhole.mesh import Mesh
from partwhole.store.atomic import atomic_write

WRITES = ("coordinates.csv", "coordinates.npy", "map.png", "summary.json")
# These never hold a matrix of all pairs; of the others, the hungriest takes so many bytes a pair.
_SPARING = ("pca", "lle", "hessian-lle", "mlle", "ltsa", "laplacian", "tsne", "umap")
_BYTES_OF_A_PAIR = 40


def embed(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Points: rows of numbers (CSV, TXT) or an NPY file; or a mesh: OFF, OBJ, PLY, STL, GLB.",
        ),
    ],
    method: Annotated[
        MapMethod, typer.Option(help="WHCIE keeps the distances that can be trusted; the others are to compare with.")
    ] = "whcie",
    components: Annotated[int, typer.Option(min=1, help="Dimensions of the map.")] = 2,
    neighbors: Annotated[int, typer.Option(min=1, help="Neighbours of a point.")] = 15,
    boundary: Annotated[
        str,
        typer.Option(
            metavar="auto|none|FILE",
            help="Points on the rim of what is missing: detected (a mesh: its border), none, or a file with their "
            "numbers, counted from 0, or a mask.",
        ),
    ] = "auto",
    falloff: FalloffOption = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend defects of a mesh first, and say what was done.")
    ] = False,
    figure: Annotated[bool, typer.Option("--figure/--no-figure", help="Draw the map.")] = True,
    output: OutputOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    seed: SeedOption = 0,
) -> None:
    """A map of points on a surface, or of a mesh, that holes and cuts don't bend.

    Writes coordinates.csv and coordinates.npy, a row for each point in the order of the file, map.png and summary.json, by
    default into a folder named after the file.
    """
    from partwhole.embedding.methods.comparison import EmbeddingTask, named, run_method
    from partwhole.embedding.methods.task import check_connected

    console = Console(as_json=as_json, quiet=quiet)
    place = Path(f"{data.stem}-map") if output is None else output
    check_folder(place, WRITES, [data, None if boundary in ("auto", "none") else Path(boundary)])
    given = _read(data, console, repair=repair)
    points = given.vertices if isinstance(given, Mesh) else given
    _check(given, data, method, components=components, neighbors=neighbors)
    folder = output_folder(place)
    rim: Any = boundary if boundary == "auto" else []
    if boundary not in ("auto", "none"):
        rim = read_boundary(Path(boundary), len(points))
    power: float | Literal["auto"] = "auto" if falloff is None else falloff
    sample = EmbeddingTask(
        given, boundary=rim, n_neighbors=neighbors, n_components=components, seed=seed, falloff=power
    )
    trusted = method in ("whcie", "tcie")
    if not (trusted or boundary == "auto"):
        console.note(f"--boundary plays no part in {named(method).label}")

    start = time.perf_counter()
    with console.progress("distances, then the map" if named(method).geodesic else "the map"):
        if named(method).geodesic:
            check_connected(sample)
        outcome = run_method(named(method), sample)
    if outcome.embedding is None:
        raise ValueError(f"{named(method).label}: {outcome.error}")
    for note in outcome.notes:
        console.note(note)
    files = {"csv": folder / "coordinates.csv", "npy": folder / "coordinates.npy", "summary": folder / "summary.json"}
    _write(files, outcome.embedding)
    if figure:
        files["figure"] = folder / "map.png"
        _draw(
            files["figure"], points, outcome.embedding, named(method).label, sample.boundary_points if trusted else None
        )
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
        **(_trust(sample, method, outcome.embedding) if trusted else {}),
        "notes": console.notes,
        "files": files,
    }
    write_text(files["summary"], to_json(summary) + "\n")
    _tell(console, summary, named(method).label)
    console.finish(summary)


def _read(path: Path, console: Console, *, repair: bool) -> Mesh | Float[np.ndarray, "n d"]:
    from partwhole.mesh.io import read_mesh

    if path.is_dir():
        raise ValueError(f"{path} is a folder; give a file of points or a mesh")
    with console.warnings_as_notes():
        if path.suffix.lower() in (*TEXT, ".npy"):
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
            f"{path} has {given.n_components} components, with no way from one to the other: embed each by itself, or drop "
            "the smaller ones (mesh.largest_component() in Python)"
        )
    needed = n * n * _BYTES_OF_A_PAIR
    if method not in _SPARING and needed > free_memory():
        raise ValueError(
            f"{path}: all pairs of {n} points take about {needed / 2**30:.0f} GiB and {free_memory() / 2**30:.0f} are free; "
            "take a sample of the points"
        )


def _write(files: dict[str, Path], embedding: Float[np.ndarray, "n k"]) -> None:
    names = [f"x{axis + 1}" for axis in range(embedding.shape[1])]
    rows = [",".join(names), *(",".join(f"{value:.9g}" for value in row) for row in embedding.tolist())]
    write_text(files["csv"], "\n".join(rows) + "\n")
    with atomic_write(files["npy"]) as file:
        np.save(file, embedding)


def _draw(path: Path, points: np.ndarray, embedding: np.ndarray, label: str, boundary: np.ndarray | None) -> None:
    from partwhole.embedding.methods.comparison_figure import map_figure

    picture = map_figure(points, embedding, title=label, boundary=boundary)
    with atomic_write(path) as file:
        picture.savefig(file, format="png")


def _trust(sample: Any, method: MapMethod, embedding: np.ndarray) -> dict[str, Any]:
    """What the map was made from: the boundary, the share of pairs that is guaranteed, and how well these are kept."""
    from partwhole.criterion.points import criterion_of_points
    from partwhole.embedding.methods.quality import map_stress

    kind: Literal["wormhole", "boundary"] = "wormhole" if method == "whcie" else "boundary"
    mask = criterion_of_points(kind, sample.distances, sample.boundary_points, sample.points).mask
    return {
        "boundary_points": len(sample.boundary_points),
        "guaranteed": float(mask.mean()),
        "stress": map_stress(embedding, sample.distances, mask=mask),
    }


def _tell(console: Console, summary: dict[str, Any], label: str) -> None:
    console.say(
        f"{label}: {summary['points']} points in {summary['dimensions']} dimensions, mapped to {summary['components']} "
        f"in {summary['seconds']:.1f} s"
    )
    if "guaranteed" in summary:
        console.say(
            f"{summary['boundary_points']} points on the boundary; {100 * summary['guaranteed']:.1f} % of all pairs are "
            f"guaranteed, and their stress is {summary['stress']:.3g}"
        )
    for file in summary["files"].values():
        console.say(f"wrote {file}")
