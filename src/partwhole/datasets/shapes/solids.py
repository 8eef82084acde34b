"""Solids as smooth unions of simple pieces, and their surfaces as triangle meshes of a given number of vertices.

A piece is a function that is negative inside, zero on the surface and about the distance from it elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole.datasets.shapes.bodies.meshing import Grid, flip_edges, march, relax_step, smooth_minimum
from partwhole.datasets.shapes.bodies.rig import Flesh, Vector, distance_to
from partwhole.mesh import Mesh
from partwhole.mesh.decimation import decimate

Points = Float[np.ndarray, "n 3"]
Values = Float[np.ndarray, "n"]

_FAR = 1e3
_FIRST_CELLS = 32
_FINER = 2.2
_RELAXATIONS = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class Piece(ABC):
    """A piece of a solid, in axes of its own: x = centre + turn · (own coordinates).

    Attributes
    ----------
    centre : where its origin lies
    turn : its axes, as columns; those of the solid if None
    blend : width over which it blends into the pieces before it
    hollow : take it away from the pieces before it, instead of adding it
    """

    centre: Vector = (0.0, 0.0, 0.0)
    turn: Float[np.ndarray, "3 3"] | None = None
    blend: float = 0.05
    hollow: bool = False

    @property
    @abstractmethod
    def half(self) -> Float[np.ndarray, "3"]:
        """Half the sides of a box around the piece, in its own axes."""

    @abstractmethod
    def own_distance(self, points: Points) -> Values:
        """Negative inside, in the piece's own axes."""

    def distance(self, points: Points) -> Values:
        own = points - np.asarray(self.centre)
        return self.own_distance(own if self.turn is None else own @ self.turn)

    @property
    def box(self) -> Float[np.ndarray, "2 3"]:
        """Lowest and highest coordinates."""
        reach = self.half if self.turn is None else np.abs(self.turn) @ self.half
        return np.asarray(self.centre) + np.array([-1, 1])[:, None] * reach


@dataclass(frozen=True, eq=False, kw_only=True)
class Cone(Piece):
    """A round cone: all balls with centres from `start` to `end` and radii between `r_start` and `r_end`.

    Examples
    --------
    >>> Cone(start=(0, 0, 0), end=(0, 2, 0), r_start=1, r_end=1).distance(np.array([[0.0, 1, 3], [0, 4, 0]])).tolist()
    [2.0, 1.0]
    """

    start: Vector
    end: Vector
    r_start: float
    r_end: float

    @property
    def half(self) -> Float[np.ndarray, "3"]:
        return np.maximum(np.abs(self.start), np.abs(self.end)) + max(self.r_start, self.r_end)

    @property
    def box(self) -> Float[np.ndarray, "2 3"]:
        if self.turn is not None:
            return super().box
        ends = np.array([self.start, self.end]) + np.asarray(self.centre)
        radius = max(self.r_start, self.r_end)
        return np.stack([ends.min(axis=0) - radius, ends.max(axis=0) + radius])

    def own_distance(self, points: Points) -> Values:
        return distance_to(Flesh("", self.start, self.end, self.r_start, self.r_end, self.blend), points)


@dataclass(frozen=True, eq=False, kw_only=True)
class Box(Piece):
    """A box with half-sides `size` and edges rounded to the radius `rounding`.

    Examples
    --------
    >>> Box(size=(1, 2, 3), rounding=0.5).distance(np.array([[2.0, 0, 0], [0, 0, 0]])).tolist()
    [1.0, -1.0]
    """

    size: Vector
    rounding: float

    @property
    def half(self) -> Float[np.ndarray, "3"]:
        return np.asarray(self.size, float)

    def own_distance(self, points: Points) -> Values:
        rounding = min(self.rounding, *self.size)
        beyond = np.abs(points) - (self.half - rounding)
        return np.linalg.norm(np.maximum(beyond, 0), axis=1) + np.minimum(beyond.max(axis=1), 0) - rounding


@dataclass(frozen=True, eq=False, kw_only=True)
class Ellipsoid(Piece):
    """The ellipsoid with half-axes `size`; the distance is k (k − 1) / |x / size²| with k = |x / size|.

    Examples
    --------
    >>> Ellipsoid(size=(1, 2, 3)).distance(np.array([[0.0, 0, 3], [2, 0, 0]])).tolist()
    [0.0, 1.0]
    """

    size: Vector

    @property
    def half(self) -> Float[np.ndarray, "3"]:
        return np.asarray(self.size, float)

    def own_distance(self, points: Points) -> Values:
        scaled = points / self.half
        k = np.linalg.norm(scaled, axis=1)
        return k * (k - 1) / np.maximum(np.linalg.norm(scaled / self.half, axis=1), 1e-12) - (k == 0) * min(self.size)


@dataclass(frozen=True, eq=False, kw_only=True)
class Turned(Piece):
    """A solid of revolution about the y axis, with the radii given at equal steps from y = −height/2 to height/2.

    Examples
    --------
    >>> jar = Turned(height=2.0, radii=(1.0, 1.0, 1.0))
    >>> jar.distance(np.array([[3.0, 0, 0], [0, 4, 0]])).round(6).tolist()
    [2.0, 3.0]
    """

    height: float
    radii: tuple[float, ...]
    rounding: float = 0.05

    @property
    def half(self) -> Float[np.ndarray, "3"]:
        widest = 1.1 * max(self.radii)
        return np.array([widest, self.height / 2, widest])

    def own_distance(self, points: Points) -> Values:
        # a spline would do; half a cosine between the steps is smooth too, and never overshoots
        steps = len(self.radii) - 1
        at = np.clip((points[:, 1] / self.height + 0.5) * steps, 0, steps)
        below = np.minimum(at.astype(int), steps - 1)
        share = at - below
        radii = np.asarray(self.radii)
        rise = radii[below + 1] - radii[below]
        radius = radii[below] + rise * (0.5 - 0.5 * np.cos(np.pi * share))
        slope = rise * np.pi / 2 * np.sin(np.pi * share) * steps / self.height
        aside = (np.hypot(points[:, 0], points[:, 2]) - radius) / np.sqrt(1 + slope**2)
        return -smooth_minimum(-aside, self.height / 2 - np.abs(points[:, 1]), self.rounding)


def solid_distance(pieces: Sequence[Piece], points: Points) -> Values:
    """Negative inside the smooth union of the pieces, in their order."""
    total = np.full(len(points), _FAR)
    for piece in pieces:
        total = _joined(total, piece.distance(points), piece)
    return total


def mesh_solid(pieces: Sequence[Piece], n_vertices: int, *, name: str = "mesh") -> Mesh:
    """The surface of the smooth union, its largest component, with `n_vertices` vertices and nearly equilateral triangles.

    Examples
    --------
    >>> ball, bar = Ellipsoid(size=(1, 1, 1)), Box(size=(2, 0.3, 0.3), rounding=0.1)
    >>> mesh_solid([ball, bar], 500)
    Mesh('mesh': 500 vertices, 996 faces, 0 boundary loops, 1 components)
    """
    spacing = _size(pieces) / _FIRST_CELLS
    surface = rough_surface(pieces, spacing, name=name)
    while surface.n_vertices < _FINER * n_vertices:
        # the number of vertices grows with the inverse square of the spacing
        spacing *= min(0.97, (surface.n_vertices / (1.1 * _FINER * n_vertices)) ** 0.5)
        surface = rough_surface(pieces, spacing, name=name)
    coarse = decimate(surface, n_vertices).mesh
    vertices, faces = coarse.vertices, coarse.faces
    for _ in range(_RELAXATIONS):
        vertices, faces = relax_step(vertices, faces)
        vertices = _projected(pieces, vertices, spacing)
    return Mesh(vertices, flip_edges(vertices, faces), name=name)


def rough_surface(pieces: Sequence[Piece], spacing: float, *, name: str = "mesh") -> Mesh:
    """The surface by marching tetrahedra, its largest component; the triangles are of very different shapes."""
    return Mesh(*march(_on_grid(pieces, spacing)), name=name).largest_component()[0]


def _size(pieces: Sequence[Piece]) -> float:
    boxes = np.array([piece.box for piece in pieces if not piece.hollow])
    return float((boxes[:, 1].max(axis=0) - boxes[:, 0].min(axis=0)).max())


def _joined(total: np.ndarray, distance: np.ndarray, piece: Piece) -> np.ndarray:
    if piece.hollow:
        return -smooth_minimum(-total, distance, piece.blend)
    return smooth_minimum(total, distance, piece.blend)


def _on_grid(pieces: Sequence[Piece], spacing: float) -> Grid:
    """Values at the nodes around the solid; each piece counts within reach of its box only."""
    boxes = np.array([piece.box for piece in pieces])
    reach = np.array([piece.blend + 3 * spacing for piece in pieces])
    lows, highs = boxes[:, 0] - reach[:, None], boxes[:, 1] + reach[:, None]
    added = np.array([not piece.hollow for piece in pieces])
    origin = lows[added].min(axis=0)
    shape = np.ceil((highs[added].max(axis=0) - origin) / spacing).astype(int) + 1
    values = np.full(shape, _FAR)
    for piece, low, high in zip(pieces, lows, highs, strict=True):
        first = np.clip(np.floor((low - origin) / spacing).astype(int), 0, shape)
        last = np.clip(np.ceil((high - origin) / spacing).astype(int) + 1, 0, shape)
        box = tuple(slice(a, b) for a, b in zip(first, last, strict=True))
        axes = [origin[k] + spacing * np.arange(first[k], last[k]) for k in range(3)]
        nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        values[box] = _joined(values[box], piece.distance(nodes).reshape(values[box].shape), piece)
    return Grid(values, origin, spacing)


def _projected(pieces: Sequence[Piece], points: Points, spacing: float) -> Points:
    """One Newton step to the zero set, no longer than half a grid cell."""
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / 3**0.5
    step = spacing / 10
    values = solid_distance(pieces, (points + step * corners[:, None]).reshape(-1, 3)).reshape(4, -1)
    slope = 0.75 / step * values.T @ corners
    value = values.mean(axis=0)[:, None]
    move = value * slope / np.maximum(np.einsum("ni,ni->n", slope, slope)[:, None], 0.1)
    return points - move * np.minimum(1, spacing / 2 / np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-300))
