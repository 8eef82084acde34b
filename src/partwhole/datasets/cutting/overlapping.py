"""Two parts of one surface that overlap as much as is asked for: cut by planes, or as two cameras see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

from partwhole.datasets.cutting.cuts import Cut, cut_plane, cut_views
from partwhole.mesh import Mesh, SurfaceLike, as_mesh

CutBy = Literal["planes", "views"]

# how far the overlap may be from what is asked for, and how often another direction is tried
_TOLERANCE, _ATTEMPTS = 0.04, 40
# cameras stand this far from the middle, in radii; angles between two of them that are tried
_DISTANCE, _ANGLES = 3.0, np.radians(np.linspace(4, 176, 22))


def overlapping_cuts(
    mesh: SurfaceLike, overlap: float, *, pose: SurfaceLike | None = None, by: CutBy = "planes", seed: int = 0
) -> tuple[Cut, Cut]:
    """Two parts of which each shares so much of its area with the other.

    "planes": one is all that lies below a plane in a random direction, the other all that lies above another plane, so that
    together they cover the surface. "views": what a camera sees from a random direction, and what another one sees.

    Parameters
    ----------
    mesh : the whole
    overlap : area(a ∩ b) / area(a), and the same of b, on average; met to within 0.04
    pose : the second part is cut from this surface, whose vertices are those of the mesh in another pose; None: the mesh
    by : "planes" or "views"
    seed : decides the directions

    Examples
    --------
    >>> from partwhole.datasets.shapes.primitives import sphere
    >>> a, b = overlapping_cuts(sphere(1000), 0.5)
    >>> abs(shared_area(a, b) - 0.5) < 0.05
    True
    """
    first = as_mesh(mesh)
    second = first if pose is None else as_mesh(pose, name="pose")
    if not 0 < overlap < 1:
        raise ValueError(f"overlap={overlap} must lie between 0 and 1")
    if by not in get_args(CutBy):
        raise ValueError(f"by must be 'planes' or 'views', got {by!r}")
    if not np.array_equal(first.faces, second.faces):
        raise ValueError(f"pose has other faces than {first.name}; it must be the same surface in another pose")
    rng = np.random.default_rng(seed)
    for _ in range(_ATTEMPTS):
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        tried = (
            _by_planes(first, second, overlap, direction)
            if by == "planes"
            else _by_views(first, second, direction, rng)
        )
        found = min(tried, key=lambda cuts: abs(shared_area(*cuts) - overlap), default=None)
        if found is not None and abs(shared_area(*found) - overlap) <= _TOLERANCE:
            return found
    raise ValueError(f"{first.name}: no two parts that share {overlap:.0%} in {_ATTEMPTS} directions; try another seed")


def shared_area(a: Cut, b: Cut) -> float:
    """The share of its area that each part has in common with the other, mean of both, measured on the whole of the first."""
    areas = a.whole.vertex_areas
    on_a, on_b = _on(a), _on(b)
    both = areas[on_a & on_b].sum()
    return float((both / areas[on_a].sum() + both / areas[on_b].sum()) / 2)


def _on(cut: Cut) -> Bool[np.ndarray, "n"]:
    found = np.zeros(cut.whole.n_vertices, bool)
    found[cut.vertex_map] = True
    return found


def _by_planes(
    first: Mesh, second: Mesh, overlap: float, direction: Float[np.ndarray, "3"]
) -> Iterator[tuple[Cut, Cut]]:
    """Below one quantile of the area and above another; both planes are laid through the first surface."""
    height = first.vertices @ direction
    order = height.argsort()
    share = first.vertex_areas[order].cumsum() / first.area
    size = 1 / (2 - overlap)
    top, bottom = (height[order[min(int(np.searchsorted(share, level)), len(order) - 1)]] for level in (size, 1 - size))
    try:
        a = cut_plane(first, top * direction, -direction)
        b = cut_plane(first, bottom * direction, direction)
    except ValueError:  # next to nothing is left
        return
    yield a, _of_pose(b, second)


def _by_views(
    first: Mesh, second: Mesh, direction: Float[np.ndarray, "3"], rng: np.random.Generator
) -> Iterator[tuple[Cut, Cut]]:
    """One camera, and another at several angles from it."""
    across = np.cross(direction, rng.normal(size=3))
    across /= np.linalg.norm(across)
    try:
        a = cut_views(first, _eye(first, direction))
    except ValueError:
        return
    for angle in _ANGLES:
        try:
            yield a, cut_views(second, _eye(second, np.cos(angle) * direction + np.sin(angle) * across))
        except ValueError:
            continue


def _eye(mesh: Mesh, direction: Float[np.ndarray, "3"]) -> Float[np.ndarray, "3"]:
    middle = (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0)) / 2
    return middle + _DISTANCE * np.linalg.norm(mesh.vertices - middle, axis=1).max() * direction


def _of_pose(cut: Cut, pose: Mesh) -> Cut:
    """The same part in another pose."""
    part = Mesh(pose.vertices[cut.vertex_map], cut.part.faces, name=cut.part.name)
    return Cut(part, cut.vertex_map, pose)
