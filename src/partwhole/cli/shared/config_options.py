"""What a training run is asked for: the options of the command line, and the request that is kept in the run's folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from partwhole.cli.shared.console import write_json
from partwhole.cli.shared.data_options import SetName, check_recipe_words
from partwhole.cli.shared.options import REQUEST, Device, load_model, model_option
from partwhole.cli.shared.recipe_options import RecipeName
from partwhole.matching.config import PRESETS, SearchConfig, TrainingConfig, choice_types, group_of, preset

# how a trained network is used
SEARCH_CHOICES = tuple(field.name for field in fields(SearchConfig))
# weight of the maps of a teacher, unless it is given
_TEACHER_WEIGHT = 3.0


def complete_learned(incomplete: str) -> list[str]:
    from partwhole.matching.network.weights import LEARNED

    return [name for name in LEARNED if name.startswith(incomplete)]


PresetOption = Annotated[
    str | None, typer.Option(help=f"Settings to start from: {', '.join(PRESETS)}; those of the data set if not given.")
]
WithOption = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="NAME=VALUE", help="Change a setting, as in --with rotation=30; may be repeated."),
]
IterationsOption = Annotated[
    int | None, typer.Option(min=1, help="Training iterations, one pair each; those of the preset if not given.")
]
SeedOption = Annotated[int | None, typer.Option(min=0, help="Random seed; 0 if not given.")]
StartOption = Annotated[
    str | None,
    model_option(help="Start from the weights of this model; the network then has its size."),
]
TeacherOption = Annotated[
    str | None,
    model_option(help="Also learn from the maps of this model, as if they were ground truth."),
]
VerticesOption = Annotated[
    int | None,
    typer.Option(
        min=300,
        help="Decimate the surfaces first: wholes to at most this many vertices, parts in proportion to their area. "
        "With --recipe bodies, bodies have this many at most.",
    ),
]
ValidateOption = Annotated[
    bool,
    typer.Option("--validate", help="Hold out a tenth of the parts, and also keep the weights with their lowest loss."),
]
WatchTestOption = Annotated[
    bool,
    typer.Option(
        "--watch-test", help="Measure errors on the test pairs during training; weights are not selected by them."
    ),
]
RunOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Folder of the run; named after data and seed if not given."),
]
ResumeOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Resume the run in this folder, with its data and settings."),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Processes that compute eigenfunctions, or generate the pairs of a recipe; one for each core if not given.",
    ),
]
LearnedOption = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="Train a published method, with its network, loss and settings: dpfm, dpfm-holes, geomfmaps, unsupervised-dpfm, "
        "robust-fmnet, direct-match-net or direct-match-net-lpf.",
        autocompletion=complete_learned,
    ),
]
ListPresetsOption = Annotated[
    bool, typer.Option("--list-presets", help="Print the presets and all settings, and exit.")
]


@dataclass(frozen=True, kw_only=True)
class TrainRequest:
    """What to train on and how; written into the folder of the run, so that `--resume` needs nothing else.

    Attributes
    ----------
    data : folder of the data set; None for generated bodies
    set : which data set it is; None: there is none, but a recipe
    preset : that the settings started from; None: the defaults
    config : all settings
    validate : hold out a tenth of the parts
    watch_test : measure errors on the test pairs
    device : where to compute
    start, teacher : files of the weights to start from, and of the network whose maps are learned from
    vertices : wholes are decimated to at most this many; None: no decimation
    recipe : that makes the pairs; None: they are those of the data set
    assets : folder of the files it needs
    blocks : so many it makes, at most
    method : published method whose loss and network are trained; None: the loss and the network of the settings
    """

    data: str | None
    set: SetName | None
    preset: str | None
    config: TrainingConfig
    validate: bool
    watch_test: bool
    device: Device
    start: str | None = None
    teacher: str | None = None
    vertices: int | None = None
    recipe: RecipeName | None = None
    assets: str | None = None
    blocks: int | None = None
    method: str | None = None

    @property
    def label(self) -> str:
        """Name of the run: the data set, the recipe, or the folder of the user's own pairs."""
        own = Path(self.data).name if self.data and self.set == "folder" else None
        named = own or self.set or f"recipe-{self.recipe}"
        return f"{self.method}-{named}" if self.method else named

    def to_json(self) -> dict[str, Any]:
        """All fields, as JSON can hold them."""
        return {**vars(self), "config": self.config.to_json()}

    def write(self, folder: Path) -> None:
        """Write it into the folder of the run."""
        write_json(folder / REQUEST, self.to_json())

    @classmethod
    def read(cls, folder: Path) -> TrainRequest:
        """The request that the run in a folder was started with."""
        path = folder / REQUEST
        if not path.is_file():
            raise ValueError(
                f"{folder} is not the folder of a run: it has no {REQUEST}, which `partwhole train` writes"
            )
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            config = TrainingConfig.from_json(held.pop("config"))
            request = cls(config=config, **held)
        except (ValueError, TypeError, KeyError, AttributeError) as fault:
            raise ValueError(f"{path} is damaged ({fault}); start the run again, in another folder") from None
        known = request.set in get_args(SetName) if request.recipe is None else request.recipe in get_args(RecipeName)
        if not known or request.device not in get_args(Device):
            source = f"set {request.set!r}" if request.recipe is None else f"recipe {request.recipe!r}"
            raise ValueError(f"{path} is damaged ({source}, device {request.device!r}); start the run again")
        return request

    def moved(self, data: Path | None, device: Device | None, assets: Path | None = None) -> TrainRequest:
        """The same with data, or assets, in another folder now, or on another device."""
        check_recipe_words(self.recipe, {"--data": data}, only={"--assets": assets})
        place = self.data if data is None else str(data.resolve())
        files = self.assets if assets is None else str(assets.resolve())
        return replace(self, data=place, device=device or self.device, assets=files)


def chosen_config(
    name: str | None,
    changes: Sequence[str] = (),
    *,
    iterations: int | None = None,
    seed: int | None = None,
    evaluations: int | None = None,
    base: TrainingConfig | None = None,
) -> TrainingConfig:
    """A preset, or the defaults, with what the user changed.

    Parameters
    ----------
    name : of the preset; None: the defaults
    changes : "name=value" each
    iterations, seed : the same, with options of their own
    evaluations : so many on the way, if iterations are changed and evaluate_every is not
    base : in the place of the preset

    Examples
    --------
    >>> config = chosen_config("shrec16-holes", ["augmentation.rotation=30", "scaling=0.8,1.2"], iterations=500)
    >>> config.loss.temperature, config.optimisation.iterations, config.augmentation.rotation, config.augmentation.scaling
    (0.07, 500, 30.0, (0.8, 1.2))
    """
    config = base or (TrainingConfig() if name is None else preset(name))
    given = changed_choices(changes)
    for option, value in (("iterations", iterations), ("seed", seed)):
        if option in given and value is not None:
            raise ValueError(f"--{option} and --with {option} say the same; give one")
    given |= {k: v for k, v in (("iterations", iterations), ("seed", seed)) if v is not None}
    changed = config.with_changes(**given)
    if evaluations is not None and "iterations" in given and "evaluate_every" not in given:
        changed = changed.with_changes(evaluate_every=max(1, changed.optimisation.iterations // evaluations))
    return changed


def config_with_models(
    config: TrainingConfig, changes: list[str] | tuple[()], *, start: str | None, teacher: str | None
) -> TrainingConfig:
    """The settings with the size of the model to start from, and with a weight for the maps of the teacher."""
    if start is not None:
        fixed = [name for name in changed_choices(changes) if group_of(name)[0] == "network" and name != "dropout"]
        if fixed:
            raise ValueError(
                f"--with {fixed[0]} can't be changed with --start, whose size is fixed; leave one of them out"
            )
        network = load_model(start, "cpu").config.network
        config = config.with_changes(network=replace(network, dropout=config.network.dropout))
    if teacher is not None and not config.loss.correspondence_weight:
        config = config.with_changes(correspondence_weight=_TEACHER_WEIGHT)
    return config


def changed_choices(changes: Sequence[str]) -> dict[str, Any]:
    """What "name=value", or "group.name=value", each says.

    >>> changed_choices(["upright=no", "score-weights=0,10,30"])
    {'upright': False, 'score_weights': (0.0, 10.0, 30.0)}
    """
    given: dict[str, Any] = {}
    for change in changes:
        field, equals, text = change.partition("=")
        field = field.strip().replace("-", "_")
        if not equals or not field:
            raise ValueError(f"--with takes a setting and its value, such as --with rotation=30, got {change!r}")
        name, value = _parsed(field, text.strip())
        given[name] = value
    return given


def preset_rows() -> list[tuple[str, str]]:
    """Each preset and how it differs from the defaults.

    >>> dict(preset_rows())["shrec16-holes"]
    'temperature=0.07, vertical=z'
    """
    default = TrainingConfig().choices
    rows = []
    for name, config in PRESETS.items():
        changed = [f"{choice}={written(v)}" for choice, v in config.choices.items() if v != default[choice]]
        rows.append((name, ", ".join(changed) or "the defaults"))
    return rows


def choice_rows() -> list[tuple[str, str, str]]:
    """Every choice, its default and what it may be.

    >>> choice_rows()[0]
    ('network.inputs', 'xyz', 'xyz, signatures, xyz+signatures, invariants')
    """
    default = TrainingConfig().choices
    return [(f"{group}.{name}", written(default[name]), _meant(hint)) for name, (group, hint) in choice_types().items()]


def written(value: Any) -> str:
    """A value as `--with` reads it.

    >>> written((0.9, 1.1)), written(None), written(1000.0), written(20000)
    ('0.9,1.1', 'none', '1000', '20000')
    """
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(written, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parsed(given: str, text: str) -> tuple[str, Any]:
    """The name of a choice and its value; a name that there is not is refused with the nearest one."""
    _, name = group_of(given)
    hint = choice_types()[name][1]
    try:
        return name, _value(hint, text)
    except ValueError:
        raise ValueError(f"--with {given}={text}: {name} is {_meant(hint)}") from None


def _value(hint: Any, text: str) -> Any:
    if get_origin(hint) is Literal:
        if text not in get_args(hint):
            raise ValueError(text)
        return text
    if get_origin(hint) is tuple:
        numbers = text.strip("()[] ").split(",")
        if len(numbers) != len(get_args(hint)):
            raise ValueError(text)
        return tuple(_value(kind, number) for kind, number in zip(get_args(hint), numbers, strict=True))
    if NoneType in get_args(hint):
        if text.lower() in ("none", ""):
            return None
        return _value(next(kind for kind in get_args(hint) if kind is not NoneType), text)
    if hint is bool:
        if text.lower() not in _YES_AND_NO:
            raise ValueError(text)
        return _YES_AND_NO[text.lower()]
    return hint(text)


_YES_AND_NO = {"true": True, "yes": True, "false": False, "no": False}


def _meant(hint: Any) -> str:
    """What may be given, in words."""
    if get_origin(hint) is Literal:
        return ", ".join(get_args(hint))
    if get_origin(hint) is tuple:
        return f"{len(get_args(hint))} numbers with a comma between them"
    if NoneType in get_args(hint):
        return f"{_meant(next(kind for kind in get_args(hint) if kind is not NoneType))}, or none"
    return {int: "a whole number", float: "a number", bool: "true or false"}[hint]
