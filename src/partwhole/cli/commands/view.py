"""`partwhole view`: a result, or two surfaces, in the browser; or as one HTML file to share."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from partwhole.cli.shared.console import Console
from partwhole.cli.shared.match_output import MAP, SUMMARY
from partwhole.cli.shared.options import (
    JsonOption,
    MethodOption,
    ModelOption,
    QuietOption,
    SoundOption,
    check_file,
    model_file,
    open_cache,
)
from partwhole.matching.network.weights import models_folder
from partwhole.saved import files_of
from partwhole.store.cache import Cache

if TYPE_CHECKING:
    from partwhole.viewer.page.scene import Scene
    from partwhole.viewer.page.session import Session


def view(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RESULT | PART [WHOLE]]",
            help="A folder that match or fit wrote, or mesh files; without any, drop them on the page.",
        ),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write the page as one file that works offline, and exit.")
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Ground truth of the part's vertices, to show errors: .vts or .npz."),
    ] = None,
    model: ModelOption = "default",
    method: MethodOption = "fast_marching",
    sound: SoundOption = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0: any that is free.")] = 0,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = True,
    cache: Annotated[
        bool,
        typer.Option(
            "--cache/--no-cache",
            help="Cache simplified versions of large surfaces, so that they open faster next time.",
        ),
    ] = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Look at a map, its confidence, a fitted template, and which distances can be trusted, in the browser.

    Serves a page to this machine only, until Ctrl-C. Without arguments, drop two meshes on the page. Where there is no map
    yet, part and whole are matched with --model.
    """
    from partwhole.viewer.page.results import read_scene
    from partwhole.viewer.page.session import Session

    console = Console(as_json=as_json, quiet=quiet)
    weights = _weights(model)
    if export is not None:
        if export.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"--export {export} is an HTML page; give a name that ends in .html")
        check_file(export, [*_opened(paths or []), truth, Path(weights), models_folder()], option="--export")
    scene = None
    if paths:
        with console.warnings_as_notes():
            scene = read_scene(paths, truth=truth)
    elif truth is not None:
        raise ValueError("--truth needs a result to compare with; give its folder")
    if export is not None:
        if method != "fast_marching" or sound:
            console.note("--method and --sound are for the page that is served; a report measures along edges")
        _exported(scene, export, weights, open_cache(cache, console), console)
    else:
        session = Session(None, method=method, sound=sound, model=weights, cache=open_cache(cache, console))
        _served(scene, session, console, port=port, open_browser=open_browser)


def _weights(model: str) -> str | Path:
    """The file of the model; `default` stays a name, since the page can do without it where no map is needed."""
    if model == "default":
        return model
    return model_file(model)


def _opened(paths: list[Path]) -> list[Path]:
    """The files that are read: meshes, or those of a result."""
    of_result = (MAP, SUMMARY, "part.ply", "whole.ply")
    folders = [path for path in paths if path.is_dir()]
    return [
        *(path for path in paths if not path.is_dir()),
        *(folder / name for folder in folders for name in of_result),
        *(file for folder in folders for file in files_of(folder)),
    ]


def _exported(scene: Scene | None, path: Path, weights: str | Path, cache: Cache | None, console: Console) -> None:
    from partwhole.viewer.page.export import export_report
    from partwhole.viewer.page.matching import NoModel, matched

    if scene is None:
        raise ValueError("--export needs something to show; give the folder of a result, or meshes")
    if scene.is_large:
        console.say("simplifying large surfaces for display …")
        scene = scene.simplified(cache=cache)
    for note in scene.notes:
        console.note(note)
    if scene.whole is not None and scene.vertex_map is None:
        try:
            scene = matched(scene, model=weights, tell=console.say)
        except NoModel as missing:
            console.note(str(missing))
    export_report(scene, path)
    console.say(f"wrote {path}")
    console.finish({"export": path, "bytes": path.stat().st_size, "notes": console.notes})


def _served(scene: Scene | None, session: Session, console: Console, *, port: int, open_browser: bool) -> None:
    from partwhole.viewer.page.server import PageServer

    before = threading.enumerate()
    with PageServer(session, port=port) as server:
        if scene is not None:
            session.open(scene)
        console.say(f"open {server.address} (Ctrl-C ends)")
        console.finish({"address": server.address, "notes": console.notes})
        sys.stdout.flush()  # who reads this through a pipe needs the address now
        if open_browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:  # the usual end, not a failure
            console.say("closed")
    _end_at_once(before)


def _end_at_once(before: Collection[threading.Thread]) -> None:
    """End the program if threads that were started since still compute, since Python would wait for them."""
    if any(thread.is_alive() for thread in set(threading.enumerate()).difference(before)):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
