"""`make_set`: a set of pairs with exact ground truth, from any meshes, in a folder that `FolderPairs` reads."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from partwhole.datasets.cutting.cuts import Recipe, random_cuts
from partwhole.datasets.synthetic.folder import FolderPairs, surface_files
from partwhole.datasets.synthetic.generated import BodyPoses
from partwhole.datasets.synthetic.made_folder import MadeFolder
from partwhole.mesh import Mesh, as_mesh
from partwhole.mesh.io import read_mesh
from partwhole.store.arguments import Progress, check_progress, check_whole_number, checked_path, displayable

Matched = Literal["own", "others", "all"]


@dataclass(frozen=True)
class MadeSet:
    """What `make_set` made.

    Attributes
    ----------
    folder : where it is
    n_wholes, n_parts, n_pairs : how many there are, all of them with ground truth
    n_kept : how many of the parts were there before
    area_shares : of each part, by name, the share of the area of the mesh it was cut from
    skipped : meshes and parts that are not in the set, and why
    notes : meshes that were changed while they were read, and how
    """

    folder: Path
    n_wholes: int
    n_parts: int
    n_pairs: int
    n_kept: int
    area_shares: dict[str, float]
    skipped: dict[str, str]
    notes: dict[str, str]

    def pairs(self) -> FolderPairs:
        """The pairs, read from the folder."""
        return FolderPairs(self.folder)


def make_set(
    source: str | os.PathLike[str] | Mapping,
    output: str | os.PathLike[str],
    *,
    recipe: Recipe = "pfaust-m",
    parts: int = 1,
    pairs: Matched = "own",
    seed: int = 0,
    repair: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
) -> MadeSet:
    """Cut parts from meshes and write both, with the exact ground truth, into a folder that `FolderPairs` reads.

    A part keeps vertices and faces of its mesh, so its ground truth is known. Meshes with the same faces are poses of one
    body: vertex i is the same point in each, and the ground truth of a part holds for all of them. Every mesh is scaled to
    area 1 and centred, as in `Pair`, before parts are cut from it; set.json says the factors.

    An interrupted run resumes when it is called again with the same arguments. No file that is
    there is overwritten. Parts depend on the seed and on the name of their mesh only: meshes that are added later, with
    another call, change nothing about the others.

    Parameters
    ----------
    source : folder with OFF, OBJ, PLY, STL, GLB or VTK files (folders inside it are not looked into), or meshes by name, such
        as `BodyPoses`
    output : folder for the set, new or empty, or of a run that was interrupted
    recipe : how parts are cut, see `random_cuts`
    parts : cut from each mesh
    pairs : what each part is matched to: "own", the mesh that it was cut from; "others", every other mesh with the same
        faces; "all", both
    seed : decides where the cuts are
    repair : repair defects of the files, see `repair`
    strict : raise for the first file that can't be used, instead of leaving it out and saying so in `skipped`
    progress : called with ("meshes", meshes read, meshes in all), then with ("parts", parts cut, parts in all)

    Examples
    --------
    >>> import tempfile
    >>> from partwhole.datasets import sphere, torus
    >>> shapes = {"ball": sphere(400), "ring": torus(n_vertices=400)}
    >>> made = make_set(shapes, tempfile.mkdtemp(), recipe="holes", parts=2)
    >>> made.n_parts, made.n_pairs, made.pairs()[3].name
    (4, 4, 'ring_01 → ring')
    """
    check_progress(progress)
    output = checked_path("output", output)
    check_whole_number("parts", parts)
    if parts < 1:
        raise ValueError(f"parts={parts} must be at least 1")
    check_whole_number("seed", seed)
    if seed < 0:
        raise ValueError(f"seed={seed} must not be negative")
    for what, choice, known in (("recipe", recipe, get_args(Recipe)), ("pairs", pairs, get_args(Matched))):
        if choice not in known:
            raise ValueError(f"{what} must be one of {', '.join(map(repr, known))}, got {choice!r}")
    meshes = _meshes_of(source, repair)
    _check_names(meshes.names)
    settings = {"recipe": recipe, "parts": parts, "pairs": pairs, "seed": seed, "source": meshes.identity}
    folder = MadeFolder(output, settings=settings, sources=meshes.names, said=meshes.said)
    run = _Run(meshes, folder, strict, progress, parts)
    wholes = run.collect_wholes()
    partners = _partners(wholes, pairs)
    for name in wholes:
        if not partners[name]:
            run.leave_out(name, "no other mesh has the same faces")
    planned = [(part, whole) for name in wholes for part in run.parts_of(name) for whole in partners[name]]
    _check_map_names(planned)
    if not folder.was_complete:
        folder.list_pairs(planned)
    run.cut_parts(partners, recipe, seed)
    if not run.area_shares:
        raise ValueError(f"no part was made: {_first(run.skipped)} ({len(run.skipped)} left out)")
    return _finished(run, [pair for pair in planned if pair[0] in run.area_shares])


@dataclass(frozen=True)
class _Meshes:
    """Meshes by name, read one at a time."""

    names: dict[str, str]  # → where each comes from
    read: Callable[[str], tuple[Mesh, str]]  # the mesh, and what was changed while reading
    said: str  # where they all come from
    identity: dict[str, Any]  # what decides them, as far as it can be known without reading
    is_decided: bool  # by their names and the identity alone


@dataclass
class _Run:
    """The state of one call: what was written, kept and left out so far."""

    meshes: _Meshes
    folder: MadeFolder
    strict: bool
    progress: Progress | None
    n_parts: int  # of each mesh
    n_kept: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    area_shares: dict[str, float] = field(default_factory=dict)
    scales: dict[str, float] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    def parts_of(self, name: str) -> list[str]:
        digits = max(2, len(str(self.n_parts - 1)))
        return [f"{name}_{k:0{digits}d}" for k in range(self.n_parts)]

    def leave_out(self, name: str, reason: str) -> None:
        if self.strict:
            raise ValueError(f"{name}: {reason}")
        self.skipped[name] = reason

    def step(self, what: str, total: int) -> None:
        """Called before each of `total` meshes or parts, and once more at the end."""
        if self.progress is not None:
            self.progress(what, self.steps[what], total)
        self.steps[what] += 1

    def collect_wholes(self) -> dict[str, str]:
        """Every mesh that can be read, of area 1, written into wholes/; by name, what tells its connectivity."""
        found = {}
        for name in self.meshes.names:
            self.step("meshes", len(self.meshes.names))
            path = self.folder.whole(name)
            if path.exists() and self.meshes.is_decided:
                mesh = read_mesh(path, name=name)
            else:
                try:
                    given, note = self.meshes.read(name)
                    mesh, self.scales[name] = given.to_unit_area()
                except (ValueError, OSError) as error:
                    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                    self.leave_out(self.meshes.names[name], reason)
                    continue
                if note:
                    self.notes[self.meshes.names[name]] = note
                self.folder.put_mesh(path, mesh)
            found[name] = _connectivity(mesh)
        self.step("meshes", len(self.meshes.names))
        if not found:
            raise ValueError(f"none of the meshes can be used: {_first(self.skipped)} ({len(self.skipped)} such)")
        return found

    def cut_parts(self, partners: Mapping[str, list[str]], recipe: Recipe, seed: int) -> None:
        """The parts of all meshes, and where they lie on each of the partners of their mesh."""
        total = len(partners) * self.n_parts
        for name in partners:
            self._cut_from(name, partners[name], recipe, seed, total)
        self.step("parts", total)

    def _cut_from(self, name: str, partners: list[str], recipe: Recipe, seed: int, total: int) -> None:
        mesh = None
        for number, part in enumerate(self.parts_of(name)):
            self.step("parts", total)
            if not partners:
                continue
            path, maps = self.folder.part(part), [self.folder.map(part, whole) for whole in partners]
            if path.exists() and all(map_path.exists() for map_path in maps):
                self.area_shares[part] = read_mesh(path).area
                self.n_kept += 1
                continue
            if mesh is None:
                mesh = read_mesh(self.folder.whole(name), name=name)
            try:
                cut = random_cuts(mesh, recipe, _random(seed, name, number))
            except ValueError as error:
                self.leave_out(part, str(error))
                continue
            if path.exists():  # seen to be this part, before maps of it are written
                self.folder.put_mesh(path, cut.part)
            for map_path in maps:
                self.folder.put_map(map_path, cut.vertex_map)
            self.folder.put_mesh(path, cut.part)
            self.area_shares[part] = cut.area_share


def _finished(run: _Run, pairs: list[tuple[str, str]]) -> MadeSet:
    n_wholes = len({whole for _, whole in pairs})
    facts = {
        "counts": {"parts": len(run.area_shares), "wholes": n_wholes, "pairs": len(pairs)},
        "area_shares": {part: round(share, 6) for part, share in run.area_shares.items()},
        **({} if run.meshes.is_decided else {"scales": run.scales}),
        "skipped": run.skipped,
        "notes": run.notes,
    }
    # a set that lacks nothing is left alone, with whatever somebody wrote into its list or its README since
    if not (run.folder.was_complete and run.n_kept == len(run.area_shares)):
        run.folder.list_pairs(pairs)
        run.folder.describe(facts, complete=True)
    return MadeSet(
        run.folder.root,
        n_wholes,
        len(run.area_shares),
        len(pairs),
        run.n_kept,
        run.area_shares,
        run.skipped,
        run.notes,
    )


def _meshes_of(source: str | os.PathLike[str] | Mapping, repair: bool) -> _Meshes:
    if isinstance(source, Mapping):
        if repair:
            raise ValueError("repair=True is for files; use partwhole.repair for meshes in memory")
        if not source:
            raise ValueError("source has no meshes")
        identity = source.describe() if isinstance(source, BodyPoses) else {"kind": "given"}
        said = "generated bodies; pose0 is the rest pose" if isinstance(source, BodyPoses) else "meshes in memory"
        is_decided = isinstance(source, BodyPoses)
        return _Meshes(
            {name: name for name in source},
            lambda name: (as_mesh(source[name], name=name), ""),
            said,
            identity,
            is_decided,
        )
    folder = checked_path("source", source)
    if not folder.is_dir():
        raise FileNotFoundError(f"{source} is not a folder; give one that holds meshes")
    files = surface_files(folder)

    def read(name: str) -> tuple[Mesh, str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                mesh = read_mesh(files[name], name=name, repair=repair)
            except ValueError as error:
                reason = str(error).removeprefix(displayable(str(files[name]))).lstrip(": ")
                raise ValueError(reason.replace("read_mesh(path, repair=True)", "repair=True")) from None
        said = [str(warning.message).removeprefix(f"{displayable(str(files[name]))}: ") for warning in caught]
        return mesh, "; ".join(said)

    identity = {"kind": "folder", "repair": repair}
    return _Meshes({name: path.name for name, path in files.items()}, read, str(source), identity, False)


def _check_names(names: Iterable[str]) -> None:
    """A name must do as the name of a file, on systems that do not tell A from a too, and as an entry of pairs.csv."""
    seen: dict[str, str] = {}
    for name in names:
        if not name or Path(name).name != name or "\\" in name or name.startswith(".") or name.strip() != name:
            raise ValueError(f"the mesh {name!r} can't give its name to a file; rename it")
        if displayable(name) != name:
            raise ValueError(f"the mesh {name!r} has characters that pairs.csv can't hold; rename it")
        if name.casefold() in seen:
            raise ValueError(f"{seen[name.casefold()]!r} and {name!r} differ by capitals only; rename one")
        seen[name.casefold()] = name


def _check_map_names(pairs: Iterable[tuple[str, str]]) -> None:
    """Two pairs must not share a map: "a_00-b" and "c" as "a_00" and "b-c" would."""
    often = Counter(f"{part}-{whole}".casefold() for part, whole in pairs)
    for name, count in often.items():
        if count > 1:
            raise ValueError(f"the names of the meshes make {name!r} the map of {count} pairs; rename one")


def _partners(wholes: Mapping[str, str], pairs: Matched) -> dict[str, list[str]]:
    """For each mesh the wholes that its parts are matched to."""
    if pairs == "own":
        return {name: [name] for name in wholes}
    poses = defaultdict(list)
    for name, connectivity in wholes.items():
        poses[connectivity].append(name)
    partners = {name: poses[connectivity] for name, connectivity in wholes.items()}
    if pairs == "all":
        return partners
    if all(len(names) == 1 for names in poses.values()):
        raise ValueError(
            f"pairs='others' needs meshes that share their faces, poses of one body; of these {len(wholes)} no two do"
        )
    return {name: [other for other in names if other != name] for name, names in partners.items()}


def _connectivity(mesh: Mesh) -> str:
    return f"{mesh.n_vertices} {hashlib.sha256(mesh.faces.tobytes()).hexdigest()}"


def _random(seed: int, name: str, number: int) -> np.random.Generator:
    """A stream for each part, whatever other meshes there are."""
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big"), number])


def _first(entries: Mapping[str, str]) -> str:
    name, reason = next(iter(entries.items()))
    return f"{name}: {reason}"
