"""`partwhole demo`: a body with pieces missing, what its distances are worth, and whether the criteria were right."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from partwhole.cli.options import JsonOption, MethodOption, QuietOption, SeedOption
from partwhole.cli.trust import NAMES, all_criteria, draw_trust, share, telling_vertex, true_distances, what_holds
from partwhole.cli.voice import Voice, output_folder, to_json, write_text

if TYPE_CHECKING:
    from partwhole.criterion.study import ConsistencyRow
    from partwhole.datasets.cutting import Cut

_TOLERANCE = {"dijkstra": 1e-6, "exact": 1e-6, "fast_marching": 1e-2}


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results, made if it isn't there.")
    ] = Path("demo-out"),
    vertices: Annotated[int, typer.Option(min=500, max=20_000, help="Vertices of the whole body.")] = 2500,
    plan: Annotated[Literal["biped", "quadruped", "hand"], typer.Option(help="What to make.")] = "quadruped",
    method: MethodOption = "dijkstra",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make a body, cut holes into it, and see which distances on what is left can be trusted.

    Nothing is downloaded. The whole is known here, so what the criteria promise is compared with the truth. Leaves
    pictures, a summary and both meshes.
    """
    from partwhole.criterion.study import consistency
    from partwhole.geodesics import geodesic_distances
    from partwhole.mesh.io import write_mesh

    voice = Voice(as_json=as_json, quiet=quiet)
    folder = output_folder(output)
    start = time.perf_counter()
    cut = _body_with_holes(plan, vertices, seed)
    with voice.progress("distances on the part") as progress:
        on_part = geodesic_distances(cut.part, method=method, progress=progress)
    with voice.progress("distances on the whole") as progress:
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
    summary = {
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
        "seconds": time.perf_counter() - start,
        "files": files | meshes,
    }
    write_text(files["summary.md"], _markdown(summary))
    write_text(files["summary.json"], to_json(summary) + "\n")
    _tell(voice, summary)
    voice.finish(summary)


def _body_with_holes(plan: Literal["biped", "quadruped", "hand"], vertices: int, seed: int) -> Cut:
    from partwhole.datasets.bodies import make_body
    from partwhole.datasets.cutting import random_cuts

    return random_cuts(make_body(plan, n_vertices=vertices, seed=seed).pose(seed), "pfaust-h", seed=seed)


def _draw_shares(row: ConsistencyRow, path: Path) -> None:
    from partwhole.viewer.colors import GUARANTEED
    from partwhole.viewer.figures import shares_figure

    symbols = {"boundary": "boundary $C_T$", "wormhole": "wormhole $C_W$", "same-loop": "same loop $C_L$"}
    bars = [(symbols[g.kind], g.n_guaranteed / row.n_pairs, GUARANTEED[g.kind]) for g in row.criteria]
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
    return "\n".join(lines)


def _tell(voice: Voice, summary: dict[str, Any]) -> None:
    for sentence in _sentences(summary):
        voice.say(sentence)
    voice.table(_table(summary), head=_HEAD)
    voice.say(summary["what_holds"])
    for file in summary["files"].values():
        voice.say(f"wrote {file}")
    meshes = summary["files"]
    voice.say(f"try: partwhole mask {meshes['part.ply']} --whole {meshes['whole.ply']} --up y")
