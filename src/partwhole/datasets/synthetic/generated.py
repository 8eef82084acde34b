"""Pairs of generated bodies: parts cut from bodies in many poses, matched to the same bodies in others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from partwhole.datasets.cutting.cuts import Cut, Recipe, random_cuts
from partwhole.datasets.pairs import GroundTruth, Pair, Pairs
from partwhole.datasets.shapes.bodies import Body, make_body
from partwhole.datasets.shapes.bodies.body import Plan
from partwhole.mesh import Mesh
from partwhole.store.arguments import check_whole_number

Wholes = Literal["rest", "others", "all"]

# what a stream of random numbers is for; equal numbers for two purposes would tie, say, poses to proportions
_PROPORTIONS, _POSE, _CUT = 1, 2, 3


class WholeKey(NamedTuple):
    """A whole of `body_pairs`: body `body`, of plan `plan`, in pose `pose`; pose 0 is the rest pose."""

    plan: str
    body: int
    pose: int


class PartKey(NamedTuple):
    """A part of `body_pairs`: the cut of number `part` in pose `pose` of body `body`, of plan `plan`."""

    plan: str
    body: int
    pose: int
    part: int


@dataclass(frozen=True, init=False)
class BodyPoses(Mapping):  # not of str to Mesh: a type checker at run time would make a body to look at it
    """Bodies in several poses, by name; each is made when it is asked for, in metres.

    The name "biped03-pose1" is pose 1 of body 3; pose 0 is the rest pose. All poses of a body have the same faces. What a
    name means depends on the name and the settings only: the first five of ten bodies are the same as five bodies.

    Parameters
    ----------
    n_bodies : number of bodies, of random proportions
    poses : number of poses of each, without the rest pose
    plans : kind of the bodies, see `make_body`; several take turns
    n_vertices : of each body, at least 500
    strength : of the poses, see `Body.pose`
    seed : decides proportions and poses

    Examples
    --------
    >>> hands = BodyPoses(2, 1, plans="hand", n_vertices=500)
    >>> list(hands)
    ['hand00-pose0', 'hand00-pose1', 'hand01-pose0', 'hand01-pose1']
    >>> hands["hand01-pose1"]
    Mesh('hand01-pose1': 500 vertices, 996 faces, 0 boundary loops, 1 components)
    """

    n_bodies: int
    poses: int
    plans: tuple[Plan, ...]
    n_vertices: int
    strength: float
    seed: int

    def __init__(
        self,
        n_bodies: int = 4,
        poses: int = 4,
        *,
        plans: Plan | Sequence[Plan] = "biped",
        n_vertices: int = 1000,
        strength: float = 1.0,
        seed: int = 0,
    ) -> None:
        known = get_args(Plan)
        listed: Any = (plans,) if isinstance(plans, str) else plans
        kinds: tuple[Plan, ...] = tuple(listed) if isinstance(listed, Sequence) else ()
        if not kinds or not set(kinds) <= set(known):
            raise ValueError(f"plans must be one or several of {', '.join(map(repr, known))}, got {plans!r}")
        for name, value in (("n_bodies", n_bodies), ("poses", poses)):
            check_whole_number(name, value)
            if value < 1:
                raise ValueError(f"{name}={value} must be at least 1")
        check_whole_number("seed", seed)
        if seed < 0:
            raise ValueError(f"seed={seed} must not be negative")
        given: tuple[Any, ...] = (n_bodies, poses, kinds, n_vertices, strength, seed)
        for field, held in zip(self.__dataclass_fields__, given, strict=True):
            object.__setattr__(self, field, held)

    @property
    def keys_of_all(self) -> tuple[WholeKey, ...]:
        """Every body in every pose, the rest pose first."""
        numbers = product(range(self.n_bodies), range(self.poses + 1))
        return tuple(WholeKey(self.plans[body % len(self.plans)], body, pose) for body, pose in numbers)

    def name_of(self, key: WholeKey) -> str:
        return f"{key.plan}{key.body:02d}-pose{key.pose}"

    def body(self, number: int) -> Body:
        """The body of this number, in its rest pose."""
        return kept_body(self.plans[number % len(self.plans)], self.n_vertices, self.seed, number)

    def posed(self, key: WholeKey) -> Mesh:
        """The body of the key in its pose."""
        body = self.body(key.body)
        mesh = (
            body.rest if key.pose == 0 else body.pose(self._random(_POSE, key.body, key.pose), strength=self.strength)
        )
        return Mesh(mesh.vertices, mesh.faces, name=self.name_of(key))

    def cut(self, mesh: Mesh, key: PartKey, recipe: Recipe) -> Cut:
        """The part of the key, cut from its body in its pose."""
        return random_cuts(mesh, recipe, self._random(_CUT, key.body, key.pose, key.part))

    def describe(self) -> dict[str, Any]:
        """The settings that the meshes depend on, in plain values; not the number of bodies and poses."""
        return {
            "kind": "bodies",
            "plans": list(self.plans),
            "n_vertices": self.n_vertices,
            "strength": self.strength,
            "seed": self.seed,
        }

    def _random(self, *numbers: int) -> np.random.Generator:
        return _random(self.seed, *numbers)

    def __getitem__(self, name: str) -> Mesh:
        key = next((key for key in self.keys_of_all if self.name_of(key) == name), None)
        if key is None:
            raise KeyError(name)
        return self.posed(key)

    def __iter__(self) -> Iterator[str]:
        return map(self.name_of, self.keys_of_all)

    def __len__(self) -> int:
        return self.n_bodies * (self.poses + 1)


def body_pairs(
    n_bodies: int = 4,
    poses: int = 4,
    parts_per_pose: int = 1,
    *,
    plans: Plan | Sequence[Plan] = "biped",
    n_vertices: int = 1000,
    recipe: Recipe = "pfaust-m",
    wholes: Wholes = "rest",
    strength: float = 1.0,
    seed: int = 0,
    name: str | None = None,
) -> Pairs:
    """Parts cut from posed bodies, with the same bodies in other poses as wholes, and exact ground truth.

    A body has the same vertices in every pose, so vertex i of a cut lies at vertex `vertex_map[i]` of every pose. Each
    whole has area 1; a part has the scale of the whole that it was cut from (areas of poses differ by less than 1 %), so
    the same part is the same surface in all its pairs, and so is a whole, and what is computed on it is computed once.

    Keys are `PartKey` (plan, body, pose, part) and `WholeKey` (plan, body, pose), so that bodies, poses or plans can be
    held out. A body is made when a pair of it is first asked for, in about a second, and kept.

    Parameters
    ----------
    n_bodies : bodies of random proportions
    poses : poses of each that parts are cut from
    parts_per_pose : parts cut from each of these
    plans : kind of the bodies, see `make_body`; several take turns
    n_vertices : of each body, at least 500
    recipe : how parts are cut, see `random_cuts`
    wholes : what each part is matched to: "rest", its body in the rest pose; "others", the rest pose and every pose but
        its own; "all", its own pose too
    strength : of the poses, see `Body.pose`
    seed : decides everything; more bodies, poses or parts change nothing about the first ones
    name : what to call the set in tables

    Examples
    --------
    >>> pairs = body_pairs(3, 2, 2, plans="hand", n_vertices=500, seed=1)
    >>> len(pairs), pairs[0].name, pairs[0].whole is pairs[3].whole
    (12, 'hand00-pose1 part 0 → hand00-pose0', True)
    >>> train = pairs.where(lambda part, whole: part.body < 2)
    >>> test = pairs.where(lambda part, whole: part.body == 2)
    >>> len(train), len(test)
    (8, 4)
    """
    check_whole_number("parts_per_pose", parts_per_pose)
    if parts_per_pose < 1:
        raise ValueError(f"parts_per_pose={parts_per_pose} must be at least 1")
    for what, choice, known in (("wholes", wholes, get_args(Wholes)), ("recipe", recipe, get_args(Recipe))):
        if choice not in known:
            raise ValueError(f"{what} must be one of {', '.join(map(repr, known))}, got {choice!r}")
    bodies = BodyPoses(n_bodies, poses, plans=plans, n_vertices=n_vertices, strength=strength, seed=seed)

    @cache
    def whole(key: WholeKey) -> tuple[Mesh, float]:
        return bodies.posed(key).to_unit_area()

    @cache
    def part(key: PartKey) -> tuple[Mesh, GroundTruth]:
        cut = bodies.cut(whole(WholeKey(key.plan, key.body, key.pose))[0], key, recipe)
        label = f"{cut.whole.name} part {key.part}"
        centred = cut.part.vertices - cut.part.vertices.mean(axis=0)
        return Mesh(centred, cut.part.faces, name=label), GroundTruth.of_map(cut.vertex_map)

    @cache
    def load(of_part: PartKey, of_whole: WholeKey) -> Pair:
        (piece, truth), (surface, factor) = part(of_part), whole(of_whole)
        return Pair(piece, surface, truth, name=f"{piece.name} → {surface.name}", scale=factor)

    keys: list[tuple[PartKey, WholeKey]] = []
    for plan, body, pose in bodies.keys_of_all:
        if pose == 0:
            continue
        matched = {"rest": {0}, "others": {*range(poses + 1)} - {pose}, "all": {*range(poses + 1)}}[wholes]
        own = [WholeKey(plan, body, other) for other in sorted(matched)]
        keys += product([PartKey(plan, body, pose, k) for k in range(parts_per_pose)], own)
    return Pairs(keys, load, name=name or f"{n_bodies} bodies ({', '.join(bodies.plans)}), {recipe}")


@lru_cache(maxsize=64)
def kept_body(plan: Plan, n_vertices: int, seed: int, number: int) -> Body:
    """Body of this number; sets that differ in parts or recipes, as for training and for tests, share their bodies."""
    return make_body(plan, n_vertices, seed=_random(seed, _PROPORTIONS, number))


def _random(seed: int, what: int, *numbers: int) -> np.random.Generator:
    """A random stream for each purpose and numbers; padded, since trailing zeros would not distinguish streams."""
    return np.random.default_rng([seed, what, *numbers, *[0] * (3 - len(numbers))])
