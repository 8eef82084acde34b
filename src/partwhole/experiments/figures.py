"""`partwhole reproduce figures`: the figures of the paper, drawn again with the data and models that are available."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from partwhole.cli.shared.console import Console, write_json
from partwhole.cli.shared.criteria import SYMBOLS, all_criteria, draw_trust, example_vertex, true_distances
from partwhole.cli.shared.data_options import SetName, data_files, pairs_from
from partwhole.cli.shared.options import (
    CacheOption,
    DeviceOption,
    JsonOption,
    QuietOption,
    WorkersOption,
    below,
    check_folder,
    check_torch,
    complete_model,
    load_models,
    model_file,
    open_cache,
    output_folder,
)
from partwhole.experiments.swiss_roll import WRITES as SWISS_ROLL
from partwhole.experiments.swiss_roll import swiss_roll

if TYPE_CHECKING:
    from partwhole.datasets.cutting.cuts import Cut
    from partwhole.datasets.pairs import Pair
    from partwhole.matching.matcher import Matcher

WRITES = (
    *("regions.png", "soft-masks.png", "shares.png", "maps-*.png", "curves-*.png", "summary.json"),
    *below("swiss-roll", SWISS_ROLL),
)
What = Literal["regions", "shares", "swiss-roll", "maps"]
_SETS: tuple[SetName, ...] = ("pfaust-m", "pfaust-h", "shrec16-cuts", "shrec16-holes")
# number of parts for the shares of pairs, and of pairs in a grid of maps
_PARTS, _ROWS = 3, 3


def figures(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of the published data sets; PARTWHOLE_DATA if not given, generated bodies without either.",
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME|PATH",
            autocompletion=complete_model,
            help="Model whose maps are drawn; may be repeated.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="[regions|shares|swiss-roll|maps]", help="Only these; may be repeated."),
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Test pairs of each data set for the curves; all if not given.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the figures.")] = Path(
        "figures"
    ),
    device: DeviceOption = "cpu",
    workers: WorkersOption = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Draw the paper's figures: guaranteed regions, shares of pairs, the Swiss roll, grids of maps and their curves.

    Regions and shares are of parts of PFAUST if the data are there, else of generated bodies. Maps are drawn for each data
    set that is there and each given model. Every figure is a PNG; no display is needed.
    """
    console = Console(as_json=as_json, quiet=quiet)
    wanted = _wanted(only)
    if models and "maps" not in wanted:
        raise ValueError("--model is for maps, which --only leaves out")
    weights = [model_file(model) for model in models or ()]
    root = data or (Path(os.environ["PARTWHOLE_DATA"]) if os.environ.get("PARTWHOLE_DATA") else None)
    if root is not None and not root.is_dir():
        raise ValueError(f"folder not found: --data {root}")
    check_folder(output, WRITES, [*weights, *data_files(root)])
    folder = output_folder(output)
    files: dict[str, Path] = {}
    if {"regions", "shares"} & set(wanted):
        files |= _distance_figures(wanted, example_cuts(root, console), folder, console)
    if "swiss-roll" in wanted:
        place = folder / "swiss-roll"
        swiss_roll(seeds=1, noise=[0.0], output=place, quiet=True)
        files["swiss-roll"] = place / "grid-noise-0.png"
    if "maps" in wanted:
        machine: dict[str, Any] = {"device": device, "cache": open_cache(cache, console), "workers": workers}
        files |= _map_figures(models or [], root, pairs, folder, console, machine)
    console.say_files(files)
    summary = {"figures": files, "notes": console.notes}
    write_json(folder / "summary.json", summary)
    console.finish(summary)


def _wanted(only: Sequence[str] | None) -> tuple[str, ...]:
    known = get_args(What)
    wrong = [word for word in only or () if word not in known]
    if wrong:
        raise ValueError(f"--only must be one of {', '.join(known)}, got {wrong[0]}")
    return tuple(word for word in known if not only or word in only)


def example_cuts(root: Path | None, console: Console) -> list[Cut]:
    """Parts with many holes, and the wholes they were cut from."""
    if root is not None:
        from partwhole.datasets import PFaust

        try:
            collection = PFaust(root, "H")
            return [collection.cut(k) for k in range(_PARTS)]
        except FileNotFoundError as missing:
            console.note(f"no PFAUST-H in {root}, so bodies are generated ({missing})")
    else:
        console.note("no data was given, so bodies are generated")
    from partwhole.datasets import make_body, random_cuts

    return [random_cuts(make_body("biped", 2500, seed=k).pose(k), "pfaust-h", seed=k) for k in range(_PARTS)]


def _distance_figures(wanted: Sequence[str], cuts: Sequence[Cut], folder: Path, console: Console) -> dict[str, Path]:
    """The regions guaranteed with one vertex, as masks and as soft masks, and the shares of all pairs."""
    from partwhole.criterion.study import consistency
    from partwhole.geodesics import geodesic_distances
    from partwhole.viewer.figures.render import GUARANTEED
    from partwhole.viewer.figures.trust_figures import shares_figure

    files: dict[str, Path] = {}
    first, *others = cuts
    with console.progress("distances") as progress:
        progress("distances", 0, len(cuts))
        on_part = geodesic_distances(first.part, method="dijkstra")
        if "regions" in wanted:
            files |= {"regions": folder / "regions.png", "soft masks": folder / "soft-masks.png"}
            trust = all_criteria(first.part, on_part)
            draw_trust(
                first.part, example_vertex(trust.criteria), trust.criteria, files["regions"], soft=files["soft masks"]
            )
        if "shares" not in wanted:
            return files
        rows = []
        for done, cut in enumerate((first, *others)):
            progress("distances", done, len(cuts))
            distances = on_part if cut is first else geodesic_distances(cut.part, method="dijkstra")
            on_whole = true_distances(cut, method="dijkstra")
            rows.append(consistency(cut.part, distances, on_whole, tolerances=[1e-6]).rows[0])
        progress("distances", len(cuts), len(cuts))
    files["shares"] = folder / "shares.png"
    kinds = [
        found.kind for found in rows[0].criteria if all(found.kind in {g.kind for g in row.criteria} for row in rows)
    ]
    bars = [(SYMBOLS[kind], sum(_share(row, kind) for row in rows) / len(rows), GUARANTEED[kind]) for kind in kinds]
    consistent = sum(row.consistent for row in rows) / len(rows)
    title = f"Pairs whose distance is guaranteed, mean of {len(rows)} parts"
    shares_figure(bars, consistent=consistent, title=title, path=files["shares"])
    return files


def _share(row: Any, kind: str) -> float:
    return next(found.n_guaranteed for found in row.criteria if found.kind == kind) / row.n_pairs


@dataclass(frozen=True)
class _Set:
    name: SetName
    title: str
    pairs: list[Pair]


def _map_figures(
    models: Sequence[str],
    root: Path | None,
    count: int | None,
    folder: Path,
    console: Console,
    machine: dict[str, Any],
) -> dict[str, Path]:
    if not models:
        console.note("no maps are drawn: give models with --model")
        return {}
    check_torch(machine["device"])
    matchers = load_models([Path(model) for model in models], machine["device"])
    sets = _sets(root, count, console)
    files: dict[str, Path] = {}
    for found in sets:
        files |= _maps_and_curves(found, matchers, folder, console, machine)
    return files


def _sets(root: Path | None, count: int | None, console: Console) -> list[_Set]:
    """The test pairs of each data set that is there, or those of generated bodies."""
    found = []
    for name in _SETS if root is not None else ():
        try:
            pairs = pairs_from(root, name, "test")
        except (FileNotFoundError, ValueError) as missing:
            console.note(f"{name} is left out: {missing}")
            continue
        found.append(_Set(name, pairs.name, [pairs[k] for k in range(min(count or len(pairs), len(pairs)))]))
    if not found:
        bodies = pairs_from(None, "bodies", "test")
        found.append(_Set("bodies", bodies.name, [bodies[k] for k in range(min(count or len(bodies), len(bodies)))]))
    return found


def _maps_and_curves(
    found: _Set, matchers: Mapping[str, Matcher], folder: Path, console: Console, machine: dict[str, Any]
) -> dict[str, Path]:
    from partwhole.evaluation import pck_plot
    from partwhole.experiments.matching.study import Examiner, Source
    from partwhole.viewer.figures.grids import map_grid

    results = {}
    with console.stage_progress() as report:
        examiner = Examiner({found.name: Source(found.title, lambda: found.pairs)}, progress=report, **machine)
        for name, matcher in matchers.items():
            results[name] = examiner.benchmark(found.name).of(matcher, progress=report)
    files = {f"maps, {found.name}": folder / f"maps-{found.name}.png"}
    files[f"curves, {found.name}"] = folder / f"curves-{found.name}.png"
    # from all over the set, the first pair among them
    step = max(1, len(found.pairs) // _ROWS)
    chosen = list(range(0, len(found.pairs), step))[:_ROWS]
    maps, notes = {}, {}
    for name, evaluation in results.items():
        rows = [evaluation.pairs[k] for k in chosen]
        maps[name] = [row.vertex_map for row in rows if row.vertex_map is not None]
        notes[name] = [f"{100 * row.mean:.1f}" for row in rows]
    map_grid([found.pairs[k] for k in chosen], maps, notes=notes, path=files[f"maps, {found.name}"])
    curves = {name: evaluation.pck() for name, evaluation in results.items()}
    pck_plot(curves, files[f"curves, {found.name}"], title=f"{found.title}, {len(found.pairs)} pairs")
    return files
