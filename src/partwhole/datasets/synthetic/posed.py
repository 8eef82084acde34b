"""Surfaces in poses, retriangulated, and the pairs of parts and wholes that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import get_args

import numpy as np
from jaxtyping import Float, Int

from partwhole.datasets.cutting.cuts import Recipe, random_cuts
from partwhole.datasets.cutting.damage import damaged
from partwhole.datasets.cutting.triangulations import PointFinder, Triangulation, locate, retriangulate
from partwhole.datasets.pairs import GroundTruth, Pair, Pairs
from partwhole.datasets.shapes.bodies.rig import rotation_about
from partwhole.datasets.synthetic.generated import PartKey, WholeKey
from partwhole.mesh import Mesh

Sizes = int | tuple[int, int]

# what a stream of random numbers is for
POSE, SHAPE = 11, 19
_SIZE, _TRIANGULATION, _YAW, _CUT, _WHOLES, _RECIPE, _DAMAGE = range(12, 19)
_KEPT = 256


@dataclass(frozen=True, kw_only=True)
class PairOptions:
    """How pairs are made of surfaces in poses: the options that `people_pairs`, `thing_pairs` and their like share.

    Attributes
    ----------
    n_vertices : of a whole, and of what a part is cut from: a number, or the least and the most
    recipe : how parts are cut, see `random_cuts`; one of several is drawn for each part
    parts_per_pose : parts cut from each pose
    wholes_per_part : number of different wholes for each part
    yaw : every surface is rotated about the vertical, y, by a random angle between −yaw and yaw, in degrees
    triangulations : how many there are of the surfaces that can share one, half for parts and half for wholes
    strength : of the poses
    damage : share of the parts that get the damage of scans: noise, holes torn or filled, other boundaries, uneven
        triangles, two pieces; the ground truth then covers the vertices that have one
    seed : decides everything
    name : what to call the set in tables; None: by what it holds
    """

    n_vertices: Sizes
    recipe: Recipe | Sequence[Recipe] = ("pfaust-m", "pfaust-h", "cuts", "holes")
    parts_per_pose: int = 1
    wholes_per_part: int = 1
    yaw: float = 180.0
    triangulations: int = 4
    strength: float = 1.0
    damage: float = 0.0
    seed: int = 0
    name: str | None = None

    def __post_init__(self) -> None:
        checked_recipes(self.recipe)
        for count in ("parts_per_pose", "wholes_per_part"):
            if getattr(self, count) < 1:
                raise ValueError(f"{count}={getattr(self, count)} must be at least 1")
        if not 0 <= self.damage <= 1:
            raise ValueError(f"damage={self.damage} must lie between 0 and 1")
        if self.triangulations < 2:
            raise ValueError(f"triangulations={self.triangulations} must be at least 2, one for parts, one for wholes")
        if not 0 <= self.yaw <= 180:
            raise ValueError(f"yaw={self.yaw} must lie between 0 and 180 degrees")


@dataclass(frozen=True, eq=False)
class PosedSurfaces:
    """Surfaces in poses, some of which share a fine triangulation, and the coarse triangulations made of it.

    Whatever can be deformed without a change of its triangulation will do: bodies, people, things, heads. Here they are
    all called bodies.

    Attributes
    ----------
    keys : every body in every pose
    rest : a body at rest, by its number
    fine : vertices of a body in a pose
    family : for each body all that have the same fine triangulation, itself included
    sizes : least and most vertices of a coarse triangulation
    options : how many triangulations each family has, the largest yaw and the seed, and how pairs are made
    """

    keys: list[WholeKey]
    rest: Callable[[int], Mesh]
    fine: Callable[[int, int], Float[np.ndarray, "f 3"]]
    family: dict[int, tuple[int, ...]]
    sizes: tuple[int, int]
    options: PairOptions

    def random(self, *numbers: int) -> np.random.Generator:
        return random_stream(self.options.seed, *numbers)

    def number_of_part(self, key: PartKey) -> int:
        """Which triangulation the part is cut from: one of the even numbers."""
        halves = (self.options.triangulations + 1) // 2
        return 2 * int(self.random(_TRIANGULATION, key.body, key.pose, key.part + 1).integers(halves))

    def number_of_whole(self, key: WholeKey) -> int:
        """Which triangulation the whole has: one of the odd numbers."""
        return 1 + 2 * int(self.random(_TRIANGULATION, key.body, key.pose).integers(self.options.triangulations // 2))

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

    @cached_property
    def finder(self) -> Callable[[int, int], PointFinder]:
        """Finds points on a triangulation of the family that begins with `first`."""

        @lru_cache(maxsize=_KEPT)
        def made(first: int, target: int) -> PointFinder:
            return PointFinder(self.triangulation(first, target).of(self._model(first, target).vertices))

        return made

    def crossing_inside(
        self, first: int, source: int, target: int, corners: Int[np.ndarray, "g 3"], weights: Float[np.ndarray, "g 3"]
    ) -> Triangulation:
        """Where points in the triangles of one triangulation lie on another, of one family."""
        model, here = self._model(first, target), self.triangulation(first, source)
        points = here.points(model.vertices)
        directions = here.points(model.vertex_normals)
        return self.finder(first, target).places(
            *(np.einsum("gc,gcd->gd", weights, held[corners]) for held in (points, directions))
        )

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
        angle = np.radians(self.options.yaw) * self.random(_YAW, *numbers).uniform(-1, 1)
        centred = mesh.vertices - mesh.vertices.mean(axis=0)
        return Mesh(centred @ rotation_about((0.0, 1.0, 0.0), angle).T, mesh.faces, name=mesh.name)


@dataclass(frozen=True, eq=False)
class _Part:
    """A part, where its vertices lie in the triangulation that it was cut from, and which of them that is known of.

    Where `weights` is None, vertex i is vertex `corners[i, 0]` there.
    """

    mesh: Mesh
    vertices: Int[np.ndarray, "g"]
    corners: Int[np.ndarray, "g c"]
    weights: Float[np.ndarray, "g c"] | None


def pairs_of(posed: PosedSurfaces, poses: int, name: str, *, same_person: float = 1.0) -> Pairs:
    """Parts cut from every pose but the first, each with wholes of its family in other poses.

    Parameters
    ----------
    posed : the surfaces, and how pairs are made of them
    poses : of each body, without its rest pose
    name : of the set, unless the options have one
    same_person : share of the pairs whose whole is the body that the part was cut from
    """
    options = posed.options
    recipes = checked_recipes(options.recipe)
    if poses < 1:
        raise ValueError(f"poses={poses} must be at least 1")
    if not 0 <= same_person <= 1:
        raise ValueError(f"same_person={same_person} must lie between 0 and 1")

    @lru_cache(maxsize=_KEPT)
    def whole(key: WholeKey) -> tuple[Mesh, float]:
        mesh, factor = posed.surface(key, posed.number_of_whole(key), f"{key.plan}{key.body:02d}-pose{key.pose}")
        return posed.turned(mesh, key.body, key.pose), factor

    @lru_cache(maxsize=_KEPT)
    def part(key: PartKey) -> _Part:
        label = f"{key.plan}{key.body:02d}-pose{key.pose} part {key.part}"
        mesh, _ = posed.surface(WholeKey(*key[:3]), posed.number_of_part(key), label)
        numbers = key.body, key.pose, key.part + 1
        drawn = recipes[int(posed.random(_RECIPE, *numbers).integers(len(recipes)))]
        cut = random_cuts(mesh, drawn, posed.random(_CUT, *numbers))
        stream = posed.random(_DAMAGE, *numbers)
        if stream.random() < options.damage:
            found = damaged(cut.part, stream, scale=1.0)
            return _Part(
                posed.turned(found.mesh, *numbers), found.vertices, cut.vertex_map[found.corners], found.weights
            )
        return _Part(posed.turned(cut.part, *numbers), np.arange(len(cut.vertex_map)), cut.vertex_map[:, None], None)

    def load(of_part: PartKey, of_whole: WholeKey) -> Pair:
        piece, (surface, factor) = part(of_part), whole(of_whole)
        crossed = posed.family[of_part.body][0], posed.number_of_part(of_part), posed.number_of_whole(of_whole)
        if piece.weights is None:
            places, rows = posed.crossing(*crossed), piece.corners[:, 0]
            truth = GroundTruth(piece.vertices, places.corners[rows], places.weights[rows])
        else:
            places = posed.crossing_inside(*crossed, piece.corners, piece.weights)
            truth = GroundTruth(piece.vertices, places.corners, places.weights)
        return Pair(piece.mesh, surface, truth, name=f"{piece.mesh.name} → {surface.name}", scale=factor)

    keys: list[tuple[PartKey, WholeKey]] = []
    for plan, body, pose in (key for key in posed.keys if key.pose > 0):
        own = [key for key in posed.keys if key.body == body and key.pose != pose]
        family = set(posed.family[body])
        others = [key for key in posed.keys if key.body in family and key.body != body]
        for number in range(options.parts_per_pose):
            rng = posed.random(_WHOLES, body, pose, number)
            chosen = _choose(rng, own, others, options.wholes_per_part, same_person)
            keys += [(PartKey(plan, body, pose, number), key) for key in chosen]
    return Pairs(keys, load, name=options.name or name)


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


def checked_sizes(n_vertices: Sizes, fine: int | None = None) -> tuple[int, int]:
    low, high = (n_vertices, n_vertices) if isinstance(n_vertices, int) else n_vertices
    if not 4 <= low <= high or (fine is not None and high >= fine):
        limit = "" if fine is None else f" and less than {fine}, which the shapes have"
        raise ValueError(f"n_vertices={n_vertices} must be a number or (least, most), at least 4{limit}")
    return low, high


def checked_recipes(recipe: Recipe | Sequence[Recipe]) -> tuple[Recipe, ...]:
    recipes: tuple[Recipe, ...] = (recipe,) if isinstance(recipe, str) else tuple(recipe)
    known = get_args(Recipe)
    if not recipes or not set(recipes) <= set(known):
        raise ValueError(f"recipe must be one or several of {', '.join(map(repr, known))}, got {recipe!r}")
    return recipes


def random_stream(seed: int, what: int, *numbers: int) -> np.random.Generator:
    """A random stream for each purpose and numbers; padded, since trailing zeros would not distinguish streams."""
    return np.random.default_rng([seed, what, *numbers, *[0] * (3 - len(numbers))])
