"""Checks of arguments: an argument of the wrong kind raises a ValueError with its name, its value and the remedy.

Devices and optional dependencies are checked here too, since an argument such as device="cuda" asks for them.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Callable
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

_LONGEST = 60

# called with (what is done, steps done, steps in all), from 0 steps to all of them; 0 in all: nobody knows yet
Progress = Callable[[str, int, int], None]


def check_whole_number(name: str, value: Any, *, or_none: bool = False) -> None:
    """
    >>> check_whole_number("count", 2.5)
    Traceback (most recent call last):
    ValueError: count must be a whole number, got 2.5
    """
    if not (isinstance(value, Integral) or (or_none and value is None)):
        raise ValueError(f"{name} must be a whole number{' or None' * or_none}, got {in_short(value)}")


def check_number(name: str, value: Any, *, or_none: bool = False) -> None:
    """Any real number; the caller checks its range."""
    if not (isinstance(value, Real) or (or_none and value is None)):
        raise ValueError(f"{name} must be a number{' or None' * or_none}, got {in_short(value)}")


def check_seed(seed: Any) -> None:
    """A seed for `numpy.random.default_rng`: a generator, or a whole number that is not negative."""
    if isinstance(seed, np.random.Generator) or (isinstance(seed, Integral) and int(seed) >= 0):
        return
    raise ValueError(f"seed must be a non-negative whole number or a numpy.random.Generator, got {in_short(seed)}")


def check_instance(name: str, value: Any, kind: type, remedy: str) -> None:
    """
    >>> check_instance("options", {}, dict, "call dict()")
    >>> check_instance("options", 3, dict, "call dict()")
    Traceback (most recent call last):
    ValueError: options must be a dict, got int; call dict()
    """
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, got {type(value).__name__}; {remedy}")


def check_function(name: str, value: Any, *, called_with: str) -> None:
    """A function, or None."""
    if value is not None and not isinstance(value, Callable):  # type: ignore[arg-type]
        raise ValueError(f"{name} must be a function that is called with {called_with}, or None, got {in_short(value)}")


def as_array(wanted: str, values: Any) -> np.ndarray:
    """The array of nested lists; if their lengths differ, a ValueError that begins with `wanted`."""
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{wanted}, got {in_short(values)}") from None


def as_numbers(name: str, values: Any) -> np.ndarray:
    """A new array of float64, row by row in memory."""
    wanted = f"{name} must be an array of numbers"
    array = as_array(wanted, values)
    try:
        if array.dtype.kind not in "biufO":
            raise TypeError  # NumPy would read numbers from text, and drop imaginary parts
        return np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{wanted}, got {in_short(values)}") from None


def checked_path(name: str, value: Any) -> Path:
    """The path of a file or a folder."""
    if not isinstance(value, str | os.PathLike) or isinstance(os.fspath(value), bytes):
        raise ValueError(f"{name} must be a path, a str or pathlib.Path, got {in_short(value)}")
    return Path(value)


def in_short(value: Any) -> str:
    """A value in an error message: in one line, and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def check_device(device: object) -> None:
    """Raise ValueError, with the remedy, unless the device is available."""
    if device == "cuda":
        cuda_modules()
    elif device != "cpu":
        raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}")


def cuda_modules() -> tuple[ModuleType, ModuleType]:
    """(torch, triton), or a ValueError with the remedy."""
    try:
        import torch
    except ImportError:
        raise ValueError(f"device='cuda' needs torch: {how_to_install('torch')}; or use device='cpu'") from None
    if not torch.cuda.is_available():
        raise ValueError("device='cuda' needs a CUDA device, and torch finds none; use device='cpu'")
    try:
        import triton
    except ImportError:
        raise ValueError("device='cuda' needs triton, which comes with torch's CUDA builds; use device='cpu'") from None
    return torch, triton


Extra = Literal["torch", "remesh", "umap", "trimesh", "open3d", "pyvista", "dask", "store", "s3"]

# as in pyproject.toml
EXTRAS: dict[Extra, tuple[str, ...]] = {
    "torch": ("torch>=2.4", "safetensors>=0.4.3"),
    "remesh": ("pymeshlab>=2023.12",),
    "umap": ("umap-learn>=0.5",),
    "trimesh": ("trimesh>=4.0",),
    "open3d": ("open3d>=0.18",),
    "pyvista": ("pyvista>=0.43",),
    "dask": ("distributed>=2024.8",),
    "store": ("fsspec>=2024.6",),
    "s3": ("s3fs>=2024.6",),
}


def how_to_install(extra: Extra) -> str:
    """The command that installs an extra for the Python that is running.

    >>> how_to_install("umap").partition(" -m ")[2]
    'pip install "umap-learn>=0.5"'
    """
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable or "python"
    # double quotes, which the shells of all systems know
    return " ".join([python, "-m pip install", *(f'"{requirement}"' for requirement in EXTRAS[extra])])


def optional_module(name: Extra, what: str) -> Any:
    """The module of an optional package, or an ImportError that says what needs it and how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"{what} needs {name}: {how_to_install(name)}") from error


def check_progress(progress: Any) -> None:
    """Raise ValueError unless this can be called, or is None.

    >>> check_progress(True)
    Traceback (most recent call last):
    ValueError: progress must be a function that is called with (what is done, steps done, steps in all), or None, got True
    """
    check_function("progress", progress, called_with="(what is done, steps done, steps in all)")


def displayable(text: str) -> str:
    r"""A name as one line of printable characters: others are written as escapes, all kinds of spaces as a plain space.

    Names of files need not be UTF-8; Python represents other bytes by surrogates, which can't be printed.

    >>> displayable("sc\udcffan\n.ply"), displayable("scan\u202f2.ply"), displayable("Knochen ä 骨.ply")
    ('sc\\xffan\\n.ply', 'scan 2.ply', 'Knochen ä 骨.ply')
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    if "\udc80" <= character <= "\udcff":  # a byte that is not UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return " " if unicodedata.category(character) == "Zs" else character.encode("unicode_escape").decode("ascii")


def escaped(text: str) -> str:
    """The text as one line that Markdown shows literally: without HTML, links, images or new table cells.

    >>> print(escaped("<img src=x>|a\\nb [c](d).ply"))
    &lt;img src=x&gt;\\|a b \\[c\\](d).ply
    """
    line = "".join(character if character.isprintable() else " " for character in text)
    # a backslash before a letter is one, before a mark it would take away its meaning
    line = re.sub(r"\\(?=[^\w\s]|$)|[`*\[\]|]", r"\\\g<0>", line)
    return re.sub(r"&(?=[#\w])", "&amp;", line).replace("<", "&lt;").replace(">", "&gt;")
