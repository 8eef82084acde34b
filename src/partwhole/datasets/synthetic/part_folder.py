"""Pairs of parts in a folder: made from any meshes by `make_part_set`, or published in the layout of CP2P and PARTIALSMAL."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from partwhole._version import __version__
from partwhole.datasets.cutting.overlapping import CutBy, overlapping_cuts
from partwhole.datasets.number_files import read_npz, read_numbers
from partwhole.datasets.part_pairs import Partners, PartPair, PartPairs
from partwhole.datasets.synthetic.folder import surface_files
from partwhole.mesh import Mesh, as_mesh, write_mesh
from partwhole.mesh.io import read_mesh
from partwhole.store.arguments import check_whole_number, checked_path
from partwhole.store.storage import atomic_write

LIST, ABOUT = "part_pairs.csv", "part_set.json"
WRITES = ("parts/*", "maps/*", LIST, ABOUT)
_SHAPES, _MAPS = ("parts", "off", "shapes"), ("maps", "corres", "map", "vts")
_ENDINGS = (".npz", ".map", ".vts")


@dataclass(frozen=True)
class MadePartSet:
    """What `make_part_set` made.

    Attributes
    ----------
    folder : where it is
    shares : of each pair, by name, the shares of the vertices of a and b that are shared
    skipped : pairs that could not be cut, and why
    """

    folder: Path
    shares: dict[str, tuple[float, float]]
    skipped: dict[str, str]

    def pairs(self) -> FolderPartPairs:
        """The pairs, read from the folder."""
        return FolderPartPairs(self.folder)


def make_part_set(
    source: str | os.PathLike[str] | Mapping,
    output: str | os.PathLike[str],
    *,
    overlaps: Sequence[float] = (0.5,),
    pairs: int = 1,
    by: CutBy = "planes",
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> MadePartSet:
    """Cut pairs of parts from meshes and write them, with the vertices that they share, into a folder.

    Meshes with the same faces are poses of one body: the second part is then cut from the next pose. Parts have the units of
    a whole of area 1. parts/ holds the surfaces, maps/A-B.npz `vertex_map` and `shared` of A, part_pairs.csv the pairs.

    Parameters
    ----------
    source : folder of meshes, or meshes by name, such as `BodyPoses`
    output : folder for the set; new or empty
    overlaps : of the pairs of each mesh, from 0 to 1, see `overlapping_cuts`
    pairs : of each mesh and overlap
    by : "planes" or "views", see `overlapping_cuts`
    seed : decides the cuts
    progress : called with ("pairs", pairs cut, pairs in all)

    Examples
    --------
    >>> import tempfile
    >>> from partwhole.datasets import sphere
    >>> made = make_part_set({"ball": sphere(300)}, tempfile.mkdtemp(), overlaps=(0.3, 0.6))
    >>> made.pairs()[1].name
    'ball_60_0_a | ball_60_0_b'
    """
    check_whole_number("pairs", pairs)
    if pairs < 1:
        raise ValueError(f"pairs={pairs} must be at least 1")
    if not overlaps or not all(0 < overlap < 1 for overlap in overlaps):
        raise ValueError(f"overlaps={overlaps!r} must lie between 0 and 1, such as (0.3, 0.6)")
    folder = checked_path("output", output)
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty, and nothing is overwritten; give a new or an empty folder")
    meshes = _meshes(source)
    for name in ("parts", "maps"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    planned = [(name, overlap, number) for name in meshes for overlap in overlaps for number in range(pairs)]
    shares, skipped = {}, {}
    for done, (name, overlap, number) in enumerate(planned):
        if progress is not None:
            progress("pairs", done, len(planned))
        stem = f"{name}_{100 * overlap:.0f}_{number}"
        try:
            rest = meshes[name]
            cuts = overlapping_cuts(rest, overlap, pose=_next_pose(meshes, name), by=by, seed=_seed(seed, stem))
        except ValueError as fault:
            skipped[stem] = str(fault)
            continue
        pair = PartPair.of_cuts(*cuts)
        for letter, part in (("a", pair.a), ("b", pair.b)):
            write_mesh(part, folder / "parts" / f"{stem}_{letter}.ply")
        for one, other, truth in (("a", "b", pair.a_to_b), ("b", "a", pair.b_to_a)):
            with atomic_write(folder / "maps" / f"{stem}_{one}-{stem}_{other}.npz") as file:
                np.savez_compressed(file, vertex_map=truth.vertex_map, shared=truth.shared)
        shares[stem] = pair.a_to_b.share, pair.b_to_a.share
    if not shares:
        first = next(iter(skipped.items()))
        raise ValueError(f"no pair was made: {first[0]}: {first[1]} ({len(skipped)} left out)")
    if progress is not None:
        progress("pairs", len(planned), len(planned))
    _describe(folder, shares, skipped, {"overlaps": list(overlaps), "pairs": pairs, "by": by, "seed": seed})
    return MadePartSet(folder, shares, skipped)


class FolderPartPairs(PartPairs):
    """Pairs of parts in a folder, with the truth where it is there.

    Surfaces lie in parts/, off/ or shapes/, truth in maps/, corres/, map/ or vts/, in files named A-B or A_B after the two
    surfaces: what `make_part_set` writes, and CP2P and PARTIALSMAL as far as their layout is known:

    - ``.npz`` with ``vertex_map`` and ``shared``;
    - ``.map``, a line for each vertex of A: its partner on B counted from 0, −1 if it has none. Lines beyond the last vertex
      of A, where there are as many as B has vertices, say 1 for the vertices of B that are shared and 0 for the others;
    - ``.vts``, the same counted from 1, with −1 or 0 for no partner.

    Where only one direction is there, the other is its inverse: a vertex of B is shared if it is somebody's partner, or if
    the nearest vertex along an edge is. ``part_pairs.csv``, columns a and b, names the pairs; without it they are those that
    have truth.

    Parameters
    ----------
    root : the folder
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        folder = checked_path("root", root)
        shapes = next((folder / name for name in _SHAPES if (folder / name).is_dir()), None)
        if shapes is None:
            raise FileNotFoundError(
                f"{root} has no {', '.join(f'{name}/' for name in _SHAPES)}: surfaces lie in one of them"
            )
        surfaces = surface_files(shapes)
        truths = _truth_files(folder, surfaces)
        listed = folder / LIST
        keys = _listed(listed, surfaces) if listed.is_file() else _once(truths)
        if not keys:
            raise FileNotFoundError(
                f"{root} has neither {LIST} nor maps of two surfaces, such as maps/A-B.map: they say what belongs together"
            )

        @cache
        def surface(name: str) -> Mesh:
            return read_mesh(surfaces[name], name=name)

        def load(a: str, b: str) -> PartPair:
            found = {
                key: _read(truths[key], surface(key[0]), surface(key[1])) for key in ((a, b), (b, a)) if key in truths
            }
            if not found:
                raise ValueError(f"{folder} has no truth for {a} and {b}, such as maps/{a}-{b}.map")
            there, back = found.get((a, b)), found.get((b, a))
            there = there or back.inverse(surface(a), surface(b))  # type: ignore[union-attr]
            back = back or there.inverse(surface(b), surface(a))
            return PartPair(surface(a), surface(b), there.partners, back.partners, name=f"{a} | {b}")

        super().__init__(keys, load, name=folder.resolve().name)


@dataclass(frozen=True, eq=False)
class _Read:
    """One direction, and which vertices of the other part are shared, if the file says so."""

    partners: Partners
    on_other: np.ndarray | None

    def inverse(self, mesh: Mesh, of: Mesh) -> _Read:
        """The partners of the vertices of `mesh`, from those that name them."""
        truth = self.partners
        rows = np.flatnonzero(truth.shared)
        back, shared = np.zeros(mesh.n_vertices, np.int64), np.zeros(mesh.n_vertices, bool)
        back[truth.vertex_map[rows]] = rows
        shared[truth.vertex_map[rows]] = True
        # a finer surface has vertices between the partners
        ends = np.concatenate([mesh.edges, mesh.edges[:, ::-1]])
        filled = ends[~shared[ends[:, 0]] & shared[ends[:, 1]]]
        back[filled[:, 0]] = back[filled[:, 1]]
        shared[filled[:, 0]] = True
        if self.on_other is not None:
            shared = self.on_other
        return _Read(Partners(back, shared), None)


def _read(path: Path, a: Mesh, b: Mesh) -> _Read:
    """The truth in a file."""
    on_other = None
    if path.suffix == ".npz":
        held = read_npz(path)
        if not {"vertex_map", "shared"} <= held.keys():
            raise ValueError(f"{path} has no vertex_map and shared")
        vertex_map, shared = held["vertex_map"], held["shared"]
    else:
        numbers = read_numbers(path)[:, 0]
        if not (numbers == np.rint(numbers)).all():
            raise ValueError(f"{path} should hold whole numbers, a vertex of {b.name} or −1 in each line")
        vertex_map = numbers.astype(np.int64) - (path.suffix == ".vts")
        if len(vertex_map) == a.n_vertices + b.n_vertices and len(vertex_map) > a.n_vertices:
            on_other = numbers[a.n_vertices :] > 0
            vertex_map = vertex_map[: a.n_vertices]
        shared = vertex_map >= 0
    if len(vertex_map) != a.n_vertices or vertex_map.max(initial=-1) >= b.n_vertices:
        raise ValueError(
            f"{path} has {len(vertex_map)} entries up to {vertex_map.max(initial=-1)}; {a.name} has {a.n_vertices} vertices, "
            f"{b.name} {b.n_vertices}"
        )
    return _Read(Partners(vertex_map, shared), on_other)


def _truth_files(folder: Path, surfaces: Mapping[str, Path]) -> dict[tuple[str, str], Path]:
    """The file of each direction."""
    found: dict[tuple[str, str], Path] = {}
    for place in (folder / name for name in _MAPS if (folder / name).is_dir()):
        for path in sorted(place.iterdir()):
            if path.suffix not in _ENDINGS:
                continue
            for cut in re.finditer(r"[-_]", path.stem):
                key = path.stem[: cut.start()], path.stem[cut.end() :]
                if key[0] in surfaces and key[1] in surfaces:
                    found.setdefault(key, path)
    return found


def _once(keys: Mapping[tuple[str, str], Path]) -> list[tuple[str, str]]:
    return [key for number, key in enumerate(keys) if key[::-1] not in list(keys)[:number]]


def _listed(path: Path, surfaces: Mapping[str, Path]) -> list[tuple[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [tuple(entry.strip() for entry in row) for row in csv.reader(file) if row]
    if not rows or rows[0] != ("a", "b") or any(len(row) != 2 for row in rows):
        raise ValueError(f"{path} should begin with the line a,b and name two surfaces in each line")
    unknown = [name for row in rows[1:] for name in row if name not in surfaces]
    if unknown:
        raise FileNotFoundError(f"{path} names {unknown[0]}, and there is no such surface")
    return [(row[0], row[1]) for row in rows[1:]]


def _meshes(source: str | os.PathLike[str] | Mapping) -> dict[str, Mesh]:
    if isinstance(source, Mapping):
        found = {str(name): as_mesh(source[name], name=str(name)) for name in source}
    else:
        folder = checked_path("source", source)
        if not folder.is_dir():
            raise FileNotFoundError(f"{source} is no folder; give one that holds meshes")
        found = {name: read_mesh(path, name=name) for name, path in surface_files(folder).items()}
    if not found:
        raise ValueError("source has no meshes")
    return found


def _next_pose(meshes: Mapping[str, Mesh], name: str) -> Mesh:
    """The next mesh with the same faces, or the mesh itself."""
    alike = [other for other, mesh in meshes.items() if np.array_equal(mesh.faces, meshes[name].faces)]
    return meshes[alike[(alike.index(name) + 1) % len(alike)]]


def _seed(seed: int, stem: str) -> int:
    """One for each pair, whatever others there are."""
    return int(np.random.default_rng([seed, *stem.encode()]).integers(2**31))


def _describe(folder: Path, shares: Mapping[str, Any], skipped: Mapping[str, str], settings: Mapping[str, Any]) -> None:
    """The list, and what the set is; the list comes last, so that a set that lacks something can't be read by mistake."""
    about = {
        "settings": settings,
        "written by": f"partwhole {__version__}",
        "shares": {name: list(of) for name, of in shares.items()},
        "skipped": dict(skipped),
    }
    with atomic_write(folder / ABOUT) as file:
        file.write((json.dumps(about, indent=1) + "\n").encode())
    with atomic_write(folder / LIST) as file:
        file.write("\n".join(["a,b", *(f"{stem}_a,{stem}_b" for stem in shares)]).encode() + b"\n")
