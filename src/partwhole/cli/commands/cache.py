"""`partwhole cache`: the size of the cache, and how to trim or clear it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from partwhole.cli.shared.console import Console
from partwhole.cli.shared.options import JsonOption, QuietOption
from partwhole.mesh.formats.common import counted
from partwhole.store.cache import Cache, Entry
from partwhole.store.text import bytes_of, size_in_words


def cache(
    trim: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Remove the least recently used entries until at most this much is left: 5GB."
        ),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all entries, and no other files.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show, trim or clear the cache: eigenfunctions, features of wholes, and results of match.

    The folder is PARTWHOLE_CACHE, or ~/.cache/partwhole. When the cache exceeds PARTWHOLE_CACHE_LIMIT, 20 GB if not set,
    the least recently used entries are removed. What is missing is computed again when it is needed.
    """
    console = Console(as_json=as_json, quiet=quiet)
    if clear and trim is not None:
        raise ValueError("--clear removes everything, --trim only a part; give one of them")
    most = 0 if clear else None if trim is None else _size(trim)
    kept = Cache.default()
    removed = kept.clear() if clear else [] if most is None else kept.trim(most)
    entries = kept.entries()
    size = _total(entries)
    if most is not None and size > most:
        console.note(
            f"{size_in_words(size)} are left: they can't be removed, or another process has written them since"
        )
    summary = {
        "folder": kept.folder,
        "entries": len(entries),
        "bytes": size,
        "limit": kept.limit,
        "oldest_used": _when(entries[0]) if entries else None,
        "removed_entries": len(removed),
        "removed_bytes": _total(removed),
        "notes": console.notes,
    }
    if most is not None:
        console.say(f"removed {_counted(len(removed))}, {size_in_words(_total(removed))}")
    _print_summary(console, summary)
    console.finish(summary)


def _size(text: str) -> int:
    try:
        return bytes_of(text)
    except ValueError as error:
        raise ValueError(f"--trim: {error}") from None


def _when(entry: Entry) -> str:
    return datetime.fromtimestamp(entry.used).astimezone().isoformat(" ", "seconds")


def _total(entries: list[Entry]) -> int:
    return sum(entry.size for entry in entries)


def _counted(number: int) -> str:
    return counted(number, "entry", "entries")


def _print_summary(console: Console, summary: dict[str, Any]) -> None:
    limit = "no limit" if summary["limit"] is None else f"at most {size_in_words(summary['limit'])} are kept"
    console.say(f"{summary['folder']}: {_counted(summary['entries'])}, {size_in_words(summary['bytes'])}; {limit}")
    if summary["oldest_used"] is not None:
        console.say(f"the least recently used entry is from {summary['oldest_used'][:16]}")
