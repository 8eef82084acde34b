"""Recipes of training pairs: an unlimited sequence of blocks of pairs, each determined by its number.

`DefaultRecipe` makes the pairs that the built-in model `any-pose` was trained on; `BodiesRecipe` needs no files.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from partwhole.datasets.cutting.cuts import Recipe
from partwhole.datasets.pairs import Pair, Pairs
from partwhole.datasets.part_pairs import part_pairs
from partwhole.datasets.shapes import faces, people
from partwhole.datasets.shapes.bodies.body import Plan
from partwhole.datasets.shapes.faces import Faces
from partwhole.datasets.shapes.people import People
from partwhole.datasets.synthetic.posed import Sizes, checked_sizes
from partwhole.datasets.synthetic.retriangulated import (
    face_pairs,
    people_pairs,
    retriangulated_body_pairs,
    thing_pairs,
)
from partwhole.store.arguments import check_number, check_whole_number, checked_path, in_short

# the others are held out
TRAINING_PEOPLE = 34
# kinds of blocks, in turns
_KINDS = ("people", "animals", "people", "bodies", "people", "animals", "people", "creatures", "things", "faces")
_CREATURES: tuple[Plan, ...] = ("centaur", "gorilla", "bird", "monster", "insect", "fish", "monster", "snake")
# small pieces say little about their place, so there are fewer of them
_CUTS: tuple[Recipe, ...] = (*("pfaust-m", "pfaust-h", "cuts", "holes", "views") * 2, "piece")
# what all kinds of blocks have in common
_COMMON: dict[str, Any] = {"recipe": _CUTS, "wholes_per_part": 3, "damage": 0.25, "yaw": 0.0}
# seeds of blocks begin here: lower ones are for sets to test on
_FIRST_SEED = 1_000_000


class PairRecipe(ABC):
    """An unlimited sequence of blocks of pairs. Block k is the same on every machine and in every process.

    A recipe goes to other processes, so a subclass is a frozen dataclass of a module, whose fields decide the pairs.

    Examples
    --------
    >>> from partwhole.datasets import Pair, random_cuts, sphere
    >>> @dataclass(frozen=True)
    ... class Balls(PairRecipe):
    ...     name = "balls"
    ...     n_vertices: int = 200
    ...     def __call__(self, number):
    ...         return [Pair.of_cut(random_cuts(sphere(self.n_vertices), seed=number))]
    >>> Balls().described()
    {'recipe': 'balls', 'n_vertices': 200}
    """

    name: ClassVar[str]

    @abstractmethod
    def __call__(self, number: int) -> Sequence:
        """The pairs of a block; those without ground truth are not trained on."""

    def described(self) -> dict[str, Any]:
        """Everything that decides the pairs, as JSON has it: for the card of a model, and to tell runs apart."""
        chosen = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in chosen.items()}
        return {"recipe": self.name, **plain}


@dataclass(frozen=True)
class Asset:
    """A file that a recipe needs.

    Attributes
    ----------
    file : its name
    what : it holds
    terms : under which it may be used
    """

    file: str
    what: str
    terms: str

    def __str__(self) -> str:
        return f"{self.file} ({self.what}, {self.terms})"


@dataclass(frozen=True)
class DefaultRecipe(PairRecipe):
    """Pairs of people, animals, other creatures, hands, things and heads, whole and damaged, by the number of their block.

    Of ten blocks four are people, two animals, one generated people, animals and hands of an older kind, one other
    creatures, one things and one heads. Part and whole always have different triangulations and poses; half of the people
    and heads are matched to another person. People 34 to 39 occur in no block.

    Parameters
    ----------
    assets : folder with bodies_cc0.npz (see `People`) and faces_mit.npz (see `Faces`)
    seed : decides everything

    Examples
    --------
    >>> DefaultRecipe("nowhere")
    Traceback (most recent call last):
    FileNotFoundError: nowhere holds no bodies_cc0.npz (people from MakeHuman's assets, CC0), no faces_mit.npz (...
    """

    name = "default"
    ASSETS: ClassVar[tuple[Asset, ...]] = (
        Asset(people.FILE, "people from MakeHuman's assets", "CC0"),
        Asset(faces.FILE, "heads of ICT-FaceKit", "MIT licence"),
    )

    assets: Path
    seed: int = 0

    def __init__(self, assets: str | os.PathLike[str], seed: int = 0) -> None:
        folder = checked_path("assets", assets)
        _check_seed(seed)
        missing = [asset for asset in self.ASSETS if not (folder / asset.file).is_file()]
        if missing:
            raise FileNotFoundError(
                f"{folder} holds no {', no '.join(map(str, missing))}; the recipe 'default' needs these files, see "
                "docs/data.md; the recipe 'bodies' needs none"
            )
        object.__setattr__(self, "assets", folder)
        object.__setattr__(self, "seed", seed)

    def described(self) -> dict[str, Any]:
        """Name and seed, and the assets by their content, wherever they lie."""
        assets = [
            {"file": asset.file, "what": asset.what, "terms": asset.terms, "sha256": _sha256(self.assets / asset.file)}
            for asset in self.ASSETS
        ]
        return {"recipe": self.name, "seed": self.seed, "assets": assets}

    def kind(self, number: int) -> str:
        """Of which kind the pairs of a block are."""
        return _KINDS[number % len(_KINDS)]

    def __call__(self, number: int) -> Pairs:
        """The pairs of a block."""
        kind, seed = self.kind(number), _block_seed(self.seed, number)
        rng = np.random.default_rng(seed)
        common = {**_COMMON, "triangulations": 4, "seed": seed}
        if kind == "people":
            which = sorted(rng.choice(TRAINING_PEOPLE, 8, replace=False).tolist())
            return people_pairs(people_in(self.assets), 5, which=which, n_vertices=(900, 2400), **common)
        if kind == "faces":
            return face_pairs(faces_in(self.assets), 8, 4, n_vertices=(1000, 2400), **common)
        common["n_vertices"] = 800, 2200
        if kind == "things":
            return thing_pairs(4, 6, **common)
        plans: dict[str, tuple[Plan, ...]] = {
            "animals": ("animal",),
            "bodies": ("biped", "quadruped", "hand"),
            "creatures": (_CREATURES[number // len(_KINDS) % len(_CREATURES)],),
        }
        return retriangulated_body_pairs(3, 10, plans=plans[kind], **common)


@dataclass(frozen=True)
class BodiesRecipe(PairRecipe):
    """Pairs of generated bodies alone, which need no files: each block is one body in several poses.

    Parameters
    ----------
    plans : kinds of bodies, which take turns from block to block
    n_vertices : of a whole, and of what a part is cut from: a number, or the least and the most
    poses : so many parts in a block, each of another pose, with up to three wholes each
    seed : decides everything

    Examples
    --------
    >>> pairs = BodiesRecipe(plans=("hand",), n_vertices=300, poses=1)(0)
    >>> pairs[0].name
    'hand00-pose1 part 0 → hand00-pose0'
    """

    name = "bodies"

    plans: tuple[Plan, ...] = ("hand", "biped", "animal", "quadruped")
    n_vertices: Sizes = (800, 2200)
    poses: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.plans, str) or not self.plans:
            raise ValueError(f"plans must be several kinds of bodies, such as ('biped', 'hand'), got {self.plans!r}")
        checked_sizes(self.n_vertices)
        check_whole_number("poses", self.poses)
        if self.poses < 1:
            raise ValueError(f"poses={self.poses} must be at least 1")
        _check_seed(self.seed)

    def __call__(self, number: int) -> Pairs:
        """The pairs of a block."""
        plan = self.plans[number % len(self.plans)]
        given = {"n_vertices": self.n_vertices, "triangulations": 2, "seed": _block_seed(self.seed, number)}
        return retriangulated_body_pairs(1, self.poses, plans=plan, **{**_COMMON, **given})


@dataclass(frozen=True)
class PartsRecipe(PairRecipe):
    """Pairs of two parts, to train with `PartsLoss`: those of each block of another recipe that have a whole in common.

    One of the two stands in the place of the whole, see `PartPair.as_pair`. Pairs that share next to nothing are left out.

    Parameters
    ----------
    of : the recipe of parts and wholes
    most : pairs of a block, drawn at random
    least : of the vertices of the one that shares more, the share that the other has too

    Examples
    --------
    >>> pairs = PartsRecipe(BodiesRecipe(plans=("hand",), n_vertices=400, poses=3), most=2)(0)
    >>> len(pairs) <= 2
    True
    """

    name = "parts"

    of: PairRecipe
    most: int = 24
    least: float = 0.1

    def __post_init__(self) -> None:
        if not isinstance(self.of, PairRecipe):
            raise ValueError(f"of must be a recipe such as BodiesRecipe(), got {in_short(self.of)}")
        check_whole_number("most", self.most)
        if self.most < 1:
            raise ValueError(f"most={self.most} must be at least 1")
        check_number("least", self.least)

    def described(self) -> dict[str, Any]:
        """Everything that decides the pairs."""
        return {"recipe": self.name, "of": self.of.described(), "most": self.most, "least": self.least}

    def __call__(self, number: int) -> Pairs:
        """The pairs of a block."""
        found: list[Pair] = []
        every = part_pairs(self.of(number))
        for k in np.random.default_rng(number).permutation(len(every)).tolist():
            pair = every[k]
            if max(pair.a_to_b.share, pair.b_to_a.share) >= self.least:
                found.append(pair.as_pair())
            if len(found) == self.most:
                break
        return Pairs.from_list(found, name=f"parts, block {number}")


def _check_seed(seed: int) -> None:
    check_whole_number("seed", seed)
    if seed < 0:
        raise ValueError(f"seed={seed} must not be negative")


def _block_seed(seed: int, number: int) -> int:
    return _FIRST_SEED * (1 + seed) + number


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=1)
def people_in(assets: Path) -> People:
    return People(assets)


@lru_cache(maxsize=1)
def faces_in(assets: Path) -> Faces:
    return Faces(assets)
