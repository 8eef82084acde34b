"""A cache on disk: arrays in files that are named by a hash of everything they were computed from."""

from __future__ import annotations

import hashlib
import math
import os
import re
import struct
import sys
import tempfile
import threading
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from partwhole.store.arguments import in_short
from partwhole.store.atomic import atomic_write
from partwhole.store.text import bytes_of

# raised when the layout of the files changes; older ones are then never found
_LAYOUT = 1
_CHECKSUM = "checksum"
_NAME = re.compile(r"[0-9a-f]{64}\.npz")
_LIMIT = 20 * 10**9
# once more than the limit is there, this share of it is left, so that the next entries find room
_LEFT = 0.9
# of the limit, which one process writes at most before it looks what the others wrote
_UNSEEN = 0.05

# threads that can't write at the same moment say it once
_TELLING = threading.Lock()


@dataclass(frozen=True)
class Entry:
    """A file of a cache: its size in bytes, and when it was last put or got, in seconds since 1970."""

    path: str  # tens of thousands of Path would take longer to make than all of their files to look up
    size: int
    used: float


class Cache:
    """A folder of named arrays, each entry in a file of its own: `SHA-256 of the key`.npz.

    A key is a mapping that says what was computed, from what, how, and by which version of the code. Two keys are the same
    only if everything in them is: values, types, shapes, names. So an entry can never be outdated.

    Entries are written atomically, so several processes may share a folder. A file that is damaged or can't be read counts
    as missing. Nothing is created on disk before the first `put`. The folder, or any file in it, may be removed at any
    time. If the folder can't be written, because the disk is full or permission is missing, this is reported once and
    nothing is kept from then on: the results are the same without a cache, only slower.

    Parameters
    ----------
    folder : where the files are, or will be
    tell : called once with a message if nothing can be written; default: a warning
    limit : bytes that are kept; beyond them `put` removes the entries that were used longest ago, never the one it has
        just written. Each of several processes that share a folder may exceed the limit by a twentieth of it for a while.
        Default: no limit

    Examples
    --------
    >>> import tempfile
    >>> cache = Cache(tempfile.mkdtemp())
    >>> key = {"what": "squares", "schema": 1, "of": np.arange(3)}
    >>> cache.get(key) is None
    True
    >>> cache.put(key, {"squares": np.arange(3) ** 2})
    >>> cache.get(key)["squares"].tolist()
    [0, 1, 4]
    """

    def __init__(
        self, folder: str | os.PathLike[str], *, limit: int | None = None, tell: Callable[[str], None] | None = None
    ) -> None:
        self.folder = Path(folder).expanduser()
        if limit is not None and limit < 1:
            raise ValueError(f"limit must be a number of bytes above 0, got {limit}; None is for no limit")
        self.limit = limit
        self._tell = tell or _warn
        self._is_off = False
        # bytes that may be written before the folder is looked at again; at first it is unknown
        self._room = 0.0

    @classmethod
    def default(cls, *, tell: Callable[[str], None] | None = None) -> Cache:
        """The cache in the folder PARTWHOLE_CACHE, or in the user's cache folder (~/.cache/partwhole).

        Its limit is PARTWHOLE_CACHE_LIMIT (500 MB, 20 GiB, or none for no limit), by default 20 GB.
        """
        return cls(default_folder(), limit=default_limit(), tell=tell)

    @classmethod
    def meant(cls, given: Cache | str | os.PathLike[str] | bool | None) -> Cache | None:
        """The cache that an argument stands for: True is the `default`, a path its folder; False and None are none.

        Examples
        --------
        >>> Cache.meant(None) is Cache.meant(False) is None, Cache.meant("kept")
        (True, Cache('kept'))
        """
        if given is None or isinstance(given, Cache):
            return given
        if isinstance(given, bool):
            return cls.default() if given else None
        if isinstance(given, str | os.PathLike):
            return cls(given)
        raise ValueError(f"cache must be a Cache, a folder, True for the default one, or None, got {in_short(given)}")

    def __repr__(self) -> str:
        return f"Cache({str(self.folder)!r}" + (f", limit={self.limit})" if self.limit else ")")

    def path(self, key: Mapping[str, Any]) -> Path:
        """Where the entry for a key is, or would be."""
        name = hash_of({"layout": _LAYOUT, "key": key})
        return self.folder / name[:2] / f"{name}.npz"

    def get(self, key: Mapping[str, Any]) -> dict[str, np.ndarray] | None:
        """The arrays that were put under this key, or None if there are none, or if they were damaged since."""
        path = self.path(key)
        try:
            # opened here: np.load would leave a damaged file open
            with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            checksum = arrays.pop(_CHECKSUM).tobytes().hex()
        except Exception:  # a damaged file can raise almost anything, and is as good as none
            return None
        if checksum != hash_of({"name": path.name, "arrays": arrays}):
            return None
        # its use is remembered by the time of the file, where the folder is ours to write
        with suppress(OSError):
            os.utime(path)
        return arrays

    def put(self, key: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Keep arrays under a key, in the place of what was there before; see the class for where that can't be done."""
        for name, array in arrays.items():
            if name == _CHECKSUM or not name.isidentifier():
                raise ValueError(f"{name!r} is not a valid name of an array; use another one")
            if np.asarray(array).dtype.hasobject:
                raise ValueError(f"{name} holds Python objects, which can't be written; convert it to numbers")
        if self._is_off:
            return
        path = self.path(key)
        kept = {name: np.asarray(array) for name, array in arrays.items()}
        checksum = np.frombuffer(bytes.fromhex(hash_of({"name": path.name, "arrays": kept})), np.uint8)
        if self._did(lambda: _write_entry(path, {_CHECKSUM: checksum, **kept})):
            self._keep_limit(path)

    def can_be_written(self) -> bool:
        """Whether `put` could write an entry, tested by writing an empty file; the folder is created for that."""

        def try_it() -> None:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass

        return not self._is_off and self._did(try_it)

    def _did(self, write: Callable[[], None]) -> bool:
        """Write something; if that fails, say so and write nothing any more."""
        try:
            write()
        except (OSError, ValueError) as error:  # ValueError: there is a folder where a file should be, or the reverse
            with _TELLING:
                told, self._is_off = self._is_off, True
            if told:
                return False
            reason = getattr(error, "strerror", None) or error
            self._tell(f"nothing is kept for other runs: the cache {self.folder} can't be written ({reason})")
            return False
        return True

    def entries(self) -> list[Entry]:
        """All entries, those used longest ago first; other files in the folder are ignored."""
        found = [entry for place in self._folders() for entry in _entries_in(place)]
        return sorted(found, key=lambda entry: (entry.used, entry.path))

    def trim(self, most: int) -> list[Entry]:
        """Remove the entries used longest ago until at most `most` bytes are left, and return those removed."""
        return _remove_oldest(self.entries(), most)

    def clear(self) -> list[Entry]:
        """Remove every entry and the folders that are then empty, nothing else, and return the entries removed."""
        removed = _remove_oldest(self.entries(), -math.inf)
        for place in self._folders():
            with suppress(OSError):  # not empty
                os.rmdir(place.path)
        return removed

    def _folders(self) -> list[os.DirEntry[str]]:
        """Where entries are: folders named by the first two digits of the hash."""
        try:
            with os.scandir(self.folder) as listing:
                return [place for place in listing if re.fullmatch("[0-9a-f]{2}", place.name)]
        except FileNotFoundError:  # nothing was put so far
            return []
        except NotADirectoryError:
            raise ValueError(f"{self.folder} is a file; a cache needs a folder") from None

    def _keep_limit(self, written: Path) -> None:
        """Trim the folder if it may exceed the limit. It is listed now and then only, and errors are ignored."""
        if self.limit is None:
            return
        with suppress(OSError):
            own = written.stat().st_size
            self._room -= own
            if self._room >= 0:
                return
            self._room = _UNSEEN * self.limit
            others = [entry for entry in self.entries() if not entry.path.endswith(written.name)]
            free = self.limit - own - sum(entry.size for entry in others)
            if free < 0:
                _remove_oldest(others, _LEFT * self.limit - own)
            else:
                self._room = min(self._room, free)


def _entries_in(place: os.DirEntry[str]) -> Iterator[Entry]:
    """The entries in one folder of a cache: plain files with the names that `Cache.path` gives."""
    if not place.is_dir(follow_symlinks=False):
        return
    with suppress(OSError), os.scandir(place.path) as listing:  # gone meanwhile, or closed to us
        for file in listing:
            ours = _NAME.fullmatch(file.name) and file.name.startswith(place.name)
            with suppress(OSError):
                if ours and file.is_file(follow_symlinks=False):
                    facts = file.stat(follow_symlinks=False)
                    yield Entry(file.path, facts.st_size, facts.st_mtime)


def _remove_oldest(entries: Sequence[Entry], most: float) -> list[Entry]:
    """Remove files from the first on, until the rest takes no more than `most` bytes; those that were removed."""
    excess = sum(entry.size for entry in entries) - most
    removed = []
    for entry in entries:
        if excess <= 0:
            break
        try:
            os.unlink(entry.path)
            removed.append(entry)
        except FileNotFoundError:  # another process was faster
            pass
        except OSError:  # not ours to remove, or open in a system that minds
            continue
        excess -= entry.size
    return removed


def _write_entry(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    for tries_left in reversed(range(10)):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as file:
                _write_npz(file, arrays)
            return
        except (FileNotFoundError, FileExistsError):  # another process cleared the cache, and with it this folder
            if not tries_left:
                raise


def _write_npz(file: BinaryIO, arrays: Mapping[str, np.ndarray]) -> None:
    # not by np.savez, whose arguments some names would be taken for
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=2)


# see `Cache.meant`
CacheGiven = Cache | str | os.PathLike[str] | bool | None


def default_folder() -> Path:
    """PARTWHOLE_CACHE where it is set, else partwhole in the user's folder for cached files."""
    try:
        return _default_folder()
    except RuntimeError:  # by expanduser and home, for users whom the system does not know
        raise OSError("there is no folder for the cache, since you have no home folder; set PARTWHOLE_CACHE") from None


def _default_folder() -> Path:
    given = os.environ.get("PARTWHOLE_CACHE")
    if given:
        return Path(given).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "partwhole"


def default_limit() -> int | None:
    """PARTWHOLE_CACHE_LIMIT in bytes where it is set, None if it says none, else 20 GB."""
    given = os.environ.get("PARTWHOLE_CACHE_LIMIT", "").strip()
    if not given:
        return _LIMIT
    if given.lower() == "none":
        return None
    with suppress(ValueError):
        size = bytes_of(given)
        if size > 0:
            return size
    raise ValueError(f"PARTWHOLE_CACHE_LIMIT is {given!r}; set it to a size such as 20 GB or 500 MB, or to none")


def hash_of(value: Any) -> str:
    """SHA-256 of a value made of numbers, strings, bytes, arrays, None, and sequences and mappings of these.

    Equal for equal values on every machine; different for values that differ, be it in type only. The order of a mapping
    does not matter; NumPy's scalars count as Python's, and lists as tuples.

    Examples
    --------
    >>> hash_of({"k": 1, "x": (2.0,)}) == hash_of({"x": [np.float64(2)], "k": 1})
    True
    >>> hash_of(1) == hash_of(1.0)
    False
    """
    digest = hashlib.sha256(b"partwhole value 1")
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    """Type, length and content, so that no two values give the same bytes."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int)):
        _feed_bytes(digest, type(value).__name__, repr(value).encode())
    elif isinstance(value, float):
        _feed_bytes(digest, "float", struct.pack("<d", value))
    elif isinstance(value, str):
        _feed_bytes(digest, "str", value.encode())
    elif isinstance(value, bytes):
        _feed_bytes(digest, "bytes", value)
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        _feed_bytes(digest, "array", repr((np.lib.format.dtype_to_descr(value.dtype), value.shape)).encode())
        digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8))
    elif isinstance(value, Mapping):
        _feed_bytes(digest, "mapping", str(len(value)).encode())
        for name in sorted(value, key=str):
            if not isinstance(name, str):
                raise ValueError(f"{name!r} is not a valid name in a key; use strings")
            _feed(digest, name)
            _feed(digest, value[name])
    elif isinstance(value, (tuple, list)):
        _feed_bytes(digest, "sequence", str(len(value)).encode())
        for item in value:
            _feed(digest, item)
    else:
        raise ValueError(
            f"a {type(value).__name__} can't be part of a key; use numbers, strings or arrays (for a mesh its content_hash)"
        )


def _feed_bytes(digest: Any, kind: str, content: bytes) -> None:
    digest.update(f"{kind}:{len(content)}:".encode() + content)
