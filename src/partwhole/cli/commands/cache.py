"""`partwhole cache`: what is in the cache, whether it is whole, and how to make it smaller."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import typer

from partwhole.cli.shared.console import Console
from partwhole.cli.shared.options import JsonOption, QuietOption
from partwhole.mesh.formats.common import counted
from partwhole.store.cache import Cache, Entry
from partwhole.store.text import bytes_of, size_in_words

_SECONDS = {"h": 3600, "d": 86_400, "w": 7 * 86_400}
Action = Literal["du", "ls", "verify", "prune"]


def cache(
    action: Annotated[
        Action | None,
        typer.Argument(
            metavar="[du|ls|verify|prune]",
            help="du: how much there is (default); ls: list the entries; verify: read all, and remove the damaged; prune: "
            "remove some, by --trim or --unused.",
            show_default=False,
        ),
    ] = None,
    place: Annotated[
        str | None,
        typer.Argument(
            metavar="PLACE",
            help="A folder, or an address such as s3://bucket/cache; PARTWHOLE_CACHE if not given.",
            show_default=False,
        ),
    ] = None,
    trim: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Remove the least recently used entries until at most this much is left: 5GB."
        ),
    ] = None,
    unused: Annotated[
        str | None, typer.Option(metavar="TIME", help="Remove what was not used for so long: 12h, 30d or 8w.")
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove all entries, and no other files.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show, check, trim or clear the cache: eigenfunctions, features of wholes, results of match, blocks of matrices.

    The cache is in PARTWHOLE_CACHE, a folder or an address such as s3://bucket/cache, or in ~/.cache/partwhole. When it
    exceeds PARTWHOLE_CACHE_LIMIT, 20 GB if not set, the least recently used entries are removed. What is missing is computed
    again when it is needed.
    """
    console = Console(as_json=as_json, quiet=quiet)
    removes = {"--trim": trim, "--unused": unused, "--clear": clear or None}
    given = [name for name, value in removes.items() if value is not None]
    if action in ("ls", "verify", "du") and given:
        raise ValueError(f"{given[0]} is for partwhole cache prune, not for {action}; leave one out")
    if action == "prune" and not given:
        raise ValueError("say what to remove: --trim SIZE, such as 5GB, or --unused TIME, such as 30d")
    if clear and len(given) > 1:
        raise ValueError(f"--clear removes everything, {given[0]} only a part; give one of them")
    most = 0 if clear else None if trim is None else _size(trim)
    age = None if unused is None else _age(unused)
    kept = Cache.default(tell=console.note) if place is None else Cache(place, tell=console.note)
    if action == "ls":
        _list(kept, console)
        return
    if action == "verify":
        _verify(kept, console)
        return
    removed = kept.clear() if clear else _pruned(kept, most, age)
    _show(kept, removed if given else None, console, most)


def _list(kept: Cache, console: Console) -> None:
    entries = kept.entries()
    for entry in entries:
        console.say("  ".join((entry.name.removesuffix(".npz"), size_in_words(entry.size), _when(entry)[:16])))
    listed = [{"name": entry.name, "bytes": entry.size, "used": _when(entry)} for entry in entries]
    console.finish({"folder": kept.place, "entries": listed, "notes": console.notes})


def _verify(kept: Cache, console: Console) -> None:
    total, damaged = 0, []
    for entry, is_whole in kept.verified():
        total += 1
        if not is_whole:
            console.say(f"damaged: {entry.path}")
            damaged.append(entry)
    removed = kept.remove(damaged)
    console.say(f"{kept.place}: {_counted(total)} read, {len(damaged)} damaged or outdated, {len(removed)} removed")
    summary = {"folder": kept.place, "entries": total, "damaged": [entry.path for entry in damaged]}
    console.finish({**summary, "removed_entries": len(removed), "notes": console.notes})


def _pruned(kept: Cache, most: int | None, age: int | None) -> list[Entry]:
    """Remove what is older than an age, then by size; the entries that were removed."""
    old = [] if age is None else [entry for entry in kept.entries() if entry.used < time.time() - age]
    return kept.remove(old) + ([] if most is None else kept.trim(most))


def _show(kept: Cache, removed: Sequence[Entry] | None, console: Console, most: int | None) -> None:
    """What the cache holds, after something was removed."""
    entries = kept.entries()
    size = _total(entries)
    if most is not None and size > most:
        console.note(
            f"{size_in_words(size)} are left: they can't be removed, or another process has written them since"
        )
    summary = {
        "folder": kept.place,
        "entries": len(entries),
        "bytes": size,
        "limit": kept.limit,
        "oldest_used": _when(entries[0]) if entries else None,
        "removed_entries": len(removed or ()),
        "removed_bytes": _total(removed or ()),
        "notes": console.notes,
    }
    if removed is not None:
        console.say(f"removed {_counted(len(removed))}, {size_in_words(_total(removed))}")
    _print_summary(console, summary)
    console.finish(summary)


def _size(text: str) -> int:
    try:
        return bytes_of(text)
    except ValueError as error:
        raise ValueError(f"--trim: {error}") from None


def _age(text: str) -> int:
    """Seconds of a time such as 30d.

    >>> _age("12h"), _age("2 w")
    (43200, 1209600)
    """
    said = re.fullmatch(r"(\d{1,6}) *([hdw])", text.strip().lower(), re.ASCII)
    if said is None:
        raise ValueError(f"--unused must be a number of hours, days or weeks, such as 12h, 30d or 8w, got {text!r}")
    return int(said[1]) * _SECONDS[said[2]]


def _when(entry: Entry) -> str:
    return datetime.fromtimestamp(entry.used).astimezone().isoformat(" ", "seconds")


def _total(entries: Sequence[Entry]) -> int:
    return sum(entry.size for entry in entries)


def _counted(number: int) -> str:
    return counted(number, "entry", "entries")


def _print_summary(console: Console, summary: dict[str, Any]) -> None:
    limit = "no limit" if summary["limit"] is None else f"at most {size_in_words(summary['limit'])} are kept"
    console.say(f"{summary['folder']}: {_counted(summary['entries'])}, {size_in_words(summary['bytes'])}; {limit}")
    if summary["oldest_used"] is not None:
        console.say(f"the least recently used entry is from {summary['oldest_used'][:16]}")
