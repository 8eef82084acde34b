"""Plans with arms and legs that no person has: centaurs, and apes that walk on their knuckles."""

from __future__ import annotations

import numpy as np

from partwhole.datasets.shapes.bodies.plans.animals import (
    STYLES,
    along_all,
    four_legs,
    on_side,
    random_proportions,
    tail_of,
    trunk_of,
)
from partwhole.datasets.shapes.bodies.rig import (
    Bone,
    Flesh,
    Hinge,
    Skeleton,
    Style,
    Vector,
    X,
    Y,
    Z,
    factors,
    joined,
    pair,
    pair_of_points,
    plus,
    scaled,
    unit,
)

_ARMS_UP = {"arm": (0.0, 65.0), "lower arm": (-30.0,)}
_ARMS_AHEAD = {"arm": (-70.0, 5.0), "lower arm": (-25.0,)}
_ARCHER = {**on_side("left", {"arm": (-20.0, 60.0)}), **on_side("right", {"arm": (-60.0, 20.0), "lower arm": (-90.0,)})}


def centaur(rng: np.random.Generator) -> Skeleton:
    """A hoofed animal with the torso, arms and head of a person in place of its neck: six limbs."""
    p, _ = random_proportions(rng, ("horse", "deer", "cow", "lion"))
    trunk = trunk_of(p, rng, hump=False)
    x, y, z = trunk.landmarks["neck"]
    parts = [
        Skeleton(trunk.bones, trunk.flesh, {}),
        _upper_body((x, y, z - 0.02), rng),
        tail_of(p, trunk.landmarks["tail"]),
        four_legs(p, trunk.landmarks["hip"], trunk.landmarks["shoulder"]),
    ]
    return scaled(joined(parts, CENTAUR_STYLES), float(rng.uniform(0.9, 1.3)))


def _upper_body(base: Vector, rng: np.random.Generator) -> Skeleton:
    """Waist, torso, neck, head and arms on a bone named "chest"."""
    tall, girth, arm, wide, head, limb = factors(rng, 0.1, 0.1, 0.07, 0.08, 0.08, 0.1)
    t, g, head = 1.15 * tall, 1.12 * girth, 1.15 * head

    def at(x: float, height: float, z: float = 0.0) -> Vector:
        return x, base[1] + t * height, base[2] + z

    shoulder = at(0.19 * wide, 0.4, -0.015)
    down = unit((1.0, -0.9, 0.05))
    elbow = plus(shoulder, down, 0.27 * arm * t)
    wrist = plus(elbow, down, 0.24 * arm * t)
    tip = plus(wrist, down, 0.14 * t)
    bend = (Hinge(X, -25, 35), Hinge(Y, -35, 35), Hinge(Z, -18, 18))
    bones = [
        Bone("waist", "chest", at(0, 0.05), bend),
        Bone("torso", "waist", at(0, 0.19), bend),
        Bone("neck", "torso", at(0, 0.46, -0.01), (Hinge(X, -20, 30), Hinge(Y, -35, 35), Hinge(Z, -15, 15))),
        Bone("head", "neck", at(0, 0.55), (Hinge(X, -20, 25), Hinge(Y, -35, 35), Hinge(Z, -15, 15))),
        *pair(Bone("arm", "torso", shoulder, (Hinge(X, -85, 45), Hinge(Z, -20, 85), Hinge(Y, -50, 30)))),
        *pair(Bone("lower arm", "arm", elbow, (Hinge(X, -115, 5), Hinge(down, -35, 35)))),
        *pair(Bone("hand", "lower arm", wrist, (Hinge(Z, -35, 35), Hinge(X, -20, 20)))),
    ]
    skull = at(0, 0.65)
    r = 1.1 * limb
    flesh = [
        Flesh("waist", (0, base[1] - 0.1, base[2] - 0.05), at(0, 0.16), 0.15 * g, 0.115 * g, 0.09),
        *pair(Flesh("torso", at(0.045, 0.17), at(0.085 * wide, 0.33, -0.01), 0.095 * g, 0.09 * g, 0.04)),
        *pair(Flesh("torso", at(0.03, 0.4, -0.015), at(0.155 * wide, 0.405, -0.015), 0.065 * g, 0.055 * g, 0.05)),
        Flesh("neck", at(0, 0.43, -0.01), at(0, 0.56), 0.056 * g, 0.052 * g, 0.03),
        Flesh("head", plus(skull, Z, -0.015), plus(skull, Z, 0.01), 0.098 * head, 0.094 * head, 0.03, X, 0.86),
        Flesh(
            "head", plus(skull, Z, 0.03), plus(plus(skull, Y, -0.07 * head), Z, 0.065 * head), 0.065 * head, 0.036, 0.03
        ),
        *pair(Flesh("arm", shoulder, elbow, 0.056 * r, 0.044 * r, 0.035)),
        *pair(Flesh("lower arm", elbow, wrist, 0.044 * r, 0.031 * r, 0.02)),
        *pair(Flesh("hand", plus(wrist, down, 0.02), tip, 0.038, 0.034, 0.02, Z, 0.62)),
    ]
    landmarks = {"nose": plus(plus(skull, Y, -0.04), Z, 0.11 * head), **pair_of_points("hand", plus(tip, down, 0.03))}
    return Skeleton(tuple(bones), tuple(flesh), landmarks)


# what animals do with trunk, legs and tail, and something with the arms
CENTAUR_STYLES = tuple(
    Style({**{name: turns for name, turns in style.angles.items() if name not in ("neck", "nape", "throat", "head")}, **arms},
          style.noise, style.weight)
    for style in STYLES
    for arms in ({}, _ARMS_UP, _ARMS_AHEAD, _ARCHER)
)  # fmt: skip


def gorilla(rng: np.random.Generator) -> Skeleton:
    """An ape on all fours: long arms on the ground, short bent legs, a sloping back, a large head and hardly a neck."""
    size, arm, leg, girth, limb, head, width, jaw = factors(rng, 0.12, 0.12, 0.12, 0.1, 0.12, 0.1, 0.08, 0.2)
    hips_up, chest_up = 0.42 * leg, 0.42 * leg + 0.3
    hip, knee = (0.13 * width, hips_up - 0.02, -0.36), (0.18 * width, 0.25 * leg, -0.14)
    ankle = (0.18 * width, 0.075, -0.3)
    shoulder = (0.27 * width, chest_up + 0.02, 0.2)
    reach = max(shoulder[1], 0.62) * arm
    elbow = (0.33 * width, shoulder[1] - 0.5 * reach, 0.2)
    wrist = (0.3 * width, shoulder[1] - 0.93 * reach, 0.27)
    knuckles = plus(wrist, unit((0, -0.6, 1)), 0.06)
    rises = ((0.02, -0.36), (0.1, -0.2), (0.19, -0.04), (0.28, 0.1), (0.35, 0.2))
    spine: list[Vector] = [(0.0, hips_up + rise, z) for rise, z in rises]
    collar = (0.0, chest_up + 0.13, 0.26)
    skull = plus(collar, unit((0, 0.7, 0.8)), 0.13)
    bend = (Hinge(X, -20, 28), Hinge(Y, -24, 24), Hinge(Z, -14, 14))
    bones = [
        Bone("pelvis", None, spine[0], (Hinge(X, -60, 25), Hinge(Y, -15, 15), Hinge(Z, -25, 25))),
        Bone("loin", "pelvis", spine[1], bend),
        Bone("back", "loin", spine[2], bend),
        Bone("chest", "back", spine[3], bend),
        Bone("neck", "chest", collar, (Hinge(X, -30, 35), Hinge(Y, -40, 40), Hinge(Z, -15, 15))),
        Bone("head", "neck", skull, (Hinge(X, -20, 25), Hinge(Y, -25, 25), Hinge(Z, -12, 12))),
        *pair(Bone("arm", "chest", shoulder, (Hinge(X, -110, 50), Hinge(Z, -8, 85), Hinge(Y, -25, 25)))),
        *pair(Bone("lower arm", "arm", elbow, (Hinge(X, -110, 8), Hinge(Y, -30, 30)))),
        *pair(Bone("hand", "lower arm", wrist, (Hinge(X, -40, 50), Hinge(Z, -25, 25)))),
        *pair(Bone("thigh", "pelvis", hip, (Hinge(X, -55, 65), Hinge(Z, -5, 45), Hinge(Y, -20, 25)))),
        *pair(Bone("shank", "thigh", knee, (Hinge(X, -35, 60),))),
        *pair(Bone("foot", "shank", ankle, (Hinge(X, -35, 30), Hinge(Y, -15, 15)))),
    ]
    g, r = girth, limb
    mouth = plus(plus(skull, Z, 0.12 * jaw), Y, -0.06)
    flesh = [
        Flesh("pelvis", spine[0], spine[1], 0.16 * g, 0.18 * g, 0.05),
        Flesh("loin", spine[1], spine[2], 0.18 * g, 0.21 * g, 0.02),
        Flesh("back", spine[2], spine[3], 0.21 * g, 0.215 * g, 0.02),
        Flesh("chest", spine[3], spine[4], 0.215 * g, 0.19 * g, 0.02),
        Flesh("neck", spine[4], plus(skull, Y, -0.02), 0.15 * g, 0.12 * g, 0.06),
        Flesh("head", plus(skull, Y, 0.04), plus(skull, Z, 0.03), 0.115 * head, 0.11 * head, 0.03, X, 0.9),
        Flesh("head", plus(skull, Z, 0.05), mouth, 0.08 * head, 0.07 * head, 0.03),
        *pair(Flesh("chest", (0.1, chest_up, 0.16), shoulder, 0.15 * g, 0.11 * r, 0.06)),
        *pair(Flesh("arm", shoulder, elbow, 0.105 * r, 0.078 * r, 0.05)),
        *pair(Flesh("lower arm", elbow, wrist, 0.085 * r, 0.05 * r, 0.03)),
        *pair(Flesh("hand", wrist, knuckles, 0.052 * r, 0.055 * r, 0.02)),
        *pair(Flesh("thigh", hip, knee, 0.115 * r, 0.078 * r, 0.05)),
        *pair(Flesh("shank", knee, ankle, 0.074 * r, 0.05 * r, 0.03)),
        *pair(Flesh("foot", plus(ankle, Y, -0.025), plus(plus(ankle, Y, -0.035), Z, 0.16), 0.045, 0.045, 0.02)),
    ]
    landmarks = {"nose": plus(mouth, Z, 0.08 * head), **pair_of_points("hand", plus(knuckles, Z, 0.05))}
    landmarks |= pair_of_points("toe", plus(ankle, Z, 0.2))
    return scaled(Skeleton(tuple(bones), tuple(flesh), landmarks, GORILLA_STYLES), size)


GORILLA_STYLES = (
    Style(noise=1.0, weight=2.0),
    Style(noise=0.3),
    Style({"left arm": (-35.0,), "right arm": (30.0,), "left thigh": (25.0,), "right thigh": (-20.0,)}, weight=1.5),
    # upright: arms hanging, ahead, raised
    Style({"pelvis": (-55.0,), "thigh": (48.0,), "shank": (-15.0,), "arm": (30.0, 12.0), "neck": (30.0,)}, weight=1.5),
    Style({"pelvis": (-55.0,), "thigh": (45.0,), "arm": (-20.0, 20.0), "lower arm": (-80.0,), "neck": (30.0,)}),
    Style({"pelvis": (-50.0,), "thigh": (45.0,), "arm": (-90.0, 20.0), "neck": (20.0,)}),
    Style({"pelvis": (-50.0,), "thigh": (45.0,), "arm": (0.0, 80.0), "neck": (20.0,)}),
    # sitting
    Style({"pelvis": (-40.0,), "thigh": (-15.0, 28.0), "shank": (30.0,), "arm": (10.0, 10.0), "lower arm": (-50.0,),
           "neck": (25.0,)}, weight=1.5),
    # stooping and curled to a side
    Style({**along_all(24.0, names=("loin", "back", "chest")), "neck": (25.0,), "arm": (-30.0,)}),
    Style({**along_all(8.0, 24.0, names=("loin", "back", "chest")), "neck": (10.0, 30.0), "left arm": (20.0,)}),
)  # fmt: skip
