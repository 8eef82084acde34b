"""What differs between the commands that work through many pairs: words, files, and numbers in the table of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A command that works through many pairs, each into a folder of its own.

    Attributes
    ----------
    part, whole : what it calls the two surfaces: in messages, as columns of its table, and in its summaries
    noun, participle : for a pair, and for what is done to it, in messages
    done, before : the state of a pair that it finished now, and of one that it left as it was
    result, result_of_many : what the folder of one result is called, and that of many, behind the name of the part
    writes : patterns of files in the folder of a pair; see `check_folder`
    summary : the one of these that is written last; it holds `choices`, the surfaces and `landmark_files`
    table : the table of results, with a row for each pair
    of_all : patterns of the other files that it writes for all pairs together
    columns : of the table, beside those that every table has: what they hold, from a summary
    said : a few words about a row, for the line that tells of its pair
    named_after_part : whether a pair without a name is called like its part, not like both
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
    named_after_part: bool = False

    @property
    def states(self) -> tuple[str, str, str]:
        """All states that a row may have."""
        return self.done, self.before, FAILED

    def measures(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        """What a row says of a finished pair."""
        return {name: value(summary) for name, value in self.columns.items()} | {
            "warnings": "; ".join(summary["warnings"])
        }


FAILED = "failed"
