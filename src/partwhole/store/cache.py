"""Results kept in files that are named after everything they were computed from."""

from __future__ import annotations

import hashlib
import os
import struct
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from partwhole.store.atomic import atomic_write

# raised when the layout of the files changes; older ones are then never found
_LAYOUT = 1
_CHECKSUM = "checksum"


class Cache:
    """A folder of named arrays, each entry in a file of its own: `SHA-256 of the key`.npz.

    A key is a mapping that says what was computed, from what, how, and by which version of the code. Two keys are the same
    only if everything in them is: values, types, shapes, names. There is no other way for an entry to become outdated.

    Entries appear whole or not at all, so several processes may share a folder. A file that is damaged, or can't be read,
    counts as missing. Nothing is made on disk before the first `put`. Remove the folder, or any file in it, at any time.

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

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file; a cache needs a folder")

    @classmethod
    def default(cls) -> Cache:
        """The cache in the folder PARTWHOLE_CACHE, or in the place the system has for such files (~/.cache/partwhole)."""
        return cls(default_folder())

    def __repr__(self) -> str:
        return f"Cache({str(self.folder)!r})"

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
        return arrays if checksum == hash_of({"name": path.name, "arrays": arrays}) else None

    def put(self, key: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Keep arrays under a key, in the place of what was there before."""
        for name, array in arrays.items():
            if name == _CHECKSUM or not name.isidentifier():
                raise ValueError(f"{name!r} can't name an array here; use another word")
            if np.asarray(array).dtype.hasobject:
                raise ValueError(f"{name} holds Python objects, which are never written; convert it to numbers")
        path = self.path(key)
        kept = {name: np.asarray(array) for name, array in arrays.items()}
        checksum = np.frombuffer(bytes.fromhex(hash_of({"name": path.name, "arrays": kept})), np.uint8)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            _write_npz(file, {_CHECKSUM: checksum, **kept})


def _write_npz(file: BinaryIO, arrays: Mapping[str, np.ndarray]) -> None:
    # not by np.savez, whose arguments some names would be taken for
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def default_folder() -> Path:
    """PARTWHOLE_CACHE where it is set, else partwhole in the user's folder for cached files."""
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
                raise ValueError(f"{name!r} can't be a name in a key; use strings")
            _feed(digest, name)
            _feed(digest, value[name])
    elif isinstance(value, (tuple, list)):
        _feed_bytes(digest, "sequence", str(len(value)).encode())
        for item in value:
            _feed(digest, item)
    else:
        raise ValueError(
            f"a {type(value).__name__} can't be part of a key; use numbers, strings or arrays (of a mesh its content_hash)"
        )


def _feed_bytes(digest: Any, kind: str, content: bytes) -> None:
    digest.update(f"{kind}:{len(content)}:".encode() + content)
