from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import partwhole.spectral.cached as cached_module
from partwhole.datasets import sphere
from partwhole.spectral import cached_eigenpairs, eigenpairs
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
    cache = Cache(tmp_path)
    first = cached_eigenpairs(sphere(200), 10, cache)
    (file,) = tmp_path.rglob("*.npz")
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])
    np.testing.assert_array_equal(cached_eigenpairs(sphere(200), 10, cache).functions, first.functions)
    assert len(file.read_bytes()) == len(whole)
