"""Files that are written atomically, names that are hashes of contents, and where a cache keeps its entries.

That is a folder, or any address of fsspec, such as s3://bucket/folder. A name is seen only once all of its bytes are
there: in a folder by a rename, in an object store by a single request. Nothing is locked: two writers of one name have the
same content for it, and either may be the last.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import secrets
import struct
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, runtime_checkable

import numpy as np

from partwhole.store.arguments import checked_path, how_to_install

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAME = re.compile(r"[0-9a-f]{64}\.npz")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://|[a-z][a-z0-9+.-]+::", re.IGNORECASE)
# where an object is there as a whole or not at all; elsewhere it is renamed once it is complete
_WHOLE_OBJECTS = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "memory"}


@dataclass(frozen=True)
class Entry:
    """A file of a cache: its size in bytes, and when it was last put or got, in seconds since 1970.

    At an address, where reading does not count, when it was put.
    """

    path: str  # tens of thousands of Path would take longer to make than all of their files to look up
    size: int
    used: float

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.path.replace("\\", "/").rpartition("/")[2]


@runtime_checkable
class Storage(Protocol):
    """Entries by the names of their files. Methods raise OSError where the place can't be reached, or not written."""

    place: str

    def path(self, name: str) -> str:
        """Where the entry is, or would be."""

    def has(self, name: str) -> bool:
        """Whether there is an entry, damaged or not."""

    def read(self, name: str) -> bytes | None:
        """The entry, or None if there is none."""

    def write(self, name: str, data: bytes) -> None:
        """Put an entry, in the place of what was there."""

    def remove(self, name: str) -> bool:
        """Remove an entry; False if there was none."""

    def touch(self, name: str) -> None:
        """Remember that an entry was used, where that is possible."""

    def try_to_write(self) -> None:
        """Raise OSError if nothing could be written."""

    def entries(self) -> list[Entry]:
        """All entries; other files are ignored."""


def is_address(place: str) -> bool:
    """Whether a place is an address of fsspec, and no folder.

    >>> is_address("s3://bucket/cache"), is_address("/data/cache"), is_address("C:/cache"), is_address("file:///cache")
    (True, False, False, False)
    """
    return bool(_ADDRESS.match(place)) and not place.startswith("file://")


def storage_at(place: str | os.PathLike[str]) -> Storage:
    """The storage at an address or in a folder; nothing is created before something is written."""
    text = os.fspath(place)
    return AddressStorage(text) if is_address(text) else FolderStorage(Path(text.removeprefix("file://")).expanduser())


class FolderStorage:
    """Entries as files in a folder, in folders by the first two digits of their names."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.place = folder, str(folder)

    def path(self, name: str) -> str:
        return str(self.folder / name[:2] / name)

    def has(self, name: str) -> bool:
        # not Path.exists, which fails where a folder is closed to us
        return os.path.exists(self.path(name))

    def read(self, name: str) -> bytes | None:
        try:
            return Path(self.path(name)).read_bytes()
        except OSError:  # one that can't be read is as good as none
            return None

    def write(self, name: str, data: bytes) -> None:
        path = Path(self.path(name))
        for tries_left in reversed(range(10)):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(path) as file:
                    file.write(data)
                return
            except (FileNotFoundError, FileExistsError):  # another process cleared the cache, and with it this folder
                if not tries_left:
                    raise

    def remove(self, name: str) -> bool:
        try:
            os.unlink(self.path(name))
        except FileNotFoundError:  # another process was faster
            return False
        return True

    def touch(self, name: str) -> None:
        # its use is remembered by the time of the file, where the folder is ours to write
        with suppress(OSError):
            os.utime(self.path(name))

    def try_to_write(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self.folder):
            pass

    def entries(self) -> list[Entry]:
        return [entry for place in self._folders() for entry in _entries_in(place)]

    def remove_empty(self) -> None:
        """Remove the folders of entries that hold nothing any more."""
        for place in self._folders():
            with suppress(OSError):  # not empty
                os.rmdir(place.path)

    def _folders(self) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.folder) as listing:
                return [place for place in listing if re.fullmatch("[0-9a-f]{2}", place.name)]
        except FileNotFoundError:  # nothing was put so far
            return []
        except NotADirectoryError:
            raise ValueError(f"{self.folder} is a file; a cache needs a folder") from None


class AddressStorage:
    """Entries below an address of fsspec, as in a folder.

    Parameters
    ----------
    address : such as s3://bucket/folder; credentials and endpoint are those of the environment, see fsspec
    """

    def __init__(self, address: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise ValueError(f"{address} needs fsspec: {how_to_install('store')}") from None
        self.place = address.rstrip("/")
        try:
            self._files, root = url_to_fs(self.place, use_listings_cache=False)
        except ImportError as error:
            remedy = how_to_install("s3") if address.startswith("s3") else "install the package that fsspec names"
            raise ValueError(f"{address} can't be opened ({error}): {remedy}") from None
        except Exception as error:
            raise ValueError(
                f"{address} is no address that fsspec knows ({error}); give one such as s3://bucket/folder"
            ) from None
        self._root = str(root).rstrip("/")
        protocol = self._files.protocol
        self._is_whole = bool(_WHOLE_OBJECTS & set((protocol,) if isinstance(protocol, str) else protocol))

    def path(self, name: str) -> str:
        return f"{self.place}/{name[:2]}/{name}"

    def has(self, name: str) -> bool:
        return bool(self._tried(lambda: self._files.exists(self._key(name)), missing=False))

    def read(self, name: str) -> bytes | None:
        data: bytes | None = self._tried(lambda: self._files.cat_file(self._key(name)), missing=None)
        return data

    def write(self, name: str, data: bytes) -> None:
        self._tried(lambda: self._write(self._key(name), data), missing=_RAISE)

    def remove(self, name: str) -> bool:
        return bool(self._tried(lambda: self._files.rm_file(self._key(name)) or True, missing=False))

    def touch(self, name: str) -> None:
        """Reading does not count: to remember it would take as long as to write the entry."""

    def try_to_write(self) -> None:
        key = f"{self._root}/.written-{secrets.token_hex(8)}"
        self._tried(lambda: self._write(key, b""), missing=_RAISE)
        self._tried(lambda: self._files.rm_file(key), missing=None)

    def entries(self) -> list[Entry]:
        found = self._tried(lambda: self._files.find(self._root, detail=True), missing={})
        return [
            Entry(f"{self.place}{key.removeprefix(self._root)}", int(facts.get("size") or 0), _when(facts))
            for key, facts in found.items()
            if _NAME.fullmatch(key.rpartition("/")[2])
        ]

    def _key(self, name: str) -> str:
        return f"{self._root}/{name[:2]}/{name}"

    def _write(self, key: str, data: bytes) -> None:
        if self._is_whole:
            self._files.pipe_file(key, data)
            return
        folder, _, last = key.rpartition("/")
        self._files.makedirs(folder, exist_ok=True)
        partial = f"{folder}/.{last}.{secrets.token_hex(8)}.partial"
        self._files.pipe_file(partial, data)
        self._files.mv(partial, key)

    def _tried(self, act: Any, *, missing: Any) -> Any:
        """What it gives; `missing` where there is no such entry; OSError for all else, whatever a library calls it."""
        try:
            return act()
        except FileNotFoundError as error:
            if missing is _RAISE:
                raise OSError(f"there is no {error}") from None
            return missing
        except OSError:
            raise
        except Exception as error:
            raise OSError(f"{type(error).__name__}: {error}") from None


_RAISE = object()


def _when(facts: dict[str, Any]) -> float:
    """When an object was written, by whatever name its system has for that."""
    value = next((facts[name] for name in ("LastModified", "mtime", "created", "last_modified") if name in facts), 0.0)
    return float(value.timestamp() if hasattr(value, "timestamp") else value)


def _entries_in(place: os.DirEntry[str]) -> Iterator[Entry]:
    """The entries in one folder of a cache: plain files with the names of entries."""
    if not place.is_dir(follow_symlinks=False):
        return
    with suppress(OSError), os.scandir(place.path) as listing:  # gone meanwhile, or closed to us
        for file in listing:
            ours = _NAME.fullmatch(file.name) and file.name.startswith(place.name)
            with suppress(OSError):
                if ours and file.is_file(follow_symlinks=False):
                    facts = file.stat(follow_symlinks=False)
                    yield Entry(file.path, facts.st_size, facts.st_mtime)


# --- files and the names of contents


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file, for writing and reading, that becomes `path` when the block ends, and is removed if it raises.

    On Linux the file has no name until it is complete, so a process that is killed leaves nothing behind. On other systems
    it may leave a hidden file beside `path` whose name contains `.partial`, which is never read. Delete memory maps of
    the file before the block ends.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with atomic_write(target) as file:
    ...     _ = file.write(b"whole")
    ...     target.exists()
    False
    >>> target.read_bytes()
    b'whole'
    """
    final = checked_path("path", path)
    if not final.name:
        raise ValueError(f"{str(path)!r} is not the name of a file")
    if final.is_dir():
        raise ValueError(f"{final} is a folder; give the name of a file")
    if not final.parent.is_dir():
        raise FileNotFoundError(f"{final.parent} does not exist; create the folder before writing {final.name} to it")
    # a link stays a link: what it points to is replaced
    final = final.resolve()
    temporary = final.with_name(f".{final.stem[:32]}.{secrets.token_hex(8)}.partial{final.suffix[:32]}")
    nameless = _open_nameless(final.parent)
    # opened here so that the umask applies and no existing file is ever touched
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666) if nameless is None else nameless
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if nameless is not None:
                _give_name(nameless, temporary)
        if final.exists():
            os.chmod(temporary, final.stat().st_mode & 0o7777)
        os.replace(temporary, final)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_folder(final.parent)


def saved(figure: Figure, path: str | Path | None) -> Figure:
    """Write a figure as PNG if a path is given, and return the figure."""
    if path is not None:
        buffer = io.BytesIO()
        # no time stamp and no version inside, so that the same figure is the same file
        figure.savefig(buffer, format="png", metadata={"Software": None})
        with atomic_write(Path(path)) as file:
            file.write(buffer.getvalue())
    return figure


def _open_nameless(folder: Path) -> int | None:
    """A descriptor of a file without a name, or None where the system does not support that."""
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError:  # some file systems can't
        return None


def _give_name(descriptor: int, path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # with a folder's descriptor Python calls linkat, which follows the link in /proc to the file itself
        os.link(f"/proc/self/fd/{descriptor}", path.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _flush_folder(folder: Path) -> None:
    """Write the folder to disk, so that the new name survives a crash; not possible on Windows."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
