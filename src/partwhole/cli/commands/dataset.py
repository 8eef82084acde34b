"""`partwhole dataset make`: a data set of pairs with exact ground truth, cut from meshes or from generated bodies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from partwhole.cli.shared.batch.engine_options import (
    EngineOption,
    EngineWorkersOption,
    SchedulerOption,
    ShardOption,
    engine_options,
)
from partwhole.cli.shared.console import Console
from partwhole.cli.shared.options import (
    JsonOption,
    OutputOption,
    QuietOption,
    RepairOption,
    SeedOption,
    check_folder,
)
from partwhole.datasets.cutting.overlapping import CutBy
from partwhole.datasets.synthetic.folder import mesh_files
from partwhole.datasets.synthetic.part_folder import WRITES as PART_WRITES
from partwhole.mesh.formats.common import counted

WRITES = ("wholes/*", "parts/*", "maps/*", "pairs.csv", "set.json", "README.md")
_PRINTED_NOTES = 10
# how parts that overlap are cut, by the names of the recipes
_BY: dict[str, CutBy] = {"cuts": "planes", "views": "views"}

dataset = typer.Typer(
    rich_markup_mode="markdown",
    help="Make data sets of parts and wholes with ground truth.",
    epilog="Example: partwhole dataset make --from scans --recipe pfaust-h --parts 3",
)


@dataset.callback()
def _group() -> None:
    """Make data sets of parts and wholes with ground truth."""


@dataset.command(
    epilog="Example: partwhole dataset make --from scans --recipe pfaust-h --parts 3 --output scans-h\n\n"
    "Example: partwhole dataset make --bodies 4 --plan hand --recipe cuts\n\n"
    "Example: partwhole dataset make --bodies 4 --both-partial --recipe views --overlap 0.3 --overlap 0.6"
)
def make(
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="Folder of meshes: OFF, OBJ, PLY, STL, GLB or VTK files."),
    ] = None,
    bodies: Annotated[
        int | None, typer.Option(min=1, help="Number of bodies to generate instead, in several poses.")
    ] = None,
    recipe: Annotated[
        Literal["pfaust-m", "pfaust-h", "cuts", "holes", "views", "piece"] | None,
        typer.Option(
            help="What is cut away: 4 large or 13 small geodesic balls, one side of a plane, many small holes, what one "
            "to three cameras don't see, or all but a small piece. If not given, pfaust-m, and cuts with --both-partial."
        ),
    ] = None,
    parts: Annotated[int, typer.Option(min=1, help="Parts to cut from each mesh.")] = 1,
    pairs: Annotated[
        Literal["own", "others", "all"] | None,
        typer.Option(
            help="Wholes of a part: its own mesh, the others with the same faces (poses of one body), or all; "
            "if not given, own for --from and others for --bodies."
        ),
    ] = None,
    plan: Annotated[
        list[str] | None,
        typer.Option(
            help="Kind of body: biped (default), quadruped, hand, animal, centaur, gorilla, bird, fish, snake, insect or "
            "monster; if repeated, they alternate."
        ),
    ] = None,
    poses: Annotated[
        int | None, typer.Option(min=1, help="Poses of each body besides the rest pose; 3 if not given.")
    ] = None,
    vertices: Annotated[int | None, typer.Option(min=500, help="Vertices of each body; 1000 if not given.")] = None,
    both_partial: Annotated[
        bool,
        typer.Option(
            "--both-partial",
            help="Cut pairs of parts that overlap, with the vertices that they share, instead of parts of wholes; --recipe "
            "cuts or views, --parts pairs of each mesh and overlap.",
        ),
    ] = False,
    overlap: Annotated[
        list[float] | None,
        typer.Option(
            min=0.05,
            max=0.95,
            help="With --both-partial: share of the area of each part that is on the other one, too; may be repeated. "
            "0.5 if not given.",
        ),
    ] = None,
    repair: RepairOption = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at a file that can't be used instead of leaving it out.")
    ] = False,
    output: OutputOption = None,
    engine: EngineOption = "serial",
    workers: EngineWorkersOption = None,
    scheduler: SchedulerOption = None,
    shard: ShardOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    seed: SeedOption = 0,
) -> None:
    """Cut parts from meshes, and write parts and wholes with exact ground truth.

    Writes wholes/, parts/, maps/ and pairs.csv, which `train`, `evaluate` and `match` read, set.json and README.md, by
    default into a folder named after the meshes and the recipe. If it is interrupted, run the same command again to resume;
    existing files are not overwritten. Files that can't be used are left out and listed. --engine and --shard cut several
    parts at the same time; the set is the same.
    """
    console = Console(as_json=as_json, quiet=quiet)
    for_bodies = {"--plan": plan, "--poses": poses, "--vertices": vertices}
    meshes: Path | Mapping
    if (source is None) == (bodies is None):
        raise ValueError("give either --from, a folder with meshes, or --bodies, a number of bodies to generate")
    if bodies is None:
        assert source is not None
        misplaced = [option for option, value in for_bodies.items() if value]
        if misplaced:
            raise ValueError(f"{misplaced[0]} is for --bodies, not for --from")
        meshes, name = source, source.resolve().name
    else:
        if repair:
            raise ValueError("--repair is for --from; generated bodies have no defects")
        meshes, name = _bodies(bodies, plan, poses, vertices, seed), "-".join(dict.fromkeys(plan or ["biped"]))
    recipe = recipe or ("cuts" if both_partial else "pfaust-m")
    if overlap and not both_partial:
        raise ValueError("--overlap is for --both-partial")
    if both_partial:
        folder = output or Path(f"{name}-parts")
        given = {"--pairs": pairs, "--repair": repair, "--strict": strict}
        _make_parts(console, meshes, folder, recipe, overlap, parts, seed, given=given)
        return
    matched = pairs or ("own" if bodies is None else "others")
    folder = Path(f"{name}-{recipe}") if output is None else output
    check_folder(folder, WRITES, mesh_files(source) if source is not None and source.is_dir() else ())
    knobs: dict[str, Any] = {"recipe": recipe, "parts": parts, "pairs": matched, "seed": seed}
    where = engine_options({"engine": engine, "workers": workers, "scheduler": scheduler, "shard": shard})
    summary = _made(console, meshes, folder, {**knobs, "repair": repair, "strict": strict, "engine": where})
    console.finish({"source": None if source is None else str(source), "bodies": bodies, **knobs, **summary})


def _make_parts(
    console: Console,
    meshes: Path | Mapping,
    folder: Path,
    recipe: str,
    overlap: list[float] | None,
    pairs: int,
    seed: int,
    *,
    given: Mapping[str, Any],
) -> None:
    """Pairs of parts that overlap."""
    from partwhole.datasets import make_part_set

    misplaced = [option for option, value in given.items() if value]
    if misplaced:
        raise ValueError(f"{misplaced[0]} is for parts and wholes, not for --both-partial")
    if recipe not in _BY:
        raise ValueError(f"--both-partial cuts by --recipe {' or '.join(_BY)}, got {recipe}")
    check_folder(folder, PART_WRITES, mesh_files(meshes) if isinstance(meshes, Path) and meshes.is_dir() else ())
    overlaps = tuple(overlap or (0.5,))
    with console.stage_progress() as report:
        made = make_part_set(meshes, folder, overlaps=overlaps, pairs=pairs, by=_BY[recipe], seed=seed, progress=report)
    for name, reason in made.skipped.items():
        console.note(f"left out {name}: {reason}")
    mean = sum(map(sum, made.shares.values())) / (2 * len(made.shares))
    console.say(f"{len(made.shares)} pairs of parts, which share {mean:.0%} of their vertices, with exact ground truth")
    console.say(f"wrote {made.folder}")
    console.finish(
        {
            "n_pairs": len(made.shares),
            "shares": made.shares,
            "skipped": made.skipped,
            "notes": console.notes,
            "files": {"folder": made.folder, "pairs": made.folder / "part_pairs.csv"},
        }
    )


def _bodies(count: int, plan: list[str] | None, poses: int | None, vertices: int | None, seed: int) -> Mapping:
    from partwhole.datasets import BodyPoses
    from partwhole.datasets.shapes.bodies.body import Plan

    plans: list[Any] = plan or ["biped"]
    for name in plans:
        if name not in get_args(Plan):
            raise ValueError(f"--plan must be one of {', '.join(get_args(Plan))}, got {name}")
    return BodyPoses(count, poses or 3, plans=plans, n_vertices=vertices or 1000, seed=seed)


def _made(console: Console, meshes: Path | Mapping, folder: Path, knobs: dict[str, Any]) -> dict[str, Any]:
    """Make the data set, print what it holds, and return the summary."""
    from partwhole.datasets import make_set

    try:
        with console.stage_progress() as report:
            made = make_set(meshes, folder, **knobs, progress=report)
    except ValueError as error:  # the remedies, in the words of the command line
        raise ValueError(_in_options(str(error))) from None
    notes = [f"left out {name}: {_in_options(reason)}" for name, reason in made.skipped.items()]
    notes += [f"{name}: {note}" for name, note in made.notes.items()]
    for note in notes[:_PRINTED_NOTES]:
        console.note(note)
    if len(notes) > _PRINTED_NOTES:
        console.note(f"and {len(notes) - _PRINTED_NOTES} more such notes, in {made.folder / 'set.json'}")
    if made.n_kept:
        console.note(f"{made.n_kept} of {made.n_parts} parts exist already and are kept")
    if knobs["pairs"] == "all" and made.n_pairs == made.n_parts:
        console.note("no two meshes share their faces, so each part is matched to its own mesh only")
    shares = list(made.area_shares.values()) or [math.nan]
    mean, least, most = sum(shares) / len(shares), min(shares), max(shares)
    console.say(f"{made.n_parts} parts of {made.n_wholes} wholes, {made.n_pairs} pairs, with exact ground truth")
    console.say(f"parts keep {mean:.0%} of the area ({least:.0%} to {most:.0%})")
    if made.skipped:
        console.say(f"left out: {len(made.skipped)}")
    if made.others:
        console.say(
            f"{counted(made.others, 'mesh', 'meshes')} of other shards are not done; the last shard completes the set"
        )
    console.say(f"wrote {made.folder}")
    return {
        "n_parts": made.n_parts,
        "n_kept": made.n_kept,
        "n_wholes": made.n_wholes,
        "n_pairs": made.n_pairs,
        "complete": not made.others,
        "area_share": {"mean": mean, "least": least, "most": most},
        "skipped": {name: _in_options(reason) for name, reason in made.skipped.items()},
        "notes": console.notes,
        "files": {"folder": made.folder, "pairs": made.folder / "pairs.csv", "summary": made.folder / "set.json"},
    }


def _in_options(text: str) -> str:
    """Replace Python arguments in a message by options of the command line."""
    return text.replace("repair=True", "--repair").replace("pairs='others'", "--pairs others")
