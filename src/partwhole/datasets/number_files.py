"""Files that hold nothing but numbers: text (.vts, .baryc_gt) and NumPy archives (.npz)."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from partwhole.store.arguments import checked_path


def read_numbers(path: Path, columns: int = 1) -> Float[np.ndarray, "r c"]:
    """Rows of `columns` finite numbers; a ValueError names the file and what is wrong with it."""
    text = path.read_bytes()
    if not text.strip():
        raise ValueError(f"{path} is empty; it should hold rows of {columns} number(s)")
    try:
        table = np.loadtxt(io.BytesIO(text), dtype=np.float64, ndmin=2)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if table.shape[1] != columns or not np.isfinite(table).all():
        raise ValueError(f"{path} should hold rows of {columns} finite number(s), got an array of shape {table.shape}")
    return table


def read_vts(path: Path) -> Int[np.ndarray, "r"]:
    """Vertex numbers, one a line, counted from 1 in the file and from 0 here."""
    return counted_from_zero(read_numbers(path)[:, 0], path)


def counted_from_zero(numbers: Float[np.ndarray, "r"], path: Path) -> Int[np.ndarray, "r"]:
    """Numbers that a file counts from 1, counted from 0."""
    if not (numbers == np.rint(numbers)).all() or numbers.min() < 1:
        raise ValueError(f"{path} should hold numbers counted from 1, got {numbers.min():g} to {numbers.max():g}")
    return numbers.astype(np.int64) - 1


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by their names; nothing in it is ever unpickled."""
    # opened here, so that it is closed whatever happens
    with path.open("rb") as file:
        try:
            if not zipfile.is_zipfile(file):
                raise ValueError("it is not a zip archive, or is incomplete")
            file.seek(0)
            with np.load(file, allow_pickle=False) as held:
                return {name: held[name] for name in held.files}
        # RuntimeError: the archive asks for a password, or for a compression that there is not
        except (ValueError, EOFError, zipfile.BadZipFile, zlib.error, MemoryError, RuntimeError) as error:
            raise ValueError(f"{path} is not a whole .npz file of plain numbers: {error}") from None


def asset_file(path: str | os.PathLike[str], name: str, what: str) -> Path:
    """The file itself, or the one of this name in a folder; FileNotFoundError says what it would be.

    Parameters
    ----------
    path : of the file, which ends in .npz, or of its folder
    name : of the file in a folder
    what : it holds
    """
    given = checked_path("path", path)
    file = given / name if given.suffix != ".npz" else given
    if not file.is_file():
        where = f"{given} holds no {name}" if given.suffix != ".npz" else f"there is no file {given}"
        raise FileNotFoundError(f"{where}, {what}")
    return file
