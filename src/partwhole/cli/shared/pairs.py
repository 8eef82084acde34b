"""Which pairs a user means: `--data` and `--set` of `train` and `evaluate`, and what is held out for validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

import numpy as np
import typer

from partwhole.datasets.pairs import Pairs
from partwhole.evaluation.published import Data

SetName = Literal["pfaust-m", "pfaust-h", "shrec16-cuts", "shrec16-holes", "folder", "bodies"]
Split = Literal["train", "test", "all"]

DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Folder with the pairs: a published set, or parts/ and wholes/."),
]
SetOption = Annotated[
    SetName | None,
    typer.Option("--set", help="Which set it is; guessed from the folder if not given. bodies are generated."),
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

# what the sets are read from, below their folder
_FILES = (
    *("pairs.csv", "parts", "wholes", "maps"),
    *("faust_r", "faust_r/corres", "pfaust/ground_truth", "pfaust/PFAUST-M/off", "pfaust/PFAUST-H/off"),
    *("ground_truth", "PFAUST-M/off", "PFAUST-H/off", "../faust_r", "../faust_r/corres"),
    *("partial_off", "off", "masks", "partial_corr", "corres"),
    *("null", "null/off", "cuts", "cuts/off", "cuts/corres", "holes", "holes/off", "holes/corres"),
)
# folders that a set may lie in, below the one that is given
_PLACES = ("", "train", "test", "shrec16", "PFAUST_M", "PFAUST_H", "PFAUST/PFAUST_M", "PFAUST/PFAUST_H")

# generated bodies: so many, and of these the last ones for tests
_BODIES, _TEST_BODIES = 10, 2

Note = Callable[[str], None]


def pairs_from(data: Path | None, name: SetName | None, split: Split, *, note: Note | None = None) -> Pairs:
    """The pairs of a set, read when they are asked for.

    Parameters
    ----------
    data : folder of the set; None for generated bodies
    name : which set it is; None: guessed from what the folder holds
    split : the pairs to train on, to test on, or all
    note : told what was guessed, and what the split means where the set has none of its own
    """
    tell = note or (lambda text: None)
    chosen = set_of(data, name, note=tell)
    if chosen == "bodies":
        if data is not None:
            raise ValueError("--set bodies are generated, and --data is not for them; leave one out")
        return _bodies(split)
    folder = _folder(data)
    if chosen == "folder":
        return _own(folder, split, tell)
    if chosen in ("pfaust-m", "pfaust-h"):
        return _pfaust(folder, "M" if chosen == "pfaust-m" else "H", split)
    return _shrec16(folder, "cuts" if chosen == "shrec16-cuts" else "holes", split)


def set_of(data: Path | None, name: SetName | None, *, note: Note | None = None) -> SetName:
    """The name if it is given, or what the folder seems to hold."""
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
        raise ValueError(f"{folder} holds several sets; choose one with --set {', --set '.join(found)}")
    if note is not None:
        note(f"{folder} is taken for --set {found[0]}")
    return found[0]  # type: ignore[return-value]


def files_of(data: Path | str | None) -> list[Path]:
    """Files, and folders of files, that the pairs of any set in a folder would be read from."""
    return [] if data is None else [Path(data) / place / name for place in _PLACES for name in _FILES]


def held_out(pairs: Pairs, *, share: float = 0.1, seed: int = 0) -> tuple[Pairs, Pairs]:
    """The pairs to train on and those to validate on: a share of the parts, at least one, with all their pairs.

    Wholes may occur on both sides.

    Parameters
    ----------
    pairs : of at least two parts
    share : of the parts that is held out
    seed : decides which

    Examples
    --------
    >>> pairs = Pairs([(part, whole) for part in range(20) for whole in "ab"], lambda part, whole: None, name="some")
    >>> held_out(pairs)
    (Pairs('some': 36), Pairs('some, validation': 4))
    """
    if not 0 < share < 1:
        raise ValueError(f"share={share} of the parts must lie between 0 and 1")
    parts = list(dict.fromkeys(part for part, _ in pairs.keys))
    if len(parts) < 2:
        raise ValueError(f"{pairs.name} has {len(parts)} part(s); to hold some out takes at least two")
    count = min(max(1, round(share * len(parts))), len(parts) - 1)
    chosen = {parts[k] for k in np.random.default_rng(seed).choice(len(parts), count, replace=False)}
    return (
        pairs.subset([key for key in pairs.keys if key[0] not in chosen]),
        pairs.subset([key for key in pairs.keys if key[0] in chosen], name=f"{pairs.name}, validation"),
    )


# folders by which a set is known
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
        raise ValueError(f"--data {data} is no folder")
    return data


def _pfaust(folder: Path, level: Literal["M", "H"], split: Split) -> Pairs:
    from partwhole.datasets import PFaust

    collection = PFaust(folder, level)
    if split == "train":
        return collection.train_pairs()
    if split == "test":
        return collection.test_pairs()
    every = collection.pairs(range(100), range(0, 100, 10))
    # nobody is matched across the split
    return every.subset([(part, whole) for part, whole in every.keys if (part < 80) == (whole < 80)])


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
            tell(f"{folder} is not split into train/ and test/, so all its pairs are taken")
        return pairs
    if split == "all":
        raise ValueError(f"{folder} is split into train/ and test/: choose one with --split")
    pairs = FolderPairs(folder / split)
    return pairs.subset(pairs.keys, name=f"{folder.resolve().name} {split}")


def _bodies(split: Split) -> Pairs:
    from partwhole.datasets.synthetic.generated import body_pairs

    pairs = body_pairs(_BODIES, 4, 1)
    if split == "all":
        return pairs
    first = _BODIES - _TEST_BODIES
    chosen = [(part, whole) for part, whole in pairs.keys if (part.body < first) == (split == "train")]
    return pairs.subset(chosen, name=f"{pairs.name}, {split}")
