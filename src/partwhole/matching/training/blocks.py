"""Blocks of pairs as files, and `BlockMakers`: processes that make them. No torch, so that these start fast."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from partwhole.datasets.pairs import Pair
from partwhole.datasets.synthetic.recipe import PairRecipe
from partwhole.mesh import Mesh
from partwhole.spectral import eigenpairs
from partwhole.spectral.eigen import operator_arrays
from partwhole.store.storage import atomic_write, hash_of

# raised with every change of the code that changes what is in a file
_SCHEMA = 1
SIDES = ("part", "whole")
_OF_VERTICES = ("points", "normals", "mass", "values", "basis")
# gradients of eigenfunctions are cut off here: those of 100 eigenfunctions of area 1 are below 200, but at slivers
_STEEPEST = 1000.0
# seconds between two reports while somebody waits, and for a process to end
_REPORT_EVERY, _TO_END = 1.0, 5.0


def block_path(folder: Path, described: dict[str, Any], number: int, k: int) -> Path:
    """The file of a block; its name has a hash of what decides the content, so that no run takes the blocks of another."""
    return folder / f"block-{number:05d}-{hash_of([_SCHEMA, described, k])[:12]}.npz"


def make_block(recipe: PairRecipe, number: int, k: int, path: Path) -> None:
    """Make the pairs of a block, with k eigenpairs and their gradients, and write them to a file, unless it is there.

    Pairs without ground truth are left out, and so are those with too few vertices, or with operators that are not
    numbers. If the recipe raises an error, the block is empty and says why. OSError if a file can't be read or written, or
    memory runs out: the next attempt may do better.

    Parameters
    ----------
    recipe : of the pairs
    number : of the block
    k : eigenpairs of each surface
    path : where the block goes

    Examples
    --------
    >>> import tempfile
    >>> from partwhole.datasets import BodiesRecipe
    >>> path = Path(tempfile.mkdtemp()) / "block.npz"
    >>> make_block(BodiesRecipe(plans=("hand",), n_vertices=300, poses=1), 0, 10, path)
    >>> with np.load(path) as block:
    ...     block["pairs"].tolist(), block["whole_sizes"].tolist(), str(block["left_out"])
    ([[0, 0]], [300], '')
    """
    if path.exists():
        return
    try:
        arrays = _arrays(recipe(number), k)
    except (OSError, MemoryError) as error:
        raise OSError(f"block {number} of pairs could not be made: {str(error) or type(error).__name__}") from None
    except Exception as error:
        arrays = {**_arrays((), k), "left_out": np.array(f"{type(error).__name__}: {error}")}
    try:
        with atomic_write(path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        raise OSError(
            f"block {number} of pairs could not be written to {path.parent} ({error.strerror or error}); make room there, "
            "or take another folder; temporary ones lie below TMPDIR"
        ) from None


def _arrays(pairs: Sequence[Pair], k: int) -> dict[str, np.ndarray]:
    """The surfaces of a block, each once, one after the other; for each pair the numbers of its surfaces, and its truth."""
    surfaces: tuple[dict[str, dict[str, np.ndarray]], ...] = ({}, {})
    keys, truths, shares = [], [], []
    for pair in pairs:
        meshes = pair.part, pair.whole
        names = [mesh.content_hash for mesh in meshes]
        for mesh, name, known in zip(meshes, names, surfaces, strict=True):
            if name not in known and (found := _operators(mesh, k)) is not None:
                known[name] = found
        usable = pair.ground_truth is not None and len(pair.ground_truth) > 0
        if not usable or not all(name in known for name, known in zip(names, surfaces, strict=True)):
            continue
        truth, share = _truth(pair, surfaces[0][names[0]]["mass"])
        keys.append([list(known).index(name) for name, known in zip(names, surfaces, strict=True)])
        truths.append(truth)
        shares.append(share)
    arrays: dict[str, np.ndarray] = {
        "left_out": np.array(""),
        "pairs": np.array(keys, np.int32).reshape(-1, 2),
        "truth": np.concatenate([np.zeros(0, np.int32), *truths]),
        "truth_shares": np.concatenate([np.zeros(0, np.float32), *shares]),
        "truth_starts": np.cumsum([0, *map(len, truths)])[:-1],
    }
    for side, known in zip(SIDES, surfaces, strict=True):
        held = list(known.values())
        arrays[f"{side}_sizes"] = np.array([len(one["mass"]) for one in held], np.int64)
        for name in _OF_VERTICES if held else ():
            stacked = (np.stack if name == "values" else np.concatenate)([one[name] for one in held])
            # half the size where nearly all of it is
            arrays[f"{side}_{name}"] = stacked.astype(np.float16 if name == "basis" else np.float32)
    return arrays


def _truth(pair: Pair, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`truth` and `truth_shares` of the part, see `Surface`."""
    assert pair.ground_truth is not None
    rounded = pair.ground_truth.rounded(pair.whole.vertices)
    truth, share = np.zeros(pair.part.n_vertices, np.int32), np.zeros(pair.part.n_vertices, np.float32)
    truth[rounded.part_vertices] = rounded.whole_vertices
    share[rounded.part_vertices] = mass[rounded.part_vertices]
    return truth, share / share.sum()


def _operators(mesh: Mesh, k: int) -> dict[str, np.ndarray] | None:
    if mesh.n_vertices <= k:
        return None
    found = operator_arrays(mesh, eigenpairs(mesh, k), k)
    found["basis"] = found["basis"].clip(-_STEEPEST, _STEEPEST)
    return found if all(np.isfinite(array).all() for array in found.values()) else None


class BlockMakers:
    """Processes that make blocks in the order of their numbers, as far ahead as they are allowed to.

    A thread for each of them waits until its block is made, and gives it the next number.

    Parameters
    ----------
    recipe : goes to the processes
    count : how many blocks there are
    k : eigenpairs of each surface
    path : of the file of a block, by its number
    workers : processes
    allowed : blocks up to this number, it excluded, may be made at once; `allow` raises it
    """

    def __init__(
        self, recipe: PairRecipe, *, count: int, k: int, path: Callable[[int], Path], workers: int, allowed: int
    ) -> None:
        self._count, self._path = count, path
        # of blocks that are done: None, or what went wrong
        self._done: dict[int, str | None] = {}
        self._next, self._allowed, self._closed = 0, allowed, False
        self._changed = threading.Condition()
        self._processes: list[Any] = []
        self._threads: list[threading.Thread] = []
        context = get_context("spawn")
        try:
            for _ in range(min(workers, count)):
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(theirs, recipe, k), daemon=True)
                self._start(process, recipe)
                theirs.close()
                self._processes.append(process)
                self._threads.append(threading.Thread(target=self._drive, args=(process, ours), daemon=True))
                self._threads[-1].start()
        except BaseException:
            self.close()
            raise

    @property
    def made(self) -> int:
        """How many blocks are done."""
        return len(self._done)

    def allow(self, ahead: int) -> None:
        """Blocks up to this number, it excluded, may be made now."""
        with self._changed:
            self._allowed = max(self._allowed, ahead)
            self._changed.notify_all()

    def wait_for(self, number: int, report: Callable[[], None]) -> None:
        """Return when a block is made; raise OSError if that failed.

        Parameters
        ----------
        number : of the block
        report : called every second; what it raises ends the waiting
        """
        while True:
            with self._changed:
                if self._changed.wait_for(lambda: number in self._done or self._closed, _REPORT_EVERY):
                    break
            report()
        fault = self._done.get(number, "the processes that make pairs were ended")
        if fault is not None:
            raise OSError(fault)

    def close(self) -> None:
        """End the processes, whatever they do; to close twice does no harm."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join(_TO_END)
            if process.is_alive():
                process.kill()
                process.join()
        for thread in self._threads:
            thread.join(_TO_END)

    def _start(self, process: Any, recipe: PairRecipe) -> None:
        try:
            process.start()
        except OSError:
            raise
        except Exception as error:  # there is no common class of what cannot be sent
            raise ValueError(
                f"{type(recipe).__name__} can't go to another process ({error}); define it in a module, not in a function, "
                "or use workers=0"
            ) from None

    def _drive(self, process: Any, connection: Connection) -> None:
        with connection:
            while (number := self._take()) is not None:
                try:
                    connection.send((number, self._path(number)))
                    fault = connection.recv()
                except (EOFError, OSError):
                    process.join(_TO_END)
                    fault = ended(number, process.exitcode)
                with self._changed:
                    self._done[number] = fault
                    self._changed.notify_all()
                if fault is not None:
                    return

    def _take(self) -> int | None:
        """The next block to make, once it is allowed; None if there is no more."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._next >= self._count or self._next < self._allowed)
            if self._closed or self._next >= self._count:
                return None
            self._next += 1
            return self._next - 1


def ended(number: int, code: int | None) -> str:
    if code is not None and code < 0:
        why = f"was ended by signal {-code}, perhaps for lack of memory: use fewer workers"
    else:
        why = f"ended with code {code}; a script that trains must do so below `if __name__ == '__main__':`, or with workers=0"
    return f"the process that made block {number} of pairs {why}"


def _serve(connection: Connection, recipe: PairRecipe, k: int) -> None:
    """What a process does: make the blocks it is asked for, until nobody asks any more."""
    # Ctrl-C reaches all processes; the one that trains ends the others when it has saved its run
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _one_thread()
    # the other end is closed when it ends, however it ends
    with suppress(EOFError, BrokenPipeError):
        while True:
            number, path = connection.recv()
            connection.send(_fault(recipe, number, k, path))


def _fault(recipe: PairRecipe, number: int, k: int, path: Path) -> str | None:
    """Make a block; what went wrong, or None."""
    try:
        make_block(recipe, number, k, path)
    except OSError as error:
        return str(error)
    return None


def _one_thread() -> None:
    """A process of many: more threads would wait for each other."""
    from threadpoolctl import threadpool_limits

    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    threadpool_limits(1)
