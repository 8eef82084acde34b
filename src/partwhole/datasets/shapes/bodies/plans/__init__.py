"""Body plans: what bones a body has, how they turn, and what flesh is on them; proportions are drawn at random.

Lengths are metres; y is up, z is forward, x is left. Only the left side is written down, the right one is its mirror
image.
"""

from collections.abc import Callable

import numpy as np

from partwhole.datasets.shapes.bodies.plans.animals import animal
from partwhole.datasets.shapes.bodies.plans.centaurs import centaur, gorilla
from partwhole.datasets.shapes.bodies.plans.creatures import bird, fish, insect, monster, snake
from partwhole.datasets.shapes.bodies.plans.hands import hand
from partwhole.datasets.shapes.bodies.plans.people import biped
from partwhole.datasets.shapes.bodies.plans.quadrupeds import quadruped
from partwhole.datasets.shapes.bodies.rig import Skeleton

PLANS: dict[str, Callable[[np.random.Generator], Skeleton]] = {
    "biped": biped,
    "quadruped": quadruped,
    "hand": hand,
    "animal": animal,
    "centaur": centaur,
    "gorilla": gorilla,
    "bird": bird,
    "fish": fish,
    "snake": snake,
    "insect": insect,
    "monster": monster,
}
