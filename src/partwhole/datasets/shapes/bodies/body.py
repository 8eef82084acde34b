"""Generated articulated bodies: one skin in many poses, for demos, tests and training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole.datasets.shapes.bodies.meshing import mesh_flesh
from partwhole.datasets.shapes.bodies.plans import PLANS
from partwhole.datasets.shapes.bodies.rig import Skeleton, skin, skinning_weights
from partwhole.mesh import Mesh
from partwhole.store.arguments import check_whole_number

Plan = Literal[
    "biped", "quadruped", "hand", "animal", "centaur", "gorilla", "bird", "fish", "snake", "insect", "monster"
]

_FEWEST_VERTICES = 500


@dataclass(frozen=True, eq=False, repr=False)
class Body:
    """A skin and the skeleton that bends it; y is up, z is forward, x is left, lengths are metres.

    Attributes
    ----------
    plan : which kind of body
    rest : the skin in the rest pose: closed, manifold, one component, genus 0
    weights : how much each vertex follows each bone; rows sum to one
    skeleton : bones, their hinges and the flesh on them
    landmarks : vertex numbers of named places, such as "nose" and "left hand"
    """

    plan: str
    rest: Mesh
    weights: Float[np.ndarray, "n b"]
    skeleton: Skeleton
    landmarks: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Body({self.plan!r}: {self.rest.n_vertices} vertices, {len(self.skeleton.bones)} bones)"

    def pose(self, seed: int | np.random.Generator = 0, *, strength: float = 1.0) -> Mesh:
        """The skin in a random pose; the same vertices and faces, bent nearly isometrically.

        People, quadrupeds and hands take any pose of their joints. The other plans have styles, such as walking, sitting
        or curled up; one is drawn, and the pose varies about it.

        Parameters
        ----------
        seed : decides the pose
        strength : 1 for the full range of the joints, 0 for the rest pose, in between for calmer poses
        """
        if not 0 <= strength <= 1:
            raise ValueError(f"strength={strength} must lie between 0 (rest pose) and 1 (full range of the joints)")
        bent = self.skeleton.random_pose(np.random.default_rng(seed), strength=strength)
        vertices = skin(self.rest.vertices, self.weights, bent, self.skeleton.parents)
        return Mesh(vertices, self.rest.faces, name=self.plan)


def make_body(plan: Plan = "biped", n_vertices: int = 5000, *, seed: int | np.random.Generator = 0) -> Body:
    """A body with random proportions.

    The skin is the smooth union of the plan's flesh, meshed by marching tetrahedra, decimated to the vertex count, and
    relaxed towards equilateral triangles.

    Parameters
    ----------
    plan : "biped" (a person), "quadruped" (between cat, dog and horse), "hand", "animal" (four legs, from mouse to
        giraffe), "centaur", "gorilla", "bird", "fish", "snake", "insect" (six or eight legs), or "monster" (a random
        trunk with random limbs)
    n_vertices : exactly so many, at least 500
    seed : decides the proportions

    Examples
    --------
    >>> body = make_body("hand", 600, seed=1)
    >>> body, body.rest.is_closed, body.rest.genus
    (Body('hand': 600 vertices, 17 bones), True, 0)
    >>> poses = [body.pose(seed) for seed in range(2)]
    """
    check_whole_number("n_vertices", n_vertices)
    if not isinstance(plan, str) or plan not in PLANS:
        raise ValueError(f"plan={plan!r} must be one of {', '.join(map(repr, PLANS))}")
    if n_vertices < _FEWEST_VERTICES:
        raise ValueError(f"n_vertices={n_vertices} is too few for a body, at least {_FEWEST_VERTICES} are needed")
    rng = np.random.default_rng(seed)
    for _ in range(10):
        skeleton = PLANS[plan](rng)
        # in rare proportions two fingers or limbs join in the rest pose: then others are drawn, of the many kinds of
        # animals sooner than of people and hands
        refinements = 4 if skeleton.styles else 8
        rest = mesh_flesh(skeleton.flesh, n_vertices, refinements=refinements, name=plan)
        sound = rest.n_components == 1 and rest.is_manifold and rest.is_closed and rest.genus == 0
        if sound:
            break
    assert sound, f"no {plan} of genus 0 in 10 draws"
    distances = [np.linalg.norm(rest.vertices - point, axis=1) for point in skeleton.landmarks.values()]
    landmarks = {name: int(d.argmin()) for name, d in zip(skeleton.landmarks, distances, strict=True)}
    return Body(plan, rest, skinning_weights(rest, skeleton), skeleton, landmarks)
