"""`partwhole fit`: fit a template to a scan, or to each of many scans."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import typer

from partwhole.cli.shared.batch.engine_options import EngineOption, EngineWorkersOption, SchedulerOption, ShardOption
from partwhole.cli.shared.batch.entries import SURFACE_FILES, PairEntry, existing_surface, requested
from partwhole.cli.shared.batch.kind import FAILED, WAITING, BatchKind
from partwhole.cli.shared.batch.run import Rows, count_states, raise_failures, standing, work_through
from partwhole.cli.shared.console import Console, plain_memory_errors
from partwhole.cli.shared.fit_output import (
    GALLERY,
    STATISTICS,
    SUMMARY,
    WRITES,
    summary_rows,
    write_fit,
    write_fit_gallery,
    write_statistics,
)
from partwhole.cli.shared.match_options import (
    LandmarksOption,
    ReadOutOption,
    RepairBothOption,
    ReportOption,
    ResultCacheOption,
    UnitsOption,
    UpOption,
    YawStepsOption,
)
from partwhole.cli.shared.options import (
    DeviceOption,
    JsonOption,
    MethodModelOption,
    OutputOption,
    QuietOption,
    RefineOption,
    check_torch,
    folder_given,
    open_cache,
    open_session,
    output_folder,
)
from partwhole.deformation.register import FitOptions, Hold
from partwhole.engines.options import EngineOptions
from partwhole.matching.cache.results import without_times
from partwhole.matching.config import READ_OUT, MatchOptions
from partwhole.mesh.formats.common import counted

ScanArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="SCAN",
        help=f"The scan: {SURFACE_FILES}; points without faces will do. Or a folder of scans.",
        show_default=False,
    ),
]
TemplateArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="TEMPLATE",
        help="The template, a complete surface, one for all scans; or a folder of templates.",
        show_default=False,
    ),
]
ScanListOption = Annotated[
    Path | None,
    typer.Option(
        metavar="LIST.csv",
        help="Fit many scans: a table with columns scan, template and, if you like, name. Resumable.",
    ),
]
HoldOption = Annotated[
    Hold,
    typer.Option(
        help="How the template continues where the scan saw nothing: seen (bends as little as possible from the nearest seen "
        "region), rest (keeps the directions of the template) or symmetric (those of its mirror image, where it was seen)."
    ),
]
StiffnessOption = Annotated[
    float,
    typer.Option(help="Length over which the template finally follows the scan, in √area; smaller is closer."),
]
PictureOption = Annotated[bool, typer.Option("--picture/--no-picture", help="Draw the scan and the fitted template.")]
StatisticsOption = Annotated[
    bool,
    typer.Option(
        "--statistics",
        help="With many scans: write the mean shape and the principal components of the fitted templates.",
    ),
]
SeenOnlyOption = Annotated[
    bool,
    typer.Option("--seen-only", help="With --statistics: use only the vertices that the scans saw."),
]

FITS = BatchKind(
    part="scan",
    whole="template",
    noun="scan",
    participle="fitted",
    done="fitted",
    before="unchanged",
    result="fit",
    result_of_many="fits",
    writes=WRITES,
    summary=SUMMARY,
    table="fits.csv",
    home=f"{__name__}:FITS",
    named_after_part=True,
    of_all=(GALLERY, f"{STATISTICS}/*"),
    columns={
        "seen": lambda summary: summary["shares"]["seen"],
        "between": lambda summary: summary["shares"]["between"],
        "unseen": lambda summary: summary["shares"]["unseen"],
        "expected_error": itemgetter("expected_error_of_size"),
        "map_error": itemgetter("match_expected_error"),
        "distance": lambda summary: summary["distance"]["seen_mean"],
        "scan_covered": itemgetter("scan_covered"),
        "flipped_faces": itemgetter("flipped_faces"),
        "intersecting_pairs": itemgetter("intersecting_pairs"),
    },
    said=lambda row: (
        f"{100 * row['seen']:.0f} % of the fitted template seen, expected error {100 * row['expected_error']:.1f} % of √area"
    ),
)


def fit(
    scan: ScanArgument = None,
    template: TemplateArgument = None,
    pairs: ScanListOption = None,
    hold: HoldOption = "seen",
    stiffness: StiffnessOption = FitOptions.stiffness,
    statistics: StatisticsOption = False,
    seen_only: SeenOnlyOption = False,
    model: MethodModelOption = "default",
    refine: RefineOption = 0,
    read_out: ReadOutOption = READ_OUT,
    units: UnitsOption = "auto",
    up: UpOption = None,
    yaw_steps: YawStepsOption = None,
    repair: RepairBothOption = None,
    landmarks: LandmarksOption = None,
    picture: PictureOption = True,
    output: OutputOption = None,
    report: ReportOption = None,
    device: DeviceOption = "cpu",
    cache: ResultCacheOption = True,
    engine: EngineOption = "serial",
    workers: EngineWorkersOption = None,
    scheduler: SchedulerOption = None,
    shard: ShardOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Fit a template to a scan: its triangulation, in the scan's pose, shape and units, with the holes filled.

    The scan is matched to the template first, so the two need not be aligned. Writes fitted.ply, coloured by what the scan
    saw and what was filled in, fit.npz, fit.json, a summary and a picture, by default into a folder named after the scan.

    With a folder of scans, or a list of them, each scan gets its own folder, fits.csv has a row for each, and gallery.html
    shows all of them, worst first. If it is interrupted, run the same command again to resume. --engine and --shard process
    several scans at the same time, with the same results.
    """
    console = Console(as_json=as_json, quiet=quiet)
    request = requested(FITS, scan, template, pairs).with_landmarks(landmarks or [], console)
    folder = folder_given(output, report) or request.folder
    request.check(folder, model, option="--output" if report is None else "--report")
    where = request.engine({"engine": engine, "workers": workers, "scheduler": scheduler, "shard": shard})
    if seen_only and not statistics:
        raise ValueError("--seen-only says what counts in --statistics; give both")
    if statistics:
        _check_statistics(request.entries)
    choices = {
        "hold": hold,
        "stiffness": stiffness,
        "model": model,
        "refine": refine,
        "read_out": read_out,
        "units": units,
        "up": up,
        "yaw_steps": yaw_steps,
        "repair": repair,
        "picture": picture,
        "landmarks": [str(path) for path in landmarks or ()],
    }
    if not request.many:
        for path in (request.entries[0].part, request.entries[0].whole):
            existing_surface(path)
    settings = {"choices": choices, "device": device, "cache": cache, "page": report is not None}
    if where is not None:
        work = FitWork({**settings, "many": True}, console)
        check_torch(device)
        _fit_many(request.entries, output_folder(folder), work, where, statistics=statistics, seen_only=seen_only)
        return
    summary = FitWork(settings, console)(request.entries[0], folder)
    _print_summary(console, summary)
    console.finish({**summary, "notes": console.notes})


class FitWork:
    """Fits the template to one scan after the other; in another process it is made once from its settings.

    Parameters
    ----------
    settings : choices, device, cache and page, as plain values; many: the time that a fit took is not written, so that the
        files of a scan are the same whatever run makes them
    console : for progress and notes
    """

    def __init__(self, settings: Mapping[str, Any], console: Console) -> None:
        self.settings, self.console = settings, console
        self.choices, self.page = settings["choices"], settings["page"]
        self._options = FitOptions(hold=self.choices["hold"], stiffness=self.choices["stiffness"])
        matching = MatchOptions(**{name: self.choices[name] for name in ("refine", "read_out", "up", "yaw_steps")})
        self.cache = open_cache(settings["cache"], console)
        model, units = self.choices["model"], self.choices["units"]
        self._session = open_session(model, matching, settings["device"], self.cache, console, units=units)

    def __reduce__(self) -> Any:
        # the same cache, whatever the variables of the other process are
        place = False if self.cache is None else self.cache.place
        return fit_work, (json.dumps({**self.settings, "cache": place}),)

    def __call__(self, entry: PairEntry, place: Path) -> dict[str, Any]:
        """Fit the template to a scan, write everything into a folder, and give the summary."""
        from partwhole.registration import fit_in_session

        with plain_memory_errors(), self.console.stage_progress() as report:
            fitted = fit_in_session(
                self._session,
                existing_surface(entry.part),
                existing_surface(entry.whole),
                options=self._options,
                landmarks=[str(file) for file in entry.landmarks] or None,
                repair=self.choices["repair"],
                progress=report,
            )
        if self.settings.get("many"):
            fitted = replace(fitted, seconds={}, match=without_times(fitted.match))
        asked = {
            "scan": str(entry.part),
            "template": str(entry.whole),
            "landmark_files": [str(file) for file in entry.landmarks],
            "choices": self.choices,
        }
        return write_fit(output_folder(place), fitted, asked, picture=self.choices["picture"], page=self.page)


@lru_cache(maxsize=1)
def fit_work(settings: str) -> FitWork:
    """The work of another process, of which each process has one."""
    return FitWork(json.loads(settings), Console(quiet=True))


def _fit_many(
    entries: Sequence[PairEntry],
    folder: Path,
    work: FitWork,
    engine: EngineOptions,
    *,
    statistics: bool,
    seen_only: bool,
) -> None:
    console = work.console
    rows = work_through(entries, folder, FITS, work.choices, work, console, engine)
    console.say(count_states(rows, FITS))
    every = rows if engine.shard is None else standing(entries, folder, FITS, work.choices)
    files = {"fits": folder / FITS.table}
    missing = sum(row["state"] == WAITING for row in every)
    if missing:
        console.note(f"{counted(missing, 'scan')} of other shards are not yet fitted; the last shard writes {GALLERY}")
    else:
        files |= _write_comparison(every, folder, console, statistics=statistics, seen_only=seen_only)
    console.say_files(files)
    console.finish({"scans": rows, "notes": console.notes, "files": files})
    raise_failures(rows, FITS)


def _write_comparison(
    rows: Rows, folder: Path, console: Console, *, statistics: bool, seen_only: bool
) -> dict[str, Path]:
    """The gallery of all scans and, if asked for, their statistics."""
    found = _statistics(rows, folder, console, seen_only=seen_only) if statistics else {}
    write_fit_gallery(folder, [{**row, "state": FITS.lasting(row["state"])} for row in rows], found)
    return {"gallery": folder / GALLERY, **found}


def _check_statistics(entries: Sequence[PairEntry]) -> None:
    """Raise ValueError if these scans can't be compared, before anything is computed."""
    if len(entries) < 2:
        raise ValueError("--statistics compares the templates fitted to many scans; give a folder of scans or --pairs")
    first = entries[0].whole
    other = next((entry.whole for entry in entries if entry.whole.resolve() != first.resolve()), None)
    if other is not None:
        raise ValueError(f"--statistics needs one template for all scans; these have {first} and {other}")


def _statistics(rows: Rows, folder: Path, console: Console, *, seen_only: bool) -> dict[str, Path]:
    """The files of the mean shape and the components of what was fitted; none, with a note, of fewer than two scans."""
    fitted = [row for row in rows if row["state"] != FAILED]
    if len(fitted) < 2:
        console.note(f"no statistics: they need at least two fitted scans, and there are {len(fitted)}")
        return {}
    doubted = [row["name"] for row in fitted if row["warnings"]]
    if doubted:
        console.note(
            f"{counted(len(doubted), 'scan')} with warnings counted in the statistics: {', '.join(doubted)}; move those that "
            "do not belong elsewhere, and run the same command again"
        )
    try:
        return write_statistics(folder, [row["name"] for row in fitted], seen_only=seen_only)
    except ValueError as error:
        # the fits are worth a gallery all the same
        console.note(f"no statistics: {error}")
        return {}


def _print_summary(console: Console, summary: dict[str, Any]) -> None:
    for text in summary["notes"]:
        console.note(text)
    console.table(summary_rows(summary), head=("", f"{Path(summary['template']).name} → {Path(summary['scan']).name}"))
    for text in summary["warnings"]:
        console.say(f"warning: {text}")
    if not summary["warnings"]:
        console.say("no warnings")
    console.say_files(summary["files"])
