"""Caches at addresses: in memory here, and on a server that speaks S3, started by the test."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from partwhole.store.cache import Cache, default_place
from partwhole.store.storage import AddressStorage, Entry, FolderStorage, Storage, storage_at

KEY, ARRAYS = {"what": "test", "k": 1}, {"x": np.arange(5.0)}


@pytest.fixture
def address() -> Iterator[str]:
    fsspec = pytest.importorskip("fsspec")
    yield "memory://partwhole-cache/here"
    files = fsspec.filesystem("memory")
    if files.exists("/partwhole-cache"):
        files.rm("/partwhole-cache", recursive=True)


def test_a_cache_at_an_address(address: str) -> None:
    said: list[str] = []
    cache = Cache(address, tell=said.append)
    assert (cache.get(KEY), cache.entries(), cache.has(KEY)) == (None, [], False)
    assert cache.can_be_written()
    cache.put(KEY, ARRAYS)
    found = Cache(address).get(KEY)
    assert found is not None
    np.testing.assert_array_equal(found["x"], ARRAYS["x"])
    (entry,) = cache.entries()
    assert entry.path.startswith(f"{address}/")
    assert [is_whole for _, is_whole in cache.verified()] == [True]
    assert repr(cache) == f"Cache({address!r})"
    assert cache.clear() == [entry]
    assert (cache.entries(), said) == ([], [])


def test_damage_is_reported_once_removed_and_computed_again(tmp_path: Path) -> None:
    said: list[str] = []
    cache = Cache(tmp_path, tell=said.append)
    cache.put(KEY, ARRAYS)
    data = bytearray(cache.path(KEY).read_bytes())
    for place in range(0, len(data), 41):
        flipped = bytes([*data[:place], data[place] ^ 1, *data[place + 1 :]])
        cache.path(KEY).write_bytes(flipped)
        assert [is_whole for _, is_whole in cache.verified()] == [False], "every bit counts"
    assert cache.get(KEY) is None
    assert cache.get(KEY) is None
    assert said == [f"an entry of the cache {tmp_path} was damaged; it is removed and computed again"]
    assert cache.entries() == []
    cache.put(KEY, ARRAYS)
    assert cache.path(KEY).read_bytes() == bytes(data), "the same arrays are the same bytes"


def test_what_is_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(storage_at(tmp_path), FolderStorage)
    assert storage_at(f"file://{tmp_path}").place == str(tmp_path)
    pytest.importorskip("fsspec")
    assert isinstance(storage_at("memory://x"), AddressStorage)
    assert isinstance(storage_at("memory://x"), Storage)
    with pytest.raises(ValueError, match="nonsense://x is no address that fsspec knows"):
        storage_at("nonsense://x")
    monkeypatch.setenv("PARTWHOLE_CACHE", "memory://x/y")
    assert default_place() == "memory://x/y"
    assert (Cache.default().place, Cache.default().limit) == ("memory://x/y", None)


def test_an_address_without_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ValueError, match=r's3://bucket/x needs fsspec: .*pip install "fsspec>='):
        Cache("s3://bucket/x")


def test_an_address_whose_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    core = pytest.importorskip("fsspec.core")

    def missing(*_: object, **__: object) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(core, "url_to_fs", missing)
    with pytest.raises(ValueError, match=r"s3://b can't be opened \(Install s3fs to access S3\): .*pip install"):
        Cache("s3://b")


def test_a_place_that_is_gone_is_reported_once(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    cache = Cache(address, tell=said.append)
    cache.put(KEY, ARRAYS)

    def gone(*_: object, **__: object) -> None:
        raise RuntimeError("no route to host")

    monkeypatch.setattr(pytest.importorskip("fsspec").get_filesystem_class("memory"), "cat_file", gone)
    assert cache.get(KEY) is None
    assert cache.get(KEY) is None
    cache.put({"k": 2}, ARRAYS)
    assert said == [f"the cache {address} can't be reached (RuntimeError: no route to host); it is not used any more"]


# --- a disk


def test_a_disk_that_fills_up_and_one_that_is_read_only(small_disk: Callable[[str], Path]) -> None:
    said: list[str] = []
    folder = small_disk("size=4m") / "cache"
    cache = Cache(folder, tell=said.append)
    for k in range(30):
        cache.put({"k": k}, {"x": np.full(30_000, k)})
    assert said == [f"nothing is kept for other runs: the cache {folder} can't be written (No space left on device)"]
    kept = Cache(folder, tell=said.append)
    whole = [is_whole for _, is_whole in kept.verified()]
    assert whole == [True] * len(whole)
    assert 10 < len(whole) < 30
    assert not list(folder.rglob("*.partial*"))
    small_disk("ro")
    np.testing.assert_array_equal(kept.get({"k": 0})["x"], 0)  # type: ignore[index]
    kept.put({"k": 99}, ARRAYS)
    assert said[1:] == [f"nothing is kept for other runs: the cache {folder} can't be written (Read-only file system)"]


# --- S3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[bytes]]:
    """A server that speaks S3, with a bucket."""
    program = shutil.which("moto_server", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    s3fs = pytest.importorskip("s3fs", reason="there is no s3fs, and perhaps no moto_server")
    if program is None:
        pytest.skip("there is no moto_server: pip install 'moto[server]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = subprocess.Popen(
        [program, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    known = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_DEFAULT_REGION": "us-east-1"}
    known |= {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_MAX_ATTEMPTS": "1"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in known.items():
            patch.setenv(name, value)
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert started.poll() is None
                time.sleep(0.1)
        s3fs.S3FileSystem().mkdir("bucket")
        yield started
    started.kill()
    started.wait()


@pytest.mark.filterwarnings("default")
def test_s3_and_what_happens_when_its_server_is_gone(server: subprocess.Popen[bytes]) -> None:
    said: list[str] = []
    cache = Cache("s3://bucket/a/b", tell=said.append)
    assert cache.get(KEY) is None
    cache.put(KEY, ARRAYS)
    found = cache.get(KEY)
    assert found is not None
    np.testing.assert_array_equal(found["x"], ARRAYS["x"])
    (entry,) = cache.entries()
    assert isinstance(entry, Entry)
    assert entry.used > 0
    storage = cache.storage
    data = storage.read(entry.name)
    assert data is not None
    storage.write(entry.name, data[:100])
    assert [is_whole for _, is_whole in cache.verified()] == [False]
    assert (cache.get(KEY), cache.entries()) == (None, [])
    assert len(said) == 1
    cache.put(KEY, ARRAYS)
    server.kill()
    server.wait()
    assert cache.get(KEY) is None
    assert said[1].startswith("the cache s3://bucket/a/b can't be reached (")
    other: list[str] = []
    Cache("s3://bucket/a/b", tell=other.append).put(KEY, ARRAYS)
    assert other[0].startswith("nothing is kept for other runs: the cache s3://bucket/a/b can't be written (")
    with pytest.raises(OSError, match="Error"):
        Cache("s3://bucket/a/b").entries()


# --- many writers

WRITER = """
import sys
import numpy as np
from partwhole.store.cache import Cache
cache = Cache(sys.argv[1], tell=lambda text: sys.exit(text))
for number in range(int(sys.argv[2])):
    key = {"k": number % 50}
    cache.put(key, {"x": np.full(200, number % 50)})
    found = cache.get({"k": (number * 7) % 50})
    if found is not None and not (found["x"] == (number * 7) % 50).all():
        sys.exit("corrupt")
"""


@pytest.mark.slow
def test_two_processes_a_core_write_the_same_keys(tmp_path: Path) -> None:
    count = 2 * (os.cpu_count() or 1)
    command = [sys.executable, "-c", WRITER, str(tmp_path / "cache"), str(10_000 // count)]
    writers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(count)]
    assert [writer.communicate()[1] for writer in writers] == [b""] * count
    assert [writer.returncode for writer in writers] == [0] * count
    cache = Cache(tmp_path / "cache")
    assert [is_whole for _, is_whole in cache.verified()] == [True] * 50
    assert not list((tmp_path / "cache").rglob("*.partial*"))
