"""Plan of four-legged animals of all kinds, from mouse to giraffe, and the ways they stand, lie and move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

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
    chain,
    joined,
    pair,
    pair_of_points,
    plus,
    scaled,
    tilted,
    unit,
)


@dataclass(frozen=True)
class Proportions:
    """Lengths and radii in units of the distance from hip to shoulder, angles in degrees.

    Attributes
    ----------
    leg : from the ground to the chest
    chest, waist, rump : radii of the trunk
    neck, rise : length of the neck, and its angle above the horizontal
    nape, throat : radii of the neck, at the trunk and at the head
    skull, muzzle : radius of the skull, and length from its middle to the nose
    bridge, nose, drop : radii of the muzzle, and its angle below the horizontal
    ear, ear_width, ear_turn : ears, turned from upright (0) to hanging down (180)
    tail, tail_root, tail_middle, tail_tip, tail_drop : length and radii of the tail, and its angle below the horizontal
    thigh, arm, cannon : radii of the hind leg and of the foreleg at the top, and of both at the bottom
    paw, toes : radius of the paw or hoof, and its length
    hock, carpus : height of these joints as shares of the heights of hip and shoulder
    """

    leg: float
    chest: float
    waist: float
    rump: float
    neck: float
    rise: float
    nape: float
    throat: float
    skull: float
    muzzle: float
    bridge: float
    nose: float
    drop: float
    ear: float
    ear_width: float
    ear_turn: float
    tail: float
    tail_root: float
    tail_middle: float
    tail_tip: float
    tail_drop: float
    thigh: float
    arm: float
    cannon: float
    paw: float
    toes: float
    hock: float
    carpus: float


# trunk, neck, head, ears, tail and legs
KINDS = {
    "cat": Proportions(0.42, 0.19, 0.15, 0.165, 0.22, 40, 0.125, 0.1, 0.13, 0.15, 0.078, 0.05, 10, 0.13, 0.055, 25,
                       0.95, 0.038, 0.036, 0.03, 25, 0.13, 0.11, 0.042, 0.05, 0.07, 0.26, 0.25),
    "dog": Proportions(0.5, 0.22, 0.16, 0.175, 0.32, 48, 0.14, 0.11, 0.125, 0.26, 0.09, 0.055, 15, 0.16, 0.06, 140,
                       0.6, 0.042, 0.038, 0.028, 10, 0.14, 0.12, 0.042, 0.052, 0.08, 0.28, 0.28),
    "greyhound": Proportions(0.64, 0.23, 0.115, 0.16, 0.42, 50, 0.12, 0.085, 0.1, 0.27, 0.068, 0.04, 15, 0.1, 0.04, 110,
                             0.75, 0.034, 0.028, 0.022, 60, 0.145, 0.105, 0.036, 0.044, 0.07, 0.28, 0.28),
    "dachshund": Proportions(0.16, 0.19, 0.165, 0.165, 0.28, 50, 0.13, 0.1, 0.115, 0.25, 0.075, 0.045, 15, 0.18, 0.065, 155,
                             0.5, 0.04, 0.034, 0.024, 0, 0.11, 0.11, 0.045, 0.052, 0.06, 0.25, 0.25),
    "wolf": Proportions(0.56, 0.215, 0.15, 0.17, 0.33, 30, 0.15, 0.12, 0.12, 0.28, 0.085, 0.046, 14, 0.13, 0.055, 20,
                        0.6, 0.045, 0.065, 0.03, 60, 0.14, 0.12, 0.042, 0.055, 0.09, 0.29, 0.29),
    "fox": Proportions(0.45, 0.19, 0.145, 0.16, 0.26, 35, 0.125, 0.1, 0.115, 0.24, 0.072, 0.034, 14, 0.17, 0.065, 22,
                       0.8, 0.045, 0.085, 0.035, 30, 0.12, 0.105, 0.036, 0.044, 0.07, 0.28, 0.28),
    "horse": Proportions(0.66, 0.24, 0.21, 0.23, 0.58, 48, 0.18, 0.1, 0.105, 0.38, 0.092, 0.062, 45, 0.13, 0.04, 15,
                         0.7, 0.05, 0.065, 0.045, 72, 0.18, 0.15, 0.042, 0.058, 0.035, 0.37, 0.38),
    "deer": Proportions(0.7, 0.22, 0.18, 0.19, 0.5, 55, 0.12, 0.08, 0.09, 0.28, 0.065, 0.04, 30, 0.17, 0.055, 65,
                        0.14, 0.035, 0.035, 0.028, 50, 0.15, 0.12, 0.034, 0.044, 0.035, 0.37, 0.37),
    "cow": Proportions(0.45, 0.3, 0.29, 0.26, 0.36, 22, 0.18, 0.13, 0.125, 0.32, 0.105, 0.08, 35, 0.17, 0.065, 88,
                       0.75, 0.036, 0.028, 0.038, 80, 0.18, 0.16, 0.05, 0.062, 0.04, 0.34, 0.34),
    "sheep": Proportions(0.4, 0.27, 0.26, 0.25, 0.3, 45, 0.16, 0.11, 0.11, 0.25, 0.085, 0.058, 35, 0.15, 0.05, 100,
                         0.2, 0.04, 0.036, 0.03, 70, 0.16, 0.14, 0.042, 0.05, 0.04, 0.34, 0.34),
    "bear": Proportions(0.36, 0.3, 0.28, 0.285, 0.24, 15, 0.21, 0.175, 0.165, 0.29, 0.105, 0.065, 15, 0.075, 0.06, 38,
                        0.07, 0.05, 0.045, 0.04, 40, 0.18, 0.17, 0.082, 0.09, 0.15, 0.16, 0.18),
    "pig": Proportions(0.24, 0.27, 0.27, 0.255, 0.14, 12, 0.205, 0.17, 0.155, 0.31, 0.115, 0.08, 20, 0.15, 0.075, 55,
                       0.22, 0.032, 0.025, 0.022, 30, 0.15, 0.14, 0.05, 0.056, 0.05, 0.3, 0.3),
    "giraffe": Proportions(1.15, 0.28, 0.22, 0.2, 1.35, 64, 0.15, 0.075, 0.08, 0.27, 0.064, 0.042, 35, 0.11, 0.04, 70,
                           0.6, 0.036, 0.026, 0.036, 75, 0.16, 0.15, 0.045, 0.06, 0.04, 0.4, 0.4),
    "camel": Proportions(0.8, 0.29, 0.24, 0.21, 0.85, 38, 0.135, 0.085, 0.09, 0.27, 0.072, 0.05, 15, 0.08, 0.038, 40,
                         0.4, 0.036, 0.03, 0.03, 75, 0.16, 0.15, 0.05, 0.07, 0.07, 0.36, 0.36),
    "elephant": Proportions(0.55, 0.38, 0.37, 0.33, 0.16, 18, 0.27, 0.23, 0.24, 0.22, 0.15, 0.1, 50, 0.38, 0.21, 100,
                            0.55, 0.042, 0.034, 0.032, 78, 0.22, 0.2, 0.125, 0.135, 0.04, 0.17, 0.26),
    "mouse": Proportions(0.12, 0.22, 0.26, 0.26, 0.12, 18, 0.17, 0.13, 0.14, 0.24, 0.09, 0.032, 15, 0.15, 0.1, 40,
                         1.15, 0.04, 0.028, 0.022, 15, 0.14, 0.1, 0.036, 0.04, 0.1, 0.18, 0.25),
    "rabbit": Proportions(0.2, 0.22, 0.25, 0.28, 0.13, 38, 0.14, 0.115, 0.14, 0.18, 0.09, 0.06, 22, 0.42, 0.062, 12,
                          0.12, 0.06, 0.06, 0.05, -15, 0.19, 0.11, 0.045, 0.052, 0.17, 0.18, 0.25),
    "lion": Proportions(0.46, 0.225, 0.165, 0.18, 0.26, 26, 0.17, 0.14, 0.14, 0.25, 0.105, 0.075, 12, 0.08, 0.055, 38,
                        0.9, 0.036, 0.027, 0.042, 50, 0.15, 0.135, 0.056, 0.075, 0.1, 0.26, 0.26),
}  # fmt: skip
_ANGLES = {"rise", "drop", "ear_turn", "tail_drop"}
_HORNED = {"cow", "sheep", "deer", "giraffe"}
_MANED = {"lion", "horse", "wolf"}


def random_proportions(rng: np.random.Generator, names: Sequence[str] = tuple(KINDS)) -> tuple[Proportions, str]:
    """Between two kinds, nearer to the first, whose name is returned too; lengths also differ at random."""
    first, second = (names[int(k)] for k in rng.choice(len(names), 2, replace=False))
    share = rng.uniform(0, 0.45) if rng.random() < 0.7 else 0.0
    drawn = {}
    for item in fields(Proportions):
        a, b = (getattr(KINDS[name], item.name) for name in (first, second))
        wobble = float(np.clip(rng.normal(), -2, 2))
        if item.name in _ANGLES:
            drawn[item.name] = (1 - share) * a + share * b + 8 * wobble
        else:
            drawn[item.name] = a ** (1 - share) * b**share * float(np.exp(0.08 * wobble))
    # paws need room below the belly, or they grow together with it
    drawn["leg"] = max(drawn["leg"], 2 * drawn["paw"] + 0.1)
    return Proportions(**drawn), first


def animal(rng: np.random.Generator) -> Skeleton:
    """A four-legged animal of any kind; some have horns, a mane, a hump or a proboscis."""
    p, kind = random_proportions(rng)
    size = float(np.exp(rng.uniform(-0.5, 0.5)))
    trunk = trunk_of(p, rng, hump=kind == "camel" and rng.random() < 0.7)
    parts = [
        Skeleton(trunk.bones, trunk.flesh, {}),
        _neck_and_head(p, rng, trunk.landmarks["neck"], kind),
        tail_of(p, trunk.landmarks["tail"]),
        four_legs(p, trunk.landmarks["hip"], trunk.landmarks["shoulder"]),
    ]
    return scaled(joined(parts, STYLES), size)


def trunk_of(p: Proportions, rng: np.random.Generator, *, hump: bool) -> Skeleton:
    """Five segments of the spine; its landmarks are where neck, tail and left legs begin."""
    height = p.leg + p.chest
    slope = float(rng.uniform(-0.04, 0.05))
    flat = float(rng.uniform(0.74, 0.95))

    def spine(share: float) -> Vector:
        return 0.0, height + slope * (0.5 - share), share - 0.5

    # the back is nearly straight: a narrower trunk has its axis higher up
    radii = {-0.06: p.rump * 0.9, 0.14: p.rump, 0.38: p.waist, 0.62: 0.5 * (p.waist + p.chest), 0.84: p.chest,
             1.02: 0.88 * p.chest}  # fmt: skip

    def centre(share: float) -> Vector:
        return plus(spine(share), Y, 0.55 * (p.chest - radii[share]))

    names = ["pelvis", "loin", "back", "ribs", "chest"]
    shares = list(radii)
    joints = [centre(share) for share in shares[:-1]]
    joints[0] = centre(0.14)
    hinges = (Hinge(X, -18, 26), Hinge(Y, -32, 32), Hinge(Z, -12, 12))
    bones = [Bone("pelvis", None, joints[0], (Hinge(X, -75, 40), Hinge(Y, -15, 15), Hinge(Z, -85, 85)))]
    bones += [
        Bone(name, above, joint, hinges) for above, name, joint in zip(names, names[1:], joints[1:], strict=False)
    ]
    flesh = []
    for k, name in enumerate(names):
        a, b = shares[k], shares[k + 1]
        flesh.append(Flesh(name, centre(a), centre(b), radii[a], radii[b], 0.012, X, flat))
    if hump:
        top = plus(centre(0.38), Y, 0.9 * p.waist)
        flesh.append(Flesh("back", plus(top, Y, -0.05), plus(top, Y, 0.1), 0.15, 0.08, 0.1))
    apart = max(0.5 * p.chest, 1.55 * p.paw, 1.7 * p.cannon)
    attached = {
        "neck": plus(centre(1.02), unit((0, 1, 0.35)), 0.35 * p.chest),
        "tail": plus(centre(-0.06), unit((0, 0.75, -0.6)), 0.8 * p.rump),
        "hip": (max(0.5 * p.rump, apart), height + 0.5 * slope + 0.1 * p.rump, -0.5),
        "shoulder": (max(0.5 * p.chest, apart), height - 0.5 * slope - 0.1 * p.chest, 0.46),
    }
    return Skeleton(tuple(bones), tuple(flesh), attached)


def _neck_and_head(p: Proportions, rng: np.random.Generator, base: Vector, kind: str) -> Skeleton:
    """Three segments of the neck, and the head with ears and what else there is."""
    along = tilted(p.rise)
    joints = [plus(base, along, k * p.neck / 3) for k in range(4)]
    radii = np.linspace(p.nape, p.throat, 4)
    start = plus(base, unit((0, -0.5, -1)), 0.5 * p.nape)
    flat = 0.86
    bend = (Hinge(X, -26, 40), Hinge(Y, -34, 34), Hinge(Z, -10, 10))
    bones = [
        Bone("neck", "chest", joints[0], (Hinge(X, -30, 50), *bend[1:])),
        Bone("nape", "neck", joints[1], bend),
        Bone("throat", "nape", joints[2], bend),
        Bone("head", "throat", joints[3], (Hinge(X, -35, 35), Hinge(Y, -35, 35), Hinge(Z, -20, 20))),
    ]
    flesh = [Flesh("neck", start, joints[1], 1.08 * p.nape, radii[1], 0.5 * p.nape, X, flat)]
    flesh += [
        Flesh(name, joints[k], joints[k + 1], radii[k], radii[k + 1], 0.3 * p.throat, X, flat)
        for k, name in ((1, "nape"), (2, "throat"))
    ]
    forward, upward = tilted(-p.drop), tilted(90 - p.drop)
    skull = plus(joints[3], forward, 0.25 * p.skull)
    nose = plus(skull, forward, p.muzzle - p.nose)
    bridge = plus(plus(skull, forward, 0.5 * p.skull), upward, -0.25 * p.skull)
    flesh += [
        Flesh("head", plus(skull, forward, -0.12 * p.skull), plus(skull, forward, 0.25 * p.skull), p.skull, 0.92 * p.skull,
              0.35 * p.throat, X, 0.92),
        Flesh("head", bridge, plus(nose, upward, -0.25 * p.skull), p.bridge, p.nose, 0.5 * p.bridge),
    ]  # fmt: skip
    landmarks = {"nose": plus(nose, forward, p.nose)}
    # ears begin on the skull, from the top to the side the further they are turned
    turn = float(np.clip(p.ear_turn, 0, 165))
    seat = np.radians(np.clip(0.5 * turn, 28, 62))
    side, up = float(np.sin(seat)), float(np.cos(seat))
    root = plus(plus((0.8 * p.skull * side, skull[1], skull[2]), upward, 0.8 * p.skull * up), forward, -0.15 * p.skull)
    out = np.radians(turn)
    ear_axis = unit(
        (max(float(np.sin(out)), 0.24) + 0.15 * (turn > 120), float(np.cos(out)), float(rng.uniform(-0.25, 0.1)))
    )
    width = max(p.ear_width, 0.034)
    tip = plus(root, ear_axis, max(p.ear - 0.4 * width, 0.02))
    pointed = float(rng.uniform(0.4, 0.95)) if kind not in ("bear", "mouse", "elephant") else 0.95
    thin = max(0.45, 0.017 / (width * pointed))
    facing = unit(tuple(np.cross(ear_axis, (0.3, 0.0, 1.0)))) if turn > 120 else unit((-0.35, 0.0, 1.0))
    facing = unit(tuple(np.array(facing) - np.dot(facing, ear_axis) * np.array(ear_axis)))
    flesh += pair(Flesh("head", root, tip, width, max(pointed * width, 0.024), 0.02, facing, min(thin, 1.0)))
    landmarks |= pair_of_points("ear", plus(tip, ear_axis, pointed * width))
    if rng.random() < (0.75 if kind in _HORNED else 0.06):
        flesh += _horns(rng, skull, upward, forward, p.skull, kind)
    if rng.random() < (0.6 if kind in _MANED else 0.06):
        flesh += _mane(rng, p, joints, along, kind)
    if kind == "elephant" or rng.random() < 0.02:
        trunk = _proboscis(p, rng, plus(nose, upward, -0.25 * p.skull))
        bones += trunk.bones
        flesh += trunk.flesh
    return Skeleton(tuple(bones), tuple(flesh), landmarks)


def _horns(
    rng: np.random.Generator, skull: Vector, upward: Vector, forward: Vector, radius: float, kind: str
) -> list[Flesh]:
    """Horns in two pieces, or antlers with a branch or two."""
    length = radius * float(rng.uniform(0.6, 1.8))
    thick = max(0.24 * radius, 0.024)
    root = plus(plus((0.42 * radius, skull[1], skull[2]), upward, 0.78 * radius), forward, -0.05 * radius)
    first = unit((float(rng.uniform(0.2, 1.2)), 1.0, float(rng.uniform(-0.8, 0.3))))
    second = unit((first[0] * float(rng.uniform(-0.3, 1.0)), 1.0, first[2] + float(rng.uniform(-0.8, 0.8))))
    middle = plus(root, first, length)
    pieces = [*pair(Flesh("head", root, middle, thick, 0.85 * thick, 0.02))]
    pieces += pair(Flesh("head", middle, plus(middle, second, length), 0.85 * thick, max(0.5 * thick, 0.018), 0.01))
    if kind == "deer":
        for share in rng.uniform(0.0, 0.6, int(rng.integers(1, 3))):
            start = plus(middle, second, float(share) * length)
            pieces += pair(
                Flesh("head", start, plus(start, unit((0.6, 0.3, 1.0)), 0.7 * length), 0.8 * thick, 0.018, 0.01)
            )
    return pieces


def _mane(rng: np.random.Generator, p: Proportions, joints: list[Vector], along: Vector, kind: str) -> list[Flesh]:
    """Hair around the neck, or along its upper side."""
    if kind == "lion" or rng.random() < 0.3:
        thick = float(rng.uniform(1.15, 1.6))
        names = ("neck", "nape", "throat")
        return [
            Flesh(name, joints[k], joints[k + 1], thick * p.nape, thick * p.throat, 0.05, X, 0.9)
            for k, name in enumerate(names)
        ]
    upper = unit((0, along[2], -along[1]))
    tops = [plus(joint, upper, 0.95 * r) for joint, r in zip(joints, np.linspace(p.nape, p.throat, 4), strict=True)]
    thick = float(rng.uniform(0.03, 0.06))
    return [Flesh(name, tops[k], tops[k + 1], thick, thick, 0.03) for k, name in enumerate(("neck", "nape", "throat"))]


def _proboscis(p: Proportions, rng: np.random.Generator, start: Vector) -> Skeleton:
    points = [start]
    for angle in (-60, -78, -88, -80):
        points.append(plus(points[-1], tilted(angle), float(rng.uniform(0.17, 0.22))))
    radii = np.linspace(1.05 * p.nose, 0.042, 5)
    return chain("proboscis", "head", points, radii, (Hinge(X, -40, 30), Hinge(Y, -25, 25)), blend=0.05)


def tail_of(p: Proportions, start: Vector) -> Skeleton:
    """Five segments, or two if it is but a stub."""
    along = tilted(180 + p.tail_drop)
    count = 5 if p.tail > 0.3 else 2
    shares = np.linspace(0, 1, count + 1)
    points = [plus(start, along, share * p.tail) for share in shares]
    radii = np.interp(shares, [0, 0.55, 1], [p.tail_root, p.tail_middle, p.tail_tip])
    made = chain("tail", "pelvis", points, radii, (Hinge(X, -38, 38), Hinge(Y, -42, 42)), blend=0.03)
    return Skeleton(made.bones, made.flesh, {"tail": plus(points[-1], along, p.tail_tip)})


def four_legs(p: Proportions, hip: Vector, shoulder: Vector) -> Skeleton:
    """Hind legs on the pelvis, forelegs on the chest; the lower the hock, the more of the foot is on the ground."""
    x, high, back = hip
    ground = 0.9 * p.paw
    ankle = max(p.hock * high, 2.2 * ground)
    fore_ankle = max(p.carpus * shoulder[1], 2.2 * ground)
    x_low = max(x - 0.02, 1.5 * p.paw)
    # those who walk on their toes have bent legs, heavy ones straight legs
    bent = float(np.clip(5 * (p.hock - 0.14), 0.25, 1)) * high
    stifle = (x, ankle + 0.5 * (high - ankle), back + 0.14 * bent)
    hock, hind = (x_low, ankle, back - 0.1 * bent), (x_low, ground, back - 0.04 * bent)
    xs, top, front = shoulder
    xs_low = max(xs - 0.02, 1.5 * p.paw)
    elbow = (xs, fore_ankle + 0.52 * (top - fore_ankle), front - 0.1 * top)
    carpus, fore = (xs_low, fore_ankle, front - 0.03), (xs_low, ground, front - 0.02)
    bones = [
        *pair(Bone("thigh", "pelvis", hip, (Hinge(X, -75, 60), Hinge(Z, -6, 28), Hinge(Y, -12, 12)))),
        *pair(Bone("shank", "thigh", stifle, (Hinge(X, -30, 75),))),
        *pair(Bone("hind cannon", "shank", hock, (Hinge(X, -95, 40),))),
        *pair(Bone("hind paw", "hind cannon", hind, (Hinge(X, -25, 50),))),
        *pair(Bone("upper arm", "chest", shoulder, (Hinge(X, -75, 60), Hinge(Z, -6, 24), Hinge(Y, -12, 12)))),
        *pair(Bone("forearm", "upper arm", elbow, (Hinge(X, -105, 25),))),
        *pair(Bone("fore cannon", "forearm", carpus, (Hinge(X, -12, 105),))),
        *pair(Bone("fore paw", "fore cannon", fore, (Hinge(X, -25, 50),))),
    ]
    c = p.cannon
    knee = max(c, min(0.5 * (p.thigh + c), stifle[1] - 2 * p.paw - 0.06, 0.8 * x))
    arm = 0.4 * p.arm + 0.6 * p.cannon
    flesh = [
        *pair(Flesh("thigh", hip, stifle, p.thigh, knee, 0.35 * p.thigh, X, 0.72)),
        *pair(Flesh("shank", stifle, hock, 0.95 * knee, 1.05 * c, 0.3 * knee)),
        *pair(Flesh("hind cannon", hock, hind, 1.05 * c, 0.95 * c, 0.3 * c)),
        *pair(Flesh("hind paw", hind, plus(plus(hind, Z, p.toes), Y, -0.12 * p.paw), p.paw, 0.88 * p.paw, 0.3 * p.paw)),
        *pair(Flesh("upper arm", shoulder, elbow, p.arm, arm, 0.35 * p.arm, X, 0.72)),
        *pair(Flesh("forearm", elbow, carpus, 0.95 * arm, 1.05 * c, 0.3 * arm)),
        *pair(Flesh("fore cannon", carpus, fore, 1.05 * c, 0.95 * c, 0.3 * c)),
        *pair(Flesh("fore paw", fore, plus(plus(fore, Z, 0.75 * p.toes), Y, -0.12 * p.paw), p.paw, 0.88 * p.paw,
                    0.3 * p.paw)),
    ]  # fmt: skip
    landmarks = pair_of_points("hind paw", plus(hind, Z, p.toes + p.paw)) | pair_of_points("hock", plus(hock, Z, -c))
    landmarks |= pair_of_points("fore paw", plus(fore, Z, p.toes + p.paw))
    return Skeleton(tuple(bones), tuple(flesh), landmarks)


def along_all(
    *angles: float, names: tuple[str, ...] = ("loin", "back", "ribs", "chest")
) -> dict[str, tuple[float, ...]]:
    """The same angles for each of several bones."""
    return dict.fromkeys(names, angles)


_NECK = ("neck", "nape", "throat")
_TAIL = ("tail 1", "tail 2", "tail 3", "tail 4", "tail 5")
FOLDED_HIND = {"thigh": (-42.0, 20.0), "shank": (48.0,), "hind cannon": (-78.0,), "hind paw": (20.0,)}
_SPHINX = {"upper arm": (25.0, 10.0), "forearm": (-88.0,), "fore cannon": (5.0,)}
KNEELING = {"upper arm": (-20.0, 10.0), "forearm": (-70.0,), "fore cannon": (90.0,), "fore paw": (20.0,)}
# of legs that are lifted at a walk, and of those on the ground behind the body
STEP = {"thigh": (-32.0,), "shank": (22.0,), "hind cannon": (-18.0,)}
REACH = {"upper arm": (-34.0,), "forearm": (-18.0,), "fore cannon": (25.0,)}


def on_side(side: str, angles: Mapping[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
    return {f"{side} {name}": turns for name, turns in angles.items()}


STYLES = (
    Style(noise=1.0, weight=1.5),
    Style({"head": (8.0,)}, noise=0.25),
    # walking: diagonal legs together; pacing: those of one side
    Style({**on_side("left", STEP), **on_side("right", REACH), "right thigh": (28.0,), "left upper arm": (26.0,)},
          weight=1.5),
    Style({**on_side("left", STEP), **on_side("left", REACH), "right thigh": (28.0,), "right upper arm": (26.0,)}),
    # sitting
    Style({"pelvis": (-50.0,), "thigh": (-22.0, 20.0), "shank": (55.0,), "hind cannon": (-75.0,), "upper arm": (36.0, 6.0),
           "chest": (8.0,), "ribs": (6.0,), "neck": (22.0,), "head": (20.0,), "tail 1": (30.0,)}, weight=1.5),
    # lying
    Style({**FOLDED_HIND, **_SPHINX}, weight=1.2),
    Style({**FOLDED_HIND, **KNEELING, "pelvis": (0.0, 0.0, 10.0)}),
    Style({"pelvis": (0.0, 0.0, 80.0), "thigh": (-25.0,), "shank": (20.0,), "forearm": (-30.0,)}, weight=0.6),
    # leaping: stretched, and gathered
    Style({"thigh": (52.0,), "shank": (-22.0,), "hind cannon": (30.0,), "upper arm": (-62.0,), "forearm": (-10.0,),
           "pelvis": (-12.0,), "neck": (15.0,), **along_all(-8.0)}, weight=1.4),
    Style({"thigh": (-40.0, 15.0), "shank": (5.0,), "upper arm": (38.0, 4.0), "forearm": (-25.0,), "fore cannon": (50.0,),
           **along_all(18.0)}),
    # rearing
    Style({"pelvis": (-62.0,), "thigh": (38.0,), "shank": (10.0,), "hind cannon": (-5.0,), "upper arm": (-10.0,),
           "forearm": (-60.0,), "fore cannon": (55.0,), "neck": (25.0,), "head": (20.0,), "tail 1": (30.0,)}, weight=1.2),
    # grazing
    Style({"neck": (50.0,), "nape": (34.0,), "throat": (22.0,), "head": (-8.0,)}, weight=1.2),
    # a bow: rump up, forelegs stretched ahead
    Style({"pelvis": (22.0,), "thigh": (-20.0,), "upper arm": (-45.0,), "forearm": (-20.0,), "neck": (-20.0,),
           **along_all(-5.0)}),
    # looking back over the shoulder, and howling
    Style({**along_all(0.0, 30.0, names=_NECK), "head": (0.0, 25.0), **along_all(0.0, 12.0)}),
    Style({**along_all(-24.0, names=_NECK), "head": (-25.0,)}, weight=0.7),
    # an arched back
    Style({**along_all(22.0), "pelvis": (-22.0,), "neck": (-10.0,), "thigh": (12.0,), "upper arm": (-40.0,)}, weight=0.8),
    # curled up on a side
    Style({**FOLDED_HIND, **KNEELING, **along_all(10.0, 30.0), **along_all(12.0, 30.0, names=_NECK), "head": (20.0, 28.0),
           **along_all(0.0, -36.0, names=_TAIL)}, noise=0.2, weight=1.6),
    Style({**along_all(6.0, 30.0), **along_all(8.0, 28.0, names=_NECK), "head": (10.0, 20.0),
           **along_all(0.0, -34.0, names=_TAIL)}, weight=1.2),
    # curled up like a ball, the nose between the legs
    Style({**FOLDED_HIND, **KNEELING, **along_all(25.0), "neck": (45.0,), "nape": (36.0,), "throat": (30.0,),
           **along_all(34.0, names=_TAIL)}, noise=0.2, weight=0.8),
    # the tail up
    Style({**along_all(-32.0, names=_TAIL)}, weight=0.8),
)  # fmt: skip
