"""`partwhole reproduce models`: the errors of the built-in models on every data set, measured as `match` matches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partwhole.cli.shared.console import Console, plain_memory_errors, write_json, write_text
from partwhole.cli.shared.data_options import SetName, pairs_from
from partwhole.cli.shared.options import (
    CacheOption,
    DeviceOption,
    JsonOption,
    QuietOption,
    WorkersOption,
    check_torch,
    load_model,
    open_cache,
    output_folder,
)
from partwhole.datasets.pairs import Pair, Pairs
from partwhole.experiments.matching.benchmarks import StudyDataOption, data_folder
from partwhole.matching.config import READ_OUT, ReadOut

if TYPE_CHECKING:
    from partwhole.evaluation import Calibration, Evaluation

PeopleOption = Annotated[
    Path | None,
    typer.Option("--people", metavar="FILE", help="File with the posable people; bodies_cc0.npz in --data by default."),
]
OnlyOption = Annotated[
    list[str] | None, typer.Option("--only", metavar="SET", help="Only this data set; may be repeated.")
]

ModelsOption = Annotated[
    list[str] | None, typer.Option("--model", "-m", metavar="NAME", help="Only this model; may be repeated.")
]

# each pair is searched once for all of them
READ_OUTS: tuple[ReadOut, ...] = ("spectral", "lateration", "registration")
# the models that are measured on each set
_MODELS = {
    "pfaust-m": ("any-pose", "upright", "pfaust-m"),
    "pfaust-h": ("any-pose", "upright", "pfaust-h"),
    "shrec16-cuts": ("any-pose", "upright", "shrec16-cuts"),
    "shrec16-holes": ("any-pose", "upright", "shrec16-holes"),
    "people": ("any-pose", "upright"),
    "bodies": ("any-pose", "upright"),
}
_MEASURED = tuple(dict.fromkeys(model for models in _MODELS.values() for model in models))
# of the people and bodies that `any-pose` and `upright` were not trained on
_SEED = 4242


def models(
    data: StudyDataOption = None,
    people: PeopleOption = None,
    only: OnlyOption = None,
    model: ModelsOption = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the results.")] = Path(
        "reproduce-models"
    ),
    device: DeviceOption = "cpu",
    workers: WorkersOption = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure the built-in models on PFAUST, a split of SHREC'16, held-out people and generated bodies.

    Every pair is matched as `partwhole match` does it, given only the two surfaces; with --device cuda it takes about
    ten minutes. Writes models.md and models.json after each model and data set. Data sets that are not there are left
    out, with a note.
    """
    console = Console(as_json=as_json, quiet=quiet)
    check_torch(device)
    from partwhole.matching.evaluation import Benchmark

    unknown = sorted({*(model or ())} - {*_MEASURED})
    if unknown:
        raise ValueError(f"there is no measured model {unknown[0]!r}; there are {', '.join(_MEASURED)}")
    folder = output_folder(output)
    files = {"models.md": folder / "models.md", "models.json": folder / "models.json"}
    options: dict[str, Any] = {"device": device, "cache": open_cache(cache, console), "workers": workers}
    rows: list[_Row] = []

    def summary() -> dict[str, Any]:
        return {"rows": [row.to_json() for row in rows], "notes": console.notes, "files": files}

    with plain_memory_errors(), console.stage_progress() as report:
        for name, called, pairs in _sets(data, people, only or list(_MODELS), console):
            benchmark = Benchmark(pairs, name=called, keep=True, progress=report, **options)
            for measured in _MODELS[name]:
                if model and measured not in model:
                    continue
                matcher = load_model(measured, device)
                found = benchmark.by_read_out(matcher, READ_OUTS, progress=report)
                calibrated = benchmark.calibration(matcher, progress=report)
                rows.append(_Row(name, measured, found, calibrated))
                console.note(f"{name}, {measured}: " + ", ".join(rows[-1].cells[2:]))
                table = [_HEAD, ["---"] * len(_HEAD), *(row.cells for row in rows)]
                write_text(files["models.md"], "\n".join(f"| {' | '.join(row)} |" for row in table) + "\n")
                write_json(files["models.json"], summary())
    if not rows:
        reason = console.notes[-1] if console.notes else f"{', '.join(model or ())} is not measured on them"
        raise ValueError(f"none of the data sets could be measured; {reason}")
    console.table([row.cells for row in rows], head=_HEAD, title="mean geodesic error × 100, macro (micro)")
    console.say_files(files)
    console.finish(summary())


_HEAD = [
    "data",
    "model",
    "pairs",
    *READ_OUTS,
    "median pair",
    "worst pair",
    "confidence gap",
    "carried",
]


@dataclass(frozen=True)
class _Row:
    data: str
    model: str
    by_read_out: dict[ReadOut, Evaluation]
    calibration: Calibration

    @property
    def matched(self) -> Evaluation:
        """As `match` does it."""
        return self.by_read_out[READ_OUT]

    @property
    def cells(self) -> list[str]:
        def both(found: Evaluation) -> str:
            return f"{100 * found.macro:.2f} ({100 * found.micro:.2f})"

        measured = self.matched.measures()
        return [
            self.data,
            self.model,
            str(len(self.matched.pairs)),
            *map(both, self.by_read_out.values()),
            f"{measured['median pair']:.2f}",
            f"{measured['worst pair']:.1f}",
            f"{self.calibration.gap:.2f}",
            f"{self.calibration.carried:.0%} of {self.calibration.possible:.0%}",
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "data": self.data,
            "model": self.model,
            **{read_out: found.measures() for read_out, found in self.by_read_out.items()},
            "confidence": {
                "gap": self.calibration.gap,
                "carried": self.calibration.carried,
                "possible": self.calibration.possible,
            },
            "pairs": [{"name": pair.name, "error": 100 * pair.mean} for pair in self.matched.pairs],
        }


def _sets(
    data: Path | None, people: Path | None, wanted: list[str], console: Console
) -> Iterator[tuple[str, str, list[Pair]]]:
    """Name of each set, what its pairs are called, and the pairs; a set that can't be read becomes a note."""
    unknown = [name for name in wanted if name not in _MODELS]
    if unknown:
        raise ValueError(f"there is no set {unknown[0]!r}; there are {', '.join(_MODELS)}")
    for name in wanted:
        try:
            pairs = readers(data, people)[name]()
            held = list(pairs)
        except (ValueError, FileNotFoundError) as reason:
            console.note(f"{name} is left out: {reason}")
        else:
            yield name, pairs.name, held


def _published(data: Path | None, name: SetName) -> Pairs:
    return pairs_from(data_folder(data), name, "test")


def readers(data: Path | None, people: Path | None) -> dict[str, Callable[[], Pairs]]:
    """The pairs that models are compared on, by name, each read when it is called."""
    from partwhole.datasets import People, people_pairs, retriangulated_body_pairs

    def held_out_people() -> Pairs:
        file = people or data_folder(data) / "bodies_cc0.npz"
        if not file.is_file():
            raise ValueError(f"file not found: {file}; give --people")
        sizes: dict[str, Any] = {"n_vertices": (2000, 4500), "triangulations": 6, "seed": _SEED}
        return people_pairs(People(file), 2, which=range(34, 40), **sizes)

    names: tuple[SetName, ...] = ("pfaust-m", "pfaust-h", "shrec16-cuts", "shrec16-holes")
    published: dict[str, Callable[[], Pairs]] = {name: partial(_published, data, name) for name in names}
    return {
        **published,
        "people": held_out_people,
        "bodies": lambda: retriangulated_body_pairs(6, 2, n_vertices=(1500, 3000), triangulations=2, seed=_SEED),
    }
