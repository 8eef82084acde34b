"""`partwhole demo`: a generated body with holes: which distances can be trusted, and where the rest belongs on the body."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from partwhole.cli.shared.console import Console, write_json, write_text
from partwhole.cli.shared.criteria import (
    NAMES,
    SYMBOLS,
    all_criteria,
    draw_trust,
    example_vertex,
    guarantee,
    percent,
    true_distances,
)
from partwhole.cli.shared.match_output import WRITES as MATCH_WRITES
from partwhole.cli.shared.match_output import summary_of, write_map, write_pictures, write_summary
from partwhole.cli.shared.options import (
    DistanceMethod,
    JsonOption,
    MethodOption,
    ModelOption,
    QuietOption,
    SeedOption,
    below,
    check_folder,
    load_model,
    model_file,
    output_folder,
)
from partwhole.store.arguments import how_to_install

if TYPE_CHECKING:
    from partwhole.criterion.study import ConsistencyRow
    from partwhole.datasets.cutting.cuts import Cut
    from partwhole.datasets.shapes.bodies import Body
    from partwhole.mesh import Mesh

WRITES = (
    *("trust.png", "shares.png", "part.ply", "whole.ply", "summary.md", "summary.json"),
    *below("match", MATCH_WRITES),
)
_TOLERANCE = {"dijkstra": 1e-6, "exact": 1e-6, "fast_marching": 1e-2}
# a vertex with a larger error, relative to the square root of the whole's area, counts as wrong
_WRONG = 0.15
_HEAD = ("criterion", "guaranteed", "of the consistent", "guaranteed, not consistent")

Plan = Literal[
    "biped", "quadruped", "hand", "animal", "centaur", "gorilla", "bird", "fish", "snake", "insect", "monster"
]


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the results; created if missing.")
    ] = Path("demo-out"),
    vertices: Annotated[int, typer.Option(min=500, max=20_000, help="Vertices of the whole body.")] = 2500,
    plan: Annotated[Plan, typer.Option(help="Which kind of body to generate.")] = "quadruped",
    method: MethodOption = "dijkstra",
    match: Annotated[
        bool, typer.Option("--match/--no-match", help="Match the part to the body in another pose.")
    ] = True,
    model: ModelOption = "default",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Generate a body, cut holes into it, show which distances can be trusted, and match the part to its whole.

    Nothing is downloaded. The whole is known here, so the guarantees and the map are compared with the truth. Writes
    figures, a summary and the meshes.
    """
    from partwhole.criterion.study import consistency
    from partwhole.mesh.io import write_mesh

    console = Console(as_json=as_json, quiet=quiet)
    reason = _why_no_match(model) if match else None
    check_folder(output, WRITES, [model_file(model)] if match and reason is None else [])
    folder = output_folder(output)
    start = time.perf_counter()
    body = _body(plan, vertices, seed)
    cut = _with_holes(body, seed)
    on_part, on_whole = _distances(cut, method, console)
    trust = all_criteria(cut.part, on_part)
    tolerance = _TOLERANCE[method]
    row = consistency(cut.part, on_part, on_whole, tolerances=[tolerance]).rows[0]
    drawn = example_vertex(trust.criteria)

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
        **_sizes(cut),
        "tolerance": tolerance,
        "pairs": row.n_pairs,
        **_findings(row),
        "what_holds": guarantee(method, False),
        "drawn_vertex": drawn,
        "match": None,
        "files": files | meshes,
    }
    if reason is not None:
        console.note(reason)
    elif match:
        summary["match"] = _match(cut, body.rest, model, folder / "match", console)
    summary["seconds"] = time.perf_counter() - start
    write_text(files["summary.md"], _markdown(summary))
    write_json(files["summary.json"], summary)
    _print_summary(console, summary)
    console.finish(summary)


def _body(plan: Plan, vertices: int, seed: int) -> Body:
    from partwhole.datasets.shapes.bodies import make_body

    return make_body(plan, n_vertices=vertices, seed=seed)


def _with_holes(body: Body, seed: int) -> Cut:
    from partwhole.datasets.cutting.cuts import random_cuts

    return random_cuts(body.pose(seed), "pfaust-h", seed=seed)


def _distances(cut: Cut, method: DistanceMethod, console: Console) -> tuple[Any, Any]:
    """Between the vertices of the part, on the part and on the whole."""
    from partwhole.geodesics import geodesic_distances

    with console.progress("distances on the part") as progress:
        on_part = geodesic_distances(cut.part, method=method, progress=progress)
    with console.progress("distances on the whole") as progress:
        on_whole = true_distances(cut, method=method, progress=progress)
    return on_part, on_whole


def _sizes(cut: Cut) -> dict[str, Any]:
    return {
        "whole_vertices": cut.whole.n_vertices,
        "part_vertices": cut.part.n_vertices,
        "area_left": cut.area_share,
        "boundary_loops": len(cut.part.boundary_loops),
    }


def _findings(row: ConsistencyRow) -> dict[str, Any]:
    return {
        "consistent": row.consistent,
        "guaranteed": {g.kind: g.n_guaranteed / row.n_pairs for g in row.criteria},
        "found_of_consistent": {g.kind: row.found(g.kind) for g in row.criteria},
        "guaranteed_not_consistent": {g.kind: g.n_false for g in row.criteria},
    }


def _why_no_match(model: str) -> str | None:
    """Why the part can't be matched here, with the remedy; None if it can. A model other than the default must exist."""
    if model != "default":
        model_file(model)
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        return f"no match is computed, since networks need torch: {how_to_install('torch')}"
    from partwhole.matching.network.weights import DEFAULT, model_names

    if model == "default" and DEFAULT not in model_names():
        return "no match is computed, since this installation has no built-in model; give one with --model"
    return None


def _match(cut: Cut, pose: Mesh, model: str, folder: Path, console: Console) -> dict[str, Any]:
    """Match the part to its whole in another pose, and return the summary, with the errors.

    Parameters
    ----------
    cut : the part, and the pose of the whole that it was cut from
    pose : another pose of the same whole, with the same vertices
    model : see `model_file`
    folder : for what `partwhole match` writes
    console : for progress
    """
    from partwhole.datasets.pairs import GroundTruth
    from partwhole.evaluation import geodesic_errors
    from partwhole.geodesics import geodesic_distances
    from partwhole.matching.session import match

    with console.stage_progress() as report:
        found = match(cut.part, pose, model=load_model(model, "cpu"), progress=report)
    truth = GroundTruth.of_map(cut.vertex_map)
    errors = geodesic_errors(found.vertex_map, truth, geodesic_distances(pose), area=pose.area)
    sure = ~found.doubtful
    files = write_map(output_folder(folder), found) | write_pictures(folder, found)
    files |= {"summary.md": folder / "summary.md", "summary.json": folder / "summary.json"}
    summary = {
        **summary_of(found),
        "part": cut.part.name,
        "whole": pose.name,
        "error": 100 * float(errors.mean()),
        "error_where_sure": 100 * float(errors[sure].mean()) if sure.any() else None,
        "wrong": float((errors > _WRONG).mean()),
        "files": files,
    }
    write_summary(folder, summary)
    return summary


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
            percent(guaranteed),
            percent(summary["found_of_consistent"][kind]),
            str(summary["guaranteed_not_consistent"][kind]),
        )
        for kind, guaranteed in summary["guaranteed"].items()
    ]


def _trust_sentences(summary: dict[str, Any]) -> tuple[str, str]:
    return (
        f"A {summary['plan']} of {summary['whole_vertices']} vertices lost pieces: {percent(summary['area_left'])} of "
        f"its area is left, {summary['part_vertices']} vertices with {summary['boundary_loops']} boundary loops.",
        f"{percent(summary['consistent'])} of all pairs of vertices are consistent: their distance on the part is that "
        f"on the whole, to a relative difference of {summary['tolerance']:g}.",
    )


def _match_sentences(summary: dict[str, Any]) -> list[str]:
    """The errors of the match, in words."""
    said = [
        f"Matched to its whole in another pose by the model {summary['model']!r}, the part's vertices have an error "
        f"of {summary['error']:.1f} % of the square root of the whole's area on average; for "
        f"{100 * summary['wrong']:.0f} % of them it is more than {100 * _WRONG:.0f} %."
    ]
    if summary["doubtful"] and summary["error_where_sure"] is not None:
        said.append(
            f"{100 * summary['doubtful']:.0f} % of the area is marked doubtful; the error of the rest is "
            f"{summary['error_where_sure']:.1f} %."
        )
    return said + [f"Warning: {text}" for text in summary["warnings"]]


def _markdown(summary: dict[str, Any]) -> str:
    first, second = _trust_sentences(summary)
    lines = ["# Which distances can be trusted", "", first, second, ""]
    lines += ["| " + " | ".join(line) + " |" for line in (_HEAD, ("---",) * 4, *_table(summary))]
    lines += ["", f"Distances: {summary['method'].replace('_', ' ')}; {summary['what_holds']}.", ""]
    lines += [f"![The region guaranteed with vertex {summary['drawn_vertex']}, by each criterion](trust.png)", ""]
    lines += ["![Shares of all pairs](shares.png)", ""]
    if summary["match"]:
        lines += ["## Where the part belongs", "", *(f"{text}\n" for text in _match_sentences(summary["match"]))]
        lines += ["![Part and whole: corresponding points have the same colour](match/map.png)", ""]
        lines += ["![Confidence](match/confidence.png)", ""]
    return "\n".join(lines)


def _print_summary(console: Console, summary: dict[str, Any]) -> None:
    for sentence in _trust_sentences(summary):
        console.say(sentence)
    console.table(_table(summary), head=_HEAD)
    console.say(summary["what_holds"])
    found = summary["match"]
    if found:
        for sentence in _match_sentences(found):
            console.say(sentence)
    console.say_files(summary["files"])
    if found:
        console.say(f"wrote {found['files']['map.png'].parent}: the map")
    meshes = summary["files"]
    console.say(f"try: partwhole mask {meshes['part.ply']} --whole {meshes['whole.ply']} --up y")
    if found:
        console.say(f"try: partwhole view {found['files']['map.png'].parent}")
