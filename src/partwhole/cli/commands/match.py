"""`partwhole match`: where each vertex of a part belongs on its whole, and how sure that is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from partwhole.cli.shared.console import Console, plain_memory_errors
from partwhole.cli.shared.imported import can_be_cached, imported_method
from partwhole.cli.shared.match_batch import (
    TABLE,
    Entry,
    count_states,
    landmark_files,
    list_beside,
    match_list,
    pair_folders,
    read_list,
)
from partwhole.cli.shared.match_output import (
    WRITES,
    summary_of,
    summary_rows,
    write_map,
    write_pictures,
    write_summary,
)
from partwhole.cli.shared.options import (
    Device,
    DeviceOption,
    JsonOption,
    MethodModelOption,
    OutputOption,
    QuietOption,
    RefineOption,
    below,
    check_folder,
    check_torch,
    is_import_path,
    model_file,
    open_cache,
    output_folder,
)
from partwhole.matching.config import MatchOptions
from partwhole.matching.network.weights import model_path
from partwhole.matching.session import MatchSession
from partwhole.mesh.formats.common import counted
from partwhole.store.cache import Cache

if TYPE_CHECKING:
    from partwhole.matching.search.method import Method

_FILES = "an OFF, OBJ, PLY, STL, GLB or VTK file"

PartArgument = Annotated[
    Path | None, typer.Argument(metavar="PART", help=f"The part: {_FILES}, or a folder of parts.", show_default=False)
]
WholeArgument = Annotated[
    Path | None,
    typer.Argument(metavar="WHOLE", help="The whole, one for all parts; or a folder of wholes.", show_default=False),
]
PairsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="LIST.csv", help="Match many pairs: a table with columns part, whole and, if you like, name. Resumable."
    ),
]
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
MaxVerticesOption = Annotated[
    int,
    typer.Option(
        min=100,
        help="A whole with more vertices is decimated before matching, its part likewise, and the map is lifted back.",
    ),
]
PicturesOption = Annotated[bool, typer.Option("--pictures/--no-pictures", help="Draw the map and its confidence.")]
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


def match(
    part: PartArgument = None,
    whole: WholeArgument = None,
    pairs: PairsOption = None,
    model: MethodModelOption = "default",
    refine: RefineOption = 0,
    read_out: ReadOutOption = "lateration",
    units: UnitsOption = "auto",
    up: UpOption = None,
    yaw_steps: YawStepsOption = None,
    repair: RepairBothOption = None,
    max_vertices: MaxVerticesOption = 5000,
    landmarks: LandmarksOption = None,
    pictures: PicturesOption = True,
    output: OutputOption = None,
    report: ReportOption = None,
    device: DeviceOption = "cpu",
    cache: ResultCacheOption = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Find where each vertex of a part belongs on its whole.

    Writes map.npz, map.csv and map.vts, part.ply and whole.ply in matching colours, pictures and a summary, by default into
    a folder named after the part. The summary lists assumptions, doubtful regions and warnings.

    With a folder of parts, or a list of pairs, each pair gets its own folder, and pairs.csv has a row for each. Parts and
    wholes in two folders are paired by their names, or by a pairs.csv beside both folders. If it is interrupted, run the
    same command again to resume.
    """
    console = Console(as_json=as_json, quiet=quiet)
    if output is not None and report is not None:
        raise ValueError("--report writes what --output does, and more; give one of them")
    request = _with_landmarks(_requested(part, whole, pairs), landmarks or [], console)
    folder = output or report or request.folder
    _check(request, folder, model, option="--output" if report is None else "--report")
    choices = {
        "model": model,
        "refine": refine,
        "read_out": read_out,
        "units": units,
        "up": up,
        "yaw_steps": yaw_steps,
        "repair": repair,
        "max_vertices": max_vertices,
        "pictures": pictures,
        "landmarks": [str(path) for path in landmarks or ()],
    }
    work = _Work(choices, device, open_cache(cache, console), console, page=report is not None)
    if request.many:
        check_torch(device)
        _match_many(list(request.entries), output_folder(folder), choices, work, console)
        return
    summary = work(request.entries[0], folder)
    _print_summary(console, summary)
    console.finish({**summary, "notes": console.notes})


@dataclass(frozen=True)
class _Request:
    """The pairs to match, the default folder for the results, and the list that names the pairs if there is one."""

    entries: Sequence[Entry]
    folder: Path
    listed: Path | None = None
    many: bool = True

    @property
    def reads(self) -> list[Path | None]:
        return [self.listed, *(file for entry in self.entries for file in (entry.part, entry.whole, *entry.landmarks))]

    @property
    def writes(self) -> list[str]:
        if not self.many:
            return list(WRITES)
        return [TABLE, *(file for entry in self.entries for file in below(entry.name, WRITES))]


def _requested(part: Path | None, whole: Path | None, pairs: Path | None) -> _Request:
    if pairs is not None:
        if part is not None:
            raise ValueError("give a part and a whole, or --pairs, not both")
        return _Request(read_list(pairs), Path(f"{pairs.stem}-matches"), pairs)
    if part is None or whole is None:
        raise ValueError("give a part and a whole, or --pairs with a list of them")
    if not (part.is_dir() or whole.is_dir()):
        return _Request([Entry("", part, whole)], Path(f"{part.stem}-match"), many=False)
    listed = list_beside(part, whole)
    entries = pair_folders(part, whole) if listed is None else read_list(listed, part, whole)
    return _Request(entries, Path(f"{part.resolve().stem}-matches"), listed)


def _with_landmarks(request: _Request, given: list[Path], console: Console) -> _Request:
    """The request with the files of landmarks of each pair."""
    if not given:
        return request
    entries = [replace(entry, landmarks=landmark_files(entry, given, many=request.many)) for entry in request.entries]
    without = sum(not entry.landmarks for entry in entries)
    if without:
        console.note(
            f"{counted(without, 'part')} of {len(entries)} matched without landmarks: no file is named like them"
        )
    return replace(request, entries=entries)


def _check(request: _Request, folder: Path, model: str, *, option: str) -> None:
    """Raise ValueError if there is no such model, or if a file that is read would be overwritten."""
    reads = [*request.reads]
    if not is_import_path(model):
        weights = model_path(model)
        reads.append(weights / "model.safetensors" if weights.is_dir() else weights)
    check_folder(folder, request.writes, reads, option=option)


class _Work:
    """Matches one pair after the other with one network."""

    def __init__(
        self, choices: dict[str, Any], device: Device, cache: Cache | None, console: Console, *, page: bool
    ) -> None:
        self.choices, self.cache, self.console, self.page = choices, cache, console, page
        options = MatchOptions(**{name: choices[name] for name in ("refine", "read_out", "up", "yaw_steps")})
        sizes = {name: choices[name] for name in ("units", "max_vertices")}
        model: Path | Method
        if is_import_path(choices["model"]):
            check_torch(device)
            model = imported_method(choices["model"], device)
            cache = cache if cache is not None and can_be_cached(model, console) else None
        else:
            model = model_file(choices["model"])
        self._session = MatchSession(model, options, **sizes, device=device, cache=cache)

    def __call__(self, entry: Entry, place: Path) -> dict[str, Any]:
        """Match a pair into a folder, and give its summary."""
        start = time.perf_counter()
        with plain_memory_errors(), self.console.stage_progress() as report:
            part, whole = (_existing(path) for path in (entry.part, entry.whole))
            landmarks = list(entry.landmarks) or None
            found = self._session.match(
                part, whole, repair=self.choices["repair"], progress=report, landmarks=landmarks
            )
        folder = output_folder(place)
        # an older summary must not stand beside a newer map
        (folder / "summary.json").unlink(missing_ok=True)
        files = write_map(folder, found)
        seconds = {"in all, to the written map": time.perf_counter() - start}
        if self.choices["pictures"]:
            files |= write_pictures(folder, found, self.cache)
        summary: dict[str, Any] = {
            "part": str(entry.part),
            "whole": str(entry.whole),
            "landmark_files": [str(file) for file in entry.landmarks],
            **summary_of(found),
            "choices": self.choices,
            "files": {**files, "summary.md": folder / "summary.md", "summary.json": folder / "summary.json"},
        }
        summary["seconds"] = {**summary["seconds"], **seconds}
        if self.page:
            summary["files"]["report.html"] = folder / "report.html"
        write_summary(folder, summary)
        if self.page:
            _write_page(folder)
        return summary


def _write_page(folder: Path) -> None:
    """The page that `partwhole view` shows, as one file."""
    from partwhole.viewer.page.export import export_report
    from partwhole.viewer.page.results import read_result

    export_report(read_result(folder).simplified(), folder / "report.html")


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ValueError(f"file not found: {path}; give {_FILES}")
    return path


def _match_many(entries: list[Entry], folder: Path, choices: dict[str, Any], work: _Work, console: Console) -> None:
    rows = match_list(entries, folder, choices, work, console)
    console.say(count_states(rows))
    console.say(f"wrote {folder / TABLE}")
    console.finish({"pairs": rows, "notes": console.notes, "files": {"pairs": folder / TABLE}})
    failed = [row for row in rows if row["state"] == "failed"]
    if failed:
        raise ValueError(
            f"{len(failed)} of {len(rows)} pairs could not be matched; the first is {failed[0]['name']}: "
            f"{failed[0]['reason']}"
        )


def _print_summary(console: Console, summary: dict[str, Any]) -> None:
    for text in summary["notes"]:
        console.note(text)
    if summary["from_cache"]:
        console.note("the map is from the cache, since the same pair was matched before; --no-cache matches it again")
    console.table(summary_rows(summary), head=("", f"{Path(summary['part']).name} → {Path(summary['whole']).name}"))
    for text in summary["warnings"]:
        console.say(f"warning: {text}")
    if not summary["warnings"]:
        console.say("no warnings")
    console.say_files(summary["files"])
