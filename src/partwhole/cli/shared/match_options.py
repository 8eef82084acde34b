"""What the commands that match share: options, and the session with the model that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from partwhole.cli.shared.console import Console
from partwhole.cli.shared.imported import can_be_cached, named_method
from partwhole.cli.shared.options import Device, check_torch, is_method, model_file
from partwhole.matching.config import MatchOptions
from partwhole.matching.session import MatchSession
from partwhole.store.cache import Cache

SURFACE_FILES = "an OFF, OBJ, PLY, STL, GLB or VTK file"

ReadOutOption = Annotated[
    Literal["lateration", "spectral", "features", "zoomout"],
    typer.Option(
        help="How the map is read from the network: features (nearest features), spectral (smoothed by a functional map), "
        "zoomout (spectral, then ZoomOut) or lateration (spectral, then refined by distances)."
    ),
]
UnitsOption = Annotated[
    str,
    typer.Option(
        help="auto, same, any (unknown), a factor for the part, or the units of part and whole, such as mm:m."
    ),
]
UpOption = Annotated[
    str | None,
    typer.Option(
        metavar="AXIS",
        help="Axis that points up in the files: y, z, -z …; z:y for part and whole; auto to search. That of the model if "
        "not given.",
    ),
]
YawStepsOption = Annotated[
    int | None,
    typer.Option(
        min=1, max=64, help="Rotations about the vertical to try; as many as the model asks for if not given."
    ),
]
RepairBothOption = Annotated[
    bool | None,
    typer.Option(
        "--repair/--no-repair", help="Repair both meshes. If not given, only one that can't be read otherwise."
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Write what --output writes, and report.html: one page to look at and to share."),
]
LandmarksOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Places that are known: a CSV with columns part and whole, numbers of vertices; or give it twice, for landmarks "
        "of the part and of the whole with the same labels (CSV, .mrk.json of 3D Slicer, .pp of MeshLab). For many parts the "
        "first is a folder of files named like the parts.",
    ),
]
ResultCacheOption = Annotated[
    bool,
    typer.Option(
        "--cache/--no-cache",
        help="Cache results, and return one that was computed before; in PARTWHOLE_CACHE or ~/.cache/partwhole.",
    ),
]


def folder_given(output: Path | None, report: Path | None) -> Path | None:
    """The folder that --output or --report names, if one of them is given."""
    if output is not None and report is not None:
        raise ValueError("--report writes what --output does, and more; give one of them")
    return output or report


def open_session(
    model: str, options: MatchOptions, device: Device, cache: Cache | None, console: Console, **sizes: Any
) -> MatchSession:
    """A session with the model that a user named: weights, or a method from Python.

    Parameters
    ----------
    model : as `MethodModelOption` has it
    options, device, cache : see `MatchSession`
    console : told why results of a method are not cached
    sizes : `units` and `max_vertices`
    """
    if not is_method(model):
        return MatchSession(model_file(model), options, **sizes, device=device, cache=cache)
    check_torch(device)
    method = named_method(model, device)
    cache = cache if cache is not None and can_be_cached(method, console) else None
    return MatchSession(method, options, **sizes, device=device, cache=cache)


def existing_surface(path: Path) -> Path:
    """The path, if there is such a file."""
    if not path.is_file():
        raise ValueError(f"file not found: {path}; give {SURFACE_FILES}")
    return path
