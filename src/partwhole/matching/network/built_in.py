"""Models in the box: trained weights that come with the library, each with a card that says where it comes from."""

from __future__ import annotations

import difflib
import os
from importlib.resources import files
from pathlib import Path

from partwhole.store.arguments import in_short

_ENDING = ".safetensors"


def box() -> Path:
    """The folder that holds them."""
    return Path(str(files("partwhole"))) / "models"


def model_names() -> tuple[str, ...]:
    """The names of the models that come with this installation, `default` first where it is there.

    Each may be given wherever a model is asked for: `Matcher.load(name)`, `pw.match(part, whole, model=name)`,
    `partwhole match --model name`.

    Examples
    --------
    >>> all((box() / f"{name}.safetensors").is_file() for name in model_names())
    True
    """
    found = {file.stem for file in box().glob(f"*{_ENDING}")}
    return tuple(sorted(found, key=lambda name: (name != "default", name)))


def card_of(name: str) -> str:
    """What is known about a model in the box: its data and their terms, protocol and errors; Markdown."""
    card = built_in_path(name).with_suffix(".md")
    return card.read_text(encoding="utf-8") if card.is_file() else ""


def built_in_path(name: str) -> Path:
    """The file of weights of this name."""
    names = model_names()
    if name in names:
        return box() / f"{name}{_ENDING}"
    near = difflib.get_close_matches(name, names, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    there = f"there are {', '.join(names)}" if names else "this installation has none"
    raise ValueError(f"there is no model {name!r} in the box; {meant}{there}; or give a file of weights")


def model_path(model: str | Path) -> Path:
    """The file of a model: one in the box by its name, any other by its path.

    A plain word is a name, unless there is a file of that name; anything with a folder or an ending is a path.
    """
    if not isinstance(model, str | os.PathLike):
        raise ValueError(f"model must be a name in the box, a file of weights or a Matcher, got {in_short(model)}")
    text = str(model)
    path = Path(text).expanduser()
    is_word = isinstance(model, str) and path.name == text and not path.suffix
    if is_word and (text in model_names() or not path.exists()):
        return built_in_path(text)
    return path
