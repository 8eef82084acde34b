"""The most memory that something took."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_RESET = "5"


class PeakMemory:
    """Peak memory in megabytes, beyond what was held before; nan if the system does not report it."""

    megabytes: float = float("nan")


@contextmanager
def peak_memory(device: str) -> Iterator[PeakMemory]:
    """The most memory that the block takes: main memory on Linux, that of the GPU where the device is one."""
    found = PeakMemory()
    if device == "cuda":
        import torch

        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        yield found
        found.megabytes = (torch.cuda.max_memory_allocated() - before) / 1e6
        return
    # the high-water mark of a process can be set back to what it holds now
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text(_RESET)
    held = _held("VmRSS")
    yield found
    found.megabytes = max(_held("VmHWM") - held, 0.0)


def _held(what: str) -> float:
    """A number of megabytes that Linux knows of this process."""
    try:
        line = re.search(rf"^{what}:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        return float("nan")
    return float("nan") if line is None else int(line[1]) * 1024 / 1e6
