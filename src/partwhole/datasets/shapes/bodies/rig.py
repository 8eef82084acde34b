"""Bones, the flesh on them, poses without colliding limbs, and how the skin follows the bones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar, final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.sparse.linalg import splu

from partwhole.mesh import Mesh

Vector = tuple[float, float, float]
# Width of the region around a joint that bends, in local radii of the limb.
_SOFTNESS = 0.5
# Bones up to so many joints apart may press their flesh to this share of its thickness.
_NEAR, _PRESSED = 4, 0.8
# Of the bones of a pair, the name of the other one begins with
_SIDES = {"left": "right", "right": "left"}


@dataclass(frozen=True)
class Hinge:
    """One degree of freedom of a bone: an axis in the rest pose and the range of the angle, in degrees."""

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

    `blend` is the width over which it blends into the flesh listed before it. A cone with a `flat_axis` is pressed
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
class Style:
    """A way to stand, lie or move: angles that poses of this style vary about.

    Attributes
    ----------
    angles : degrees by the name of a bone, in the order of its hinges, the last ones 0 if left out; a name without
        "left" or "right" stands for both
    noise : how far poses vary, as a share of the hinges' ranges
    weight : how often the style is drawn, compared with others
    """

    angles: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    noise: float = 0.3
    weight: float = 1.0

    def of(self, bone: Bone, *, mirrored: bool) -> Float[np.ndarray, "h"]:
        """Angles of the bone; mirrored, what is said of the left is done by the right, and what bends left bends right."""
        side, _, rest = bone.name.partition(" ")
        paired = side in _SIDES
        name = f"{_SIDES[side]} {rest}" if paired and mirrored else bone.name
        given = self.angles.get(name, self.angles.get(rest, ()) if paired else ())
        turns = np.zeros(len(bone.hinges))
        turns[: len(given)] = given
        if mirrored and not paired:
            turns *= [1.0 if hinge.axis[0] else -1.0 for hinge in bone.hinges]
        return turns


@dataclass(frozen=True)
class Pose:
    """For each bone a rigid motion x ↦ rotation · x + shift, from the rest pose to the posed one."""

    rotations: Float[np.ndarray, "b 3 3"]
    shifts: Float[np.ndarray, "b 3"]


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The bones (each after its parent) and the flesh of a body in its rest pose; y is up, z is forward, x is left.

    A skeleton with styles draws its poses from them.
    """

    bones: tuple[Bone, ...]
    flesh: tuple[Flesh, ...]
    landmarks: dict[str, Vector]
    styles: tuple[Style, ...] = ()

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
        """Random angles within the hinges' ranges, small ones more likely; drawn again while limbs run into each other.

        If there are styles, one is drawn, and the angles vary about its own.
        """
        draw = self._style(rng) if self.styles else self._any_angles
        for attempt in range(200):
            # a body that can't find a free pose at full strength gets calmer ones
            pose = self.bend(draw(rng, strength * 0.9 ** max(0, attempt - 20)))
            if not self.collides(pose):
                return pose
        return self.bend([[0.0] * len(bone.hinges) for bone in self.bones])

    def _any_angles(self, rng: np.random.Generator, strength: float) -> list[list[float]]:
        return [
            [
                strength * rng.triangular(hinge.low, np.clip(0.0, hinge.low, hinge.high), hinge.high)
                for hinge in bone.hinges
            ]
            for bone in self.bones
        ]

    def _style(self, rng: np.random.Generator) -> Callable[[np.random.Generator, float], list[list[float]]]:
        weights = np.array([style.weight for style in self.styles])
        style = self.styles[int(rng.choice(len(weights), p=weights / weights.sum()))]
        mirrored = bool(rng.random() < 0.5)
        means = [style.of(bone, mirrored=mirrored) for bone in self.bones]

        def draw(rng: np.random.Generator, strength: float) -> list[list[float]]:
            amount, noise = strength * rng.uniform(0.6, 1.0), strength * style.noise
            angles = []
            for bone, mean, any_turns in zip(self.bones, means, self._any_angles(rng, noise), strict=True):
                turns = zip(bone.hinges, amount * mean + any_turns, strict=True)
                angles.append([float(np.clip(turn, hinge.low, hinge.high)) for hinge, turn in turns])
            return angles

        return draw

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

    def collides(self, pose: Pose) -> bool:
        """Whether flesh runs into flesh that it is well apart from in the rest pose."""
        owners, centres, _ = self._balls
        moved = np.einsum("kij,kj->ki", pose.rotations[owners], centres) + pose.shifts[owners]
        return bool(np.any(self._free_at_rest & (_between(moved) < self._room)))

    @cached_property
    def _room(self) -> Float[np.ndarray, "k k"]:
        """How far the middles of two balls must stay apart.

        Poses of a style fold limbs and lay them against the trunk, so there bones near each other in the tree may press
        the flesh between them, though not a left limb that of a right one.
        """
        owners, _, radii = self._balls
        reach = radii[:, None] + radii
        if not self.styles:
            return 1.05 * reach
        side = np.array([{"left": 1, "right": -1}.get(bone.name.partition(" ")[0], 0) for bone in self.bones])
        pressed = (self._steps_apart <= _NEAR) & (side[:, None] * side >= 0)
        return np.where(pressed[owners[:, None], owners], _PRESSED, 1.05) * reach

    @cached_property
    def _steps_apart(self) -> Int[np.ndarray, "b b"]:
        """For each pair of bones the number of joints between them."""
        n = len(self.bones)
        steps = np.zeros((n, n), int)
        for bone, parent in enumerate(self.parents[1:], start=1):
            steps[bone, :bone] = steps[:bone, bone] = steps[parent, :bone] + 1
        return steps


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


def distance_to(piece: Flesh, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n"]:
    """Signed distance min over s in [0, L] of |p − c(s)| − r(s), negative inside; about that if the piece is pressed flat."""
    start, end = np.array(piece.start), np.array(piece.end)
    if piece.flat_axis is not None:
        axis = np.array(piece.flat_axis) / np.linalg.norm(piece.flat_axis)
        stretch = np.eye(3) + (1 / piece.flat - 1) * np.outer(axis, axis)
        middle = (start + end) / 2
        points, start, end = ((x - middle) @ stretch for x in (points, start, end))
    along = end - start
    length = float(np.linalg.norm(along))
    relative = points - start
    if length == 0:
        return (np.linalg.norm(relative, axis=1) - piece.radius_start) * piece.flat**0.5
    t = relative @ (along / length)
    away = np.sqrt(np.maximum(np.einsum("ni,ni->n", relative, relative) - t**2, 0))
    # where the derivative by s is zero, the ball of radius r(s) touches; the sum is convex, so clipping is exact
    slope = np.clip((piece.radius_start - piece.radius_end) / length, -0.99, 0.99)
    s = np.clip(t - away * slope / np.sqrt(1 - slope**2), 0, length)
    radius = piece.radius_start + (piece.radius_end - piece.radius_start) * s / length
    return (np.hypot(t - s, away) - radius) * piece.flat**0.5


def skinning_weights(mesh: Mesh, skeleton: Skeleton) -> Float[np.ndarray, "n b"]:
    """How much each vertex follows each bone: not negative, rows sum to one, smooth along the skin.

    Each vertex starts with the bone of the flesh it lies nearest to; this is then diffused over the surface, as far as
    the limb is thick there: (A + L) W = A W₀ with L the cotangent Laplacian of conductivity (softness · radius)², twice.
    """
    distances = np.stack([distance_to(piece, mesh.vertices) for piece in skeleton.flesh], axis=1)
    nearest = distances.argmin(axis=1)
    weights = np.zeros((mesh.n_vertices, len(skeleton.bones)))
    weights[np.arange(mesh.n_vertices), skeleton.owners[nearest]] = 1.0
    thickness = np.array([(piece.radius_start + piece.radius_end) / 2 for piece in skeleton.flesh])[nearest]
    areas = sparse.diags(mesh.vertex_areas)
    # first even out the thickness itself, which jumps between pieces of flesh
    plain = splu((areas + _laplacian(mesh, np.full(mesh.n_vertices, thickness.mean() ** 2))).tocsc())
    thickness = plain.solve(areas @ thickness)
    diffusion = splu((areas + _laplacian(mesh, (_SOFTNESS * thickness) ** 2)).tocsc())
    for _ in range(2):
        weights = diffusion.solve(areas @ weights)
    weights = np.maximum(weights, 0)
    return weights / weights.sum(axis=1, keepdims=True)


def _laplacian(mesh: Mesh, conductivity: Float[np.ndarray, "n"]) -> sparse.csr_matrix:
    """Cotangent Laplacian, positive semidefinite, with a conductivity on the vertices; weights below 0 are left out."""
    cotangents = 1 / np.tan(np.clip(mesh.corner_angles, 1e-3, np.pi - 1e-3))
    weights = np.bincount(mesh.opposite_edges.reshape(-1), weights=cotangents.reshape(-1) / 2)
    u, v = mesh.edges.T
    weights = np.maximum(weights, 1e-6) * (conductivity[u] + conductivity[v]) / 2
    n = mesh.n_vertices
    adjacency = sparse.coo_matrix((weights, (u, v)), shape=(n, n))
    adjacency = adjacency + adjacency.T
    return (sparse.diags(np.asarray(adjacency.sum(axis=1)).reshape(-1)) - adjacency).tocsr()


def skin(
    vertices: Float[np.ndarray, "n 3"],
    weights: Float[np.ndarray, "n b"],
    pose: Pose,
    parents: Int[np.ndarray, "b"],
) -> Float[np.ndarray, "n 3"]:
    """Move each vertex by the blend Σ w_b q_b / |Σ w_b q_b| of its bones' motions, as unit dual quaternions.

    Unlike a mean of matrices, the blend is a rigid motion, so that limbs keep their girth when they are twisted.
    """
    turn = _quaternions(pose.rotations)
    # q and −q are the same motion; the blend needs those of neighbouring bones on one side
    for bone, parent in enumerate(parents[1:], start=1):
        if turn[bone] @ turn[parent] < 0:
            turn[bone] *= -1
    move = 0.5 * _product(np.concatenate([np.zeros((len(turn), 1)), pose.shifts], axis=1), turn)
    real, dual = weights @ turn, weights @ move
    length = np.linalg.norm(real, axis=1, keepdims=True)
    real, dual = real / length, dual / length
    w, axis = real[:, :1], real[:, 1:]
    rotated = vertices + 2 * np.cross(axis, np.cross(axis, vertices) + w * vertices)
    shift = 2 * (w * dual[:, 1:] - dual[:, :1] * axis + np.cross(axis, dual[:, 1:]))
    return rotated + shift


def _quaternions(rotations: Float[np.ndarray, "b 3 3"]) -> Float[np.ndarray, "b 4"]:
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(rotations).as_quat()[:, [3, 0, 1, 2]]


def _product(p: Float[np.ndarray, "b 4"], q: Float[np.ndarray, "b 4"]) -> Float[np.ndarray, "b 4"]:
    scalar = p[:, :1] * q[:, :1] - np.einsum("bi,bi->b", p[:, 1:], q[:, 1:])[:, None]
    vector = p[:, :1] * q[:, 1:] + q[:, :1] * p[:, 1:] + np.cross(p[:, 1:], q[:, 1:])
    return np.concatenate([scalar, vector], axis=1)


# --- what body plans are written with: directions, points, mirror images and random factors

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
