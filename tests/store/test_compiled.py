"""Compiled functions where nothing can be kept."""

from __future__ import annotations

import errno
from pathlib import Path

import numba
import numba.core.caching as caching
import pytest

from partwhole.store.compiled import njit


def twice(number: float) -> float:
    return 2 * number


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_it_is_kept_where_that_can_be_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    for _ in range(2):
        kernel = njit(cache=True)(twice)
        assert kernel(1.5) == 3
    assert sum(kernel.stats.cache_hits.values()) == 1


def test_without_a_folder_it_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.makedirs", full)  # as no folder can be made in which to keep anything
    with pytest.raises(RuntimeError, match="cannot cache function"):
        numba.njit(cache=True)(twice)
    assert njit(cache=True)(twice)(1.5) == 3


@pytest.mark.parametrize("refused", ["save", "load"])
def test_a_disk_that_fails_stops_nothing(refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(caching.IndexDataCacheFile, refused, full)
    kernel = njit(cache=True)(twice)
    assert kernel(1.5) == 3
    assert not kernel.stats.cache_hits


def test_nothing_is_kept_unless_that_is_asked_for() -> None:
    assert njit()(twice)(1.5) == 3
