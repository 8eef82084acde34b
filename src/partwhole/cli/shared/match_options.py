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
