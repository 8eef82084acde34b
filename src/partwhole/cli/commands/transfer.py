"""`partwhole transfer`: transfer labels, colours, landmarks, textures and skeletons between matched surfaces."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from partwhole.cli.shared.console import Console, write_json
from partwhole.cli.shared.match_output import MAP, read_correspondence
from partwhole.cli.shared.options import JsonOption, OutputOption, QuietOption, check_folder, output_folder
from partwhole.mesh.formats.common import counted, percent
from partwhole.mesh.landmarks import read_landmarks, write_landmarks
from partwhole.saved import files_of
from partwhole.store.arguments import displayable
from partwhole.store.text import table_rows

if TYPE_CHECKING:
    from partwhole.transfer import Correspondence
    from partwhole.transfer.correspondence import Side
    from partwhole.transfer.values import ValueKind

SUMMARY = "transfer.json"
_READS = (MAP, "part.ply", "whole.ply")
_LANDMARK_COLUMNS = {"label", "name", "vertex", "x", "y", "z"}


def transfer(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder that match or fit wrote.")],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="What to transfer: values or labels, a row for each vertex (.csv, .npy, .json); landmarks (.csv, "
            ".mrk.json, .pp); a surface with texture (.glb, .obj) or skeleton (.glb).",
        ),
    ],
    to: Annotated[
        Literal["part", "whole"], typer.Option(help="The target surface; the files belong to the other one.")
    ] = "part",
    kind: Annotated[
        Literal["auto", "scalar", "vector", "label", "color"],
        typer.Option(
            help="What the values are. auto: whole numbers and text are labels, other numbers scalars. A vector has three "
            "columns and turns with the surface; colors are rounded if they are whole numbers."
        ),
    ] = "auto",
    missing: Annotated[
        str | None,
        typer.Option(
            help="Value of vertices that are not covered. Labels need one; other numbers are empty or nan without it, or if "
            "it is a text."
        ),
    ] = None,
    reach: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="To the whole: a vertex is covered up to this distance from the part, in its units. [default: half an edge]",
        ),
    ] = None,
    size: Annotated[int, typer.Option(min=16, max=8192, help="Width and height of the picture of a texture.")] = 1024,
    uv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .glb or .obj of the target surface, to use its texture coordinates."),
    ] = None,
    influences: Annotated[
        Literal["4", "8"], typer.Option(help="Joints that a vertex may follow; many programs read 4 only.")
    ] = "4",
    output: OutputOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Transfer values, labels, landmarks, textures and skeletons from one surface to the other.

    Results have the names and formats of the files that were read, and are written into a new folder; textures and skeletons
    become a .glb of the target surface, textures of an .obj also an .obj with its picture. Values of vertices that are not
    covered are empty, nan or --missing; the covered share is reported.
    """
    console = Console(as_json=as_json, quiet=quiet)
    goal = output or Path(f"{folder.resolve().name}-transfer")
    reads = [*(folder / name for name in _READS), *files_of(folder), *files, uv]
    reads += [path for file in (*files, uv) if file is not None for path in _beside(file)]
    names = [name for file in files for name in _written(file)]
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise ValueError(f"two files would be written as {again}; transfer them one after the other, with two --output")
    check_folder(goal, [*names, SUMMARY], reads)
    correspondence = read_correspondence(folder, reach=reach)
    job = _Job(correspondence, to, kind, missing, size, uv, 8 if influences == "8" else 4, output_folder(goal))
    results = []
    with console.stage_progress() as report:
        for done, file in enumerate(files):
            report("files", done, len(files))
            results.append(_tried(job, file))
        report("files", len(files), len(files))
    for result in results:
        for note in result["notes"]:
            console.note(note)
    failed = [result for result in results if "error" in result]
    if uv is not None and not failed and not any(result["what"].startswith("texture") for result in results):
        console.note("--uv is not used: none of the files has a texture to transfer")
    summary = {"folder": folder, "to": to, "files": results, "seconds": sum(result["seconds"] for result in results)}
    write_json(goal / SUMMARY, summary)
    carried = [result for result in results if "error" not in result]
    rows = [(Path(result["file"]).name, result["what"], percent(result["covered"])) for result in carried]
    if rows:
        console.table(rows, head=("file", "what", "covered"))
    for result in carried:
        console.say_files({path.name: path for path in result["wrote"]})
    console.finish(summary)
    if failed:
        others = f" ({len(failed)} of {len(results)} files could not be transferred)" if len(results) > 1 else ""
        raise ValueError(f"{failed[0]['error']}{others}")


@dataclass(frozen=True)
class _Job:
    correspondence: Correspondence
    to: Side
    kind: ValueKind
    missing: str | None
    size: int
    uv: Path | None
    influences: Literal[4, 8]
    folder: Path


@dataclass
class _Result:
    """The result of one file: what it held, the covered share, the files written, and notes."""

    what: str
    covered: float
    wrote: list[Path]
    more: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def _tried(job: _Job, file: Path) -> dict[str, Any]:
    """The result of one file, or its error; the other files are still transferred."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = _carrier(job, file)(job, file)
        except (ValueError, OSError) as error:
            return {"file": file, "error": str(error), "notes": [], "seconds": time.perf_counter() - start}
    notes = [*(str(warning.message) for warning in caught), *found.notes]
    return {
        "file": file,
        "what": found.what,
        "covered": found.covered,
        "wrote": found.wrote,
        **found.more,
        "notes": notes,
        "seconds": time.perf_counter() - start,
    }


def _carrier(job: _Job, file: Path) -> Callable[[_Job, Path], _Result]:
    ending = file.suffix.lower()
    if ending in (".glb", ".obj"):
        return _textured
    if ending == ".pp" or file.name.lower().endswith(".mrk.json") or (ending == ".csv" and _are_landmarks(job, file)):
        return _landmarks
    return _values


def _written(file: Path) -> tuple[str, ...]:
    """The files that are written for one."""
    if file.suffix.lower() == ".obj":
        return f"{file.stem}.glb", f"{file.stem}.obj", f"{file.stem}.mtl", f"{file.stem}.png"
    return (file.name,)


def _beside(file: Path) -> list[Path]:
    """The files that another one is read with."""
    from partwhole.mesh.formats.obj_textured import files_beside

    return files_beside(file.read_bytes(), file.parent) if file.suffix.lower() == ".obj" and file.is_file() else []


def _origin(job: _Job) -> Any:
    return job.correspondence.whole if job.to == "part" else job.correspondence.part


def _goal(job: _Job) -> Any:
    return job.correspondence.part if job.to == "part" else job.correspondence.whole


def _are_landmarks(job: _Job, file: Path) -> bool:
    """A table whose columns are those of landmarks, and which has no row for each vertex."""
    if not file.is_file():
        return False
    rows = table_rows(file.read_text(encoding="utf-8-sig", errors="replace"))
    head = {cell.strip().lower() for cell in rows[0]} if rows else set()
    named = "vertex" in head or {"x", "y", "z"} <= head
    return named and head <= _LANDMARK_COLUMNS and len(rows) - 1 != _origin(job).n_vertices


def _values(job: _Job, file: Path) -> _Result:
    from partwhole.transfer.value_files import read_values, write_values

    held = read_values(file, _origin(job).n_vertices)
    columns: Mapping[str, np.ndarray] = held.columns
    if held.form == "table" and job.kind in ("vector", "color"):
        columns = _together(columns, job.kind)
    found = {name: _carried(job, column, held.form == "segments") for name, column in columns.items()}
    if columns is not held.columns:
        joined = next(iter(found.values()))
        found = {name: joined[:, k] for k, name in enumerate(held.columns)}
    path = job.folder / file.name
    write_values(path, held.with_columns(found))
    places = job.correspondence.towards(job.to)
    what = {"segments": counted(len(found), "segment"), "list": "labels"}.get(held.form, counted(len(found), "column"))
    return _Result(
        what, places.covered_share, [path], {"vertices": len(places), "uncovered": int((~places.covered).sum())}
    )


def _together(columns: Mapping[str, np.ndarray], kind: str) -> dict[str, np.ndarray]:
    """The columns of a table as one array."""
    allowed = (3,) if kind == "vector" else (3, 4)
    numbers = all(column.dtype.kind in "fi" for column in columns.values())
    if len(columns) not in allowed or not numbers:
        wanted = " or ".join(map(str, allowed))
        raise ValueError(f"--kind {kind} needs a table of {wanted} columns of numbers, got {', '.join(columns)}")
    return {kind: np.stack(list(columns.values()), axis=1)}


def _carried(job: _Job, column: np.ndarray, segment: bool) -> np.ndarray:
    from partwhole.transfer.values import kind_of, transfer_by_kind

    kind = job.kind if job.kind != "auto" else kind_of(column)
    missing: Any = job.missing
    if segment:
        kind, missing = "label", False
    elif missing is not None and column.dtype.kind not in "US":
        missing = _as_number(missing, column, kind)
    try:
        return transfer_by_kind(column, job.correspondence, kind=kind, to=job.to, missing=missing)
    except ValueError as error:
        raise ValueError(str(error).replace("missing=", "--missing ").rstrip()) from None


def _as_number(missing: str, column: np.ndarray, kind: ValueKind) -> float | int | None:
    """--missing for a column of numbers; None, which is nan, if it is a text, which stands for labels in other files."""
    whole = column.dtype.kind != "f" and kind not in ("scalar", "vector")
    try:
        return int(missing) if whole else float(missing)
    except ValueError:
        if not whole and kind != "label":
            return None
        raise ValueError(f"--missing {missing} is not a value of type {column.dtype}; give a number") from None


def _landmarks(job: _Job, file: Path) -> _Result:
    from partwhole.transfer.landmarks import transfer_landmarks

    origin, goal = _origin(job), _goal(job)
    held = read_landmarks(file, origin)
    found = transfer_landmarks(origin.vertices[held.vertices], job.correspondence, to=job.to)
    kept = np.flatnonzero(found.covered)
    if len(kept) == 0:
        raise ValueError(
            f"{displayable(str(file))}: none of {counted(len(held), 'landmark')} has a place on the {job.to}"
        )
    path = job.folder / file.name
    write_landmarks(path, goal, found.vertices[kept], [held.labels[k] or str(k + 1) for k in kept])
    lost = [held.labels[k] or str(k + 1) for k in np.flatnonzero(~found.covered)]
    notes = list(held.notes)
    if lost:
        notes.append(
            f"{displayable(str(file))}: landmarks without a place on the {job.to}, left out: {', '.join(lost)}"
        )
    more = {"labels": list(held.labels), "positions": found.positions, "missing": lost}
    return _Result(counted(len(held), "landmark"), len(kept) / len(held), [path], more, notes)


def _textured(job: _Job, file: Path) -> _Result:
    from partwhole.mesh.textured import TexturedMesh, read_textured, write_textured

    textured = read_textured(file)
    if textured.texture is None and textured.skin is None:
        raise ValueError(f"{displayable(str(file))} has neither a texture nor a skeleton")
    texture = skin = None
    what: list[str] = []
    notes: list[str] = []
    more: dict[str, Any] = {}
    covered = 1.0
    if textured.texture is not None:
        texture, covered = _baked(job, textured)
        what.append("texture")
    if textured.skin is not None and job.to == "whole":
        notes.append(f"{displayable(str(file))}: its skeleton is left out; skeletons are transferred to the part only")
    elif textured.skin is not None:
        skin, share, more, said = _skinned(job, textured, file)
        what.append("skeleton")
        covered = min(covered, share)
        notes += said
    if not what:
        raise ValueError(
            f"{displayable(str(file))} has a skeleton, which is transferred to the part only, and no texture"
        )
    goal = TexturedMesh(_goal(job), texture, skin)
    paths = [job.folder / f"{file.stem}.glb"]
    write_textured(goal, paths[0], influences=job.influences)
    if file.suffix.lower() == ".obj":
        write_textured(goal, job.folder / f"{file.stem}.obj")
        paths += [job.folder / name for name in _written(file)[1:]]
    return _Result(" and ".join(what), covered, paths, more, notes)


def _baked(job: _Job, textured: Any) -> tuple[Any, float]:
    from partwhole.mesh.textured import read_textured
    from partwhole.transfer.texture import transfer_texture

    coordinates = None
    if job.uv is not None:
        own, goal = read_textured(job.uv), _goal(job)
        if own.texture is None or not np.array_equal(own.mesh.faces, goal.faces):
            raise ValueError(f"--uv {job.uv} has no texture coordinates, or other faces than the {job.to}")
        coordinates = own.texture
    found = transfer_texture(textured, job.correspondence, to=job.to, size=job.size, texture=coordinates)
    return found.texture, found.covered_share


def _skinned(job: _Job, textured: Any, file: Path) -> tuple[Any, float, dict[str, Any], list[str]]:
    from partwhole.mesh.barycentric import BarycentricMap
    from partwhole.transfer.skinning import transfer_skinning
    from partwhole.transfer.texture import check_same_place

    part, whole, places = job.correspondence.part, job.correspondence.whole, job.correspondence.places
    check_same_place(textured.mesh, whole)
    # the file may have other vertices than the whole, where its texture has seams
    normals = np.nan_to_num(places.interpolate(whole.vertex_normals))
    onto = BarycentricMap.closest(places.positions(whole.vertices), textured.mesh, directions=normals)
    found = transfer_skinning(textured.skin, textured.mesh, part, onto)
    unseen = [name for name, seen in zip(textured.skin.names, found.seen, strict=True) if not seen]
    notes = []
    if found.filled.any():
        notes.append(
            f"{displayable(str(file))}: {int(found.filled.sum())} vertices of the part are not covered, and follow the "
            "joints of the nearest one that is"
        )
    if unseen:
        notes.append(
            f"{displayable(str(file))}: {len(unseen)} of {len(found.seen)} joints have too little on the part, and keep "
            "their position relative to their parent"
        )
    more = {"unseen_joints": unseen, "filled_vertices": int(found.filled.sum()), "pose_error": found.error}
    return found.skin, float(1 - found.filled.mean()), more, notes
