"""Surfaces with known answers: plane, annulus, sphere, cap, cylinder, torus; and planes and spheres full of slivers.

All are manifold, consistently oriented (normals of a solid point outwards, those of a flat piece along +z) and have
exactly the number of vertices asked for. Every vertex lies on the ideal surface. `jitter` between 0 and 1 moves
vertices at random within the surface, so that the triangulation is irregular; boundary vertices stay on the boundary.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from partwhole.datasets.shapes.strips import Profile, rectangle, revolve, share_out
from partwhole.mesh import Mesh
from partwhole.store.arguments import check_number, check_seed, check_whole_number


def plane(
    n_vertices: int | tuple[int, int] = 1000,
    *,
    width: float = 1.0,
    height: float = 1.0,
    jitter: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> Mesh:
    """The rectangle [0, width] × [0, height] at z = 0; distances inside are Euclidean.

    Parameters
    ----------
    n_vertices : how many vertices, at least 4, or a pair (rows, columns) for a regular grid
    width, height : sides of the rectangle
    jitter : 0 (regular) to 1; how far vertices are moved within the surface
    seed : of the jitter

    Examples
    --------
    >>> plane(97)
    Mesh('plane': 97 vertices, 155 faces, 1 boundary loops, 1 components)
    """
    _check_positive(width=width, height=height)
    _check_jitter(jitter)
    if isinstance(n_vertices, tuple):
        rows, columns = n_vertices
        if rows < 2 or columns < 2:
            raise ValueError(f"plane: n_vertices={n_vertices} must be at least 2 rows and 2 columns")
        counts = np.full(rows, columns)
    else:
        _check_count("plane", n_vertices, 4)
        step = np.sqrt(2 * width * height / (np.sqrt(3) * n_vertices))
        rows = int(np.clip(round(height / (step * np.sqrt(3) / 2)) + 1, 2, n_vertices // 2))
        counts = share_out(np.ones(rows), n_vertices, minimum=2)
    return rectangle(counts, width, height, jitter, _generator(seed))


def annulus(
    inner: float = 1.0,
    outer: float = 2.0,
    n_vertices: int = 1000,
    *,
    jitter: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> Mesh:
    """The flat ring inner ≤ |x| ≤ outer at z = 0.

    The shortest path between two points is the segment between them or, where the hole blocks it, two tangents of
    the inner circle and the arc between them.

    Parameters
    ----------
    inner, outer : radii, 0 < inner < outer
    n_vertices : at least 6
    jitter, seed : as for `plane`
    """
    _check_positive(inner=inner, outer=outer)
    if inner >= outer:
        raise ValueError(f"annulus: inner={inner} must be smaller than outer={outer}")
    _check_size("annulus", n_vertices, 6, jitter)
    area = np.pi * (outer**2 - inner**2)
    rows = _row_count(outer - inner, area, n_vertices, least=2, most=n_vertices // 3)

    def profile(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return outer + (inner - outer) * t / (rows - 1), np.zeros_like(t)

    return _revolved("annulus", profile, rows, n_vertices, jitter, seed)


def sphere(
    n_vertices: int = 1000,
    radius: float = 1.0,
    *,
    jitter: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> Mesh:
    """A sphere about the origin, vertices nearly evenly spread; d(p, q) = radius · ∠(p, q).

    Parameters
    ----------
    n_vertices : at least 4
    radius : of the sphere
    jitter, seed : as for `plane`

    Examples
    --------
    >>> sphere(500).euler_characteristic
    2
    """
    from scipy.spatial import ConvexHull

    _check_positive(radius=radius)
    _check_size("sphere", n_vertices, 4, jitter)
    # Fibonacci spiral: equal steps of height, golden-angle steps of longitude
    z = 1 - (2 * np.arange(n_vertices) + 1) / n_vertices
    longitude = np.pi * (3 - np.sqrt(5)) * np.arange(n_vertices)
    level = np.sqrt(1 - z**2)
    points = np.stack([level * np.cos(longitude), level * np.sin(longitude), z], axis=1)
    if jitter:
        spacing = np.sqrt(4 * np.pi / n_vertices)
        points += _generator(seed).uniform(-1, 1, points.shape) * jitter * 0.3 * spacing
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    faces = ConvexHull(points).simplices.astype(np.int64)
    a, b, c = (points[faces[:, i]] for i in range(3))
    inward = np.einsum("mi,mi->m", np.cross(b - a, c - a), a + b + c) < 0
    faces[inward] = faces[inward][:, ::-1]
    return Mesh(points * radius, faces, name="sphere")


def sphere_cap(
    n_vertices: int = 1000,
    angle: float = np.pi / 2,
    *,
    radius: float = 1.0,
    jitter: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> Mesh:
    """The points of a sphere within `angle` of its north pole +z; its boundary is a circle of latitude.

    For angle ≤ π/2 the cap is convex and distances are those of the sphere. Its area is 2π radius² (1 − cos angle).

    Parameters
    ----------
    n_vertices : at least 4
    angle : of the cap as seen from the centre, between 0 and π, both excluded
    radius : of the sphere
    jitter, seed : as for `plane`
    """
    _check_positive(radius=radius)
    check_number("angle", angle)
    if not 0 < angle < np.pi:
        raise ValueError(f"sphere_cap: angle={angle} must lie between 0 and pi; use sphere() for all of it")
    _check_size("sphere_cap", n_vertices, 4, jitter)
    area = 2 * np.pi * (1 - np.cos(angle))
    rows = _row_count(angle, area, n_vertices, least=2, most=(n_vertices - 1) // 3 + 1)

    def profile(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        latitude = angle * (1 - t / (rows - 1))
        return np.where(t == rows - 1, 0.0, radius * np.sin(latitude)), radius * np.cos(latitude)

    return _revolved("sphere cap", profile, rows, n_vertices, jitter, seed)


def cylinder(
    radius: float = 1.0,
    height: float = 2.0,
    n_vertices: int = 1000,
    *,
    closed: bool = False,
    jitter: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> Mesh:
    """A cylinder about the z axis from z = 0 to z = height; unrolled, it is a strip of the plane.

    Without lids d(p, q)² = (radius · Δangle)² + Δz². With `closed=True` both lids are there and the surface is a
    topological sphere of area 2π radius (radius + height).

    Parameters
    ----------
    radius, height : of the cylinder
    n_vertices : at least 6, with lids at least 8
    closed : whether it has lids
    jitter, seed : as for `plane`
    """
    _check_positive(radius=radius, height=height)
    _check_size("cylinder", n_vertices, 8 if closed else 6, jitter)
    lengths = [radius, height, radius] if closed else [height]
    area = 2 * np.pi * radius * (height + radius * closed)
    most = (n_vertices - 2 * closed) // (3 * len(lengths))
    steps = [_row_count(length, area, n_vertices, least=2, most=max(most, 2)) - 1 for length in lengths]
    corners = np.cumsum([0, *steps])

    def profile(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if closed:
            return np.interp(t, corners, [0, radius, radius, 0]), np.interp(t, corners, [0, 0, height, height])
        return np.full_like(t, radius), height * t / corners[-1]

    rows = int(corners[-1]) + 1
    return revolve(
        "cylinder",
        profile,
        rows,
        n_vertices,
        fixed=tuple(corners.tolist()),
        jitter=jitter,
        rng=_generator(seed),
    )


def torus(
    major: float = 1.0,
    minor: float = 0.4,
    n_vertices: int = 1000,
    *,
    jitter: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> Mesh:
    """A ring about the z axis, genus 1, area 4π² major · minor; the outer equator has length 2π (major + minor).

    Parameters
    ----------
    major : radius of the circle in the middle of the tube
    minor : radius of the tube, smaller than `major`
    n_vertices : at least 9
    jitter, seed : as for `plane`
    """
    _check_positive(major=major, minor=minor)
    if minor >= major:
        raise ValueError(f"torus: minor={minor} must be smaller than major={major}, or the tube runs into itself")
    _check_size("torus", n_vertices, 9, jitter)
    area = 4 * np.pi**2 * major * minor
    rows = _row_count(2 * np.pi * minor, area, n_vertices, least=4, most=n_vertices // 3 + 1) - 1

    def profile(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        angle = 2 * np.pi * t / rows
        return major + minor * np.cos(angle), minor * np.sin(angle)

    return revolve("torus", profile, rows, n_vertices, fixed=(), jitter=jitter, rng=_generator(seed), wraps=True)


def slivers(
    n_vertices: int = 1000,
    *,
    surface: Literal["plane", "sphere"] = "plane",
    stretch: float = 8.0,
    jitter: float = 0.5,
    seed: int | np.random.Generator = 0,
) -> Mesh:
    """A unit square or a unit sphere cut into long, obtuse triangles, to try distances on bad triangulations.

    Rows of vertices lie closer together, by the factor `stretch`, than the vertices in a row, and every second row is
    shifted by half a step: an undisturbed triangle has the angle 2 arctan(stretch / 2), 152° for stretch 8.

    Parameters
    ----------
    n_vertices : at least 100
    surface : "plane" (the unit square) or "sphere" (of radius 1)
    stretch : how many times longer than high the triangles are, at least 1
    jitter, seed : as for `plane`

    Examples
    --------
    >>> largest = np.degrees(slivers(2000).corner_angles.max(axis=1))
    >>> bool(np.mean(largest > 140) > 0.5)
    True
    """
    _check_size("slivers", n_vertices, 100, jitter)
    check_number("stretch", stretch)
    if not 1 <= stretch <= n_vertices / 10:
        raise ValueError(f"slivers: stretch={stretch} must lie between 1 and n_vertices / 10 = {n_vertices / 10}")
    if surface == "plane":
        rows = int(np.clip(round(np.sqrt(stretch * n_vertices)), 2, n_vertices // 3))
        counts = share_out(np.ones(rows), n_vertices, minimum=3)
        return rectangle(counts, 1.0, 1.0, jitter, _generator(seed), name="slivers")
    if surface != "sphere":
        raise ValueError(f"slivers: surface={surface!r} must be 'plane' or 'sphere'")
    rows = int(np.clip(round(np.sqrt(stretch * n_vertices * np.pi / 4)), 3, (n_vertices - 2) // 4 + 2))

    def profile(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        angle = np.pi * t / (rows - 1)
        return np.where((t == 0) | (t == rows - 1), 0.0, np.sin(angle)), -np.cos(angle)

    return _revolved("slivers", profile, rows, n_vertices, jitter, seed)


def _revolved(
    name: str,
    profile: Profile,
    rows: int,
    n_vertices: int,
    jitter: float,
    seed: int | np.random.Generator,
) -> Mesh:
    """The surface of revolution of a profile whose first and last row stay where they are."""
    rng = _generator(seed)
    return revolve(name, profile, rows, n_vertices, fixed=(0, rows - 1), jitter=jitter, rng=rng)


def _row_count(length: float, area: float, n_vertices: int, *, least: int, most: int) -> int:
    """How many rows of equilateral triangles cover a strip of that length."""
    edge = np.sqrt(2 * area / (np.sqrt(3) * n_vertices))
    return int(np.clip(round(length / (edge * np.sqrt(3) / 2)) + 1, least, most))


def _generator(seed: int | np.random.Generator) -> np.random.Generator:
    check_seed(seed)
    return np.random.default_rng(seed)


def _check_positive(**sizes: float) -> None:
    for name, value in sizes.items():
        check_number(name, value)
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name}={value} must be a positive number")


def _check_size(surface: str, n_vertices: int, least: int, jitter: float) -> None:
    _check_count(surface, n_vertices, least)
    _check_jitter(jitter)


def _check_count(surface: str, n_vertices: int, least: int) -> None:
    check_whole_number("n_vertices", n_vertices)
    if n_vertices < least:
        raise ValueError(f"{surface}: n_vertices={n_vertices} is too few, at least {least} are needed")


def _check_jitter(jitter: float) -> None:
    check_number("jitter", jitter)
    if not 0 <= jitter <= 1:
        raise ValueError(f"jitter={jitter} must lie between 0 (regular) and 1")
