"""`People`: forty people of one triangulation that can be posed, made from MakeHuman's CC0 assets."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from partwhole.datasets.number_files import asset_file, read_npz
from partwhole.datasets.shapes.people_poses import NEEDED, Turns, random_turns
from partwhole.mesh import Mesh
from partwhole.mesh.textured import Skin

FILE = "bodies_cc0.npz"
WHAT = (
    "the posable people made from MakeHuman's CC0 assets: rest (people, n, 3), faces, heads (people, bones, 3), parents, "
    "order, bone_names, and skinning weights as weights_indptr, weights_indices, weights_data"
)
_ARRAYS = (
    "rest",
    "faces",
    "heads",
    "parents",
    "order",
    "bone_names",
    "weights_indptr",
    "weights_indices",
    "weights_data",
)
_ATTEMPTS = 25
# a pose may press so many more of the watched vertices through the skin than the rest pose does
_PRESSED = 0.004
# deeper than this share of the body's height counts as inside
_DEPTH = 0.004
_WATCHED = 2500


@dataclass(frozen=True, eq=False, repr=False)
class People:
    """People in a rest pose, each with its skeleton, and all with the same faces: vertex i is the same point of each.

    Vertex x of the skin follows its bones: x ↦ Σ_b w_b G_b x, with G_b = G_parent · (rotation about the bone's head).
    y is up, z is forward and x is the person's left, in decimetres.

    Parameters
    ----------
    path : the file bodies_cc0.npz, or the folder that holds it

    Examples
    --------
    >>> People("data")
    Traceback (most recent call last):
    FileNotFoundError: data holds no bodies_cc0.npz, the posable people made from MakeHuman's CC0 assets: ...
    """

    path: Path

    def __init__(self, path: str | os.PathLike[str]) -> None:
        file = asset_file(path, FILE, WHAT)
        object.__setattr__(self, "path", file)
        object.__setattr__(self, "_arrays", _checked(read_npz(file), file))

    def __repr__(self) -> str:
        return f"People({len(self)} people: {self.n_vertices} vertices, {len(self.bone_names)} bones)"

    def __len__(self) -> int:
        return len(self._held["rest"])

    @property
    def n_vertices(self) -> int:
        return int(self._held["rest"].shape[1])

    @property
    def faces(self) -> Int[np.ndarray, "m 3"]:
        return self._held["faces"]

    @cached_property
    def bone_names(self) -> tuple[str, ...]:
        return tuple(str(name) for name in self._held["bone_names"])

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        """Who they are, in words, such as "female young muscle 0.65 weight 0.70"."""
        held = self._held.get("subjects")
        return tuple(f"person {k}" for k in range(len(self))) if held is None else tuple(str(name) for name in held)

    @cached_property
    def weights(self) -> sparse.csr_matrix:
        """How much each vertex follows each bone; rows sum to one."""
        held = self._held
        parts = (
            held["weights_data"].astype(np.float64),
            held["weights_indices"].astype(np.int64),
            held["weights_indptr"],
        )
        table = sparse.csr_matrix(parts, shape=(self.n_vertices, len(self.bone_names)))
        return sparse.diags(1 / np.asarray(table.sum(axis=1)).reshape(-1)) @ table

    @cached_property
    def main_bones(self) -> Int[np.ndarray, "n"]:
        """The bone that each vertex follows most."""
        return np.asarray(self.weights.argmax(axis=1)).reshape(-1)

    def rest(self, k: int) -> Mesh:
        """Person k in the rest pose, arms half down."""
        return _rest(self, self._number(k))

    def pose(self, k: int, seed: int | np.random.Generator = 0, strength: float = 1.0) -> Mesh:
        """Person k in a random pose; the same vertices and faces, bent nearly isometrically.

        Poses in which limbs run into the body are drawn again.

        Parameters
        ----------
        k : number of the person
        seed : decides the pose
        strength : 1 for the full range of the joints, 0 for the rest pose, in between for calmer poses
        """
        return Mesh(self.pose_vertices(k, seed, strength), self.faces, name=f"person{self._number(k):02d}")

    def pose_vertices(
        self, k: int, seed: int | np.random.Generator = 0, strength: float = 1.0
    ) -> Float[np.ndarray, "n 3"]:
        """The vertices of `pose`."""
        if not 0 <= strength <= 1:
            raise ValueError(f"strength={strength} must lie between 0 (rest pose) and 1 (full range of the joints)")
        rng, number = np.random.default_rng(seed), self._number(k)
        heads = dict(zip(self.bone_names, self._held["heads"][number].astype(np.float64), strict=True))
        watch = _watch(self, number)
        free: list[tuple[float, Turns]] = []
        for attempt in range(_ATTEMPTS):
            # a person of great girth has fewer free poses at full strength
            turns = random_turns(rng, heads, strength=strength * 0.95 ** max(0, attempt - 8))
            pressed = watch.pressed(self._motions(number, turns))
            free.append((pressed, turns))
            if pressed <= _PRESSED:
                break
        return _follow(self.weights, self._motions(number, min(free, key=lambda one: one[0])[1]), self.rest(number))

    def skin(self, k: int) -> Skin:
        """The skeleton of person k in the rest pose: joints at the heads of the bones, their axes those of the surface."""
        heads, parents = self._held["heads"][self._number(k)], self._held["parents"]
        rest = np.tile(np.eye(4), (len(heads), 1, 1))
        rest[:, :3, 3] = heads
        above = tuple(None if parent < 0 else int(parent) for parent in parents)
        return Skin(self.bone_names, above, rest, sparse.csr_matrix(self.weights))

    def turned(self, k: int, turns: Turns) -> Mesh:
        """Person k with the bones named turned about their heads, by rotations in the axes of the rest pose.

        Parameters
        ----------
        k : number of the person
        turns : rotation of a bone by its name; the others keep their place on the bone they hang on
        """
        unknown = sorted(set(turns) - set(self.bone_names))
        if unknown:
            raise ValueError(f"turns names {', '.join(unknown)}, which are not bones; people.bone_names lists them")
        rest = self.rest(k)
        moved = _follow(self.weights, self._motions(self._number(k), turns), rest)
        return Mesh(moved, self.faces, name=rest.name)

    @property
    def _held(self) -> dict[str, np.ndarray]:
        return self._arrays  # type: ignore[attr-defined]

    def _number(self, k: int) -> int:
        if not 0 <= k < len(self):
            raise ValueError(f"k={k} is not the number of a person, from 0 to {len(self) - 1}")
        return int(k)

    def _motions(self, k: int, turns: Turns) -> Float[np.ndarray, "b 12"]:
        """For each bone its motion from the rest pose, the rows of (rotation | shift)."""
        held, heads = self._held, self._held["heads"][k].astype(np.float64)
        motions = np.empty((len(heads), 3, 4))
        still = np.eye(3, 4)
        for bone in held["order"]:
            parent = held["parents"][bone]
            above = still if parent < 0 else motions[parent]
            turn = turns.get(self.bone_names[bone])
            if turn is None:
                motions[bone] = above
                continue
            motions[bone, :, :3] = above[:, :3] @ turn
            motions[bone, :, 3] = above[:, :3] @ (heads[bone] - turn @ heads[bone]) + above[:, 3]
        return motions.reshape(-1, 12)


def _follow(weights: sparse.csr_matrix, motions: Float[np.ndarray, "b 12"], rest: Mesh) -> Float[np.ndarray, "n 3"]:
    """Σ_b w_b G_b x for every vertex."""
    blend = (weights @ motions).reshape(-1, 3, 4)
    return np.einsum("nij,nj->ni", blend[:, :, :3], rest.vertices) + blend[:, :, 3]


@dataclass(frozen=True, eq=False)
class _Watch:
    """Some vertices of a person, to see where limbs run through the skin."""

    points: Float[np.ndarray, "w 3"]
    normals: Float[np.ndarray, "w 3"]
    weights: sparse.csr_matrix
    limbs: tuple[tuple[Bool[np.ndarray, "w"], Bool[np.ndarray, "w"]], ...]
    depth: float

    @cached_property
    def _at_rest(self) -> float:
        return self._inside(np.tile(np.eye(3, 4).reshape(-1), (self.weights.shape[1], 1)))

    def pressed(self, motions: Float[np.ndarray, "b 12"]) -> float:
        """Share of the vertices that lie inside the body, less what does so in the rest pose."""
        return max(0.0, self._inside(motions) - self._at_rest)

    def _inside(self, motions: Float[np.ndarray, "b 12"]) -> float:
        from scipy.spatial import cKDTree

        blend = (self.weights @ motions).reshape(-1, 3, 4)
        points = np.einsum("wij,wj->wi", blend[:, :, :3], self.points) + blend[:, :, 3]
        normals = np.einsum("wij,wj->wi", blend[:, :, :3], self.normals)
        inside = 0
        for limb, others in self.limbs:
            away, nearest = cKDTree(points[others]).query(points[limb], distance_upper_bound=30 * self.depth)
            near = np.isfinite(away)
            apart = points[limb][near] - points[others][nearest[near]]
            inside += int((np.einsum("wi,wi->w", apart, normals[others][nearest[near]]) < -self.depth).sum())
        return inside / len(points)


# what of a limb is watched, and what of the same side it may press against
_LIMBS = {
    "arm": (("lowerarm", "wrist", "finger", "metacarpal"), ("upperarm", "shoulder", "clavicle")),
    "shin": (("lowerleg", "foot", "toe"), ("upperleg",)),
    "thigh": (("upperleg",), ("lowerleg", "foot", "toe", "pelvis", "root", "spine")),
}


@lru_cache(maxsize=64)
def _rest(people: People, k: int) -> Mesh:
    return Mesh(people._held["rest"][k].astype(np.float64), people.faces, name=f"person{k:02d}")


@lru_cache(maxsize=64)
def _watch(people: People, k: int) -> _Watch:
    rest = people.rest(k)
    chosen = np.unique(np.linspace(0, rest.n_vertices - 1, _WATCHED).astype(np.int64))
    owner = people.main_bones[chosen]

    def of(kinds: tuple[str, ...], side: str) -> Bool[np.ndarray, "w"]:
        return np.array([name.startswith(kinds) and name.endswith(side) for name in people.bone_names])[owner]

    def middle(kinds: tuple[str, ...]) -> Bool[np.ndarray, "w"]:
        return np.array([name.startswith(kinds) and not name.endswith((".L", ".R")) for name in people.bone_names])[
            owner
        ]

    limbs = []
    for own, excused in _LIMBS.values():
        for side in (".L", ".R"):
            limb = of(own, side)
            others = ~(limb | of(excused, side) | middle(excused))
            if limb.any() and others.any():
                limbs.append((limb, others))
    height = float(np.ptp(rest.vertices[:, 1]))
    return _Watch(
        rest.vertices[chosen], rest.vertex_normals[chosen], people.weights[chosen], tuple(limbs), _DEPTH * height
    )


def _checked(arrays: dict[str, np.ndarray], path: Path) -> dict[str, np.ndarray]:
    missing = [name for name in _ARRAYS if name not in arrays]
    if missing:
        raise ValueError(f"{path} has no {', no '.join(missing)}; it should hold {WHAT}")
    rest, n_bones = arrays["rest"], len(arrays["bone_names"])
    expected = {
        "rest": (len(rest), rest.shape[1] if rest.ndim > 1 else 0, 3),
        "heads": (len(rest), n_bones, 3),
        "parents": (n_bones,),
        "order": (n_bones,),
        "weights_indptr": (len(rest[0]) + 1,),
        "weights_data": arrays["weights_indices"].shape,
    }
    for name, shape in expected.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{path}: {name} has shape {arrays[name].shape}, expected {shape}")
    absent = sorted(set(NEEDED) - {str(name) for name in arrays["bone_names"]})
    if absent:
        raise ValueError(f"{path} has no bone {', '.join(absent)}, which poses turn")
    place = np.empty(n_bones, np.int64)
    place[arrays["order"]] = np.arange(n_bones)
    parents = arrays["parents"]
    if np.any(place[parents[parents >= 0]] > place[parents >= 0]):
        raise ValueError(f"{path}: order names a bone before its parent")
    return arrays
