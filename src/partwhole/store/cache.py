"""A cache: arrays under a hash of everything they were computed from, in a folder or at an address such as s3://bucket/cache."""

from __future__ import annotations

import hashlib
import io
import math
import os
import sys
import threading
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from partwhole.store.arguments import in_short
from partwhole.store.storage import Entry, FolderStorage, Storage, hash_of, is_address, storage_at
from partwhole.store.text import bytes_of

__all__ = ["Cache", "CacheGiven", "Entry", "default_folder", "default_limit"]

T = TypeVar("T")

# raised when the layout of the files changes; older ones are then never found
_LAYOUT = 2
# bytes of the SHA-256 at the end of an entry
_DIGEST = 32
_LIMIT = 20 * 10**9
# once more than the limit is there, this share of it is left, so that the next entries find room
_LEFT = 0.9
# of the limit, which one process writes at most before it looks what the others wrote
_UNSEEN = 0.05

# threads that can't write at the same moment say it once
_TELLING = threading.Lock()


class Cache:
    """A folder of named arrays, each entry in a file of its own: `SHA-256 of the key`.npz.

    A key is a mapping that says what was computed, from what, how, and by which version of the code. Two keys are the same
    only if everything in them is: values, types, shapes, names. So an entry can never be outdated.

    Entries are written atomically and carry a checksum, so several processes and machines may share a folder or an address,
    without locks. An entry that is damaged is reported, removed, and counts as missing. Nothing is created before the first
    `put`. The folder, or any file in it, may be removed at any time. If it can't be written or reached, because the disk is
    full, permission is missing or a server is gone, this is reported once and nothing is kept from then on: the results are
    the same without a cache, only slower.

    Parameters
    ----------
    folder : where the files are, or will be: a folder, or an address of fsspec
    tell : called with a message if nothing can be written, once, and for each damaged entry; default: a warning
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
        self.storage = storage_at(folder)
        if limit is not None and limit < 1:
            raise ValueError(f"limit must be a number of bytes above 0, got {limit}; None is for no limit")
        self.limit = limit
        self._tell = tell or _warn
        self._is_off = False
        # bytes that may be written before the folder is looked at again; at first it is unknown
        self._room = 0.0

    @property
    def folder(self) -> Path:
        """The folder, of a cache in one."""
        return Path(self.place)

    @property
    def place(self) -> str:
        """The folder or the address, as it can be given to another process."""
        return self.storage.place

    @classmethod
    def default(cls, *, tell: Callable[[str], None] | None = None) -> Cache:
        """The cache in the folder PARTWHOLE_CACHE, or in the user's cache folder (~/.cache/partwhole).

        PARTWHOLE_CACHE may be an address of fsspec, such as s3://bucket/cache. The limit is PARTWHOLE_CACHE_LIMIT (500 MB,
        20 GiB, or none for no limit), by default 20 GB for a folder and none for an address.
        """
        place = default_place()
        return cls(place, limit=default_limit(None if is_address(place) else _LIMIT), tell=tell)

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
        return f"Cache({self.place!r}" + (f", limit={self.limit})" if self.limit else ")")

    def path(self, key: Mapping[str, Any]) -> Path:
        """Where the file for a key is, or would be; of a cache in a folder."""
        return Path(self.storage.path(self.name(key)))

    def name(self, key: Mapping[str, Any]) -> str:
        """The name of the entry for a key."""
        return hash_of({"layout": _LAYOUT, "key": key}) + ".npz"

    def has(self, key: Mapping[str, Any]) -> bool:
        """Whether there is an entry for a key; `get` still makes sure that it is whole."""
        return self._asked(lambda: self.storage.has(self.name(key))) or False

    def get(self, key: Mapping[str, Any]) -> dict[str, np.ndarray] | None:
        """The arrays that were put under this key, or None if there are none, or if they were damaged since."""
        name = self.name(key)
        data = self._asked(lambda: self.storage.read(name))
        if data is None:
            return None
        arrays = _unpacked(name, data)
        if arrays is None:
            self._asked(lambda: self.storage.remove(name))
            self._tell(f"an entry of the cache {self.place} was damaged; it is removed and computed again")
            return None
        self.storage.touch(name)
        return arrays

    def put(self, key: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Keep arrays under a key, in the place of what was there before; see the class for where that can't be done."""
        for name, array in arrays.items():
            if not name.isidentifier():
                raise ValueError(f"{name!r} is not a valid name of an array; use another one")
            if np.asarray(array).dtype.hasobject:
                raise ValueError(f"{name} holds Python objects, which can't be written; convert it to numbers")
        if self._is_off:
            return
        entry = self.name(key)
        data = _packed(entry, {name: np.asarray(array) for name, array in arrays.items()})
        if self._did(lambda: self.storage.write(entry, data)):
            self._keep_limit(entry, len(data))

    def verified(self) -> Iterator[tuple[Entry, bool]]:
        """Every entry, and whether it is whole; one of an older version of the library is not."""
        for entry in self.entries():
            data = self.storage.read(entry.name)
            if data is not None:  # not removed meanwhile
                yield entry, _is_whole(entry.name, data)

    def remove(self, entries: Sequence[Entry]) -> list[Entry]:
        """Remove these entries, and return those that were removed here."""
        return _remove_oldest(self.storage, entries, -math.inf)

    def can_be_written(self) -> bool:
        """Whether `put` could write an entry, tested by writing an empty file; the folder is created for that."""
        return not self._is_off and self._did(self.storage.try_to_write)

    def _asked(self, ask: Callable[[], T]) -> T | None:
        """What the storage says; None, from now on, if it can't be reached."""
        if self._is_off:
            return None
        try:
            return ask()
        except OSError as error:
            self._turn_off(f"the cache {self.place} can't be reached ({_reason(error)}); it is not used any more")
            return None

    def _did(self, write: Callable[[], None]) -> bool:
        """Write something; if that fails, say so and write nothing any more."""
        try:
            write()
        except (OSError, ValueError) as error:  # ValueError: there is a folder where a file should be, or the reverse
            self._turn_off(
                f"nothing is kept for other runs: the cache {self.place} can't be written ({_reason(error)})"
            )
            return False
        return True

    def _turn_off(self, text: str) -> None:
        with _TELLING:
            told, self._is_off = self._is_off, True
        if not told:
            self._tell(text)

    def entries(self) -> list[Entry]:
        """All entries, those used longest ago first; other files in the folder are ignored."""
        return sorted(self.storage.entries(), key=lambda entry: (entry.used, entry.path))

    def trim(self, most: int) -> list[Entry]:
        """Remove the entries used longest ago until at most `most` bytes are left, and return those removed."""
        return _remove_oldest(self.storage, self.entries(), most)

    def clear(self) -> list[Entry]:
        """Remove every entry and the folders that are then empty, nothing else, and return the entries removed."""
        removed = self.remove(self.entries())
        if isinstance(self.storage, FolderStorage):
            self.storage.remove_empty()
        return removed

    def _keep_limit(self, written: str, own: int) -> None:
        """Trim the folder if it may exceed the limit. It is listed now and then only, and errors are ignored."""
        if self.limit is None:
            return
        with suppress(OSError):
            self._room -= own
            if self._room >= 0:
                return
            self._room = _UNSEEN * self.limit
            others = [entry for entry in self.entries() if entry.name != written]
            free = self.limit - own - sum(entry.size for entry in others)
            if free < 0:
                _remove_oldest(self.storage, others, _LEFT * self.limit - own)
            else:
                self._room = min(self._room, free)


def _remove_oldest(storage: Storage, entries: Sequence[Entry], most: float) -> list[Entry]:
    """Remove files from the first on, until the rest takes no more than `most` bytes; those that were removed."""
    excess = sum(entry.size for entry in entries) - most
    removed = []
    for entry in entries:
        if excess <= 0:
            break
        try:
            if storage.remove(entry.name):
                removed.append(entry)
        except OSError:  # not ours to remove, or open in a system that minds
            continue
        excess -= entry.size
    return removed


def _packed(name: str, arrays: Mapping[str, np.ndarray]) -> bytes:
    """An npz file, the same for the same arrays, and its checksum; the name is in it, so no entry is taken for another."""
    file = io.BytesIO()
    # not by np.savez, whose arguments some names would be taken for
    with zipfile.ZipFile(file, "w") as archive:
        for member, array in arrays.items():
            # without the time, which `archive.open` takes for a name only
            with archive.open(zipfile.ZipInfo(f"{member}.npy"), "w", force_zip64=True) as place:
                np.lib.format.write_array(place, array, allow_pickle=False)
    data = file.getvalue()
    return data + _checksum(name, data)


def _checksum(name: str, data: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(name.encode())
    digest.update(data)
    return digest.digest()


def _is_whole(name: str, data: bytes) -> bool:
    return len(data) > _DIGEST and data[-_DIGEST:] == _checksum(name, memoryview(data)[:-_DIGEST])


def _unpacked(name: str, data: bytes) -> dict[str, np.ndarray] | None:
    """The arrays of an entry; None if it is damaged."""
    if not _is_whole(name, data):
        return None
    try:
        with np.load(io.BytesIO(data[:-_DIGEST]), allow_pickle=False) as file:
            return {member: file[member] for member in file.files}
    except Exception:  # whoever made this with a right checksum
        return None


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=2)


# see `Cache.meant`
CacheGiven = Cache | str | os.PathLike[str] | bool | None


def default_place() -> str:
    """The address or the folder of the default cache, see `default_folder`."""
    given = os.environ.get("PARTWHOLE_CACHE", "")
    return given if is_address(given) else str(default_folder())


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


def default_limit(otherwise: int | None = _LIMIT) -> int | None:
    """PARTWHOLE_CACHE_LIMIT in bytes where it is set, None if it says none, else 20 GB or what is given."""
    given = os.environ.get("PARTWHOLE_CACHE_LIMIT", "").strip()
    if not given:
        return otherwise
    if given.lower() == "none":
        return None
    with suppress(ValueError):
        size = bytes_of(given)
        if size > 0:
            return size
    raise ValueError(f"PARTWHOLE_CACHE_LIMIT is {given!r}; set it to a size such as 20 GB or 500 MB, or to none")
