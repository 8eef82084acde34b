"""`partwhole demo`: a body with pieces missing, what its distances are worth, whether the criteria were right, and where the
rest belongs on the body in another pose.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from partwhole.cli.shared.console import Console, output_folder, to_json, write_text
from partwhole.cli.shared.criteria import (
    NAMES,
    SYMBOLS,
    all_criteria,
    draw_trust,
    share,
    telling_vertex,
    true_distances,
    what_holds,
)
from partwhole.cli.shared.demo_match import demo_match, sentences, why_not
from partwhole.cli.shared.match_output import WRITES as MATCH_WRITES
from partwhole.cli.shared.models import model_file, offered_models
from partwhole.cli.shared.options import JsonOption, MethodOption, QuietOption, SeedOption
from partwhole.cli.shared.overwriting import below, check_folder

if TYPE_CHECKING:
    from partwhole.criterion.study import ConsistencyRow
    from partwhole.datasets.cutting.cuts import Cut
    from partwhole.datasets.shapes.bodies import Body

WRITES = (
    *("trust.png", "shares.png", "part.ply", "whole.ply", "summary.md", "summary.json"),
    *below("match", MATCH_WRITES),
)
_TOLERANCE = {"dijkstra": 1e-6, "exact": 1e-6, "fast_marching": 1e-2}


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results, made if it isn't there.")
    ] = Path("demo-out"),
    vertices: Annotated[int, typer.Option(min=500, max=20_000, help="Vertices of the whole body.")] = 2500,
    plan: Annotated[Literal["biped", "quadruped", "hand"], typer.Option(help="What to make.")] = "quadruped",
    method: MethodOption = "dijkstra",
    match: Annotated[
        bool, typer.Option("--match/--no-match", help="Match the part to the body in another pose.")
    ] = True,
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="NAME|PATH", autocompletion=offered_models, help="That matches.")
    ] = "default",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make a body, cut holes into it, see which distances can be trusted, and match what is left to its whole.

    Nothing is downloaded. The whole is known here, so what the criteria promise and where the network maps are compared
    with the truth. Leaves pictures, a summary and the meshes.
    """
    from partwhole.criterion.study import consistency
    from partwhole.geodesics import geodesic_distances
    from partwhole.mesh.io import write_mesh

    console = Console(as_json=as_json, quiet=quiet)
    reason = why_not(model) if match else None
    check_folder(output, WRITES, [model_file(model)] if match and reason is None else [])
    folder = output_folder(output)
    start = time.perf_counter()
    body = _body(plan, vertices, seed)
    cut = _with_holes(body, seed)
    with console.progress("distances on the part") as progress:
        on_part = geodesic_distances(cut.part, method=method, progress=progress)
    with console.progress("distances on the whole") as progress:
        on_whole = true_distances(cut, method=method, progress=progress)
    trust = all_criteria(cut.part, on_part)
    tolerance = _TOLERANCE[method]
    row = consistency(cut.part, on_part, on_whole, tolerances=[tolerance]).rows[0]
    drawn = telling_vertex(trust.criteria)

    files = {name: folder / name for name in ("trust.png", "shares.png", "summary.md", "summary.json")}
    meshes = {name: folder / name for name in ("part.ply", "whole.ply")}
    draw_trust(cut.part, drawn, trust.criteria, files["trust.png"], up="y")
    _draw_shares(row, files["shares.png"])
    write_mesh(cut.part, meshes["part.ply"])
    write_mesh(cut.whole, meshes["whole.ply"])
    summary: dict[str, Any] = {
        "plan": plan,
        "seed": seed,
        "method": method,
        "whole_vertices": cut.whole.n_vertices,
        "part_vertices": cut.part.n_vertices,
        "area_left": cut.area_share,
        "boundary_loops": len(cut.part.boundary_loops),
        "tolerance": tolerance,
        "pairs": row.n_pairs,
        "consistent": row.consistent,
        "guaranteed": {g.kind: g.n_guaranteed / row.n_pairs for g in row.criteria},
        "found_of_consistent": {g.kind: row.found(g.kind) for g in row.criteria},
        "guaranteed_not_consistent": {g.kind: g.n_false for g in row.criteria},
        "what_holds": what_holds(method, False),
        "drawn_vertex": drawn,
        "match": None,
        "files": files | meshes,
    }
    if reason is not None:
        console.note(reason)
    elif match:
        summary["match"] = demo_match(cut, body.rest, model, folder / "match", console)
    summary["seconds"] = time.perf_counter() - start
    write_text(files["summary.md"], _markdown(summary))
    write_text(files["summary.json"], to_json(summary) + "\n")
    _tell(console, summary)
    console.finish(summary)


def _body(plan: Literal["biped", "quadruped", "hand"], vertices: int, seed: int) -> Body:
    from partwhole.datasets.shapes.bodies import make_body

    return make_body(plan, n_vertices=vertices, seed=seed)


def _with_holes(body: Body, seed: int) -> Cut:
    from partwhole.datasets.cutting.cuts import random_cuts

    return random_cuts(body.pose(seed), "pfaust-h", seed=seed)


def _draw_shares(row: ConsistencyRow, path: Path) -> None:
    from partwhole.viewer.figures.render import GUARANTEED
    from partwhole.viewer.figures.trust_figures import shares_figure

    bars = [(SYMBOLS[g.kind], g.n_guaranteed / row.n_pairs, GUARANTEED[g.kind]) for g in row.criteria]
    title = "Pairs of vertices whose distance is guaranteed"
    shares_figure(bars, consistent=row.consistent, title=title, path=path)


def _table(summary: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [
        (
            NAMES[kind],
            share(guaranteed),
            share(summary["found_of_consistent"][kind]),
            str(summary["guaranteed_not_consistent"][kind]),
        )
        for kind, guaranteed in summary["guaranteed"].items()
    ]


_HEAD = ("criterion", "guaranteed", "of the consistent", "guaranteed, not consistent")


def _sentences(summary: dict[str, Any]) -> tuple[str, str]:
    return (
        f"A {summary['plan']} of {summary['whole_vertices']} vertices lost pieces: {share(summary['area_left'])} of "
        f"its area is left, {summary['part_vertices']} vertices with {summary['boundary_loops']} boundary loops.",
        f"{share(summary['consistent'])} of all pairs of vertices are consistent: their distance on the part is that "
        f"on the whole, to a relative difference of {summary['tolerance']:g}.",
    )


def _markdown(summary: dict[str, Any]) -> str:
    first, second = _sentences(summary)
    lines = ["# Which distances can be trusted", "", first, second, ""]
    lines += ["| " + " | ".join(line) + " |" for line in (_HEAD, ("---",) * 4, *_table(summary))]
    lines += ["", f"Distances: {summary['method'].replace('_', ' ')}; {summary['what_holds']}.", ""]
    lines += [f"![The region guaranteed with vertex {summary['drawn_vertex']}, by each criterion](trust.png)", ""]
    lines += ["![Shares of all pairs](shares.png)", ""]
    if summary["match"]:
        lines += ["## Where the part belongs", "", *(f"{text}\n" for text in sentences(summary["match"]))]
        lines += ["![Part and whole, equal places in equal colours](match/map.png)", ""]
        lines += ["![How sure each place is](match/confidence.png)", ""]
    return "\n".join(lines)


def _tell(console: Console, summary: dict[str, Any]) -> None:
    for sentence in _sentences(summary):
        console.say(sentence)
    console.table(_table(summary), head=_HEAD)
    console.say(summary["what_holds"])
    found = summary["match"]
    if found:
        for sentence in sentences(found):
            console.say(sentence)
    for file in summary["files"].values():
        console.say(f"wrote {file}")
    if found:
        console.say(f"wrote {found['files']['map.png'].parent}: the map, in colours and in numbers")
    meshes = summary["files"]
    console.say(f"try: partwhole mask {meshes['part.ply']} --whole {meshes['whole.ply']} --up y")
    if found:
        console.say(f"try: partwhole view {found['files']['map.png'].parent}")
