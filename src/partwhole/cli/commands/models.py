"""`partwhole models`: the built-in models and their cards, and methods without weights."""

from __future__ import annotations

from typing import Annotated

import typer

from partwhole.cli.shared.console import Console
from partwhole.cli.shared.options import JsonOption


def _complete_name(incomplete: str) -> list[str]:
    from partwhole.matching.network.weights import method_names, model_names

    return [name for name in ("default", *model_names(), *method_names()) if name.startswith(incomplete)]


def models(
    name: Annotated[
        str | None,
        typer.Argument(help="Show the card of this model.", show_default=False, autocompletion=_complete_name),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the built-in models, or show the card of one: training data and their terms, protocol, measured errors.

    Use their names with the option --model of partwhole match and partwhole evaluate, and with partwhole train --start.
    Published methods that need no weights are listed below them; their maps, and those of models, can be refined, as in
    --model fsp+zoomout or --model default+pmf.
    """
    from partwhole.matching.network.weights import DEFAULT, METHODS, built_in_path, card_of, model_names

    console = Console(as_json=as_json)
    if name is not None and name in METHODS:
        console.say(f"{name}: a method without weights. {METHODS[name].purpose}")
        console.finish({"name": name, "file": None, "for": METHODS[name].purpose})
        return
    if name is not None:
        file = built_in_path(name)
        console.say(card_of(name).rstrip())
        console.finish({"name": file.stem, "file": str(file), "bytes": file.stat().st_size, "card": card_of(name)})
        return
    found = [(each, built_in_path(each).stat().st_size, _purpose(card_of(each))) for each in model_names()]
    rows = [
        (f"{each} (default)" if each == DEFAULT else each, f"{size / 1e6:.1f} MB", purpose)
        for each, size, purpose in found
    ]
    rows += [(each, "no weights", method.purpose) for each, method in METHODS.items()]
    console.table(rows, head=("model", "size", "for"))
    console.say("partwhole models NAME shows the card of a model")
    console.finish(
        {
            "models": [{"name": each, "bytes": size, "for": purpose} for each, size, purpose in found],
            "methods": [{"name": each, "for": method.purpose} for each, method in METHODS.items()],
        }
    )


def _purpose(card: str) -> str:
    """The first sentence of a card, below its title.

    >>> _purpose("# horse\\n\\nFor horses: large ones. It knows no zebras.\\n")
    'For horses: large ones.'
    """
    lines = [line for line in card.splitlines() if line and not line.startswith("#")]
    return lines[0].split(". ")[0].rstrip(".") + "." if lines else ""
