"""`partwhole view`: a result, or two surfaces, in the browser; or as one file to send to somebody."""

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
from partwhole.cli.shared.learning import chosen_cache
from partwhole.cli.shared.match_output import MAP, SUMMARY
from partwhole.cli.shared.models import model_file, offered_models
from partwhole.cli.shared.options import JsonOption, MethodOption, QuietOption, SoundOption
from partwhole.cli.shared.overwriting import check_file
from partwhole.matching.network.built_in import box
from partwhole.store.cache import Cache

if TYPE_CHECKING:
    from partwhole.viewer.page.scene import Scene
    from partwhole.viewer.page.session import Session


def view(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RESULT | PART [WHOLE]]", help="A folder that match wrote, or mesh files; none: drop them."
        ),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write the page as one file that works offline, and end.")
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where the part's vertices truly lie: .vts or .npz; shows errors."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME|PATH",
            autocompletion=offered_models,
            help="What to match with, where there is no map.",
        ),
    ] = "default",
    method: MethodOption = "fast_marching",
    sound: SoundOption = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the address; 0: any that is free.")] = 0,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = True,
    cache: Annotated[
        bool,
        typer.Option(
            "--cache/--no-cache", help="Keep large surfaces as they are drawn, so that they open at once again."
        ),
    ] = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """See which point goes where, how sure that is, and which distances can be trusted.

    Serves a page to this machine alone until Ctrl-C. Without arguments it waits for two meshes to be dropped on it.
    """
    from partwhole.viewer.page.results import read_scene
    from partwhole.viewer.page.session import Session

    console = Console(as_json=as_json, quiet=quiet)
    weights = _weights(model)
    if export is not None:
        if export.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"--export {export} would be a page; give a name that ends in .html")
        check_file(export, [*_opened(paths or []), truth, Path(weights), box()], option="--export")
    scene = None
    if paths:
        with console.warnings_as_notes():
            scene = read_scene(paths, truth=truth)
    elif truth is not None:
        raise ValueError("--truth needs a result to compare with; give its folder")
    if export is not None:
        if method != "fast_marching" or sound:
            console.note("--method and --sound are for the page that is served; a report measures along edges")
        _exported(scene, export, weights, chosen_cache(cache, console), console)
    else:
        session = Session(None, method=method, sound=sound, model=weights, cache=chosen_cache(cache, console))
        _served(scene, session, console, port=port, open_browser=open_browser)


def _weights(model: str) -> str | Path:
    """The file that is meant; `default` stays a name, since without it the page can still show what needs no map."""
    if model == "default":
        return model
    return model_file(model)


def _opened(paths: list[Path]) -> list[Path]:
    """Meshes, or the files of a result that are read."""
    of_result = (MAP, SUMMARY, "part.ply", "whole.ply")
    return [path for path in paths if not path.is_dir()] + [
        path / name for path in paths if path.is_dir() for name in of_result
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
        sys.stdout.flush()  # whoever reads it through a pipe waits for the address
        if open_browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:  # the way to end it, not a failure
            console.say("closed")
    _end_at_once(before)


def _end_at_once(before: Collection[threading.Thread]) -> None:
    """End the program if threads that were started since still compute: Python would wait for them, and nobody needs it."""
    if any(thread.is_alive() for thread in set(threading.enumerate()).difference(before)):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
