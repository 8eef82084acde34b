"""Plan of a four-legged animal of moderate proportions; `animals` has a wider one."""

from __future__ import annotations

import numpy as np

from partwhole.datasets.shapes.bodies.rig import (
    Bone,
    Flesh,
    Hinge,
    Skeleton,
    X,
    Y,
    Z,
    factors,
    pair,
    pair_of_points,
    plus,
    scaled,
    unit,
)


def quadruped(rng: np.random.Generator) -> Skeleton:
    """A four-legged animal, between cat, dog and horse: trunk, neck, head with muzzle and ears, four legs, tail."""
    size, trunk, leg, neck, muzzle, tail, girth, limb, ear, head = factors(
        rng, 0.2, 0.1, 0.14, 0.2, 0.12, 0.2, 0.08, 0.1, 0.2, 0.08
    )
    back, front, belly = -0.34 * trunk, 0.28 * trunk, 0.5 * leg

    def up(height: float) -> float:
        """Heights of the trunk, written for an underside at 0.62."""
        return belly + (height - 0.62)

    neck_direction = unit((0, 0.75 + 0.5 * (neck - 1), 0.62))
    neck_base = (0.0, up(0.84), front + 0.02)
    neck_middle = plus(neck_base, neck_direction, 0.13 * neck)
    poll = plus(neck_middle, neck_direction, 0.13 * neck)
    nose = plus(plus(poll, Z, 0.2 * muzzle * head), Y, -0.075)
    tail_direction = unit((0, -0.55, -0.8))
    tail_points = [plus((0, up(0.85), back - 0.07), tail_direction, k * 0.13 * tail) for k in range(4)]
    hip, stifle = (0.085, up(0.76), back), (0.105, 0.39 * leg, back + 0.085)
    hock, hind = (0.105, 0.21 * leg, back - 0.06), (0.105, 0.06, back - 0.025)
    shoulder, elbow = (0.085, up(0.74), front), (0.1, 0.4 * leg, front - 0.04)
    carpus, fore = (0.1, 0.2 * leg, front - 0.01), (0.1, 0.06, front - 0.01)
    bones = [
        Bone("pelvis", None, (0, up(0.8), back + 0.05), (Hinge(Y, -12, 12), Hinge(X, -10, 10))),
        Bone("loin", "pelvis", (0, up(0.8), back + 0.2 * trunk),
             (Hinge(Y, -14, 14), Hinge(X, -10, 12), Hinge(Z, -8, 8))),
        Bone("chest", "loin", (0, up(0.8), front - 0.22 * trunk),
             (Hinge(Y, -14, 14), Hinge(X, -12, 10), Hinge(Z, -8, 8))),
        Bone("neck", "chest", neck_base, (Hinge(Y, -28, 28), Hinge(X, -18, 45))),
        Bone("nape", "neck", neck_middle, (Hinge(Y, -22, 22), Hinge(X, -15, 25))),
        Bone("head", "nape", poll, (Hinge(Y, -25, 25), Hinge(X, -25, 25), Hinge(Z, -12, 12))),
        Bone("tail 1", "pelvis", tail_points[0], (Hinge(Y, -30, 30), Hinge(X, -15, 45))),
        Bone("tail 2", "tail 1", tail_points[1], (Hinge(Y, -30, 30), Hinge(X, -20, 30))),
        Bone("tail 3", "tail 2", tail_points[2], (Hinge(Y, -30, 30), Hinge(X, -20, 30))),
        *pair(Bone("thigh", "pelvis", hip, (Hinge(X, -32, 32), Hinge(Z, -3, 14)))),
        *pair(Bone("shank", "thigh", stifle, (Hinge(X, -15, 38),))),
        *pair(Bone("hind cannon", "shank", hock, (Hinge(X, -38, 18),))),
        *pair(Bone("hind paw", "hind cannon", hind, (Hinge(X, -15, 35),))),
        *pair(Bone("upper arm", "chest", shoulder, (Hinge(X, -35, 32), Hinge(Z, -3, 14)))),
        *pair(Bone("forearm", "upper arm", elbow, (Hinge(X, -48, 10),))),
        *pair(Bone("fore cannon", "forearm", carpus, (Hinge(X, -5, 60),))),
        *pair(Bone("fore paw", "fore cannon", fore, (Hinge(X, -15, 35),))),
    ]  # fmt: skip
    g, r = girth, limb
    loin, ribs = (0.0, up(0.775), back + 0.2 * trunk), (0.0, up(0.755), front - 0.2 * trunk)
    flesh = [
        Flesh("pelvis", (0, up(0.77), back - 0.02), loin, 0.108 * g, 0.108 * g, 0.05, X, 0.92),
        Flesh("loin", loin, ribs, 0.108 * g, 0.135 * g, 0.012, X, 0.92),
        Flesh("chest", ribs, (0, up(0.77), front + 0.01), 0.135 * g, 0.118 * g, 0.012, X, 0.92),
        Flesh("chest", (0, up(0.8), front), neck_base, 0.11 * g, 0.095 * g, 0.06, X, 0.9),
        Flesh("neck", neck_base, neck_middle, 0.095 * g, 0.078 * g, 0.05, X, 0.85),
        Flesh("nape", neck_middle, poll, 0.078 * g, 0.066 * g, 0.04, X, 0.88),
        Flesh("head", plus(poll, Y, 0.005), plus(plus(poll, Z, 0.05), Y, -0.005), 0.084 * head, 0.078 * head, 0.04),
        Flesh("head", plus(poll, Z, 0.05), nose, 0.064 * head, 0.042 * head, 0.04),
        Flesh("head", plus(nose, Y, -0.008), plus(nose, Z, 0.014), 0.04 * head, 0.032 * head, 0.02),
        *pair(Flesh("head", (0.042 * head, poll[1] + 0.05, poll[2] - 0.008),
                    (0.062 * head, poll[1] + 0.05 + 0.085 * ear, poll[2] - 0.01), 0.026, 0.011, 0.014)),
        Flesh("tail 1", tail_points[0], tail_points[1], 0.036, 0.03, 0.035),
        Flesh("tail 2", tail_points[1], tail_points[2], 0.03, 0.027, 0.015),
        Flesh("tail 3", tail_points[2], tail_points[3], 0.027, 0.022, 0.015),
        *pair(Flesh("thigh", hip, stifle, 0.095 * r, 0.062 * r, 0.05, X, 0.75)),
        *pair(Flesh("shank", stifle, hock, 0.056 * r, 0.032 * r, 0.03)),
        *pair(Flesh("hind cannon", hock, hind, 0.031 * r, 0.027 * r, 0.018)),
        *pair(Flesh("hind paw", plus(hind, Y, -0.022), plus(plus(hind, Y, -0.03), Z, 0.05),
                    0.033 * r, 0.029 * r, 0.02)),
        *pair(Flesh("upper arm", shoulder, elbow, 0.09 * r, 0.056 * r, 0.05, X, 0.75)),
        *pair(Flesh("forearm", elbow, carpus, 0.047 * r, 0.031 * r, 0.025)),
        *pair(Flesh("fore cannon", carpus, fore, 0.03 * r, 0.027 * r, 0.018)),
        *pair(Flesh("fore paw", plus(fore, Y, -0.022), plus(plus(fore, Y, -0.03), Z, 0.05),
                    0.033 * r, 0.029 * r, 0.02)),
    ]  # fmt: skip
    landmarks = {"nose": plus(nose, Z, 0.05), "tail": plus(tail_points[3], tail_direction, 0.03)}
    for name, point in {
        "ear": (0.065, poll[1] + 0.06 + 0.085 * ear, poll[2]),
        "hind paw": plus(plus(hind, Y, -0.04), Z, 0.09),
        "fore paw": plus(plus(fore, Y, -0.04), Z, 0.09),
        "hock": plus(hock, Z, -0.04),
    }.items():
        landmarks |= pair_of_points(name, point)
    return scaled(Skeleton(tuple(bones), tuple(flesh), landmarks), size)
