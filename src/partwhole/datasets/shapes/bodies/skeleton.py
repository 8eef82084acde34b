"""Bones, the flesh on them, and how a skeleton is bent without limbs running into each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Hinge:
    """One way a bone can turn: an axis in the rest pose and the range of the angle, in degrees."""

    axis: Vector
    low: float
    high: float


@final
@dataclass(frozen=True)
class Bone:
    """A bone turns about its joint, and carries every bone below it; the root has no parent."""

    name: str
    parent: str | None
    joint: Vector
    hinges: tuple[Hinge, ...]


@final
@dataclass(frozen=True)
class Flesh:
    """A round cone on a bone: all balls with centres from `start` to `end` and radii between the two given.

    `blend` is the width over which it melts into the flesh listed before it. A cone with a `flat_axis` is pressed
    together along that direction to the share `flat` of its thickness.
    """

    bone: str
    start: Vector
    end: Vector
    radius_start: float
    radius_end: float
    blend: float
    flat_axis: Vector | None = None
    flat: float = 1.0


@dataclass(frozen=True)
class Pose:
    """For each bone a rigid motion x ↦ rotation · x + shift, from the rest pose to the posed one."""

    rotations: Float[np.ndarray, "b 3 3"]
    shifts: Float[np.ndarray, "b 3"]


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The bones (each after its parent) and the flesh of a body in its rest pose; y is up, z is forward, x is left."""

    bones: tuple[Bone, ...]
    flesh: tuple[Flesh, ...]
    landmarks: dict[str, Vector]

    @cached_property
    def bone_index(self) -> dict[str, int]:
        return {bone.name: i for i, bone in enumerate(self.bones)}

    @cached_property
    def owners(self) -> Int[np.ndarray, "f"]:
        """For each piece of flesh the number of its bone."""
        return np.array([self.bone_index[piece.bone] for piece in self.flesh])

    @cached_property
    def parents(self) -> Int[np.ndarray, "b"]:
        """For each bone the number of its parent; the root's is its own, 0."""
        return np.array([0 if bone.parent is None else self.bone_index[bone.parent] for bone in self.bones])

    def bend(self, angles: Sequence[Sequence[float]]) -> Pose:
        """Turn every bone by its angles, in degrees, in the order of its hinges, and carry on to the bones below."""
        rotations = np.empty((len(self.bones), 3, 3))
        shifts = np.empty((len(self.bones), 3))
        for i, (bone, turns) in enumerate(zip(self.bones, angles, strict=True)):
            local = np.eye(3)
            for hinge, angle in zip(bone.hinges, turns, strict=True):
                local = local @ rotation_about(hinge.axis, np.radians(angle))
            joint = np.array(bone.joint)
            above = -1 if bone.parent is None else self.bone_index[bone.parent]
            carried, moved = (np.eye(3), np.zeros(3)) if above < 0 else (rotations[above], shifts[above])
            rotations[i] = carried @ local
            shifts[i] = carried @ (joint - local @ joint) + moved
        return Pose(rotations, shifts)

    def random_pose(self, rng: np.random.Generator, *, strength: float) -> Pose:
        """Random angles within the hinges' ranges, small ones more likely; drawn again while limbs run into each other."""
        for attempt in range(200):
            # a body that can't find a free pose at full strength gets calmer ones
            calmer = strength * 0.9 ** max(0, attempt - 20)
            angles = [
                [
                    calmer * rng.triangular(hinge.low, np.clip(0.0, hinge.low, hinge.high), hinge.high)
                    for hinge in bone.hinges
                ]
                for bone in self.bones
            ]
            pose = self.bend(angles)
            if not self._collides(pose):
                return pose
        return self.bend([[0.0] * len(bone.hinges) for bone in self.bones])

    @cached_property
    def _balls(self) -> tuple[Int[np.ndarray, "k"], Float[np.ndarray, "k 3"], Float[np.ndarray, "k"]]:
        """The flesh as strings of balls: bone, centre and radius of each."""
        shares = np.linspace(0, 1, 6)[:, None]
        owners, centres, radii = [], [], []
        for owner, piece in zip(self.owners, self.flesh, strict=True):
            centres.append((1 - shares) * np.array(piece.start) + shares * np.array(piece.end))
            radii.append(((1 - shares) * piece.radius_start + shares * piece.radius_end)[:, 0] * piece.flat)
            owners.append(np.full(len(shares), owner))
        return np.concatenate(owners), np.concatenate(centres), np.concatenate(radii)

    @cached_property
    def _free_at_rest(self) -> Bool[np.ndarray, "k k"]:
        """Pairs of balls that are well apart in the rest pose: these must not meet in any other."""
        owners, centres, radii = self._balls
        reach = radii[:, None] + radii
        return np.triu((_between(centres) > 1.25 * reach) & (owners[:, None] != owners))

    def _collides(self, pose: Pose) -> bool:
        owners, centres, radii = self._balls
        moved = np.einsum("kij,kj->ki", pose.rotations[owners], centres) + pose.shifts[owners]
        return bool(np.any(self._free_at_rest & (_between(moved) < 1.05 * (radii[:, None] + radii))))


def rotation_about(axis: Vector, angle: float) -> Float[np.ndarray, "3 3"]:
    """The rotation by `angle` about `axis`: I + sin(angle) K + (1 − cos(angle)) K², K the cross product with the axis.

    >>> np.round(rotation_about((0, 0, 2), np.pi / 2) @ [1, 0, 0], 12).tolist()
    [0.0, 1.0, 0.0]
    """
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)


def _between(points: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, "k k"]:
    squares = np.einsum("ki,ki->k", points, points)
    return np.sqrt(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0))
