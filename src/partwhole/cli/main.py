"""The program `partwhole`: its commands, and how it reports errors.

Exit codes: 0 success; 2 bad input, with one line on stderr; 130 interrupted; 1 an internal error.
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
from partwhole.cli.commands.fit import fit
from partwhole.cli.commands.mask import mask
from partwhole.cli.commands.match import match
from partwhole.cli.commands.models import models
from partwhole.cli.commands.train import train
from partwhole.cli.commands.transfer import transfer
from partwhole.cli.commands.view import view
from partwhole.experiments.matching.method_comparison import benchmark
from partwhole.experiments.reproduce import reproduce

_INTERRUPTED = 130

# reading all signatures takes 50 ms
get_command = cache_result(typer.main.get_command)


def _examples(*commands: str) -> str:
    """The last lines of the help of a command: a paragraph for each example."""
    return "\n\n".join(f"Example: {command}" for command in commands)


app = typer.Typer(
    name="partwhole",
    add_completion=True,
    rich_markup_mode="markdown",  # joins the lines of a paragraph
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_examples("partwhole demo", "partwhole match scan.ply template.off"),
)
app.command(
    epilog=_examples(
        "partwhole mask scan.ply --method dijkstra --output scan-trust", "partwhole mask scans/ --engine processes"
    )
)(mask)
app.command(epilog=_examples("partwhole demo", "partwhole demo --output demo-out --vertices 2000 --seed 3"))(demo)
app.command(
    epilog=_examples(
        "partwhole match scan.ply template.off --output scan-match",
        "partwhole match scan.stl body.obj --units mm:m --up z --refine 15",
        "partwhole match scans/ template.off",
        "partwhole match scan.ply template.off --landmarks both.csv",
        "partwhole match --pairs list.csv --output all",
        "partwhole match --pairs list.csv --engine dask --scheduler tcp://head:8786",
        "partwhole match left.ply right.ply --both-partial",
    )
)(match)
app.command(
    epilog=_examples(
        "partwhole fit scan.ply template.off --output scan-fit",
        "partwhole fit scan.stl body.obj --units mm:m --hold symmetric",
        "partwhole fit scans/ template.off --statistics",
        "partwhole fit --pairs list.csv --output all",
        "partwhole fit scans/ template.off --shard 0/3",
    )
)(fit)
app.command(
    epilog=_examples(
        "partwhole embed points.csv --output points-map", "partwhole embed scan.ply --method isomap --components 3"
    )
)(embed)
app.command(
    epilog=_examples(
        "partwhole train --data scans --output run --validate",
        "partwhole train --data DIR --set pfaust-h --device cuda --with rotation=30",
        "partwhole train --recipe default --assets DIR --device cuda --output model",
        "partwhole train --resume run",
    )
)(train)
app.command(
    epilog=_examples(
        "partwhole evaluate --data scans --model run",
        "partwhole evaluate --data DIR --set pfaust-h --model run0 --model run1 --read-out both --output errors",
    )
)(evaluate)
app.command(
    epilog=_examples(
        "partwhole benchmark --data DIR --set pfaust-h --output errors",
        "partwhole benchmark --data scans --methods descriptors,fsp+zoomout,default --turn-parts",
    )
)(benchmark)
app.command(epilog=_examples("partwhole models", "partwhole models default"))(models)
app.command(
    epilog=_examples(
        "partwhole transfer scan-match labels.csv landmarks.mrk.json --output scan-labels",
        "partwhole transfer scan-match textured-template.glb",
        "partwhole transfer scan-match temperature.npy --to whole --reach 0.01",
    )
)(transfer)
app.command(epilog=_examples("partwhole view scan-match", "partwhole view scan-match --export report.html"))(view)
app.command(
    epilog=_examples(
        "partwhole cache",
        "partwhole cache verify s3://bucket/cache",
        "partwhole cache prune --unused 30d",
        "partwhole cache --trim 5GB",
        "partwhole cache --clear",
    )
)(cache)
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
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Match a part of a surface to its whole, and know which distances on the part can be trusted.

    A scan with holes is a part of a surface. Paths go around the holes, so some distances on the part are too long. The
    criteria prove which distances are right, and networks that are trained with these distances match part and whole.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code; arguments are those of the command line unless given."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    # wherever it stands: users add it at the end of a command that failed
    given = [word for word in given if word != "--debug"]
    for stream in (sys.stdout, sys.stderr):
        # names of files may hold characters that the terminal can't show
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with termination_unwinds():
            command = get_command(app)
            # commands return None; a number is the exit code of typer.Exit, as after --version
            code = command.main(args=_or_help(command, given), prog_name="partwhole", standalone_mode=False) or 0
            if code == _INTERRUPTED:  # newer releases of typer return this after Ctrl-C
                raise KeyboardInterrupt
            return code
    except (KeyboardInterrupt, typer.Abort):
        _print_error("interrupted; nothing half-written was left behind", debug=False)
        return _INTERRUPTED
    except (ValueError, OSError) as error:
        _print_error(with_near_file(_described(error), given), debug=debug)
        return 2
    except MemoryError as error:
        _print_error(f"not enough memory ({error or 'no details'}); use --rows with a smaller number", debug=debug)
        return 2
    except Exception as error:
        # errors in the arguments; their class is elsewhere in other releases of typer
        if hasattr(error, "format_message"):
            _print_error(plain_usage_error(error.format_message()), debug=debug)
            return 2
        _print_error(
            f"internal error, {type(error).__name__}: {error}; please report it with the output of --debug", debug=debug
        )
        return 1


def _or_help(command: Any, given: list[str]) -> list[str]:
    """The given words, with --help where they name no command, as in `partwhole` and `partwhole dataset`."""
    for word in given:
        command = getattr(command, "commands", {}).get(word)
    return [*given, "--help"] if hasattr(command, "commands") else given


@contextmanager
def termination_unwinds() -> Iterator[None]:
    """In the block, SIGTERM ends the program as an exit does, so that temporary files are removed."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, leave)
    except ValueError:  # not the main thread, which alone may set handlers
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


def plain_usage_error(message: str) -> str:
    """Typer's message about a mistake in the arguments, in short, with the choice that was probably meant.

    >>> plain_usage_error("No such option: --moddel (Possible options: --yaw-steps, --model)")
    'there is no option --moddel; did you mean --model?'
    >>> plain_usage_error("Invalid value for '--method': 'exakt' is not one of 'dijkstra', 'exact'.")
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
    """A message about a file that was not found, with the one that was probably meant."""
    for word in given:
        path = Path(word)
        if not path.name or word.startswith("-") or not message.startswith((word, f"file not found: {word}")):
            continue
        with suppress(OSError, ValueError):  # the folder may be missing too
            if path.exists():
                continue
            near = difflib.get_close_matches(
                path.name, [other.name for other in path.parent.iterdir()], n=1, cutoff=0.7
            )
            if near:
                return f"{message}; did you mean {path.with_name(near[0])}?"
    return message


def _print_error(message: str, *, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    print(f"error: {' '.join(message.split())}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
