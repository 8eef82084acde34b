from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partwhole.store.cache import Cache
from partwhole.store.rows import RowBlocks

KEY = {"what": "test of rows", "n": 10}
MATRIX = np.random.default_rng(0).random((10, 7))


class Counting:
    """Rows of the matrix, and which blocks were asked for."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.asked: list[int] = []
        self.stop_at = stop_at

    def __call__(self, first: int, after: int) -> np.ndarray:
        if first == self.stop_at:
            raise KeyboardInterrupt
        self.asked.append(first)
        return MATRIX[first:after]


def test_rows_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    compute = Counting()
    matrix = RowBlocks.computed(Cache(tmp_path), KEY, MATRIX.shape, compute, block_rows=4)
    assert compute.asked == [0, 4, 8]
    assert (matrix.shape, len(matrix), matrix.dtype, matrix.block_rows) == ((10, 7), 10, np.float64, 4)
    np.testing.assert_array_equal(matrix[3], MATRIX[3])
    np.testing.assert_array_equal(matrix[-1], MATRIX[-1])
    np.testing.assert_array_equal(matrix[2:9], MATRIX[2:9])
    chosen = np.array([9, 0, 5, 5])
    np.testing.assert_array_equal(matrix[chosen], MATRIX[chosen])
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in matrix.blocks()]), MATRIX)
    again = RowBlocks.computed(Cache(tmp_path), KEY, MATRIX.shape, compute, block_rows=4)
    np.testing.assert_array_equal(again[:], MATRIX)
    assert compute.asked == [0, 4, 8], "nothing is computed twice"
    small = RowBlocks.computed(Cache(tmp_path), KEY | {"n": 11}, MATRIX.shape, compute, dtype=np.float32)
    np.testing.assert_array_equal(small[:], MATRIX.astype(np.float32))


def test_only_the_blocks_that_are_needed_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    RowBlocks.computed(cache, KEY, MATRIX.shape, Counting(), block_rows=2)
    matrix, read = RowBlocks.stored(cache, KEY), []
    get = cache.get
    monkeypatch.setattr(cache, "get", lambda key: read.append(key["number"]) or get(key))
    matrix[np.array([5, 4, 9])]
    assert read == [2, 4]


def test_an_interrupted_matrix_goes_on(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        RowBlocks.computed(cache, KEY, MATRIX.shape, Counting(stop_at=8), block_rows=4)
    with pytest.raises(ValueError, match="has no complete matrix under this key"):
        RowBlocks.stored(cache, KEY)
    rest = Counting()
    np.testing.assert_array_equal(RowBlocks.computed(cache, KEY, MATRIX.shape, rest, block_rows=4)[:], MATRIX)
    assert rest.asked == [8]


def test_a_damaged_block_is_computed_again(tmp_path: Path) -> None:
    said: list[str] = []
    cache = Cache(tmp_path, tell=said.append)
    RowBlocks.computed(cache, KEY, MATRIX.shape, Counting(), block_rows=4)
    # the manifest was written last
    for entry in cache.entries()[:2]:
        Path(entry.path).write_bytes(Path(entry.path).read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"rows 0 to 3 are missing from the cache .*; give compute"):
        RowBlocks.stored(cache, KEY)[:]
    compute = Counting()
    np.testing.assert_array_equal(RowBlocks.stored(cache, KEY, compute=compute)[:], MATRIX)
    assert compute.asked == [0, 4]
    assert all("damaged" in text for text in said)
    np.testing.assert_array_equal(RowBlocks.stored(cache, KEY)[:], MATRIX)


def test_what_can_not_be_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with pytest.raises(ValueError, match=r"shape must be rows and columns, both at least 1, got \(0, 3\)"):
        RowBlocks.computed(cache, KEY, (0, 3), Counting())
    with pytest.raises(ValueError, match="block_rows must be at least 1, got 0"):
        RowBlocks.computed(cache, KEY, (3, 3), Counting(), block_rows=0)
    with pytest.raises(ValueError, match=r"compute\(0, 3\) must give 3 rows of 3, got shape \(3, 7\)"):
        RowBlocks.computed(cache, KEY, (3, 3), Counting())
    (tmp_path / "file").touch()
    closed = Cache(tmp_path / "file", tell=lambda text: None)
    with pytest.raises(ValueError, match="can't be written, and a matrix in row blocks needs one"):
        RowBlocks.computed(closed, KEY, MATRIX.shape, Counting())
