"""No command writes over a file that it reads, by whatever name: every one asks here, before it does anything else.

A command says what it writes as a list of patterns below the folder of its results, beside the code that writes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

# (device, number) of a file, or its path where a file system has no numbers
_Identity = tuple[int, int] | str


def check_folder(
    folder: Path, writes: Iterable[str], reads: Iterable[Path | None] = (), *, option: str = "--output"
) -> None:
    """Raise ValueError if results would replace something that is read, or if their folder is a file.

    Parameters
    ----------
    folder : of the results; need not be there
    writes : patterns of files below it, see `written`
    reads : files that are read, and folders of which every file is
    option : that says the folder
    """
    for place in (folder, *folder.parents):
        if os.path.lexists(place):
            if not place.is_dir():
                what = "is a file" if place == folder else f"would lie below the file {place}"
                raise ValueError(f"{option} {folder} {what}; give a folder")
            break
    _refuse(f"{option} {folder}", written(folder, writes), reads, "give another folder")


def check_file(path: Path, reads: Iterable[Path | None], *, option: str) -> None:
    """Raise ValueError if the file that is to be written is one that is read."""
    _refuse(f"{option} {path}", [path], reads, "give another name")


def written(folder: Path, writes: Iterable[str]) -> Iterator[Path]:
    """The files in a folder that the patterns fit.

    A pattern is a path with `*` for anything in a name: "map.npz", "pairs-*.csv", "*/seed-*/state.json".
    """
    for pattern in writes:
        yield from _fitting(folder, pattern.split("/"))


def below(place: str, writes: Iterable[str]) -> tuple[str, ...]:
    """The same patterns in a folder below.

    >>> below("match", ("map.npz", "map.csv"))
    ('match/map.npz', 'match/map.csv')
    """
    return tuple(f"{place}/{pattern}" for pattern in writes)


def _fitting(folder: Path, parts: list[str]) -> Iterator[Path]:
    first, *rest = parts
    names = [first]
    if "*" in first:
        try:
            # names that differ by capitals only are the same file on some systems
            names = [name for name in sorted(os.listdir(folder)) if fnmatchcase(name.lower(), first.lower())]
        except OSError:
            names = []
    for name in names:
        if rest:
            yield from _fitting(folder / name, rest)
        elif os.path.isfile(folder / name):
            yield folder / name


def _refuse(said: str, written: Iterable[Path], reads: Iterable[Path | None], remedy: str) -> None:
    there = {identity: path for path in written if (identity := _identity(path)) is not None}
    if not there:
        return
    for path in reads:
        for file in () if path is None else _files(path):
            if _identity(file) in there:
                raise ValueError(f"{said} would overwrite {file}, which is read; {remedy}")


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, _, names in os.walk(path):
        yield from (Path(folder) / name for name in names)


def _identity(path: Path) -> _Identity | None:
    """What two names of one file have in common, links followed; None if there is no such file."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return None
    return (facts.st_dev, facts.st_ino) if facts.st_ino else os.path.normcase(os.path.realpath(path))
