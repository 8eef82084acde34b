"""Pairs from a folder of your own, with wholes/, parts/ and, where the truth is known, maps/."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from partwhole.datasets.number_files import read_npz, read_vts
from partwhole.datasets.pairs import GroundTruth, Pair, Pairs
from partwhole.mesh import Mesh
from partwhole.mesh.io import FORMATS, read_mesh
from partwhole.store.arguments import checked_path

_MAPS = (".npz", ".csv", ".vts")
# of the factor that gives a whole area 1
_ROUNDING = 1e-9


class FolderPairs(Pairs):
    """Pairs in a folder: the surfaces of parts/ and wholes/, read when they are needed.

    ``pairs.csv``, if it is there, says which part goes with which whole: a first line ``part,whole``, then a line a pair,
    the names with or without their endings. Otherwise every part goes with every whole.

    The ground truth of a pair is in ``maps/<part>-<whole>`` or, for a part with only one whole, in ``maps/<part>``, as

    - ``.npz`` with ``vertex_map``, a vertex of the whole for each vertex of the part; or with ``part_vertices`` and
      ``whole_vertices``; counted from 0;
    - ``.csv`` with a first line ``part_vertex,whole_vertex``, then a line a vertex; counted from 0;
    - ``.vts``, a line for each vertex of the part, the vertex of the whole; counted from 1, as in published sets.

    A pair without such a file has no ground truth. Parts and wholes are in the same units; see `Pair.of`. Where a whole has
    area 1, its parts keep their size exactly, so a part of several such wholes is the same surface in all its pairs, and
    what is computed on it is computed once.

    Parameters
    ----------
    root : the folder
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        folder = checked_path("root", root)
        missing = [name for name in ("wholes", "parts") if not (folder / name).is_dir()]
        if missing:
            raise FileNotFoundError(f"{root} has no {', no '.join(missing)}: parts/ and wholes/ hold the surfaces")
        parts, wholes = surface_files(folder / "parts"), surface_files(folder / "wholes")
        listed = folder / "pairs.csv"
        keys = _listed(listed, parts, wholes) if listed.is_file() else list(product(parts, wholes))
        n_wholes = Counter(part for part, _ in set(keys))

        @cache
        def surface(path: Path) -> Mesh:
            return read_mesh(path, name=path.stem)

        @cache
        def unit_whole(whole: str) -> Mesh:
            return surface(wholes[whole]).to_unit_area()[0]

        @cache
        def centred(part: str) -> Mesh:
            mesh = surface(parts[part])
            return Mesh(mesh.vertices - mesh.vertices.mean(axis=0), mesh.faces, name=mesh.name)

        def load(part: str, whole: str) -> Pair:
            truth = _truth(folder / "maps", part, whole, surface(parts[part]).n_vertices, alone=n_wholes[part] == 1)
            # all pairs of a whole share one surface, and what has been computed on it
            pair = replace(Pair.of(surface(parts[part]), surface(wholes[whole]), truth), whole=unit_whole(whole))
            # factors that differ by rounding only would make a part another surface in each of its pairs
            return replace(pair, part=centred(part), scale=1.0) if abs(pair.scale - 1) < _ROUNDING else pair

        super().__init__(keys, cache(load), name=folder.resolve().name)


def mesh_files(folder: Path) -> list[Path]:
    """The files in a folder that meshes are read from, in order; hidden files are ignored."""
    return [
        path
        for path in sorted(folder.iterdir())
        if path.suffix.lower().removeprefix(".") in FORMATS and not (path.name.startswith(".") or path.is_dir())
    ]


def surface_files(folder: Path) -> dict[str, Path]:
    """Name without ending → file, in order."""
    found: dict[str, Path] = {}
    for path in mesh_files(folder):
        if path.stem in found:
            raise ValueError(f"{path} and {found[path.stem].name} have the same name; rename one")
        found[path.stem] = path
    if not found:
        raise FileNotFoundError(f"{folder} has no surfaces; it should hold .{', .'.join(FORMATS)} files")
    return found


def named_surface(name: str, known: Mapping[str, Path]) -> str | None:
    """Which of the surfaces a list means by a name, with or without its ending."""
    return next((stem for stem in (name, Path(name).stem) if stem in known), None)


def _listed(path: Path, parts: dict[str, Path], wholes: dict[str, Path]) -> list[tuple[str, str]]:
    keys = []
    for line, row in _rows(path, ("part", "whole")):
        names = []
        for name, known, folder in zip(row, (parts, wholes), ("parts", "wholes"), strict=True):
            stem = named_surface(name, known)
            if stem is None:
                raise FileNotFoundError(f"{path}, line {line}: {folder} has no {name}")
            names.append(stem)
        keys.append((names[0], names[1]))
    return keys


def _truth(folder: Path, part: str, whole: str, n_part: int, *, alone: bool) -> GroundTruth | None:
    names = [f"{part}-{whole}"] + [part] * alone
    path = next((p for name in names for ending in _MAPS if (p := folder / f"{name}{ending}").is_file()), None)
    if path is None:
        return None
    try:
        if path.suffix == ".csv":
            table = np.array([[int(n) for n in row] for _, row in _rows(path, ("part_vertex", "whole_vertex"))])
            return GroundTruth.at_vertices(table[:, 0], table[:, 1])
        vertex_map = read_vts(path) if path.suffix == ".vts" else None
        if path.suffix == ".npz":
            held = read_npz(path)
            vertex_map = held.get("vertex_map")
            if vertex_map is None and {"part_vertices", "whole_vertices"} <= held.keys():
                return GroundTruth.at_vertices(held["part_vertices"], held["whole_vertices"])
        if vertex_map is None:
            raise ValueError(f"{path} has neither vertex_map nor part_vertices and whole_vertices")
        if len(vertex_map) != n_part:
            raise ValueError(f"{path} maps {len(vertex_map)} vertices, {part} has {n_part}; give one for each")
        return GroundTruth.of_map(vertex_map)
    except ValueError as error:
        raise ValueError(str(error) if str(path) in str(error) else f"{path}: {error}") from None


def _rows(path: Path, header: tuple[str, str]) -> list[tuple[int, list[str]]]:
    """Line number and the two entries of each line below the header."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [(n, [entry.strip() for entry in row]) for n, row in enumerate(csv.reader(file), 1) if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no CSV file with the columns {','.join(header)}: {error}") from None
    if not lines or tuple(lines[0][1]) != header:
        raise ValueError(f"{path} should begin with the line {','.join(header)}")
    if len(lines) == 1:
        raise ValueError(f"{path} has no line below its header")
    for n, row in lines[1:]:
        if len(row) != 2:
            raise ValueError(f"{path}, line {n}: {len(row)} entries, {','.join(header)} are two")
    return lines[1:]
