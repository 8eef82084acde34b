"""`partwhole fit`: a template bent onto a scan, with the holes filled."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from partwhole.cli.commands.match import (
    ReadOutOption,
    RepairBothOption,
    ResultCacheOption,
    UnitsOption,
    UpOption,
    YawStepsOption,
)
from partwhole.cli.shared.console import Console, plain_memory_errors
from partwhole.cli.shared.fit_output import WRITES, summary_rows, write_fit
from partwhole.cli.shared.options import (
    DeviceOption,
    JsonOption,
    ModelOption,
    OutputOption,
    QuietOption,
    RefineOption,
    check_folder,
    model_file,
    open_cache,
)
from partwhole.deformation.options import FitOptions, Hold
from partwhole.matching.config import MatchOptions

_FILES = "an OFF, OBJ, PLY, STL or GLB file"

ScanArgument = Annotated[
    Path, typer.Argument(metavar="SCAN", help=f"The scan: {_FILES}; points without faces will do.")
]
TemplateArgument = Annotated[
    Path, typer.Argument(metavar="TEMPLATE", help=f"The template, a complete surface: {_FILES}.")
]
HoldOption = Annotated[
    Hold,
    typer.Option(
        help="What follows where the scan saw nothing: seen (bends as little as possible from what was seen beside it), rest "
        "(keeps the directions of the template) or symmetric (those of its mirror image, where that was seen)."
    ),
]
StiffnessOption = Annotated[
    float,
    typer.Option(help="Length over which the template follows the scan in the end, in √area; smaller is closer."),
]
PictureOption = Annotated[bool, typer.Option("--picture/--no-picture", help="Draw the scan and the fitted template.")]


def fit(
    scan: ScanArgument,
    template: TemplateArgument,
    hold: HoldOption = "seen",
    stiffness: StiffnessOption = FitOptions.stiffness,
    model: ModelOption = "default",
    refine: RefineOption = 0,
    read_out: ReadOutOption = "lateration",
    units: UnitsOption = "auto",
    up: UpOption = None,
    yaw_steps: YawStepsOption = None,
    repair: RepairBothOption = None,
    picture: PictureOption = True,
    output: OutputOption = None,
    device: DeviceOption = "cpu",
    cache: ResultCacheOption = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Fit a template to a scan: its triangulation, in the scan's pose, shape and units, with the holes filled.

    The scan is matched to the template first, wherever the two stand. Writes fitted.ply, coloured by what was seen and what
    was made up, fit.npz, fit.json, a summary and a picture, by default into a folder named after the scan.
    """
    console = Console(as_json=as_json, quiet=quiet)
    folder = output or Path(f"{scan.stem}-fit")
    weights = model_file(model)
    check_folder(folder, WRITES, [scan, template, weights])
    for path in (scan, template):
        if not path.is_file():
            raise ValueError(f"file not found: {path}; give {_FILES}")
    from partwhole.registration import fit as fit_template

    choices = FitOptions(hold=hold, stiffness=stiffness)
    matching = MatchOptions(refine, read_out, up, yaw_steps)
    with plain_memory_errors(), console.stage_progress() as report:
        fitted = fit_template(
            scan,
            template,
            model=weights,
            options=choices,
            match_options=matching,
            units=units,
            repair=repair,
            device=device,
            cache=open_cache(cache, console),
            progress=report,
        )
    summary: dict[str, Any] = write_fit(folder, fitted, picture=picture)
    for text in summary["notes"]:
        console.note(text)
    console.table(summary_rows(summary), head=("", f"{template.name} → {scan.name}"))
    for text in summary["warnings"]:
        console.say(f"warning: {text}")
    if not summary["warnings"]:
        console.say("no warnings")
    console.say_files(summary["files"])
    console.finish({**summary, "notes": console.notes})
