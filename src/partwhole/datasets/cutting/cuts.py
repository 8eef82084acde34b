"""Parts of a surface with exact ground truth: cutting by planes and geodesic balls, and what cameras see of it.

A part's vertices are vertices of the whole and its faces are faces of the whole, so the correspondence is known exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.datasets.cutting.views import random_eyes, seen_faces
from partwhole.geodesics import geodesic_distances
from partwhole.geodesics.distances import DistanceMethod
from partwhole.mesh import Mesh, SurfaceLike, as_mesh
from partwhole.store.arguments import as_array, as_numbers, check_seed, in_short

Point = Sequence[float] | np.ndarray
Recipe = Literal["pfaust-m", "pfaust-h", "cuts", "holes", "views", "piece"]

# Number and radius of the balls on a surface of area 1.
_PFAUST = {"pfaust-m": (4, 0.16), "pfaust-h": (13, 0.1)}
# Share of the area that is left.
_AREA_LEFT = {"cuts": (0.4, 0.8), "holes": (0.4, 0.7), "views": (0.1, 1.0), "piece": (0.1, 0.4)}
# Radii of the small holes on a surface of area 1.
_HOLE_RADII = (0.02, 0.05)
# A piece is a ball whose radius varies by about this share with the direction.
_UNEVEN = 0.25
_ATTEMPTS = 50


@dataclass(frozen=True, eq=False)
class Cut:
    """A part, the whole it was cut from, and where each of its vertices lies there.

    Attributes
    ----------
    part : what is left, one connected piece
    vertex_map : for each vertex of the part its number in the whole; `part.vertices == whole.vertices[vertex_map]`
    whole : the surface that was cut
    """

    part: Mesh
    vertex_map: Int[np.ndarray, "p"]
    whole: Mesh

    @property
    def area_share(self) -> float:
        """Area of the part divided by that of the whole."""
        return self.part.area / self.whole.area


def cut_plane(mesh: SurfaceLike, origin: Point, normal: Point) -> Cut:
    """Keep the side of a plane that its normal points to: vertices x with ⟨x − origin, normal⟩ ≥ 0.

    The largest connected piece is kept.

    Parameters
    ----------
    mesh : the whole
    origin : a point of the plane
    normal : its direction, of any length but zero

    Examples
    --------
    >>> from partwhole.datasets.shapes.primitives import sphere
    >>> cut_plane(sphere(1000), origin=(0, 0, 0), normal=(0, 0, 1)).part
    Mesh('sphere': 500 vertices, 943 faces, 1 boundary loops, 1 components)
    """
    mesh = as_mesh(mesh)
    point, direction = _checked_vector(origin, "origin"), _checked_vector(normal, "normal")
    if not direction.any():
        raise ValueError("normal=(0, 0, 0) has no direction")
    return _keep(mesh, (mesh.vertices - point) @ direction >= 0, "the plane")


def cut_balls(
    mesh: SurfaceLike,
    centres: int | Sequence[int] | np.ndarray,
    radius: float | Float[np.ndarray, "b"],
    *,
    method: DistanceMethod = "dijkstra",
) -> Cut:
    """Remove geodesic balls: keep the vertices farther than `radius` from every centre.

    The largest connected piece is kept.

    Parameters
    ----------
    mesh : the whole
    centres : vertex numbers
    radius : of all balls, or one for each, in the units of the vertices
    method : how distances are measured, as in `geodesic_distances`
    """
    mesh = as_mesh(mesh)
    sources = np.atleast_1d(as_array("centres must be a list of vertex numbers", centres))
    if sources.ndim != 1 or len(sources) == 0 or not np.issubdtype(sources.dtype, np.integer):
        raise ValueError(f"centres must be a list of vertex numbers, got {centres!r}")
    if sources.min() < 0 or sources.max() >= mesh.n_vertices:
        raise ValueError(
            f"centres reach from {sources.min()} to {sources.max()}, vertices from 0 to {mesh.n_vertices - 1}"
        )
    radii = as_numbers("radius", radius)
    if radii.shape not in ((), (1,), sources.shape):
        raise ValueError(f"radius has shape {radii.shape}; give one for all balls, or one for each of {len(sources)}")
    radii = np.broadcast_to(radii, sources.shape)
    if not np.all(radii >= 0):
        raise ValueError(f"radius={radius} must not be negative")
    distances = np.asarray(geodesic_distances(mesh, sources, method=method))
    beyond = (distances - radii[:, None]).min(axis=0)
    return _keep(mesh, beyond > 0, "the balls")


def cut_views(mesh: SurfaceLike, eyes: Point | Sequence[Point]) -> Cut:
    """Keep the faces that at least one of several cameras sees, as a scanner or a depth camera would.

    A face is seen if it is turned towards the camera, not too slanted, and nothing hides it; see `seen_faces`. The
    largest connected piece is kept.

    Parameters
    ----------
    mesh : the whole, oriented outwards
    eyes : where the cameras stand, one point or several

    Examples
    --------
    >>> from partwhole.datasets.shapes.primitives import sphere
    >>> [round(cut_views(sphere(1000), (0, 0, distance)).area_share, 2) for distance in (1.5, 4)]
    [0.12, 0.31]
    """
    mesh = as_mesh(mesh)
    places = np.atleast_2d(as_numbers("eyes", eyes))
    if places.ndim != 2 or places.shape[1] != 3 or len(places) == 0 or not np.isfinite(places).all():
        raise ValueError(f"eyes must be points of three finite numbers, got shape {places.shape}")
    return _keep_faces(mesh, np.any([seen_faces(mesh, eye) for eye in places], axis=0), "the views")


def random_cuts(mesh: SurfaceLike, recipe: Recipe = "pfaust-m", seed: int | np.random.Generator = 0) -> Cut:
    """A part made like those of the published data sets; radii are for area 1 and scale with √area.

    Parameters
    ----------
    mesh : the whole
    recipe : "pfaust-m": 4 geodesic balls of radius 0.16 removed; "pfaust-h": 13 balls of radius 0.1; "cuts": one side
        of a random plane, 40 to 80 % of the area; "holes": small balls removed at random places until 40 to 70 % of
        the area are left; "views": what one to three cameras around the surface see of it, at least 10 % of the area;
        "piece": a geodesic ball with an uneven boundary, 10 to 40 % of the area. Always the largest connected piece.
    seed : decides where

    Examples
    --------
    >>> from partwhole.datasets.shapes.primitives import sphere
    >>> 0.4 <= random_cuts(sphere(1000), "holes", seed=3).area_share <= 0.7
    True
    """
    mesh = as_mesh(mesh)
    check_seed(seed)
    if mesh.area == 0:
        raise ValueError(f"{mesh.name} has area 0; the recipes are for surfaces with area")
    rng = np.random.default_rng(seed)
    if isinstance(recipe, str) and recipe in _PFAUST:
        count, radius = _PFAUST[recipe]
        centres = rng.choice(mesh.n_vertices, size=min(count, mesh.n_vertices), replace=False)
        return cut_balls(mesh, centres, radius * mesh.area**0.5)
    if not isinstance(recipe, str) or recipe not in _AREA_LEFT:
        raise ValueError(f"recipe={recipe!r} must be one of {', '.join(map(repr, [*_PFAUST, *_AREA_LEFT]))}")
    low, high = _AREA_LEFT[recipe]
    for _ in range(_ATTEMPTS):
        target = rng.uniform(low, high)
        kept = _kept_faces(mesh, recipe, target, rng)
        if not kept.any():
            continue
        cut = _keep_faces(mesh, kept, recipe)
        if low <= cut.area_share <= high:
            return cut
    raise ValueError(
        f"{_ATTEMPTS} tries of recipe={recipe!r} left no connected piece with {low:.0%} to {high:.0%} of the area of "
        f"{mesh.name} ({mesh.n_vertices} vertices, {mesh.n_components} components); "
        "use mesh.largest_component(), or a finer mesh"
    )


def _kept_faces(mesh: Mesh, recipe: Recipe, target: float, rng: np.random.Generator) -> Bool[np.ndarray, "m"]:
    if recipe == "views":
        return np.any([seen_faces(mesh, eye) for eye in random_eyes(mesh, rng)], axis=0)
    keep = {"cuts": _one_side, "holes": _eroded, "piece": _uneven_ball}[recipe](mesh, target, rng)
    return keep[mesh.faces].all(axis=1)


def _uneven_ball(mesh: Mesh, target: float, rng: np.random.Generator) -> Bool[np.ndarray, "n"]:
    """The vertices nearest to a random one, where distances are stretched by a smooth random function of the place."""
    centre = int(rng.choice(np.unique(mesh.faces)))
    away = np.asarray(geodesic_distances(mesh, [centre], method="dijkstra"))[0]
    # waves about as long as the piece is wide
    waves = rng.normal(size=(3, 4)) * 2 * np.pi / (2 * (target * mesh.area) ** 0.5)
    noise = np.cos(mesh.vertices @ waves + rng.uniform(0, 2 * np.pi, size=4)).mean(axis=1)
    reached = away * np.exp(2 * _UNEVEN * noise)
    order = np.argsort(reached)
    share = np.cumsum(mesh.vertex_areas[order]) / mesh.area
    return reached <= reached[order[min(int(np.searchsorted(share, target)), len(share) - 1)]]


def _one_side(mesh: Mesh, target: float, rng: np.random.Generator) -> Bool[np.ndarray, "n"]:
    height = mesh.vertices @ rng.normal(size=3)
    downwards = np.argsort(-height)
    share = np.cumsum(mesh.vertex_areas[downwards]) / mesh.area
    return height >= height[downwards[min(int(np.searchsorted(share, target)), len(share) - 1)]]


def _eroded(mesh: Mesh, target: float, rng: np.random.Generator) -> Bool[np.ndarray, "n"]:
    """Remove balls of random radii about random vertices, in turn, until the faces left have the target area."""
    scale = mesh.area**0.5
    keep = np.ones(mesh.n_vertices, bool)
    # a ball of radius r covers about π r²; the balls come in blocks that can't overshoot by much
    block = max(1, int(0.1 / (np.pi * np.mean(_HOLE_RADII) ** 2)))
    while True:
        centres = rng.choice(mesh.n_vertices, size=min(block, mesh.n_vertices), replace=False)
        radii = rng.uniform(*_HOLE_RADII, size=len(centres)) * scale
        for row, radius in zip(geodesic_distances(mesh, centres, method="dijkstra"), radii, strict=True):
            keep &= row > radius
            if mesh.face_areas[keep[mesh.faces].all(axis=1)].sum() <= target * mesh.area:
                return keep


def _keep(mesh: Mesh, keep: Bool[np.ndarray, "n"], cutter: str) -> Cut:
    return _keep_faces(mesh, keep[mesh.faces].all(axis=1), cutter)


def _keep_faces(mesh: Mesh, kept: Bool[np.ndarray, "m"], cutter: str) -> Cut:
    """The largest piece of the faces kept, without vertices that join two pieces by a single point."""
    vertex_map = np.arange(mesh.n_vertices)
    part = mesh
    while True:
        if not kept.any():
            raise ValueError(f"{cutter} left no face of {mesh.name} ({mesh.n_vertices} vertices); cut less away")
        faces = part.faces[kept]
        left = np.unique(faces)
        part = Mesh(part.vertices[left], np.searchsorted(left, faces), name=part.name)
        vertex_map = vertex_map[left]
        part, left = part.largest_component()
        vertex_map = vertex_map[left]
        # where the whole is a manifold the part shall be one: a vertex between two fans of faces goes, too
        keep = (part.fans_per_vertex <= 1) | (mesh.fans_per_vertex[vertex_map] > 1)
        if keep.all():
            return Cut(part, vertex_map, mesh)
        kept = keep[part.faces].all(axis=1)


def _checked_vector(values: Point, name: str) -> Float[np.ndarray, "3"]:
    vector = as_numbers(name, values)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ValueError(f"{name} must be three finite numbers, got {in_short(values)}")
    return vector
