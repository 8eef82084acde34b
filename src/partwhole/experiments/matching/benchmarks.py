"""`partwhole reproduce pfaust` and `shrec16`: the tables of the paper, trained again, beside the published errors."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from partwhole.cli.shared.config_options import chosen_config, written
from partwhole.cli.shared.console import Console, write_json
from partwhole.cli.shared.data_options import PUBLISHED_AS
from partwhole.cli.shared.options import (
    CacheOption,
    DeviceOption,
    JsonOption,
    QuietOption,
    WorkersOption,
    check_torch,
    complete_model,
    output_folder,
)
from partwhole.evaluation import published_rows
from partwhole.experiments.matching.error_tables import StudySection, present
from partwhole.experiments.matching.training_runs import given_runs, trained_runs
from partwhole.matching.config import PRESETS, TrainingConfig

if TYPE_CHECKING:
    from partwhole.experiments.matching.study import Failed, Run, Series

Steps = Literal["all", "runs", "tables"]

StudyDataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Folder of the published data set; PARTWHOLE_DATA if not given."),
]
PresetsOption = Annotated[
    str | None,
    typer.Option(metavar="NAME,NAME", help="Which settings; all presets of the data set if not given."),
]
SeedsOption = Annotated[str, typer.Option(metavar="K,K", help="Random seeds, one run for each.")]
IterationsOption = Annotated[
    int | None, typer.Option(min=1, help="Iterations of each run, one pair each; those of the preset if not given.")
]
ChangesOption = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="NAME=VALUE", help="Change a setting of all runs; may be repeated."),
]
GivenModelsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--model",
        "-m",
        metavar="PATH",
        autocompletion=complete_model,
        help="Test this model (a file, or the folder of a run) instead of training; may be repeated.",
    ),
]
MethodsOption = Annotated[
    str | None,
    typer.Option(
        metavar="all|learned|axiomatic|NAME,NAME",
        help="Compare published methods instead of presets: train those that learn, test all, print one table.",
    ),
]
AugmentationOption = Annotated[
    str | None,
    typer.Option(
        metavar="30|90|30,90", help="With --methods: train with turns of ± so many degrees; as published if not given."
    ),
]
TurnPartsOption = Annotated[
    bool, typer.Option("--turn-parts", help="With --methods: a column for parts that are rotated at random, too.")
]
OwnAreaOption = Annotated[
    bool,
    typer.Option(
        "--own-area", help="With --methods: a column for parts that are scaled to the area of their wholes, too."
    ),
]
RefinedOption = Annotated[
    bool,
    typer.Option("--refined/--no-refined", help="With --methods: rows with the refinement of the paper's tables, too."),
]
MostOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="With --methods: only N test pairs, evenly through each set.")
]
ParallelOption = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="With --methods: N runs at once, each a process of its own, with its log in logs/; they share the GPU.",
    ),
]
StepsOption = Annotated[
    Steps,
    typer.Option(help="With --methods: runs trains and tests, tables prints what there is, all does both."),
]
CaptureOption = Annotated[
    bool | None,
    typer.Option("--capture/--no-capture", help="With --methods: see partwhole train."),
]
StudyOutputOption = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="DIR", help="Folder for runs and results; an interrupted study resumes there."
    ),
]

SPLIT = "a split of the contest's training shapes, not its test shapes"
OFFICIAL = "official test shapes"


def pfaust(
    data: StudyDataOption = None,
    which: Annotated[Literal["M", "H", "both"], typer.Option("--set", help="PFAUST-M, PFAUST-H or both.")] = "both",
    presets: PresetsOption = None,
    seeds: SeedsOption = "0,1,2",
    iterations: IterationsOption = None,
    changes: ChangesOption = None,
    models: GivenModelsOption = None,
    methods: MethodsOption = None,
    augmentation: AugmentationOption = None,
    turn_parts: TurnPartsOption = False,
    own_area: OwnAreaOption = False,
    refined: RefinedOption = True,
    most: MostOption = None,
    parallel: ParallelOption = 1,
    steps: StepsOption = "all",
    capture: CaptureOption = None,
    output: StudyOutputOption = Path("reproduce-pfaust"),
    device: DeviceOption = "cpu",
    workers: WorkersOption = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train on PFAUST with the paper's settings and with ours, and print the errors beside the published ones.

    Prints every evaluation of every seed on the 40 test pairs, then a table: final weights, and, labelled so, those that were
    best on the test pairs. You can interrupt it at any moment: run the same command again to resume.
    """
    console = Console(as_json=as_json, quiet=quiet)
    sets = [f"pfaust-{level.lower()}" for level in (("M", "H") if which == "both" else (which,))]
    beside = {name: published_rows(PUBLISHED_AS[name]) for name in sets}
    sections = {name: StudySection(key=name, published=beside[name]) for name in sets}
    settings = _Settings(presets, seeds, iterations, changes)
    switches = {"": True, "-turned": turn_parts, "-own-area": own_area}
    asked = _Asked(methods, augmentation, switches, refined, most, parallel, steps, capture)
    machine = {"device": device, "cache": cache, "workers": workers}
    tested_on = {name: (name,) for name in sets}
    if asked.wanted(settings, models):
        asked.compare("pfaust", tested_on, sections, settings, data, output, console, machine)
    else:
        _reproduce(sections, tested_on, data, settings, models, output, console, machine)


def shrec16(
    data: StudyDataOption = None,
    which: Annotated[
        Literal["cuts", "holes", "both"], typer.Option("--set", help="What to train on; tests are on both.")
    ] = "both",
    presets: PresetsOption = None,
    seeds: SeedsOption = "0,1,2",
    iterations: IterationsOption = None,
    changes: ChangesOption = None,
    models: GivenModelsOption = None,
    methods: MethodsOption = None,
    augmentation: AugmentationOption = None,
    turn_parts: TurnPartsOption = False,
    own_area: OwnAreaOption = False,
    refined: RefinedOption = True,
    most: MostOption = None,
    parallel: ParallelOption = 1,
    steps: StepsOption = "all",
    capture: CaptureOption = None,
    output: StudyOutputOption = Path("reproduce-shrec16"),
    device: DeviceOption = "cpu",
    workers: WorkersOption = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train on SHREC'16 CUTS and HOLES and test each on both, on a split of the training shapes.

    Of each class CUTS 1 to 9 and HOLES 1 to 6 are for training, CUTS 10 to 12 and HOLES 7 and 8 for tests. The published
    errors beside are on the contest's test shapes, another test set. Resumable, like `reproduce pfaust`.
    """
    console = Console(as_json=as_json, quiet=quiet)
    trained = [f"shrec16-{damage}" for damage in (("cuts", "holes") if which == "both" else (which,))]
    tests = ("shrec16-cuts", "shrec16-holes")
    published = {name: official(published_rows(PUBLISHED_AS[name], refined=False)) for name in tests}
    sections = {name: shrec16_section(name, published[name]) for name in tests}
    settings = _Settings(presets, seeds, iterations, changes)
    switches = {"": True, "-turned": turn_parts, "-own-area": own_area}
    asked = _Asked(methods, augmentation, switches, refined, most, parallel, steps, capture)
    machine = {"device": device, "cache": cache, "workers": workers}
    if asked.wanted(settings, models):
        asked.compare("shrec16", dict.fromkeys(trained, tests), sections, settings, data, output, console, machine)
    else:
        _reproduce(sections, dict.fromkeys(trained, tests), data, settings, models, output, console, machine)


def shrec16_section(name: str, published: Mapping[str, Mapping[str, float]]) -> StudySection:
    """A section whose heading states that the test pairs are not those of the contest."""
    return StudySection(
        key=name,
        published=published,
        remarks=(f"Ours: {SPLIT}. Published: the {OFFICIAL} of the contest, which are other shapes.",),
        heading=f"{PUBLISHED_AS[name]} training split, test ({SPLIT})",
    )


def official(rows: Mapping[str, Mapping[str, float]]) -> dict[str, Mapping[str, float]]:
    """The same rows, marked as measured on other shapes than ours."""
    return {f"{label} [{OFFICIAL}]": row for label, row in rows.items()}


@dataclass(frozen=True)
class _Settings:
    """What the runs are trained with, as given on the command line."""

    presets: str | None
    seeds: str
    iterations: int | None
    changes: list[str] | None

    @property
    def given(self) -> list[str]:
        """The options that were given and are of no use without training."""
        options = {"--presets": self.presets, "--iterations": self.iterations, "--with": self.changes}
        return [option for option, value in options.items() if value is not None]


@dataclass(frozen=True)
class _Asked:
    """The options of a comparison of methods."""

    methods: str | None
    augmentation: str | None
    switches: Mapping[str, bool]
    refined: bool
    most: int | None
    parallel: int
    steps: Steps
    capture: bool | None

    def wanted(self, settings: _Settings, models: list[Path] | None) -> bool:
        """Whether methods are compared, and not presets; raise ValueError for options that belong to the other."""
        given = {"--augmentation": self.augmentation is not None, "--turn-parts": self.switches["-turned"]}
        given |= {"--own-area": self.switches["-own-area"], "--no-refined": not self.refined}
        given |= {"--most": self.most is not None, "--parallel": self.parallel > 1, "--steps": self.steps != "all"}
        given |= {"--capture/--no-capture": self.capture is not None}
        if self.methods is None:
            alone = next((option for option, is_there in given.items() if is_there), None)
            if alone:
                raise ValueError(f"{alone} is for a comparison of methods; add --methods, such as --methods all")
            return False
        if settings.presets is not None or models:
            other = "--presets" if settings.presets is not None else "--model"
            raise ValueError(
                f"{other} does not go with --methods, which have their own settings; leave one of them out"
            )
        return True

    def compare(
        self,
        command: str,
        tested_on: Mapping[str, tuple[str, ...]],
        sections: Mapping[str, StudySection],
        settings: _Settings,
        data: Path | None,
        output: Path,
        console: Console,
        machine: dict[str, Any],
    ) -> None:
        """See `compare_methods`."""
        from partwhole.experiments.matching.all_methods import MethodChoices, compare_methods, parsed_turns

        check_torch(machine["device"])
        choices = MethodChoices(
            methods=str(self.methods),
            seeds=parsed_seeds(settings.seeds),
            iterations=settings.iterations,
            changes=settings.changes or (),
            augmentation=parsed_turns(self.augmentation),
            conditions=tuple(name for name, is_on in self.switches.items() if is_on),
            most=self.most,
            refined=self.refined,
            parallel=self.parallel,
            steps=self.steps,
            capture=self.capture,
        )
        headings = {name: section.heading for name, section in sections.items()}
        compare_methods(command, choices, tested_on, data_folder(data), output, headings, console, **machine)


def _reproduce(
    sections: Mapping[str, StudySection],
    tested_on: Mapping[str, tuple[str, ...]],
    data: Path | None,
    settings: _Settings,
    models: list[Path] | None,
    output: Path,
    console: Console,
    machine: dict[str, Any],
) -> None:
    """Train on each data set in `tested_on`, or test the given models, and print and write the sections."""
    check_torch(machine["device"])
    root = data_folder(data)
    failed: list[Failed] = []
    series: list[Series] = []
    if models:
        if settings.given:
            raise ValueError(f"{settings.given[0]} is for training, and --model trains nothing; leave one of them out")
        tests = list(dict.fromkeys(test for tests in tested_on.values() for test in tests))
        runs = given_runs(models, root, tests, output, console, **machine)
    else:
        series = preset_series(tested_on, settings.presets, settings.changes or (), settings.iterations)
        runs, failed = trained_runs(series, parsed_seeds(settings.seeds), root, output, console, **machine)
    shown = [
        section.with_remarks([described(s.name, s.config) for s in series if section.key in s.tested_on])
        for section in sections.values()
    ]
    finish(shown, runs, failed, output, console)


def preset_series(
    tested_on: Mapping[str, tuple[str, ...]], presets: str | None, changes: Sequence[str], iterations: int | None
) -> list[Series]:
    """A series for each preset of each data set, by their names; only the named presets if some are."""
    from partwhole.experiments.matching.study import Series

    of_sets = {name: next((s for s in tested_on if name == s or name.startswith(f"{s}-")), None) for name in PRESETS}
    known = [name for name, of in of_sets.items() if of is not None]
    chosen = known if presets is None else [name.strip() for name in presets.split(",") if name.strip()]
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        raise ValueError(
            f"--presets {presets}: there is no preset {unknown[0] if unknown else ''!r} for {' or '.join(tested_on)}; "
            f"there are {', '.join(known)}"
        )
    made = []
    for name in dict.fromkeys(chosen):
        of = of_sets[name]
        assert of is not None
        crossed = len(tested_on[of]) > 1
        made.append(
            Series(
                name=name,
                label=f"{name}, trained on {of.rpartition('-')[2].upper()}" if crossed else name,
                config=chosen_config(name, changes, iterations=iterations),
                trained_on=of,
                tested_on=tested_on[of],
            )
        )
    return made


def described(name: str, config: TrainingConfig) -> str:
    """What a preset is, and how it was changed.

    >>> described("pfaust-m", PRESETS["pfaust-m"].with_changes(iterations=500))
    "pfaust-m: the paper's settings, here with iterations=500"
    """
    paper = max((base for base in _PAPER if name == base or name.startswith(f"{base}-")), key=len)
    own = PRESETS[name]
    what = "the paper's settings" if name == paper else f"our settings: {paper} with {differences(PRESETS[paper], own)}"
    changed = differences(own, config)
    return f"{name}: {what}{f', here with {changed}' if changed else ''}"


_PAPER = ("pfaust-m", "pfaust-h", "shrec16-cuts", "shrec16-holes")


def differences(before: TrainingConfig, after: TrainingConfig) -> str:
    """The settings that differ, except the seed, with their values in `after`."""
    old = before.choices
    return ", ".join(
        f"{name}={written(value)}" for name, value in after.choices.items() if name != "seed" and value != old[name]
    )


def parsed_seeds(text: str) -> tuple[int, ...]:
    """The seeds of `--seeds`.

    >>> parsed_seeds("0, 1,2")
    (0, 1, 2)
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words or not all(word.isdecimal() for word in words) or len(set(map(int, words))) < len(words):
        raise ValueError(f"--seeds takes different whole numbers separated by commas, such as 0,1,2, got {text!r}")
    return tuple(map(int, words))


def data_folder(data: Path | None) -> Path:
    """The given folder, or that of PARTWHOLE_DATA."""
    named = os.environ.get("PARTWHOLE_DATA")
    if data is None and not named:
        raise ValueError("--data is missing, and PARTWHOLE_DATA is not set: the folder of the published data set")
    return data or Path(str(named))


def finish(
    sections: Sequence[StudySection],
    runs: Sequence[Run],
    failed: Sequence[Failed],
    output: Path,
    console: Console,
    **more: Any,
) -> None:
    """Print and write everything; exit code 1 if some runs failed, since the tables lack them."""
    folder = output_folder(output)
    found = present(sections, runs, folder, console)
    lost = [{"series": f.planned.series.name, "seed": f.planned.seed, "reason": f.reason} for f in failed]
    done = [
        {"series": run.series.name, "seed": run.seed, "seconds": run.seconds, "trained": run.trained} for run in runs
    ]
    files = {"summary": folder / "summary.json"}
    summary = {
        "sets": found,
        **more,
        "runs": done,
        "failed": lost,
        "notes": console.notes,
        "complete": not lost,
        "files": files,
    }
    write_json(files["summary"], summary)
    console.say(f"wrote {files['summary']}")
    console.finish(summary)
    if failed:
        console.say(f"{len(failed)} runs failed and are not in the tables; run the same command again to repeat them")
        raise typer.Exit(1)
