"""Templates: what was computed of a whole, for the next part that is matched to it: one template, many scans."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any


class Templates:
    """Holds what was computed of the last wholes, in memory.

    Parameters
    ----------
    most : so many wholes are held; the one used longest ago is dropped

    Examples
    --------
    >>> templates = Templates()
    >>> templates.put("body", "area", 2.0)
    >>> templates.get("body", "area"), templates.get("body", "volume"), templates.get("another", "area")
    (2.0, None, None)
    >>> templates.put("another", "area", 5.0)
    >>> templates.get("body", "area")
    """

    def __init__(self, most: int = 1) -> None:
        self._most = most
        self._held: OrderedDict[str, dict[Hashable, Any]] = OrderedDict()

    def get(self, whole: str, what: Hashable) -> Any:
        """What was computed before, or None.

        Parameters
        ----------
        whole : names the surface by its content
        what : of it, with everything else that it depends on
        """
        if whole not in self._held:
            return None
        self._held.move_to_end(whole)
        return self._held[whole].get(what)

    def put(self, whole: str, what: Hashable, value: Any) -> None:
        """Keep what was computed."""
        self._held.setdefault(whole, {})[what] = value
        self._held.move_to_end(whole)
        while len(self._held) > self._most:
            self._held.popitem(last=False)
