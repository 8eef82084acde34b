"""Large matrices in a cache, in blocks of rows: computed and written block by block, and read as far as they are asked for.

The manifest is written last: where it is, every block was. A run that is killed leaves blocks, which the next one keeps.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from jaxtyping import Num

from partwhole.store.cache import Cache

_BLOCK_BYTES = 64 << 20

# the rows from a first one to one before a last, as an array
ComputeRows = Callable[[int, int], np.ndarray]


class RowBlocks:
    """A matrix of which only the blocks that are asked for are read.

    Made by `RowBlocks.computed`, or `RowBlocks.stored` for one that is there. One block is held in memory, the last one read.

    Examples
    --------
    >>> import tempfile
    >>> cache, key = Cache(tempfile.mkdtemp()), {"what": "products", "n": 6}
    >>> matrix = RowBlocks.computed(cache, key, (6, 6), lambda i, j: np.outer(np.arange(i, j), np.arange(6.0)), block_rows=2)
    >>> matrix[3].tolist(), matrix[1:3].shape, RowBlocks.stored(cache, key).shape
    ([0.0, 3.0, 6.0, 9.0, 12.0, 15.0], (2, 6), (6, 6))
    """

    def __init__(
        self, cache: Cache, key: Mapping[str, Any], held: Mapping[str, Any], compute: ComputeRows | None
    ) -> None:
        self.shape: tuple[int, int] = (held["shape"][0], held["shape"][1])
        self.dtype = np.dtype(held["dtype"])
        self.block_rows = int(held["block_rows"])
        self._digests: list[str] = held["digests"]
        self._cache, self._key, self._compute = cache, key, compute
        self._last: tuple[int, np.ndarray] | None = None

    @classmethod
    def computed(
        cls,
        cache: Cache,
        key: Mapping[str, Any],
        shape: tuple[int, int],
        compute: ComputeRows,
        *,
        dtype: Any = np.float64,
        block_rows: int | None = None,
    ) -> RowBlocks:
        """The matrix under a key; what is not there yet is computed, and no more than a block of it is held in memory.

        Parameters
        ----------
        cache : where it is kept; must be writable
        key : what was computed, from what, how, see `Cache`
        shape : rows and columns
        compute : called with the first row of a block and the one after its last
        dtype : of the numbers
        block_rows : rows of a block; default as many as 64 MiB hold
        """
        if len(shape) != 2 or min(shape) < 1:
            raise ValueError(f"shape must be rows and columns, both at least 1, got {shape}")
        if block_rows is not None and block_rows < 1:
            raise ValueError(f"block_rows must be at least 1, got {block_rows}")
        kind = np.dtype(dtype)
        rows = block_rows or max(1, _BLOCK_BYTES // (shape[1] * kind.itemsize))
        known = {"shape": list(shape), "dtype": kind.str, "block_rows": rows}
        held = _manifest(cache, key)
        if held is not None and all(held[name] == value for name, value in known.items()):
            return cls(cache, key, held, compute)
        digests = []
        for number in range(-(-shape[0] // rows)):
            block_key = _block_key(key, known, number)
            found = cache.get(block_key)
            block = _made(compute, number, known) if found is None else found["rows"]
            if found is None:
                cache.put(block_key, {"rows": block})
                if not cache.has(block_key):
                    raise ValueError(f"the cache {cache.place} can't be written, and a matrix in row blocks needs one")
            digests.append(_digest(block))
        held = {**known, "digests": digests}
        cache.put(_manifest_key(key), {"manifest": np.frombuffer(json.dumps(held).encode(), np.uint8)})
        return cls(cache, key, held, compute)

    @classmethod
    def stored(cls, cache: Cache, key: Mapping[str, Any], *, compute: ComputeRows | None = None) -> RowBlocks:
        """The matrix that was computed under a key before; `compute` again what was removed or damaged since."""
        held = _manifest(cache, key)
        if held is None:
            raise ValueError(
                f"the cache {cache.place} has no complete matrix under this key; compute it by RowBlocks.computed"
            )
        return cls(cache, key, held, compute)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: int | slice | np.ndarray) -> Num[np.ndarray, "*rows n"]:
        """The rows, in the order in which they are asked for; each block is read once."""
        if isinstance(rows, int):
            return self[np.array([rows])][0]
        chosen = np.arange(len(self))[rows]
        found = np.empty((len(chosen), self.shape[1]), self.dtype)
        of_block = chosen // self.block_rows
        for number in np.unique(of_block).tolist():
            here = of_block == number
            found[here] = self._block(number)[chosen[here] - number * self.block_rows]
        return found

    def blocks(self) -> Iterator[tuple[int, Num[np.ndarray, "rows n"]]]:
        """(first row, rows) of one block after the other."""
        for number in range(len(self._digests)):
            yield number * self.block_rows, self._block(number)

    def _block(self, number: int) -> np.ndarray:
        if self._last is not None and self._last[0] == number:
            return self._last[1]
        known = {"shape": list(self.shape), "dtype": self.dtype.str, "block_rows": self.block_rows}
        key = _block_key(self._key, known, number)
        found = self._cache.get(key)
        if found is None or _digest(found["rows"]) != self._digests[number]:
            first = number * self.block_rows
            if self._compute is None:
                raise ValueError(
                    f"rows {first} to {min(first + self.block_rows, len(self)) - 1} are missing from the cache "
                    f"{self._cache.place}; give compute, so that they can be computed again"
                )
            found = {"rows": _made(self._compute, number, known)}
            self._cache.put(key, found)
        self._last = number, found["rows"]
        return found["rows"]


def _made(compute: ComputeRows, number: int, known: Mapping[str, Any]) -> np.ndarray:
    """The rows of one block, which must have the right shape."""
    (n, columns), rows = known["shape"], known["block_rows"]
    first, after = number * rows, min((number + 1) * rows, n)
    block = np.ascontiguousarray(compute(first, after), known["dtype"])
    if block.shape != (after - first, columns):
        raise ValueError(
            f"compute({first}, {after}) must give {after - first} rows of {columns}, got shape {block.shape}"
        )
    return block


def _digest(block: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(block).tobytes()).hexdigest()


def _manifest(cache: Cache, key: Mapping[str, Any]) -> dict[str, Any] | None:
    found = cache.get(_manifest_key(key))
    return None if found is None else json.loads(found["manifest"].tobytes())


def _manifest_key(key: Mapping[str, Any]) -> dict[str, Any]:
    return {"what": "row blocks", "of": dict(key)}


def _block_key(key: Mapping[str, Any], known: Mapping[str, Any], number: int) -> dict[str, Any]:
    return {"what": "block of rows", "of": dict(key), **known, "number": number}
