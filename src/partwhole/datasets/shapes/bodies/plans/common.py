"""What the body plans share: random factors, directions, mirror images, size."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from partwhole.datasets.shapes.bodies.skeleton import Bone, Flesh, Skeleton, Vector

Part = TypeVar("Part", Bone, Flesh)

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

# Bones that are their own mirror image.
_IN_THE_MIDDLE = {"pelvis", "spine", "loin", "chest", "neck", "nape", "head"}


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
