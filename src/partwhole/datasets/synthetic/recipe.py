"""`DefaultRecipe`: the pairs that the built-in model `default` is trained on, in blocks without end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from partwhole.datasets.cutting.cuts import Recipe
from partwhole.datasets.pairs import Pairs
from partwhole.datasets.shapes.bodies.body import Plan
from partwhole.datasets.shapes.faces import Faces
from partwhole.datasets.shapes.people import People
from partwhole.datasets.synthetic.retriangulated import (
    face_pairs,
    people_pairs,
    retriangulated_body_pairs,
    thing_pairs,
)

# the others are held out
TRAINING_PEOPLE = 34
# kinds of blocks, in turns
_KINDS = ("people", "animals", "people", "bodies", "people", "animals", "people", "creatures", "things", "faces")
_CREATURES: tuple[Plan, ...] = ("centaur", "gorilla", "bird", "monster", "insect", "fish", "monster", "snake")
# small pieces say little about their place, so there are fewer of them
_CUTS: tuple[Recipe, ...] = (*("pfaust-m", "pfaust-h", "cuts", "holes", "views") * 2, "piece")
# seeds of blocks begin here: lower ones are for sets to test on
_FIRST_SEED = 1_000_000


@dataclass(frozen=True)
class DefaultRecipe:
    """Pairs of people, animals, other creatures, hands, things and heads, whole and damaged, by the number of their block.

    Of ten blocks four are people, two animals, one generated people, animals and hands of an older kind, one other
    creatures, one things and one heads. Part and whole always have different triangulations and poses; half of the people
    and heads are matched to another person. People 34 to 39 occur in no block.

    Parameters
    ----------
    assets : folder with bodies_cc0.npz (see `People`) and faces_mit.npz (see `Faces`)
    seed : decides everything
    """

    assets: Path
    seed: int = 0

    def kind(self, number: int) -> str:
        """Of which kind the pairs of a block are."""
        return _KINDS[number % len(_KINDS)]

    def __call__(self, number: int) -> Pairs:
        """The pairs of a block."""
        kind, seed = self.kind(number), _FIRST_SEED * (1 + self.seed) + number
        rng = np.random.default_rng(seed)
        common: dict[str, Any] = {"recipe": _CUTS, "wholes_per_part": 3, "triangulations": 4, "damage": 0.25}
        common |= {"yaw": 0.0, "seed": seed}
        if kind == "people":
            which = sorted(rng.choice(TRAINING_PEOPLE, 8, replace=False).tolist())
            return people_pairs(_people(self.assets), 5, which=which, n_vertices=(900, 2400), **common)
        if kind == "faces":
            return face_pairs(_faces(self.assets), 8, 4, n_vertices=(1000, 2400), **common)
        common["n_vertices"] = 800, 2200
        if kind == "things":
            return thing_pairs(4, 6, **common)
        plans: dict[str, tuple[Plan, ...]] = {
            "animals": ("animal",),
            "bodies": ("biped", "quadruped", "hand"),
            "creatures": (_CREATURES[number // len(_KINDS) % len(_CREATURES)],),
        }
        return retriangulated_body_pairs(3, 10, plans=plans[kind], **common)


@lru_cache(maxsize=1)
def _people(assets: Path) -> People:
    return People(assets)


@lru_cache(maxsize=1)
def _faces(assets: Path) -> Faces:
    return Faces(assets)
