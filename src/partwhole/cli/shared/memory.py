"""Whether something fits into memory, asked before hours are spent on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from partwhole.datasets.pairs import Pair
from partwhole.mesh.formats.common import counted

_REMEDY = "take fewer pairs, or smaller meshes (partwhole.decimate makes them)"
# matrices of the size of the largest pair that a step of training holds at a time
_AT_WORK = 10


def free_memory() -> int:
    """Bytes that can be had without swapping, or a cautious guess on systems that do not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return 4 << 30


def free_on_gpu() -> int:
    """Bytes that are free on the GPU."""
    import torch

    return int(torch.cuda.mem_get_info()[0])


def check_fits(pairs: Sequence[Pair], *, device: Literal["cpu", "cuda"], for_loss: bool) -> None:
    """Raise ValueError if the matrices of all surfaces of the pairs take more memory than there is.

    For the loss these are distances and weights of every part and distances of every whole, on the device; else distances
    of every whole, in main memory.
    """
    parts = {pair.part.content_hash: pair.part.n_vertices for pair in pairs}
    wholes = {pair.whole.content_hash: pair.whole.n_vertices for pair in pairs}
    largest = max([*parts.values(), *wholes.values()])
    entries = sum(n**2 for n in wholes.values()) + _AT_WORK * largest**2
    if for_loss:
        entries += sum(2 * n**2 for n in parts.values())
    needed, there = 4 * entries, free_on_gpu() if for_loss and device == "cuda" else free_memory()
    if needed > there:
        surfaces = f"{counted(len(parts), 'part')} and " * for_loss + counted(len(wholes), "whole")
        where = "on the GPU" if for_loss and device == "cuda" else "in memory"
        raise ValueError(
            f"distances on {surfaces} take {needed / 2**30:.1f} GiB, and {there / 2**30:.1f} GiB are free {where}; {_REMEDY}"
        )


@contextmanager
def told_plainly() -> Iterator[None]:
    """What torch says when there is no memory left becomes a ValueError with the remedy."""
    try:
        yield
    except RuntimeError as error:
        said = str(error).lower()
        if "out of memory" not in said and "can't allocate memory" not in said:
            raise
        raise ValueError(f"there is not enough memory; {_REMEDY}") from None
