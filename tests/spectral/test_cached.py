"""Eigenpairs in a cache: computed once, and for many surfaces by several processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import partwhole.spectral.cached as cached_module
from partwhole.datasets import plane, sphere
from partwhole.mesh import Mesh
from partwhole.spectral import cached_eigenpairs, eigenpairs
from partwhole.spectral.cached import fill_cache
from partwhole.store.cache import Cache


def test_computed_once_and_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, mesh, calls = Cache(tmp_path), sphere(200), []

    def counted(surface, k):
        calls.append(k)
        return eigenpairs(surface, k)

    monkeypatch.setattr(cached_module, "eigenpairs", counted)
    first, again = cached_eigenpairs(mesh, 10, cache), cached_eigenpairs(sphere(200), 10, cache)
    for name in ("values", "functions", "mass"):
        np.testing.assert_array_equal(getattr(again, name), getattr(first, name))
    assert calls == [10]
    cached_eigenpairs(mesh, 11, cache)
    cached_eigenpairs(mesh.scaled(2), 10, cache)
    assert calls == [10, 11, 10]


def test_a_damaged_file_is_computed_again(tmp_path: Path) -> None:
    told: list[str] = []
    cache = Cache(tmp_path, tell=told.append)
    first = cached_eigenpairs(sphere(200), 10, cache)
    (file,) = tmp_path.rglob("*.npz")
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    np.testing.assert_array_equal(cached_eigenpairs(sphere(200), 10, cache).functions, first.functions)
    assert len(file.read_bytes()) == len(whole)
    assert len(told) == 1
    assert "was damaged; it is removed and computed again" in told[0]


MESHES = [sphere(60 + 10 * number, seed=number) for number in range(6)]


@pytest.mark.parametrize("workers", [1, 2])
def test_everything_is_there_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    cache, told = Cache(tmp_path), []
    fill_cache(MESHES, 12, cache, workers=workers, progress=lambda *done: told.append(done))
    assert told == [("eigenfunctions", number, 6) for number in range(7)]
    monkeypatch.setattr("partwhole.spectral.cached.eigenpairs", None)
    for mesh in MESHES:
        found, expected = cached_eigenpairs(mesh, 12, cache), eigenpairs(mesh, 12)
        np.testing.assert_allclose(found.values, expected.values, atol=1e-8)
        np.testing.assert_array_equal(found.mass, expected.mass)


def test_what_is_there_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, told = Cache(tmp_path), []
    fill_cache(MESHES[:4], 12, cache, workers=1)
    monkeypatch.setattr(subprocess, "Popen", None)
    fill_cache(MESHES, 12, cache, workers=8, progress=lambda *done: told.append(done))
    # two are missing, not worth a process
    assert told == [("eigenfunctions", number, 6) for number in (4, 5, 6)]


def test_small_meshes_have_fewer_eigenpairs(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    fill_cache([plane(9)], 200, cache)
    assert len(cached_eigenpairs(plane(9), 9, cache)) == 9


def test_nothing_to_do(tmp_path: Path) -> None:
    fill_cache([], 10, Cache(tmp_path))
    assert not list(tmp_path.iterdir())


def flat(number: int) -> Mesh:
    return Mesh([[0, 0, 0], [1, 0, 0], [2 + number, 0, 0]], [[0, 1, 2]], name="a line")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_surface_without_eigenpairs_is_an_error(tmp_path: Path, workers: int) -> None:
    with pytest.raises(ValueError, match=r"area 0"):
        fill_cache([*MESHES, flat(0)], 5, Cache(tmp_path), workers=workers)


def test_a_process_that_dies_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start, killed = subprocess.Popen, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    monkeypatch.setattr(subprocess, "Popen", lambda _, **knobs: start([sys.executable, "-c", killed], **knobs))
    with pytest.raises(ValueError, match="eigenpairs could not be computed: a process ended with -9"):
        fill_cache(MESHES, 5, Cache(tmp_path), workers=2)


def test_no_process_outlives_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    start = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *given, **knobs: started.append(start(*given, **knobs)) or started[-1]
    )

    def stop(label: str, done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill_cache(MESHES, 5, Cache(tmp_path), workers=2, progress=stop)
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)


def test_without_a_place_for_files_one_process_does_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr("tempfile.TemporaryDirectory", refused)
    monkeypatch.setattr(subprocess, "Popen", None)
    told: list[tuple[str, int, int]] = []
    fill_cache(MESHES, 12, Cache(tmp_path), workers=2, progress=lambda *done: told.append(done))
    assert told == [("eigenfunctions", number, 6) for number in range(7)]


def test_a_cache_that_is_closed_to_us_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said: list[str] = []
    fill_cache(MESHES[:2], 12, Cache(tmp_path / "file/kept", tell=said.append))
    assert len(said) == 1
