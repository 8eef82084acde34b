"""How many cores there are to work with."""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import median

# the system's count of what runs at this moment is looked at so often, at these intervals in seconds
_LOOKS, _APART = 7, 0.003


def available_cores() -> int:
    """Number of cores the process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_cores() -> int:
    """Of these, how many nothing else runs on, by what ran in the last minute and by what runs now; at least 1."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if round(load) > 0 and (now := _running_now()) is not None:
        # the minute may have been that of an installation, or of this program itself
        load = min(load, now)
    return max(1, available_cores() - round(load))


def _running_now(state: Path = Path("/proc/loadavg")) -> float | None:
    """How many threads but this one want a core; None where the system does not say."""
    seen = []
    try:
        for _ in range(_LOOKS):
            seen.append(int(state.read_text().split()[3].partition("/")[0]) - 1)
            time.sleep(_APART)
    except (OSError, ValueError, IndexError):
        return None
    return max(0.0, median(seen))
