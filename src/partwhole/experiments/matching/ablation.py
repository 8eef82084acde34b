"""`partwhole reproduce ablation`: networks trained with each mask and criterion, with the same seeds."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import typer

from partwhole.cli.shared.config_options import chosen_config
from partwhole.cli.shared.console import Console
from partwhole.cli.shared.options import (
    CacheOption,
    DeviceOption,
    JsonOption,
    QuietOption,
    WorkersOption,
    check_torch,
)
from partwhole.experiments.matching.benchmarks import (
    ChangesOption,
    SeedsOption,
    StudyDataOption,
    data_folder,
    described,
    finish,
    official,
    parsed_seeds,
    shrec16_section,
)
from partwhole.experiments.matching.error_tables import StudySection, mean_and_deviation, measured_rows, spread
from partwhole.experiments.matching.training_runs import trained_runs
from partwhole.matching.config import PRESETS

# criterion and mask of each row, by its label
ROWS: Mapping[str, tuple[str, str]] = {
    "no mask": ("none", "soft"),
    "binary C_T": ("boundary", "binary"),
    "binary C_W": ("wormhole", "binary"),
    "binary C_L": ("same_loop", "binary"),
    "soft C_T": ("boundary", "soft"),
    "soft C_W": ("wormhole", "soft"),
    "soft C_L": ("same_loop", "soft"),
}

# the paper: its ablation, on HOLES, without refinement; of PFAUST-H it has two of the rows
PAPER: Mapping[str, Mapping[str, float]] = {
    "shrec16-holes": {
        "no mask": 11.4,
        "binary C_T": 18.8,
        "binary C_W": 15.3,
        "soft C_T": 14.7,
        "soft C_W": 10.9,
    },
    "pfaust-h": {"no mask": 7.9, "soft C_W": 6.7},
}
NO_MASK = "no mask: every pair counts, which is the loss of DirectMatchNet."
# from the best to the worst, in the paper
ORDER = ("soft C_W", "soft C_T", "binary C_W", "binary C_T")


def ablation(
    which: Annotated[
        Literal["pfaust-h", "shrec16-holes"], typer.Option("--set", help="Data set to train and test on.")
    ],
    data: StudyDataOption = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="The other settings; the paper's for the data set if not given.")
    ] = None,
    masks: Annotated[
        list[str] | None,
        typer.Option(
            "--mask", metavar="NAME", help="Only these rows, such as 'soft C_W' or soft-c_w; may be repeated."
        ),
    ] = None,
    seeds: SeedsOption = "0,1,2",
    iterations: Annotated[int, typer.Option(min=1, help="Iterations of each run, one pair each.")] = 10_000,
    changes: ChangesOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Folder for runs and results; named after the data set if not given."
        ),
    ] = None,
    device: DeviceOption = "cpu",
    workers: WorkersOption = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train with every mask: binary and soft, by each of the three criteria, and without one (DirectMatchNet).

    Prints the errors beside the paper's, and states whether the paper's order is confirmed and whether the same-loop
    criterion does better. 21 runs with three seeds. Resumable, like `reproduce pfaust`.
    """
    console = Console(as_json=as_json, quiet=quiet)
    check_torch(device)
    root = data_folder(data)
    base = preset or which
    if base not in PRESETS or not (base == which or base.startswith(f"{which}-")):
        known = [name for name in PRESETS if name == which or name.startswith(f"{which}-")]
        raise ValueError(f"--preset {base} is not for {which}; there are {', '.join(known)}")
    from partwhole.experiments.matching.study import Series

    config = chosen_config(base, changes or (), iterations=iterations)
    series = [
        Series(
            name=_folder_name(label),
            label=label,
            config=config.with_changes(criterion=criterion, mask=mask),
            trained_on=which,
            tested_on=(which,),
        )
        for label, (criterion, mask) in chosen_rows(masks).items()
    ]
    folder = output or Path(f"reproduce-ablation-{which}")
    runs, failed = trained_runs(
        series, parsed_seeds(seeds), root, folder, console, device=device, cache=cache, workers=workers
    )
    errors = {
        row.label.removesuffix(", spectral"): row.values("micro")
        for row in measured_rows(runs, which)
        if row.protocol.weights == "final" and row.protocol.read_out == "spectral"
    }
    said = verdict(errors)
    finish([_section(which, (NO_MASK, described(base, config), *said))], runs, failed, folder, console, verdict=said)


def chosen_rows(masks: Sequence[str] | None) -> dict[str, tuple[str, str]]:
    """The rows with these names, in the order of the table; all if none is given.

    >>> chosen_rows(["soft-c_l", "no mask"])
    {'no mask': ('none', 'soft'), 'soft C_L': ('same_loop', 'soft')}
    """
    known = {_folder_name(label): label for label in ROWS}
    wanted = {_folder_name(mask): mask for mask in masks or ROWS}
    for name in wanted.keys() - known:
        near = difflib.get_close_matches(name, known, n=1)
        meant = f"did you mean {known[near[0]]!r}? " if near else ""
        raise ValueError(f"--mask {wanted[name]}: there is no such row; {meant}there are {', '.join(ROWS)}")
    return {label: ROWS[label] for name, label in known.items() if name in wanted}


def _folder_name(label: str) -> str:
    return label.strip().replace(" ", "-").lower()


def _section(which: str, remarks: tuple[str, ...]) -> StudySection:
    beside = {f"{label}, paper": {"micro": error} for label, error in PAPER[which].items()}
    if which == "pfaust-h":
        return StudySection(key=which, published=beside, remarks=remarks)
    return shrec16_section(which, official(beside)).with_remarks(remarks)


def verdict(errors: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
    """Sentences: is the paper's order confirmed, is a mask better than none, and does C_L do better?

    Parameters
    ----------
    errors : of each row, one for each seed

    Examples
    --------
    >>> lines = verdict({"soft C_W": [5.0, 5.2], "no mask": [6.0, 6.2], "soft C_L": [5.1, 5.2]})
    >>> print(lines[1], lines[3], sep="\\n")
    soft C_W against no mask: 5.10 ± 0.14 against 6.10 ± 0.14, better by 1.00
    soft C_L against soft C_W: 5.15 ± 0.07 against 5.10 ± 0.14, no difference seen
    """
    steps = {pair: _compared(errors, *pair) for pair in pairwise(ORDER)}
    lines = [
        "Compared by micro error of the final weights, spectral read-out; a difference counts if it is larger than both "
        "standard deviations over seeds.",
        _sentence(errors, "soft C_W", "no mask"),
        *(_sentence(errors, *pair) for pair, outcome in steps.items() if outcome != "unknown"),
    ]
    lines.append(_about_order(list(steps.values())))
    of_loops = {mask: _compared(errors, f"{mask} C_L", f"{mask} C_W") for mask in ("soft", "binary")}
    lines += [
        _sentence(errors, f"{mask} C_L", f"{mask} C_W") for mask, outcome in of_loops.items() if outcome != "unknown"
    ]
    lines.append(_about_loops(of_loops))
    return tuple(lines)


Outcome = Literal["better", "worse", "no difference seen", "unknown"]


def _compared(errors: Mapping[str, Sequence[float]], one: str, other: str) -> Outcome:
    """The first compared with the second; unknown unless both have at least two seeds."""
    if min(len(errors.get(one, ())), len(errors.get(other, ()))) < 2:
        return "unknown"
    (mean, deviation), (mean_of_other, deviation_of_other) = map(mean_and_deviation, (errors[one], errors[other]))
    if abs(mean - mean_of_other) <= max(deviation, deviation_of_other):
        return "no difference seen"
    return "better" if mean < mean_of_other else "worse"


def _sentence(errors: Mapping[str, Sequence[float]], one: str, other: str) -> str:
    outcome = _compared(errors, one, other)
    if outcome == "unknown":
        return f"{one} against {other}: unknown, at least two seeds of both are needed"
    by = abs(mean_and_deviation(errors[one])[0] - mean_and_deviation(errors[other])[0])
    said = outcome if outcome == "no difference seen" else f"{outcome} by {by:.2f}"
    return f"{one} against {other}: {spread(errors[one])} against {spread(errors[other])}, {said}"


def _about_order(steps: Sequence[Outcome]) -> str:
    order = f"The paper's order ({', '.join(ORDER)}, from the best to the worst)"
    counts = {outcome: steps.count(outcome) for outcome in ("better", "worse", "unknown")}
    if counts["unknown"]:
        return f"{order}: unknown, at least two seeds of each are needed."
    if counts["worse"]:
        return f"{order} is contradicted: {counts['worse']} of its {len(steps)} steps are reversed."
    if counts["better"] == len(steps):
        return f"{order} is confirmed."
    unseen = len(steps) - counts["better"]
    return f"{order} is neither confirmed nor contradicted: no difference seen in {unseen} of its {len(steps)} steps."


def _about_loops(outcomes: Mapping[str, Outcome]) -> str:
    if "unknown" in outcomes.values():
        return "Whether C_L does better than C_W: unknown, at least two seeds of each are needed."
    words = {"better": "does better than", "worse": "does worse than", "no difference seen": "no difference seen to"}
    soft, binary = outcomes["soft"], outcomes["binary"]
    if soft == binary == "no difference seen":
        return "C_L beside C_W: no difference seen, with soft masks or binary ones."
    return f"C_L beside C_W: soft, C_L {words[soft]} C_W; binary, C_L {words[binary]} C_W."
