from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partwhole.store.cache import Cache, Entry, default_folder, default_limit
from partwhole.store.storage import hash_of

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


def _ignore(text: str) -> None:
    """For a cache whose messages don't matter."""


# --- damage


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_harmless(tmp_path: Path, place: float, flip: int) -> None:
    cache = Cache(tmp_path, tell=_ignore)
    cache.put(KEY, ARRAYS)
    content = bytearray(cache.path(KEY).read_bytes())
    content[int(place * len(content))] ^= flip
    cache.path(KEY).write_bytes(content)
    found = cache.get(KEY)
    assert found is None or same(found)


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip file", b"\x93NUMPY"])
def test_a_damaged_file_is_missing_and_is_written_again(tmp_path: Path, content: bytes) -> None:
    cache = Cache(tmp_path, tell=_ignore)
    cache.put(KEY, ARRAYS)
    cache.path(KEY).write_bytes(content)
    assert cache.get(KEY) is None
    cache.put(KEY, ARRAYS)
    assert same(cache.get(KEY))


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    cache = Cache(tmp_path, tell=_ignore)
    cache.put(KEY, ARRAYS)
    content = cache.path(KEY).read_bytes()
    for length in range(0, len(content), 97):
        cache.path(KEY).write_bytes(content[:length])
        assert cache.get(KEY) is None


def test_a_file_under_the_name_of_another_is_noticed(tmp_path: Path) -> None:
    cache = Cache(tmp_path, tell=_ignore)
    other = KEY | {"k": 5}
    cache.put(KEY, ARRAYS)
    cache.path(other).parent.mkdir(exist_ok=True)
    cache.path(other).write_bytes(cache.path(KEY).read_bytes())
    assert cache.get(other) is None


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    cache = Cache(tmp_path, tell=_ignore)
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


# --- how much it keeps

ONE = {"x": np.zeros(1000, np.uint8)}


def sized(folder: Path) -> int:
    """What one such entry takes."""
    Cache(folder).put({"n": 0}, ONE)
    return Cache(folder).entries()[0].size


def put(cache: Cache, n: int) -> None:
    """An entry that was used at the time n."""
    cache.put({"n": n}, ONE)
    os.utime(cache.path({"n": n}), (n, n))


def held(cache: Cache, among: int) -> list[int]:
    return [n for n in range(among) if cache.path({"n": n}).exists()]


def test_entries_are_the_files_that_the_cache_made(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "kept")
    assert cache.entries() == []
    for n in (2, 1):
        put(cache, n)
    paths = [cache.path({"n": n}) for n in (1, 2)]
    name = paths[0].name
    strange = "0" if name[0] != "0" else "1"
    for other in (
        "notes.txt",
        name,
        f"{name[:2]}/{strange}{name[1:]}",
        f"{name[:2]}/.{name[:32]}.0123.partial.npz",
        f"{name[:2]}/{name}.npz",
        f"{name[:2]}/deeper/{name}",
        f"photos/{name}",
    ):
        (cache.folder / other).parent.mkdir(exist_ok=True)
        (cache.folder / other).write_bytes(b"mine")
    (cache.folder / "ff").mkdir(exist_ok=True)
    (cache.folder / "ff" / f"{'f' * 64}.npz").symlink_to(cache.folder / "notes.txt")
    (tmp_path / "ee").mkdir()
    (tmp_path / "ee" / f"{'e' * 64}.npz").write_bytes(b"mine")
    (cache.folder / "ee").symlink_to(tmp_path / "ee")
    theirs = {path for path in tmp_path.rglob("*") if path.is_file() and path not in paths}
    assert len(theirs) == 9
    assert cache.entries() == [
        Entry(str(path), path.stat().st_size, used) for path, used in zip(paths, (1.0, 2.0), strict=True)
    ]
    assert [Path(entry.path) for entry in cache.clear()] == paths
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == theirs
    assert not paths[1].parent.exists(), "folders go once they are empty"
    assert cache.entries() == cache.clear() == cache.trim(0) == []


def test_a_file_of_no_bytes_is_cleared_too(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    put(cache, 0)
    cache.path({"n": 0}).write_bytes(b"")
    assert cache.trim(0) == []
    assert len(cache.clear()) == 1
    assert list(tmp_path.iterdir()) == []


def test_trimming_takes_what_was_used_longest_ago(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for n in (3, 0, 2, 1):
        put(cache, n)
    size = cache.entries()[0].size
    assert cache.trim(4 * size) == []
    assert [entry.used for entry in cache.trim(2 * size + 1)] == [0, 1]
    assert held(cache, 4) == [2, 3]
    assert len(cache.trim(0)) == 2
    assert cache.clear() == list(tmp_path.iterdir()) == [], "folders that were empty before go too"


def test_to_get_is_to_use(tmp_path: Path) -> None:
    cache = Cache(tmp_path, tell=_ignore)
    for n in range(3):
        put(cache, n)
    assert cache.get({"n": 0}) is not None
    cache.path({"n": 1}).write_bytes(b"damaged")
    os.utime(cache.path({"n": 1}), (1, 1))
    assert cache.get({"n": 1}) is None
    # what is damaged is removed
    assert [Path(entry.path) for entry in cache.entries()] == [cache.path({"n": n}) for n in (2, 0)]


def test_a_cache_that_is_not_ours_to_write_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, ARRAYS)

    def refused(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(os, "utime", refused)
    assert same(cache.get(KEY))
    monkeypatch.setattr(os, "unlink", refused)
    assert cache.trim(0) == cache.clear() == []
    assert same(cache.get(KEY))


def test_the_limit_holds_and_the_newest_stay(tmp_path: Path) -> None:
    limit = 20 * sized(tmp_path / "one")
    cache = Cache(tmp_path / "kept", limit=limit)
    assert repr(cache) == f"Cache({str(tmp_path / 'kept')!r}, limit={limit})"
    for n in range(100):
        put(cache, n)
        assert sum(entry.size for entry in cache.entries()) <= limit
        kept = held(cache, 100)
        assert kept == list(range(n + 1 - len(kept), n + 1))
        assert len(kept) >= min(18, n + 1)


def test_what_is_used_again_and_again_stays(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "kept", limit=10 * sized(tmp_path / "one"))
    for n in range(50):
        put(cache, n)
        assert cache.get({"n": 0}) is not None


def test_an_entry_above_the_limit_is_kept_alone(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=10)
    for n in range(3):
        cache.put({"n": n}, ONE)
        os.utime(cache.path({"n": n}), (9 - n, 9 - n))
        assert held(cache, 3) == [n]


def test_a_folder_that_was_filled_without_a_limit_is_trimmed_at_the_first_put(tmp_path: Path) -> None:
    size = sized(tmp_path / "one")
    for n in range(30):
        put(Cache(tmp_path / "kept"), n)
    put(Cache(tmp_path / "kept", limit=10 * size), 30)
    assert held(Cache(tmp_path / "kept"), 31) == list(range(22, 31))


def test_the_folder_is_not_read_at_each_put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path / "kept", limit=1000 * sized(tmp_path / "one"))
    looked = 0
    entries = Cache.entries

    def counted(self: Cache) -> list[Entry]:
        nonlocal looked
        looked += 1
        return entries(self)

    monkeypatch.setattr(Cache, "entries", counted)
    for n in range(120):
        cache.put({"n": n}, ONE)
    assert looked == 3  # at the first, and then after 50 more, as many as are a twentieth of the limit
    for n in range(5):
        Cache(tmp_path / "kept").put({"n": n}, ONE)
    assert looked == 3, "without a limit there is nothing to look for"


def test_trimming_fails_in_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError("closed")

    cache = Cache(tmp_path, limit=10)
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refused)
        for n in range(3):
            cache.put({"n": n}, ONE)
    assert held(cache, 3) == [0, 1, 2]
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refused)
        cache.put({"n": 3}, ONE)
        with pytest.raises(PermissionError):
            cache.entries()
    cache.put({"n": 4}, ONE)
    assert held(cache, 5) == [4]


def test_files_that_vanish_meanwhile_are_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    for n in range(4):
        put(cache, n)
    before = cache.entries()
    cache.path({"n": 0}).unlink()
    monkeypatch.setattr(Cache, "entries", lambda self: before)
    assert cache.trim(2 * before[0].size) == before[1:2], "another process removed one of the two"
    assert held(cache, 4) == [2, 3]
    assert cache.clear() == before[2:]


def test_a_folder_that_is_cleared_meanwhile_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import partwhole.store.storage as module

    cache, write, tried = Cache(tmp_path), module.atomic_write, 0

    def cleared_before(path: Path) -> object:
        nonlocal tried
        tried += 1
        if tried <= 3:
            path.parent.rmdir()
        return write(path)

    monkeypatch.setattr(module, "atomic_write", cleared_before)
    cache.put(KEY, ARRAYS)
    assert tried == 4
    assert same(cache.get(KEY))


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def below_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder.touch()
    return folder / "kept"


def a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder.touch()
    return folder


def a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("partwhole.store.storage.atomic_write", no_space)
    return folder


def no_folder_to_be_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(Path, "mkdir", no_space)
    return folder


def a_file_in_the_way(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder.mkdir()
    Cache(folder).path(KEY).parent.touch()
    return folder


def a_folder_in_the_way(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    Cache(folder).path(KEY).mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    "trouble", [below_a_file, a_file, a_full_disk, no_folder_to_be_made, a_file_in_the_way, a_folder_in_the_way]
)
def test_a_cache_that_can_not_be_written_says_so_once_and_keeps_nothing(
    trouble: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = trouble(tmp_path / "cache", monkeypatch)
    said: list[str] = []
    cache = Cache(folder, tell=said.append)
    for _ in range(2):
        assert cache.get(KEY) is None
        cache.put(KEY, ARRAYS)
    assert cache.get(KEY) is None
    assert len(said) == 1
    assert said[0].startswith(f"nothing is kept for other runs: the cache {folder} can't be written (")
    assert not cache.can_be_written()
    with pytest.warns(UserWarning, match="nothing is kept for other runs"):
        Cache(folder).put(KEY, ARRAYS)


def test_whether_a_cache_can_be_written_is_found_by_writing(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "kept")
    assert cache.can_be_written()
    assert list(tmp_path.rglob("*")) == [tmp_path / "kept"]
    (tmp_path / "file").touch()
    said: list[str] = []
    assert not Cache(tmp_path / "file" / "kept", tell=said.append).can_be_written()
    assert len(said) == 1


def test_without_a_home_there_is_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("PARTWHOLE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", nobody)
    with pytest.raises(OSError, match="you have no home folder; set PARTWHOLE_CACHE"):
        Cache.default()


def test_processes_share_a_limit(tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np; from partwhole.store.cache import Cache\n"
        "cache, first = Cache(sys.argv[1], limit=20_000), int(sys.argv[2])\n"
        "for n in range(first, first + 150):\n"
        "    cache.put({'n': n}, {'x': np.zeros(1000, np.uint8)}); cache.get({'n': n - 1})\n"
        "    if n % 50 == 49: cache.clear()"
    )
    words = [sys.executable, "-W", "error", "-c", code, str(tmp_path)]
    started = [subprocess.Popen([*words, str(first)], stderr=subprocess.PIPE) for first in (0, 100, 200)]
    for process in started:
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, b"")
    assert sum(entry.size for entry in Cache(tmp_path).entries()) <= 1.1 * 20_000


@pytest.mark.parametrize(
    ("given", "limit"),
    [(None, 20 * 10**9), (" ", 20 * 10**9), ("none", None), ("None", None), ("500MB", 500_000_000), ("1 GiB", 2**30)],
)
def test_default_limit(given: str | None, limit: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if given is None:
        monkeypatch.delenv("PARTWHOLE_CACHE_LIMIT", raising=False)
    else:
        monkeypatch.setenv("PARTWHOLE_CACHE_LIMIT", given)
    assert default_limit() == Cache.default().limit == limit


# --- what can go wrong


@pytest.mark.parametrize("given", ["0", "20", "much", "-1 GB", "0 GB", "1e9 B", "20 GB or so"])
def test_limits_that_can_not_be_read(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARTWHOLE_CACHE_LIMIT", given)
    with pytest.raises(ValueError, match=f"PARTWHOLE_CACHE_LIMIT is '{given}'; set it to a size such as 20 GB"):
        Cache.default()


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_is_above_nothing(limit: int, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=rf"limit must be a number of bytes above 0, got {limit}; None is for no limit"
    ):
        Cache(tmp_path, limit=limit)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="is a file; a cache needs a folder"):
        Cache(tmp_path / "file").entries()


def test_keys_of_other_things(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with pytest.raises(ValueError, match=r"a set can't be part of a key.*content_hash"):
        cache.get({"x": {1, 2}})
    with pytest.raises(ValueError, match="a ndarray can't be part of a key"):
        cache.get({"x": np.array([{}], dtype=object)})
    with pytest.raises(ValueError, match="1 is not a valid name in a key; use strings"):
        cache.get({"x": {1: 2, "a": 3}})


def test_arrays_that_can_not_be_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for name in ("../x", ""):
        with pytest.raises(ValueError, match="is not a valid name of an array"):
            cache.put(KEY, {name: np.ones(2)})
    with pytest.raises(ValueError, match="x holds Python objects"):
        cache.put(KEY, {"x": np.array([{}], dtype=object)})
    assert list(tmp_path.iterdir()) == []


def test_what_is_meant_by_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARTWHOLE_CACHE", str(tmp_path / "default"))
    one = Cache(tmp_path)
    assert Cache.meant(one) is one
    assert Cache.meant(None) is None
    assert Cache.meant(False) is None
    for one_way, folder in ((True, tmp_path / "default"), (tmp_path / "a", tmp_path / "a"), (str(tmp_path), tmp_path)):
        found = Cache.meant(one_way)
        assert found is not None
        assert found.folder == folder


def test_threads_that_fail_at_the_same_moment_say_it_once(tmp_path, monkeypatch):
    together = threading.Barrier(3)

    def fail(*_: object) -> None:
        together.wait()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("partwhole.store.storage.atomic_write", fail)
    said: list[str] = []
    cache = Cache(tmp_path, tell=said.append)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda k: cache.put({"k": k}, {"a": np.zeros(2)}), range(3)))
    assert len(said) == 1
