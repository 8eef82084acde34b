"""What the body plans are written with: directions, points, mirror images and random factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from partwhole.datasets.shapes.bodies.rig import Bone, Flesh, Hinge, Skeleton, Style, Vector

Part = TypeVar("Part", Bone, Flesh)

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

# Bones that are their own mirror image.
_IN_THE_MIDDLE = {
    "pelvis", "loin", "spine", "back", "ribs", "chest", "neck", "nape", "throat", "head", "waist", "torso", "thorax",
    "abdomen",     *(f"trunk {k}" for k in range(1, 10)),
}  # fmt: skip


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


def tilted(angle: float) -> Vector:
    """The direction in the plane of symmetry at this angle, in degrees, from forward (0) to upward (90).

    >>> np.round(tilted(90), 12).tolist()
    [0.0, 1.0, 0.0]
    """
    turn = np.radians(angle)
    return 0.0, float(np.sin(turn)), float(np.cos(turn))


def chain(
    name: str,
    parent: str,
    points: Sequence[Vector],
    radii: Sequence[float] | np.ndarray,
    hinges: tuple[Hinge, ...],
    *,
    blend: float,
) -> Skeleton:
    """Bones "name 1", "name 2" and so on, from point to point, such as those of a tail; the first hangs on `parent`."""
    names = [parent, *(f"{name} {k + 1}" for k in range(len(points) - 1))]
    ends = list(zip(points, points[1:], radii, radii[1:], strict=False))
    bones = tuple(Bone(names[k + 1], names[k], start, hinges) for k, (start, *_) in enumerate(ends))
    flesh = tuple(
        Flesh(names[k + 1], start, end, float(r), float(s), blend) for k, (start, end, r, s) in enumerate(ends)
    )
    return Skeleton(bones, flesh, {})


def joined(parts: Sequence[Skeleton], styles: tuple[Style, ...] = ()) -> Skeleton:
    """One skeleton of several; bones hang on those of earlier parts by name."""
    return Skeleton(
        tuple(bone for part in parts for bone in part.bones),
        tuple(piece for part in parts for piece in part.flesh),
        {name: point for part in parts for name, point in part.landmarks.items()},
        styles,
    )


def mixed(rng: np.random.Generator, kinds: Mapping[str, Sequence[float]], *, spread: float) -> tuple[list[float], str]:
    """Numbers between those of two kinds, nearer to the first, whose name is returned too; each also varies by itself."""
    names = list(kinds)
    first, second = (names[int(k)] for k in rng.choice(len(names), 2, replace=False))
    share = float(rng.uniform(0, 0.5))
    means = (1 - share) * np.array(kinds[first]) + share * np.array(kinds[second])
    return [
        float(mean) * factor for mean, factor in zip(means, factors(rng, *[spread] * len(means)), strict=True)
    ], first


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
    landmarks = {name: grown(point) for name, point in skeleton.landmarks.items()}
    return Skeleton(bones, flesh, landmarks, skeleton.styles)
