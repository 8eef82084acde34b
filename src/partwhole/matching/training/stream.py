"""`PairStream`: generated pairs that other processes make while training goes on, so that few of them are seen twice.

Pairs come in blocks. A block is decided by its number alone, and so is the iteration from which on it is drawn from: a run
takes the same pairs on any machine, and waits where these are not made yet.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from partwhole.datasets.pairs import Pair
from partwhole.matching.network.surface import Surface, arrays_of
from partwhole.store.atomic import atomic_write
from partwhole.store.compute import available_cores

# gives the pairs of a block by its number; goes to other processes, so it is a function of a module or a dataclass
Blocks = Callable[[int], Sequence[Pair]]

_WAIT = 0.05
# gradients of eigenfunctions are cut off here: those of 100 eigenfunctions of area 1 are below 200, but at slivers
_STEEPEST = 1000.0
# sizes of the buffers that pairs of any size are copied into
PART_SIZES = (384, 768, 1152, 1600, 2112, 2816, 3840, 5120)
WHOLE_SIZES = (1152, 1600, 2112, 2816, 3840, 5120)


class PairStream:
    """Blocks of generated pairs with their operators, on a device, as many as an iteration may draw from.

    Parameters
    ----------
    blocks : the pairs of a block, by its number
    eigenpairs : of each surface; pairs with fewer vertices are left out
    count : how many blocks there are
    first : so many are there from the start
    every : a block more after so many iterations
    device : where the surfaces go
    workers : processes that make blocks; 0: this one
    folder : where blocks are kept; None: in a temporary folder. Blocks that are there already are not made again
    report : called with (what is done, blocks done, blocks in all) while waiting
    """

    def __init__(
        self,
        blocks: Blocks,
        *,
        eigenpairs: int,
        count: int,
        first: int,
        every: int,
        device: str = "cpu",
        workers: int | None = None,
        folder: str | Path | None = None,
        report: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self._blocks, self._eigenpairs, self._device = blocks, eigenpairs, device
        self.count, self.first, self.every = count, min(first, count), every
        self._report = report or (lambda what, done, total: None)
        self._temporary = tempfile.TemporaryDirectory() if folder is None else None
        self._folder = Path(self._temporary.name if self._temporary else folder or "")
        self._folder.mkdir(parents=True, exist_ok=True)
        self._loaded = 0
        self.parts: list[Surface] = []
        self.wholes: list[Surface] = []
        self.pairs: list[tuple[int, int]] = []
        self.truths: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}
        self._made: list[Future[None]] = []
        self._pool: ProcessPoolExecutor | None = None
        workers = max(1, available_cores() - 1) if workers is None else workers
        if workers:
            self._pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_one_thread)
            self._made = [
                self._pool.submit(make_block, blocks, number, eigenpairs, self._path(number)) for number in range(count)
            ]

    def __enter__(self) -> PairStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, and remove temporary files."""
        if self._pool is not None:
            for made in self._made:
                made.cancel()
            processes = list((getattr(self._pool, "_processes", None) or {}).values())
            self._pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
        if self._temporary is not None:
            self._temporary.cleanup()

    def pair_at(self, iteration: int, seed: int) -> tuple[int, int]:
        """Numbers of part and whole that an iteration takes: any of the pairs that are there by then."""
        wanted = min(self.count, self.first + iteration // self.every)
        while self._loaded < wanted:
            self._load(self._loaded)
        return self.pairs[int(np.random.default_rng((seed, 2, iteration)).integers(len(self.pairs)))]

    def surfaces(self, part: int, whole: int) -> tuple[Surface, Surface]:
        """The part with its ground truth, and the whole."""
        return self.parts[part].with_truth(*self.truths[part, whole]), self.wholes[whole]

    def _path(self, number: int) -> Path:
        return self._folder / f"block-{number:05d}.npz"

    def _load(self, number: int) -> None:
        path = self._path(number)
        while not path.exists():
            if not self._made:
                make_block(self._blocks, number, self._eigenpairs, path)
            elif self._made[number].done():
                # raises what went wrong there
                self._made[number].result()
            else:
                self._report("making pairs", number, self.count)
                time.sleep(_WAIT)
        with np.load(path, allow_pickle=False) as file:
            held = {name: torch.from_numpy(file[name]).to(self._device) for name in file.files}
        if self._device == "cpu":
            held |= {name: array.float() for name, array in held.items() if array.dtype == torch.float16}
        if self._temporary is not None:
            path.unlink()
        numbers = _surfaces(held)
        firsts = len(self.parts), len(self.wholes)
        self.parts += numbers[0]
        self.wholes += numbers[1]
        starts = np.cumsum([0, *(len(one) for one in numbers[0])])
        offsets = held["truth_starts"].tolist()
        for (part, whole), start in zip(held["pairs"].tolist(), offsets, strict=True):
            rows = slice(start, start + len(numbers[0][part]))
            key = firsts[0] + part, firsts[1] + whole
            self.pairs.append(key)
            self.truths[key] = held["truth"][rows].long(), held["truth_shares"][rows]
        assert len(starts) == len(numbers[0]) + 1
        self._loaded = number + 1


def make_block(blocks: Blocks, number: int, eigenpairs: int, path: Path) -> None:
    """Make the pairs of a block, with operators of each surface, and write them to a file, unless it is there."""
    if path.exists():
        return
    parts: dict[str, dict[str, np.ndarray]] = {}
    wholes: dict[str, dict[str, np.ndarray]] = {}
    keys, truths, shares = [], [], []
    for pair in blocks(number):
        if min(pair.part.n_vertices, pair.whole.n_vertices) <= eigenpairs or pair.ground_truth is None:
            continue
        one, other = pair.part.content_hash, pair.whole.content_hash
        if one not in parts:
            parts[one] = arrays_of(pair.part, eigenpairs, eigenpairs, None)
        if other not in wholes:
            wholes[other] = arrays_of(pair.whole, eigenpairs, eigenpairs, None)
        truth = pair.ground_truth.rounded(pair.whole.vertices)
        known = np.zeros(pair.part.n_vertices, np.int32)
        known[truth.part_vertices] = truth.whole_vertices
        share = np.zeros(pair.part.n_vertices, np.float32)
        share[truth.part_vertices] = parts[one]["mass"][truth.part_vertices]
        keys.append((list(parts).index(one), list(wholes).index(other)))
        truths.append(known)
        shares.append(share / share.sum())
    arrays: dict[str, Any] = {
        "pairs": np.array(keys, np.int32).reshape(-1, 2),
        "truth": np.concatenate([*truths, np.zeros(0, np.int32)]),
        "truth_shares": np.concatenate([*shares, np.zeros(0, np.float32)]),
        "truth_starts": np.cumsum([0, *map(len, truths)])[:-1],
    }
    for side, held in (("part", list(parts.values())), ("whole", list(wholes.values()))):
        arrays[f"{side}_sizes"] = np.array([len(one["mass"]) for one in held], np.int64)
        arrays[f"{side}_values"] = np.array([one["values"] for one in held], np.float32).reshape(-1, eigenpairs)
        for name in ("points", "normals", "mass"):
            arrays[f"{side}_{name}"] = np.concatenate([one[name] for one in held])
        # gradients at slivers may be beyond what half precision holds
        basis = np.concatenate([one["basis"] for one in held])
        arrays[f"{side}_basis"] = np.clip(basis, -_STEEPEST, _STEEPEST).astype(np.float16)
    with atomic_write(path) as file:
        np.savez(file, **arrays)


def _surfaces(held: dict[str, Tensor]) -> tuple[list[Surface], list[Surface]]:
    found: tuple[list[Surface], list[Surface]] = ([], [])
    for side, surfaces in zip(("part", "whole"), found, strict=True):
        start = 0
        for size, values in zip(held[f"{side}_sizes"].tolist(), held[f"{side}_values"], strict=True):
            points, normals, mass, basis = (
                held[f"{side}_{name}"][start : start + size] for name in ("points", "normals", "mass", "basis")
            )
            surfaces.append(
                Surface(
                    points=points,
                    normals=normals,
                    signatures=points[:, :0],
                    mass=mass,
                    values=values,
                    functions=basis[:, 0],
                    basis=basis,
                )
            )
            start += size
    return found


def _one_thread() -> None:
    """A process of many: more threads would wait for each other."""
    from threadpoolctl import threadpool_limits

    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    threadpool_limits(1)
    torch.set_num_threads(1)
