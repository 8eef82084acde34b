"""Weights in files: safetensors, with a card in JSON; and the built-in models. torch is imported when it is used."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from partwhole._version import __version__
from partwhole.store.arguments import how_to_install, in_short
from partwhole.store.storage import atomic_write

if TYPE_CHECKING:
    from torch import Tensor

_ENDING = ".safetensors"
# the model that is taken where none is named, and that the name `default` stands for
DEFAULT = "any-pose"


class MethodEntry(NamedTuple):
    """A class of `partwhole.matching.methods`, and what it is for."""

    kind: str
    purpose: str


# methods without weights, by the names that they go by where a model is asked for
METHODS: Mapping[str, MethodEntry] = MappingProxyType(
    {
        "descriptors": MethodEntry("DescriptorMaps", "Functional map from SHOT descriptors; the baseline."),
        "pfm": MethodEntry("PFM", "Partial functional maps (2017): map and region alternately; minutes per pair."),
        "fsp": MethodEntry("FSP", "Fully spectral partial matching (2017): a rotated basis of eigenfunctions."),
    }
)
# methods with a network, by the names that `partwhole train --method` and the cards of their weights have
LEARNED: Mapping[str, MethodEntry] = MappingProxyType(
    {
        "dpfm": MethodEntry("DPFM", "Deep partial functional maps (2021), as for cuts; supervised."),
        "dpfm-holes": MethodEntry("DPFMHoles", "Deep partial functional maps (2021), as for holes; supervised."),
        "geomfmaps": MethodEntry("GeomFMaps", "Geometric functional maps (2020); supervised."),
        "unsupervised-dpfm": MethodEntry("UnsupervisedDPFM", "Maps that are inverse to each other; unsupervised."),
        "robust-fmnet": MethodEntry("RobustFMNet", "Spectral maps that agree with soft maps (2023); unsupervised."),
        "direct-match-net": MethodEntry("DirectMatchNet", "Distances of all pairs are kept (2024); unsupervised."),
        "direct-match-net-lpf": MethodEntry("DirectMatchNetLPF", "The same with areas kept coarsely; a guess."),
        "wormhole": MethodEntry("Wormhole", "Distances that can be trusted are kept (2024); unsupervised."),
    }
)
# what may follow the name of a method or a built-in model, after a +
REFINEMENTS = ("zoomout", "pmf")
# and after that of a run of a method which learns without ground truth: steps down its loss on the pair itself
ADAPTATION = "adapt"


def models_folder() -> Path:
    """The folder that holds them."""
    return Path(str(files("partwhole"))) / "models"


def model_names() -> tuple[str, ...]:
    """The names of the models that come with this installation, first the one that `default` stands for.

    Each may be given wherever a model is asked for: `Matcher.load(name)`, `pw.match(part, whole, model=name)`,
    `partwhole match --model name`.

    Examples
    --------
    >>> all((models_folder() / f"{name}.safetensors").is_file() for name in model_names())
    True
    """
    found = {file.stem for file in models_folder().glob(f"*{_ENDING}")}
    return tuple(sorted(found, key=lambda name: (name != DEFAULT, name)))


def method_names() -> tuple[str, ...]:
    """The names of the methods without weights, which may be given wherever a model is, also with `+zoomout` or `+pmf`.

    Examples
    --------
    >>> method_names()
    ('descriptors', 'pfm', 'fsp')
    """
    return tuple(METHODS)


def is_method_name(model: object) -> bool:
    """Whether this names a method without weights, or a refinement of one or of a built-in model.

    Examples
    --------
    >>> is_method_name("pfm"), is_method_name("default+zoomout"), is_method_name("default"), is_method_name("a+b.safetensors")
    (True, True, False, False)
    """
    if not isinstance(model, str):
        return False
    base, *refinements = model.split("+")
    return base in METHODS or (bool(refinements) and base in ("default", *model_names()))


def check_method_name(name: str) -> None:
    """Raise ValueError, with the nearest name, unless `is_method_name`, and every refinement is known."""
    base, *refinements = name.split("+")
    unknown = [one for one in refinements if one not in REFINEMENTS]
    if is_method_name(name) and not unknown:
        return
    known = REFINEMENTS if unknown else (*METHODS, "default", *model_names())
    near = difflib.get_close_matches(unknown[0] if unknown else base, known, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    what = f"refinement {unknown[0]!r}" if unknown else f"method {base!r}"
    raise ValueError(f"there is no {what}; {meant}there are {', '.join(known)}")


def method_in(path: str | Path) -> str | None:
    """The name of the learned method that a file of weights belongs to; None for a model, and for what is no such file."""
    _, load_header, Damaged = _safetensors()
    try:
        with load_header(Path(path)) as file:
            found = json.loads((file.metadata() or {}).get("card", "null"))
    except (Damaged, OSError, ValueError, RecursionError):
        # whoever reads the file says what is wrong with it
        return None
    name = found.get("method") if isinstance(found, dict) else None
    return name if name in LEARNED else None


def card_of(name: str) -> str:
    """What is known about a built-in model: its data and their terms, protocol and errors; Markdown."""
    card = built_in_path(name).with_suffix(".md")
    return card.read_text(encoding="utf-8") if card.is_file() else ""


def built_in_path(name: str) -> Path:
    """The file of weights of this name."""
    if not isinstance(name, str):
        raise ValueError(f"name must be that of a built-in model, such as {DEFAULT!r}, got {in_short(name)}")
    names = model_names()
    meant = DEFAULT if name == "default" else name
    if meant in names:
        return models_folder() / f"{meant}{_ENDING}"
    if name in METHODS:
        raise ValueError(f"{name} is a method without weights: use partwhole.matching.methods.{METHODS[name].kind}()")
    near = difflib.get_close_matches(name, ("default", *names, *METHODS) if names else (), n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    there = f"there are {', '.join(names)}" if names else "this installation has none"
    raise ValueError(f"there is no built-in model {name!r}; {meant}{there}; or give a file of weights")


def model_path(model: str | Path) -> Path:
    """The file of a model: a built-in one by its name, any other by its path.

    A plain word is a name, unless there is a file of that name; anything with a folder or an ending is a path.
    """
    if not isinstance(model, str | os.PathLike):
        raise ValueError(
            f"model must be the name of a built-in model, a file of weights or a Matcher, got {in_short(model)}"
        )
    text = str(model)
    path = Path(text).expanduser()
    is_word = isinstance(model, str) and path.name == text and not path.suffix
    if is_word and (text in ("default", *model_names()) or not path.exists()):
        return built_in_path(text)
    return path


FORMAT = "partwhole 1"


def write_tensors(path: str | Path, tensors: Mapping[str, Tensor], card: Mapping[str, Any]) -> None:
    """Tensors and their card in one file, which appears whole or not at all."""
    save, _, _ = _safetensors()
    # copies: a network may use one tensor under two names, which the format does not have
    held = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    text = json.dumps(card)
    metadata = {"format": FORMAT, "card": text, "checksum": _checksum(held), "card_checksum": _text_checksum(text)}
    with atomic_write(path) as file:
        file.write(save(held, metadata))


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `write_tensors` wrote. Nothing in the file is executed; one that is damaged, or not ours, is a ValueError."""
    _, load_header, Damaged = _safetensors()
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no file {path}; give a .safetensors file that `partwhole train` wrote")
    try:
        with load_header(path) as file:
            metadata = file.metadata() or {}
            # copies: what is read is a view of the file, which may be replaced
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118, no mapping
    except (Damaged, OSError, ValueError) as fault:
        raise ValueError(f"{path} is damaged or no safetensors file ({fault}); copy it again") from None
    if metadata.get("format") != FORMAT:
        said = in_short(metadata.get("format"))
        raise ValueError(
            f"{path} says format {said}, this version reads {FORMAT!r}; train again, or use the version that wrote it"
        )
    if metadata.get("checksum", "") not in ("", _checksum(tensors)):
        raise ValueError(f"{path} is damaged: its tensors are not those that were written; copy it again")
    # files of earlier versions do not have one
    if metadata.get("card_checksum", "") not in ("", _text_checksum(metadata.get("card", ""))):
        raise ValueError(f"{path} is damaged: its card is not the one that was written; copy it again")
    try:
        card = json.loads(metadata["card"])
    except (KeyError, ValueError, RecursionError):
        card = None
    if not isinstance(card, dict):
        raise ValueError(f"{path} has no readable card; copy it again")
    return tensors, card


def _checksum(tensors: Mapping[str, Tensor]) -> str:
    """Safetensors has none of its own: a flipped bit would be another weight."""
    import torch

    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def _text_checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def versions() -> dict[str, str]:
    """Of everything that can change the numbers."""
    found = {"partwhole": __version__, "python": platform.python_version()}
    for name in ("torch", "numpy", "scipy", "numba", "robust-laplacian"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def _safetensors() -> tuple[Any, Any, type[Exception]]:
    try:
        from safetensors import SafetensorError, safe_open
        from safetensors.torch import save
    except ImportError:
        raise ValueError(f"models are kept in safetensors files: {how_to_install('torch')}") from None
    return save, lambda path: safe_open(path, framework="pt"), SafetensorError
