"""Files of points and of point numbers: text in rows, or NumPy arrays."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from jaxtyping import Float

TEXT = (".csv", ".tsv", ".txt", ".xyz")


def read_points(path: Path) -> Float[np.ndarray, "n d"]:
    """Rows of finite coordinates from a text file or an .npy file; a ValueError names the file and the row."""
    table = _array(path) if path.suffix.lower() == ".npy" else _rows(path)
    if table.ndim != 2 or table.shape[1] < 1:
        raise ValueError(f"{path} should hold points, one row each, got an array of shape {table.shape}")
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if len(bad):
        raise ValueError(
            f"{path}: point {bad[0]} (counted from 0) has a coordinate that is NaN or infinite"
            + (f", and so have {len(bad) - 1} others" if len(bad) > 1 else "")
            + "; remove these rows"
        )
    return table


def read_boundary(path: Path, n: int) -> np.ndarray:
    """Numbers of boundary points, counted from 0, or a mask of all n points: true and false, or as many ones and zeros."""
    held = (_array(path, numbers=False) if path.suffix.lower() == ".npy" else _rows(path)).reshape(-1)
    if held.dtype != bool and len(held) == n and np.isin(held, (0, 1)).all():
        held = held == 1
    if held.dtype == bool:
        if len(held) != n:
            raise ValueError(f"{path} holds a mask of {len(held)} points, but there are {n}")
        return held
    if not (np.isfinite(held).all() and (held == np.rint(held)).all()):
        raise ValueError(f"{path} should hold numbers of points, counted from 0, or a mask of {n} points")
    if len(held) and not (held.min() >= 0 and held.max() < n):
        raise ValueError(f"{path} has points {held.min():g} to {held.max():g}, but they are numbered 0 to {n - 1}")
    return held.astype(np.int64)


def _array(path: Path, *, numbers: bool = True) -> np.ndarray:
    with path.open("rb") as file:
        try:
            array = np.load(file, allow_pickle=False)
        except (ValueError, EOFError, MemoryError) as error:
            raise ValueError(f"{path} is no whole .npy file of plain numbers: {error}") from None
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path} holds several arrays; save the points alone, as .npy")
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == bool) or np.iscomplexobj(array):
        raise ValueError(f"{path} should hold real numbers, got {array.dtype}")
    return array.astype(np.float64) if numbers else array


def _rows(path: Path) -> Float[np.ndarray, "n d"]:
    """Numbers between commas, semicolons, tabs or blanks; lines that begin with # and one line of names are passed over."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no text: give rows of numbers, an .npy file or a mesh") from None
    rows: list[list[float]] = []
    names: list[str] | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        cells = _cells(line)
        try:
            rows.append([float(cell) if cell.strip() else float("nan") for cell in cells])
        except ValueError:
            if rows or names is not None:
                raise ValueError(f"{path}, line {number} is no row of numbers: {line.strip()[:40]!r}") from None
            names = cells
            continue
        if len(rows[-1]) != len(rows[0]):
            raise ValueError(f"{path}, line {number} has {len(rows[-1])} numbers, those before have {len(rows[0])}")
    if not rows:
        raise ValueError(f"{path} holds no numbers")
    return _without_numbering(np.array(rows), names, path)


def _without_numbering(table: Float[np.ndarray, "n d"], names: list[str] | None, path: Path) -> np.ndarray:
    """Tables are often saved with a first column, which has no name, that counts the rows: no coordinate."""
    if not names or names[0].strip(' "') or table.shape[1] < 2 or len(table) < 2:
        return table
    first = table[:, 0]
    if not (np.isfinite(first).all() and (np.diff(first) == 1).all()):
        return table
    warnings.warn(f"{path}: the first column has no name and counts the rows; it was left out", stacklevel=4)
    return table[:, 1:]


def _cells(line: str) -> list[str]:
    for separator in (",", ";", "\t"):
        if separator in line:
            return line.strip("\r\n").split(separator)
    return line.split()
