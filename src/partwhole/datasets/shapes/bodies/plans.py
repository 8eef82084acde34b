"""Body plans: what bones a body has, how they turn, and what flesh is on them; proportions are drawn at random.

Lengths are metres; y is up, z is forward, x is left. Only the left side is written down, the right one is its mirror
image.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from partwhole.datasets.shapes.bodies.rig import Bone, Flesh, Hinge, Skeleton, Vector

Part = TypeVar("Part", Bone, Flesh)

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

# Bones that are their own mirror image.
_IN_THE_MIDDLE = {"pelvis", "spine", "loin", "chest", "neck", "nape", "head"}


def biped(rng: np.random.Generator) -> Skeleton:
    """A person: pelvis, spine, chest, neck, head, arms with mitten hands, legs with feet."""
    tall, leg, arm, girth, limb, width, head, hip, belly, bust, foot = factors(
        rng, 0.06, 0.05, 0.04, 0.1, 0.05, 0.07, 0.05, 0.07, 0.12, 0.14, 0.07
    )
    ankle, knee, crotch = 0.085, 0.085 + 0.41 * leg, 0.085 + 0.82 * leg
    hips = 0.09 * hip

    def up(height: float) -> float:
        """Heights above the hips, written for a hip joint at 0.90."""
        return crotch + (height - 0.90)

    shoulder = (0.172 * width, up(1.40), -0.015)
    down_out = unit((1.0, -0.95, 0.02))
    elbow = plus(shoulder, down_out, 0.285 * arm)
    wrist = plus(elbow, down_out, 0.25 * arm)
    knuckles = plus(wrist, down_out, 0.085 * arm)
    fingertip = plus(knuckles, down_out, 0.085 * arm)
    curl = cross(down_out, Z)
    bones = [
        Bone("pelvis", None, (0, up(0.95), 0), (Hinge(Y, -20, 20), Hinge(X, -8, 18), Hinge(Z, -6, 6))),
        Bone("spine", "pelvis", (0, up(1.03), 0), (Hinge(Y, -18, 18), Hinge(X, -10, 25), Hinge(Z, -12, 12))),
        Bone("chest", "spine", (0, up(1.19), -0.01), (Hinge(Y, -20, 20), Hinge(X, -10, 20), Hinge(Z, -10, 10))),
        Bone("neck", "chest", (0, up(1.45), -0.02), (Hinge(Y, -30, 30), Hinge(X, -15, 20), Hinge(Z, -10, 10))),
        Bone("head", "neck", (0, up(1.54), -0.005), (Hinge(Y, -30, 30), Hinge(X, -15, 20), Hinge(Z, -12, 12))),
        *pair(Bone("upper arm", "chest", shoulder, (Hinge(Z, -28, 80), Hinge(Y, -75, 20), Hinge(down_out, -30, 30)))),
        *pair(Bone("forearm", "upper arm", elbow, (Hinge(curl, 0, 115), Hinge(down_out, -35, 35)))),
        *pair(Bone("hand", "forearm", wrist, (Hinge(curl, -20, 20), Hinge(Z, -35, 35)))),
        *pair(Bone("thigh", "pelvis", (hips, crotch, 0), (Hinge(Z, -3, 35), Hinge(X, -80, 25), Hinge(Y, -15, 20)))),
        *pair(Bone("shin", "thigh", (hips + 0.012, knee, 0.005), (Hinge(X, 0, 95),))),
        *pair(Bone("foot", "shin", (hips + 0.018, ankle, -0.02), (Hinge(X, -18, 25), Hinge(Y, -10, 10)))),
    ]
    g, r = girth, limb * girth**0.7
    waist, ribs = (0.044, up(1.07), -0.004), (0.062 * width, up(1.2), -0.012)
    top = up(1.64)
    flesh = [
        *pair(Flesh("pelvis", (0.058 * hip, up(0.925), -0.005), waist, 0.09 * g, 0.086 * g, 0.05)),
        *pair(Flesh("pelvis", (hips, crotch + 0.02, -0.004), (0.058, up(1.04), 0), 0.08 * r, 0.07 * g, 0.05)),
        *pair(Flesh("spine", waist, ribs, 0.086 * g, 0.09, 0.05)),
        Flesh("spine", (0, up(1.04), 0.03), (0, up(1.14), 0.028), 0.078 * g * belly, 0.06 * g * belly, 0.06),
        *pair(Flesh("chest", ribs, (0.088 * width, up(1.34), -0.022), 0.09, 0.08, 0.05)),
        Flesh("chest", (0, up(1.19), 0.012), (0, up(1.35), -0.004), 0.084, 0.068, 0.05),
        *pair(Flesh("chest", (0.03, up(1.37), -0.03), (0.14 * width, up(1.395), -0.02), 0.062, 0.05, 0.05)),
        Flesh("chest", (0, up(1.38), -0.03), (0, up(1.46), -0.02), 0.066, 0.054, 0.05),
        Flesh("neck", (0, up(1.43), -0.02), (0, up(1.54), 0.0), 0.054, 0.05, 0.03),
        Flesh("head", (0, top - 0.01, -0.02), (0, top + 0.01, 0.005), 0.094 * head, 0.09 * head, 0.03, X, 0.84),
        Flesh("head", (0, top - 0.035, 0.03), (0, top - 0.082 * head, 0.062 * head), 0.062 * head, 0.032, 0.03),
        Flesh("head", (0, top, 0.084 * head), (0, top - 0.032, 0.108 * head), 0.011, 0.016, 0.018),
        *pair(Flesh("head", (0.072 * head, top - 0.01, -0.012), (0.077 * head, top - 0.04, -0.006),
                    0.021, 0.015, 0.008)),
        *pair(Flesh("pelvis", (0.068 * hip, up(0.9), -0.055), (0.068 * hip, up(0.93), -0.05),
                    0.078 * g, 0.07 * g, 0.05)),
        *pair(Flesh("chest", (0.07, up(1.305), 0.036), (0.07, up(1.28), 0.046), 0.05 * bust, 0.046 * bust, 0.06)),
        *pair(Flesh("upper arm", plus(shoulder, down_out, -0.01), plus(shoulder, down_out, 0.06),
                    0.058 * r, 0.052 * r, 0.05)),
        *pair(Flesh("upper arm", shoulder, elbow, 0.05 * r, 0.04 * r, 0.03)),
        *pair(Flesh("forearm", elbow, wrist, 0.039 * r, 0.027 * r, 0.02)),
        *pair(Flesh("forearm", plus(elbow, down_out, 0.04), plus(elbow, down_out, 0.1), 0.043 * r, 0.038 * r, 0.03)),
        *pair(Flesh("hand", plus(wrist, down_out, 0.02), knuckles, 0.032, 0.042, 0.02, curl, 0.5)),
        *pair(Flesh("hand", knuckles, fingertip, 0.04, 0.026, 0.02, curl, 0.42)),
        *pair(Flesh("hand", plus(wrist, down_out, 0.03), plus(plus(wrist, down_out, 0.085), Z, 0.062),
                    0.019, 0.0145, 0.012)),
        *pair(Flesh("thigh", (hips, crotch, 0), (hips + 0.012, knee, 0.005), 0.083 * r, 0.052 * r, 0.05)),
        *pair(Flesh("shin", (hips + 0.012, knee, 0.008), (hips + 0.018, ankle, -0.02), 0.05 * r, 0.034 * r, 0.025)),
        *pair(Flesh("shin", (hips + 0.016, knee - 0.09, -0.022), (hips + 0.016, knee - 0.2, -0.024),
                    0.047 * r, 0.036 * r, 0.04)),
        *pair(Flesh("foot", (hips + 0.018, 0.045, -0.04), (hips + 0.018, 0.07, -0.02), 0.04, 0.036, 0.02)),
        *pair(Flesh("foot", (hips + 0.018, 0.05, -0.01), (hips + 0.03, 0.032, 0.12 * foot),
                    0.041, 0.034, 0.025, Y, 0.85)),
        *pair(Flesh("foot", (hips + 0.01, 0.026, 0.125 * foot), (hips + 0.045, 0.024, 0.125 * foot),
                    0.03, 0.028, 0.02, Y, 0.8)),
        *pair(Flesh("foot", (hips + 0.01, 0.024, 0.155 * foot), (hips + 0.038, 0.021, 0.165 * foot),
                    0.03, 0.022, 0.015, Y, 0.75)),
    ]  # fmt: skip
    landmarks: dict[str, Vector] = {"nose": (0, top - 0.032, 0.13 * head), "crown": (0, top + 0.1, -0.01)}
    for name, point in {
        "hand": plus(fingertip, down_out, 0.03),
        "elbow": plus(elbow, curl, -0.04),
        "knee": (hips + 0.012, knee, 0.06),
        "toe": (hips + 0.03, 0.02, 0.19 * foot),
        "heel": (hips + 0.018, 0.03, -0.08),
    }.items():
        landmarks |= pair_of_points(name, point)
    return scaled(Skeleton(tuple(bones), tuple(flesh), landmarks), tall)


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


def hand(rng: np.random.Generator) -> Skeleton:
    """A right hand with a piece of forearm, fingers up, palm forward, the thumb towards +x; it has no mirror symmetry."""
    size, width, length, girth, thumb = factors(rng, 0.1, 0.06, 0.07, 0.08, 0.07)
    r = girth
    bones = [
        Bone("forearm", None, (0, -0.06, 0), (Hinge(Y, -15, 15),)),
        Bone("palm", "forearm", (0, 0, 0), (Hinge(X, -35, 35), Hinge(Z, -15, 15))),
    ]
    flesh = [
        Flesh("forearm", (0, -0.06, 0), (0, -0.005, 0), 0.029 * r, 0.027 * r, 0.01, Z, 0.78),
        Flesh("palm", (-0.008 * width, 0.014, 0), (-0.026 * width, 0.078, 0), 0.02 * r, 0.018 * r, 0.02, Z, 0.72),
        Flesh("palm", (0.008 * width, 0.014, 0), (0.027 * width, 0.084, 0), 0.02 * r, 0.018 * r, 0.025, Z, 0.72),
        Flesh("palm", (0.0, 0.014, 0), (0.002, 0.084, 0), 0.021 * r, 0.017 * r, 0.025, Z, 0.72),
        Flesh("palm", (-0.016 * width, 0.016, 0.006), (-0.026 * width, 0.05, 0.005), 0.015 * r, 0.012 * r, 0.02),
    ]
    landmarks: dict[str, Vector] = {"wrist": (0, 0, -0.03)}
    for name, x, y, z, lean, reach, thick in [
        ("little finger", -0.0335, 0.082, 0.0, -0.17, 0.76, 0.85),
        ("ring finger", -0.0125, 0.09, -0.001, -0.06, 0.95, 0.95),
        ("middle finger", 0.0095, 0.0935, -0.002, 0.03, 1.03, 1.0),
        ("index finger", 0.0315, 0.09, -0.001, 0.13, 0.94, 1.0),
    ]:
        direction = unit((lean, 1.0, 0.08))
        across = cross(direction, Z)
        joint: Vector = (x * width, y, z)
        above, radius = "palm", 0.0104 * r * thick
        for part, (share, low, high) in enumerate([(0.04, -10, 62), (0.026, 0, 70), (0.021, 0, 45)]):
            end = plus(joint, direction, share * reach * length)
            bone = f"{name} {part + 1}"
            spread = (Hinge(Z, -5, 5),) if part == 0 else ()
            bones.append(Bone(bone, above, joint, (Hinge(across, low, high), *spread)))
            flesh.append(Flesh(bone, joint, end, radius, 0.93 * radius, 0.003 if part else 0.008))
            above, joint, radius = bone, end, 0.93 * radius
        landmarks[name] = plus(joint, direction, radius)
    direction = unit((0.78, 0.62, 0.3))
    across = unit((-0.35, 0.1, 0.8))
    joint, above = (0.018 * width, 0.014, 0.007), "palm"
    for part, (share, low, high, thick) in enumerate(
        [(0.04, -12, 18, 0.0155), (0.034, -8, 35, 0.0118), (0.026, -5, 45, 0.0108)]
    ):
        end = plus(joint, direction, share * thumb)
        bones.append(Bone(f"thumb {part + 1}", above, joint, (Hinge(across, low, high),)))
        flesh.append(Flesh(f"thumb {part + 1}", joint, end, thick * r, 0.9 * thick * r, 0.003 if part else 0.02))
        above, joint = f"thumb {part + 1}", end
        direction = unit(tuple(0.75 * np.array(direction) + np.array([0.0, 0.22, 0.0])))
    landmarks["thumb"] = plus(joint, direction, 0.01)
    return scaled(Skeleton(tuple(bones), tuple(flesh), landmarks), size)


def factors(rng: np.random.Generator, *spreads: float) -> list[float]:
    """Random factors about 1, within two of the given relative spreads."""
    return [float(np.exp(spread * np.clip(rng.normal(), -2, 2))) for spread in spreads]


def unit(vector: tuple[float, ...]) -> Vector:
    x, y, z = np.array(vector) / np.linalg.norm(vector)
    return float(x), float(y), float(z)


def cross(a: Vector, b: Vector) -> Vector:
    x, y, z = np.cross(a, b)
    return float(x), float(y), float(z)


def plus(point: Vector, direction: Vector, distance: float) -> Vector:
    x, y, z = np.array(point) + distance * np.array(direction)
    return float(x), float(y), float(z)


def pair(left: Part) -> tuple[Part, Part]:
    """The left one, as it is written down, and its mirror image on the right."""
    return _sided(left, "left", 1.0), _sided(left, "right", -1.0)


def _sided(item: Part, side: str, sign: float) -> Part:
    def mirrored(point: Vector) -> Vector:
        return sign * point[0], point[1], point[2]

    def owner(name: str) -> str:
        return name if name in _IN_THE_MIDDLE else f"{side} {name}"

    if isinstance(item, Bone):
        # under reflection an axis of rotation keeps its part along x and turns the others
        hinges = tuple(replace(h, axis=(h.axis[0], sign * h.axis[1], sign * h.axis[2])) for h in item.hinges)
        parent = None if item.parent is None else owner(item.parent)
        return replace(item, name=f"{side} {item.name}", parent=parent, joint=mirrored(item.joint), hinges=hinges)
    flat_axis = None if item.flat_axis is None else mirrored(item.flat_axis)
    return replace(item, bone=owner(item.bone), start=mirrored(item.start), end=mirrored(item.end), flat_axis=flat_axis)


def pair_of_points(name: str, point: Vector) -> dict[str, Vector]:
    return {f"left {name}": point, f"right {name}": (-point[0], point[1], point[2])}


def scaled(skeleton: Skeleton, factor: float) -> Skeleton:
    def grown(point: Vector) -> Vector:
        return point[0] * factor, point[1] * factor, point[2] * factor

    bones = tuple(replace(bone, joint=grown(bone.joint)) for bone in skeleton.bones)
    flesh = tuple(
        replace(
            piece,
            start=grown(piece.start),
            end=grown(piece.end),
            radius_start=piece.radius_start * factor,
            radius_end=piece.radius_end * factor,
            blend=piece.blend * factor,
        )
        for piece in skeleton.flesh
    )
    return Skeleton(bones, flesh, {name: grown(point) for name, point in skeleton.landmarks.items()})


PLANS: dict[str, Callable[[np.random.Generator], Skeleton]] = {"biped": biped, "quadruped": quadruped, "hand": hand}
