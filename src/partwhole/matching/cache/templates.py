"""Templates: what was computed of a whole, for the next part that is matched to it: one template, many scans."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Templates:
    """Holds what was computed of the last whole, and nothing of those before.

    Examples
    --------
    >>> recall = Templates()
    >>> recall.of("template", "area", lambda: 2.0), recall.of("template", "area", lambda: 3.0)
    (2.0, 2.0)
    >>> recall.of("another", "area", lambda: 5.0), recall.of("template", "area", lambda: 3.0)
    (5.0, 3.0)
    """

    def __init__(self) -> None:
        self._whole = ""
        self._held: dict[Hashable, Any] = {}

    def of(self, whole: str, what: Hashable, compute: Callable[[], T]) -> T:
        """What was computed before, or else is computed now.

        Parameters
        ----------
        whole : names the surface by its content
        what : of it, with everything else that it depends on
        compute : gives it
        """
        if whole != self._whole:
            self._whole, self._held = whole, {}
        if what not in self._held:
            self._held[what] = compute()
        found: T = self._held[what]
        return found
