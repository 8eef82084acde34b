"""What differs between the commands for many pairs: words in messages, files, and columns of the table of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class BatchKind:
    """A command that works through many pairs, each into a folder of its own.

    Attributes
    ----------
    part, whole : names of the two surfaces in messages, in the table and in summaries
    noun, participle : words for a pair, and for a finished pair, in messages
    done, before : state of a pair that was finished now, and of one that was finished before
    result, result_of_many : suffixes of the folder of one result, and of many
    writes : patterns of files in the folder of a pair; see `check_folder`
    summary : the one of these that is written last; it holds `choices`, the surfaces and `landmark_files`
    table : the table of results, with a row for each pair
    of_all : patterns of the other files that it writes for all pairs together
    columns : further columns of the table, as functions of a summary
    said : a few words about a row, for the line about its pair
    home : "module:NAME" of this object, by which other processes find it
    named_after_part : whether a pair without a name is named after its part, not after both surfaces
    says_each : whether a line is printed for each pair
    """

    part: str
    whole: str
    noun: str
    participle: str
    done: str
    before: str
    result: str
    result_of_many: str
    writes: tuple[str, ...]
    summary: str
    table: str
    of_all: tuple[str, ...]
    columns: Mapping[str, Callable[[Mapping[str, Any]], Any]]
    said: Callable[[Mapping[str, Any]], str]
    home: str
    named_after_part: bool = False
    says_each: bool = True

    def __reduce__(self) -> Any:
        # its functions have no names that another process could look up
        return kind_at, (self.home,)

    @property
    def states(self) -> tuple[str, ...]:
        """All states that a row may have."""
        return self.done, self.before, FAILED, WAITING

    def lasting(self, state: str) -> str:
        """The state in what is written: a pair that is done is done, whichever run did it."""
        return self.done if state == self.before else state

    def measures(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        """What a row says of a finished pair."""
        return {name: value(summary) for name, value in self.columns.items()} | {
            "warnings": "; ".join(summary.get("warnings", ()))
        }


FAILED = "failed"
# of a pair that another shard has to process
WAITING = "not yet"


def kind_at(home: str) -> BatchKind:
    """The kind of a command, by "module:NAME"."""
    module, _, name = home.partition(":")
    kind: BatchKind = getattr(import_module(module), name)
    return kind


def bytes_of_files(files: Iterable[Path]) -> int:
    """Bytes of files together; one that is missing is said by the process that reads it."""
    total = 0
    for file in files:
        with suppress(OSError):
            total += file.stat().st_size
    return total
