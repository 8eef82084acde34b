"""`Progress`: what anything that takes long calls to say how far it has come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from partwhole.store.arguments import check_function

# called with (what is done, steps done, steps in all), from 0 steps to all of them; 0 in all: nobody knows yet
Progress = Callable[[str, int, int], None]


def check_progress(progress: Any) -> None:
    """Raise ValueError unless this can be called, or is None.

    >>> check_progress(True)
    Traceback (most recent call last):
    ValueError: progress must be a function that is called with (what is done, steps done, steps in all), or None, got True
    """
    check_function("progress", progress, called_with="(what is done, steps done, steps in all)")
