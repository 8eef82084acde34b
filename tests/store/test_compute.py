"""How many cores are free, and compiled functions where nothing can be kept."""

from __future__ import annotations

import errno
from pathlib import Path

import numba
import numba.core.caching as caching
import pytest

from partwhole.store import compute
from partwhole.store.compute import njit


@pytest.mark.parametrize(
    ("minute", "now", "free"),
    [(0.2, 3.0, 4), (3.0, 0.0, 4), (3.0, 2.0, 2), (1.0, 3.0, 3), (9.0, 9.0, 1), (2.4, None, 2)],
)
def test_cores_are_free_that_nothing_runs_on(
    monkeypatch: pytest.MonkeyPatch, minute: float, now: float | None, free: int
) -> None:
    monkeypatch.setattr(compute, "available_cores", lambda: 4)
    monkeypatch.setattr(compute.os, "getloadavg", lambda: (minute, 0.0, 0.0))
    monkeypatch.setattr(compute, "running_now", lambda: now)
    assert compute.free_cores() == free


def test_a_system_that_says_nothing(tmp_path: Path) -> None:
    assert compute.running_now(tmp_path / "nothing") is None
    (tmp_path / "odd").write_text("0.1 0.2")
    assert compute.running_now(tmp_path / "odd") is None
    (tmp_path / "said").write_text("0.76 2.21 2.61 3/84 29376\n")
    assert compute.running_now(tmp_path / "said") == 2.0
    (tmp_path / "alone").write_text("0.76 2.21 2.61 0/84 29376\n")
    assert compute.running_now(tmp_path / "alone") == 0.0
    assert 1 <= compute.free_cores() <= compute.available_cores()


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
