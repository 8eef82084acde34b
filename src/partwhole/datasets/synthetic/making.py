"""`make_set`: a set of pairs with exact ground truth, from any meshes, in a folder that `FolderPairs` reads."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from partwhole.datasets.cutting.cuts import Recipe
from partwhole.datasets.synthetic.folder import FolderPairs, surface_files
from partwhole.datasets.synthetic.generated import BodyPoses
from partwhole.datasets.synthetic.made_folder import MadeFolder
from partwhole.datasets.synthetic.set_tasks import (
    CutTask,
    FolderSource,
    MadePart,
    MadeWhole,
    MappingSource,
    MeshSource,
    WholeTask,
    cut_part,
    make_whole,
)
from partwhole.engines import EngineOptions, Lost, run_tasks
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
    others : number of meshes that other shards have not done yet; the set is complete when there are none
    """

    folder: Path
    n_wholes: int
    n_parts: int
    n_pairs: int
    n_kept: int
    area_shares: dict[str, float]
    skipped: dict[str, str]
    notes: dict[str, str]
    others: int = 0

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
    engine: EngineOptions | None = None,
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
    engine : where it is made, default one after the other. A shard cuts the parts of every n-th mesh; the last shard to end
        completes the set, and until then `MadeSet.others` says how many meshes are missing

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
    run = _SetRun(meshes, folder, strict, progress, parts, engine or EngineOptions())
    wholes = run.collect_wholes(run.own if pairs == "own" else list(meshes.names))
    partners = _partners(wholes, pairs)
    planned = [(part, whole) for name in wholes for part in run.parts_of(name) for whole in partners[name]]
    _check_map_names(planned)
    if run.engine.shard is None and not folder.was_complete:
        folder.list_pairs(planned)
    run.cut_parts({name: partners[name] for name in run.own if name in partners}, recipe, seed)
    others = 0 if run.engine.shard is None else run.join_others()
    if not run.area_shares and not others:
        raise ValueError(f"no part was made: {_first(run.skipped)} ({len(run.skipped)} left out)")
    return _finished(run, others)


@dataclass(frozen=True)
class _Meshes:
    """Meshes by name, read one at a time."""

    names: dict[str, str]  # → where each comes from
    source: MeshSource
    said: str  # where they all come from
    identity: dict[str, Any]  # what decides them, as far as it can be known without reading
    is_decided: bool  # by their names and the identity alone


# meshes, or parts, that are handed out together
_TOGETHER = 4


@dataclass
class _SetRun:
    """The state of one call: what was written, kept and left out so far."""

    meshes: _Meshes
    folder: MadeFolder
    strict: bool
    progress: Progress | None
    n_parts: int  # of each mesh
    engine: EngineOptions
    n_kept: int = 0
    # of each mesh that has been cut, in what order ever
    made: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def own(self) -> list[str]:
        """The meshes whose parts this run cuts."""
        return [name for number, name in enumerate(self.meshes.names) if self.engine.has(number)]

    @property
    def area_shares(self) -> dict[str, float]:
        return self._of_all("area_shares")

    @property
    def skipped(self) -> dict[str, str]:
        return self._of_all("unread") | self._of_all("skipped")

    @property
    def notes(self) -> dict[str, str]:
        return self._of_all("notes")

    @property
    def scales(self) -> dict[str, float]:
        return self._of_all("scales")

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All pairs whose part is there."""
        return [
            (part, whole)
            for name in self.meshes.names
            if name in self.made
            for part in self.made[name]["area_shares"]
            for whole in self.made[name]["partners"]
        ]

    def parts_of(self, name: str) -> list[str]:
        digits = max(2, len(str(self.n_parts - 1)))
        return [f"{name}_{k:0{digits}d}" for k in range(self.n_parts)]

    def collect_wholes(self, names: Sequence[str]) -> dict[str, str]:
        """Every mesh that can be read, of area 1, written into wholes/; by name, what tells its connectivity."""
        tasks = [WholeTask(name, self.meshes.names[name], self.meshes.is_decided) for name in names]
        do = partial(make_whole, self.folder.files, self.meshes.source)
        made = self._results("meshes", do, tasks, lambda lost: MadeWhole(reason=lost.reason))
        found = {}
        for number, name in enumerate(names):
            whole, file = made[number], self.meshes.names[name]
            facts = self._facts(name)
            if whole.reason:
                self._leave_out(facts["unread"], file, whole.reason)
                continue
            if whole.scale is not None:
                facts["scales"][name] = whole.scale
            if whole.note:
                facts["notes"][file] = whole.note
            found[name] = whole.connectivity
        if not found:
            unread = self._of_all("unread")
            raise ValueError(f"none of the meshes can be used: {_first(unread)} ({len(unread)} such)")
        return found

    def cut_parts(self, partners: Mapping[str, list[str]], recipe: Recipe, seed: int) -> None:
        """The parts of these meshes, and where they lie on each of the partners of their mesh."""
        for name, wholes in partners.items():
            self._facts(name)["partners"] = wholes
            if not wholes:
                self._leave_out(self._facts(name)["skipped"], name, "no other mesh has the same faces")
        tasks = [
            CutTask(name, part, number, tuple(wholes))
            for name, wholes in partners.items()
            for number, part in enumerate(self.parts_of(name))
            if wholes
        ]
        more = self.n_parts * sum(not wholes for wholes in partners.values())
        do = partial(cut_part, self.folder.files, recipe, seed)
        made = self._results("parts", do, tasks, lambda lost: MadePart(reason=lost.reason), more=more)
        for number, task in enumerate(tasks):
            part, facts = made[number], self._facts(task.name)
            self.n_kept += part.kept
            if part.reason:
                self._leave_out(facts["skipped"], task.part, part.reason)
            else:
                facts["area_shares"][task.part] = part.area_share
        if self.engine.shard is not None:
            for name in self.own:
                self.folder.files.put_record(name, self.made[name])

    def join_others(self) -> int:
        """What the other shards noted about their meshes; the number of meshes that are missing."""
        own = set(self.own)
        records = {name: self.folder.files.read_record(name) for name in self.meshes.names if name not in own}
        self.made |= {name: record for name, record in records.items() if record is not None}
        return sum(record is None for record in records.values())

    def _results(
        self, what: str, do: Callable[[Any], Any], tasks: Sequence[Any], lost: Callable[[Lost], Any], *, more: int = 0
    ) -> dict[int, Any]:
        """The results of tasks, by their numbers, while `progress` is told; `more` steps have nothing to do."""
        total, results = len(tasks) + more, {}
        report = self.progress or (lambda what, done, total: None)
        report(what, 0, total)
        sizes = None if self.engine.engine == "serial" else [1] * len(tasks)
        with closing(run_tasks(do, tasks, self.engine, sizes=sizes, small=_TOGETHER)) as ended:
            for number, found in ended:
                results[number] = lost(found) if isinstance(found, Lost) else found
                if self.strict and results[number].reason:
                    raise ValueError(f"{tasks[number].said}: {results[number].reason}")
                report(what, len(results), total)
        for done in range(len(tasks) + 1, total + 1):
            report(what, done, total)
        return results

    def _facts(self, name: str) -> dict[str, Any]:
        """What is known of a mesh and its parts, as its record has it."""
        kinds: dict[str, Any] = {kind: {} for kind in ("unread", "skipped", "notes", "scales", "area_shares")}
        return self.made.setdefault(name, {**kinds, "partners": []})

    def _of_all(self, kind: str) -> dict[str, Any]:
        return {
            key: value
            for name in self.meshes.names
            if name in self.made
            for key, value in self.made[name][kind].items()
        }

    def _leave_out(self, where: dict[str, str], name: str, reason: str) -> None:
        if self.strict:
            raise ValueError(f"{name}: {reason}")
        where[name] = reason


def _finished(run: _SetRun, others: int) -> MadeSet:
    pairs, shares = run.pairs, run.area_shares
    n_wholes = len({whole for _, whole in pairs})
    facts = {
        "counts": {"parts": len(shares), "wholes": n_wholes, "pairs": len(pairs)},
        "area_shares": {part: round(share, 6) for part, share in shares.items()},
        **({} if run.meshes.is_decided else {"scales": run.scales}),
        "skipped": run.skipped,
        "notes": run.notes,
    }
    # a set that lacks nothing is left alone, with whatever somebody wrote into its list or its README since
    if not others and not (run.folder.was_complete and run.n_kept == len(shares)):
        run.folder.list_pairs(pairs)
        run.folder.describe(facts, complete=True)
    counts = n_wholes, len(shares), len(pairs), run.n_kept
    return MadeSet(run.folder.root, *counts, shares, run.skipped, run.notes, others)


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
            MappingSource(source),
            said,
            identity,
            is_decided,
        )
    folder = checked_path("source", source)
    if not folder.is_dir():
        raise FileNotFoundError(f"{source} is not a folder; give one that holds meshes")
    files = surface_files(folder)

    identity = {"kind": "folder", "repair": repair}
    return _Meshes(
        {name: path.name for name, path in files.items()}, FolderSource(folder, repair), str(source), identity, False
    )


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


def _first(entries: Mapping[str, str]) -> str:
    name, reason = next(iter(entries.items()))
    return f"{name}: {reason}"
