"""Atomic writes: a file is written without a name, or under a temporary one, and renamed once it is complete."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from partwhole.store.arguments import checked_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
