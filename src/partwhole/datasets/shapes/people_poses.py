"""Poses for the people of `People`: random joint angles, in the ranges of a person who stands, walks, bends or crouches.

y is up, z is forward and x is the person's left. Angles are in degrees and written for the left side; the right side is
their mirror image. Elbows and knees bend in one direction only; neighbouring bones share twist, so that limbs keep their
girth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole.datasets.shapes.bodies.rig import rotation_about

Legs = Literal["stand", "walk", "lunge", "crouch", "one leg up"]
Back = Literal["upright", "bent", "twisted", "sideways"]
Arm = Literal["down", "out", "up", "ahead", "bent"]
Limits = tuple[float, float]

_LEGS: dict[Legs, float] = {"stand": 0.35, "walk": 0.2, "lunge": 0.1, "crouch": 0.15, "one leg up": 0.2}
_BACKS: dict[Back, float] = {"upright": 0.5, "bent": 0.25, "twisted": 0.15, "sideways": 0.1}
_ARMS: dict[Arm, float] = {"down": 0.25, "out": 0.2, "up": 0.25, "ahead": 0.15, "bent": 0.15}
_ARMS_ALIKE = 0.4

# Ranges: lift sideways from the rest pose (arms half down), swing ahead about the vertical and about x, bend of the elbow.
_ARM_RANGES: dict[Arm, tuple[Limits, ...]] = {
    "down": ((-30, -8), (-10, 10), (-25, 30), (5, 45)),
    "out": ((5, 50), (-15, 20), (-10, 10), (0, 60)),
    "up": ((55, 115), (-15, 20), (-10, 10), (0, 70)),
    "ahead": ((-15, 35), (35, 80), (0, 25), (5, 80)),
    "bent": ((-18, 25), (0, 25), (-20, 25), (55, 105)),
}

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

SPINE = ("spine05", "spine04", "spine03", "spine02", "spine01")
NECK = ("neck01", "neck02", "neck03", "head")
# who lifts the arm, and how much of it each does
_LIFTERS = {"clavicle": 0.12, "shoulder01": 0.23, "upperarm01": 0.65}

# the bones that poses turn; fingers too, where they are there
NEEDED = (
    "root",
    *SPINE,
    *NECK,
    *(
        f"{bone}.{side}"
        for bone in (
            *_LIFTERS,
            "upperarm02",
            "lowerarm01",
            "lowerarm02",
            "wrist",
            "upperleg01",
            "lowerleg01",
            "foot",
        )
        for side in "LR"
    ),
)

Heads = Mapping[str, Float[np.ndarray, "3"]]
Turns = dict[str, Float[np.ndarray, "3 3"]]


@dataclass(frozen=True)
class Leg:
    """Angles of a leg: thigh ahead, out to the side and turned out, knee bent, toes up."""

    ahead: float
    out: float
    turned: float
    knee: float
    toes: float


def random_turns(rng: np.random.Generator, heads: Heads, *, strength: float) -> Turns:
    """A random pose: the rotation of each bone about its head, for those that turn, in the axes of the rest pose.

    Legs, back and arms are drawn one by one, of a kind each (standing, walking, a lunge, ...), and the pelvis is tilted
    so that the leg that carries the body has its foot on the ground.

    Parameters
    ----------
    rng : decides the pose
    heads : joint of each bone in the rest pose, by the bone's name
    strength : all angles times this; 0 is the rest pose
    """
    turns: Turns = {}

    def turn(bone: str, *rotations: tuple[tuple[float, float, float] | Float[np.ndarray, "3"], float]) -> None:
        """Turn a bone, the last rotation first; a bone that is named twice is turned by both."""
        for axis, degrees in rotations:
            whole = rotation_about((float(axis[0]), float(axis[1]), float(axis[2])), np.radians(strength * degrees))
            turns[bone] = turns.get(bone, np.eye(3)) @ whole

    back: Back = rng.choice(list(_BACKS), p=list(_BACKS.values()))
    legs, lean = _draw_legs(rng, from_hips=rng.uniform(5, 45) if back == "bent" else 0.0)
    turn("root", (X, lean), (Z, rng.uniform(-4, 4)))
    bow = rng.uniform(10, 45) if back == "bent" else rng.uniform(-10, 12)
    twist = rng.choice([-1, 1]) * rng.uniform(15, 40) if back == "twisted" else rng.uniform(-12, 12)
    side = rng.choice([-1, 1]) * rng.uniform(10, 28) if back == "sideways" else rng.uniform(-6, 6)
    for bone in SPINE:
        turn(bone, (Y, twist / len(SPINE)), (Z, side / len(SPINE)), (X, bow / len(SPINE)))
    nod, shake, tilt = rng.uniform(-20, 22), rng.uniform(-45, 45), rng.uniform(-14, 14)
    for bone in NECK:
        turn(bone, (Y, shake / len(NECK)), (Z, tilt / len(NECK)), (X, nod / len(NECK)))
    arms = rng.choice(list(_ARMS), size=2, p=list(_ARMS.values()))
    if rng.random() < _ARMS_ALIKE:
        arms[1] = arms[0]
    for side_name, sign, leg, arm in (("L", 1.0, legs[0], arms[0]), ("R", -1.0, legs[1], arms[1])):
        turn(f"upperleg01.{side_name}", (X, -leg.ahead), (Z, sign * leg.out), (Y, sign * leg.turned))
        turn(f"lowerleg01.{side_name}", (X, leg.knee))
        turn(f"foot.{side_name}", (X, -leg.toes), (Y, sign * rng.uniform(-8, 8)))
        for bone, rotations in _draw_arm(rng, heads, side_name, sign, arm).items():
            turn(f"{bone}.{side_name}", *rotations)
    return turns


def _draw_legs(rng: np.random.Generator, *, from_hips: float) -> tuple[tuple[Leg, Leg], float]:
    """Left and right leg and the lean of the pelvis ahead; the bow that comes from the hips bends both."""

    def leg(ahead: Limits, out: Limits, turned: Limits, knee: Limits) -> Leg:
        return Leg(rng.uniform(*ahead), rng.uniform(*out), rng.uniform(*turned), rng.uniform(*knee), 0.0)

    def standing() -> Leg:
        return leg((-3, 10), (-1, 14), (-8, 15), (0, 10))

    kind: Legs = rng.choice(list(_LEGS), p=list(_LEGS.values()))
    carries, other = standing(), standing()
    if kind == "walk":
        carries = leg((10, 32), (-1, 6), (-5, 10), (0, 20))
        other = leg((-22, -5), (0, 6), (-5, 10), (5, 40))
    elif kind == "lunge":
        carries = leg((40, 75), (0, 15), (0, 12), (0, 0))
        carries = replace(carries, knee=carries.ahead * rng.uniform(0.9, 1.1))
        other = leg((-22, -8), (0, 12), (0, 15), (5, 45))
    elif kind == "crouch":
        carries = leg((30, 85), (6, 28), (0, 18), (0, 0))
        carries = replace(carries, knee=carries.ahead * rng.uniform(0.95, 1.15))
        away = rng.uniform(-5, 5, size=2)
        other = replace(carries, ahead=carries.ahead + away[0], out=carries.out + away[1], turned=rng.uniform(0, 18))
    elif kind == "one leg up":
        other = leg((30, 85), (0, 28), (0, 15), (15, 100))
    bow = 0.0 if kind in ("lunge", "crouch") else from_hips
    carries = replace(carries, ahead=carries.ahead + bow)
    other = replace(other, ahead=other.ahead + (0.0 if kind == "one leg up" else bow))
    # the shin of the carrying leg is turned by lean − ahead + knee against the vertical; who walks lands on a heel
    tilt = rng.uniform(0, 6) + 0.2 * carries.knee
    lean = rng.uniform(-3, 8) + bow if kind == "walk" else tilt + carries.ahead - carries.knee
    lean = float(np.clip(lean, -12, 65))

    def on_the_ground(one: Leg) -> Leg:
        return replace(one, toes=float(np.clip(lean - one.ahead + one.knee, -25, 25)))

    carries = on_the_ground(carries)
    other = on_the_ground(other) if kind in ("stand", "crouch") else replace(other, toes=rng.uniform(-25, 12))
    return (carries, other) if rng.random() < 0.5 else (other, carries), lean


def _draw_arm(rng: np.random.Generator, heads: Heads, side: str, sign: float, kind: Arm) -> dict[str, list]:
    """Rotations of the bones of one arm, as (axis, degrees), by the bone's name without its side."""
    lift, ahead, swing, bend = (rng.uniform(*limits) for limits in _ARM_RANGES[kind])
    shoulder, elbow, wrist = (heads[f"{bone}.{side}"] for bone in ("upperarm01", "lowerarm01", "wrist"))
    upper, lower = _unit(elbow - shoulder), _unit(wrist - elbow)
    # the rest pose has bent elbows: how much and about which axis differs from person to person
    axis = _unit(np.cross(upper, lower))
    bent_at_rest = float(np.degrees(np.arccos(np.clip(upper @ lower, -1, 1))))
    rolled, turned = rng.uniform(-30, 25), rng.uniform(-40, 40)
    moves: dict[str, list] = {
        bone: [(Y, -sign * share * ahead), (Z, sign * share * lift)] for bone, share in _LIFTERS.items()
    }
    moves["upperarm01"] += [(X, -swing), (upper, sign * rolled / 2)]
    moves["upperarm02"] = [(upper, sign * rolled / 2)]
    moves["lowerarm01"] = [(axis, bend - bent_at_rest), (lower, sign * turned / 3)]
    moves["lowerarm02"] = [(lower, sign * turned / 3)]
    moves["wrist"] = [(axis, rng.uniform(-25, 25)), (Z, rng.uniform(-8, 8)), (lower, sign * turned / 3)]
    curled = rng.uniform(0, 30)
    if {f"finger2-1.{side}", f"finger5-1.{side}"} <= set(heads):
        across = _unit(heads[f"finger5-1.{side}"] - heads[f"finger2-1.{side}"])
        for finger, joint in ((f, j) for f in range(2, 6) for j in range(1, 4)):
            if f"finger{finger}-{joint}.{side}" in heads:
                moves[f"finger{finger}-{joint}"] = [(across, sign * (curled + rng.uniform(-5, 5)))]
    return moves


def _unit(vector: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3"]:
    return vector / max(float(np.linalg.norm(vector)), 1e-300)
