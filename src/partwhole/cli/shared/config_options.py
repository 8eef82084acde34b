"""The choices of a training run as words of the command line: `--preset`, `--with name=value`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from partwhole.matching.config import PRESETS, SearchConfig, TrainingConfig, choice_types, group_of, preset

# how a trained network is used
SEARCH_CHOICES = tuple(field.name for field in fields(SearchConfig))


def chosen_config(
    name: str | None,
    changes: Sequence[str] = (),
    *,
    iterations: int | None = None,
    seed: int | None = None,
    evaluations: int | None = None,
) -> TrainingConfig:
    """A preset, or the defaults, with what the user changed.

    Parameters
    ----------
    name : of the preset; None: the defaults
    changes : "name=value" each
    iterations, seed : the same, with options of their own
    evaluations : so many on the way, if iterations are changed and evaluate_every is not

    Examples
    --------
    >>> config = chosen_config("shrec16-holes", ["augmentation.rotation=30", "scaling=0.8,1.2"], iterations=500)
    >>> config.loss.temperature, config.optimisation.iterations, config.augmentation.rotation, config.augmentation.scaling
    (0.07, 500, 30.0, (0.8, 1.2))
    """
    config = TrainingConfig() if name is None else preset(name)
    given = changed_choices(changes)
    for option, value in (("iterations", iterations), ("seed", seed)):
        if option in given and value is not None:
            raise ValueError(f"--{option} and --with {option} say the same; give one")
    given |= {k: v for k, v in (("iterations", iterations), ("seed", seed)) if v is not None}
    changed = config.with_changes(**given)
    if evaluations is not None and "iterations" in given and "evaluate_every" not in given:
        changed = changed.with_changes(evaluate_every=max(1, changed.optimisation.iterations // evaluations))
    return changed


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
            raise ValueError(f"--with takes a choice and its value, such as --with rotation=30, got {change!r}")
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
