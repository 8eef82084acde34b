"""`partwhole`, the program: commands, and how errors end it.

Exit codes: 0 done; 2 bad input, with one line on stderr; 130 interrupted; 1 a fault of this library.
"""

from __future__ import annotations

import difflib
import io
import re
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache as cache_result
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
import typer.main

from partwhole._version import __version__
from partwhole.cli.commands.cache import cache
from partwhole.cli.commands.dataset import dataset
from partwhole.cli.commands.demo import demo
from partwhole.cli.commands.embed import embed
from partwhole.cli.commands.evaluate import evaluate
from partwhole.cli.commands.mask import mask
from partwhole.cli.commands.match import match
from partwhole.cli.commands.models import models
from partwhole.cli.commands.train import train
from partwhole.cli.commands.view import view
from partwhole.experiments.reproduce import reproduce

_INTERRUPTED = 130

# reading all signatures takes a twentieth of a second
get_command = cache_result(typer.main.get_command)

app = typer.Typer(
    name="partwhole",
    add_completion=True,
    rich_markup_mode="markdown",  # joins the lines of a paragraph
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: partwhole demo",
)
app.command(epilog="Example: partwhole mask scan.ply --method dijkstra --output scan-trust")(mask)
app.command(epilog="Example: partwhole demo --output demo-out --vertices 2000 --seed 3")(demo)
app.command(
    epilog="Example: partwhole match scan.ply template.off --output scan-match · "
    "partwhole match scan.stl body.obj --units mm:m --up z --refine 15 · partwhole match scans/ template.off · "
    "partwhole match --pairs list.csv --output all"
)(match)
app.command(epilog="Example: partwhole embed points.csv --method whcie --output points-map")(embed)
app.command(
    epilog="Example: partwhole train --data scans --output run --validate · "
    "partwhole train --data DIR --set pfaust-h --device cuda --with rotation=30 · partwhole train --resume run"
)(train)
app.command(
    epilog="Example: partwhole evaluate --data DIR --set pfaust-h --model run0 --model run1 --read-out both --output errors"
)(evaluate)
app.command(epilog="Example: partwhole models default")(models)
app.command(epilog="Example: partwhole view scan-match · partwhole view scan-match --export report.html")(view)
app.command(epilog="Example: partwhole cache · partwhole cache --trim 5GB · partwhole cache --clear")(cache)
app.add_typer(dataset, name="dataset")
app.add_typer(reproduce, name="reproduce")


def _print_version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"partwhole {__version__}")
        raise typer.Exit()
    return wanted


@app.callback()
def partwhole(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error; works in any place.")] = False,
) -> None:
    """Match a part of a surface to its whole, and know which distances on the part can be trusted.

    A scan with holes is a part of a surface; a hole makes detours, so distances on it may be wrong. The criteria prove
    which ones are right, and a network that is trained with these alone finds where each vertex of a part belongs.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code; arguments are those of the command line unless given."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    # wherever it stands: it is remembered when a command has just failed, and added at its end
    given = [word for word in given if word != "--debug"]
    for stream in (sys.stdout, sys.stderr):
        # names of files may hold what the terminal, or any text, has no signs for
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with _termination_unwinds():
            command = get_command(app)
            # a command returns nothing; what comes back is the code of typer.Exit, as after --version
            code = command.main(args=_or_help(command, given), prog_name="partwhole", standalone_mode=False) or 0
            if code == _INTERRUPTED:  # what newer releases of Typer make of an interruption
                raise KeyboardInterrupt
            return code
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted; nothing half-written was left behind", debug=False)
        return _INTERRUPTED
    except (ValueError, OSError) as error:
        _complain(with_near_file(_described(error), given), debug=debug)
        return 2
    except MemoryError as error:
        _complain(f"not enough memory ({error or 'no more is said'}); use --rows with a smaller number", debug=debug)
        return 2
    except Exception as error:
        # errors in the arguments, known by what they can do: their class lies elsewhere in other releases of Typer
        if hasattr(error, "format_message"):
            _complain(in_our_words(error.format_message()), debug=debug)
            return 2
        _complain(f"a fault of partwhole, {type(error).__name__}: {error}; please report it with --debug", debug=debug)
        return 1


def _or_help(command: Any, given: list[str]) -> list[str]:
    """What was given, and --help where it names no command, as in `partwhole` and `partwhole dataset`."""
    for word in given:
        command = getattr(command, "commands", {}).get(word)
    return [*given, "--help"] if hasattr(command, "commands") else given


@contextmanager
def _termination_unwinds() -> Iterator[None]:
    """While it lasts, a request to terminate ends the program as an exit does, so that temporary files are removed."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, leave)
    except ValueError:  # not the main thread, which alone may do this
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _described(error: ValueError | OSError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def in_our_words(message: str) -> str:
    """What Typer says of a mistake in the arguments, with the choice that was probably meant.

    >>> in_our_words("No such option: --moddel (Possible options: --yaw-steps, --model)")
    'there is no option --moddel; did you mean --model?'
    >>> in_our_words("Invalid value for '--method': 'exakt' is not one of 'dijkstra', 'exact'.")
    "--method: 'exakt' is not one of 'dijkstra', 'exact'; did you mean 'exact'?"
    """
    option = re.match(r"No such option: (\S+?)(?: \(Possible options: (.*)\)| Did you mean (\S+?)\?)?$", message)
    if option is not None:
        near = difflib.get_close_matches(option[1], (option[2] or option[3] or "").split(", "), n=1)
        return f"there is no option {option[1]}; " + (f"did you mean {near[0]}?" if near else "--help lists them")
    plain = re.sub(r"^Invalid value for '?([^':]+)'?: (?:Value error, )?", r"\1: ", message)
    choice = re.search(r"'([^']*)' is not one of (.*?)\.?$", plain)
    if choice is None:
        return plain
    near = difflib.get_close_matches(choice[1], re.findall(r"'([^']*)'", choice[2]), n=1)
    return plain.removesuffix(".") + (f"; did you mean {near[0]!r}?" if near else "")


def with_near_file(message: str, given: Sequence[str]) -> str:
    """A message about a file that is not there, with the one that was probably meant."""
    for word in given:
        path = Path(word)
        if not path.name or not message.startswith(word):
            continue
        with suppress(OSError, ValueError):  # the folder may not be there either
            if path.exists():
                continue
            near = difflib.get_close_matches(
                path.name, [other.name for other in path.parent.iterdir()], n=1, cutoff=0.7
            )
            if near:
                return f"{message}; did you mean {path.with_name(near[0])}?"
    return message


def _complain(message: str, *, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    print(f"error: {' '.join(message.split())}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
