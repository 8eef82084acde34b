"""`partwhole match`: where each vertex of a part belongs on its whole, and how sure that is."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import typer

from partwhole.cli.shared.batch.engine_options import EngineOption, EngineWorkersOption, SchedulerOption, ShardOption
from partwhole.cli.shared.batch.entries import SURFACE_FILES, PairEntry, existing_surface, requested
from partwhole.cli.shared.batch.kind import BatchKind
from partwhole.cli.shared.batch.run import count_states, raise_failures, work_through
from partwhole.cli.shared.console import Console, plain_memory_errors
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
from partwhole.cli.shared.match_output import (
    SUMMARY,
    WRITES,
    summary_of,
    summary_rows,
    write_map,
    write_pictures,
    write_summary,
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
from partwhole.cli.shared.parts_output import match_two_parts
from partwhole.engines.options import EngineOptions
from partwhole.matching.cache.results import without_times
from partwhole.matching.config import READ_OUT, MatchOptions
from partwhole.matching.parts.constants import PARTS_MODEL
from partwhole.matching.scans.prepare import MOST_VERTICES

PartArgument = Annotated[
    Path | None,
    typer.Argument(metavar="PART", help=f"The part: {SURFACE_FILES}, or a folder of parts.", show_default=False),
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
MaxVerticesOption = Annotated[
    int,
    typer.Option(
        min=100,
        help="A whole with more vertices is decimated before matching, its part likewise, and the map is lifted back.",
    ),
]
PicturesOption = Annotated[bool, typer.Option("--pictures/--no-pictures", help="Draw the map and its confidence.")]

BothPartialOption = Annotated[
    bool,
    typer.Option(
        "--both-partial",
        help="PART and WHOLE are two incomplete scans of one surface: find what they share. The model is any-pose, or "
        "another one whose features do not depend on orientation.",
    ),
]

MergeOption = Annotated[
    Path | None,
    typer.Option(
        "--merge",
        metavar="FILE",
        help="With --both-partial: also write both parts as one surface, the second laid onto the first and bent to fit.",
    ),
]

MATCHES = BatchKind(
    part="part",
    whole="whole",
    noun="pair",
    participle="matched",
    done="done",
    before="finished before",
    result="match",
    result_of_many="matches",
    writes=WRITES,
    summary=SUMMARY,
    table="pairs.csv",
    of_all=(),
    columns={"doubtful": itemgetter("doubtful"), "distortion": itemgetter("distortion")},
    said=lambda row: f"{100 * row['doubtful']:.0f} % doubtful",
    home=f"{__name__}:MATCHES",
)


def match(
    part: PartArgument = None,
    whole: WholeArgument = None,
    pairs: PairsOption = None,
    model: MethodModelOption = "default",
    refine: RefineOption = 0,
    read_out: ReadOutOption = READ_OUT,
    units: UnitsOption = "auto",
    up: UpOption = None,
    yaw_steps: YawStepsOption = None,
    repair: RepairBothOption = None,
    max_vertices: MaxVerticesOption = MOST_VERTICES,
    landmarks: LandmarksOption = None,
    both_partial: BothPartialOption = False,
    merge: MergeOption = None,
    pictures: PicturesOption = True,
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
    """Find where each vertex of a part belongs on its whole.

    Writes map.npz, map.csv and map.vts, part.ply and whole.ply in matching colours, pictures and a summary, by default into
    a folder named after the part. The summary lists assumptions, doubtful regions and warnings.

    With --both-partial the two are parts of one whole that is not there: a_to_b.csv and b_to_a.csv name the partner of each
    vertex that they share, a.ply and b.ply are coloured where they do, overlap.png shows it. --merge FILE joins them.

    With a folder of parts, or a list of pairs, each pair gets its own folder, and pairs.csv has a row for each. Parts and
    wholes in two folders are paired by their names, or by a pairs.csv beside both folders. If it is interrupted, run the
    same command again to resume. --engine and --shard process several pairs at the same time, with the same results.
    """
    console = Console(as_json=as_json, quiet=quiet)
    if both_partial:
        given = {
            "--pairs": pairs,
            "--refine": refine,
            "--read-out": read_out != READ_OUT,
            "--units": units != "auto",
            "--up": up,
            "--yaw-steps": yaw_steps,
            "--landmarks": landmarks,
            "--device": device != "cpu",
        }
        a, b = _two_parts(part, whole, given)
        match_two_parts(
            a,
            b,
            folder_given(output, report) or Path(f"{a.stem}-{b.stem}-parts"),
            model=PARTS_MODEL if model == "default" else model,
            repair=repair,
            max_vertices=None if max_vertices == MOST_VERTICES else max_vertices,
            pictures=pictures,
            report=report is not None,
            merge=merge,
            cache=open_cache(cache, console),
            console=console,
        )
        return
    if merge is not None:
        raise ValueError("--merge is for two parts; use it with --both-partial")
    request = requested(MATCHES, part, whole, pairs).with_landmarks(landmarks or [], console)
    folder = folder_given(output, report) or request.folder
    request.check(folder, model, option="--output" if report is None else "--report")
    where = request.engine({"engine": engine, "workers": workers, "scheduler": scheduler, "shard": shard})
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
    settings = {"choices": choices, "device": device, "cache": cache, "page": report is not None}
    if where is not None:
        check_torch(device)
        _match_many(request.entries, output_folder(folder), MatchWork({**settings, "many": True}, console), where)
        return
    work = MatchWork(settings, console)
    summary = work(request.entries[0], folder)
    _print_summary(console, summary)
    console.finish({**summary, "notes": console.notes})


def _two_parts(part: Path | None, whole: Path | None, given: dict[str, Any]) -> tuple[Path, Path]:
    """The two files of --both-partial, without options that are for a part and its whole."""
    misplaced = [option for option, value in given.items() if value]
    if misplaced:
        raise ValueError(f"{misplaced[0]} is for a part and its whole, not for --both-partial")
    if part is None or whole is None:
        raise ValueError("--both-partial takes two files: partwhole match A B --both-partial")
    return existing_surface(part), existing_surface(whole)


class MatchWork:
    """Matches one pair after the other with one network; in another process it is made once from its settings.

    Parameters
    ----------
    settings : choices, device, cache and page, as plain values; many: the time that a match took is not written, so that
        the files of a pair are the same whatever run makes them
    console : for progress and notes
    """

    def __init__(self, settings: Mapping[str, Any], console: Console) -> None:
        self.settings, self.console = settings, console
        self.choices, self.page = settings["choices"], settings["page"]
        self.cache = open_cache(settings["cache"], console)
        options = MatchOptions(**{name: self.choices[name] for name in ("refine", "read_out", "up", "yaw_steps")})
        sizes = {name: self.choices[name] for name in ("units", "max_vertices")}
        self._session = open_session(self.choices["model"], options, settings["device"], self.cache, console, **sizes)

    def __reduce__(self) -> Any:
        # the same cache, whatever the variables of the other process are
        place = False if self.cache is None else self.cache.place
        return match_work, (json.dumps({**self.settings, "cache": place}),)

    def __call__(self, entry: PairEntry, place: Path) -> dict[str, Any]:
        """Match a pair into a folder, and give its summary."""
        start = time.perf_counter()
        with plain_memory_errors(), self.console.stage_progress() as report:
            part, whole = (existing_surface(path) for path in (entry.part, entry.whole))
            landmarks = list(entry.landmarks) or None
            found = self._session.match(
                part, whole, repair=self.choices["repair"], progress=report, landmarks=landmarks
            )
        if self.settings.get("many"):
            found = without_times(found)
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
        if not self.settings.get("many"):
            summary["seconds"] = {**summary["seconds"], **seconds}
        if self.page:
            summary["files"]["report.html"] = folder / "report.html"
        write_summary(folder, summary)
        if self.page:
            _write_page(folder)
        return summary


@lru_cache(maxsize=1)
def match_work(settings: str) -> MatchWork:
    """The work of another process, of which each process has one."""
    return MatchWork(json.loads(settings), Console(quiet=True))


def _write_page(folder: Path) -> None:
    """The page that `partwhole view` shows, as one file."""
    from partwhole.viewer.page.export import export_report
    from partwhole.viewer.page.results import read_result

    export_report(read_result(folder).simplified(), folder / "report.html")


def _match_many(entries: Sequence[PairEntry], folder: Path, work: MatchWork, engine: EngineOptions) -> None:
    console = work.console
    rows = work_through(entries, folder, MATCHES, work.choices, work, console, engine)
    table = folder / MATCHES.table
    console.say(count_states(rows, MATCHES))
    console.say(f"wrote {table}")
    console.finish({"pairs": rows, "notes": console.notes, "files": {"pairs": table}})
    raise_failures(rows, MATCHES)


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
