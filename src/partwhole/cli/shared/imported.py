"""Methods by name: built-in ones, and those from Python.

`--model package.module:name`, where the name is a `Method`, or a function or class that gives one.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from partwhole.cli.shared.console import Console
from partwhole.cli.shared.options import Device, is_import_path, is_method, labelled_files, model_file
from partwhole.evaluation.protocol import Weights

if TYPE_CHECKING:
    from partwhole.matching.search.method import Method


def weight_files(models: Sequence[str | Path]) -> list[Path]:
    """The files that these models are read from; a method has none."""
    return list(dict.fromkeys(model_file(_parted(model)[0]) for model in models if not is_method(model)))


def named_method(text: str, device: Device) -> Method:
    """The `Method` that a name or an import path stands for, see `is_method`."""
    if is_import_path(text):
        return imported_method(text, device)
    from partwhole.matching.methods import built_in_method

    try:
        return built_in_method(text, device=device)
    except ValueError as error:  # the remedy, in the words of the command line
        raise ValueError(re.sub(r"device='(\w+)'", r"--device \1", str(error))) from None


def imported_method(text: str, device: Device) -> Method:
    """The `Method` of an import path; modules in the current folder are found too."""
    from partwhole.matching.search.method import Method

    module_name, _, name = text.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        module = import_module(module_name)
    except Exception as fault:  # whatever a module does when it is imported
        raise ValueError(f"--model {text}: {module_name} can't be imported ({_words(fault)})") from None
    if not hasattr(module, name):
        near = difflib.get_close_matches(name, dir(module), n=1)
        raise ValueError(f"--model {text}: {module_name} has no {name}{f'; did you mean {near[0]}?' if near else ''}")
    found: Any = getattr(module, name)
    if callable(found) and not isinstance(found, Method):
        try:
            found = found()
        except Exception as fault:  # whatever it does
            raise ValueError(
                f"--model {text}: {name}() failed ({_words(fault)}); it is called without arguments"
            ) from None
    if not isinstance(found, Method):
        raise ValueError(f"--model {text} gives {type(found).__name__}, and not a partwhole.matching.Method")
    if device != found.device.type == "cpu":
        raise ValueError(f"--model {text} computes on the processor; leave out --device {device}")
    found.card.setdefault("name", text)
    return found


def load_methods(models: Sequence[str | Path], device: Device) -> dict[str, Method]:
    """Models by name, see `labelled_files`, and methods by theirs or their import paths; in the order they were given.

    What follows a + after a file or the folder of a run refines its maps, such as RUN+zoomout.
    """
    from partwhole.matching.methods import load_method, refined_by

    given = [_parted(model) for model in models if not is_method(model)]
    bases = list(dict.fromkeys(base for base, _ in given))
    if len(set(given)) < len(given):
        raise ValueError(f"--model {next(base for base, _ in given if given.count((base, _)) > 1)} is given twice")
    labels = dict(zip(bases, labelled_files([Path(base) for base in bases]).items(), strict=True))
    found: dict[str, Method] = {}
    for model in map(str, models):
        if is_method(model):
            label, method = model, named_method(model, device)
        else:
            base, refinements = _parted(model)
            label, method = labels[base][0], load_method(labels[base][1], device=device)
            label = "+".join((label, *refinements))
            for refinement in refinements:
                method = refined_by(method, refinement)
        if label in found:
            raise ValueError(f"--model {label} is given twice")
        found[label] = method
    return found


def _parted(model: str | Path) -> tuple[str, tuple[str, ...]]:
    """A file or the folder of a run, and the refinements of its maps that its name ends with."""
    from partwhole.matching.network.weights import ADAPTATION, REFINEMENTS

    base, *refinements = str(model).split("+")
    known = all(one in (*REFINEMENTS, ADAPTATION) for one in refinements)
    return (base, tuple(refinements)) if known and not Path(model).exists() else (str(model), ())


def weights_of(method: Method) -> Weights:
    """Which weights these are, for the protocol: as the card of the method says, or the final ones."""
    said = method.card.get("weights")
    return next((known for known in get_args(Weights) if known == said), "final")


def can_be_cached(method: Method, console: Console) -> bool:
    """Whether results of a method can be told from those of another version of it; otherwise a note says that they can't."""
    from partwhole.matching.search.method import Method

    known = type(method).fingerprint is not Method.fingerprint
    if not known:
        console.note(
            f"nothing is cached for {type(method).__name__}, since its code may change; it has no fingerprint()"
        )
    return known


def _words(fault: Exception) -> str:
    return f"{type(fault).__name__}: {' '.join(str(fault).split())}"
