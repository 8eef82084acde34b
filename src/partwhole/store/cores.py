"""How many cores there are to work with."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Number of cores the process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
