"""Pairs whose part and whole never share a triangulation: posed people, generated bodies, things and heads.

A network that sees the same triangles on part and whole learns to compare triangles. Here each surface is retriangulated
before it is cut or matched, and has a random yaw.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, get_args

import numpy as np
from jaxtyping import Float

from partwhole.datasets.cutting.cuts import Recipe
from partwhole.datasets.pairs import Pairs
from partwhole.datasets.shapes.bodies.body import Plan
from partwhole.datasets.shapes.faces import Faces
from partwhole.datasets.shapes.people import People
from partwhole.datasets.shapes.things import Thing, ThingKind, make_thing
from partwhole.datasets.synthetic.generated import BodyPoses, WholeKey
from partwhole.datasets.synthetic.posed import (
    POSE,
    SHAPE,
    PairOptions,
    PosedSurfaces,
    checked_sizes,
    pairs_of,
    random_stream,
)
from partwhole.mesh import Mesh
from partwhole.store.arguments import check_whole_number, in_short

# how many times more vertices a generated shape has than its largest triangulation
_FINER = 2.5
# things and heads are matched as scans see them, too
_ALL_RECIPES: tuple[Recipe, ...] = ("pfaust-m", "pfaust-h", "cuts", "holes", "views", "piece")


def people_pairs(
    people: People,
    poses: int = 10,
    parts_per_pose: int = 1,
    *,
    which: Sequence[int] | None = None,
    same_person: float = 0.5,
    **options: Any,
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
    same_person : share of the pairs whose whole is the person that the part was cut from
    **options : those of `PairOptions`, with 2000 to 5000 vertices and 16 triangulations in all if not given; `strength` is
        that of `People.pose`
    """
    if not isinstance(people, People):
        raise ValueError(f"people must be People, got {in_short(people)}; use pw.datasets.People(path)")
    numbers = tuple(range(len(people))) if which is None else tuple(int(k) for k in which)
    beyond = [k for k in numbers if not 0 <= k < len(people)]
    if beyond or not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"which={which} must name different people out of 0 to {len(people) - 1}, at least one")
    made = PairOptions(**{"n_vertices": (2000, 5000), "triangulations": 16, **options}, parts_per_pose=parts_per_pose)
    sizes = checked_sizes(made.n_vertices, people.n_vertices)

    def fine(body: int, pose: int) -> Float[np.ndarray, "f 3"]:
        if pose == 0:
            return people.rest(body).vertices
        return people.pose_vertices(body, random_stream(made.seed, POSE, body, pose), made.strength)

    posed = PosedSurfaces(
        [WholeKey("person", k, pose) for k in numbers for pose in range(poses + 1)],
        people.rest,
        fine,
        dict.fromkeys(numbers, numbers),
        sizes,
        made,
    )
    return pairs_of(posed, poses, f"{len(numbers)} people", same_person=same_person)


def retriangulated_body_pairs(
    n_bodies: int = 4,
    poses: int = 4,
    parts_per_pose: int = 1,
    *,
    plans: Plan | Sequence[Plan] = ("biped", "quadruped", "hand"),
    **options: Any,
) -> Pairs:
    """Like `body_pairs`, with a different triangulation and yaw for each part and each whole.

    The whole is the body that the part was cut from, in another pose.

    Parameters
    ----------
    n_bodies, poses, plans : see `body_pairs`
    parts_per_pose : parts cut from each pose
    **options : those of `PairOptions`, with 1000 to 2000 vertices if not given; `triangulations` are made for each body

    Examples
    --------
    >>> pairs = retriangulated_body_pairs(1, 1, plans="hand", n_vertices=500, recipe="pfaust-m", triangulations=2)
    >>> pairs[0].name, pairs[0].ground_truth.kind
    ('hand00-pose1 part 0 → hand00-pose0', 'barycentric')
    """
    made = PairOptions(**{"n_vertices": (1000, 2000), **options}, parts_per_pose=parts_per_pose)
    sizes = checked_sizes(made.n_vertices)
    finer = int(_FINER * sizes[1])
    bodies = BodyPoses(n_bodies, poses, plans=plans, n_vertices=finer, strength=made.strength, seed=made.seed)
    posed = PosedSurfaces(
        list(bodies.keys_of_all),
        lambda body: bodies.body(body).rest,
        lambda body, pose: bodies.posed(WholeKey(bodies.plans[body % len(bodies.plans)], body, pose)).vertices,
        {body: (body,) for body in range(n_bodies)},
        sizes,
        made,
    )
    return pairs_of(posed, poses, f"{n_bodies} bodies ({', '.join(bodies.plans)})")


def thing_pairs(
    n_things: int = 4,
    poses: int = 4,
    parts_per_pose: int = 1,
    *,
    kinds: ThingKind | Sequence[ThingKind] | None = None,
    **options: Any,
) -> Pairs:
    """Parts cut from deformed things; the whole is the same thing, deformed otherwise, in another triangulation.

    Keys are `PartKey` ("thing", thing, pose, part) and `WholeKey` ("thing", thing, pose), pose 0 being undeformed. A
    thing is made when a pair of it is first asked for, in about a second, and the last 64 are kept.

    Parameters
    ----------
    n_things : random solids, see `make_thing`
    poses : deformations of each, see `Thing.pose`
    parts_per_pose : parts cut from each of these
    kinds : of the things; several take turns, and if None they are drawn
    **options : those of `PairOptions`, with 1000 to 2000 vertices and all recipes if not given; `triangulations` are made
        for each thing, `strength` is that of the deformations

    Examples
    --------
    >>> pairs = thing_pairs(1, 1, kinds="tooth", n_vertices=400, recipe="piece", triangulations=2)
    >>> pairs[0].name, pairs[0].ground_truth.kind
    ('thing00-pose1 part 0 → thing00-pose0', 'barycentric')
    """
    check_whole_number("n_things", n_things)
    if n_things < 1:
        raise ValueError(f"n_things={n_things} must be at least 1")
    made = PairOptions(**{"n_vertices": (1000, 2000), "recipe": _ALL_RECIPES, **options}, parts_per_pose=parts_per_pose)
    sizes = checked_sizes(made.n_vertices)
    chosen: tuple[ThingKind | None, ...] = (kinds,) if kinds is None or isinstance(kinds, str) else tuple(kinds)
    if not chosen or not set(chosen) <= {None, *get_args(ThingKind)}:
        known = ", ".join(map(repr, get_args(ThingKind)))
        raise ValueError(f"kinds must be one or several of {known}, or None for any, got {kinds!r}")

    def thing(number: int) -> Thing:
        return _thing(int(_FINER * sizes[1]), chosen[number % len(chosen)], made.seed, number)

    def fine(number: int, pose: int) -> Float[np.ndarray, "f 3"]:
        if pose == 0:
            return thing(number).rest.vertices
        return thing(number).pose(random_stream(made.seed, POSE, number, pose), strength=made.strength).vertices

    posed = PosedSurfaces(
        [WholeKey("thing", k, pose) for k in range(n_things) for pose in range(poses + 1)],
        lambda number: thing(number).rest,
        fine,
        {k: (k,) for k in range(n_things)},
        sizes,
        made,
    )
    return pairs_of(posed, poses, f"{n_things} things")


def face_pairs(
    faces: Faces,
    n_people: int = 10,
    expressions: int = 4,
    parts_per_pose: int = 1,
    *,
    same_person: float = 0.5,
    **options: Any,
) -> Pairs:
    """Parts cut from heads with random expressions; the whole is the head of the same person, or of another one.

    Heads are open at the neck, the mouth and the eyes, and so are the wholes. Keys are `PartKey` ("head", person,
    expression, part) and `WholeKey` ("head", person, expression), expression 0 being the neutral one.

    Parameters
    ----------
    faces : the heads
    n_people : random identities
    expressions : of each person that parts are cut from
    parts_per_pose : parts cut from each of these
    same_person : share of the pairs whose whole is the person that the part was cut from
    **options : those of `PairOptions`, with 1500 to 4000 vertices, all recipes and 16 triangulations, which all heads share,
        if not given; `strength` is that of `Faces.random_expression`
    """
    if not isinstance(faces, Faces):
        raise ValueError(f"faces must be Faces, got {in_short(faces)}; use pw.datasets.Faces(path)")
    for what, value in (("n_people", n_people), ("expressions", expressions)):
        check_whole_number(what, value)
        if value < 1:
            raise ValueError(f"{what}={value} must be at least 1")
    given = {"n_vertices": (1500, 4000), "recipe": _ALL_RECIPES, "triangulations": 16, **options}
    made = PairOptions(**given, parts_per_pose=parts_per_pose)
    sizes = checked_sizes(made.n_vertices, faces.n_vertices)
    people = tuple(range(n_people))

    @lru_cache(maxsize=64)
    def rest(person: int) -> Mesh:
        return faces.head(faces.random_identity(random_stream(made.seed, SHAPE, person)))

    def fine(person: int, number: int) -> Float[np.ndarray, "f 3"]:
        if number == 0:
            return rest(person).vertices
        drawn = faces.random_expression(random_stream(made.seed, POSE, person, number), made.strength)
        return rest(person).vertices + faces.vertices(expression=drawn) - faces.vertices()

    posed = PosedSurfaces(
        [WholeKey("head", k, number) for k in people for number in range(expressions + 1)],
        rest,
        fine,
        dict.fromkeys(people, people),
        sizes,
        made,
    )
    return pairs_of(posed, expressions, f"{n_people} heads", same_person=same_person)


# sets that differ in parts or recipes, as for training and for tests, share their things
@lru_cache(maxsize=64)
def _thing(n_vertices: int, kind: ThingKind | None, seed: int, number: int) -> Thing:
    return make_thing(n_vertices, kind=kind, seed=random_stream(seed, SHAPE, number))
