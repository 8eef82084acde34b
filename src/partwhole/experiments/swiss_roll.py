"""`partwhole reproduce swiss-roll`: embeddings of the Swiss roll by every method that the paper shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import numpy as np
import typer

from partwhole.cli.shared.console import Console, write_json, write_text
from partwhole.cli.shared.options import FalloffOption, JsonOption, MapMethod, QuietOption, output_folder
from partwhole.datasets.shapes.swiss_roll import Variant
from partwhole.experiments.swiss_roll_runs import Result, Roll, StoredResults, run_all
from partwhole.store.storage import atomic_write

WRITES = ("results.jsonl", "maps/*", "table.md", "summary.json", "grid-noise-*.png")
HEAD = ("method", "similarity", "affine", "stress", "guaranteed", "seconds", "runs")
LEGEND = (
    "similarity, affine: root mean square distance from the true flat coordinates after the best such fit, relative to "
    "the size of the sheet; mean ± standard deviation over seeds.",
    "* normalises its axes: the affine error is the one to look at.",
    "stress: √(Σ (s r − d)² / Σ d²) at the best scale s, r on the map and d as measured along the surface, holes and all; "
    "guaranteed: the same over the pairs that the wormhole criterion guarantees.",
    "seconds: median over seeds, with measuring the distances where they are used; runs: maps made, of all.",
)
_QUICK: tuple[MapMethod, ...] = ("pca", "isomap", "mds", "tcie", "whcie")


SamplesOption = Annotated[
    int | None, typer.Option(min=100, help="Points of the whole roll.  [default: 2000; 1000 with --quick]")
]
SeedsOption = Annotated[
    int | None, typer.Option(min=1, help="Number of samples of each kind.  [default: 5; 1 with --quick]")
]
ShapeOption = Annotated[
    list[str] | None,
    typer.Option(metavar="[whole|hole|cut]", help="Only these; may be repeated.  [default: all; hole with --quick]"),
]
NoiseOption = Annotated[
    list[float] | None,
    typer.Option(help="Standard deviation of the noise; may be repeated.  [default: 0 and 0.2; 0 with --quick]"),
]
MethodsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        "--methods",
        metavar="[pca|isomap|…|tcie|whcie]",
        help="Only these; may be repeated.  [default: all; five with --quick]",
    ),
]
NeighborsOption = Annotated[
    int | None,
    typer.Option(min=6, help="Number of neighbours, for all methods that use them.  [default: 15; 10 with --quick]"),
]


def swiss_roll(
    samples: SamplesOption = None,
    seeds: SeedsOption = None,
    shape: ShapeOption = None,
    noise: NoiseOption = None,
    method: MethodsOption = None,
    neighbors: NeighborsOption = None,
    falloff: FalloffOption = None,
    first_seed: Annotated[int, typer.Option(min=0, help="Seed of the first sample; the others follow.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="A small run that takes seconds.")] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results; an interrupted run resumes there.")
    ] = Path("swiss-roll"),
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Embed the Swiss roll, whole, with a hole and cut, by every method that the paper shows.

    Prints how far each embedding is from the true flat sheet, its stress and its time, and draws those of the first seed:
    grid-noise-*.png. Writes table.md, summary.json and results.jsonl, which has a line for each embedding. Takes about
    twenty minutes on two cores, most of it for t-SNE and UMAP, which is left out if it isn't installed.
    """
    console = Console(as_json=as_json, quiet=quiet)
    shapes: tuple[Variant, ...] = _chosen("--shape", shape, get_args(Variant), ("hole",) if quick else None)
    methods: tuple[MapMethod, ...] = _chosen("--method", method, get_args(MapMethod), _QUICK if quick else None)
    noises = _checked_noises(noise or ((0.0,) if quick else (0.0, 0.2)))
    n, n_seeds = samples or (1000 if quick else 2000), seeds or (1 if quick else 5)
    k = neighbors or (10 if quick else 15)
    all_seeds = range(first_seed, first_seed + n_seeds)
    rolls = [Roll(kind, sigma, seed, n, k, falloff) for seed in all_seeds for kind in shapes for sigma in noises]
    folder = output_folder(output)
    stored = StoredResults(folder)
    results = _results(rolls, methods, stored, first_seed, console)
    kinds = [(kind, sigma) for kind in shapes for sigma in noises]
    tables = [_table(kind, sigma, methods, results) for kind, sigma in kinds]
    for title, rows in tables:
        console.table(rows, head=HEAD, title=title)
    for line in LEGEND:
        console.say(line)
    files = {"table": folder / "table.md", "summary": folder / "summary.json", "results": stored.path}
    write_text(files["table"], _markdown(tables))
    for sigma in noises:
        name = f"grid-noise-{sigma:g}"
        files[name] = folder / f"{name}.png"
        _draw(files[name], shapes, sigma, methods, [r for r in rolls if r.seed == first_seed], stored)
    summary = {
        "samples": n,
        "seeds": list(all_seeds),
        "neighbors": k,
        "falloff": falloff,
        "maps": [_plain(name, kind, sigma, results) for kind, sigma in kinds for name in methods],
        "notes": console.notes,
        "files": files,
    }
    write_json(files["summary"], summary)
    console.say_files(files)
    console.finish(summary)


def _checked_noises(given: Sequence[float]) -> tuple[float, ...]:
    if not all(0 <= sigma < math.inf for sigma in given):
        raise ValueError(f"--noise must be finite and at least 0, got {', '.join(f'{sigma:g}' for sigma in given)}")
    return tuple(dict.fromkeys(given))


def _results(
    rolls: Sequence[Roll], methods: Sequence[MapMethod], stored: StoredResults, first_seed: int, console: Console
) -> list[Result]:
    """All embeddings, stored ones included; notes name those that failed."""
    reused = sum(stored.get(roll, name) is not None for roll in rolls for name in methods)
    if reused:
        console.note(f"{reused} of {len(rolls) * len(methods)} maps were made before and are read from {stored.path}")
    with console.progress("maps") as progress:
        results = run_all(rolls, methods, stored, keep_maps_of=first_seed, progress=progress)
    for line in _failures(results):
        console.note(line)
    return results


def _table(
    shape: Variant, noise: float, methods: Sequence[MapMethod], results: Sequence[Result]
) -> tuple[str, list[tuple[str, ...]]]:
    """Title and rows for one kind of roll."""
    own = [result for result in results if (result.roll.shape, result.roll.noise) == (shape, noise)]
    n_seeds = len({result.roll.seed for result in own})
    samples = own[0].roll.samples
    title = f"Swiss roll, {_described(shape)}, noise {noise:g}; {samples} samples, {n_seeds} seed{'s' * (n_seeds > 1)}"
    return title, [_row(name, own) for name in methods]


def _chosen(option: str, given: list[str] | None, choices: tuple[Any, ...], default: Any) -> tuple[Any, ...]:
    """The given ones among the choices, in the order of the choices; typer has no options for lists of a `Literal`."""
    wrong = [word for word in given or () if word not in choices]
    if wrong:
        raise ValueError(f"{option} must be one of {', '.join(choices)}, got {wrong[0]}")
    wanted = given or default or choices
    return tuple(choice for choice in choices if choice in wanted)


def _described(shape: Variant) -> str:
    return {"whole": "whole", "hole": "with a hole", "cut": "cut"}[shape]


def _label(name: str) -> str:
    from partwhole.embedding.methods.comparison import named

    method = named(name)
    return method.label + ("" if method.keeps_scale else " *")


def _numbers(results: Sequence[Result], what: str) -> list[float]:
    return [result.quality[what] for result in results if result.quality is not None]


def _row(name: str, results: Sequence[Result]) -> tuple[str, ...]:
    own = [result for result in results if result.method == name]
    made = [result for result in own if result.quality is not None]
    if not made:
        why = "skipped" if own[0].skipped else "failed"
        return (_label(name), why, *[""] * (len(HEAD) - 3), f"0/{len(own)}")
    errors = [_mean_and_deviation(_numbers(made, what)) for what in ("similarity", "affine")]
    stresses = [f"{np.mean(_numbers(made, what)):.3f}" for what in ("stress", "guaranteed_stress")]
    seconds = np.median([result.seconds for result in made])
    return (_label(name), *errors, *stresses, f"{seconds:.1f}", f"{len(made)}/{len(own)}")


def _mean_and_deviation(numbers: Sequence[float]) -> str:
    if len(numbers) == 1:
        return f"{numbers[0]:.3f}"
    return f"{np.mean(numbers):.3f} ± {np.std(numbers, ddof=1):.3f}"


def _failures(results: Sequence[Result]) -> list[str]:
    """A line for each method and reason."""
    found: dict[tuple[str, str], int] = {}
    for result in results:
        if result.error is not None:
            what = (_label(result.method).removesuffix(" *"), result.error)
            found[what] = found.get(what, 0) + 1
    return [f"{label} has no map in {count} of its runs: {error}" for (label, error), count in found.items()]


def _markdown(tables: Sequence[tuple[str, Sequence[Sequence[str]]]]) -> str:
    parts = []
    for title, rows in tables:
        lines = [HEAD, ("---", *["---:"] * (len(HEAD) - 1)), *rows]
        parts.append("\n".join([title, "", *("| " + " | ".join(line) + " |" for line in lines)]))
    return "\n\n".join([*parts, "\n\n".join(LEGEND)]) + "\n"


def _plain(name: str, shape: Variant, noise: float, results: Sequence[Result]) -> dict[str, Any]:
    own = [r for r in results if (r.method, r.roll.shape, r.roll.noise) == (name, shape, noise)]
    return {
        "method": name,
        "shape": shape,
        "noise": noise,
        **{what: _numbers(own, what) for what in ("similarity", "affine", "stress", "guaranteed_stress")},
        "seconds": [result.seconds for result in own if result.quality is not None],
        "errors": sorted({result.error for result in own if result.error is not None}),
        "warnings": sorted({note for result in own for note in result.notes}),
    }


def _draw(
    path: Path,
    shapes: Sequence[Variant],
    noise: float,
    methods: Sequence[str],
    rolls: Sequence[Roll],
    stored: StoredResults,
) -> None:
    """Draw the embeddings of the first seed, aligned to the true sheet and coloured by the position along it."""
    from partwhole.embedding.methods.comparison import named
    from partwhole.embedding.methods.comparison_figure import Panel, grid_figure
    from partwhole.embedding.methods.quality import aligned

    rows = []
    for shape in shapes:
        roll = next(roll for roll in rolls if (roll.shape, roll.noise) == (shape, noise))
        flat = roll.make().flat
        row = [Panel("the true sheet", flat, flat[:, 0])]
        for name in methods:
            result, places, title = stored.get(roll, name), stored.places(roll, name), named(name).label
            if result is None or result.quality is None or places is None:
                why = "not installed" if result is not None and result.skipped else "failed"
                row.append(Panel(title, None, note=why))
            else:
                errors = result.quality
                note = f"error {errors['similarity']:.3f}"
                if not named(name).keeps_scale:
                    note = f"error {errors['similarity']:.3f}, affine {errors['affine']:.3f}"
                row.append(Panel(title, aligned(places, flat), flat[:, 0], note))
        rows.append(row)
    title = f"Swiss roll, {rolls[0].samples} samples, noise {noise:g}"
    figure = grid_figure(rows, row_labels=[_described(shape) for shape in shapes], title=title)
    with atomic_write(path) as file:
        figure.savefig(file, format="png")
