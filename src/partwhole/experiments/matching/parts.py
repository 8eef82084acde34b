"""`partwhole reproduce parts`: how well two parts of one whole are matched, on SHREC'16 and against how much they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from partwhole.cli.shared.console import Console, plain_memory_errors, write_json, write_text
from partwhole.cli.shared.options import CacheOption, JsonOption, QuietOption, check_torch, open_cache, output_folder
from partwhole.datasets import BodyPoses, GroundTruth, Pair, PartPair, PartPairs, Shrec16, overlapping_cuts, part_pairs
from partwhole.datasets.shapes.bodies.body import Plan
from partwhole.datasets.synthetic.generated import WholeKey
from partwhole.evaluation.parts import PartsErrors, PartsScores, parts_errors, parts_scores
from partwhole.experiments.matching.benchmarks import StudyDataOption, data_folder
from partwhole.matching.parts.constants import PARTS_MODEL
from partwhole.mesh import Mesh
from partwhole.store.cache import Cache

if TYPE_CHECKING:
    from partwhole.matching.matcher import Matcher

Study = Literal["cuts", "overlap"]

OVERLAPS = tuple(number / 10 for number in range(1, 10))
# bodies that nothing was trained on or fitted to
_PLANS: tuple[Plan, ...] = ("biped", "quadruped", "hand", "animal")
_SEED = 4242
_HEAD = ("", "pairs", "mIoU", "error on the whole, macro", "micro", "on the part, macro", "micro", "AUC of sharing")
_PROTOCOL = (
    "mIoU: |found ∩ true| / |found ∪ true| of shared vertices: mean of both parts, then over pairs, × 100.",
    "Errors: geodesic, × 100, of at most 300 truly shared vertices of each part, both ways; fast marching distances on the "
    "true whole (null pose), in √area of it; and on the part that is mapped to, as EchoMatch counts. Macro: mean over pairs.",
    "Truth: the partner is the nearest vertex of the other part on the whole, no farther than the mean length of the edges "
    "there. Pairs count that share at least 10 % of the vertices of one part; AUC: against pairs that share less than 0.5 %.",
)

Matched = tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray], float]


def parts(
    data: StudyDataOption = None,
    only: Annotated[
        Study | None, typer.Option(help="cuts: parts of SHREC'16 CUTS; overlap: generated bodies. Both if not given.")
    ] = None,
    split: Annotated[
        Literal["train", "test"], typer.Option(help="Parts 1 to 9 of each class, or 10 to 12, with each other.")
    ] = "test",
    most: Annotated[
        int | None, typer.Option(min=1, help="Number of pairs of CUTS, spread evenly; all if not given.")
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of bodies for each overlap.")] = 4,
    vertices: Annotated[int, typer.Option(min=500, help="Vertices of the bodies that are cut.")] = 2000,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the results.")] = Path(
        "reproduce-parts"
    ),
    cache: CacheOption = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure match_parts, which is told nothing, on pairs of parts with known truth.

    CUTS: every two parts of a class, each turned at random. Generated bodies in two poses: overlaps of 10 to 90 %, cut by
    planes and by what cameras see; beside two runs of match through the known whole, the upper bound, and match with one
    part in the place of the whole, the lower bound, which takes everything for shared. Writes parts.md and parts.json.
    """
    console = Console(as_json=as_json, quiet=quiet)
    check_torch("cpu")
    from partwhole.matching.matcher import Matcher

    folder, kept, matcher = output_folder(output), open_cache(cache, console), Matcher.load(PARTS_MODEL)
    tables: dict[str, list[tuple[str, ...]]] = {}
    single: dict[str, list[PartsErrors]] = {}
    with plain_memory_errors(), console.stage_progress() as report:
        if only != "overlap":
            held = cuts_with_cuts(data_folder(data), split, most)
            done = _measured(held, lambda pair: by_parts(pair, matcher, kept), lambda n: report("CUTS", n, len(held)))
            single["cuts"], tables[held.name] = done, [_row("match_parts", parts_scores(done))]
        if only != "cuts":
            tables["generated bodies, by overlap"] = _overlap_rows(matcher, kept, pairs, vertices, single, report)
    for title, rows in tables.items():
        console.table(rows, head=_HEAD, title=title)
    for line in _PROTOCOL:
        console.say(line)
    files = {"parts.md": folder / "parts.md", "parts.json": folder / "parts.json"}
    write_text(files["parts.md"], _markdown(tables))
    summary = {"split": split, "head": _HEAD, "tables": tables, "protocol": _PROTOCOL, "pairs": _of_pairs(single)}
    write_json(files["parts.json"], {**summary, "files": files})
    console.say_files(files)
    console.finish({**summary, "notes": console.notes, "files": files})


def cuts_with_cuts(data: Path, split: Literal["train", "test"], most: int | None = None) -> PartPairs:
    """Every two CUTS of a class in a split; so many, evenly, or all."""
    shapes = Shrec16(data, "cuts")
    found = part_pairs(shapes.test_pairs() if split == "test" else shapes.train_pairs())
    chosen = (
        range(len(found)) if most is None else np.linspace(0, len(found) - 1, min(most, len(found))).round().astype(int)
    )
    keys = [found.keys[int(number)] for number in chosen]

    def load(first: Any, second: Any) -> PartPair:
        pair = found[found.keys.index((first, second))]
        rng = np.random.default_rng([found.keys.index((first, second)), 16])
        return PartPair(
            _turned(pair.a, rng),
            _turned(pair.b, rng),
            pair.a_to_b,
            pair.b_to_a,
            pair.whole,
            pair.on_whole,
            name=pair.name,
        )

    return PartPairs(keys, load, name=f"CUTS with CUTS, {split}")


def bodies_that_share(overlap: float, count: int, n_vertices: int) -> Iterator[PartPair]:
    """Parts of generated bodies in two poses, cut by planes and by views in turn."""
    bodies = BodyPoses(count, 1, plans=_PLANS, n_vertices=n_vertices, seed=_SEED)
    for number in range(count):
        rest, posed = (bodies.posed(WholeKey(_PLANS[number % len(_PLANS)], number, pose)) for pose in (0, 1))
        by: Literal["planes", "views"] = "views" if number % 2 else "planes"
        cuts = overlapping_cuts(rest, overlap, pose=posed, by=by, seed=int(100 * overlap) + number)
        yield PartPair.of_cuts(*cuts, name=f"{rest.name}, {by}, {overlap:.0%}")


def by_parts(pair: PartPair, matcher: Matcher, cache: Cache | None) -> Matched:
    """What `match_parts` finds."""
    from partwhole.matching.parts.match import match_parts

    found = match_parts(pair.a, pair.b, model=matcher, cache=cache)
    ways = found.a_to_b, found.b_to_a
    return (ways[0].vertex_map, ways[1].vertex_map), (ways[0].shared, ways[1].shared), found.belongs


def through_the_whole(pair: PartPair, matcher: Matcher, cache: Cache | None) -> Matched:
    """The upper bound: both parts are matched to the whole, and compared there."""
    from partwhole.matching.session import match

    assert pair.whole is not None
    whole = pair.whole
    found = [match(part, whole, model=matcher, read_out="lateration", cache=cache) for part in (pair.a, pair.b)]
    seen = PartPair.through(*(Pair(one.part, whole, GroundTruth.of_map(one.vertex_map)) for one in found))
    ways = seen.a_to_b, seen.b_to_a
    return (ways[0].vertex_map, ways[1].vertex_map), (ways[0].shared, ways[1].shared), max(ways[0].share, ways[1].share)


def part_as_whole(pair: PartPair, matcher: Matcher, cache: Cache | None) -> Matched:
    """The lower bound: each part is matched to the other as if that were the whole, and all of it is shared."""
    from partwhole.matching.session import match

    maps = []
    for one, other in ((pair.a, pair.b), (pair.b, pair.a)):
        # no part is larger than its whole: such a one is made as large
        units: str | float = "same" if one.area <= other.area else (other.area / one.area) ** 0.5
        found = match(one, other, model=matcher, units=units, read_out="lateration", cache=cache)
        maps.append(found.vertex_map)
    return (maps[0], maps[1]), (np.ones(len(maps[0]), bool), np.ones(len(maps[1]), bool)), 1.0


def _overlap_rows(
    matcher: Matcher,
    cache: Cache | None,
    count: int,
    n_vertices: int,
    single: dict[str, list[PartsErrors]],
    report: Callable[[str, int, int], None],
) -> list[tuple[str, ...]]:
    """Three rows for each overlap."""
    methods = {"match_parts": by_parts, "two matches": through_the_whole, "part as whole": part_as_whole}
    rows = []
    for number, overlap in enumerate(OVERLAPS):
        report("overlap", number, len(OVERLAPS))
        held = list(bodies_that_share(overlap, count, n_vertices))
        for name, method in methods.items():
            done = _measured(held, lambda pair, method=method: method(pair, matcher, cache), lambda n: None)  # type: ignore[misc]
            label = f"{overlap:.0%}, {name}"
            single[label] = done
            rows.append(_row(label, parts_scores(done)))
    report("overlap", len(OVERLAPS), len(OVERLAPS))
    return rows


def _measured(
    pairs: Sequence[PartPair], found: Callable[[PartPair], Matched], report: Callable[[int], None]
) -> list[PartsErrors]:
    errors = []
    for number, pair in enumerate(pairs):
        report(number)
        errors.append(parts_errors(pair, *found(pair)))
    return errors


def _turned(mesh: Mesh, rng: np.random.Generator) -> Mesh:
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return Mesh(mesh.vertices @ (Q * np.sign(np.linalg.det(Q))).T, mesh.faces, name=mesh.name)


def _row(name: str, scores: PartsScores) -> tuple[str, ...]:
    def number(value: float, digits: int = 1) -> str:
        return "–" if np.isnan(value) else f"{value:.{digits}f}"

    auc = "–" if np.isnan(scores.auc) else f"{scores.auc:.3f}, {scores.apart} apart"
    errors = (*scores.on_whole, *scores.on_part)
    return (name, str(scores.overlapping), number(scores.miou), *map(number, errors), auc)


def _markdown(tables: dict[str, list[tuple[str, ...]]]) -> str:
    lines = []
    for title, rows in tables.items():
        lines += [f"**{title}**", "", "| " + " | ".join(_HEAD) + " |", "|---" * len(_HEAD) + "|"]
        lines += [*("| " + " | ".join(row) + " |" for row in rows), ""]
    return "\n".join([*lines, *(f"{line}  " for line in _PROTOCOL)]) + "\n"


def _of_pairs(single: dict[str, list[PartsErrors]]) -> dict[str, list[dict[str, Any]]]:
    """Every pair, in plain numbers."""
    return {
        label: [
            {
                "pair": one.name,
                "shared": one.shares,
                "iou": one.iou,
                "on_whole": float(one.on_whole.mean()) if len(one.on_whole) else None,
                "on_part": float(one.on_part.mean()) if len(one.on_part) else None,
                "belongs": one.belongs,
            }
            for one in errors
        ]
        for label, errors in single.items()
    }
