"""Files that appear whole or not at all: written beside their place under another name, then renamed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to that becomes `path` when the block ends, and vanishes if it raises.

    The temporary file lies in the same folder and has the same suffix, so that libraries which look at the name
    (`np.save`, `np.lib.format.open_memmap`) do as they would with `path`. Close or delete every handle and memory map
    of it before the block ends. A process killed in the middle leaves `path` as it was, and may leave a hidden file
    whose name contains `.partial`; such a file is never read and can be deleted.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic_path(folder / "rows.npy") as temporary:
    ...     rows = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.float32, shape=(2, 3))
    ...     rows[:] = 1
    ...     del rows
    >>> float(np.load(folder / "rows.npy").sum()), [p.name for p in folder.iterdir()]
    (6.0, ['rows.npy'])
    """
    final = Path(path)
    if not final.name:
        raise ValueError(f"{str(path)!r} names no file")
    if final.is_dir():
        raise ValueError(f"{final} is a folder; give the name of a file")
    if not final.parent.is_dir():
        raise FileNotFoundError(f"{final.parent} does not exist; make the folder before writing {final.name} into it")
    # a link stays a link: what it points to is replaced
    final = final.resolve()
    temporary = final.with_name(f".{final.stem[:32]}.{secrets.token_hex(8)}.partial{final.suffix[:32]}")
    # created here, not by the caller, so that the umask applies and no existing file is ever opened
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        _flush_to_disk(temporary)
        if final.exists():
            os.chmod(temporary, final.stat().st_mode & 0o7777)
        os.replace(temporary, final)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if hasattr(os, "O_DIRECTORY"):
        # the new name is safe once the folder is on disk too; Windows has no such handle
        _flush_to_disk(final.parent)


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that becomes `path` when the block ends, and vanishes if it raises.

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
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        yield file


def _flush_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
