"""Files with a value for each vertex: .csv, .npy, and labels in .json; read, and written again in the same form."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Int, Shaped

from partwhole.mesh.formats.common import counted
from partwhole.store.arguments import displayable
from partwhole.store.storage import atomic_write
from partwhole.store.text import table_rows

ENDINGS = (".csv", ".npy", ".json")

# columns that number the rows
_NUMBERS = ("vertex", "part_vertex", "whole_vertex")


@dataclass(frozen=True, eq=False)
class ValueFile:
    """Columns of values, and how they stood in their file.

    Attributes
    ----------
    columns : by their names; of one row for each vertex
    form : "table" (.csv), "array" (.npy), "list" (.json, a list) or "segments" (.json, lists of vertices by name)
    header : whether the table names its columns
    numbered : name of the column that numbered the rows; None without one
    """

    columns: Mapping[str, Shaped[np.ndarray, "n *rest"]]
    form: Literal["table", "array", "list", "segments"]
    header: bool = True
    numbered: str | None = None

    def with_columns(self, columns: Mapping[str, Shaped[np.ndarray, "m *rest"]]) -> ValueFile:
        """The same form with other values."""
        return ValueFile(columns, self.form, self.header, self.numbered)


def read_values(path: Path, n_vertices: int) -> ValueFile:
    """The values in a file, a row for each of so many vertices.

    A table may name its columns in the first row, and number its vertices in a column `vertex`. Columns of whole numbers
    become int64, other numbers float64, and the rest text. A .json file holds a list of labels, or, by name, lists of
    vertices, counted from 0.
    """
    label, ending = displayable(str(path)), path.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{label}: values are read from {', '.join(ENDINGS)}, not {path.suffix!r}")
    if not path.is_file():
        raise FileNotFoundError(f"{label} does not exist")
    try:
        if ending == ".npy":
            return _from_array(path, n_vertices)
        text = path.read_text(encoding="utf-8-sig")
        return _from_table(text, n_vertices) if ending == ".csv" else _from_json(text, n_vertices)
    except EOFError:
        raise ValueError(f"{label}: the file is empty") from None
    except RecursionError:
        raise ValueError(f"{label}: lists are nested too deep") from None
    except ValueError as error:
        raise ValueError(f"{label}: {' '.join(str(error).split())}") from None


def write_values(path: Path, values: ValueFile) -> None:
    """Write values in the form in which they were read; nan is an empty cell of a table, and null in JSON."""
    if values.form == "array":
        buffer = io.BytesIO()
        np.save(buffer, next(iter(values.columns.values())), allow_pickle=False)
        data = buffer.getvalue()
    elif values.form == "table":
        data = _table_text(values).encode()
    else:
        held: Any = next(iter(values.columns.values()), np.empty(0)).tolist()
        if values.form == "segments":
            held = {name: np.flatnonzero(column).tolist() for name, column in values.columns.items()}
        else:
            held = [None if isinstance(one, float) and not np.isfinite(one) else one for one in held]
        data = (json.dumps(held, ensure_ascii=False) + "\n").encode()
    with atomic_write(path) as file:
        file.write(data)


def _from_array(path: Path, n: int) -> ValueFile:
    with path.open("rb") as file:
        array = np.load(file, allow_pickle=False, mmap_mode=None)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiubUS":
        raise ValueError("it is not an array of numbers, truth values or text")
    if array.ndim == 0 or len(array) != n:
        raise ValueError(f"the array has shape {array.shape}, the surface {n} vertices; give a row for each of them")
    return ValueFile({"values": array}, "array")


def _from_table(text: str, n: int) -> ValueFile:
    rows = table_rows(text)
    if len(rows) not in (n, n + 1):
        raise ValueError(
            f"the table has {counted(len(rows), 'row')}, the surface {n} vertices; give a row for each of them, and one more "
            "with the names of the columns if you like"
        )
    header = len(rows) == n + 1
    width = len(rows[0])
    uneven = next((k for k, row in enumerate(rows, start=1) if len(row) != width), None)
    if uneven is not None:
        raise ValueError(f"row {uneven} has {counted(len(rows[uneven - 1]), 'cell')}, the first {width}")
    names = [name.strip() for name in rows[0]] if header else [f"column {k + 1}" for k in range(width)]
    if len(set(names)) < len(names):
        raise ValueError(f"two columns are called {max(names, key=names.count)!r}")
    cells = list(zip(*rows[header:], strict=True))
    columns = {name: _typed([cell.strip() for cell in column]) for name, column in zip(names, cells, strict=True)}
    numbered = next((name for name in names if header and name.lower() in _NUMBERS), None)
    if numbered is not None:
        if not np.array_equal(columns.pop(numbered), np.arange(n)):
            raise ValueError(f"column {numbered!r} must count the vertices from 0 to {n - 1}, in this order")
        if not columns:
            raise ValueError(f"it has no column besides {numbered!r}")
    return ValueFile(columns, "table", header, numbered)


def _typed(cells: list[str]) -> Shaped[np.ndarray, "n"]:
    """Whole numbers if all are, or numbers, where an empty cell is nan; or text.

    >>> [_typed(cells).tolist() for cells in (["1", "-2"], ["1", "2.5"], ["1", ""], ["arm", "1"])]
    [[1, -2], [1.0, 2.5], [1.0, nan], ['arm', '1']]
    """
    # Python reads 1_000 as a thousand
    if not any("_" in cell for cell in cells):
        for kind in (np.int64, np.float64):
            try:
                return np.array([cell if cell or kind is np.int64 else "nan" for cell in cells], dtype=object).astype(
                    kind
                )
            except (ValueError, OverflowError):
                pass
    return np.array(cells)


def _from_json(text: str, n: int) -> ValueFile:
    held = json.loads(text)
    if isinstance(held, dict):
        return ValueFile({str(name): _segment(str(name), numbers, n) for name, numbers in held.items()}, "segments")
    if not isinstance(held, list) or len(held) != n:
        raise ValueError(f"it must hold a list of {n} labels, one for each vertex, or lists of vertices by name")
    if not all(isinstance(one, str) for one in held) and not all(type(one) is int and abs(one) < 2**63 for one in held):
        raise ValueError("labels must be all text or all whole numbers")
    return ValueFile({"labels": np.array(held)}, "list")


def _segment(name: str, numbers: Any, n: int) -> Shaped[np.ndarray, "n"]:
    if not isinstance(numbers, list) or not all(type(one) is int and 0 <= one < n for one in numbers):
        raise ValueError(f"{name!r} must be a list of vertices, whole numbers from 0 to {n - 1}")
    inside = np.zeros(n, bool)
    inside[_numbers(numbers)] = True
    return inside


def _numbers(numbers: list[int]) -> Int[np.ndarray, "k"]:
    return np.array(numbers, dtype=np.int64)


def _table_text(values: ValueFile) -> str:
    columns = [_cells(column) for column in values.columns.values()]
    names = list(values.columns)
    if values.numbered is not None:
        columns.insert(0, [str(k) for k in range(len(columns[0]))])
        names.insert(0, values.numbered)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if values.header:
        writer.writerow(names)
    writer.writerows(zip(*columns, strict=True))
    return buffer.getvalue()


def _cells(column: Shaped[np.ndarray, "n"]) -> list[str]:
    if column.dtype.kind == "f":
        return ["" if np.isnan(value) else repr(value) for value in column.tolist()]
    return [str(value) for value in column.tolist()]
