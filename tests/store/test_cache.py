from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partwhole.store.cache import Cache, default_folder, hash_of

KEY = {"what": "test", "schema": 1, "of": np.arange(4.0), "k": 3, "name": None}
ARRAYS = {
    "file": np.arange(6).reshape(2, 3),
    "x": np.array([1.5, np.nan]),
    "empty": np.zeros((0, 3)),
    "one": np.array(7),
}


def same(found: dict[str, np.ndarray] | None, expected: dict[str, np.ndarray] = ARRAYS) -> bool:
    if found is None or found.keys() != expected.keys():
        return False
    return all(
        found[name].dtype == array.dtype
        and found[name].shape == array.shape
        and np.array_equal(found[name], array, equal_nan=True)
        for name, array in expected.items()
    )


def test_what_was_put_comes_back(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "a" / "b")
    assert cache.get(KEY) is None
    assert list(tmp_path.iterdir()) == [], "nothing is made before the first put"
    cache.put(KEY, ARRAYS)
    assert same(cache.get(KEY))
    assert same(Cache(tmp_path / "a" / "b").get(dict(reversed(KEY.items())))), "the order of a key does not matter"
    assert repr(cache) == f"Cache({str(tmp_path / 'a' / 'b')!r})"


def test_the_newest_stays(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, ARRAYS)
    cache.put(KEY, {"y": np.ones(2)})
    assert same(cache.get(KEY), {"y": np.ones(2)})
    assert len(list(tmp_path.rglob("*.npz"))) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"k": 4},
        {"k": 3.0},
        {"k": "3"},
        {"k": True},
        {"schema": 2},
        {"of": np.arange(4)},
        {"of": np.arange(4.0, dtype=np.float32)},
        {"of": np.arange(4.0).reshape(2, 2)},
        {"of": np.array([0, 1, 2, np.nextafter(3, 4)])},
        {"of": (0.0, 1.0, 2.0, 3.0)},
        {"name": ""},
        {"name": b""},
        {"more": 0},
    ],
)
def test_any_change_of_the_key_is_another_key(tmp_path: Path, change: dict) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, ARRAYS)
    assert cache.get(KEY | change) is None


def test_values_that_print_alike_hash_differently() -> None:
    values = [
        ("a", "bc"),
        ("ab", "c"),
        ("abc",),
        (("a",), "bc"),
        {"a": "bc"},
        "a",
        b"a",
        0.0,
        -0.0,
        0,
        False,
        None,
        "None",
    ]
    assert len({hash_of(value) for value in values}) == len(values)


def test_hashes_are_the_same_in_every_process() -> None:
    code = "from partwhole.store.cache import hash_of; print(hash_of({'b': (1, 2.5), 'a': 'x'}))"
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    other = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == hash_of({"a": "x", "b": [np.int64(1), np.float64(2.5)]})


def test_views_hash_by_their_content() -> None:
    array = np.arange(12.0).reshape(3, 4)
    assert hash_of(array[::2, ::2]) == hash_of(array[::2, ::2].copy())


# --- damage


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_harmless(tmp_path: Path, place: float, flip: int) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, ARRAYS)
    content = bytearray(cache.path(KEY).read_bytes())
    content[int(place * len(content))] ^= flip
    cache.path(KEY).write_bytes(content)
    found = cache.get(KEY)
    assert found is None or same(found)


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip file", b"\x93NUMPY"])
def test_a_damaged_file_is_missing_and_is_written_again(tmp_path: Path, content: bytes) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, ARRAYS)
    cache.path(KEY).write_bytes(content)
    assert cache.get(KEY) is None
    cache.put(KEY, ARRAYS)
    assert same(cache.get(KEY))


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, ARRAYS)
    content = cache.path(KEY).read_bytes()
    for length in range(0, len(content), 97):
        cache.path(KEY).write_bytes(content[:length])
        assert cache.get(KEY) is None


def test_a_file_under_the_name_of_another_is_noticed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    other = KEY | {"k": 5}
    cache.put(KEY, ARRAYS)
    cache.path(other).parent.mkdir(exist_ok=True)
    cache.path(other).write_bytes(cache.path(KEY).read_bytes())
    assert cache.get(other) is None


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.path(KEY).parent.mkdir()
    np.savez(cache.path(KEY), checksum=np.zeros(32, np.uint8), x=np.array([{}], dtype=object))
    assert cache.get(KEY) is None


# --- where it is


def test_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PARTWHOLE_CACHE", str(tmp_path / "mine"))
    assert Cache.default().folder == tmp_path / "mine"
    monkeypatch.delenv("PARTWHOLE_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    places = {"linux": ".cache", "darwin": "Library/Caches", "win32": "AppData/Local"}
    for platform, place in places.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert default_folder() == tmp_path / place / "partwhole"
    assert list(tmp_path.iterdir()) == []


def test_the_systems_own_setting_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PARTWHOLE_CACHE", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "partwhole"


# --- what can go wrong


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="is a file; a cache needs a folder"):
        Cache(tmp_path / "file")


def test_keys_of_other_things(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with pytest.raises(ValueError, match=r"a set can't be part of a key.*content_hash"):
        cache.get({"x": {1, 2}})
    with pytest.raises(ValueError, match="a ndarray can't be part of a key"):
        cache.get({"x": np.array([{}], dtype=object)})
    with pytest.raises(ValueError, match="1 can't be a name in a key; use strings"):
        cache.get({"x": {1: 2, "a": 3}})


def test_arrays_that_can_not_be_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for name in ("checksum", "../x", ""):
        with pytest.raises(ValueError, match="can't name an array here"):
            cache.put(KEY, {name: np.ones(2)})
    with pytest.raises(ValueError, match="x holds Python objects"):
        cache.put(KEY, {"x": np.array([{}], dtype=object)})
    assert list(tmp_path.iterdir()) == []
