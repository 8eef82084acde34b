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

import numpy as np
import torch
from torch import Tensor

from partwhole.datasets.pairs import Pair
from partwhole.matching.network.surface import Surface, operator_arrays
from partwhole.mesh import Mesh
from partwhole.spectral import eigenpairs
from partwhole.store.atomic import atomic_write
from partwhole.store.compute import available_cores

# gives the pairs of a block by its number; goes to other processes, so it is a function of a module or a dataclass
Blocks = Callable[[int], Sequence[Pair]]

_SIDES = ("part", "whole")
_KEPT = ("points", "normals", "mass", "values", "basis")
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
        first_part, first_whole = len(self.parts), len(self.wholes)
        self.parts += _surfaces(held, "part")
        self.wholes += _surfaces(held, "whole")
        for (part, whole), start in zip(held["pairs"].tolist(), held["truth_starts"].tolist(), strict=True):
            key = first_part + part, first_whole + whole
            rows = slice(start, start + len(self.parts[key[0]]))
            self.pairs.append(key)
            self.truths[key] = held["truth"][rows].long(), held["truth_shares"][rows]
        self._loaded = number + 1


def make_block(blocks: Blocks, number: int, k: int, path: Path) -> None:
    """Make the pairs of a block, with k eigenpairs and their gradients, and write them to a file, unless it is there.

    Pairs with too few vertices are left out, and so are those whose operators are not numbers.
    """
    if path.exists():
        return
    surfaces: tuple[dict[str, dict[str, np.ndarray]], ...] = ({}, {})
    keys, truths, shares = [], [], []
    for pair in blocks(number):
        meshes = pair.part, pair.whole
        names = [mesh.content_hash for mesh in meshes]
        for mesh, name, known in zip(meshes, names, surfaces, strict=True):
            if name not in known and (found := _operators(mesh, k)) is not None:
                known[name] = found
        if pair.ground_truth is None or not all(name in known for name, known in zip(names, surfaces, strict=True)):
            continue
        rounded = pair.ground_truth.rounded(pair.whole.vertices)
        truth, share = np.zeros(pair.part.n_vertices, np.int32), np.zeros(pair.part.n_vertices, np.float32)
        truth[rounded.part_vertices] = rounded.whole_vertices
        share[rounded.part_vertices] = surfaces[0][names[0]]["mass"][rounded.part_vertices]
        keys.append([list(known).index(name) for name, known in zip(names, surfaces, strict=True)])
        truths.append(truth)
        shares.append(share / share.sum())
    arrays: dict[str, np.ndarray] = {
        "pairs": np.array(keys, np.int32).reshape(-1, 2),
        "truth": np.concatenate([np.zeros(0, np.int32), *truths]),
        "truth_shares": np.concatenate([np.zeros(0, np.float32), *shares]),
        "truth_starts": np.cumsum([0, *map(len, truths)])[:-1],
    }
    for side, known in zip(_SIDES, surfaces, strict=True):
        held = list(known.values())
        arrays[f"{side}_sizes"] = np.array([len(one["mass"]) for one in held], np.int64)
        for name in _KEPT if held else ():
            stacked = (np.stack if name == "values" else np.concatenate)([one[name] for one in held])
            arrays[f"{side}_{name}"] = stacked.astype(np.float16 if name == "basis" else np.float32)
    with atomic_write(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def _operators(mesh: Mesh, k: int) -> dict[str, np.ndarray] | None:
    if mesh.n_vertices <= k:
        return None
    found = operator_arrays(mesh, eigenpairs(mesh, k), k)
    found["basis"] = found["basis"].clip(-_STEEPEST, _STEEPEST)
    return found if all(np.isfinite(array).all() for array in found.values()) else None


def _surfaces(held: dict[str, Tensor], side: str) -> list[Surface]:
    sizes = held[f"{side}_sizes"].tolist()
    if not sizes:
        return []
    of_vertices = {name: held[f"{side}_{name}"].split(sizes) for name in ("points", "normals", "mass", "basis")}
    found = []
    for number, values in enumerate(held[f"{side}_values"]):
        one = {name: parts[number] for name, parts in of_vertices.items()}
        # signatures are not kept, and eigenfunctions are those of the basis
        found.append(Surface(**one, values=values, signatures=one["points"][:, :0], functions=one["basis"][:, 0]))
    return found


def _one_thread() -> None:
    """A process of many: more threads would wait for each other."""
    from threadpoolctl import threadpool_limits

    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    threadpool_limits(1)
    torch.set_num_threads(1)
