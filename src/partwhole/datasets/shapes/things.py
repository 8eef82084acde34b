"""`make_thing`: random smooth solids that are not bodies, and their nearly isometric deformations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole.datasets.shapes.bodies.rig import rotation_about
from partwhole.datasets.shapes.solids import Cone, Ellipsoid, Piece, mesh_solid, rough_surface
from partwhole.datasets.shapes.thing_kinds import KINDS
from partwhole.mesh import Mesh
from partwhole.store.arguments import check_seed, check_whole_number

ThingKind = Literal["furniture", "vessel", "profile", "bone", "tooth", "blob"]

_FEWEST_VERTICES = 300
_ATTEMPTS = 40
# grid cells across a thing, to see its topology and where bumps may go
_ROUGH = 28
# share of the things that get bumps at random places, without which many of them would be symmetric
_BUMPY = 0.7
# what edges may be stretched or shortened by, all but one in fifty of them
_STRAIN = 0.15
_STRAIN_OF_ONE = 0.09
_NODES = 97


@dataclass(frozen=True, eq=False, repr=False)
class Thing:
    """A solid's surface, about one unit large, y up: closed, manifold, one component.

    Attributes
    ----------
    kind : which kind of thing
    rest : its surface
    """

    kind: str
    rest: Mesh

    def __repr__(self) -> str:
        return f"Thing({self.kind!r}: {self.rest.n_vertices} vertices)"

    def pose(self, seed: int | np.random.Generator = 0, *, strength: float = 1.0) -> Mesh:
        """The same vertices and faces, bent, twisted, tapered and stretched by random smooth deformations of space.

        Edges keep their lengths to within about 15 %.

        Parameters
        ----------
        seed : decides the deformation
        strength : 1 for as much as that, 0 for none, in between for less
        """
        check_seed(seed)
        if not 0 <= strength <= 1:
            raise ValueError(f"strength={strength} must lie between 0 (undeformed) and 1 (lengths to within 15 %)")
        moved = _deformed(self.rest, np.random.default_rng(seed), strength)
        return Mesh(moved, self.rest.faces, name=self.rest.name)


def make_thing(
    n_vertices: int = 5000,
    *,
    kind: ThingKind | None = None,
    any_genus: bool = False,
    seed: int | np.random.Generator = 0,
) -> Thing:
    """A random smooth solid: furniture, a vessel, a bracket, a bone, a tooth or a blob with protrusions.

    Seven in ten have bumps at random places, so that few things are symmetric.

    Parameters
    ----------
    n_vertices : exactly so many, at least 300
    kind : "furniture", "vessel", "profile", "bone", "tooth" or "blob"; drawn if None
    any_genus : allow for handles; otherwise every thing has genus 0
    seed : decides the thing

    Examples
    --------
    >>> thing = make_thing(500, kind="tooth", seed=1)
    >>> thing, thing.rest.is_closed, thing.rest.genus
    (Thing('tooth': 500 vertices), True, 0)
    >>> poses = [thing.pose(seed) for seed in range(2)]
    """
    check_whole_number("n_vertices", n_vertices)
    check_seed(seed)
    if kind is not None and (not isinstance(kind, str) or kind not in KINDS):
        raise ValueError(f"kind={kind!r} must be one of {', '.join(map(repr, KINDS))}, or None for any")
    if n_vertices < _FEWEST_VERTICES:
        raise ValueError(f"n_vertices={n_vertices} is too few for a thing, at least {_FEWEST_VERTICES} are needed")
    rng = np.random.default_rng(seed)
    for _ in range(_ATTEMPTS):
        chosen = kind or str(rng.choice(list(KINDS)))
        pieces = KINDS[chosen](rng)
        rough = rough_surface(pieces, 1 / _ROUGH)
        bumps = _bumps(rough, rng) if rng.random() < _BUMPY else []
        if not any_genus and rough_surface([*pieces, *bumps], 1 / _ROUGH).euler_characteristic != 2:
            continue
        rest = mesh_solid([*pieces, *bumps], n_vertices, name=chosen)
        # a fine grid can still show a hole that the rough one hid
        whole = rest.area > 0.6 * rough.area and rest.n_vertices == n_vertices and rest.is_manifold and rest.is_closed
        if whole and (any_genus or rest.genus == 0):
            return Thing(chosen, rest)
    raise AssertionError(f"no {kind or 'thing'} of genus 0 in {_ATTEMPTS} draws")


def _bumps(surface: Mesh, rng: np.random.Generator) -> list[Piece]:
    """Small pieces at random places of the surface."""
    bumps: list[Piece] = []
    for k in rng.choice(surface.n_vertices, size=int(rng.integers(1, 5))):
        x, y, z = (float(value) for value in surface.vertices[k])
        along = surface.vertex_normals[k] + 0.5 * rng.normal(size=3)
        if rng.random() < 0.5:
            a, b, c = (float(value) for value in rng.uniform(0.04, 0.11, size=3))
            bumps.append(Ellipsoid(centre=(x, y, z), size=(a, b, c), blend=0.05))
        else:
            u, v, w = (float(value) for value in along / np.linalg.norm(along) * rng.uniform(0.05, 0.16))
            radius = rng.uniform(0.03, 0.06)
            bumps.append(Cone(centre=(x, y, z), start=(0, 0, 0), end=(u, v, w), r_start=radius, r_end=radius))
    return bumps


def _deformed(mesh: Mesh, rng: np.random.Generator, strength: float) -> Float[np.ndarray, "n 3"]:
    """Stretch, taper, then two bendings about random axes, each as strong as the lengths of the edges allow."""
    centre = mesh.vertices.mean(axis=0)
    points = mesh.vertices - centre
    axes = np.linalg.svd(points, full_matrices=False)[2]
    stretch = np.exp(rng.uniform(-0.05, 0.05, size=3) * strength)
    along = points @ axes.T
    taper = rng.uniform(-0.05, 0.05) * strength / np.abs(along[:, 0]).max()
    moved = (along * stretch * (1 + taper * along[:, :1])) @ axes
    for k in range(2):
        # mostly along the thing, where it bends easily; the second time anywhere
        axis = axes[0] + (0.3 if k == 0 else 1.0) * rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        waves = rng.normal(size=(3, 3)) * [[2.5], [2.5], [1.5]] / [1.0, 1.5, 2.0]
        amount = strength * rng.uniform(0.4, 1.0)
        moved = _strongest(mesh, moved, axis, waves * amount, _STRAIN_OF_ONE, moved)
    over = _strain(mesh, moved, points) / _STRAIN
    if over > 1:
        moved = points + (moved - points) / over if over < 1.2 else _deformed(mesh, rng, strength / over) - centre
    return moved + centre


def _strongest(
    mesh: Mesh,
    points: Float[np.ndarray, "n 3"],
    axis: Float[np.ndarray, "3"],
    waves: Float[np.ndarray, "3 w"],
    strain: float,
    before: Float[np.ndarray, "n 3"],
) -> Float[np.ndarray, "n 3"]:
    """The bending, weaker where edges would be strained by more than the share given."""
    for _ in range(6):
        moved = bend_along(points, axis, waves)
        share = strain / max(_strain(mesh, moved, before), 1e-12)
        if share >= 1:
            break
        waves = waves * max(0.3, 0.95 * share)
    return moved


def _strain(mesh: Mesh, moved: Float[np.ndarray, "n 3"], before: Float[np.ndarray, "n 3"]) -> float:
    """What all but one edge in fifty stay below: |length / length before − 1|."""
    u, v = mesh.edges.T
    lengths, old = (np.linalg.norm(x[u] - x[v], axis=1) for x in (moved, before))
    return float(np.quantile(np.abs(lengths / old - 1), 0.98))


def bend_along(
    points: Float[np.ndarray, "n 3"], axis: Float[np.ndarray, "3"], waves: Float[np.ndarray, "3 w"]
) -> Float[np.ndarray, "n 3"]:
    """x ↦ c(s) + R(s) (x − s·axis) with s = ⟨x, axis⟩: the axis becomes the curve c, and R(s) is the frame along it.

    R' = R [ω], c' = R·axis, and ω(s) = Σ_k waves[:, k] cos(π k t), where t goes from 0 to 1 along the points. The first
    two rows bend about two directions across the axis, the third twists; with one wave it is the angle in all.

    Examples
    --------
    A rod of length π / 2, bent by a right angle, ends one unit away in both directions:

    >>> rod = np.array([[0.0, 0, 0], [np.pi / 2, 0, 0]])
    >>> bent = bend_along(rod, np.array([1.0, 0, 0]), np.array([[0.0], [np.pi / 2], [0.0]]))
    >>> np.abs(np.linalg.norm(bent[1] - bent[0])).round(3), round(2**0.5, 3)
    (np.float64(1.414), 1.414)
    """
    heights = points @ axis
    low, high = float(heights.min()), float(heights.max())
    step = (high - low) / (_NODES - 1)
    across = np.linalg.svd(axis[None])[2][1:]
    frame = np.stack([across[0], across[1], axis])
    middle = (np.arange(_NODES - 1) + 0.5) / (_NODES - 1)
    omega = np.cos(np.pi * middle[:, None] * np.arange(waves.shape[1])) @ waves.T @ frame / (_NODES - 1)
    turns = np.empty((_NODES, 3, 3))
    curve = np.empty((_NODES, 3))
    turns[0], curve[0] = np.eye(3), low * axis
    for k, rate in enumerate(omega):
        angle = float(np.linalg.norm(rate))
        x, y, z = rate if angle > 0 else (1.0, 0.0, 0.0)
        turns[k + 1] = turns[k] @ rotation_about((x, y, z), angle)
        curve[k + 1] = curve[k] + step / 2 * (turns[k] + turns[k + 1]) @ axis
    at = np.clip((heights - low) / max(step, 1e-300), 0, _NODES - 1)
    node = np.minimum(at.astype(int), _NODES - 2)
    share = (at - node)[:, None]
    aside = points - heights[:, None] * axis
    places = [np.einsum("nij,nj->ni", turns[node + k], aside) + curve[node + k] for k in (0, 1)]
    return (1 - share) * places[0] + share * places[1]
