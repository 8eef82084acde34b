"""The pairs to train or test on: the options `--data` and `--set`, reading the pairs, and holding some out for validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

import numpy as np
import typer

from partwhole.cli.shared.console import MEMORY_REMEDY, Console, StageProgress
from partwhole.cli.shared.options import Device, free_gpu_memory, free_memory
from partwhole.datasets.pairs import Pair, Pairs
from partwhole.evaluation.published import Data
from partwhole.mesh import Mesh
from partwhole.mesh.formats.common import counted

SetName = Literal["pfaust-m", "pfaust-h", "shrec16-cuts", "shrec16-holes", "folder", "bodies"]
Split = Literal["train", "test", "all"]

DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Folder with the pairs: a published data set, or parts/ and wholes/."),
]
SetOption = Annotated[
    SetName | None,
    typer.Option(
        "--set",
        help="Which data set it is; guessed from the folder if not given. bodies are generated, without --data.",
    ),
]

# sets for which errors are published, by the names that `published_rows` knows
PUBLISHED_AS: Mapping[str, Data] = MappingProxyType(
    {
        "pfaust-m": "PFAUST-M",
        "pfaust-h": "PFAUST-H",
        "shrec16-cuts": "SHREC'16 CUTS",
        "shrec16-holes": "SHREC'16 HOLES",
    }
)

# what the data sets are read from, below their folder
_FILES = (
    *("pairs.csv", "parts", "wholes", "maps"),
    *("faust_r", "faust_r/corres", "pfaust/ground_truth", "pfaust/PFAUST-M/off", "pfaust/PFAUST-H/off"),
    *("ground_truth", "PFAUST-M/off", "PFAUST-H/off", "../faust_r", "../faust_r/corres"),
    *("partial_off", "off", "masks", "partial_corr", "corres"),
    *("null", "null/off", "cuts", "cuts/off", "cuts/corres", "holes", "holes/off", "holes/corres"),
)
# folders that a set may lie in, below the one that is given
_PLACES = ("", "train", "test", "shrec16", "PFAUST_M", "PFAUST_H", "PFAUST/PFAUST_M", "PFAUST/PFAUST_H")

# number of generated bodies, and how many of these, the last ones, are for tests
_BODIES, _TEST_BODIES = 10, 2
# matrices of the size of the largest pair that a training step holds at a time
_MATRICES_OF_A_STEP = 10

Note = Callable[[str], None]


def pairs_from(data: Path | None, name: SetName | None, split: Split, *, note: Note | None = None) -> Pairs:
    """The pairs of a data set, read when they are asked for.

    Parameters
    ----------
    data : folder of the data set; None for generated bodies
    name : which data set it is; None: guessed from what the folder holds
    split : the pairs to train on, to test on, or all
    note : called with what was guessed, and with what the split means where the data set has none
    """
    tell = note or (lambda text: None)
    chosen = guess_set(data, name, note=tell)
    if chosen == "bodies":
        if data is not None:
            raise ValueError("--set bodies generates its pairs and needs no --data; leave one out")
        return _bodies(split)
    folder = _folder(data)
    if chosen == "folder":
        return _own(folder, split, tell)
    if chosen in ("pfaust-m", "pfaust-h"):
        return _pfaust(folder, "M" if chosen == "pfaust-m" else "H", split)
    return _shrec16(folder, "cuts" if chosen == "shrec16-cuts" else "holes", split)


def guess_set(data: Path | None, name: SetName | None, *, note: Note | None = None) -> SetName:
    """The name if it is given, else the data set that the folder holds."""
    if name is not None:
        return name
    folder = _folder(data)
    found = [known for known, marks in _MARKS.items() if any((folder / mark).is_dir() for mark in marks)]
    if (folder / "masks").is_dir():
        # a folder of the authors' bundle says nowhere but in its name which level it is
        level = folder.resolve().name[-1:].lower()
        found += [f"pfaust-{level}"] if level in ("m", "h") else ["pfaust-m", "pfaust-h"]
    if not found:
        raise ValueError(
            f"{folder} holds no pairs: give a folder with parts/ and wholes/, with pfaust/ and faust_r/, or with null/ and "
            "cuts/ or holes/"
        )
    if len(found) > 1:
        raise ValueError(f"{folder} holds several data sets; choose one with --set {', --set '.join(found)}")
    if note is not None:
        note(f"{folder} is read as --set {found[0]}")
    return found[0]  # type: ignore[return-value]


def data_files(data: Path | str | None) -> list[Path]:
    """Files, and folders of files, that the pairs of any data set in a folder would be read from."""
    return [] if data is None else [Path(data) / place / name for place in _PLACES for name in _FILES]


def read_pairs(pairs: Pairs, console: Console, report: StageProgress) -> list[Pair]:
    """All pairs; what was left out while reading them becomes a note, once."""
    held = []
    for done, pair in enumerate(pairs):
        if done % 20 == 0:
            report("reading", done, len(pairs))
        held.append(pair)
    report("reading", len(held), len(held))
    for note in dict.fromkeys(note for pair in held for note in pair.notes):
        console.note(note)
    return held


def with_ground_truth(held: list[Pair], name: str, console: Console) -> list[Pair]:
    """The pairs whose error can be measured; a note gives the number of those whose error can't."""
    known = [pair for pair in held if pair.ground_truth is not None and len(pair.ground_truth)]
    if not known:
        raise ValueError(
            f"{name}: none of the {len(held)} pairs has ground truth, so no error can be measured; put it into maps/"
        )
    if len(known) < len(held):
        console.note(f"{name}: {len(held) - len(known)} of {len(held)} pairs have no ground truth and are left out")
    return known


def check_memory(
    pairs: Sequence[Pair], *, device: Device, for_loss: bool, whole_masks: bool = False, most: int | None = None
) -> None:
    """Raise ValueError if the matrices of all surfaces of the pairs take more memory than is free.

    For the loss these are distances and weights of every part and distances of every whole, with their masks if the loss
    takes them, on the device; else distances of every whole, in main memory. `most` vertices of each surface have distances;
    None: all.
    """

    def rows(mesh: Mesh) -> int:
        return mesh.n_vertices if most is None else min(most, mesh.n_vertices)

    parts = {pair.part.content_hash: rows(pair.part) for pair in pairs}
    wholes = {pair.whole.content_hash: rows(pair.whole) for pair in pairs}
    largest = max([*parts.values(), *wholes.values()])
    entries = (1 + whole_masks) * sum(n**2 for n in wholes.values()) + _MATRICES_OF_A_STEP * largest**2
    if for_loss:
        entries += sum(2 * n**2 for n in parts.values())
    on_gpu = for_loss and device == "cuda"
    needed, free = 4 * entries, free_gpu_memory() if on_gpu else free_memory()
    if needed > free:
        surfaces = f"{counted(len(parts), 'part')} and " * for_loss + counted(len(wholes), "whole")
        raise ValueError(
            f"distances on {surfaces} take {needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free "
            f"{'on the GPU' if on_gpu else 'in memory'}; {MEMORY_REMEDY}"
        )


def hold_out(pairs: Pairs, *, share: float = 0.1, seed: int = 0) -> tuple[Pairs, Pairs]:
    """The pairs to train on and those to validate on: a share of the parts, at least one, with all their pairs.

    Wholes may be in both.

    Parameters
    ----------
    pairs : of at least two parts
    share : of the parts that is held out
    seed : of the random choice of parts

    Examples
    --------
    >>> pairs = Pairs([(part, whole) for part in range(20) for whole in "ab"], lambda part, whole: None, name="some")
    >>> hold_out(pairs)
    (Pairs('some': 36), Pairs('some, validation': 4))
    """
    if not 0 < share < 1:
        raise ValueError(f"share={share} of the parts must lie between 0 and 1")
    parts = list(dict.fromkeys(part for part, _ in pairs.keys))
    if len(parts) < 2:
        raise ValueError(f"{pairs.name} has {len(parts)} part(s); holding some out for validation needs at least two")
    count = min(max(1, round(share * len(parts))), len(parts) - 1)
    chosen = {parts[k] for k in np.random.default_rng(seed).choice(len(parts), count, replace=False)}
    return (
        pairs.where(lambda part, whole: part not in chosen),
        pairs.where(lambda part, whole: part in chosen, name=f"{pairs.name}, validation"),
    )


# folders by which a data set is recognised
_MARKS: Mapping[str, tuple[str, ...]] = {
    **{
        f"pfaust-{level.lower()}": (
            f"pfaust/PFAUST-{level}",
            f"PFAUST-{level}",
            f"PFAUST_{level}/masks",
            f"PFAUST/PFAUST_{level}/masks",
        )
        for level in ("M", "H")
    },
    "shrec16-cuts": ("cuts", "shrec16/cuts"),
    "shrec16-holes": ("holes", "shrec16/holes"),
    "folder": ("parts", "train/parts", "test/parts"),
}


def _folder(data: Path | None) -> Path:
    if data is None:
        raise ValueError("--data is missing: the folder with the pairs; or --set bodies, which are generated")
    if not data.is_dir():
        raise ValueError(f"folder not found: --data {data}")
    return data


def _pfaust(folder: Path, level: Literal["M", "H"], split: Split) -> Pairs:
    from partwhole.datasets import PFaust

    collection = PFaust(folder, level)
    if split == "train":
        return collection.train_pairs()
    if split == "test":
        return collection.test_pairs()
    every = collection.pairs(range(100), range(0, 100, 10))
    # no pair crosses the split
    return every.where(lambda part, whole: (part < 80) == (whole < 80))


def _shrec16(folder: Path, damage: Literal["cuts", "holes"], split: Split) -> Pairs:
    from partwhole.datasets import Shrec16

    collection = Shrec16(folder, damage)
    try:
        pairs = {"train": collection.train_pairs, "test": collection.test_pairs, "all": collection.pairs}[split]()
    except ValueError as error:  # the remedy, in the words of the command line
        raise ValueError(str(error).replace("pairs() for all", "--split all for all")) from None
    if not len(pairs):
        raise ValueError(f"{folder} has no {damage} of the {split} split")
    return pairs


def _own(folder: Path, split: Split, tell: Note) -> Pairs:
    from partwhole.datasets import FolderPairs

    is_split = any((folder / side / "parts").is_dir() for side in ("train", "test"))
    if (folder / "parts").is_dir() or not is_split:
        pairs = FolderPairs(folder)
        if split != "all":
            tell(f"{folder} is not split into train/ and test/, so all its pairs are used")
        return pairs
    if split == "all":
        raise ValueError(f"{folder} is split into train/ and test/: choose one with --split")
    pairs = FolderPairs(folder / split)
    return pairs.where(lambda part, whole: True, name=f"{folder.resolve().name} {split}")


def _bodies(split: Split) -> Pairs:
    from partwhole.datasets.synthetic.generated import body_pairs

    pairs = body_pairs(_BODIES, 4, 1)
    if split == "all":
        return pairs
    # the pairs are in the order of the bodies
    keys: Any = pairs.keys
    count = sum(part.body < _BODIES - _TEST_BODIES for part, _ in keys)
    chosen = pairs[:count] if split == "train" else pairs[count:]
    chosen.name = f"{pairs.name}, {split}"
    return chosen


def check_recipe_words(name: str | None, given: Mapping[str, Any], *, only: Mapping[str, Any]) -> None:
    """Raise ValueError for options that don't go together.

    Parameters
    ----------
    name : of the recipe; None: there is none
    given : options that name data, or ask something of them; None if not given
    only : options that say something about a recipe
    """
    if name is None:
        words, remedy = only, "goes with --recipe; leave it out, or add --recipe default"
    else:
        words, remedy = given, f"does not go with --recipe {name}, which makes its own pairs; leave one of them out"
    misplaced = [option for option, value in words.items() if value is not None]
    if misplaced:
        raise ValueError(f"{misplaced[0]} {remedy}")
