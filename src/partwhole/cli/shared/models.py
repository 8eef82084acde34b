"""Which model a user means: one in the box, a file of weights, or the folder of a training run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from partwhole.cli.shared.learning import Device, command_line

if TYPE_CHECKING:
    from partwhole.matching.matcher import Matcher


def offered_models(incomplete: str) -> list[str]:
    """Models that begin like this, for shells to complete: names in the box, files of weights and folders of runs."""
    from partwhole.matching.network.built_in import model_names

    above, slash, begun = incomplete.rpartition("/")
    try:
        near = sorted(Path(f"{above}{slash}" or ".").expanduser().iterdir())
    except (OSError, RuntimeError):  # no such folder, or nobody's home
        near = []
    # in a run the weights are called as `run_folder` has it, which would bring torch
    paths = [
        f"{above}{slash}{path.name}"
        for path in near
        if path.name.startswith(begun) and (path.suffix == ".safetensors" or (path / "model.safetensors").is_file())
    ]
    return [name for name in model_names() if name.startswith(incomplete)] + paths


ModelsOption = Annotated[
    list[Path],
    typer.Option(
        "--model",
        "-m",
        metavar="NAME|PATH",
        autocompletion=offered_models,
        help="A model in the box, a .safetensors file or the folder of a run; may be repeated.",
    ),
]


def named_model(text: str, device: Device) -> Matcher:
    """The one model that is meant; it is called as its file is, or its run."""
    from partwhole.matching.matcher import Matcher

    file = model_file(text)
    matcher = Matcher.load(file, device=device)
    matcher.card["name"] = _labels([file])[0]
    return matcher


def model_file(given: str | Path) -> Path:
    """The file of weights that a name in the box, a file or the folder of a run stands for; an error if there is none.

    Commands ask for it first, so that a mistyped name is told before anything is computed.
    """
    from partwhole.matching.network.built_in import box, model_path

    # a plain word that is no file here is a name
    path = model_path(str(given))
    if path.parent == box():
        # no run, and nothing that torch would have to be imported for
        return path
    from partwhole.matching.training.run_folder import MODEL, STATE

    if path.is_dir():
        if (path / MODEL).is_file():
            return path / MODEL
        if (path / STATE).is_file():
            raise ValueError(f"the run in {path} is not complete; go on with {command_line('train', '--resume', path)}")
        raise ValueError(f"{path} has no {MODEL}; give the folder of a run, or a file of weights")
    if path.name == STATE:
        raise ValueError(f"{path} is for a run to go on with; give its folder, {path.parent}, or {MODEL} in it")
    if not path.is_file():
        raise ValueError(f"there is no file {path}; give a .safetensors file that `partwhole train` wrote")
    return path


def load_models(paths: Sequence[Path], device: Device) -> dict[str, Matcher]:
    """The models by name: that of their file or of their run, with the folders above where names are the same."""
    from partwhole.matching.matcher import Matcher

    files = [model_file(path) for path in paths]
    repeated = [path for place, path in enumerate(files) if path.resolve() in {p.resolve() for p in files[:place]}]
    if repeated:
        raise ValueError(f"--model {repeated[0]} is given twice")
    return {label: Matcher.load(file, device=device) for label, file in zip(_labels(files), files, strict=True)}


def _labels(files: Sequence[Path]) -> list[str]:
    """As few folders of each path as tell them apart; `model`, as weights in the folder of a run are called, is no name.

    >>> _labels([Path("a/run1/model.safetensors"), Path("a/run2/model.safetensors"), Path("best.safetensors")])
    ['run1', 'run2', 'best']
    >>> _labels([Path("/a/run/model.safetensors"), Path("/b/run/validated.safetensors"), Path("/b/run/model.safetensors")])
    ['a/run', 'run/validated', 'b/run']
    """
    parts = []
    for file in files:
        words = [*file.resolve().parent.parts[1:], file.stem]
        parts.append(words[:-1] if file.stem == "model" and len(words) > 1 else words)
    lengths = [2 if words[-1] == "validated" and len(words) > 1 else 1 for words in parts]
    while True:
        labels = ["/".join(words[-n:]) for words, n in zip(parts, lengths, strict=True)]
        again = [
            n < len(words) and labels.count(label) > 1 for label, words, n in zip(labels, parts, lengths, strict=True)
        ]
        if not any(again):
            return labels
        lengths = [n + more for n, more in zip(lengths, again, strict=True)]
