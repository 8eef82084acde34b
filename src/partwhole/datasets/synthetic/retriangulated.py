"""Pairs whose part and whole never share a triangulation: posed people, and generated bodies of several plans.

A network that sees the same triangles on part and whole learns to compare triangles. Here each surface is retriangulated
before it is cut or matched, and has a random yaw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import get_args

import numpy as np
from jaxtyping import Float

from partwhole.datasets.cutting.cuts import Recipe, random_cuts
from partwhole.datasets.cutting.triangulations import Triangulation, locate, retriangulate
from partwhole.datasets.pairs import GroundTruth, Pair, Pairs
from partwhole.datasets.shapes.bodies.body import Plan
from partwhole.datasets.shapes.bodies.rig import rotation_about
from partwhole.datasets.shapes.people import People
from partwhole.datasets.synthetic.generated import BodyPoses, PartKey, WholeKey
from partwhole.mesh import Mesh
from partwhole.store.arguments import in_short

Sizes = int | tuple[int, int]

# what a stream of random numbers is for
_POSE, _SIZE, _TRIANGULATION, _YAW, _CUT, _WHOLES, _RECIPE = range(11, 18)
# how many times more vertices a generated body has than its largest triangulation
_FINER = 2.5
_KEPT = 256


def people_pairs(
    people: People,
    poses: int = 10,
    parts_per_pose: int = 1,
    *,
    which: Sequence[int] | None = None,
    n_vertices: Sizes = (2000, 5000),
    recipe: Recipe | Sequence[Recipe] = ("pfaust-m", "pfaust-h", "cuts", "holes"),
    wholes_per_part: int = 1,
    same_person: float = 0.5,
    yaw: float = 180.0,
    triangulations: int = 16,
    strength: float = 1.0,
    seed: int = 0,
    name: str | None = None,
) -> Pairs:
    """Parts cut from people in random poses; the whole is the same person, or another one, in another pose.

    Part and whole have different triangulations, of different sizes, and different yaw angles. The ground truth is the
    same point of the people's common surface, as a point in a triangle of the whole; `pairs.rounded()` gives vertices.
    Each whole has area 1; a part has the scale of the person that it was cut from, at area 1 in the triangulation that it
    was cut from. Coarse triangulations lose up to 4 % of the area (2000 vertices), so lengths agree to within 2 %.

    Keys are `PartKey` ("person", person, pose, part) and `WholeKey` ("person", person, pose), pose 0 being the rest pose.
    A triangulation takes seconds to make and is shared by all people; after that a pair takes a fraction of a second.

    Parameters
    ----------
    people : the people to pose
    poses : of each person
    parts_per_pose : parts cut from each of these
    which : numbers of the people; all if None. Hold some out for tests
    n_vertices : of a whole, and of what a part is cut from: a number, or the least and the most
    recipe : how parts are cut, see `random_cuts`; one of several is drawn for each part
    wholes_per_part : number of different wholes for each part
    same_person : share of the pairs whose whole is the person that the part was cut from
    yaw : every surface is rotated about the vertical, y, by a random angle between −yaw and yaw, in degrees
    triangulations : how many there are in all, half for parts and half for wholes
    strength : of the poses, see `People.pose`
    seed : decides everything
    name : what to call the set in tables
    """
    if not isinstance(people, People):
        raise ValueError(f"people must be People, got {in_short(people)}; use pw.datasets.People(path)")
    numbers = tuple(range(len(people))) if which is None else tuple(int(k) for k in which)
    beyond = [k for k in numbers if not 0 <= k < len(people)]
    if beyond or not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"which={which} must name different people out of 0 to {len(people) - 1}, at least one")
    low, high = _checked_sizes(n_vertices, people.n_vertices)

    def fine(body: int, pose: int) -> Float[np.ndarray, "f 3"]:
        if pose == 0:
            return people.rest(body).vertices
        return people.pose_vertices(body, _random(seed, _POSE, body, pose), strength)

    posed = _PosedBodies(
        [WholeKey("person", k, pose) for k in numbers for pose in range(poses + 1)],
        people.rest,
        fine,
        dict.fromkeys(numbers, numbers),
        (low, high),
        triangulations,
        yaw,
        seed,
    )
    return _pairs_of(
        posed,
        _checked_recipes(recipe),
        poses=poses,
        parts=parts_per_pose,
        wholes=wholes_per_part,
        same=same_person,
        name=name or f"{len(numbers)} people",
    )


def retriangulated_body_pairs(
    n_bodies: int = 4,
    poses: int = 4,
    parts_per_pose: int = 1,
    *,
    plans: Plan | Sequence[Plan] = ("biped", "quadruped", "hand"),
    n_vertices: Sizes = (1000, 2000),
    recipe: Recipe | Sequence[Recipe] = ("pfaust-m", "pfaust-h", "cuts", "holes"),
    wholes_per_part: int = 1,
    yaw: float = 180.0,
    triangulations: int = 4,
    strength: float = 1.0,
    seed: int = 0,
    name: str | None = None,
) -> Pairs:
    """Like `body_pairs`, with a different triangulation and yaw for each part and each whole.

    The whole is the body that the part was cut from, in another pose. Parameters are those of `people_pairs` and of
    `body_pairs`; `triangulations` are made for each body.

    Examples
    --------
    >>> pairs = retriangulated_body_pairs(1, 1, plans="hand", n_vertices=500, recipe="pfaust-m", triangulations=2)
    >>> pairs[0].name, pairs[0].ground_truth.kind
    ('hand00-pose1 part 0 → hand00-pose0', 'barycentric')
    """
    low, high = _checked_sizes(n_vertices)
    bodies = BodyPoses(n_bodies, poses, plans=plans, n_vertices=int(_FINER * high), strength=strength, seed=seed)
    posed = _PosedBodies(
        list(bodies.keys_of_all),
        lambda body: bodies.body(body).rest,
        lambda body, pose: bodies.posed(WholeKey(bodies.plans[body % len(bodies.plans)], body, pose)).vertices,
        {body: (body,) for body in range(n_bodies)},
        (low, high),
        triangulations,
        yaw,
        seed,
    )
    return _pairs_of(
        posed,
        _checked_recipes(recipe),
        poses=poses,
        parts=parts_per_pose,
        wholes=wholes_per_part,
        same=1.0,
        name=name or f"{n_bodies} bodies ({', '.join(bodies.plans)})",
    )


@dataclass(frozen=True, eq=False)
class _PosedBodies:
    """Bodies in poses, some of which share a fine triangulation, and the coarse triangulations made of it.

    Attributes
    ----------
    keys : every body in every pose
    rest : a body at rest, by its number
    fine : vertices of a body in a pose
    family : for each body all that have the same fine triangulation, itself included
    """

    keys: list[WholeKey]
    rest: Callable[[int], Mesh]
    fine: Callable[[int, int], Float[np.ndarray, "f 3"]]
    family: dict[int, tuple[int, ...]]
    sizes: tuple[int, int]
    triangulations: int
    yaw: float
    seed: int

    def __post_init__(self) -> None:
        if self.triangulations < 2:
            raise ValueError(f"triangulations={self.triangulations} must be at least 2, one for parts, one for wholes")
        if not 0 <= self.yaw <= 180:
            raise ValueError(f"yaw={self.yaw} must lie between 0 and 180 degrees")

    def random(self, *numbers: int) -> np.random.Generator:
        return _random(self.seed, *numbers)

    def number_of_part(self, key: PartKey) -> int:
        """Which triangulation the part is cut from: one of the even numbers."""
        halves = (self.triangulations + 1) // 2
        return 2 * int(self.random(_TRIANGULATION, key.body, key.pose, key.part + 1).integers(halves))

    def number_of_whole(self, key: WholeKey) -> int:
        """Which triangulation the whole has: one of the odd numbers."""
        return 1 + 2 * int(self.random(_TRIANGULATION, key.body, key.pose).integers(self.triangulations // 2))

    @cached_property
    def triangulation(self) -> Callable[[int, int], Triangulation]:
        """Triangulation of this number, for the family of bodies that begins with `first`."""

        @cache
        def made(first: int, number: int) -> Triangulation:
            size = int(self.random(_SIZE, first, number).integers(self.sizes[0], self.sizes[1] + 1))
            stream = self.random(_SIZE, first, number, 1)
            # numbers 0 and 1 are decimated, 2 and 3 evened out, and so on
            return retriangulate(self._model(first, number), size, even=number // 2 % 2 == 1, seed=stream)

        return made

    @cached_property
    def crossing(self) -> Callable[[int, int, int], Triangulation]:
        """Where the vertices of one triangulation lie on another, of one family."""

        @cache
        def found(first: int, source: int, target: int) -> Triangulation:
            model = self._model(first, target)
            return locate(self.triangulation(first, source), self.triangulation(first, target), model)

        return found

    def _model(self, first: int, number: int) -> Mesh:
        members = self.family[first]
        return self.rest(members[number % len(members)])

    def surface(self, key: WholeKey, number: int, name: str) -> tuple[Mesh, float]:
        """A body in a pose, in a triangulation of its family, at area 1 and centred."""
        return (
            self.triangulation(self.family[key.body][0], number)
            .of(self.fine(key.body, key.pose), name=name)
            .to_unit_area()
        )

    def turned(self, mesh: Mesh, *numbers: int) -> Mesh:
        angle = np.radians(self.yaw) * self.random(_YAW, *numbers).uniform(-1, 1)
        centred = mesh.vertices - mesh.vertices.mean(axis=0)
        return Mesh(centred @ rotation_about((0.0, 1.0, 0.0), angle).T, mesh.faces, name=mesh.name)


def _pairs_of(
    posed: _PosedBodies, recipes: tuple[Recipe, ...], *, poses: int, parts: int, wholes: int, same: float, name: str
) -> Pairs:
    for what, value in (("poses", poses), ("parts_per_pose", parts), ("wholes_per_part", wholes)):
        if value < 1:
            raise ValueError(f"{what}={value} must be at least 1")
    if not 0 <= same <= 1:
        raise ValueError(f"same_person={same} must lie between 0 and 1")

    @lru_cache(maxsize=_KEPT)
    def whole(key: WholeKey) -> tuple[Mesh, float]:
        mesh, factor = posed.surface(key, posed.number_of_whole(key), f"{key.plan}{key.body:02d}-pose{key.pose}")
        return posed.turned(mesh, key.body, key.pose), factor

    @lru_cache(maxsize=_KEPT)
    def part(key: PartKey) -> tuple[Mesh, np.ndarray]:
        label = f"{key.plan}{key.body:02d}-pose{key.pose} part {key.part}"
        mesh, _ = posed.surface(WholeKey(*key[:3]), posed.number_of_part(key), label)
        numbers = key.body, key.pose, key.part + 1
        recipe = recipes[int(posed.random(_RECIPE, *numbers).integers(len(recipes)))]
        cut = random_cuts(mesh, recipe, posed.random(_CUT, *numbers))
        return posed.turned(cut.part, *numbers), cut.vertex_map

    def load(of_part: PartKey, of_whole: WholeKey) -> Pair:
        (piece, vertex_map), (surface, factor) = part(of_part), whole(of_whole)
        first = posed.family[of_part.body][0]
        places = posed.crossing(first, posed.number_of_part(of_part), posed.number_of_whole(of_whole))
        truth = GroundTruth(np.arange(len(vertex_map)), places.corners[vertex_map], places.weights[vertex_map])
        return Pair(piece, surface, truth, name=f"{piece.name} → {surface.name}", scale=factor)

    keys: list[tuple[PartKey, WholeKey]] = []
    for plan, body, pose in (key for key in posed.keys if key.pose > 0):
        own = [key for key in posed.keys if key.body == body and key.pose != pose]
        family = set(posed.family[body])
        others = [key for key in posed.keys if key.body in family and key.body != body]
        for number in range(parts):
            rng = posed.random(_WHOLES, body, pose, number)
            chosen = _choose(rng, own, others, wholes, same)
            keys += [(PartKey(plan, body, pose, number), key) for key in chosen]
    return Pairs(keys, load, name=name)


def _choose(
    rng: np.random.Generator, own: list[WholeKey], others: list[WholeKey], count: int, same: float
) -> list[WholeKey]:
    """`count` different wholes, of the same body or of others; fewer if there are not as many."""
    own, others = ([keys[k] for k in rng.permutation(len(keys))] for keys in (own, others))
    chosen: list[WholeKey] = []
    while len(chosen) < count and (own or others):
        from_own = own if rng.random() < same or not others else others
        chosen.append((from_own or others).pop())
    return chosen


def _checked_sizes(n_vertices: Sizes, fine: int | None = None) -> tuple[int, int]:
    low, high = (n_vertices, n_vertices) if isinstance(n_vertices, int) else n_vertices
    if not 4 <= low <= high or (fine is not None and high >= fine):
        limit = "" if fine is None else f" and less than {fine}, which the people have"
        raise ValueError(f"n_vertices={n_vertices} must be a number or (least, most), at least 4{limit}")
    return low, high


def _checked_recipes(recipe: Recipe | Sequence[Recipe]) -> tuple[Recipe, ...]:
    recipes: tuple[Recipe, ...] = (recipe,) if isinstance(recipe, str) else tuple(recipe)
    known = get_args(Recipe)
    if not recipes or not set(recipes) <= set(known):
        raise ValueError(f"recipe must be one or several of {', '.join(map(repr, known))}, got {recipe!r}")
    return recipes


def _random(seed: int, what: int, *numbers: int) -> np.random.Generator:
    """A random stream for each purpose and numbers; padded, since trailing zeros would not distinguish streams."""
    return np.random.default_rng([seed, what, *numbers, *[0] * (3 - len(numbers))])
