"""`partwhole match`: where each vertex of a part belongs on its whole, and how sure that is."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from partwhole.cli.shared.console import Console, output_folder
from partwhole.cli.shared.learning import Device, DeviceOption, Stages, chosen_cache, ready, stages
from partwhole.cli.shared.match_output import WRITES, lines_of, summary_of, write_map, write_pictures, write_summary
from partwhole.cli.shared.memory import told_plainly
from partwhole.cli.shared.models import model_file, named_model, offered_models
from partwhole.cli.shared.options import JsonOption, OutputOption, QuietOption
from partwhole.cli.shared.overwriting import below, check_folder
from partwhole.cli.shared.pair_list import TABLE, Entry, list_beside, match_list, pair_folders, read_list, said_of
from partwhole.matching.cache.results import cached_result, content_of, result_key, store_result
from partwhole.matching.network.built_in import model_path
from partwhole.matching.scans.prepare import Scans, prepare_scans, read_scans
from partwhole.matching.scans.templates import Templates
from partwhole.store.cache import Cache

if TYPE_CHECKING:
    from partwhole.matching.matcher import Matcher
    from partwhole.matching.result import MatchResult

_FILES = "an OFF, OBJ, PLY, STL or GLB file"


def match(
    part: Annotated[
        Path | None,
        typer.Argument(metavar="PART", help=f"The part: {_FILES}; or a folder of parts.", show_default=False),
    ] = None,
    whole: Annotated[
        Path | None,
        typer.Argument(
            metavar="WHOLE", help="The whole it belongs to, or they all; or a folder of wholes.", show_default=False
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(metavar="LIST.csv", help="Many pairs: columns part, whole and perhaps name. Can be gone on with."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME|PATH",
            autocompletion=offered_models,
            help="A model in the box, weights, or the folder of a run.",
        ),
    ] = "default",
    refine: Annotated[
        int, typer.Option(min=0, metavar="STEPS", help="Steps of refinement on the pair, such as 15; 0 for none.")
    ] = 0,
    read_out: Annotated[
        Literal["lateration", "spectral", "features", "zoomout"],
        typer.Option(
            help="How the map is read: nearest features, smoothed through eigenfunctions, then by distances or by ZoomOut."
        ),
    ] = "lateration",
    units: Annotated[
        str, typer.Option(help="auto, same, any (unknown), a factor for the part, or those of part and whole: mm:m.")
    ] = "auto",
    up: Annotated[
        str | None,
        typer.Option(
            metavar="AXIS",
            help="Up in the files: y, z, -z …, z:y for part and whole, auto; else the model's, if it fits.",
        ),
    ] = None,
    yaw_steps: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="Turns about the vertical to try; else as many as the model asks for."),
    ] = None,
    repair: Annotated[
        bool | None,
        typer.Option(
            "--repair/--no-repair", help="Mend both meshes; if not given, only one that can't be read otherwise."
        ),
    ] = None,
    max_vertices: Annotated[
        int,
        typer.Option(
            min=100, help="Of the whole as it is matched; larger ones are decimated, and the map lifted back."
        ),
    ] = 5000,
    pictures: Annotated[bool, typer.Option("--pictures/--no-pictures", help="Draw the map and its confidence.")] = True,
    output: OutputOption = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="What --output writes, and report.html: one page to look at and to send on."),
    ] = None,
    device: DeviceOption = "cpu",
    cache: Annotated[
        bool,
        typer.Option(
            "--cache/--no-cache",
            help="Answer what was asked before from PARTWHOLE_CACHE or ~/.cache/partwhole, and keep what is found there.",
        ),
    ] = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Find where each vertex of a part belongs on its whole.

    Writes map.npz, map.csv and map.vts, part.ply and whole.ply in matching colours, pictures and a summary, by default into
    a folder named after the part. What was assumed, what is doubtful and what may be wrong is said.

    With a folder of parts, or a list, each pair gets a folder of its own, and pairs.csv says how each one ended. The wholes
    of a folder go with the parts that are called alike, or as a pairs.csv beside both folders says. The same command
    goes on where it was interrupted.
    """
    console = Console(as_json=as_json, quiet=quiet)
    if pairs is None and whole is None:
        raise ValueError("give a part and a whole, or --pairs with a list of them")
    if output is not None and report is not None:
        raise ValueError("--report writes what --output does, and more; give one of them")
    if pairs is not None and part is not None:
        raise ValueError("give a part and a whole, or --pairs, not both")
    asked = _asked(part, whole, pairs)
    # a name that is not in the box is said before anything is computed
    weights = model_path(model)
    place = output or report or asked.place
    check_folder(
        place,
        asked.writes,
        [*asked.reads, weights / "model.safetensors" if weights.is_dir() else weights],
        option="--output" if report is None else "--report",
    )
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
    }
    work = _Work(choices, device, chosen_cache(cache, console), console, page=report is not None)
    if asked.many:
        ready(device)
        _many(list(asked.entries), output_folder(place), choices, work, console)
        return
    summary = work(asked.entries[0], place)
    _tell(console, summary)
    console.finish({**summary, "notes": console.notes})


@dataclass(frozen=True)
class _Asked:
    """The pairs that are asked for, the list that says so if there is one, and where results go unless it is said."""

    entries: Sequence[Entry]
    place: Path
    listed: Path | None = None
    many: bool = True

    @property
    def reads(self) -> list[Path | None]:
        return [self.listed, *(file for entry in self.entries for file in (entry.part, entry.whole))]

    @property
    def writes(self) -> list[str]:
        if not self.many:
            return list(WRITES)
        return [TABLE, *(file for entry in self.entries for file in below(entry.name, WRITES))]


def _asked(part: Path | None, whole: Path | None, pairs: Path | None) -> _Asked:
    if pairs is not None:
        return _Asked(read_list(pairs), Path(f"{pairs.stem}-matches"), pairs)
    assert part is not None
    assert whole is not None
    if not (part.is_dir() or whole.is_dir()):
        return _Asked([Entry("", part, whole)], Path(f"{part.stem}-match"), many=False)
    listed = list_beside(part, whole)
    entries = pair_folders(part, whole) if listed is None else read_list(listed, part, whole)
    return _Asked(entries, Path(f"{part.resolve().stem}-matches"), listed)


class _Work:
    """Matches one pair after the other with one network."""

    def __init__(
        self, choices: dict[str, Any], device: Device, cache: Cache | None, console: Console, *, page: bool
    ) -> None:
        self.choices, self.device, self.cache, self.console, self.page = choices, device, cache, console, page
        self._matcher: Matcher | None = None
        self._recall = Templates()
        self._weights = "" if cache is None else content_of(model_file(choices["model"]))

    def __call__(self, entry: Entry, place: Path) -> dict[str, Any]:
        """Match a pair into a folder, and give its summary."""
        start = time.perf_counter()
        with told_plainly(), stages(self.console) as report:
            found = self._found(entry, report)
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

    def _found(self, entry: Entry, report: Stages) -> MatchResult:
        """The map: from the cache, if the same was asked before."""
        given = read_scans(
            _existing(entry.part), _existing(entry.whole), repair=self.choices["repair"], progress=report
        )
        if self.cache is None:
            return self._matched(given, report)
        # what is drawn, and how files were read, is no part of the question
        choices = {name: value for name, value in self.choices.items() if name not in ("pictures", "repair")}
        asked = result_key(given, self._weights, {**choices, "device": self.device})
        found = cached_result(self.cache, asked, given)
        if found is None:
            found = self._matched(given, report)
            store_result(self.cache, asked, found, given)
        return found

    def _matched(self, given: Scans, report: Stages) -> MatchResult:
        chosen = {name: self.choices[name] for name in ("units", "max_vertices")}
        with _torch_meanwhile():
            inputs = prepare_scans(given, **chosen, recall=self._recall, progress=report)
            if self.device == "cpu":
                # what nearly every network asks for; another one computes its own
                inputs.distances("fast_marching")
        if self._matcher is None:
            ready(self.device)
            self._matcher = named_model(self.choices["model"], self.device)
        from partwhole.matching.pipeline import match_scans

        knobs = {name: self.choices[name] for name in ("refine", "read_out", "up", "yaw_steps")}
        return match_scans(inputs, self._matcher, **knobs, cache=self.cache, progress=report)


def _write_page(folder: Path) -> None:
    """The page that `partwhole view` shows, as one file."""
    from partwhole.viewer.page.export import export_report
    from partwhole.viewer.page.results import read_result

    export_report(read_result(folder).simplified(), folder / "report.html")


@contextmanager
def _torch_meanwhile() -> Iterator[None]:
    """Imports torch while something else is computed: a second that need not be waited for."""

    def load() -> None:
        # whoever needs it says what is wrong with it
        with suppress(Exception):
            import torch  # noqa: F401

    thread = threading.Thread(target=load)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ValueError(f"{path} is no file; give {_FILES}")
    return path


def _many(entries: list[Entry], folder: Path, choices: dict[str, Any], work: _Work, console: Console) -> None:
    rows = match_list(entries, folder, choices, work, console)
    console.say(said_of(rows))
    console.say(f"wrote {folder / TABLE}")
    console.finish({"pairs": rows, "notes": console.notes, "files": {"pairs": folder / TABLE}})
    failed = [row for row in rows if row["state"] == "failed"]
    if failed:
        raise ValueError(
            f"{len(failed)} of {len(rows)} pairs could not be matched; the first is {failed[0]['name']}: "
            f"{failed[0]['reason']}"
        )


def _tell(console: Console, summary: dict[str, Any]) -> None:
    for text in summary["notes"]:
        console.note(text)
    if summary["from_cache"]:
        console.note("the map is from the cache: the same was asked before (--no-cache matches anew)")
    console.table(lines_of(summary), head=("", f"{Path(summary['part']).name} → {Path(summary['whole']).name}"))
    for text in summary["warnings"]:
        console.say(f"warning: {text}")
    if not summary["warnings"]:
        console.say("nothing speaks against the map")
    for file in summary["files"].values():
        console.say(f"wrote {file}")
