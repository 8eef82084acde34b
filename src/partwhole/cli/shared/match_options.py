"""Options that the commands that match share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

ReadOutOption = Annotated[
    Literal["lateration", "registration", "spectral", "features", "zoomout"],
    typer.Option(
        help="How the map is read from the network: features (nearest features), spectral (smoothed by a functional map), "
        "zoomout (spectral, then ZoomOut), lateration (spectral, then refined by distances) or registration (lateration, "
        "then by bending the whole onto the part)."
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
        help="Axis that points up in the files: y, z, -z …; z:y for part and whole; auto to search. By default, that of "
        "the model.",
    ),
]
YawStepsOption = Annotated[
    int | None,
    typer.Option(min=1, max=64, help="Number of rotations about the vertical to try; by default, as set by the model."),
]
RepairBothOption = Annotated[
    bool | None,
    typer.Option(
        "--repair/--no-repair",
        help="Repair both meshes, or neither. By default, only a mesh that can't be read otherwise.",
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Like --output, and also write report.html, a page to view and share."),
]
LandmarksOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Known correspondences: a CSV with the columns part and whole (vertex numbers); or give it twice, for landmarks "
        "of the part and of the whole with the same labels (CSV, .mrk.json of 3D Slicer, .pp of MeshLab). For many parts, "
        "the first is a folder with files named like the parts.",
    ),
]
ResultCacheOption = Annotated[
    bool,
    typer.Option(
        "--cache/--no-cache",
        help="Reuse and store results in PARTWHOLE_CACHE or ~/.cache/partwhole.",
    ),
]
